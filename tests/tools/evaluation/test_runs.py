"""Scores, costs and sweeps: checked by hand, and against a brute-force count."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Config
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.base import Fingerprint, Relation
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.text.features import Features
from dedupcrawl.tools.evaluation.dataset import LabelledPage, ParsedPageCache
from dedupcrawl.tools.evaluation.duplicates import NO_COSTS, DuplicatesReport, MisjudgedPage
from dedupcrawl.tools.evaluation.metrics import Scores
from dedupcrawl.tools.evaluation.runs import VARIANTS, Measure, SweepReport, SweepRow, evaluation_runs, parse_sweep
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH
from tests.tools.evaluation.labelled import evaluate_duplicates


def row(n: int, cluster: str, text: str | None, html: str | None = None, edit: str = "") -> LabelledPage:
    return LabelledPage(id=str(n), url=f"https://s{n}.example/", cluster=cluster, html=html, text=text, edit=edit)


ROWS = [
    row(1, "harbour", ENGLISH),
    row(2, "lamps", OTHER_ENGLISH),
    row(3, "harbour", ENGLISH.replace("Nobody", "No one"), edit="typo"),
    row(4, "港口", CHINESE),
    row(5, "harbour", ENGLISH, edit="same"),
    row(6, "excerpt", ENGLISH[: len(ENGLISH) // 2], edit="excerpt"),
    row(7, "隧道", OTHER_CHINESE),
    row(8, "港口", CHINESE.replace("九点钟", "十点钟"), edit="typo"),
    row(9, "longer", f"{CHINESE}{OTHER_CHINESE}", edit="appended"),
    row(10, "港口", CHINESE, edit="same"),
    row(11, "short", "Too short."),
    row(12, "short", "Too short to be told."),
]


def test_figures_by_hand() -> None:
    report = evaluate_duplicates(ROWS, Config(detectors=("exact",))).to_dict()
    assert report["drops"] == {"precision": 1, "recall": 0.4, "f1": 0.5714, "wrongly_dropped": 0, "missed": 3}
    # 3 + 3 + 1 pairs share a cluster; rows 1 and 5, 4 and 10 are found
    assert report["pairs"] == {"precision": 1, "recall": 0.2857, "f1": 0.4444, "wrong": 0, "missed": 5}
    by_edit: Any = report["by_edit"]
    assert by_edit["typo"] == {"pages": 2, "dropped": 0, "wrongly_dropped": 0, "missed": 2}
    assert by_edit["same"] == {"pages": 2, "dropped": 2, "wrongly_dropped": 0, "missed": 0}
    assert report["keys_per_page"] == 1
    assert report["bytes_per_page"] == 16 + 6 + 6 + 6  # hash; key in the record; key and id in the index
    assert report["candidates_per_page"] == round(2 / 12, 3)
    assert report["unchecked"] == 0


def test_pages_without_a_fingerprint_are_counted_and_cost_no_keys() -> None:
    report = evaluate_duplicates([*ROWS, row(13, "none", None, "<p>")], Config(detectors=("minhash",)))
    assert report.unchecked == 3
    assert report.pages == 13
    keys = evaluate_duplicates(ROWS[:10], Config(detectors=("minhash",))).costs
    assert report.costs.keys_per_page == keys.keys_per_page
    assert report.costs.bytes_per_page == keys.bytes_per_page
    assert report.costs.candidates_per_page == pytest.approx(keys.candidates_per_page * 10 / 13)


def test_pairs_of_pages_that_cannot_be_read_are_missed() -> None:
    rows = [row(1, "a", None, "\0" * 5000), row(2, "a", ENGLISH), row(3, "a", ENGLISH)]
    assert evaluate_duplicates(rows).pairs.true_positives == 1
    assert evaluate_duplicates(rows).pairs.false_negatives == 2


def test_pairs_behind_the_cap_of_a_bucket_are_missed() -> None:
    count = BUCKET_CAP + 2
    rows = [row(n, "a", ENGLISH) for n in range(count)]
    report = evaluate_duplicates(rows, Config(detectors=("exact",)))
    assert report.pairs.false_negatives == 1
    assert report.missed == 0


@pytest.mark.parametrize(
    "detectors", [("exact",), ("minhash",), ("feature_code",), ("exact", "minhash"), ("exact", "feature_code")]
)
def test_figures_are_those_of_comparing_each_with_each(detectors: tuple[str, ...]) -> None:
    config = Config(detectors=detectors, min_chars=0)
    report = evaluate_duplicates(ROWS, config)
    same = _comparer(config)
    kept: list[int] = []
    dropped: list[int] = []
    for n in range(len(ROWS)):
        (dropped if any(same(n, old) for old in kept) else kept).append(n)
    clusters = [row.cluster for row in ROWS]
    wrong = [n for n in dropped if clusters[n] not in [clusters[old] for old in kept if old < n]]
    missed = [n for n in kept if clusters[n] in [clusters[old] for old in kept if old < n]]
    assert [int(m.row.id) - 1 for m in report.mistakes if m.kind == "wrongly dropped"] == wrong
    assert [int(m.row.id) - 1 for m in report.mistakes if m.kind == "missed"] == missed
    pairs = list(combinations(range(len(ROWS)), 2))
    found = {(old, new) for old, new in pairs if same(new, old)}
    true = {(old, new) for old, new in pairs if clusters[old] == clusters[new]}
    scores = report.pairs
    assert (scores.true_positives, scores.false_positives, scores.false_negatives) == (
        len(found & true),
        len(found - true),
        len(true - found),
    )


def _comparer(config: Config) -> Any:
    """Whether page ``new`` repeats page ``old``, by sketches alone."""
    detectors = build_detectors(config)
    prints: list[list[Fingerprint | None]] = [
        [detector.fingerprint(Features(Page.from_text(row.text or ""))) for detector in detectors] for row in ROWS
    ]

    def same(new: int, old: int) -> bool:
        matches = (
            detector.compare(one.sketch, other.sketch)
            for detector, one, other in zip(detectors, prints[new], prints[old], strict=True)
            if one and other
        )
        alike = (Relation.IDENTICAL, Relation.NEAR_DUPLICATE)
        return any(match is not None and match.relation in alike for match in matches)

    return same


def test_pages_are_read_again_only_for_other_constants_of_reading() -> None:
    shelf = ParsedPageCache([row(1, "a", None, f"<p>{ENGLISH}</p>")])
    first = shelf.read(Config())
    assert shelf.read(Config(detectors=("exact",), threshold=0.5)) is first
    assert shelf.read(Config(link_run=5)) is not first


def test_all_is_every_detector_in_every_variant_and_the_default() -> None:
    field = evaluation_runs(Config(), ["all"], {})
    labels = [each.label for each in field]
    assert len(set(labels)) == len(labels)
    alone = [next(iter(each.config.detectors)) for each in field[:-1]]
    assert list(dict.fromkeys(alone)) == list(DETECTORS)
    assert [label for label in labels if label.startswith("datasketch")] == ["datasketch words", "datasketch segmented"]
    for name, variants in VARIANTS.items():
        assert alone.count(name) == len(variants)
    assert field[-1] == type(field[-1])("exact + minhash", Config(detectors=("exact", "minhash")))


def test_constants_go_to_those_that_have_them() -> None:
    given = {"minhash.slots": 64, "threshold": 0.7, "datasketch.tokens": "characters"}
    field = {each.label: build_detectors(each.config) for each in evaluation_runs(Config(), ["all"], given)}
    (minhash,) = field["minhash"]
    assert (minhash.slots, minhash.threshold) == (64, 0.7)  # type: ignore[attr-defined]
    assert field["exact + minhash"][1] == minhash
    assert [label for label in field if label.startswith("datasketch")] == ["datasketch characters"]


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        (["all", "minhash"], {}, '"all" alone'),
        (["minhahs"], {}, "minhahs"),
        (["all"], {"minhash.slot": 1}, "minhash has the constants"),
        (["all"], {"minhahs.slots": 1}, "detector in use"),
        (["all"], {"treshold": 1}, "threshold, length_ratio"),
        (["all"], {"threshold": 2}, "at most 1"),
        (["minhash"], {"feature_code.size": 8}, "these are minhash"),
        (["exact"], {"threshold": 0.7}, "a constant that exact has"),
        (["minhash"], {"minhash.slots": 3}, "16, 32"),
        ([], {"detectors": ["exact"]}, "one of threshold"),
        ([], {"lease": 3}, "one of threshold"),
    ],
)
def test_what_is_wrong_is_reported(names: list[str], given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        evaluation_runs(Config(), names, given)


# -- sweeps -------------------------------------------------------------------------------------

MINHASH = Config(detectors=("minhash",))


def values(text: str, config: Config = MINHASH) -> list[float]:
    return [step.value for step in parse_sweep(text, config).steps]


def test_both_ends_are_included_exactly() -> None:
    assert values("threshold=0.6:0.95:0.05") == [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    assert values("threshold=0.1:0.3:0.1") == [0.1, 0.2, 0.3]  # 0.1 + 0.1 + 0.1 would be more than 0.3
    assert values("threshold=0.5:0.5:1") == [0.5]
    assert values("threshold=0.5:0.79:0.1") == [0.5, 0.6, 0.7]


def test_whole_constants_stay_whole() -> None:
    found = values("minhash.words=2:6:2")
    assert found == [2, 4, 6]
    assert all(isinstance(value, int) for value in found)
    assert all(isinstance(value, float) for value in values("length_ratio=1:3:1"))


def test_every_setting_has_its_value() -> None:
    sweep = parse_sweep("minhash.words=2:4:1", Config(detectors=("exact", "minhash"), threshold=0.7))
    assert sweep.name == "minhash.words"
    detectors = [build_detectors(step.config) for step in sweep.steps]
    assert [minhash.words for _, minhash in detectors] == [2, 3, 4]  # type: ignore[attr-defined]
    assert {minhash.threshold for _, minhash in detectors} == {0.7}  # type: ignore[attr-defined]
    assert [step.config.threshold for step in parse_sweep("threshold=0.6:0.8:0.1", MINHASH).steps] == [0.6, 0.7, 0.8]


@settings(max_examples=50, deadline=None)
@given(st.decimals(1, 50, places=3), st.decimals("0.001", 9, places=3), st.integers(0, 20), st.booleans())
def test_spans_hold_what_they_say(begin: Decimal, step: Decimal, count: int, more: bool) -> None:
    end = begin + step * count + (step / 2 if more else 0)
    expected = [float(begin + step * n) for n in range(count + 1)]
    assert values(f"length_ratio={begin}:{end}:{step}") == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threshold", "NAME=BEGIN:END:STEP"),
        ("threshold=0.5", "NAME=BEGIN:END:STEP"),
        ("threshold=0.5:0.6", "NAME=BEGIN:END:STEP"),
        ("=0.5:0.6:0.1", "NAME=BEGIN:END:STEP"),
        ("threshold=a:0.6:0.1", "'a' is no number"),
        ("threshold=0.1:nan:0.1", "'nan' is no number"),
        ("threshold=0.1:inf:0.1", "'inf' is no number"),
        ("threshold=0.5::0.1", "'' is no number"),
        ("threshold=0.5:0.6:0", "a STEP above 0"),
        ("threshold=0.5:0.6:-0.1", "a STEP above 0"),
        ("threshold=0.6:0.5:0.1", "not before its BEGIN"),
        ("threshold=0.1:0.9:0.001", "at most 200 settings; these are 801"),
        ("threshold=0.5:1.5:0.5", "at most 1"),
        ("threshold=0:1:0.5", "above 0"),
        ("treshold=0.5:0.6:0.1", "one of threshold"),
        ("simhash.d=0:8:1", "these are minhash"),
        ("minhash.d=0:8:1", "minhash has the constants threshold"),
        ("minhash.words=1:2:0.5", "whole number"),
        ("minhash.slots=64:96:32", "16, 32, 64"),
        ("reader=1:2:1", "a constant that is a number; reader is 'blocks'"),
        ("fold_chinese=0:1:1", "fold_chinese is False"),
        ("detectors=0:1:1", "one of threshold"),
    ],
)
def test_bad_sweeps_are_refused_beforehand(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        parse_sweep(text, MINHASH)


def test_a_constant_that_no_detector_in_use_has_is_refused() -> None:
    with pytest.raises(SettingError, match=r"threshold = .*a constant that exact has"):
        parse_sweep("threshold=0.6:0.8:0.1", Config(detectors=("exact",)))


def point(value: float, right: int, wrong: int, *, keys: float = 1, measure: Measure = "drops") -> SweepRow:
    """A point with ``right`` of 100 copies and 100 pairs found."""
    report = DuplicatesReport(
        ("minhash",),
        rightly_dropped=right,
        pairs=Scores(right // 2, wrong, 100 - right // 2),
        costs=replace(NO_COSTS, keys_per_page=keys),
    )
    mistakes = [*["missed"] * (100 - right), *["wrongly dropped"] * wrong]
    report.mistakes = [_mistake(kind) for kind in mistakes]
    return SweepRow(value, report, measure)


def _mistake(kind: str) -> MisjudgedPage:
    return MisjudgedPage(LabelledPage("1", "u", "c", None, "", ""), Verdict("u", Status.UNIQUE, keep=True), kind)


def curve(*points: SweepRow, precision: float = 0.9) -> SweepReport:
    return SweepReport("threshold", points, points[0].measure, precision)


def test_the_best_has_the_most_recall_at_the_wanted_precision() -> None:
    points = (point(0.5, 99, 40), point(0.6, 90, 10), point(0.7, 80, 2), point(0.8, 40, 0))
    wanted = {0.0: 0.5, 0.7: 0.5, 0.9: 0.6, 0.95: 0.7, 0.99: 0.8, 1.0: 0.8}
    for precision, value in wanted.items():
        best = curve(*points, precision=precision).best
        assert best is not None
        assert best.value == value


def test_of_equals_the_one_with_the_fewest_keys_is_best() -> None:
    best = curve(point(0.5, 90, 0, keys=12), point(0.6, 90, 0, keys=6), point(0.7, 90, 0, keys=6)).best
    assert best is not None
    assert best.value == 0.6
    more_precise = curve(point(0.5, 90, 3, keys=1), point(0.6, 90, 2, keys=9)).best
    assert more_precise is not None
    assert more_precise.value == 0.6


def test_none_is_best_where_none_reaches_the_precision_or_finds_anything() -> None:
    missed = curve(point(0.5, 90, 40), point(0.6, 50, 20), point(0.7, 0, 0), precision=0.99)
    assert missed.best is None
    assert missed.most_precise.value == 0.6
    assert missed.to_dict()["best"] is None
    assert curve(point(0.5, 0, 0), precision=0).best is None


def test_pairs_can_be_what_counts() -> None:
    by_pairs = point(0.5, 90, 5, measure="pairs")
    assert (by_pairs.scores.true_positives, by_pairs.scores.false_positives) == (45, 5)
    assert curve(by_pairs).to_dict()["measure"] == "pairs"
