"""An item of a feed is safe when its feeds are stored."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
from itertools import repeat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from scrapy.extensions.feedexport import FileFeedStorage

from dedupcrawl import Deduplicator
from dedupcrawl.crawl.backlog import SpoolFolder, spool_name
from dedupcrawl.crawl.feed_files import MAX_LOOKED, OverwrittenFeedTracker
from dedupcrawl.crawl.feeds import MAX_CLAIMS
from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import ClaimState, Record
from tests.crawl.running import finish, on_every_reactor, start, wait_for
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site
    from tests.stores.servers import Server

    Run = Callable[..., Crawled]

LINES = {"format": "jsonlines"}
GZIP = "scrapy.extensions.postprocessing.GzipPlugin"
REACTORS = ("asyncio", "epoll")  # slots close in another order on each


def waiting_for(*feeds: str, storage: str = "", **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "FEEDS": dict.fromkeys(feeds, LINES),
        "FEED_STORAGES": {"upload": "tests.crawl.components.Upload"},
        **more,
    }
    if storage:
        settings["FEED_STORAGES"] = dict.fromkeys(("", "file"), f"tests.crawl.components.{storage}")
    return settings


def articles(site: Site, count: int = 5) -> list[str]:
    return [site.put(f"/{n}", plain(f"T{n}", text(n)), delay=n * 0.03) for n in range(count)]


def written(folder: Path, pattern: str = "out*") -> list[str]:
    """Return the titles in the feeds of a folder."""
    lines = (line for path in folder.glob(pattern) for line in path.read_text().splitlines())
    return sorted(json.loads(line)["title"] for line in lines)


def test_a_stored_feed_commits(site: Site, tmp_path: Path) -> None:
    urls = [*articles(site), site.put("/copy", fancy("T0", text(0)), delay=0.3)]
    settings = waiting_for("out.jl")
    for _ in range(2):
        done = on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=settings, reactors=REACTORS)
    for reactor, (crawled,) in done.items():
        assert crawled.items == []
        assert written(tmp_path / reactor) == ["T0", "T1", "T2", "T3", "T4"]


@pytest.mark.parametrize("count", [1, 2])
def test_batches_commit_as_they_are_stored(site: Site, tmp_path: Path, count: int) -> None:
    settings = waiting_for("out-%(batch_id)d.jl", FEED_EXPORT_BATCH_ITEM_COUNT=count)
    urls = articles(site)
    for round_ in range(2):
        done = on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=settings, reactors=REACTORS)
        for reactor, (crawled,) in done.items():
            assert len(crawled.items) == (5, 0)[round_], reactor
    for reactor in REACTORS:
        assert written(tmp_path / reactor) == ["T0", "T1", "T2", "T3", "T4"]


def test_a_feed_that_is_not_stored_releases_its_items(site: Site, tmp_path: Path) -> None:
    urls = articles(site)
    settings = waiting_for("out.jl", storage="FailingStorage")
    for _ in range(2):
        done = on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=settings, reactors=REACTORS)
        for (crawled,) in done.values():
            assert len(crawled.items) == 5
            assert crawled.dedup["released"] == 5
            assert crawled.dedup["kept"] == 5


@pytest.mark.parametrize("count", [1, 2])
def test_only_the_batches_that_failed_come_again(site: Site, tmp_path: Path, count: int) -> None:
    urls = articles(site, 6)
    crawl = ("Reader", {"urls": urls})
    failing = waiting_for("out-%(batch_id)d.jl", storage="OddBatchesFail", FEED_EXPORT_BATCH_ITEM_COUNT=count)
    on_every_reactor(tmp_path, crawl, settings=failing, reactors=REACTORS)
    lost = {
        reactor: sorted(title for n in (1, 3, 5) for title in written(tmp_path / reactor, f"out-{n}.jl"))
        for reactor in REACTORS
    }
    again = on_every_reactor(tmp_path, crawl, settings=waiting_for("again.jl"), reactors=REACTORS)
    for reactor, (crawled,) in again.items():
        assert sorted(item["title"] for item in crawled.items) == lost[reactor], reactor
        assert len(lost[reactor]) == (3, 4)[count - 1]


@pytest.mark.parametrize("mode", ["auto", "feed_slot_closed"])
def test_an_item_is_durable_when_pipelines_and_feed_have_it(site: Site, run: Run, tmp_path: Path, mode: str) -> None:
    urls = articles(site, 2)
    writes: dict[str, Any] = {
        "ITEM_PIPELINES": {"tests.crawl.components.Write": 300},
        "WRITE_TO": "written.jl",
        "DEDUP_COMMIT": mode,
    }
    for kept in (2, 2):
        assert len(run(urls=urls, settings=waiting_for("out.jl", storage="FailingStorage", **writes)).items) == kept
    assert written(tmp_path / "work", "written.jl") == ["T0", "T0", "T1", "T1"]
    for kept in (2, 0):
        assert len(run(urls=urls, settings=waiting_for("out.jl", **writes)).items) == kept


def test_feeds_of_a_spider_and_of_an_addon_count_too(site: Site, tmp_path: Path) -> None:
    urls = articles(site, 2)
    failing = waiting_for(storage="FailingStorage")
    addons = {"dedupcrawl.Addon": 500, "tests.crawl.components.FeedAddon": 600}
    for own in ({"FEEDS": {"out.jl": LINES}}, {"ADDONS": addons}):
        running = start(tmp_path, ("Reader", {"urls": urls}), settings=failing, own=[own])
        assert finish(running)[0].dedup["released"] == 2
        assert written(tmp_path) == ["T0", "T1"]
        (tmp_path / "out.jl").unlink()


def test_without_the_feed_exporter_items_are_durable_when_pipelines_have_them(site: Site, run: Run) -> None:
    urls = articles(site, 2)
    off = waiting_for("out.jl", EXTENSIONS={"scrapy.extensions.feedexport.FeedExporter": None})
    for kept in (2, 0):
        assert len(run(urls=urls, settings=off).items) == kept


@pytest.mark.parametrize("one_fails", [True, False])
def test_many_pages_wait_for_their_feeds(site: Site, run: Run, one_fails: bool) -> None:
    count = 2 * MAX_CLAIMS
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(count)]
    outcome = waiting_for("out.jl", "upload://up-1.jl" if one_fails else "upload://up-2.jl", LOG_LEVEL="INFO")
    first = run(urls=urls, settings=outcome)
    assert len(first.items) == count
    assert first.dedup.get("released", 0) == (count if one_fails else 0)
    assert "errors" not in first.dedup
    second = run(urls=urls, settings=waiting_for("again.jl", LOG_LEVEL="INFO"))
    assert len(second.items) == (count if one_fails else 0)


def test_of_several_feeds_all_must_be_stored(site: Site, tmp_path: Path, run: Run) -> None:
    urls = articles(site)
    one_fails = waiting_for("out.jl", "upload://up-1.jl")
    none_fails = waiting_for("out.jl", "upload://up-2.jl")
    kept = [len(run(urls=urls, settings=settings).items) for settings in (one_fails, none_fails, none_fails)]
    assert kept == [5, 5, 0]


def test_an_item_that_no_feed_takes_is_safe(site: Site, run: Run) -> None:
    settings = waiting_for("out.jl")
    settings["FEEDS"] = {"out.jl": {**LINES, "item_filter": "tests.crawl.components.NoExporter"}}
    urls = articles(site)
    assert len(run(urls=urls, settings=settings).items) == 5
    assert run(urls=urls, settings=settings).items == []


def test_an_item_filter_is_asked_once(site: Site, run: Run) -> None:
    settings = waiting_for("out.jl")
    settings["FEEDS"] = {
        name: {**LINES, "item_filter": "tests.crawl.components.AskedOnce"} for name in ("a.jl", "b.jl")
    }
    urls = articles(site)
    assert "released" not in run(urls=urls, settings=settings).dedup
    assert run(urls=urls, settings=settings).items == []


def test_an_item_filter_that_fails_blocks_no_other(site: Site, run: Run) -> None:
    urls = [*articles(site, 2), site.put("/copy", fancy("T0", text(0)))]
    settings = waiting_for("out.jl", ITEM_PIPELINES={"tests.crawl.components.Slow": 300})
    settings["FEEDS"] = {"out.jl": {**LINES, "item_filter": "tests.crawl.components.FailingFilter"}}
    crawled = run(urls=urls, settings=settings)
    assert crawled.dedup["kept"] + crawled.dedup.get("dropped", 0) == 3
    again = run(urls=urls, settings=waiting_for("out.jl"))
    assert sorted(item["title"] for item in again.items) == ["T0", "T1"]  # no feed had them


def test_an_item_that_a_feed_cannot_write_is_released(site: Site, run: Run, tmp_path: Path) -> None:
    urls = articles(site)
    cannot = waiting_for("out.x")
    cannot["FEEDS"] = {"out.x": {"format": "choking"}}
    cannot["FEED_EXPORTERS"] = {"choking": "tests.crawl.components.Choking"}
    run(urls=urls, settings=cannot)
    again = run(urls=urls, settings=waiting_for("out.jl"))
    assert [item["title"] for item in again.items] == ["T3"]


def test_a_crawl_that_is_stopped_keeps_what_its_feed_has(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n)), delay=0.1) for n in range(40)]
    settings = waiting_for("out.jl", CONCURRENT_REQUESTS_PER_DOMAIN=2)
    running = start(tmp_path, ("Reader", {"urls": urls}), settings=settings)
    site.on_request = lambda count: os.kill(running.process.pid or 0, signal.SIGINT) if count == 10 else None
    stopped = finish(running)[0]
    site.on_request = None

    assert stopped.reason == "shutdown"
    assert 0 < len(stopped.items) < 40
    finish(start(tmp_path, ("Reader", {"urls": urls}), settings=settings))
    assert written(tmp_path) == sorted(f"T{n}" for n in range(40))


OVERWRITTEN = "out.jl will be overwritten, and pages that earlier crawls have stored are dropped"
LACKS = (
    "out.jl was overwritten, and lacks what earlier crawls have stored: 5 pages were dropped, 5 of them as unchanged"
)


@pytest.mark.parametrize("where", ["lmdb", "server"])
def test_a_feed_that_is_overwritten_is_named_if_the_store_knows_pages(
    site: Site, run: Run, tmp_path: Path, server: Server, where: str
) -> None:
    store = {"DEDUP_STORE": server.url} if where == "server" else {}
    feed = {**store, "FEEDS": {"out.jl": {**LINES, "overwrite": True}}}
    urls = articles(site)
    assert not run(urls=urls, settings=feed).lines(OVERWRITTEN)
    second = run(urls=urls, settings=feed)
    assert len(second.lines(OVERWRITTEN, "WARNING")) == 1
    assert written(tmp_path / "work") == []
    ours = [line["text"] for line in second.log if line["logger"].startswith("dedupcrawl")]
    assert ours[-2].startswith("Pages: 5 = 0 kept")
    assert ours[-1].startswith(LACKS)

    third = run(urls=urls, settings={**feed, "DEDUP_RESET": "1"})
    assert not third.lines("overwritten")
    assert third.lines("(namespace 'reader') starts over: 5 pages are forgotten", "INFO")
    assert written(tmp_path / "work") == ["T0", "T1", "T2", "T3", "T4"]
    assert run(urls=urls, settings=store).items == []  # what was reset is filled again


@pytest.mark.parametrize("where", ["lmdb", "server"])
def test_a_feed_that_would_be_overwritten_closes_the_crawl(
    site: Site, run: Run, tmp_path: Path, server: Server, where: str
) -> None:
    urls = articles(site)
    feeds = {"out.jl": {**LINES, "overwrite": True}, "other.jl": LINES}
    settings = {"FEEDS": feeds, "DEDUP_ON_OVERWRITE": "close"}
    if where == "server":
        settings["DEDUP_STORE"] = server.url
    first = run(urls=urls, settings=settings)
    assert first.reason == "finished"
    (tmp_path / "work" / "other.jl").unlink()
    before, site.asked = (tmp_path / "work" / "out.jl").read_bytes(), []

    running = start(tmp_path / "work", ("Reader", {"urls": urls}), settings=settings)
    assert running.wait() == 0
    assert "out.jl stays as it is, and the crawl is closed (DEDUP_ON_OVERWRITE)" in running.output
    assert "Spider closed (dedup_overwrite)" in running.output
    assert "Traceback" not in running.output
    assert site.asked == []
    assert (tmp_path / "work" / "out.jl").read_bytes() == before
    assert not (tmp_path / "work" / "other.jl").exists()
    assert len(run(urls=urls, settings={**settings, "DEDUP_RESET": True}).items) == 5


@pytest.mark.parametrize("claims", [0, MAX_LOOKED, None])
def test_a_store_that_cannot_tell_whether_it_knows_pages(tmp_path: Path, claims: int | None) -> None:
    """``claims`` stand before its other records; None: it is away."""
    (tmp_path / "out.jl").touch()
    storage = FileFeedStorage(str(tmp_path / "out.jl"), feed_options={"overwrite": True})
    slot = SimpleNamespace(uri_template="out.jl", uri="out.jl", storage=storage, itemcount=0, store_empty=True)
    exporter = SimpleNamespace(
        slots=[slot], feeds={"out.jl": {"overwrite": True}}, crawler=SimpleNamespace(spider=None)
    )

    async def call(look: Callable[[], bool]) -> bool:
        if claims is None:
            raise StoreError("The store is away.")
        return look()

    claim = SimpleNamespace(state=ClaimState.SCRAPED)
    store = SimpleNamespace(records=lambda _: repeat(claim, claims or 0))
    client = SimpleNamespace(is_open=True, call=call, dedup=SimpleNamespace(store=store))
    for if_unknown in (False, True):
        feeds = OverwrittenFeedTracker(cast("Any", exporter), cast("Any", client))
        found = asyncio.run(feeds.find(if_unknown=if_unknown))
        assert found == (if_unknown and claims != 0)


@pytest.mark.parametrize("on_overwrite", ["warn", "close"])
def test_the_pages_of_a_killed_crawl_are_not_known(
    site: Site, run: Run, tmp_path: Path, server: Server, on_overwrite: str
) -> None:
    feed = {"FEEDS": {"out.jl": {**LINES, "overwrite": True}}, "DEDUP_ON_OVERWRITE": on_overwrite}
    shared = {**feed, "DEDUP_STORE": server.url, "DEDUP_LEASE": 2}
    held = site.put("/held", plain("Held", text(9)))
    running = start(tmp_path / "work", ("Reader", {"urls": [*articles(site), held]}), settings=shared)

    def kill(path: str) -> None:
        if path == "/held":
            wait_for(lambda: scraped(server.url) == 5)
            running.process.kill()  # no other thread may wait for it: only one gets the exit code

    site.on_path = kill
    assert running.wait() == -signal.SIGKILL
    site.on_path = None
    again = run(urls=articles(site), settings=shared)
    assert not again.lines("overwritten")
    assert written(tmp_path / "work") == ["T0", "T1", "T2", "T3", "T4"]


def scraped(url: str) -> int:
    """Count the claims of a store whose items are scraped, and not durable yet."""
    with Deduplicator(url, "reader", lease=2.0) as beside:
        return beside.info().scraped


@pytest.mark.parametrize(
    ("feed", "more"),
    [
        ({"out.jl": LINES}, {}),
        ({"new.jl": {**LINES, "overwrite": True}}, {}),
        ({"out-%(time)s.jl": {**LINES, "overwrite": True}}, {}),
        ({"stdout:": LINES}, {}),
        ({"out.jl": {**LINES, "overwrite": True}}, {"DEDUP_ACTION": "tag"}),
        ({"out.jl": {**LINES, "overwrite": True}}, {"DEDUP_NAMESPACE": "other"}),
        ({"out.jl": {**LINES, "overwrite": True}}, {"DEDUP_STORE": "memory://"}),
    ],
)
def test_other_feeds_are_not(site: Site, run: Run, feed: dict[str, Any], more: dict[str, Any]) -> None:
    urls = articles(site, 1)
    run(urls=urls, settings={"FEEDS": {"out.jl": LINES}})
    assert not run(urls=urls, settings={"FEEDS": feed, **more}).lines("will be overwritten")


def test_a_feed_on_a_server_is_overwritten_by_default(site: Site, run: Run) -> None:
    urls = articles(site, 1)
    settings: dict[str, Any] = {"FEEDS": {"upload://out-2": LINES}}
    settings["FEED_STORAGES"] = {"upload": "tests.crawl.components.Upload"}
    run(urls=urls, settings=settings)
    assert len(run(urls=urls, settings=settings).lines("upload://out-2 will be overwritten", "WARNING")) == 1


CUT = "ended within an item, as a killed crawl leaves it"


@pytest.mark.parametrize(
    ("name", "left", "ended"),
    [
        ("out.jl", b'{"title": "T7"}\n{"title": "T', b'{"title": "T7"}\n{"title": "T\n'),
        ("out.jl", '{"title": "冰"}\n{"title": "冰'.encode()[:-1], '{"title": "冰"}\n{"title": "\n'.encode()),
        ("out.jl", b'{"title": "T7"}\n', b""),
        ("out.jl", b"", b""),
        ("out.csv", b'url,title\r\nu,"a ""quoted"" tit', b'url,title\r\nu,"a ""quoted"" tit"\r\n'),
        ("out.csv", b'url,title\r\nu,"of two\n', b'url,title\r\nu,"of two\n"\r\n'),
        ("out.csv", b"url,title\r\nu,ti", b"url,title\r\nu,ti\r\n"),
        ("out.csv", b"url,title\nu,title\n", b""),
        ("out.csv", b"url,title\r\nu,title\r\n", b""),
        ("out.xml", b"<items><item>", b""),
    ],
)
def test_a_feed_that_was_cut_off_goes_on_with_a_new_line(
    site: Site, run: Run, tmp_path: Path, name: str, left: bytes, ended: bytes
) -> None:
    feed = tmp_path / "work" / name
    feed.write_bytes(left)
    settings = waiting_for()
    settings["FEEDS"] = {name: {"format": "jsonlines" if name == "out.jl" else name[-3:], "encoding": "utf-8"}}
    crawled = run(urls=articles(site, 2), settings=settings)
    assert len(crawled.lines(f"{name} {CUT}", "WARNING")) == bool(ended)
    added = feed.read_bytes().removeprefix(ended or left)
    assert feed.read_bytes() == (ended or left) + added
    if name == "out.jl":
        assert sorted(json.loads(line)["title"] for line in added.splitlines()) == ["T0", "T1"]
    elif name == "out.csv":
        assert [len(row) for row in csv.reader(added.decode().splitlines())] == [3, 3, 3]


@pytest.mark.parametrize("options", [{"overwrite": True}, {"encoding": "utf-16"}, {"postprocessing": [GZIP]}])
def test_other_feeds_are_written_as_scrapy_does(site: Site, run: Run, tmp_path: Path, options: dict[str, Any]) -> None:
    feed = tmp_path / "work" / "out.jl"
    feed.write_bytes(b"{")
    crawled = run(urls=articles(site, 1), settings={"FEEDS": {"out.jl": {**LINES, **options}}})
    assert not crawled.lines(CUT)
    assert feed.read_bytes()[:2] != b"{\n"


def test_a_store_that_another_worker_uses_is_not_reset(site: Site, tmp_path: Path) -> None:
    store = f"lmdb://{tmp_path}/store"
    with Deduplicator(store, "reader") as other:
        other.add(text=text(1), url="https://a.example/")
        running = start(
            tmp_path, ("Reader", {"urls": articles(site, 1)}), settings={"DEDUP_STORE": store, "DEDUP_RESET": True}
        )
        assert running.wait() == 1
        assert "(namespace 'reader') cannot be reset: others have it open (1)." in running.output
        assert site.asked == []
        assert other.info().pages == 1


def test_a_reset_forgets_what_an_earlier_crawl_could_not_file(site: Site, run: Run, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    with Deduplicator() as dedup:
        record = dedup.fingerprint(dedup.read(html=plain("Ice", text(1)), url=url))  # type: ignore[arg-type]
    assert isinstance(record, Record)
    store = f"lmdb://{tmp_path}/store"
    folder = tmp_path / "work" / ".scrapy" / "dedup-spool" / spool_name(store, "reader", dedup.scheme)
    left = SpoolFolder(folder)
    for settings, kept in (({"DEDUP_RESET": True}, 1), ({"DEDUP_NAMESPACE": "reader"}, 0)):
        left.append([record])
        left.close()
        crawled = run(urls=[url], settings={"DEDUP_STORE": store, **settings})
        assert len(crawled.items) == kept
        assert not [*folder.glob("*.sqlite")]
