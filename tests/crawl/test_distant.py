"""A crawl with a store across a network: the reactor never blocks, and the rules are the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.distant import Network
from tests.crawl.running import IN_TURN, REACTORS, Running, finish, on_every_reactor, start
from tests.crawl.site import fancy, plain, text
from tests.crawl.test_crawl import reprints

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.crawl.site import Site

ADDONS = {"dedupcrawl.Addon": 500, "tests.crawl.distant.DistantAddon": 400}
SLOW = {"ITEM_PIPELINES": {"tests.crawl.components.Slow": 300}}


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network(tmp_path / "net")


def over(network: Network, latency: float = 0.05, **settings: Any) -> dict[str, Any]:
    return {"ADDONS": ADDONS, "DEDUP_STORE": network.url, "LATENCY": latency, **settings}


def begin(folder: Path, network: Network, urls: list[str], **settings: Any) -> Running:
    return start(folder, ("Reader", {"urls": urls}), settings=over(network, **settings))


def test_each_article_once(site: Site, tmp_path: Path) -> None:
    urls = reprints(site)
    for reactor in REACTORS:
        network = Network(tmp_path / f"net-{reactor}")
        settings = over(network, **IN_TURN)
        done = on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=settings, reactors=[reactor])
        (crawled,) = done[reactor]
        # Pages that come together are asked for together: which of the copies is first is up to the store.
        assert sorted(item["title"].upper().strip("!") for item in crawled.items) == ["BRIDGE", "ICE", "LAMPS"]
        assert (crawled.dedup["checked"], crawled.dedup["kept"], crawled.dedup["dropped"]) == (5, 3, 2)
        (note,) = network.notes()
        assert note["main"] == 0  # not one call in the thread of the reactor


def test_a_slow_store_slows_no_crawl(site: Site, tmp_path: Path, network: Network) -> None:
    """Its calls overlap as requests do; the times themselves are a matter for the benchmark."""
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(80)]
    at_once = {"CONCURRENT_REQUESTS_PER_DOMAIN": 16, "LOG_LEVEL": "INFO"}
    latency = 0.5  # many times as long as a page takes: calls overlap also on a slow machine
    crawled = finish(begin(tmp_path, network, urls, latency=latency, **at_once))[0]

    assert crawled.dedup["kept"] == 80
    (note,) = network.notes()
    assert note["calls"] >= 160
    assert note["main"] == 0
    assert note["most"] >= 8
    assert note["last"] - note["first"] < note["calls"] * latency / 2  # one after the other took twice as long


@pytest.mark.parametrize("reactor", REACTORS)
def test_copies_of_one_process_meet_at_the_store(site: Site, tmp_path: Path, network: Network, reactor: str) -> None:
    urls = [site.put(f"/{n}/{n % 3}", plain(f"T{n % 3}", text(n % 3))) for n in range(24)]
    settings = over(network, latency=0.03, DEDUP_WAIT=60, CONCURRENT_REQUESTS_PER_DOMAIN=16, **SLOW)
    crawled = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=settings, reactor=reactor))[0]

    assert sorted(item["title"] for item in crawled.items) == ["T0", "T1", "T2"]
    assert crawled.dedup["dropped"] == 21
    assert crawled.dedup["checked"] == 24


def test_refused_copies_give_way_to_others(site: Site, tmp_path: Path, network: Network) -> None:
    urls = [site.put(f"/{'ab'[n > 2]}/{n}", plain("Ice", text(1)), delay=n / 100) for n in range(6)]
    settings = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}, "REFUSE": "/a/"}
    crawled = finish(begin(tmp_path, network, urls, **settings))[0]

    (item,) = crawled.items
    assert "/b/" in item["url"]
    assert crawled.dedup.get("released", 0) + crawled.dedup["dropped"] == 5


@pytest.mark.parametrize("commit", ["item_scraped", "feed_slot_closed"])
def test_three_workers_store_each_article_once(site: Site, tmp_path: Path, network: Network, commit: str) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for n in range(10) for side in "ab"]
    feeds = {"FEEDS": {f"{tmp_path}/out-WHO-%(batch_id)d.jl": {"format": "jsonlines", "batch_item_count": 1}}}
    settings: Mapping[str, Any] = {"DEDUP_COMMIT": commit, "DEDUP_WAIT": 60, **SLOW}
    runs: list[Running] = []
    for order in (1, -1, 1):
        own = {key.replace("WHO", str(len(runs))): value for key, value in feeds["FEEDS"].items()}
        runs.append(begin(tmp_path, network, urls[::order], FEEDS=own, **settings))
    done = [finish(run)[0] for run in runs]

    titles = [item["title"] for crawled in done for item in crawled.items]
    assert sorted(titles) == sorted(f"T{n}" for n in range(10))
    with Deduplicator(network.lmdb, "reader") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (10, 0, 0)


def test_the_latest_of_two_workers_replaces_the_other(site: Site, tmp_path: Path, network: Network) -> None:
    old = site.put("/a", plain("Ice", text(1)))
    new = site.put("/b", fancy("Ice", text(1)), delay=0.5)
    last = site.put("/c", plain("Ice", text(1)))
    settings = {"DEDUP_KEEP": "latest", "DEDUP_WAIT": 60, **SLOW}
    runs = [begin(tmp_path, network, [url], **settings) for url in (old, new)]
    first, second = (finish(run)[0].verdicts for run in runs)
    third = finish(begin(tmp_path, network, [last], **settings))[0].verdicts

    (superseded,) = filter(None, (*first, *second))
    assert superseded["supersedes"] in {old, new} - {superseded["url"]}
    assert third[0]["supersedes"] == superseded["url"]
    with Deduplicator(network.lmdb, "reader") as beside:
        assert beside.info().pages == 1


@pytest.mark.parametrize("long", ["pipeline", "feed"])
def test_leases_are_renewed_over_the_network(site: Site, tmp_path: Path, network: Network, long: str) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    late = site.put("/b", plain("Lamps", text(2)), delay=10.0 if long == "feed" else 0.0)
    settings: dict[str, Any] = {"DEDUP_LEASE": 8.0, "SLOW": 10.0, **SLOW}
    if long == "feed":
        settings = {"DEDUP_LEASE": 8.0, "DEDUP_COMMIT": "feed_slot_closed", "FEEDS": {"o.jl": {"format": "jl"}}}
    running = begin(tmp_path, network, [url, late], **settings)
    seen: list[str] = []
    with Deduplicator(network.lmdb, "reader", lease=8.0) as beside:
        while running.process.is_alive():
            there = beside.store.lookup(url)
            state = there.state.name if there else "unknown"
            seen += [state] if seen[-1:] != [state] else []
            time.sleep(0.01)
    crawled = finish(running)[0]
    assert crawled.dedup["kept"] == 2
    states = ["unknown", "OPEN", "SCRAPED", "COMMITTED"]
    assert seen == [state for state in states if state in seen]  # never unknown again
    assert "OPEN" in seen
    with Deduplicator(network.lmdb, "reader") as beside:
        assert beside.info().pages == 2


def test_waiting_for_another_worker_ends_however_slow_the_store(site: Site, tmp_path: Path, network: Network) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    other = Deduplicator(network.lmdb, "reader")
    page = other.read(html=plain("Ice", text(1)), url="https://else.example/1")
    with other.claim(page):  # type: ignore[arg-type]
        crawled = finish(begin(tmp_path, network, [url], latency=0.3, DEDUP_WAIT=1))[0]
    other.close()
    assert crawled.dedup["unchecked/claimed"] == 1
    (note,) = network.notes()
    assert note["calls"] <= 9  # three to look, the rest to file the page, open and close


def test_another_worker_is_waited_for(site: Site, tmp_path: Path, network: Network) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    other = Deduplicator(network.lmdb, "reader")
    page = other.read(html=plain("Ice", text(1)), url="https://else.example/1")
    with other.claim(page):  # type: ignore[arg-type]
        patient = begin(tmp_path, network, [url], DEDUP_WAIT=60)
        hasty = finish(begin(tmp_path, network, [url], DEDUP_WAIT=0.3, DEDUP_NAMESPACE="reader"))[0]
    assert hasty.dedup["unchecked/claimed"] == 1
    other.forget(url)
    assert finish(patient)[0].items == []
    other.close()
