"""The ledger of a crawl equals Scrapy's stats, in all cases."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator, Page, Status, read_page
from dedupcrawl.errors import DedupError
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Outcome
from dedupcrawl.stores.base import Record
from dedupcrawl.tools.report.from_ledgers import report_from_ledgers
from tests.crawl.distant import Network
from tests.crawl.running import IN_TURN, PATIENCE, crawl, finish, on_every_reactor, start, wait_for
from tests.crawl.site import fancy, index, plain, text
from tests.crawl.test_distant import over
from tests.crawl.test_feeds import waiting_for
from tests.crawl.test_outage import articles, at, noticed
from tests.page.test_two_texts import split_pages

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

REPORT = {"DEDUP_REPORT": "report.html"}
OURS = {"bytes"}  #: what a ledger counts and the stats do not
NAMES = ("reader", "async_reader")
REFUSE = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}}


def agree(folder: Path, *crawls: Crawled, name: str = "report") -> dict[str, Any]:
    """Hold the ledger against the stats, and its parts against each other; return its pages by URL."""
    stats = sum((Counter(each.dedup) for each in crawls), Counter[str]())
    with Ledger.open(folder / f"{name}.ledger") as ledger:
        counts = {key: n for key, n in ledger.counts.items() if key not in OURS and n}
        assert counts == stats
        rows = list(ledger.rows())
        hosts, slices = ledger.hosts, ledger.slices
        pages = stats["checked"] + sum(n for key, n in stats.items() if key.startswith("unchecked/"))
        assert sum(host.pages for host in hosts) == pages
        assert sum(host.kept for host in hosts) == stats["kept"]
        assert sum(host.dropped for host in hosts) == stats["dropped"]
        assert sum(each.dropped for each in slices) == stats["dropped"]
        assert sum(flow.pages for flow in ledger.flows) == stats["duplicate"]
        assert sum(ledger.detectors.values()) == stats["duplicate"]
        assert sum(row.outcome is Outcome.DROPPED for row in rows) == stats["dropped"]
        assert sum(row.entry.bytes for row in rows) == ledger.counts.get("bytes", 0)
        assert sum(row.entry.bytes for row in rows if row.outcome is Outcome.DROPPED) == stats["bytes_saved"]
        assert ledger.problems == ()
        assert ledger.sample.lost == 0
    figures = report_from_ledgers([folder / f"{name}.ledger"]).figures
    assert (figures.pages, figures.checked, figures.kept) == (pages, stats["checked"], stats["kept"])
    assert (figures.dropped, figures.released) == (stats["dropped"], stats["released"])
    return {row.entry.url: row for row in rows}


def mixed(site: Site) -> list[str]:
    """Pages of every kind."""
    changed = text(2).replace("harbour", "haven", 3) + "\nThe haven froze over."
    name = " ".join(text(2).split()[-9:]).rstrip(".")
    return [
        site.put("/a/1", plain("Ice", text(1))),
        site.put("/b/1", fancy("Ice", text(1))),
        site.put("/a/2", plain(name, text(2))),
        site.put("/b/2", fancy(name, changed)),
        site.put("/a/3", plain("Long", text(3, 400))),
        site.put("/b/3", plain("Long", text(3, 400)[:1200])),
        site.put("/short", plain("Short", "Nothing much.")),
        site.put("/list", index("/a/1", "/a/2")),
        site.put("/skip", plain("Rain", text(4))),
        site.put("/picture", b"\x89PNG", kind="image/png"),
    ]


def test_the_ledger_equals_the_stats_on_every_reactor(site: Site, tmp_path: Path) -> None:
    urls = mixed(site)
    settings = {**IN_TURN, **REPORT}
    done = on_every_reactor(tmp_path, ("Plainly", {"urls": urls}), settings=settings)
    for reactor, (crawled,) in done.items():
        rows = agree(tmp_path / reactor, crawled)
        assert set(rows) == set(urls)
        (line,) = crawled.lines("Report: ", "INFO")
        assert str(tmp_path / reactor / "report.html") in line
        assert b"<html" in (tmp_path / reactor / "report.html").read_bytes()


def test_the_text_in_the_ledger_is_the_compared_one(site: Site, tmp_path: Path) -> None:
    """The texts of a pair are the evidence of its verdict."""
    html = split_pages()[0][0].replace("</body>", "<footer><article><p>Imprint</p></article></footer></body>")
    url = site.put("/thread", html)
    read = read_page(html, url)
    crawl(tmp_path, urls=[url], settings={**IN_TURN, **REPORT})
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        (row,) = ledger.rows()
        assert ledger.text(row.id) == read.compared
        assert read.compared not in (None, read.text)


def test_whatever_the_settings_are(site: Site, tmp_path: Path) -> None:
    ways: dict[str, dict[str, Any]] = {
        "tag": {"DEDUP_ACTION": "tag"},
        "latest": {"DEDUP_KEEP": "latest"},
        "excerpts": {"DEDUP_DROP": ["identical", "near-duplicate", "unchanged", "excerpt"]},
        "items": {"DEDUP_ITEM_FIELDS": ["title", "body"]},
        "detectors": {"DEDUP_DETECTORS": ["simhash", "feature_codes"]},
    }
    own = [{"DEDUP_REPORT": f"{name}.html", "DEDUP_STORE": f"lmdb://store-{name}", **way} for name, way in ways.items()]
    crawls = [("AsyncReader", {"urls": mixed(site), "copies": 2})] * len(ways)
    for name, crawled in zip(ways, finish(start(tmp_path, *crawls, own=own)), strict=True):
        assert crawled.dedup["duplicate"]
        agree(tmp_path, crawled, name=name)


def test_every_dropped_page_names_what_it_repeats_and_why(site: Site, tmp_path: Path) -> None:
    urls = mixed(site)
    crawled = crawl(tmp_path, urls=urls, settings={**IN_TURN, **REPORT})
    rows = agree(tmp_path, crawled)
    assert crawled.dedup["dropped"] == 2
    for number, detector in ((1, "exact"), (2, "minhash")):
        row, original = rows[f"{site.base}/b/{number}"], rows[f"{site.base}/a/{number}"]
        assert row.outcome is Outcome.DROPPED
        assert original.outcome is Outcome.KEPT
        verdict = row.entry.verdict
        assert (verdict.of, verdict.detector) == (original.entry.url, detector)
        assert verdict.cluster == original.entry.verdict.cluster
        with Ledger.open(tmp_path / "report.ledger") as ledger:
            held = ledger.comparisons(row.id)[0]
            assert held.url == original.entry.url
            deciding = next(each for each in held.assessments if each.detector == detector)
            assert deciding.match is not None
            assert deciding.match.relation is verdict.relation
            assert {**deciding.match.evidence, "layout": verdict.evidence["layout"]} == verdict.evidence
            assert text(number)[:200] in (ledger.text(original.id) or "")
            assert ledger.text(row.id)


def test_a_near_miss_is_written_down_with_its_texts(site: Site, tmp_path: Path) -> None:
    old, new = nearly_equal()
    urls = [site.put("/old", plain("Ice", old)), site.put("/new", plain("Ice", new))]
    rows = agree(tmp_path, crawl(tmp_path, urls=urls, settings={**IN_TURN, **REPORT}))
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        (miss,) = ledger.misses(10)
        assert (miss.page, miss.old, miss.detector) == (rows[urls[1]].id, urls[0], "minhash")
        assert 0.4 <= miss.similarity < 0.8
        held = ledger.comparisons(miss.page)[miss.index]
        assert held.nearest is not None
        assert not all(threshold.is_met for threshold in held.nearest.thresholds)
        assert new[:500] in (ledger.text(miss.page) or "")
        assert old[:500] in (ledger.text(rows[urls[0]].id) or "")
        (histogram,) = ledger.histograms
        assert (sum(histogram.matched), sum(histogram.missed), histogram.threshold) == (0, 1, 0.8)


def nearly_equal() -> tuple[str, str]:
    """Return two texts that have a key in common and do not match."""
    old = text(1, 300)
    with Deduplicator() as dedup:
        dedup.add(text=old, url="https://old.example/")
        for words in range(20, 90):
            new = text(2, words).replace("\n", " ") + " " + " ".join(old.split()[words:])
            record = dedup.fingerprint(Page.from_text(new, "https://new.example/"))
            assert isinstance(record, Record)
            if dedup.candidates(record) and dedup.check(text=new).status is Status.UNIQUE:
                return old, new
    raise AssertionError("every text matches, or none meets the other")


# -- what becomes of pages after they were judged -----------------------------------------------------


@pytest.mark.parametrize("how", ["drop", "fail"])
def test_released_pages_and_those_that_waited_for_them(site: Site, tmp_path: Path, how: str) -> None:
    urls = [site.put("/a/1", plain("Ice", text(1))), site.put("/b/1", fancy("Ice", text(1)))]
    settings = {**IN_TURN, **REPORT, **REFUSE, "REFUSE": "/a/", "REFUSE_HOW": how}
    crawled = crawl(tmp_path, urls=urls, settings=settings)
    assert crawled.dedup["released"] == 1
    rows = agree(tmp_path, crawled)
    assert [rows[url].outcome for url in urls] == [Outcome.RELEASED, Outcome.KEPT]


def test_a_page_of_which_one_item_is_refused_and_the_next_is_not(site: Site, tmp_path: Path) -> None:
    urls = [site.put("/a", plain("Ice", text(1)))]
    settings = {**REPORT, **REFUSE, "REFUSE": "Ice 1", "CONCURRENT_ITEMS": 1}
    crawled = crawl(tmp_path, "AsyncReader", urls=urls, copies=3, settings=settings)
    rows = agree(tmp_path, crawled)
    assert [row.outcome for row in rows.values()] == [Outcome.KEPT]


def test_a_page_that_is_judged_again_is_one_page(site: Site, tmp_path: Path) -> None:
    urls = [site.put("/a", plain("Ice", text(1)))]
    # The first item is refused before the second one comes: its claim is released, and made again.
    settings = {**REPORT, **REFUSE, "REFUSE": "first"}
    crawled = crawl(tmp_path, "OneAfterTheOther", urls=urls, settings=settings)
    assert (crawled.dedup["released"], crawled.dedup["kept"], crawled.dedup["checked"]) == (1, 1, 1)
    rows = agree(tmp_path, crawled)
    assert [row.outcome for row in rows.values()] == [Outcome.KEPT]


def test_pages_that_are_refused_without_a_claim_were_not_kept(site: Site, tmp_path: Path) -> None:
    urls = [site.put("/skip", plain("Ice", text(1)))]
    crawled = crawl(tmp_path, urls=urls, settings={**REPORT, **REFUSE, "REFUSE": "Ice"})
    rows = agree(tmp_path, crawled)
    assert [row.outcome for row in rows.values()] == [Outcome.RELEASED]
    assert crawled.dedup == {"unchecked/skip": 1}


@pytest.mark.parametrize("storage", ["", "OddBatchesFail"])
def test_feeds_that_are_stored_and_feeds_that_are_not(site: Site, tmp_path: Path, storage: str) -> None:
    settings = waiting_for("out-%(batch_id)d.jl", storage=storage, FEED_EXPORT_BATCH_ITEM_COUNT=2, **REPORT)
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(6)]
    crawled = crawl(tmp_path, urls=urls, settings=settings)
    rows = agree(tmp_path, crawled)
    outcomes = Counter(row.outcome for row in rows.values())
    assert outcomes == ({Outcome.KEPT: 2, Outcome.RELEASED: 4} if storage else {Outcome.KEPT: 6})


def test_pages_of_an_outage_and_of_its_spool(site: Site, tmp_path: Path) -> None:
    network = Network(tmp_path / "net")
    urls = articles(site)
    at(site, _6=network.cut, _16=noticed(network, tmp_path))
    settings = over(network, latency=0.01, CONCURRENT_REQUESTS=2, **REPORT)
    crawled = crawl(tmp_path, urls=urls, settings=settings)
    assert crawled.dedup["unchecked/store"]
    assert crawled.dedup["outages"] == 1
    rows = agree(tmp_path, crawled)
    assert {row.outcome for row in rows.values()} == {Outcome.KEPT}


def test_pages_that_the_spider_does_not_see(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1), site.put("/deep", plain("Deep", text(9)))))
    settings = {**REPORT, "DEDUP_FOLLOW_DUPLICATES": False}
    crawl(tmp_path, urls=[url], settings=settings)
    crawled = crawl(tmp_path, urls=[url], settings=settings)
    assert crawled.dedup["withheld"] == 1
    rows = agree(tmp_path, crawled)
    assert rows[url].entry.verdict.of == url
    report = report_from_ledgers([tmp_path / "report.ledger"])
    assert report.figures.requests_saved is None
    assert any(note.startswith("1 of the dropped pages was not given to the spider") for note in report.notes)
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        assert [held.url for held in ledger.comparisons(rows[url].id)] == [url]
        assert text(1)[:200] in (ledger.text(rows[url].id) or "")


def test_requests_for_media_of_dropped_items_are_counted(site: Site, tmp_path: Path) -> None:
    urls = [site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))]
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 100, "tests.crawl.components.OwnFiles": 110}
    settings = {**IN_TURN, **REPORT, "ITEM_PIPELINES": pipelines, "FILES_STORE": str(tmp_path / "files")}
    crawled = crawl(tmp_path, "Illustrated", urls=urls, settings=settings)
    # Each page has two pictures of its own, and one that both of them show.
    assert crawled.dedup["requests_saved"] == 2
    assert sorted(site.asked)[2:] == ["/files/a-1", "/files/a-2", "/files/shared"]
    rows = agree(tmp_path, crawled)
    assert [rows[url].entry.requests for url in urls] == [0, 2]
    assert report_from_ledgers([tmp_path / "report.ledger"]).figures.requests_saved == 2


@pytest.mark.parametrize("before", [True, False])
def test_without_media_pipelines_after_ours_no_request_is_saved(site: Site, tmp_path: Path, before: bool) -> None:
    urls = [site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))]
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 10} if before else {}
    settings = {**IN_TURN, **REPORT, "ITEM_PIPELINES": pipelines, "FILES_STORE": str(tmp_path / "files")}
    crawled = crawl(tmp_path, "Illustrated", urls=urls, settings=settings)
    assert crawled.dedup["dropped"] == 1
    assert "requests_saved" not in crawled.dedup
    agree(tmp_path, crawled)
    assert report_from_ledgers([tmp_path / "report.ledger"]).figures.requests_saved is None


# -- going on -----------------------------------------------------------------------------------------


def test_a_resumed_crawl_continues_in_the_same_ledger(site: Site, tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path / "job"), "DEDUP_REPORT": "report-%(time)s.html"}
    first = crawl(tmp_path, urls=[site.put("/a", plain("Ice", text(1)))], settings=settings)
    second = crawl(tmp_path, urls=[site.put("/b", fancy("Ice", text(1)))], settings=settings)
    (page,) = tmp_path.glob("report-*.html")
    rows = agree(tmp_path, first, second, name=page.stem)
    assert [row.outcome for row in rows.values()] == [Outcome.KEPT, Outcome.DROPPED]
    report = report_from_ledgers([page.with_suffix(".ledger")])
    assert (report.figures.checked, report.figures.dropped) == (2, 1)


def test_another_job_begins_another_ledger(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    for job in "12":
        settings = {"JOBDIR": str(tmp_path / job), **REPORT}
        crawled = crawl(tmp_path, urls=[url], settings=settings)
        agree(tmp_path, crawled)


def test_a_killed_crawl_leaves_a_ledger_and_is_resumed(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(40)]
    dead = threading.Event()
    site.on_request = lambda count: count > 20 and dead.wait(PATIENCE)
    settings = {"JOBDIR": str(tmp_path / "job"), "DEDUP_STORE": "memory://", **REPORT, **IN_TURN}
    running = start(tmp_path, ("Reader", {"urls": urls}), settings=settings)
    ledger = tmp_path / "report.ledger"
    wait_for(lambda: _listed(ledger) >= 10)
    assert running.process.pid is not None
    os.kill(running.process.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    dead.set()
    listed = _listed(ledger)
    assert listed >= 10
    report = report_from_ledgers([ledger])
    assert report.figures.checked >= 10
    assert report.ended is None
    assert not (tmp_path / "report.html").exists()
    crawled = crawl(tmp_path, urls=[site.put("/more", plain("More", text(99)))], settings=settings)
    assert _listed(ledger) == listed + crawled.dedup["checked"]
    assert (tmp_path / "report.html").exists()


def _listed(path: Path) -> int:
    try:
        with Ledger.open(path) as ledger:
            return ledger.sample.pages
    except DedupError:
        return 0  # it is being made


def test_the_report_is_made_when_feeds_and_requests_are_stored(site: Site, tmp_path: Path) -> None:
    settings = {
        **REPORT,
        "FEEDS": {"out.jl": {"format": "jsonlines"}},
        "JOBDIR": str(tmp_path / "job"),
        "EXTENSIONS": {"tests.crawl.components.WatchingReport": 1},
    }
    crawled = crawl(tmp_path, urls=[site.put("/a", plain("Ice", text(1)))], settings=settings)
    assert crawled.dedup["kept"] == 1
    assert (tmp_path / "seen.txt").read_text() == "no report yet"
    assert (tmp_path / "report.html").exists()


def test_a_crawl_that_cannot_be_opened_leaves_its_ledger_whole(site: Site, tmp_path: Path) -> None:
    settings = {**REPORT, "ITEM_PIPELINES": {"tests.crawl.components.NoDatabase": 300}}
    running = start(tmp_path, ("Reader", {"urls": [site.put("/a", plain("Ice", text(1)))]}), settings=settings)
    assert running.wait() == 1
    assert "Spider closed (shutdown)" in running.output
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        assert [run.ended is not None for run in ledger.runs] == [True]
    assert not (tmp_path / "report.ledger-wal").exists()
    assert not (tmp_path / "report.ledger.lock").exists()


# -- settings -----------------------------------------------------------------------------------------


def test_two_crawls_of_one_process_have_a_report_each(site: Site, tmp_path: Path) -> None:
    urls = [site.put("/a", plain("Ice", text(1)))]
    settings = {"DEDUP_REPORT": "report-%(name)s.html"}
    crawls = [("Reader", {"urls": urls}), ("AsyncReader", {"urls": urls})]
    for crawled, name in zip(finish(start(tmp_path, *crawls, settings=settings)), NAMES, strict=True):
        agree(tmp_path, crawled, name=f"report-{name}")


def test_without_the_setting_nothing_is_written(site: Site, tmp_path: Path) -> None:
    crawl(tmp_path, urls=[site.put("/a", plain("Ice", text(1)))])
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".html", ".ledger", ".lock")]


def test_a_place_that_is_not_ours_or_not_free_ends_the_crawl_before_its_first_request(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "mine.html").write_text("<p>my own page")
    (tmp_path / "notes.ledger").write_text("my own notes")
    told = {
        "mine.html": "is no report of dedupcrawl",
        "notes.html": "is no ledger of dedupcrawl",
        "busy.html": "is being written by another process",
        "none/report.html": "in a folder that exists",
    }
    url = site.put("/a", plain("Ice", text(1)))
    with Ledger.create(tmp_path / "busy.ledger", {}):
        own = [{"DEDUP_REPORT": name, "DEDUP_NAMESPACE": name[:4]} for name in told]
        running = start(tmp_path, *[("Reader", {"urls": [url]}) for _ in told], own=own)
        running.wait()
    for name, why in told.items():
        assert f"dedupcrawl: DEDUP_REPORT = {name!r} is not accepted: " in running.output
        assert why in running.output
    assert site.asked == []
    assert (tmp_path / "mine.html").read_text() == "<p>my own page"
    assert (tmp_path / "notes.ledger").read_text() == "my own notes"


# -- trouble ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [0.05, 60.0], ids=["while it crawls", "when it ends"])
def test_a_full_disk_costs_no_page_and_the_report_states_it(site: Site, tmp_path: Path, interval: float) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(20)]
    addons = {"dedupcrawl.Addon": 500, "tests.crawl.components.FullDiskAddon": 600}
    settings = {**REPORT, "ADDONS": addons, "FLUSH_INTERVAL": interval}
    crawled = crawl(tmp_path, urls=urls, settings=settings)
    assert len(crawled.items) == crawled.dedup["kept"] == 20
    (line,) = crawled.lines("The report will not be complete", "ERROR")
    assert "full" in line
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        assert {key: n for key, n in ledger.counts.items() if key not in OURS and n} == crawled.dedup
        assert ledger.sample.lost + ledger.sample.pages == 20
        assert ledger.sample.lost
        (trouble,) = ledger.problems
        assert "full" in trouble
    assert trouble in report_from_ledgers([tmp_path / "report.ledger"]).notes


def test_a_fault_in_collecting_costs_no_page_and_is_logged_once(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for side in "ab" for n in range(3)]
    settings = {**IN_TURN, **REPORT, "ADDONS": {"dedupcrawl.Addon": 500, "tests.crawl.components.ClumsyAddon": 600}}
    crawled = crawl(tmp_path, urls=urls, settings=settings)
    assert len(crawled.items) == crawled.dedup["kept"] == crawled.dedup["dropped"] == 3
    (line,) = crawled.lines("The report will not be complete", "ERROR")
    assert "RuntimeError: clumsy" in line
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        assert ledger.counts["dropped"] == 3
        assert ledger.problems == ("The report is not complete: clumsy",)


def test_a_report_that_cannot_be_made_costs_no_more(site: Site, tmp_path: Path) -> None:
    settings = {**REPORT, "ITEM_PIPELINES": {"tests.crawl.components.InTheWay": 300}}
    crawled = crawl(tmp_path, urls=[site.put("/a", plain("Ice", text(1)))], settings=settings)
    assert crawled.reason == "finished"
    (line,) = crawled.lines("The report could not be made", "ERROR")
    assert f"`dedupcrawl report {tmp_path / 'report.ledger'}` tries again" in line
    agree(tmp_path, crawled)
