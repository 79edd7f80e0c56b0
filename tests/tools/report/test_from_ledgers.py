from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from dedupcrawl import Page
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.ledger.counters import RunCounts
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Entry, LedgerLimits, Outcome, is_sampled, sampling_hash
from dedupcrawl.tools.report.from_ledgers import report_from_ledgers
from dedupcrawl.tools.report.html_report import pair_values
from dedupcrawl.tools.report.report_builder import ReportLimits
from dedupcrawl.tools.report.report_model import Pair, Report
from tests.batch.corpus import story
from tests.tools.report.entries import copy, unique
from tests.tools.report.judged_ledgers import ABOUT, BEGIN, changed, web, write


@pytest.fixture
def report(tmp_path: Path) -> Report:
    write(tmp_path / "run.ledger", web())
    return report_from_ledgers([tmp_path / "run.ledger"])


def texts(pair: Pair) -> tuple[str, str]:
    return "".join(each.new for each in pair.changes), "".join(each.old for each in pair.changes)


def test_the_figures_are_those_of_the_ledger(report: Report) -> None:
    sizes = {page.url: len(page.text.encode()) for page in web()}
    dropped = {each.url for each in report.pages if each.outcome == "dropped"}
    assert report.figures == RunCounts(
        pages=12,
        checked=12,
        kept=8,
        dropped=4,
        duplicates={"identical": 3, "near-duplicate": 1},
        related={},
        unchecked={},
        bytes=sum(sizes.values()),
        bytes_saved=sum(sizes[url] for url in dropped),
    )
    assert report.detectors == {"exact": 3, "minhash": 1}


def test_every_dropped_page_names_the_page_that_it_repeats_and_why(report: Report) -> None:
    dropped = {each.url: (each.relation, each.of, each.why) for each in report.pages if each.outcome == "dropped"}
    for number in range(3):
        of = f"https://a.example/{number}"
        assert dropped.pop(f"https://b.example/{number}") == ("identical", of, f"the same text as {of}: by exact")
    [(relation, of, why)] = dropped.values()
    assert (relation, of) == ("near-duplicate", "https://a.example/3")
    assert why.startswith("near-duplicate of https://a.example/3: 0.9")
    assert "slots agree, lengths " in why


def test_dropped_pages_come_before_others_and_all_by_time(report: Report) -> None:
    assert [each.outcome for each in report.pages] == ["dropped"] * 4 + ["kept"] * 8
    assert [each.time for each in report.pages[4:]] == sorted(each.time or 0 for each in report.pages[4:])


def test_a_dropped_page_is_paired_with_its_earlier_page(report: Report) -> None:
    there = {page.url: page for page in web()}
    for row in report.pages[:4]:
        assert row.pair is not None
        pair = report.pairs[row.pair]
        assert (pair.new, pair.old, pair.relation, pair.decided) == (row.url, row.of, row.relation, row.detector)
        assert (pair.new_title, pair.old_title) == (there[row.url].title, there[row.of].title)
        assert texts(pair) == (there[row.url].text, there[row.of].text)
        assert [each.detector for each in pair.assessments] == ["exact", "minhash"]


def test_a_near_miss_is_shown_with_what_it_lacks(report: Report) -> None:
    [place] = report.misses
    miss = report.pairs[place]
    assert (miss.new, miss.old, miss.relation) == ("https://b.example/miss", "https://a.example/4", "")
    nearest = max(miss.assessments, key=lambda each: each.similarity or 0)
    assert miss.similarity == nearest.similarity
    assert any(not threshold.is_met for threshold in nearest.thresholds)
    assert sum(not each.is_equal for each in miss.changes) == 16


def test_hosts_flows_and_clusters(report: Report) -> None:
    assert [(each.name, each.pages, each.kept, each.dropped) for each in report.hosts] == [
        ("a.example", 6, 6, 0),
        ("b.example", 6, 2, 4),
    ]
    assert [(each.copy, each.source, each.pages) for each in report.flows] == [("b.example", "a.example", 4)]
    assert len(report.clusters) == 4
    for each in report.clusters:
        first, second = (report.pages[place] for place in each.pages)
        assert (each.size, each.hosts, each.title) == (2, 2, first.title)
        assert (each.first, each.last) == (first.time, second.time)
        assert second.of == first.url


def test_time_is_cut_into_equal_spans_without_gaps(report: Report) -> None:
    starts = [each.start for each in report.slices]
    assert len({after - before for before, after in pairwise(starts)}) == 1
    assert sum(each.kept for each in report.slices) == 8
    assert sum(each.dropped for each in report.slices) == 4
    assert starts[0] <= BEGIN


def test_metadata_of_the_run(report: Report) -> None:
    assert (report.title, report.kind, report.settings) == (ABOUT["title"], "crawl", ABOUT["settings"])
    assert report.began is not None
    assert report.ended is not None
    assert report.notes == ()


def test_workers_make_one_report(tmp_path: Path) -> None:
    """One worker gets the copies of the other worker's pages."""
    store, pages = f"lmdb://{tmp_path}/store", web()
    write(tmp_path / "one.ledger", pages[:6], store=store)
    write(tmp_path / "two.ledger", pages[6:], begin=BEGIN + 360, store=store)
    alone = report_from_ledgers([tmp_path / "two.ledger"])
    both = report_from_ledgers([tmp_path / "one.ledger", tmp_path / "two.ledger"])
    write(tmp_path / "whole.ledger", pages)
    whole = report_from_ledgers([tmp_path / "whole.ledger"])
    assert alone.clusters == ()
    assert all(not pair.changes for pair in alone.pairs)
    for name in ("figures", "slices", "hosts", "flows", "detectors", "histograms", "clusters", "pages"):
        assert getattr(both, name) == getattr(whole, name), name
    assert [texts(pair) for pair in both.pairs] == [texts(pair) for pair in whole.pairs]
    assert both.notes == ("2 ledgers are merged: one.ledger, two.ledger.",)


def test_a_run_that_is_running_can_be_looked_at(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.ledger", ABOUT) as ledger:
        verdict = Verdict("https://a.example/1", Status.UNIQUE, keep=True, cluster="c")
        ledger.add(Entry("https://a.example/1", BEGIN, verdict, 7), Outcome.OPEN)
        ledger.count("checked")
        ledger.flush()
        report = report_from_ledgers([tmp_path / "run.ledger"])
    assert report.ended is None
    assert [each.outcome for each in report.pages] == ["open"]
    assert any("has not ended, or was killed" in note for note in report.notes)
    assert any("1 of the pages listed were under way" in note for note in report.notes)


def test_a_page_that_was_released_reports_it(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.ledger", ABOUT) as ledger:
        verdict = Verdict("https://a.example/1", Status.UNIQUE, keep=True, cluster="c")
        note = ledger.add(Entry("https://a.example/1", BEGIN, verdict, 7))
        ledger.set_outcome(note, Outcome.RELEASED)
        ledger.count("checked")
        ledger.count("released")
    report = report_from_ledgers([tmp_path / "run.ledger"])
    assert ([each.outcome for each in report.pages], report.figures.released) == (["released"], 1)


def test_an_updated_page_is_paired_with_its_earlier_version(tmp_path: Path) -> None:
    old = Page(text=story(1, words=300), url="https://a.example/1", title="First")
    new = Page(text=changed(old.text, 9), url=old.url, title="Second")
    write(tmp_path / "run.ledger", [old, new])
    [pair] = report_from_ledgers([tmp_path / "run.ledger"]).pairs
    assert (pair.relation, pair.new_title, pair.old_title) == ("updated", "Second", "First")
    assert texts(pair) == (new.text, old.text)


def many(clusters: int) -> list[Page]:
    """Return ``clusters`` stories, each on two hosts."""
    return [
        Page(text=story(number, words=40), url=f"https://{host}.example/{number}")
        for number in range(clusters)
        for host in "ab"
    ]


def test_sampling_is_noted_and_pairs_stay_complete(tmp_path: Path) -> None:
    write(tmp_path / "run.ledger", many(60), limits=LedgerLimits(pages=50))
    report = report_from_ledgers([tmp_path / "run.ledger"])
    listed = len(report.pages)
    assert (report.figures.pages, report.figures.dropped) == (120, 60)
    assert 0 < listed <= 50
    assert f"The table holds {listed} of 120 pages" in " ".join(report.notes)
    assert f"{listed // 2} of the 60 dropped pages are among them" in " ".join(report.notes)
    assert "The report lists the pages of one in " in report.notes[0]
    assert sorted(each.of for each in report.pages if each.of) == sorted(
        each.url for each in report.pages if not each.of
    )


def test_of_several_ledgers_the_fullest_states_which_clusters_are_listed(tmp_path: Path) -> None:
    """The size of a cluster that one ledger does not list is unknown."""
    store, pages = f"lmdb://{tmp_path}/store", many(60)
    write(tmp_path / "first.ledger", pages[:60], store=store)
    write(tmp_path / "full.ledger", pages[60:], store=store, limits=LedgerLimits(pages=20))
    write(tmp_path / "again.ledger", pages[60:], begin=BEGIN + 9999, store=store)
    names = ("first.ledger", "full.ledger", "again.ledger")
    report = report_from_ledgers([tmp_path / name for name in names])
    assert report.figures.pages == 180
    with Ledger.open(tmp_path / "full.ledger") as full:
        level = full.sample.one_in.bit_length() - 1
    assert level > 0
    assert all(is_sampled(sampling_hash(row.cluster), level) for row in report.pages)
    sizes = Counter(row.cluster for row in report.pages)
    assert {each.name: each.size for each in report.clusters} == sizes


def test_missing_texts_are_noted(tmp_path: Path) -> None:
    write(tmp_path / "run.ledger", many(60), limits=LedgerLimits(content_bytes=20_000))
    report = report_from_ledgers([tmp_path / "run.ledger"])
    without = sum(not pair.changes for pair in report.pairs)
    assert 0 < without < len(report.pairs) == 60
    assert f"{without} of 60 pairs are shown without their texts." in report.notes
    assert any(note.startswith("Texts of one in ") for note in report.notes)


def test_of_items_with_one_url_that_is_shown_whose_content_was_repeated(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.ledger", ABOUT) as ledger:
        ledger.add(unique("https://a.example/list", "c1", "the first offer"))
        ledger.add(unique("https://a.example/list", "c2", "the second offer"))
        ledger.add(copy("https://b.example/1", "https://a.example/list", "c1", "the first offer again"))
    [pair] = report_from_ledgers([tmp_path / "run.ledger"]).pairs
    assert "".join(each.old for each in pair.changes) == "the first offer"


def test_failures_of_a_crawl_are_noted(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.ledger", ABOUT) as ledger:
        for name, n in (("outages", 2), ("unchecked/store", 1), ("errors", 1)):
            ledger.count(name, n)
    assert report_from_ledgers([tmp_path / "run.ledger"]).notes[:2] == (
        "The store was away 2 times: 1 page kept unchecked.",
        "1 fault in reading or judging pages; the log has the first one of each kind.",
    )


def test_checked_items_are_noted(tmp_path: Path) -> None:
    for fields, told in (('["title"]', True), ("[]", False)):
        with Ledger.create(tmp_path / "run.ledger", {**ABOUT, "settings": {"DEDUP_ITEM_FIELDS": fields}}):
            pass
        notes = report_from_ledgers([tmp_path / "run.ledger"]).notes
        assert any(note.startswith("Items were judged") for note in notes) is told


def test_limits_of_the_report_are_noted(tmp_path: Path) -> None:
    write(tmp_path / "run.ledger", many(60))
    report = report_from_ledgers([tmp_path / "run.ledger"], limits=ReportLimits(pages=70, clusters=5, hosts=1, pairs=8))
    outcomes = [each.outcome for each in report.pages]
    assert outcomes == ["dropped"] * 60 + ["kept"] * 10
    assert "The table holds 70 of 120 pages, chosen by cluster; all 60 dropped pages are among them." in report.notes
    assert "1 of 2 hosts are named, those with most pages." in report.notes
    assert [(each.name, each.pages) for each in report.hosts] == [("a.example", 60), ("(others)", 60)]
    assert len(report.clusters) == 5
    assert all(len(each.pages) == each.size == 2 for each in report.clusters)
    assert len(report.pairs) == 8


def test_hosts_that_the_ledger_did_not_name_are_counted_together(tmp_path: Path) -> None:
    pages = [Page(text=story(number % 5, words=40), url=f"https://h{number}.example/1") for number in range(20)]
    write(tmp_path / "run.ledger", pages, limits=LedgerLimits(hosts=4, flows=3))
    report = report_from_ledgers([tmp_path / "run.ledger"])
    assert sorted((each.name, each.pages) for each in report.hosts) == [
        ("(others)", 16),
        *((f"h{number}.example", 1) for number in range(4)),
    ]
    assert sum(each.pages for each in report.flows) == 15
    assert next((each.copy, each.pages) for each in report.flows) == ("(others)", 12)


def test_large_clusters_are_counted_to_the_last_page(tmp_path: Path) -> None:
    pages = [Page(text=story(1, words=40), url=f"https://h{number}.example/1") for number in range(30)]
    write(tmp_path / "run.ledger", pages)
    report = report_from_ledgers([tmp_path / "run.ledger"], limits=ReportLimits(cluster_pages=4))
    [cluster] = report.clusters
    assert (cluster.size, cluster.hosts, len(cluster.pages)) == (30, 30, 4)
    assert "At most 4 pages of a cluster are listed; its size is exact." in report.notes


def test_problems_of_the_ledger_are_noted(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.ledger", ABOUT) as ledger:
        ledger.add_problem("disk", "The disk was full for a while.")
    assert "The disk was full for a while." in report_from_ledgers([tmp_path / "run.ledger"]).notes


def test_an_empty_run_is_one_too(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.ledger", ABOUT):
        pass
    report = report_from_ledgers([tmp_path / "run.ledger"])
    assert (report.pages, report.clusters, report.slices, report.figures.pages) == ((), (), (), 0)


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("no ledger at all, but a text that is long enough to be read as a file of another kind" * 9)
    with pytest.raises(DedupError, match=r"other\.txt"):
        report_from_ledgers([other])
    with pytest.raises(DedupError, match="does not exist"):
        report_from_ledgers([tmp_path / "gone.ledger"])


def test_no_ledger_counts_twice(tmp_path: Path) -> None:
    write(tmp_path / "run.ledger", many(1))
    with pytest.raises(SettingError, match="each once"):
        report_from_ledgers([tmp_path / "run.ledger", tmp_path / "." / "run.ledger"])
    with pytest.raises(SettingError, match="at least one"):
        report_from_ledgers([])


def test_of_sampled_pages_it_is_said_that_they_are(tmp_path: Path) -> None:
    limits = LedgerLimits(pages=100)
    with Ledger.create(tmp_path / "run.ledger", ABOUT, limits=limits) as ledger:
        for number in range(400):
            url = f"https://shop.example/{number}"
            ledger.add(unique(url, f"c{number}") if number % 8 == 0 else sibling(url, f"c{number}"), Outcome.KEPT)
    with Ledger.open(tmp_path / "run.ledger") as written:
        listed = list(written.rows())
        assert written.sample.one_in > 1
    [notice] = report_from_ledgers([tmp_path / "run.ledger"]).sites
    assert notice.text.startswith(f"Of a sample of {len(listed)} compared pages of shop.example, ")
    assert notice.siblings == sum(row.entry.verdict.relation == "sibling" for row in listed)


def sibling(url: str, cluster: str) -> Entry:
    verdict = replace(unique(url, cluster).verdict, relation=Relation.SIBLING, of="https://shop.example/0")
    return replace(unique(url, cluster), verdict=verdict)


def test_a_pair_of_siblings_has_the_reason_and_both_titles(tmp_path: Path) -> None:
    pages = [
        Page(url=f"https://a.example/{name}", title=f"{name} | Shop", text=story(1, words=200), heading=name)
        for name in ("Carpenter", "Plumber")
    ]
    write(tmp_path / "run.ledger", pages)
    report = report_from_ledgers([tmp_path / "run.ledger"])
    [pair] = [each for each in report.pairs if each.relation == "sibling"]
    assert pair.siblings == "names over one text that is about neither"
    assert (pair.new_title, pair.old_title) == ("Plumber | Shop", "Carpenter | Shop")
    [row] = [each for each in report.pages if each.relation == "sibling"]
    assert (row.outcome, row.status) == ("kept", "unique")
    assert row.why.endswith("they differ by names over one text that is about neither")
    assert report.figures.related == {"sibling": 1}
    assert pair_values(pair)["ownWords"] == ["plumber", "carpenter"]
