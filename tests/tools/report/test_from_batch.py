"""Reports of batches: totals as in ``summary.json``, verdicts as in a crawl, texts from the inputs."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.solver import NONE
from dedupcrawl.batch.workdir import Workdir, read_state, write_state
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError
from dedupcrawl.tools.report import batch_stats
from dedupcrawl.tools.report.batch_stats import find_near_misses
from dedupcrawl.tools.report.from_batch import report_from_batch
from dedupcrawl.tools.report.report_builder import ReportLimits
from dedupcrawl.tools.report.report_model import verdict_sentence
from dedupcrawl.utils.iteration import NoProgress
from tests.batch.corpus import Batch, Rows, crawled, page, split, story, write_lines
from tests.batch.formats.warcs import INFO, record
from tests.batch.test_format_agreement import parquet, warc, wet
from tests.batch.verdict_rows import filed, rules_of
from tests.test_site_memory import LIFE, PAPER, POSTS, blog
from tests.tools.report.judged_ledgers import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.tools.report.report_model import Pair, Report


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path)


_HTML = "<html><head><title>{url}</title></head><body><article><p>{text}</p></article></body></html>"

TEXTLESS = "1 row without text, kept unchecked: summary.json lists them."  # one of rows()


def rows(*, times: bool = True) -> Rows:
    """Return pages of three hosts: copies, edited copies, versions, excerpts, a near miss, unchecked ones."""
    own = [{"url": f"https://a.example/{number}", "text": story(number, words=300)} for number in range(8)]
    others = [
        {"url": "https://b.example/copy", "text": own[0]["text"]},
        {"url": "https://b.example/copy-again", "text": own[0]["text"]},
        {"url": "https://b.example/near", "text": changed(own[1]["text"], 2)},
        {"url": "https://b.example/miss", "text": changed(own[2]["text"], 15)},
        {"url": "https://b.example/excerpt", "text": own[3]["text"][: len(own[3]["text"]) * 8 // 9]},
        {"url": "https://b.example/expansion", "text": f"{own[4]['text']} {story(70, words=50)}"},
        {"url": "https://a.example/6", "text": changed(own[6]["text"], 5)},
        {"url": "https://a.example/7", "text": own[7]["text"]},
        {"url": "https://c.example/short", "text": "short"},
        {"url": "https://c.example/empty", "text": ""},
    ]
    found = [*own, *others]
    return [row | ({"time": 1.7e9 + 3600 * place} if times else {}) for place, row in enumerate(found)]


def htmls() -> Rows:
    return [{"url": row["url"], "html": _HTML.format(**row)} for row in rows() if row["text"]]


def lines(folder: Path, pages: Rows) -> Path:
    return write_lines(folder / "a.jsonl.gz", pages)


def texts(pair: Pair) -> tuple[str, str]:
    return "".join(each.new for each in pair.changes), "".join(each.old for each in pair.changes)


def same_figures(report: Report, summary: dict[str, Any]) -> bool:
    """Whether the totals equal those of ``summary.json``, which counts relations dropped or not."""
    figures = report.figures
    by_relation = Counter(summary["dropped"]) + Counter(summary["related"])
    assert (figures.pages, figures.kept, figures.unchecked) == (summary["pages"], summary["kept"], summary["unchecked"])
    assert figures.dropped == sum(summary["dropped"].values()) == figures.pages - figures.kept
    assert Counter(figures.duplicates) + Counter(figures.related) == by_relation
    assert figures.checked == summary["pages"] - sum(summary["unchecked"].values())
    assert (figures.bytes, figures.bytes - figures.bytes_saved) == (summary["bytes"]["read"], summary["bytes"]["kept"])
    outcomes = Counter(row.outcome for row in report.pages)
    assert (outcomes["kept"], outcomes["dropped"]) == (figures.kept, figures.dropped)
    hosts = [sum(getattr(each, name) for each in report.hosts) for name in ("pages", "kept", "dropped")]
    assert hosts == [figures.pages, figures.kept, figures.dropped]
    duplicates = sum(figures.duplicates.values())
    assert sum(each.pages for each in report.flows) == sum(report.detectors.values()) == duplicates
    return True


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"annotate": True},
        {"prefer": ("longest",)},
        {"prefer": ("b.example", "a.example")},
        {"config": Config(keep="latest")},
        {"config": Config(detectors=("simhash",))},
        {"config": Config(drop={"identical", "excerpt", "updated"})},  # type: ignore[arg-type]
        {"config": Config(detectors={"minhash": {"containment": 0.99}})},
    ],
    ids=lambda how: "-".join(how) or "defaults",  # in every process the same, as the order of a set is not
)
def test_the_figures_are_those_of_the_summary(batch: Batch, how: dict[str, Any]) -> None:
    split(rows(), batch.folder / "in")
    summary = batch.run(batch.folder / "in", **how)
    assert same_figures(report_from_batch(batch.folder / "out"), summary)


@pytest.mark.parametrize(
    ("write", "pages"), [(lines, rows), (parquet, rows), (wet, rows), (warc, htmls), (parquet, htmls)]
)
def test_every_format_makes_the_report_of_a_crawl(
    batch: Batch, write: Callable[[Path, Rows], Path], pages: Callable[[], Rows]
) -> None:
    told = pages()
    summary = batch.run(write(batch.folder, told))
    report = report_from_batch(batch.folder / "out")
    assert same_figures(report, summary)
    verdicts = crawled(Config(), told)
    by_place = {(each.url, verdict_sentence(each)) for each in verdicts}
    assert {(each.url, each.why) for each in report.pages} == by_place
    said = sorted((each.url, str(each.relation or ""), each.of or "", each.similarity) for each in verdicts)
    assert sorted((each.url, each.relation, each.of, each.similarity) for each in report.pages) == said
    assert {each.cluster for each in report.pages} == {each.cluster or "" for each in verdicts}


def test_pages_stand_side_by_side_with_their_texts(batch: Batch) -> None:
    told = rows()
    split(told, batch.folder / "in")
    batch.run(batch.folder / "in")
    report = report_from_batch(batch.folder / "out")
    there = {row["text"].strip() for row in told}
    related = [row for row in report.pages if row.of]
    assert len(related) == 7
    for row in related:
        assert row.pair is not None
        pair = report.pairs[row.pair]
        assert (pair.new, pair.old, pair.relation, pair.decided) == (row.url, row.of, row.relation, row.detector)
        assert {each.strip() for each in texts(pair)} <= there
    assert report.notes == (TEXTLESS,)


def test_text_that_the_site_repeats_is_named(tmp_path: Path) -> None:
    """As in the report of a crawl; the reprint on another site has only the post."""
    reprint = POSTS[4].on(PAPER, after="")
    batch = Batch(tmp_path, Config())
    given = [{"url": url, "html": html} for url, html in [*blog(), reprint]]
    batch.run(write_lines(batch.folder / "in.jsonl", given))
    (pair,) = report_from_batch(batch.folder / "out").pairs
    assert pair.new == reprint[0]
    assert pair.new_notes == ()
    lives = [f"Not compared, as it is on at least 3 pages of this site: {line[:40]}" for line in LIFE.split("<p>")[1:]]
    assert [note[: len(life)] for note, life in zip(pair.old_notes, lives, strict=True)] == lives


def test_titles_come_from_the_pages(batch: Batch) -> None:
    batch.run(write_lines(batch.folder / "a.jsonl", htmls()))
    report = report_from_batch(batch.folder / "out")
    pair = next(each for each in report.pairs if each.new == "https://b.example/copy")
    assert (pair.new_title, pair.old_title) == ("https://b.example/copy", "https://a.example/0")
    titles = {row.url: row.title for row in report.pages}
    assert titles["https://b.example/copy"] == "https://b.example/copy"
    assert report.clusters[0].title == "https://a.example/0"


def test_a_near_miss_is_found_and_compared(batch: Batch) -> None:
    split(rows(), batch.folder / "in")
    batch.run(batch.folder / "in")
    report = report_from_batch(batch.folder / "out")
    misses = [report.pairs[place] for place in report.misses]
    assert [(each.new, each.old, each.relation) for each in misses] == [
        ("https://b.example/miss", "https://a.example/2", "")
    ]
    [miss] = misses
    assert miss.similarity is not None
    assert 0.5 < miss.similarity < 0.8
    assert sum(not each.is_equal for each in miss.changes) == 15
    [histogram] = [each for each in report.histograms if each.detector == "minhash"]
    assert (sum(histogram.missed), histogram.threshold) == (1, 0.8)


def test_clusters_and_their_times(batch: Batch) -> None:
    split(rows(), batch.folder / "in")
    batch.run(batch.folder / "in")
    largest, *others = report_from_batch(batch.folder / "out").clusters
    assert (largest.size, largest.hosts, largest.first, largest.last) == (3, 2, 1.7e9, 1.7e9 + 9 * 3600)
    assert {each.size for each in others} == {2}
    assert largest.title == "https://a.example/0"


def test_time_goes_by_the_pages(batch: Batch) -> None:
    batch.run(write_lines(batch.folder / "a.jsonl", [*rows(), {"url": "https://d.example/1", "text": story(99)}]))
    report = report_from_batch(batch.folder / "out")
    for name, amount in (("kept", 13), ("dropped", 4), ("unchecked", 1)):
        assert sum(getattr(each, name) for each in report.slices) == amount
    assert "1 of 19 pages have no time, and are not in the chart over time." in report.notes
    assert [row.time for row in report.pages if row.url == "https://d.example/1"] == [None]


def test_a_corpus_need_not_tell_any_time(batch: Batch) -> None:
    batch.run(write_lines(batch.folder / "a.jsonl", rows(times=False)))
    report = report_from_batch(batch.folder / "out")
    assert report.slices == ()
    assert report.notes[-1:] == ("The pages have no time, and are not in the chart over time.",)
    assert {row.time for row in report.pages} == {each.first for each in report.clusters} == {None}


def test_changed_inputs_are_noted_and_not_read(batch: Batch) -> None:
    near = {"url": "https://d.example/near", "text": changed(rows()[11]["text"], 1)}
    paths = [
        write_lines(batch.folder / "in" / "a.jsonl", rows()[:8]),
        write_lines(batch.folder / "in" / "b.jsonl", [*rows()[8:], near]),
    ]
    batch.run(*paths)
    paths[0].unlink()
    report = report_from_batch(batch.folder / "out")
    assert f"{paths[0].resolve()} has changed since, or is gone" in report.notes[0]
    assert f"{len(report.pairs) - 1} of {len(report.pairs)} pairs are shown without their texts." in report.notes
    [whole] = [each for each in report.pairs if each.changes]
    assert (whole.new, whole.old) == ("https://d.example/near", "https://b.example/miss")
    assert all(each.assessments for each in report.pairs)
    paths[1].write_bytes(b"{}\n")
    assert not any(each.changes for each in report_from_batch(batch.folder / "out").pairs)


def test_unreadable_rows_are_noted(batch: Batch) -> None:
    path = write_lines(batch.folder / "a.jsonl", rows())
    path.write_bytes(path.read_bytes() + b"no JSON at all\n")
    summary = batch.run(path, skip_bad=True)
    report = report_from_batch(batch.folder / "out")
    assert same_figures(report, summary)
    assert TEXTLESS in report.notes
    assert "1 row, and the rest of 0 files, could not be read: summary.json lists them." in report.notes
    assert all(pair.changes for pair in report.pairs)


def test_a_damaged_record_leaves_the_others_their_texts(batch: Batch) -> None:
    """After damaged rows, the numbers of rows differ from their positions."""
    good = [record("conversion", row["text"].encode(), str(n), url=row["url"]) for n, row in enumerate(rows()[:9])]
    bad = good[4].replace(b"Content-Length", b"Content-Breadth")
    path = batch.folder / "a.wet"
    path.write_bytes(b"".join((INFO, *good[:4], bad, *good[4:])))
    batch.run(path, skip_bad=True)
    report = report_from_batch(batch.folder / "out")
    pair = next(each for each in report.pairs if each.new == "https://b.example/copy")
    assert texts(pair)[1] == rows()[0]["text"]


def test_pages_of_an_earlier_batch_are_shown_from_its_files(batch: Batch) -> None:
    told = rows()
    batch.run(write_lines(batch.folder / "one" / "a.jsonl", told[:8]), out="first")
    path = write_lines(batch.folder / "two" / "b.jsonl", told[8:])
    summary = batch.run(path, against=(str(batch.folder / "first"),))
    report = report_from_batch(batch.folder / "out")
    assert same_figures(report, summary)
    assert {row.url for row in report.pages} == {row["url"] for row in told[8:]}
    pair = next(each for each in report.pairs if each.new == "https://b.example/near")
    assert texts(pair) == (told[10]["text"], told[1]["text"])
    assert [(each.copy, each.source, each.pages) for each in report.flows] == [
        ("b.example", "a.example", 3),
        ("a.example", "a.example", 1),
    ]
    assert any("were known before share a key with these" in note for note in report.notes)
    shutil.rmtree(batch.folder / "first")
    report = report_from_batch(batch.folder / "out")
    pair = next(each for each in report.pairs if each.new == "https://b.example/near")
    assert (pair.changes, pair.old) == ((), "https://a.example/1")
    assert same_figures(report, summary)


def test_pages_of_a_store_have_no_texts(batch: Batch) -> None:
    store = f"lmdb://{batch.folder}/store"
    with Deduplicator(store, "news") as dedup:
        dedup.add(text=rows()[0]["text"], url="https://z.example/1")
    summary = batch.run(write_lines(batch.folder / "a.jsonl", rows()), against=(store,))
    report = report_from_batch(batch.folder / "out")
    assert same_figures(report, summary)
    pair = next(each for each in report.pairs if each.old == "https://z.example/1")
    assert (pair.relation, pair.changes) == ("identical", ())


def test_of_too_many_pages_the_dropped_ones_are_there(batch: Batch) -> None:
    told = [page(number, place) for number in range(40) for place in range(2)]
    summary = batch.run(write_lines(batch.folder / "a.jsonl", told))
    report = report_from_batch(batch.folder / "out", limits=ReportLimits(pages=50, clusters=3, pairs=9, flows=2))
    assert (summary["pages"], report.figures.pages, len(report.pages)) == (80, 80, 50)
    assert Counter(row.outcome for row in report.pages) == {"dropped": 40, "kept": 10}
    assert "The table holds 50 of 80 pages, chosen by cluster; all 40 dropped pages are among them." in report.notes
    assert [(each.size, len(each.pages)) for each in report.clusters] == [(2, 2)] * 3
    assert len(report.pairs) == 9


def test_texts_are_read_as_far_as_there_is_room(batch: Batch) -> None:
    told = [page(number, place) for number in range(40) for place in range(2)]
    batch.run(write_lines(batch.folder / "a.jsonl", told))
    report = report_from_batch(batch.folder / "out", limits=ReportLimits(text_chars=5_000))
    there = [bool(pair.changes) for pair in report.pairs]
    assert there == sorted(there, reverse=True)
    assert 0 < sum(there) < len(there) == 40


def test_what_is_no_batch_is_refused(batch: Batch) -> None:
    with pytest.raises(DedupError, match="no folder of a batch"):
        report_from_batch(batch.folder)
    batch.run(write_lines(batch.folder / "a.jsonl", rows()))
    work = Workdir(batch.folder / "out")
    told = read_state(work.job) or {}
    write_state(work.job, told | {"request": {**told["request"], "detectors": {"minhash": {"version": 0}}}})
    with pytest.raises(DedupError, match="another version of dedupcrawl"):
        report_from_batch(batch.folder / "out")
    work.summary.unlink()
    with pytest.raises(DedupError, match="has not come to its end"):
        report_from_batch(batch.folder / "out")


def test_a_batch_without_rows_is_one_too(batch: Batch) -> None:
    path = batch.folder / "a.jsonl"
    path.write_bytes(b"")
    batch.run(path)
    report = report_from_batch(batch.folder / "out")
    assert (report.pages, report.pairs, report.slices, report.figures.pages) == ((), (), (), 0)


def test_the_constants_of_a_detector_come_back(batch: Batch) -> None:
    """Data that only comparisons use are in no fingerprint."""
    config = Config(detectors={"minhash": {"containment": 0.4, "slots": 64}}, threshold=0.7)
    job: Job = batch.job("x", config=config)
    batch.run(write_lines(batch.folder / "a.jsonl", rows()), config=config)
    report = report_from_batch(batch.folder / "out")
    thresholds = {
        threshold.constant: threshold.value
        for pair in report.pairs
        for each in pair.assessments
        for threshold in each.thresholds
    }
    assert thresholds["threshold"] == 0.7
    assert "containment 0.4" in report.settings["DEDUP_DETECTORS"]
    assert job.config == config


@pytest.mark.parametrize("detectors", [("exact", "minhash"), ("feature_code",), ("simhash",)])
def test_near_misses_are_all_pairs_that_share_a_key(detectors: tuple[str, ...]) -> None:
    """Compare with a search through all pairs; nothing is missed while buckets are small."""
    config = Config(detectors=detectors)
    pages = [Deduplicator(config=config).read(text=row["text"], url=row["url"]) for row in rows() if row["text"]]
    prints = filed(config, pages)  # type: ignore[arg-type]
    judge = rules_of(config)._matcher
    kept, of = np.ones(len(prints), bool), np.full(len(prints), NONE)

    def weigh(new: int, old: int) -> Any:
        return judge.assessments(prints.sketch_record(new), prints.sketch_record(old))

    found = find_near_misses(prints, np.arange(len(prints)), kept, of, compare=weigh, progress=NoProgress())
    expected = set()
    for new in range(len(prints)):
        for old in range(new):
            meet = set(prints.record(new).lookup_keys) & set(prints.record(old).keys)
            if meet and not any(each.match for each in weigh(new, old)):
                expected.add((new, old))
    measured = {(each.new, each.old) for each in found.unmatched}
    assert measured <= expected
    assert {pair for pair in expected if any(each.similarity is not None for each in weigh(*pair))} == measured
    near = [each.nearest.similarity or 0.0 for each in found.near]
    assert near == sorted(near, reverse=True)


def test_near_misses_of_a_large_corpus_are_bounded(monkeypatch: pytest.MonkeyPatch, batch: Batch) -> None:
    monkeypatch.setattr(batch_stats, "MAX_SCORED_PAIRS", 5)
    told = [
        {"url": f"https://a.example/{number}-{words}", "text": changed(story(number, words=200), words)}
        for number in range(10)
        for words in (0, 11)
    ]
    batch.run(write_lines(batch.folder / "a.jsonl", told))
    report = report_from_batch(batch.folder / "out")
    assert len(report.misses) == 5
    [note] = [each for each in report.notes if each.startswith("Near misses are the most similar of 5 pairs of pages")]
    assert "those with most keys in common, of 9 pairs that share a key." in note
    monkeypatch.setattr(batch_stats, "MAX_ENTRIES", 5)
    assert any("looked for among one in" in note for note in report_from_batch(batch.folder / "out").notes)


def test_a_pair_of_siblings_has_the_reason(batch: Batch) -> None:
    terms = story(1, words=200)
    pages = [
        {
            "url": f"https://a.example/{name}",
            "html": f"<title>{name} | Shop</title><main><h1>{name}</h1><p>{terms}</p></main>",
        }
        for name in ("Carpenter", "Plumber")
    ]
    batch.run(lines(batch.folder / "in", pages), annotate=True)
    report = report_from_batch(batch.folder / "out")
    [pair] = [each for each in report.pairs if each.relation == "sibling"]
    assert pair.siblings == "names over one text that is about neither"
    assert (pair.new_title, pair.old_title) == ("Plumber | Shop", "Carpenter | Shop")
    assert report.figures.related == {"sibling": 1}


def test_a_pair_says_where_the_common_part_is(batch: Batch) -> None:
    beginning, rest = story(1, words=300), story(2, words=20)
    pages = [
        {"url": "https://a.example/1", "text": beginning},
        {"url": "https://b.example/2", "text": f"{beginning} {rest}"},
        {"url": "https://c.example/3", "text": story(3)},
        {"url": "https://d.example/3", "text": story(3)},
    ]
    batch.run(lines(batch.folder / "in", pages), annotate=True)
    positions = {pair.new: pair.position for pair in report_from_batch(batch.folder / "out").pairs}
    assert positions["https://d.example/3"] == "whole"
    rows = [
        orjson.loads(line) for line in gzip.decompress((batch.folder / "out" / "a.jsonl.gz").read_bytes()).splitlines()
    ]
    assert [row.get("dedup_position") for row in rows][2:] == [None, "whole"]
    assert rows[0].get("dedup_layout") is None
