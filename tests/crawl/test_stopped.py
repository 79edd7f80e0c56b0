"""A worker is stopped for longer than its lease (SIGSTOP, a sleeping machine): it asks before it stores."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import finish, start
from tests.crawl.site import fancy, plain, text
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.crawl.running import Crawled, Running
    from tests.crawl.site import Site

PAGES = 6
LEASE = 8.0  #: seconds; a busy machine must not stop a worker for as long
WRITE = {"tests.crawl.components.Write": 400}
HELD = {"tests.crawl.components.Gate": 300}
#: How items are stored, and how many pages a worker stores although another one stored them while it was stopped.
KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "pipeline": ({"ITEM_PIPELINES": HELD | WRITE, "WRITE_TO": "written-a", "DEDUP_REPORT": "report.html"}, 0),
    "feed": ({"ITEM_PIPELINES": HELD, "FEEDS": {"written-a": {"format": "jsonlines"}}}, 0),
    "items": ({"ITEM_PIPELINES": HELD | WRITE, "WRITE_TO": "written-a", "DEDUP_ITEM_FIELDS": ["title", "body"]}, 0),
    "already stored": (
        {"ITEM_PIPELINES": WRITE | {"tests.crawl.components.GateBehind": 500}, "WRITE_TO": "written-a"},
        PAGES,
    ),
}


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "lmdb":
        yield f"lmdb://{tmp_path}/store"
        return
    server = Server(binaries()["valkey"]).start()
    try:
        yield server.url
    finally:
        server.remove()


def articles(site: Site, lay: Any = plain) -> list[str]:
    return [site.put(f"/{lay.__name__}/{n}", lay(f"T{n}", text(n))) for n in range(PAGES)]


def begin(folder: Path, store: str, urls: Sequence[str], **settings: Any) -> Running:
    shared = {"DEDUP_STORE": store, "DEDUP_LEASE": LEASE, "DEDUP_WAIT": 600, "DEDUP_COMMIT": "item_scraped"}
    folder.mkdir(exist_ok=True)
    return start(folder, ("Reader", {"urls": urls}), settings={**shared, **settings})


def stop_with_open_claims(running: Running, store: str, stored: int = 0) -> None:
    """Stop the process as soon as it has claimed every page: its items are in the pipelines, some of them stored."""
    deadline = time.monotonic() + 600
    while claims(store) < PAGES or len(written(running.report.parent / "written-a")) < stored:
        assert time.monotonic() < deadline, running.output
        time.sleep(0.05)
    assert running.process.pid is not None
    os.kill(running.process.pid, signal.SIGSTOP)


def claims(store: str) -> int:
    try:
        with Deduplicator(store, "reader", lease=LEASE) as beside:
            return beside.info().open
    except OSError:
        return 0


def go_on(running: Running) -> Crawled:
    (running.report.parent / "gate").touch()
    assert running.process.pid is not None
    os.kill(running.process.pid, signal.SIGCONT)
    return finish(running)[0]


def written(path: Path) -> list[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted(json.loads(line)["title"] for line in lines)


ALL = [f"T{n}" for n in range(PAGES)]
MESSAGE = "This worker was stopped, or had no store, for longer than DEDUP_LEASE"


@pytest.mark.parametrize(
    ("store", "kind"),
    [("lmdb", "pipeline"), ("valkey", "pipeline"), ("valkey", "feed"), ("lmdb", "items"), ("valkey", "already stored")],
    indirect=["store"],
)
def test_what_others_store_meanwhile_is_a_duplicate(site: Site, tmp_path: Path, store: str, kind: str) -> None:
    settings, left = KINDS[kind]
    first = begin(tmp_path / "a", store, articles(site), **settings)
    stop_with_open_claims(first, store, left)
    writes = {"ITEM_PIPELINES": WRITE, "WRITE_TO": "written-b"}
    if kind == "items":
        writes["DEDUP_ITEM_FIELDS"] = ["title", "body"]
    # It waits for the claims of the first, until their lease has ended.
    second = finish(begin(tmp_path / "b", store, articles(site, fancy), **writes))[0]
    stopped = go_on(first)

    assert written(tmp_path / "b" / "written-b") == ALL
    assert len(written(tmp_path / "a" / "written-a")) == left
    assert len(second.items) == PAGES
    if left == 0:
        assert stopped.items == []
        assert stopped.dedup["lapsed"] == stopped.dedup["dropped"] == stopped.dedup["checked"] == PAGES
        assert len(stopped.lines(MESSAGE, "WARNING")) == 1
    assert not stopped.lines("The report will not be complete")
    with Deduplicator(store, "reader", lease=LEASE) as beside:
        info = beside.info()
    assert (info.open, info.scraped) == (0, 0)


@pytest.mark.parametrize("store", ["valkey"], indirect=True)
def test_claims_that_nobody_wanted_survive(site: Site, tmp_path: Path, store: str) -> None:
    first = begin(tmp_path / "a", store, articles(site), **KINDS["pipeline"][0])
    stop_with_open_claims(first, store)
    time.sleep(LEASE + 0.5)
    stopped = go_on(first)
    assert written(tmp_path / "a" / "written-a") == ALL
    assert "lapsed" not in stopped.dedup
    assert "dropped" not in stopped.dedup


@pytest.mark.parametrize("store", ["lmdb"], indirect=True)
def test_a_short_stop_asks_nothing(site: Site, tmp_path: Path, store: str) -> None:
    first = begin(tmp_path / "a", store, articles(site), DEDUP_LEASE=600, **KINDS["pipeline"][0])
    stop_with_open_claims(first, store)
    time.sleep(0.5)
    stopped = go_on(first)
    assert written(tmp_path / "a" / "written-a") == ALL
    assert not stopped.lines(MESSAGE)
