"""Which constants reach a wanted precision on labelled pages: the drops that a crawler makes are counted.

What detectors measure of the pairs that meet tells which values are worth a run; whether a value is
suggested, the stream itself decides.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import SettingError
from dedupcrawl.evaluation.intervals import Counted, Share, share_of
from dedupcrawl.evaluation.labelledpairs import Scorer
from dedupcrawl.evaluation.suggesting import changed_config, options_of
from dedupcrawl.evaluation.tunable import landscape
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import FILE_ANYWAY, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.evaluation.readings import Readings
    from dedupcrawl.evaluation.report import DuplicatesReport
    from dedupcrawl.evaluation.suggesting import Option

TRIES = 10  #: values that are really run
_LAX = 0.5  #: threshold under which pages are filed, so that pairs below the one in force meet too
_LEAST = 0.9  #: share of the wanted precision that a value must have by pairs to be worth a run


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
    def precision(self) -> Share:
        """Share of the drops that are right, with its interval."""
        return share_of([Counted(self.report.right, self.found)])

    @property
    def recall(self) -> Share:
        """Share of the copies that are dropped, with its interval."""
        return share_of([Counted(self.report.right, self.report.right + self.report.missed)])

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


def suggest_drops(
    readings: Readings, config: Config, wanted: float, judge: Callable[[Config], DuplicatesReport]
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
    for option in _worth(readings, config, wanted):
        with suppress(SettingError):  # values may be fine each by itself, and not together
            changed = changed_config(config, option.values)
            run.append(DropOption(option.values, changed, judge(changed)))
    fine = [each for each in run if each.report.right and each.precision.low >= wanted]
    best = max(fine, key=_merit, default=None)
    return DropSuggestion(wanted, in_force, best, max(run, key=lambda each: each.precision.low))


def _merit(option: DropOption) -> tuple[float, int, float]:
    """Most recall first, to a hundredth; then the fewest changes; then the higher precision."""
    return round(option.recall.value or 0.0, 2), -len(option.values), option.precision.low


def _worth(readings: Readings, config: Config, wanted: float) -> list[Option]:
    """Return values that no other is better than by pairs, those that find most first."""
    same, opinions = _pairs(readings, config)
    scorer = Scorer(same, [1.0] * len(same))
    options = [option for option in options_of(landscape(opinions, config), scorer, config) if option.values]
    front: list[Option] = []
    for option in sorted(options, key=lambda each: (-each.recall, -each.precision, len(each.values))):
        if not front or option.precision > front[-1].precision:
            front.append(option)
    worth = [option for option in front if option.precision >= _LEAST * wanted] or front[-1:]
    stride = -(-len(worth) // TRIES)
    return worth[::stride] if stride else []


def _pairs(readings: Readings, config: Config) -> tuple[list[bool], list[tuple[Opinion, ...]]]:
    """Weigh all pairs of pages that have a key in common; say of each whether it is of one cluster."""
    same, opinions = [], []
    for is_same, said in _met(readings, replace(config, threshold=min(config.threshold, _LAX))):
        same.append(is_same)
        opinions.append(said)
    return same, opinions


def _met(readings: Readings, config: Config) -> Iterator[tuple[bool, tuple[Opinion, ...]]]:
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
