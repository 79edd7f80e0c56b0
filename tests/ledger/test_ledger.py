from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.detectors.base import Assessment, Threshold
from dedupcrawl.errors import DedupError
from dedupcrawl.ledger import ledger_appender
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Comparison, LedgerLimits, Outcome
from tests.databases import noted_connections
from tests.tools.report.entries import ABOUT, NOON, copy, near, unchecked, unique

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

    from dedupcrawl.ledger.ledger_appender import LedgerFileWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.ledger"


def small(path: Path, **limits: int) -> LedgerFileWriter:
    return Ledger.create(path, ABOUT, limits=LedgerLimits(**limits))


# -- what goes in comes out ---------------------------------------------------------------------------


def test_a_page_comes_out_as_it_went_in(path: Path) -> None:
    first = unique("https://a.example/1", "c1", "The harbour froze. " * 40)
    second = copy("https://b.example/2", "https://a.example/1", "c1", "港口结冰了。" * 100)
    with Ledger.create(path, ABOUT) as ledger:
        ids = [ledger.add(entry).id for entry in (first, second)]
    with Ledger.open(path) as ledger:
        rows = list(ledger.rows())
        assert [row.id for row in rows] == ids
        assert [row.outcome for row in rows] == [Outcome.KEPT, Outcome.DROPPED]
        for row, entry in zip(rows, (first, second), strict=True):
            assert row.entry.verdict == entry.verdict
            assert (row.entry.url, row.entry.time, row.entry.bytes) == (entry.url, entry.time, entry.bytes)
            assert (row.entry.title, row.entry.requests) == (entry.title, entry.requests)
            assert ledger.text(row.id) == entry.text
            assert ledger.comparisons(row.id) == entry.comparisons
        assert ledger.find("https://b.example/2") == (rows[1],)
        assert ledger.cluster("c1") == tuple(rows)
        assert ledger.row(ids[1]) == rows[1]
        assert list(ledger.rows(Outcome.DROPPED)) == [rows[1]]
        assert ledger.runs[0].about == ABOUT
        assert ledger.runs[0].ended is not None


def test_what_cannot_be_written_as_utf_8_costs_no_page(path: Path) -> None:
    odd = "half \ud83d of a pair, and a \0"
    with Ledger.create(path, ABOUT) as ledger:
        ledger.add(unique(f"https://a.example/{odd}", odd, odd, title=odd))
        ledger.add(copy(f"https://b.example/{odd}", f"https://a.example/{odd}", odd, odd))
    with Ledger.open(path) as ledger:
        first, second = ledger.rows()
        assert ledger.text(first.id) == odd
        assert first.entry.title == "half ? of a pair, and a \0"
        assert second.entry.verdict.of == first.entry.url


def test_long_things_are_cut(path: Path) -> None:
    with small(path, text_chars=10, title_chars=5, url_chars=30) as ledger:
        ledger.add(unique("https://a.example/" + "x" * 50, "c1", "t" * 50, title="title" * 9))
    with Ledger.open(path) as ledger:
        [row] = ledger.rows()
        assert (len(row.entry.url), row.entry.title, ledger.text(row.id)) == (30, "title", "t" * 10)


# -- what is exact ------------------------------------------------------------------------------------


def test_counts_hosts_flows_and_slices_are_exact_however_little_is_listed(path: Path) -> None:
    with small(path, pages=10, content_bytes=1_000, misses=2) as ledger:
        for i in range(200):
            ledger.add(unique(f"https://a.example/{i}", f"c{i}", "text", at=NOON + i))
            ledger.add(copy(f"https://b.example/{i}", f"https://a.example/{i}", f"c{i}", "text", at=NOON + i))
            ledger.count("checked", 2)
        ledger.add(unchecked("https://c.example/1"))
        ledger.count("unchecked/short")
    with Ledger.open(path) as ledger:
        assert ledger.counts == {"checked": 400, "unchecked/short": 1}
        assert [(host.name, host.pages, host.kept, host.dropped) for host in ledger.hosts] == [
            ("a.example", 200, 200, 0),
            ("b.example", 200, 0, 200),
            ("c.example", 1, 1, 0),
        ]
        assert [(flow.copy, flow.source, flow.pages) for flow in ledger.flows] == [("b.example", "a.example", 200)]
        assert ledger.detectors == {"minhash": 200}
        sums = [sum(getattr(each, name) for each in ledger.slices) for name in ("kept", "dropped", "unchecked")]
        assert sums == [200, 200, 1]
        [histogram] = ledger.histograms
        assert (histogram.detector, histogram.threshold) == ("minhash", 0.8)
        assert sum(histogram.matched) == histogram.matched[45] == 200
        assert ledger.sample.pages <= 10
        assert ledger.sample.one_in > 1


def test_a_similarity_of_the_threshold_lies_above_it(path: Path) -> None:
    with Ledger.create(path, ABOUT) as ledger:
        for similarity in (0.8, 0.58, 0.5799, 1.0, 0.0):
            ledger.add(near(f"https://a.example/{similarity}", "c", "https://b.example/", similarity))
    with Ledger.open(path) as ledger:
        [histogram] = ledger.histograms
        assert histogram.edges[40] == 0.8
        assert (histogram.matched[40], histogram.matched[49]) == (1, 1)
        assert (histogram.missed[29], histogram.missed[28], histogram.missed[0]) == (1, 1, 1)


def test_hosts_beyond_the_bound_are_counted_together(path: Path) -> None:
    with small(path, hosts=3, flows=2) as ledger:
        for i in range(10):
            ledger.add(copy(f"https://{i}.example/", f"https://of{i}.example/", "c"))
    with Ledger.open(path) as ledger:
        assert {host.name: host.pages for host in ledger.hosts} == {
            "": 7, "0.example": 1, "1.example": 1, "2.example": 1
        }  # fmt: skip
        assert {(flow.copy, flow.source): flow.pages for flow in ledger.flows} == {
            ("", ""): 8, ("0.example", "of0.example"): 1, ("1.example", "of1.example"): 1
        }  # fmt: skip


def test_slices_get_longer_as_time_passes(path: Path) -> None:
    with small(path, slices=8) as ledger:
        for i in range(1000):
            ledger.add(unique(f"https://a.example/{i}", f"c{i}", at=NOON + 10 * i))
            if i % 100 == 0:
                ledger.flush()
    with Ledger.open(path) as ledger:
        assert len(ledger.slices) <= 8
        assert ledger.width >= 10_000 / 8
        assert sum(each.kept for each in ledger.slices) == 1000
        assert all(each.start % ledger.width == 0 for each in ledger.slices)


def test_odd_times_do_no_harm(path: Path) -> None:
    with small(path, slices=4) as ledger:
        for at in (float("nan"), float("inf"), -1e300, 1e300, -1.0, NOON):
            ledger.add(unique(f"https://a.example/{at}", "c", at=at))
    with Ledger.open(path) as ledger:
        assert sum(each.kept for each in ledger.slices) == 6


# -- outcomes --------------------------------------------------------------------------------------------


def test_a_outcome_can_be_set_after_the_page_was_written(path: Path) -> None:
    with Ledger.create(path, ABOUT) as ledger:
        notes = [ledger.add(unique(f"https://a.example/{i}", f"c{i}"), Outcome.OPEN) for i in range(4)]
        ledger.set_outcome(notes[0], Outcome.KEPT)
        ledger.flush()
        ledger.set_outcome(notes[1], Outcome.KEPT)
        ledger.set_outcome(notes[2], Outcome.RELEASED)
        ledger.set_outcome(notes[0], Outcome.KEPT)
    with Ledger.open(path) as ledger:
        assert [row.outcome for row in ledger.rows()] == [Outcome.KEPT, Outcome.KEPT, Outcome.RELEASED, Outcome.OPEN]
        assert [(host.pages, host.kept) for host in ledger.hosts] == [(4, 2)]


@pytest.mark.parametrize("written", [False, True])
def test_a_second_verdict_replaces_the_row_of_a_page(path: Path, written: bool) -> None:
    with Ledger.create(path, ABOUT) as ledger:
        ledger.add(unique("https://a.example/0", "c0"))
        note = ledger.add(unique("https://a.example/1", "c1", "old text"), Outcome.OPEN)
        if written:
            ledger.flush()
        ledger.set_outcome(note, Outcome.RELEASED)
        again = copy("https://a.example/1", "https://a.example/0", "c0", "new text")
        assert ledger.add(again, again=note) is note
    with Ledger.open(path) as ledger:
        _, row = ledger.rows()
        assert row.entry.verdict == again.verdict
        assert row.outcome is Outcome.DROPPED
        assert ledger.text(row.id) == "new text"
        assert [(host.pages, host.kept, host.dropped) for host in ledger.hosts] == [(2, 1, 1)]
        assert {each.name: each.pages for each in ledger.clusters(9, 0)} == {"c0": 2, "c1": 0}


# -- what is sampled ----------------------------------------------------------------------------------


def test_beyond_the_bound_whole_clusters_stay(path: Path) -> None:
    with small(path, pages=60) as ledger:
        for i in range(300):
            ledger.add(unique(f"https://a.example/{i}", f"c{i}", "text"))
            ledger.add(copy(f"https://b.example/{i}", f"https://a.example/{i}", f"c{i}", "text"))
    with Ledger.open(path) as ledger:
        sample = ledger.sample
        assert sample.one_in in (8, 16, 32)
        assert 0 < sample.pages <= 60
        listed = {size.name: size.pages for size in ledger.clusters(1000)}
        assert set(listed.values()) == {2}
        assert len(listed) * 2 == sample.pages == sample.texts
        assert all(len(ledger.cluster(name)) == 2 for name in listed)


def test_two_workers_list_the_same_clusters(tmp_path: Path) -> None:
    paths = [tmp_path / "1.ledger", tmp_path / "2.ledger"]
    for path in paths:
        with small(path, pages=100) as ledger:
            for i in range(800):
                ledger.add(unique(f"https://{path.stem}.example/{i}", f"c{i}"))
    with Ledger.open(paths[0]) as first, Ledger.open(paths[1]) as second:
        names = [{row.entry.verdict.cluster for row in ledger.rows()} for ledger in (first, second)]
    assert names[0] == names[1] != set()


def test_texts_go_before_rows_do(path: Path) -> None:
    with small(path, content_bytes=20_000) as ledger:
        for i in range(200):
            ledger.add(unique(f"https://a.example/{i}", f"c{i}", os.urandom(500).hex()))
    with Ledger.open(path) as ledger:
        sample = ledger.sample
        assert (sample.pages, sample.one_in) == (200, 1)
        assert 0 < sample.texts * 500 <= 20_000
        assert sample.texts_one_in > 1
        kept = [row for row in ledger.rows() if ledger.text(row.id) is not None]
        assert len(kept) == sample.texts


def test_of_a_huge_cluster_some_pages_are_listed_and_all_are_counted(path: Path) -> None:
    with small(path, cluster_pages=20, cluster_texts=5) as ledger:
        ledger.add(unique("https://a.example/", "c", "text"))
        for i in range(99):
            ledger.add(copy(f"https://b.example/{i}", "https://a.example/", "c", "text", at=NOON + i))
    with Ledger.open(path) as ledger:
        [size] = ledger.clusters(10)
        assert (size.name, size.pages, size.first, size.last) == ("c", 100, NOON, NOON + 98)
        assert (ledger.sample.pages, ledger.sample.texts) == (20, 5)


def test_the_nearest_misses_stay_whatever_their_clusters(path: Path) -> None:
    with small(path, pages=20, misses=3) as ledger:
        for i in range(100):
            ledger.add(unique(f"https://old.example/{i}", f"o{i}", "text"))
            similarity = round(0.4 + i * 0.003, 4)
            ledger.add(near(f"https://new.example/{i}", f"n{i}", f"https://old.example/{i}", similarity, "new"))
    with Ledger.open(path) as ledger:
        misses = ledger.misses(3)
        assert [miss.similarity for miss in misses] == [0.697, 0.694, 0.691]
        for miss in misses:
            row = ledger.row(miss.page)
            assert row is not None
            assert ledger.text(row.id) == "new"
            held = ledger.comparisons(row.id)[miss.index]
            assert held.url == miss.old
            assert held.nearest is not None
            assert (held.nearest.detector, held.nearest.similarity) == (miss.detector, miss.similarity)


def test_a_second_verdict_deletes_the_near_misses_of_the_first(path: Path) -> None:
    with small(path) as ledger:
        note = ledger.add(near("https://a.example/1", "c1", "https://a.example/0", 0.6))
        ledger.flush()
        ledger.add(near("https://a.example/1", "c1", "https://a.example/2", 0.7), again=note)
    with Ledger.open(path) as read:
        (miss,) = read.misses(10)
        assert (miss.old, miss.similarity) == ("https://a.example/2", 0.7)
        assert read.comparisons(miss.page)[miss.index].url == miss.old


def test_the_threshold_is_that_of_the_similarity_whatever_the_detector_calls_it(path: Path) -> None:
    def said(detector: str, constant: str, value: float, measure: str) -> Assessment:
        threshold = Threshold(constant, value, 0.3, at_least=True, measure=measure)
        return Assessment(detector, None, 0.3, thresholds=(threshold,))

    assessments = (
        said("feature_codes", "share", 0.5, "similarity"),
        said("spotsigs", "tau", 0.44, "similarity"),
        said("random_projection", "agreement", 372, "bits that agree"),
        said("combined", "minhash.threshold", 0.8, "similarity (minhash)"),
    )
    with small(path) as ledger:
        ledger.add(
            unique("https://a.example/1", "c1", comparisons=(Comparison("https://a.example/0", "c0", assessments),))
        )
    with Ledger.open(path) as read:
        found = {each.detector: each.threshold for each in read.histograms}
    assert found == {"feature_codes": 0.5, "spotsigs": 0.44, "random_projection": None, "combined": None}


def test_a_page_that_matches_is_no_near_miss(path: Path) -> None:
    with Ledger.create(path, ABOUT) as ledger:
        ledger.add(copy("https://b.example/", "https://a.example/", "c"))
    with Ledger.open(path) as ledger:
        assert ledger.misses(10) == ()


def test_neither_file_nor_tables_grow_for_ever(tmp_path: Path) -> None:
    sizes = [_size_after(tmp_path / f"{pages}.ledger", pages) for pages in (3_000, 12_000)]
    assert sizes[1] <= 1.3 * sizes[0]


def _size_after(path: Path, pages: int) -> int:
    with small(path, pages=300, content_bytes=50_000, hosts=50, flows=50, slices=16, misses=20) as writer:
        for i in range(pages):
            url = f"https://{i % 400}.example/{i}"
            if i % 3:
                similarity = (i % 799) / 1000
                writer.add(near(url, f"c{i}", f"https://{i % 399}.example/{i - 1}", similarity, "x" * 300))
            else:
                writer.add(copy(url, f"https://{i % 7}.example/", f"c{i % 1000}", "x" * 300, at=NOON + i))
    with Ledger.open(path) as ledger:
        assert sum(host.pages for host in ledger.hosts) == pages
        assert ledger.sample.pages <= 300
        assert len(ledger.hosts) <= 51
        assert len(ledger.flows) <= 51
        assert len(ledger.slices) <= 16
        assert len(ledger.misses(10**6)) < 40
    return path.stat().st_size


# -- going on, being killed ---------------------------------------------------------------------------


def test_a_resumed_run_appends_to_its_ledger(path: Path) -> None:
    for run in range(3):
        with Ledger.create(path, {**ABOUT, "title": f"run {run}"}, resume=True, limits=LedgerLimits(hosts=2)) as ledger:
            ledger.add(unique(f"https://{run}.example/", f"c{run}", at=NOON + 3600 * run))
            ledger.count("checked")
    with Ledger.open(path) as ledger:
        assert [run.about["title"] for run in ledger.runs] == ["run 0", "run 1", "run 2"]
        assert [row.id for row in ledger.rows()] == [1, 2, 3]
        assert ledger.counts == {"checked": 3}
        assert {host.name: host.pages for host in ledger.hosts} == {"0.example": 1, "1.example": 1, "": 1}
        assert sum(each.kept for each in ledger.slices) == 3


def test_a_run_that_is_not_resumed_begins_anew(path: Path) -> None:
    for _ in range(2):
        with Ledger.create(path, ABOUT) as ledger:
            ledger.add(unique("https://a.example/", "c"))
    with Ledger.open(path) as ledger:
        assert (len(ledger.runs), ledger.sample.pages) == (1, 1)


def test_what_is_being_written_is_read_as_it_is_at_that_moment(path: Path) -> None:
    with Ledger.create(path, ABOUT) as writer:
        writer.add(unique("https://a.example/1", "c1"))
        writer.count("checked")
        writer.flush()
        with Ledger.open(path) as ledger:
            writer.add(unique("https://a.example/2", "c2"))
            writer.count("checked")
            writer.flush()
            assert (len(list(ledger.rows())), ledger.counts) == (1, {"checked": 1})
            assert ledger.runs[0].ended is None
        with Ledger.open(path) as ledger:
            assert (len(list(ledger.rows())), ledger.counts) == (2, {"checked": 2})


def _write_for_ever(path: Path, told: Connection) -> None:
    ledger = Ledger.create(path, ABOUT)
    for i in range(10**9):
        ledger.count("checked")
        ledger.add(unique(f"https://a.example/{i}", f"c{i}", "text " * 100))
        if i == 5 * ledger_appender.BATCH_PAGES:
            told.send("there")


def test_a_killed_process_leaves_a_ledger_that_is_read_and_gone_on_with(path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    here, there = context.Pipe()
    process = context.Process(target=_write_for_ever, args=(path, there))
    process.start()
    assert here.poll(60)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(600)
    with Ledger.open(path) as ledger:
        pages = len(list(ledger.rows()))
        assert pages >= 5 * ledger_appender.BATCH_PAGES
        assert ledger.counts == {"checked": pages}
        assert ledger.runs[0].ended is None
    with Ledger.create(path, ABOUT, resume=True) as writer:
        writer.add(unique("https://b.example/", "c"))
    with Ledger.open(path) as ledger:
        assert len(list(ledger.rows())) == pages + 1
        assert [run.ended is None for run in ledger.runs] == [True, False]


def test_a_finished_ledger_is_one_file_that_can_be_carried_away(path: Path, tmp_path: Path) -> None:
    with Ledger.create(path, ABOUT) as writer:
        writer.add(unique("https://a.example/", "c"))
    assert not path.with_name("report.ledger-wal").exists()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(path, elsewhere)
    elsewhere.chmod(0o500)
    try:
        with Ledger.open(elsewhere / "report.ledger") as ledger:
            assert ledger.sample.pages == 1
    finally:
        elsewhere.chmod(0o700)


# -- trouble ------------------------------------------------------------------------------------------


def test_two_processes_do_not_write_one_ledger(path: Path) -> None:
    with Ledger.create(path, ABOUT), pytest.raises(DedupError, match="being written by another process"):
        Ledger.create(path, ABOUT)
    with Ledger.create(path, ABOUT):
        pass


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("content", [b"my own notes", b"SQLite format 3\0" + b"x" * 4096])
def test_a_foreign_file_is_neither_read_nor_overwritten(path: Path, content: bytes, resume: bool) -> None:
    path.write_bytes(content)
    with pytest.raises(DedupError, match="is no ledger of dedupcrawl, or is damaged"):
        Ledger.open(path)
    with pytest.raises(DedupError, match=r"report\.ledger"):
        Ledger.create(path, ABOUT, resume=resume)
    assert path.read_bytes() == content


def test_another_database_is_neither_read_nor_overwritten(path: Path) -> None:
    sqlite3.connect(path).execute("CREATE TABLE mine (x)").connection.close()
    for resume in (False, True):
        with pytest.raises(DedupError, match="ledger of dedupcrawl"):
            Ledger.create(path, ABOUT, resume=resume)
    with pytest.raises(DedupError, match="is no ledger of dedupcrawl"):
        Ledger.open(path)


def test_a_ledger_of_another_layout_is_not_read_but_may_be_overwritten(path: Path) -> None:
    Ledger.create(path, ABOUT).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DedupError, match="layout 99; this version of dedupcrawl reads layout 2"):
        Ledger.open(path)
    Ledger.create(path, ABOUT).close()
    Ledger.open(path).close()


def test_a_damaged_ledger_is_one_sentence(path: Path) -> None:
    with Ledger.create(path, ABOUT) as writer:
        for i in range(500):
            writer.add(unique(f"https://a.example/{i}", f"c{i}", os.urandom(200).hex()))
    data = bytearray(path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(DedupError, match=r"is damaged|cannot be used"):
        _read_all(path)


def _read_all(path: Path) -> None:
    with Ledger.open(path) as ledger:
        assert list(ledger.rows())
        assert ledger.hosts


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DedupError, match="does not exist"):
        Ledger.open(tmp_path / "none.ledger")
    with pytest.raises(DedupError, match="is not a file"):
        Ledger.open(tmp_path)
    for path in (tmp_path, tmp_path / "none" / "report.ledger"):
        with pytest.raises(DedupError, match="cannot be written"):
            Ledger.create(path, ABOUT)


def test_pages_that_cannot_be_written_are_lost_and_counted_and_no_count_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = noted_connections(monkeypatch)
    writer = Ledger.create(path, ABOUT)
    database = opened[-1]
    kept = writer.add(unique("https://a.example/0", "c0"), Outcome.OPEN)
    writer.flush()
    limit = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {limit}")  # the disk is full
    writer.set_outcome(kept, Outcome.KEPT)
    for i in range(1, 101):
        writer.add(unique(f"https://a.example/{i}", f"c{i}", os.urandom(2000).hex()), Outcome.OPEN)
        writer.count("checked")
    with pytest.raises(DedupError, match="full"):
        writer.flush()
    writer.add_problem("full", "The disk was full.")
    database.execute("PRAGMA max_page_count = 100000")
    writer.add(unique("https://a.example/101", "c101"))
    writer.close()
    with Ledger.open(path) as ledger:
        assert [row.entry.url for row in ledger.rows()] == ["https://a.example/0", "https://a.example/101"]
        assert [row.outcome for row in ledger.rows()] == [Outcome.KEPT, Outcome.KEPT]
        assert ledger.sample.lost == 100
        assert ledger.counts == {"checked": 100}
        assert [host.pages for host in ledger.hosts] == [102]
        assert ledger.problems == ("The disk was full.",)
