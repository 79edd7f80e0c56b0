"""What to say where labels cannot show what is wanted, and how many more could.

Which constants reach a wanted precision, and find the most: tried on paper, then really run.

A value is taken when the lower limit of its precision's interval reaches
what is wanted, not when the estimate does: a few labels that happen to be right prove little.

Which constants reach a wanted precision on labelled pages: the drops that a crawler makes are counted.

What detectors measure of the pairs that meet tells which values are worth a run; whether a value is
suggested, the stream itself decides.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import floor
from typing import TYPE_CHECKING

from dedupcrawl.constants import value_of, with_constant
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import FILE_ANYWAY, Record
from dedupcrawl.tools.evaluation.labelled_pairs import PairScorer, judge_pairs, score_pairs
from dedupcrawl.tools.evaluation.metrics import Proportion, StratumCount, estimate, proportion_of
from dedupcrawl.tools.evaluation.tunable import candidate_values, measurements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.tools.evaluation.dataset import ParsedPages
    from dedupcrawl.tools.evaluation.labelled_pairs import JudgedPair, PairScores
    from dedupcrawl.tools.evaluation.runs import DuplicatesReport
    from dedupcrawl.tools.evaluation.tunable import PairMeasurements


MAX_LABELS = 100_000  #: labels; beyond that nobody is told to make more


def labels_needed(counts: Sequence[StratumCount], wanted: float) -> int | None:
    """Return how many more pairs must be found, and be right, for the lower limit to reach ``wanted``.

    They are spread over the strata as those that there are. None: more than anybody will label.
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
    whole = sum(each.cases for each in counts) or 1
    grown = (
        StratumCount(each.right + added, each.cases + added, each.weight)
        for each in counts
        for added in [round(more * each.cases / whole)]
    )
    return proportion_of(grown).low >= wanted


def explain_shortfall(suggestion: PairSuggestion) -> str:
    """Say why nothing is suggested for labelled pairs, and what would help, in plain words."""
    option = suggestion.nearest
    if option is None:
        return "None of the labelled pairs is found, whatever the constants: there is nothing to suggest."
    scores, where = option.scores, _assignments(option.values)
    counted = (
        f"{where}: {scores.found:,} of the labelled pairs are found, {scores.found - scores.wrong:,} rightly"
    )
    return _shortfall(counted, scores.of_found, suggestion.wanted, "labels of such pairs")


def explain_drop_shortfall(suggestion: DropSuggestion) -> str:
    """Say the same of labelled pages."""
    option = suggestion.nearest
    if not option.found:
        return "No page is dropped: there is nothing to suggest."
    counted = (
        f"{_assignments(option.values)}: {option.found:,} pages are dropped, {option.report.right:,} rightly"
    )
    counts = (StratumCount(option.report.right, option.found),)
    return _shortfall(counted, counts, suggestion.wanted, "labelled copies")


def _shortfall(counted: str, counts: Sequence[StratumCount], wanted: float, things: str) -> str:
    share = proportion_of(counts)
    estimate = share.value or 0.0
    if estimate < wanted:
        return (
            f"No value reaches a precision of {wanted:g} here. The most precise is {counted} "
            f"({estimate:.2f}). More labels will not change that; other detectors may "
            "(--detector all compares them)."
        )
    more = labels_needed(counts, wanted)
    asked = f"far more {things}" if more is None else f"some {_round_up(more):,} more {things}"
    return (
        f"There are too few labels to show a precision of {wanted:g}. At {counted}, which shows "
        f"{floor(share.low * 100) / 100:.2f} at least. It takes {asked}, all of them right, or a lower "
        "--precision."
    )


def _assignments(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "what is in force"


def _round_up(number: int) -> int:
    """Round up to what one would say."""
    step = 10 if number >= 20 else 1
    return -(-number // step) * step


MAX_PAIR_RUNS = 8  #: suggestions that are really run before none is made
MAX_CHANGED = 2  #: constants that are changed at a time
_FEW_FACTOR = 4  #: an option finds few pairs if another one finds so many times as many


@dataclass(frozen=True, slots=True)
class PairOption:
    """Values of constants, and how right they would be on the labelled pairs."""

    values: Mapping[str, float]  #: those that differ from what is in force
    scores: PairScores

    @property
    def precision(self) -> float:
        """The estimate, 0 where nothing is found."""
        return estimate(self.scores.of_found) or 0.0

    @property
    def recall(self) -> float:
        """The estimate, 0 where nothing is the same."""
        return estimate(self.scores.of_same) or 0.0


@dataclass(frozen=True, slots=True)
class PairSuggestion:
    """What came of a search."""

    wanted: float  #: precision
    in_force: PairScores
    best: PairOption | None  #: verified; None: nothing can be shown to reach what is wanted
    config: Config | None  #: that of ``best``
    nearest: PairOption | None  #: what more labels may show to reach it, else what shows most


def suggest_for_pairs(
    judged: Sequence[JudgedPair],
    config: Config,
    wanted: float,
    run: Callable[[Config], Sequence[JudgedPair]] | None = None,
) -> PairSuggestion:
    """Search the constants of the detectors in use.

    Args:
        judged: what ``config`` makes of the labelled pairs.
        config: the constants in force.
        wanted: precision.
        run: judges the pairs under another configuration.
    """
    pairs = [each.pair for each in judged]
    run = run or (lambda changed: judge_pairs(pairs, changed))
    scene = measurements_of([each.opinions for each in judged], config)
    options = list(pair_options(scene, PairScorer.of(judged), config))
    fine = sorted((each for each in options if _reaches(each, wanted)), key=_pair_merit)
    best, verified = next(_verified(fine[:MAX_PAIR_RUNS], config, wanted, run), (None, None))
    return PairSuggestion(wanted, score_pairs(judged), best, verified, _nearest_option(options, wanted))


def _verified(
    options: Iterable[PairOption],
    config: Config,
    wanted: float,
    run: Callable[[Config], Sequence[JudgedPair]],
) -> Iterator[tuple[PairOption, Config]]:
    """Yield the options that keep their promise when they are run: pairs must meet by their keys, too."""
    for option in options:
        with suppress(SettingError):  # values may be fine each by itself, and not together
            changed = changed_config(config, option.values)
            really = PairOption(option.values, score_pairs(run(changed)))
            if _reaches(really, wanted):
                yield really, changed


def changed_config(config: Config, values: Mapping[str, float]) -> Config:
    """Return a configuration with these values."""
    for name, value in values.items():
        config = with_constant(config, name, value)
    return config


def pair_options(scene: PairMeasurements, scorer: PairScorer, config: Config) -> Iterator[PairOption]:
    """Yield all values of one constant, and of two together, at which anything is found."""
    grids = {name: candidate_values(scene, name, config) for name in scene.constants}
    names = [name for name, values in grids.items() if values][:MAX_CHANGED]
    for chosen in product(*(grids[name] for name in names)):
        values = dict(zip(names, chosen, strict=True))
        found = scene.found(values)
        if found.any():
            changed = {name: value for name, value in values.items() if value != value_of(config, name)}
            yield PairOption(changed, scorer.scores(found))


def _reaches(option: PairOption, wanted: float) -> bool:
    is_right = option.recall > 0 and option.precision >= wanted
    return is_right and option.scores.precision.low >= wanted


def _nearest_option(options: Sequence[PairOption], wanted: float) -> PairOption | None:
    """Return the option that more labels may show to be precise enough; else the one that shows most.

    That the few pairs of a narrow option are all right is luck, and promises nothing.
    """
    most = max((each.scores.found for each in options), default=0)
    promising = [
        each for each in options if each.precision >= wanted and each.scores.found * _FEW_FACTOR >= most
    ]
    return max(promising or options, key=lambda option: option.scores.precision.low, default=None)


def _pair_merit(option: PairOption) -> tuple[float, int, float]:
    """Most recall first, to a hundredth; then the fewest changes; then the higher precision."""
    return -round(option.recall, 2), len(option.values), -option.scores.precision.low


MAX_DROP_RUNS = 10  #: values that are really run
_LAX_THRESHOLD = 0.5  #: threshold under which pages are filed, so that pairs below the one in force meet too
_PROMISING_SHARE = 0.9  #: share of the wanted precision that a value must have by pairs to be worth a run


@dataclass(frozen=True, slots=True)
class DropOption:
    """Values of constants, and how right the drops are with them."""

    values: Mapping[str, float]  #: those that differ from what is in force
    config: Config
    report: DuplicatesReport

    @property
    def found(self) -> int:
        """How many pages are dropped that count: rightly or wrongly."""
        return self.report.right + self.report.wrongly_dropped

    @property
    def precision(self) -> Proportion:
        """Share of the drops that are right, with its interval."""
        return proportion_of([StratumCount(self.report.right, self.found)])

    @property
    def recall(self) -> Proportion:
        """Share of the copies that are dropped, with its interval."""
        return proportion_of([StratumCount(self.report.right, self.report.right + self.report.missed)])

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "dropped": self.found,
            "wrong": self.report.wrongly_dropped,
            "missed": self.report.missed,
            "precision": self.precision.to_dict(),
            "recall": self.recall.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class DropSuggestion:
    """What came of a search."""

    wanted: float  #: precision
    in_force: DropOption
    best: DropOption | None  #: None: nothing can be shown to reach what is wanted
    nearest: DropOption  #: of all that were run, the one with the highest lower limit


def suggest_for_drops(
    readings: ParsedPages, config: Config, wanted: float, judge: Callable[[Config], DuplicatesReport]
) -> DropSuggestion:
    """Search the constants of the detectors in use.

    Args:
        readings: the labelled pages, as ``config`` has them read.
        config: the constants in force.
        wanted: precision of the drops.
        judge: runs the stream under a configuration.
    """
    in_force = DropOption({}, config, judge(config))
    run = [in_force]
    for option in _promising(readings, config, wanted):
        with suppress(SettingError):  # values may be fine each by itself, and not together
            changed = changed_config(config, option.values)
            run.append(DropOption(option.values, changed, judge(changed)))
    fine = [each for each in run if each.report.right and each.precision.low >= wanted]
    best = max(fine, key=_drop_merit, default=None)
    return DropSuggestion(wanted, in_force, best, max(run, key=lambda each: each.precision.low))


def _drop_merit(option: DropOption) -> tuple[float, int, float]:
    """Most recall first, to a hundredth; then the fewest changes; then the higher precision."""
    return round(option.recall.value or 0.0, 2), -len(option.values), option.precision.low


def _promising(readings: ParsedPages, config: Config, wanted: float) -> list[PairOption]:
    """Return values that no other is better than by pairs, those that find most first."""
    same, opinions = _measure_pairs(readings, config)
    scorer = PairScorer(same, [1.0] * len(same))
    options = [
        option for option in pair_options(measurements_of(opinions, config), scorer, config) if option.values
    ]
    front: list[PairOption] = []
    for option in sorted(options, key=lambda each: (-each.recall, -each.precision, len(each.values))):
        if not front or option.precision > front[-1].precision:
            front.append(option)
    worth = [option for option in front if option.precision >= _PROMISING_SHARE * wanted] or front[-1:]
    stride = -(-len(worth) // MAX_DROP_RUNS)
    return worth[::stride] if stride else []


def _measure_pairs(readings: ParsedPages, config: Config) -> tuple[list[bool], list[tuple[Opinion, ...]]]:
    """Weigh all pairs of pages that have a key in common; say of each whether it is of one cluster."""
    same, opinions = [], []
    for is_same, said in _opinions_on_pairs(
        readings, replace(config, threshold=min(config.threshold, _LAX_THRESHOLD))
    ):
        same.append(is_same)
        opinions.append(said)
    return same, opinions


def _opinions_on_pairs(readings: ParsedPages, config: Config) -> Iterator[tuple[bool, tuple[Opinion, ...]]]:
    clusters: dict[int, str] = {}
    with Deduplicator(config=config) as dedup:
        for place, reading in enumerate(readings.pages):
            if not isinstance(reading.subject, Page):
                continue
            record = dedup.file(replace(reading.subject, url=f"https://{place}.invalid/"))
            if not isinstance(record, Record):
                continue
            for other in dedup.candidates(record):
                is_same = clusters[other.id] == reading.row.cluster
                yield is_same, dedup.opinions(record, other.record)
            filed = dedup.store.add(record, FILE_ANYWAY).id
            if filed is not None:
                clusters[filed] = reading.row.cluster
