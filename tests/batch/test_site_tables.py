"""A batch leaves out what the sites of its stores repeat, as a crawl with these tables does."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.batch.site_pass import leave_out_batch, leave_out_state
from dedupcrawl.batch.workdir import Workdir, read_site_tables
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError
from dedupcrawl.sites.site_memory import SiteTracker
from dedupcrawl.stores.site_tables import unpack_site
from tests.batch.corpus import Batch, Rows, annotated_verdicts, lines, verdict_tuples, write_lines
from tests.test_site_memory import ABOUT, BLOG, LIFE, PAPER, POSTS, crawl

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.stores.site_tables import SiteView


class FixedTracker(SiteTracker):
    """What sites repeat, as it was when the store was opened."""

    def count(self, view: SiteView | None) -> None:
        """Count nothing."""


def rows() -> list[dict[str, Any]]:
    """New posts, a page of repeated text under two URLs, reprints of old and new posts, and recrawled pages."""
    found = [post.on() for post in POSTS[10:]]
    found += [post.on(PAPER, after="") for post in POSTS]
    found += [ABOUT, (f"{BLOG}/us", ABOUT[1])]
    found += [post.on("https://mirror.example", before=LIFE, after="") for post in POSTS[7:12]]
    found += [(f"{url}?from=mail", html) for url, html in (post.on() for post in POSTS[4:14])]
    found += [post.on() for post in POSTS[:4]]
    return [{"url": url, "html": html} for url, html in found]


def site() -> Rows:
    """A blog whose first posts have come last, its reprints, a page of repeated text, and copies of both."""
    found = [post.on(PAPER, after="") for post in POSTS]
    found += [ABOUT, (f"{BLOG}/us", ABOUT[1])]
    found += [post.on() for post in POSTS]
    found += [(f"{url}?from=mail", html) for url, html in (post.on(PAPER, after="") for post in POSTS[4:10])]
    return [{"url": url, "html": html} for url, html in found]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The store of a crawl that has kept ten posts of a blog."""
    with Deduplicator(f"lmdb://{tmp_path}/store") as dedup:
        crawl([post.on() for post in POSTS[:10]], dedup)
    return f"lmdb://{tmp_path}/store"


def crawled(folder: Path, given: Rows, store: str = "", out: str = "out") -> list[tuple[Any, ...]]:
    """The verdicts of a crawl that has the memory of a batch from its first page on, and counts nothing.

    It goes on with a copy of the store.
    """
    if store:
        shutil.copytree(store.removeprefix("lmdb://"), folder / "copy")
    with Deduplicator(f"lmdb://{folder}/copy" if store else "memory://") as dedup:
        dedup.store.forget_sites([site for site, _ in dedup.store.sites()])
        dedup.store.merge_sites(read_site_tables(Workdir(folder / out)))
        dedup.site_memory = FixedTracker(dedup.store, remote=False)
        return verdict_tuples([dedup.add(html=row["html"], url=row["url"]) for row in given])


@pytest.mark.parametrize("workers", [1, 2])
def test_the_verdicts_are_those_of_a_crawl_with_the_tables_of_the_store(
    tmp_path: Path, store: str, workers: int
) -> None:
    batch = Batch(tmp_path)
    batch.run(write_lines(tmp_path / "in.jsonl", rows()), annotate=True, against=(store,), workers=workers)
    expected = crawled(tmp_path, rows(), store)
    assert annotated_verdicts(lines(tmp_path / "out" / "in.jsonl")) == expected
    assert [status for status, *_ in expected].count("unchecked") == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_the_verdicts_are_those_of_a_crawl_with_the_memory_of_the_batch(tmp_path: Path, workers: int) -> None:
    batch = Batch(tmp_path)
    batch.run(write_lines(tmp_path / "in.jsonl", site()), annotate=True, workers=workers)
    found = annotated_verdicts(lines(tmp_path / "out" / "in.jsonl"))
    assert found == crawled(tmp_path, site())
    assert sum(status == "duplicate" for status, *_ in found) == len(POSTS) + 6


def test_the_tables_change_verdicts(tmp_path: Path, store: str) -> None:
    source = write_lines(tmp_path / "in.jsonl", rows())
    kept = []
    for site_memory in (True, False):
        out = f"out-{site_memory}"
        Batch(tmp_path, Config(site_memory=site_memory)).run(source, against=(store,), out=out)
        kept.append(len(lines(tmp_path / out / "in.jsonl")))
        assert Workdir(tmp_path / out).site_tables.exists() is site_memory
    assert kept[0] < kept[1]


def test_without_memory_the_verdicts_are_those_of_a_crawl_without_it(tmp_path: Path) -> None:
    batch = Batch(tmp_path, Config(site_memory=False))
    batch.run(write_lines(tmp_path / "in.jsonl", rows()), annotate=True)
    with Deduplicator(site_memory=False) as dedup:
        expected = verdict_tuples([dedup.add(html=row["html"], url=row["url"]) for row in rows()])
    assert annotated_verdicts(lines(tmp_path / "out" / "in.jsonl")) == expected


def test_the_pages_are_judged_again_when_sites_repeat_something_else(tmp_path: Path, store: str) -> None:
    batch, source = Batch(tmp_path), write_lines(tmp_path / "in.jsonl", rows())
    batch.run(source, against=(store,))
    assert batch.run(source, against=(store,))["already"]
    with Deduplicator(store) as dedup:  # one page more has the same lines
        crawl([POSTS[12].on()], dedup)
    assert batch.run(source, against=(store,))["already"]
    with Deduplicator(store) as dedup:
        dedup.store.forget_sites([site for site, _ in dedup.store.sites()])
    again = batch.run(source, against=(store,))
    assert (again["already"], again["fingerprinted"]) == (False, 0)


def test_the_folder_has_the_repeated_lines_only(tmp_path: Path, store: str) -> None:
    Batch(tmp_path).run(write_lines(tmp_path / "in.jsonl", rows()), against=(store,))
    work = Workdir(tmp_path / "out")
    lengths = {site: len(unpack_site(value).lines) for site, value in read_site_tables(work).items()}
    assert lengths == dict.fromkeys(("weir.example", "mirror.example"), LIFE.count("<p>"))
    work.site_tables.write_text("{")
    with pytest.raises(DedupError, match="what sites repeat cannot be read"):
        read_site_tables(work)
    work.site_tables.unlink()
    state = leave_out_state(Batch(tmp_path).job(), work, "a digest")
    with pytest.raises(DedupError, match="what sites repeat cannot be read"):
        leave_out_batch(state, "in.jsonl", 0)


def test_a_crawl_goes_on_with_the_memory_of_the_batch(tmp_path: Path, store: str) -> None:
    new = f"lmdb://{tmp_path}/new"
    rows_of_site = [{"url": url, "html": html} for url, html in (post.on() for post in POSTS)]
    source = write_lines(tmp_path / "in.jsonl", rows_of_site)
    Batch(tmp_path).run(source, update=new, namespace="default")
    with Deduplicator(new) as dedup:
        assert {site: len(unpack_site(value).lines) for site, value in dedup.store.sites()} == {"weir.example": 3}
        assert dedup.add(html=ABOUT[1], url=ABOUT[0]).reason == "template"
    with Deduplicator(store) as dedup:
        before = [*dedup.store.sites()]
    Batch(tmp_path).run(source, update=store, namespace="default", out="other")
    with Deduplicator(store) as dedup:  # its own table is not changed: pages of both may be the same
        assert [*dedup.store.sites()] == before
