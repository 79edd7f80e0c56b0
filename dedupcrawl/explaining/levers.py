"""Which setting would change a verdict: found by judging again with it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError
from dedupcrawl.explaining.naming import name_of, setting_of, value_of, with_value
from dedupcrawl.explaining.rounding import turning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Bar, Opinion
    from dedupcrawl.verdict import Verdict

_SHORT = 300  #: characters of a text that somebody might call short
NEW_STORE = "needs a new store or namespace: the present one was filled under the other value"
UNSURE = "a page is met there if the two share a key, which their sketches do not tell"


@dataclass(frozen=True, slots=True)
class Change:
    """A constant and another value for it."""

    name: str  #: as ``--set`` has it: "threshold", "minhash.containment"
    now: object
    then: object

    @property
    def setting(self) -> str:
        """The Scrapy setting."""
        return setting_of(self.name)

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "setting": self.setting,
            "now": _plain(self.now),
            "then": _plain(self.then),
        }


@dataclass(frozen=True, slots=True)
class Lever:
    """Changes with which a page gets another verdict."""

    changes: tuple[Change, ...]
    verdict: Verdict
    remark: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        told: dict[str, object] = {
            "changes": [change.as_dict() for change in self.changes],
            "verdict": self.verdict.to_dict(),
        }
        return {**told, "remark": self.remark} if self.remark else told


@dataclass(frozen=True, slots=True)
class Bench:
    """A verdict, and how to come to it under another configuration."""

    config: Config
    verdict: Verdict
    judge: Callable[[Config], Verdict]  #: where the scheme differs, as in a store that was filled anew
    is_sure: Callable[[Config], bool] = lambda _: True  #: whether it is known whom the page meets in that

    def levers(self, candidates: Iterable[tuple[Change, ...]]) -> list[Lever]:
        """Return those that really change the verdict; of several values of one constant the nearest."""
        found: dict[tuple[object, ...], Lever] = {}
        for changes in candidates:
            lever = self._tried(changes)
            if lever is None:
                continue
            what = (*(change.name for change in changes), *_outcome(lever.verdict))
            if what not in found or _distance(lever) < _distance(found[what]):
                found[what] = lever
        return sorted(found.values(), key=lambda lever: lever.verdict.keep == self.verdict.keep)

    def _tried(self, changes: tuple[Change, ...]) -> Lever | None:
        config = self.config
        try:
            for change in changes:
                config = with_value(config, change.name, change.then)
            verdict = self.judge(config)
        except SettingError:  # nobody could set it to that
            return None
        if _outcome(verdict) == _outcome(self.verdict):
            return None
        if not files_otherwise(config, self.config):
            return Lever(changes, verdict)
        return Lever(changes, verdict, NEW_STORE if self.is_sure(config) else f"{NEW_STORE}; {UNSURE}")


def of_constants(config: Config, opinions: Iterable[Opinion]) -> Iterator[tuple[Change, ...]]:
    """Yield for every bar the constant that turns it: met where it was not, not met where it was."""
    for opinion in opinions:
        for bar in dict.fromkeys((*opinion.bars, *opinion.part_bars)):
            change = _turned(config, opinion.detector, bar)
            if change is not None:
                yield (change,)


def of_constants_together(config: Config, opinions: Iterable[Opinion]) -> Iterator[tuple[Change, ...]]:
    """Yield for every detector the constants of all bars that are not met, where they are several."""
    for opinion in opinions:
        for bars in (opinion.bars, opinion.part_bars):
            unmet = [bar for bar in bars if not bar.is_met]
            changes = [_turned(config, opinion.detector, bar) for bar in unmet]
            if len(unmet) > 1 and None not in changes:
                yield tuple(change for change in changes if change is not None)


def of_policy(config: Config, verdict: Verdict) -> Iterator[tuple[Change, ...]]:
    """Yield what decides what is done about a relation: whether it drops a page, and which copy stays."""
    if verdict.relation is not None:
        yield (Change("drop", config.drop, config.drop ^ {verdict.relation}),)
        yield (Change("keep", config.keep, "latest" if config.keep == "first" else "first"),)


def of_length(config: Config, length: int, letters: int) -> Iterator[tuple[Change, ...]]:
    """Yield a bound on short texts that lets a text in where the present one does not, or shuts it out."""
    least, bound = min(length, 2 * letters), config.min_chars
    if 0 < least < bound:
        yield (Change("min_chars", bound, least - least % 10 or least),)
    elif 0 < least < _SHORT:
        yield (Change("min_chars", bound, least - least % 10 + 10),)


def _turned(config: Config, detector: str, bar: Bar) -> Change | None:
    value = turning(bar) if bar.constant else None
    if value is None:
        return None
    name = name_of(config, detector, bar.constant)
    return Change(name, value_of(config, name), value)


def _outcome(verdict: Verdict) -> Sequence[object]:
    replaces = verdict.supersedes is not None
    return verdict.status, verdict.keep, verdict.relation, verdict.reason, replaces


def _distance(lever: Lever) -> float:
    return sum(
        abs(change.then - change.now)
        for change in lever.changes
        if isinstance(change.then, int | float) and isinstance(change.now, int | float)
    )


def files_otherwise(one: Config, other: Config) -> bool:
    """Whether stores that are filled under these refuse each other's pages."""
    return schemes(build_detectors(one), one) != schemes(build_detectors(other), other)


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset) else value
