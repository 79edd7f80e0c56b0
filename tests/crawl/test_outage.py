"""The store becomes unreachable during a crawl: nothing is lost or stored twice, and it is logged once."""

from __future__ import annotations

from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.distant import Network
from tests.crawl.running import PATIENCE, REACTORS, finish, start, wait_for, wait_for_lines
from tests.crawl.site import fancy, plain, text
from tests.crawl.test_distant import over

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled, Running
    from tests.crawl.site import Site

PAGES = 24
IN_TURN = {"CONCURRENT_REQUESTS": 2, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network(tmp_path / "net")


def articles(site: Site, lay: Callable[..., str] = plain, side: str = "a") -> list[str]:
    """Pages that come one after the other, a few milliseconds apart."""
    return [site.put(f"/{side}/{n}", lay(f"T{n}", text(n)), delay=0.1) for n in range(PAGES)]


def begin(folder: Path, network: Network, urls: list[str], *, reactor: str = "asyncio", **settings: Any) -> Running:
    how = over(network, latency=0.01, **{**IN_TURN, "DEDUP_CLOSE_PATIENCE": 0, **settings})
    return start(folder, ("Reader", {"urls": urls}), settings=how, reactor=reactor)


def crawl(folder: Path, network: Network, urls: list[str], **settings: Any) -> Crawled:
    return finish(begin(folder, network, urls, **settings))[0]


def at(site: Site, **events: Any) -> None:
    """Call a function at the n-th request from now: ``at(site, _8=network.cut)``."""
    before = len(site.asked)

    def note(count: int) -> None:
        event = events.get(f"_{count - before}")
        if event is not None:
            event()

    site.on_request = note


def noticed(network: Network, folder: Path) -> Callable[[], None]:
    """Return a function that mends the network, as soon as the crawl of this folder has noticed that it is cut."""

    def mend() -> None:
        wait_for_lines(folder, "The store is away")
        network.mend()

    return mend


def hold_copies(site: Site, network: Network) -> None:
    """Answer the requests for copies once all articles are filed."""
    one = Lock()

    def hold(path: str) -> None:
        if path.startswith("/b/"):
            with one:
                wait_for(lambda: filed(network) >= PAGES)

    site.on_path = hold


def filed(network: Network) -> int:
    with Deduplicator(network.lmdb, "reader") as beside:
        return beside.info().pages


def spools(folder: Path) -> list[Path]:
    return [*folder.rglob("*.sqlite")]


@pytest.mark.parametrize(("how", "reactor"), [*(("away", reactor) for reactor in REACTORS), ("deaf", "asyncio")])
def test_kept_pages_are_filed_when_the_store_is_back(
    site: Site, tmp_path: Path, network: Network, reactor: str, how: str
) -> None:
    urls = [*articles(site), *articles(site, fancy, "b")]

    def cut() -> None:
        wait_for(lambda: filed(network) > 0)
        network.cut(how)

    at(site, _6=cut, _16=noticed(network, tmp_path))
    hold_copies(site, network)
    crawled = crawl(tmp_path, network, urls, reactor=reactor)

    assert sorted(item["title"] for item in crawled.items) == sorted(f"T{n}" for n in range(PAGES))
    missed = crawled.dedup["unchecked/store"]
    assert 3 <= missed < PAGES
    assert [verdict["reason"] for verdict in crawled.verdicts if verdict] == ["store"] * missed
    assert crawled.dedup["spool/added"] >= missed
    assert crawled.dedup["spool/filed"] == crawled.dedup["spool/added"]
    assert crawled.dedup["outages"] == 1
    assert all(type(n) is int for n in crawled.dedup.values())
    assert len(crawled.lines("The store is away, pages are kept unchecked until it is back", "ERROR")) == 1
    (back,) = crawled.lines("The store is back after", "WARNING")
    assert f"in which {missed} pages were kept unchecked" in back
    assert not crawled.lines("The store failed")
    assert spools(tmp_path) == []
    with Deduplicator(network.lmdb, "reader") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (PAGES, 0, 0)


def test_what_no_store_took_is_filed_by_the_next_crawl(site: Site, tmp_path: Path, network: Network) -> None:
    urls = articles(site)
    at(site, _6=network.cut)
    first = crawl(tmp_path, network, urls)
    assert len(first.items) == PAGES
    assert len(spools(tmp_path)) == 1
    assert first.dedup["unchecked/store"] > PAGES / 2
    left = first.dedup["spool/left"]
    assert left == first.dedup["spool/added"]
    (line,) = first.lines("stored pages could not be filed", "WARNING")
    assert line.startswith(f"{left} stored pages could not be filed, they are left in {spools(tmp_path)[0]}. Keep this")
    (summary,) = first.lines("Pages: ", "INFO")
    assert f"spool/left {left}" in summary
    texts = [entry["text"] for entry in first.log]
    assert texts.index(line) == texts.index(summary) - 1

    network.mend()
    again = crawl(tmp_path, network, [*urls, *articles(site, fancy, "b")])
    assert again.items == []
    assert again.dedup["dropped"] == 2 * PAGES
    assert again.dedup["spool/filed"] == first.dedup["spool/added"]
    assert len(again.lines(f"{first.dedup['spool/added']} are filed now", "INFO")) == 1
    assert "outages" not in again.dedup
    assert spools(tmp_path) == []


def test_a_killed_crawl_leaves_its_spool(site: Site, tmp_path: Path, network: Network) -> None:
    urls = articles(site)
    running = begin(tmp_path, network, urls)

    def kill() -> None:
        wait_for_lines(tmp_path, "Scraped from", 16)
        running.process.kill()

    at(site, _6=network.cut, _20=kill)
    running.wait()
    network.mend()
    spooled = len(spools(tmp_path))
    again = crawl(tmp_path, network, urls)

    assert spooled == 1
    assert again.dedup["spool/filed"] >= 8
    assert again.dedup["dropped"] >= again.dedup["spool/filed"]
    assert len(again.items) + again.dedup["dropped"] == PAGES


def test_two_crawls_share_the_folder_of_the_spool(site: Site, tmp_path: Path, network: Network) -> None:
    pages = {side: [site.put(f"/{side}/{n}", plain(f"T{side}{n}", text(n, words))) for n in range(9)]
             for side, words in (("a", 150), ("b", 240))}  # fmt: skip
    seen, both = set[str](), Event()

    def cut_when_both_crawl(path: str) -> None:
        seen.add(path[:2])
        if len(seen) == 2:
            network.cut()
            both.set()
        both.wait(PATIENCE)

    site.on_path = cut_when_both_crawl
    runs = [begin(tmp_path, network, urls) for urls in pages.values()]
    first = [finish(running)[0] for running in runs]
    assert [len(crawled.items) for crawled in first] == [9, 9]
    assert len(spools(tmp_path)) == 2

    site.on_path = None
    network.mend()
    again = crawl(tmp_path, network, [*pages["a"], *pages["b"]])
    assert again.items == []
    assert again.dedup["spool/filed"] == sum(crawled.dedup["spool/added"] for crawled in first) == 18
    assert spools(tmp_path) == []


def test_other_namespaces_and_configurations_have_other_spools(site: Site, tmp_path: Path, network: Network) -> None:
    urls = articles(site)
    at(site, _2=network.cut)
    crawl(tmp_path, network, urls)
    network.mend()
    for settings in ({"DEDUP_NAMESPACE": "other"}, {"DEDUP_NAMESPACE": "third", "DEDUP_SEED": 3}):
        other = crawl(tmp_path, network, urls, **settings)
        assert len(other.items) == PAGES
        assert "spool/filed" not in other.dedup
    assert crawl(tmp_path, network, urls).items == []


def test_pages_may_wait_for_the_store(site: Site, tmp_path: Path, network: Network) -> None:
    urls = articles(site)
    at(site, _6=network.cut, _12=noticed(network, tmp_path))
    crawled = crawl(tmp_path, network, urls, DEDUP_ON_STORE_ERROR="wait")

    assert len(crawled.items) == crawled.dedup["checked"] == PAGES
    assert "unchecked/store" not in crawled.dedup
    assert crawled.reason == "finished"
    assert len(crawled.lines("The store is away, pages wait for it", "ERROR")) == 1
    assert len(crawled.lines("The store is back", "WARNING")) == 1
    with Deduplicator(network.lmdb, "reader") as beside:
        assert (beside.info().pages, beside.info().open) == (PAGES, 0)


CLOSING = {"DEDUP_ON_STORE_ERROR": "close"}
OUT_OF_PATIENCE = {"DEDUP_ON_STORE_ERROR": "wait", "DEDUP_STORE_PATIENCE": 0.5}


@pytest.mark.parametrize(
    ("settings", "reactor"), [*((CLOSING, reactor) for reactor in REACTORS), (OUT_OF_PATIENCE, "asyncio")]
)
def test_the_crawl_may_end_with_the_store(
    site: Site, tmp_path: Path, network: Network, reactor: str, settings: dict[str, Any]
) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n)), delay=0.1) for n in range(200)]
    at(site, _6=network.cut)
    crawled = crawl(tmp_path, network, urls, reactor=reactor, **settings)

    assert crawled.reason == "dedup_store_error"
    assert len(crawled.items) == len(site.asked) < 100  # what was under way is kept
    assert len(crawled.lines("The crawl is closed because its store is away", "ERROR")) == 1
    assert not crawled.lines("Traceback")

    network.mend()
    site.on_request = None
    again = crawl(tmp_path, network, urls[: len(crawled.items)])
    assert again.items == []


def test_a_stored_item_whose_claim_was_not_committed_is_not_stored_again(
    site: Site, tmp_path: Path, network: Network
) -> None:
    urls = articles(site)
    cut = {"ITEM_PIPELINES": {"tests.crawl.components.Cut": 300}, "CUT": str(network.folder / "away")}
    first = crawl(tmp_path, network, urls, CONCURRENT_REQUESTS=32, **cut)
    assert len(first.items) == PAGES
    assert first.dedup["checked"] >= 1
    network.mend()

    again = crawl(tmp_path, network, [*urls, *articles(site, fancy, "b")])
    assert again.items == []


def test_a_refused_item_whose_claim_was_not_released_comes_again(site: Site, tmp_path: Path, network: Network) -> None:
    urls = articles(site)
    refuse = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}, "REFUSE": "/a/"}
    at(site, _4=network.cut, _12=network.mend)
    first = crawl(tmp_path, network, urls, **refuse)
    assert first.items == []
    assert "spool/added" not in first.dedup  # only what is stored is remembered
    with Deduplicator(network.lmdb, "reader") as beside:
        assert beside.info().pages == 0
    at(site, _4=network.cut)
    assert crawl(tmp_path, network, urls, **refuse).items == []
    network.mend()
    assert len(crawl(tmp_path, network, urls).items) == PAGES


def test_a_claim_that_could_not_be_given_back_at_once_is_soon(site: Site, tmp_path: Path, network: Network) -> None:
    """One call fails, but the store is reachable: no worker waits for a claim that is still to be released."""
    refused = site.put("/a/1", plain("Ice", text(1)))
    copy = site.put("/b/1", plain("Ice", text(1)))

    def hold(path: str) -> None:
        if path == "/b/1":
            wait_for(lambda: not network.has_fault("no-release"))

    site.on_path = hold
    refuse = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}, "REFUSE": "/a/"}
    network.cut("no-release")
    crawled = crawl(tmp_path, network, [refused, copy], DEDUP_WAIT=60, **refuse)

    assert [item["url"] for item in crawled.items] == [copy]
    assert not network.has_fault("no-release")
    assert crawled.dedup["checked"] == 2
    assert "unchecked/claimed" not in crawled.dedup
    assert "outages" not in crawled.dedup


def test_feeds_closed_while_the_store_is_away(site: Site, tmp_path: Path, network: Network) -> None:
    urls = articles(site)
    batches = {"out-%(batch_id)d.jl": {"format": "jsonlines", "batch_item_count": 4}}
    settings: dict[str, Any] = {"FEEDS": batches, "DEDUP_COMMIT": "feed_slot_closed"}
    at(site, _10=network.cut)
    first = crawl(tmp_path, network, urls, **settings)
    assert len(first.items) == PAGES
    network.mend()
    again = crawl(tmp_path, network, [*urls, *articles(site, fancy, "b")], **settings)
    assert again.items == []


def test_a_store_that_is_away_at_the_start(site: Site, tmp_path: Path, network: Network) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    network.cut()
    running = begin(tmp_path, network, [url])
    assert running.wait() == 1
    assert "dedupcrawl: The store distant:// cannot be reached: connection refused." in running.output
    assert "Traceback" not in running.output
    assert site.asked == []

    running = begin(tmp_path, network, [url], DEDUP_ON_STORE_ERROR="wait")
    out = running.report.with_suffix(".out")
    while not out.exists() or "The store is away" not in out.read_text():
        assert running.process.is_alive()
        running.process.join(0.1)
    network.mend()
    assert finish(running)[0].dedup["kept"] == 1
