from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Config
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.evaluation.dataset import LabelledPage
from dedupcrawl.tools.evaluation.duplicates import NO_COSTS, DuplicatesReport, Mistake
from dedupcrawl.tools.evaluation.metrics import Scores
from dedupcrawl.tools.evaluation.sweep import Measure, SweepCurve, SweepPoint, parse_sweep

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


def point(value: float, right: int, wrong: int, *, keys: float = 1, measure: Measure = "drops") -> SweepPoint:
    """A point with ``right`` of 100 copies and 100 pairs found."""
    report = DuplicatesReport(
        ("minhash",),
        rightly_dropped=right,
        pairs=Scores(right // 2, wrong, 100 - right // 2),
        costs=replace(NO_COSTS, keys_per_page=keys),
    )
    mistakes = [*["missed"] * (100 - right), *["wrongly dropped"] * wrong]
    report.mistakes = [_mistake(kind) for kind in mistakes]
    return SweepPoint(value, report, measure)


def _mistake(kind: str) -> Mistake:
    return Mistake(LabelledPage("1", "u", "c", None, "", ""), Verdict("u", Status.UNIQUE, keep=True), kind)


def curve(*points: SweepPoint, precision: float = 0.9) -> SweepCurve:
    return SweepCurve("threshold", points, points[0].measure, precision)


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
