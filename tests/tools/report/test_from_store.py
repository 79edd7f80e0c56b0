from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.errors import SettingError, StoreError
from dedupcrawl.tools.report import from_store
from dedupcrawl.tools.report.from_store import report_from_store
from dedupcrawl.tools.report.report_builder import ReportLimits
from tests.batch.corpus import story
from tests.stores.servers import Server, binaries
from tests.tools.report.judged_ledgers import changed, web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.tools.report.report_model import Report

BEGIN = 1_700_000_000.0


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"lmdb://{tmp_path}/store"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server(binaries()["valkey"], password="s3cret").start()
    yield started
    started.remove()


@pytest.fixture
def address(server: Server) -> str:
    return f"redis://:s3cret@127.0.0.1:{server.port}/0"


def fill(url: str, pages: list[Page], namespace: str = "news", **how: Any) -> None:
    """Add pages to a store, one an hour."""
    now = [BEGIN]
    with Deduplicator(url, namespace, clock=lambda: now[0], **how) as dedup:
        for each in pages:
            dedup.add(each)
            now[0] += 3600


def pages() -> list[Page]:
    """Return the pages of two hosts, and a new version of one page."""
    found = web()
    return [*found, Page(text=changed(found[5].text, 3), url=found[5].url)]


def checked(report: Report) -> None:
    kept = [page.url for page in pages() if page.url.startswith("https://a") or page.url.endswith(("miss", "short"))]
    assert Counter(row.url for row in report.pages) == Counter(kept)
    assert (report.figures.pages, report.figures.kept, report.figures.dropped) == (9, 9, 0)
    assert [(each.name, each.pages, each.kept) for each in report.hosts] == [("a.example", 7, 7), ("b.example", 2, 2)]
    assert report.flows == ()
    [cluster] = report.clusters
    times = [report.pages[place].time for place in cluster.pages]
    assert (cluster.size, cluster.first, cluster.last) == (2, *times)
    assert {report.pages[place].url for place in cluster.pages} == {"https://a.example/5"}
    assert sum(each.kept for each in report.slices) == 9
    [miss] = [report.pairs[place] for place in report.misses]
    assert (miss.new, miss.old, miss.changes) == ("https://b.example/miss", "https://a.example/4", ())
    nearest = max(miss.assessments, key=lambda each: each.similarity or 0)
    assert miss.similarity == nearest.similarity
    assert [threshold.is_met for threshold in nearest.thresholds if threshold.constant == "threshold"] == [False]
    [histogram] = report.histograms
    assert (histogram.detector, histogram.threshold, sum(histogram.missed)) == ("minhash", 0.8, 1)


def test_a_store_shows_what_it_holds_and_what_it_does_not(url: str) -> None:
    fill(url, pages())
    report = report_from_store(url)
    checked(report)
    assert (report.kind, report.began, report.ended) == ("store", BEGIN, BEGIN + 12 * 3600)
    assert report.settings["DEDUP_NAMESPACE"] == "news"
    assert "minhash" in report.settings["DEDUP_DETECTORS"]
    assert "DEDUP_THRESHOLD" not in report.settings
    told = " ".join(report.notes)
    assert "not those that were dropped, nor which pages these repeat" in told
    assert "no texts" in told
    assert "For near misses all pages were compared with others under their keys: 1 pair." in told
    assert "without their texts" not in told


def test_a_store_on_a_server_shows_the_same_and_no_password(address: str) -> None:
    fill(address, pages())
    report = report_from_store(address, "news")
    checked(report)
    assert "s3cret" not in repr(report)
    assert report.title.startswith("Store redis://")


def test_detectors_are_those_that_filled_the_store(url: str) -> None:
    fill(url, pages(), detectors=("simhash",))
    report = report_from_store(url)
    assert {each.detector for pair in report.pairs for each in pair.assessments} == {"simhash"}
    assert "simhash" in report.settings["DEDUP_DETECTORS"]


def test_open_claims_are_noted(url: str) -> None:
    with Deduplicator(url, "news") as dedup:
        dedup.claim(pages()[0])
        dedup.add(pages()[1])
        report = report_from_store(url)
    assert report.figures.pages == 2
    assert "1 page is claimed, and not committed yet." in report.notes


def test_one_of_several_namespaces_has_to_be_named(url: str) -> None:
    fill(url, pages())
    fill(url, pages()[:3], "other")
    with pytest.raises(SettingError, match="one of 'news', 'other'"):
        report_from_store(url)
    with pytest.raises(SettingError, match="'third'"):
        report_from_store(url, "third")
    assert report_from_store(url, "other").figures.pages == 3


def test_a_missing_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="gone"):
        report_from_store(f"lmdb://{tmp_path}/gone")


def test_a_store_of_another_version_is_counted_and_not_compared(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(url, pages())
    from dedupcrawl.tools.report import from_store

    def unknown(*_: object) -> None:
        raise StoreError("The store was filled with a detector 'odd', which this version does not have.")

    monkeypatch.setattr(from_store, "recovered", unknown)
    report = report_from_store(url)
    assert (report.figures.pages, report.pairs, report.histograms) == (9, (), ())
    assert "Pages were not compared: The store was filled with a detector 'odd'" in " ".join(report.notes)
    assert "minhash" in report.settings["filled with"]


def test_of_a_large_store_some_pages_are_shown_and_compared(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Page(text=story(number, words=40), url=f"https://h{number}.example/{number}") for number in range(60)]
    newer = [Page(text=changed(page.text, 2), url=page.url) for page in many[:20]]
    fill(url, [*many, *newer])
    for name, value in (("MAX_LOOKUPS", 7), ("MAX_CLUSTERS", 16), ("MAX_HOSTS", 5), ("_PROGRESS_STEP", 8)):
        monkeypatch.setattr(from_store, name, value)
    report = report_from_store(url, limits=ReportLimits(pages=30))
    assert (report.figures.pages, len(report.pages)) == (80, 30)
    told = " ".join(report.notes)
    assert "The table holds 30 of 80 pages" in told
    assert "7 pages, chosen by hash, were compared" in told
    assert "Clusters are those of one in " in told
    assert report.hosts[-1].name == "(others)"
    assert len(report.hosts) == 6
    assert sum(each.pages for each in report.hosts) == 80
    assert sum(each.kept for each in report.slices) == 80
    assert {each.size for each in report.clusters} <= {2}
