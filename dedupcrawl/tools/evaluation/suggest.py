"""Search for constants that reach a wanted precision and find the most.

Values are first tried on the measurements of the detectors, then the best are really run. A value is
suggested if the lower limit of the confidence interval of its precision reaches the wanted one, not if the
estimate does: a few labels that happen to be right prove little. On labelled pages, the measurements only
show which values are worth a run; the drops of the stream decide.

A detector finds a pair if all its thresholds are met. The measured value of a pair at a threshold does not depend on
the constant that sets the threshold. One comparison of each pair therefore shows the result of every value of a
constant.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.config import constants_of, value_of, with_constant
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import SHARED
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import FILE_ANYWAY, Record
from dedupcrawl.tools.evaluation.dataset import PairScores, PairScoresBuilder, judge_pairs, score_pairs
from dedupcrawl.tools.evaluation.metrics import StratumCount, estimate, proportion_of
from dedupcrawl.tools.evaluation.runs import with_constants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Assessment, Threshold
    from dedupcrawl.tools.evaluation.dataset import JudgedPair, ParsedCorpus
    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport

    Flags = npt.NDArray[np.bool_]  # one a pair
    Values = Mapping[str, float]  # of constants, by their names in the configuration

MAX_VALUES = 150  #: values of a constant that are tried
_COMBINED = "combined"  #: the constants of its members have no names in the configuration
_COPIES = (Relation.IDENTICAL, Relation.NEAR_DUPLICATE)
_EPSILON = 1e-9  #: tolerance of floating point division


@dataclass(frozen=True, slots=True)
class ThresholdValues:
    """The measured values of all pairs at one threshold of a detector."""

    constant: str  #: that sets the threshold, by its name in the configuration
    value: float  #: of the constant in force
    at_least: bool
    is_strict: bool
    found: npt.NDArray[np.float64]  #: for each pair; nan: the threshold does not apply to it

    def met(self, value: float) -> Flags:
        """Return for each pair whether it meets the threshold at this value of the constant."""
        missed = self.found < value if self.at_least else self.found > value
        if self.is_strict:
            missed |= self.found == value
        return ~missed


@dataclass(frozen=True, slots=True)
class DetectorMeasurements:
    """The measurements of one detector on all pairs."""

    applies: Flags  #: whether the detector can judge the pair, and all thresholds without a constant are met
    thresholds: tuple[ThresholdValues, ...]

    def found(self, values: Values) -> Flags:
        """Return for each pair whether it is found with these values; other constants are unchanged."""
        flags = self.applies.copy()
        for threshold in self.thresholds:
            flags &= threshold.met(values.get(threshold.constant, threshold.value))
        return flags


@dataclass(frozen=True, slots=True)
class PairMeasurements:
    """The measurements of all detectors in use on all pairs."""

    detectors: tuple[DetectorMeasurements, ...]
    pairs: int

    def found(self, values: Values) -> Flags:
        """Return for each pair whether any detector finds it with these values."""
        flags = np.zeros(self.pairs, dtype=bool)
        for each in self.detectors:
            flags |= each.found(values)
        return flags

    def thresholds(self, constant: str) -> list[ThresholdValues]:
        """Return the thresholds that a constant sets."""
        return [threshold for each in self.detectors for threshold in each.thresholds if threshold.constant == constant]

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of the constants that set thresholds."""
        return tuple(dict.fromkeys(threshold.constant for each in self.detectors for threshold in each.thresholds))


def measurements_of(assessments: Sequence[Sequence[Assessment]], config: Config) -> PairMeasurements:
    """Return the measurements in the assessments on each pair, () for one that cannot be judged."""
    by_name: dict[str, dict[int, Assessment]] = defaultdict(dict)
    for place, of_pair in enumerate(assessments):
        for assessment in of_pair:
            by_name[assessment.detector][place] = assessment
    count = len(assessments)
    return PairMeasurements(tuple(_measurements(*each, count, config) for each in by_name.items()), count)


def _measurements(
    detector: str, assessments: Mapping[int, Assessment], pairs: int, config: Config
) -> DetectorMeasurements:
    applies = np.zeros(pairs, dtype=bool)
    thresholds: dict[str, dict[int, Threshold]] = defaultdict(dict)
    for place, assessment in assessments.items():
        applies[place] = _applies(detector, assessment)
        for threshold in assessment.thresholds if detector != _COMBINED else ():
            if threshold.constant:
                thresholds[constant_name(detector, threshold.constant, config)][place] = threshold
    return DetectorMeasurements(applies, tuple(_threshold_values(*each, pairs, config) for each in thresholds.items()))


def _applies(detector: str, assessment: Assessment) -> bool:
    if detector == _COMBINED:
        return assessment.match is not None and assessment.match.relation in _COPIES
    return not assessment.silent and all(
        threshold.is_met for threshold in assessment.thresholds if not threshold.constant
    )


def _threshold_values(name: str, thresholds: Mapping[int, Threshold], pairs: int, config: Config) -> ThresholdValues:
    found = np.full(pairs, np.nan)
    for place, threshold in thresholds.items():
        found[place] = threshold.found
    one = next(iter(thresholds.values()))
    return ThresholdValues(name, float(str(value_of(config, name))), one.at_least, one.is_strict, found)


def constant_name(detector: str, constant: str, config: Config) -> str:
    """Return the name of a detector's constant in the configuration: ``threshold``, ``simhash.distance``."""
    is_shared = constant in SHARED and constant not in constants_of(config)[detector]
    return constant if is_shared else f"{detector}.{constant}"


def candidate_values(measured: PairMeasurements, constant: str, config: Config) -> list[float]:
    """Return the round values of a constant that are worth trying, in the range of the measured values.

    Of several values with the same result one is enough: the value in force, else the middle one, which has
    the greatest distance from the pairs on both sides.
    """
    now = value_of(config, constant)
    if isinstance(now, bool) or not isinstance(now, int | float):
        return []
    thresholds = measured.thresholds(constant)
    found = np.concatenate([np.empty(0), *(threshold.found[~np.isnan(threshold.found)] for threshold in thresholds)])
    if not len(found):
        return [now]
    step = 1.0 if isinstance(now, int) else 0.01
    low, high = floor(found.min() / step + _EPSILON), ceil(found.max() / step - _EPSILON)
    stride = max(1, ceil((high - low + 1) / MAX_VALUES))
    tried = {type(now)(round(place * step, 2)) for place in range(low, high + 1, stride)} | {now}
    alike: dict[bytes, list[float]] = defaultdict(list)
    for value in sorted(value for value in tried if _is_accepted(config, constant, value)):
        alike[b"".join(threshold.met(value).tobytes() for threshold in thresholds)].append(value)
    return [now if now in several else several[len(several) // 2] for several in alike.values()]


def _is_accepted(config: Config, constant: str, value: float) -> bool:
    try:
        with_constant(config, constant, value)
    except SettingError:
        return False
    return True


MAX_LABELS = 100_000  #: above this, no number of further labels is proposed
MAX_CHANGED = 2  #: constants that are changed at a time
MAX_PAIR_RUNS = 8  #: options on pairs that are really run before none is suggested
MAX_DROP_RUNS = 10  #: options on drops that are really run
_FEW_FACTOR = 4  #: an option finds few pairs if another one finds so many times as many
_LAX_THRESHOLD = 0.5  #: for fingerprints: pairs below the threshold in force share keys too
_PROMISING_SHARE = 0.9  #: share of the wanted precision that an option must have on pairs to be run


@dataclass(frozen=True, slots=True)
class PairValues:
    """Values of constants, and their scores on the labelled pairs."""

    values: Mapping[str, float]  #: those that differ from the values in force
    scores: PairScores

    @property
    def precision(self) -> float:
        """The estimate, 0…1; 0 if nothing is found."""
        return estimate(self.scores.found_counts) or 0.0

    @property
    def recall(self) -> float:
        """The estimate, 0…1; 0 if no pair is the same."""
        return estimate(self.scores.same_counts) or 0.0


@dataclass(frozen=True, slots=True)
class PairSearchResult:
    """The result of a search on labelled pairs."""

    wanted: float  #: precision, 0…1
    in_force: PairScores
    best: PairValues | None  #: verified by a run; None: no option is shown to reach the wanted precision
    config: Config | None  #: that of ``best``
    nearest: PairValues | None  #: the option that might reach it with more labels, else the most precise


def suggest_for_pairs(
    judged: Sequence[JudgedPair],
    config: Config,
    wanted: float,
    run: Callable[[Config], Sequence[JudgedPair]] | None = None,
) -> PairSearchResult:
    """Search the constants of the detectors in use on labelled pairs.

    Args:
        judged: the labelled pairs, judged by ``config``.
        config: the constants in force.
        wanted: precision, above 0 and below 1.
        run: judges the pairs by another configuration; default: :func:`judge_pairs`.
    """
    pairs = [each.pair for each in judged]
    run = run or (lambda changed: judge_pairs(pairs, changed))
    measured = measurements_of([each.assessments for each in judged], config)
    options = list(pair_options(measured, PairScoresBuilder.for_pairs(judged), config))
    fine = sorted((each for each in options if _reaches(each, wanted)), key=_pair_rank)
    best, verified = next(_verified(fine[:MAX_PAIR_RUNS], config, wanted, run), (None, None))
    return PairSearchResult(wanted, score_pairs(judged), best, verified, _nearest_option(options, wanted))


def _verified(
    options: Iterable[PairValues], config: Config, wanted: float, run: Callable[[Config], Sequence[JudgedPair]]
) -> Iterator[tuple[PairValues, Config]]:
    """Yield the options that reach ``wanted`` in a run, in which pairs must also share keys."""
    for option in options:
        with suppress(SettingError):  # values may be accepted one by one, and not together
            changed = with_constants(config, option.values)
            verified = PairValues(option.values, score_pairs(run(changed)))
            if _reaches(verified, wanted):
                yield verified, changed


def pair_options(measured: PairMeasurements, scorer: PairScoresBuilder, config: Config) -> Iterator[PairValues]:
    """Yield all values of one constant, and of two together, that find anything."""
    grids = {name: candidate_values(measured, name, config) for name in measured.constants}
    names = [name for name, values in grids.items() if values][:MAX_CHANGED]
    for chosen in product(*(grids[name] for name in names)):
        values = dict(zip(names, chosen, strict=True))
        found = measured.found(values)
        if found.any():
            changed = {name: value for name, value in values.items() if value != value_of(config, name)}
            yield PairValues(changed, scorer.scores(found))


def _reaches(option: PairValues, wanted: float) -> bool:
    is_right = option.recall > 0 and option.precision >= wanted
    return is_right and option.scores.precision.low >= wanted


def _nearest_option(options: Sequence[PairValues], wanted: float) -> PairValues | None:
    """Return an option that might prove precise enough with more labels, else the most certain one.

    An option that finds few pairs is left out: that all of them are right is chance.
    """
    most = max((each.scores.found for each in options), default=0)
    many = [each for each in options if each.scores.found * _FEW_FACTOR >= most]
    promising = [each for each in many if each.precision >= wanted]
    return max(promising or options, key=lambda option: option.scores.precision.low, default=None)


def _pair_rank(option: PairValues) -> tuple[float, int, float]:
    """Sort key: highest recall first, to a hundredth; then the fewest changes; then the higher precision."""
    return -round(option.recall, 2), len(option.values), -option.scores.precision.low


@dataclass(frozen=True, slots=True)
class DropValues:
    """Values of constants, and the drops that they lead to."""

    values: Mapping[str, float]  #: those that differ from the values in force
    config: Config
    report: DuplicatesReport

    @property
    def scores(self) -> PairScores:
        """The scores of the drops; ``found`` are the pages dropped."""
        report, right = self.report, self.report.rightly_dropped
        found, same = right + report.wrongly_dropped, right + report.missed
        return PairScores(report.pages, (StratumCount(right, found),), (StratumCount(right, same),))

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        scores = self.scores.to_dict()
        del scores["pairs"]
        return {"dropped": scores.pop("found"), **scores}


@dataclass(frozen=True, slots=True)
class DropSearchResult:
    """The result of a search on labelled pages."""

    wanted: float  #: precision of the drops, 0…1
    in_force: DropValues
    best: DropValues | None  #: None: no option is shown to reach the wanted precision
    nearest: DropValues  #: of all that were run, the one with the highest lower limit


def suggest_for_drops(
    parsed: ParsedCorpus, config: Config, wanted: float, judge: Callable[[Config], DuplicatesReport]
) -> DropSearchResult:
    """Search the constants of the detectors in use on labelled pages.

    Args:
        parsed: the labelled pages, as ``config`` reads them.
        config: the constants in force.
        wanted: precision of the drops, above 0 and below 1.
        judge: judges the stream by a configuration.
    """
    in_force = DropValues({}, config, judge(config))
    run = [in_force]
    for option in _promising(parsed, config, wanted):
        with suppress(SettingError):  # values may be accepted one by one, and not together
            changed = with_constants(config, option.values)
            run.append(DropValues(option.values, changed, judge(changed)))
    fine = [each for each in run if each.report.rightly_dropped and each.scores.precision.low >= wanted]
    best = max(fine, key=_drop_rank, default=None)
    return DropSearchResult(wanted, in_force, best, max(run, key=lambda each: each.scores.precision.low))


def _drop_rank(option: DropValues) -> tuple[float, int, float]:
    """Sort key: recall, to a hundredth; then few changes; then precision."""
    scores = option.scores
    return round(scores.recall.value or 0.0, 2), -len(option.values), scores.precision.low


def _promising(parsed: ParsedCorpus, config: Config, wanted: float) -> list[PairValues]:
    """Return the Pareto-optimal options on pairs (by recall and precision), the highest recall first."""
    assessments: list[tuple[Assessment, ...]] = []
    same = []
    lax = replace(config, threshold=min(config.threshold, _LAX_THRESHOLD))
    for is_same, of_pair in _assessments_on_pairs(parsed, lax):
        same.append(is_same)
        assessments.append(of_pair)
    measured, scorer = measurements_of(assessments, config), PairScoresBuilder(same, [1.0] * len(same))
    options = [option for option in pair_options(measured, scorer, config) if option.values]
    front: list[PairValues] = []
    for option in sorted(options, key=lambda each: (-each.recall, -each.precision, len(each.values))):
        if not front or option.precision > front[-1].precision:
            front.append(option)
    promising = [option for option in front if option.precision >= _PROMISING_SHARE * wanted] or front[-1:]
    stride = -(-len(promising) // MAX_DROP_RUNS)
    return promising[::stride] if stride else []


def _assessments_on_pairs(parsed: ParsedCorpus, config: Config) -> Iterator[tuple[bool, tuple[Assessment, ...]]]:
    """Yield for each pair of pages with a common key whether their cluster is one, and the assessments."""
    clusters: dict[int, str] = {}
    with Deduplicator(config=config) as dedup:
        for place, each in enumerate(parsed.pages):
            if not isinstance(each.result, Page):
                continue
            record = dedup.fingerprint(replace(each.result, url=f"https://{place}.invalid/"))
            if not isinstance(record, Record):
                continue
            for other in dedup.candidates(record):
                yield clusters[other.id] == each.row.cluster, dedup.assessments(record, other.record)
            filed = dedup.store.add(record, FILE_ANYWAY).id
            if filed is not None:
                clusters[filed] = each.row.cluster


def labels_needed(counts: Sequence[StratumCount], wanted: float) -> int | None:
    """Return how many more pairs must be found, and be right, for the lower limit to reach ``wanted``.

    They are distributed over the strata like the existing ones. None: more than :data:`MAX_LABELS`.
    """
    low, high = 0, 1
    while not _would_show(counts, high, wanted):
        low, high = high, 2 * high
        if high > MAX_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _would_show(counts, middle, wanted) else (middle, high)
    return high


def _would_show(counts: Sequence[StratumCount], more: int, wanted: float) -> bool:
    whole = sum(each.trials for each in counts) or 1
    grown = (
        StratumCount(each.successes + added, each.trials + added, each.weight)
        for each in counts
        for added in [round(more * each.trials / whole)]
    )
    return proportion_of(grown).low >= wanted


def explain_shortfall(suggestion: PairSearchResult) -> str:
    """Return a sentence on why nothing is suggested for labelled pairs, and what would help."""
    option = suggestion.nearest
    if option is None:
        return "None of the labelled pairs is found, whatever the constants: there is nothing to suggest."
    scores, where = option.scores, _assignments(option.values)
    counted = f"{where}: {scores.found:,} of the labelled pairs are found, {scores.found - scores.wrong:,} rightly"
    return _shortfall(counted, scores.found_counts, suggestion.wanted, "labels of such pairs")


def explain_drop_shortfall(suggestion: DropSearchResult) -> str:
    """Return a sentence on why nothing is suggested for labelled pages, and what would help."""
    scores, where = suggestion.nearest.scores, _assignments(suggestion.nearest.values)
    if not scores.found:
        return "No page is dropped: there is nothing to suggest."
    counted = f"{where}: {scores.found:,} pages are dropped, {scores.found - scores.wrong:,} rightly"
    return _shortfall(counted, scores.found_counts, suggestion.wanted, "labelled copies")


def _shortfall(counted: str, counts: Sequence[StratumCount], wanted: float, things: str) -> str:
    share = proportion_of(counts)
    estimated = share.value or 0.0
    if estimated < wanted:
        return (
            f"No value reaches a precision of {wanted:g} here. The most precise is {counted} "
            f"({estimated:.2f}). More labels will not change that; other detectors may "
            "(--detector all compares them)."
        )
    more = labels_needed(counts, wanted)
    if more is not None and more >= 20:
        more = -(-more // 10) * 10  # rounded up to tens
    asked = f"far more {things}" if more is None else f"some {more:,} more {things}"
    return (
        f"There are too few labels to show a precision of {wanted:g}. At {counted}, which shows "
        f"{floor(share.low * 100) / 100:.2f} at least. It takes {asked}, all of them right, or a lower "
        "--precision."
    )


def _assignments(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "what is in force"
