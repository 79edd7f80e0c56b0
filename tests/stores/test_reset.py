"""A namespace starts over: its pages and its configuration are gone, and nobody else loses anything."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.errors import StoreInUseError, StoreMismatchError
from dedupcrawl.stores import open_existing
from tests.crawl.site import text
from tests.stores.servers import started
from tests.stores.test_redis_cluster import cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.stores.servers import Server

TEXTS = [text(number) for number in range(30)]


@pytest.fixture(params=["lmdb", "hash", "compact"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "lmdb":
        yield f"lmdb://{tmp_path}/store"
    else:
        with started() as server:
            yield f"{server.url}?layout={request.param}"


def fill(url: str, namespace: str, **changes: int) -> None:
    with Deduplicator(url, namespace, **changes) as dedup:  # type: ignore[arg-type]
        for number, text in enumerate(TEXTS):
            assert dedup.add(text=text, url=f"https://a.example/{number}").keep


def test_a_namespace_starts_over(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    fill(url, "news")
    fill(url, "other")
    with Deduplicator(url, "news", reset=True) as dedup:
        assert dedup.info().pages == dedup.info().keys == 0
        assert dedup.check(text=TEXTS[0], url="https://b.example/").of is None
        assert dedup.add(text=TEXTS[0], url="https://b.example/").keep
    assert f"(namespace 'news') starts over: {len(TEXTS)} pages are forgotten" in caplog.text
    with Deduplicator(url, "news") as dedup:
        assert dedup.info().pages == 1
        assert dedup.check(text=TEXTS[0]).of == "https://b.example/"
    with Deduplicator(url, "other") as dedup:
        assert dedup.info().pages == len(TEXTS)
        assert not dedup.check(text=TEXTS[7]).keep


def test_what_shapes_fingerprints_may_change_with_it(url: str) -> None:
    fill(url, "news")
    with pytest.raises(StoreMismatchError):
        Deduplicator(url, "news", seed=7)
    fill_again = Deduplicator(url, "news", seed=7, reset=True)
    fill_again.close()
    fill(url, "news", seed=7)


def test_a_namespace_that_others_have_open_stays(url: str) -> None:
    fill(url, "news")
    with Deduplicator(url, "news") as other:
        claim = other.claim(text=text(99), url="https://c.example/")
        with pytest.raises(StoreInUseError, match=r"cannot be reset: others have it open \(1\)"):
            Deduplicator(url, "news", reset=True)
        assert other.info().pages == len(TEXTS) + 1
        claim.commit()
        Deduplicator(url, "elsewhere", reset=True).close()  # a user of another namespace does not matter
        assert other.info().pages == len(TEXTS) + 1
    Deduplicator(url, "news", reset=True).close()


def test_a_namespace_that_does_not_exist_is_created(url: str) -> None:
    fill_first = Deduplicator(url, "news", reset=True)
    assert fill_first.info().pages == 0
    fill_first.close()


def test_a_secret_is_drawn_anew(url: str) -> None:
    seeds = []
    for reset in (False, False, True):
        with Deduplicator(url, "news", seed="secret", reset=reset) as dedup:
            seeds.append(int(dedup.config.seed))
    assert seeds[0] == seeds[1] != seeds[2]


def test_a_dead_worker_counts_until_its_lease_ends() -> None:
    with started() as server:
        for name, lease in (("news", 600.0), ("blogs", 2.0)):
            fill(server.url, name)
            began = time.monotonic()
            Deduplicator(server.url, name, lease=lease)  # and not closed, as if its process had been killed
        with pytest.raises(StoreInUseError):
            Deduplicator(server.url, "news", reset=True)
        while True:
            try:
                dedup = Deduplicator(server.url, "blogs", reset=True)
            except StoreInUseError:
                time.sleep(0.1)
            else:
                break
        assert time.monotonic() - began > 0.9 * lease
        with dedup:
            assert dedup.info().pages == 0


@pytest.mark.parametrize("layout", ["hash", "compact"])
def test_namespaces_of_a_cluster_start_over_one_by_one(own: Callable[..., Server], layout: str) -> None:
    nodes = cluster(own, 2)
    url = f"{nodes[0].url}?layout={layout}"
    names = [f"n{number}" for number in range(4)]  # some on either node
    for name in names:
        fill(url, name)
    for at, name in enumerate(names):
        with Deduplicator(url, name, reset=True) as dedup:
            assert dedup.info().pages == dedup.info().keys == 0
        pages = [open_existing(url, each).info().pages for each in names]
        assert pages == [0] * (at + 1) + [len(TEXTS)] * (3 - at)
