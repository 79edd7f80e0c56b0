"""Which setting would change a verdict: found by judging again with it changed.

From what a pair has to a constant that a person would type, just on the other side of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.explain.configuration import constant_value, name_of, setting_of, with_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Bar, Opinion
    from dedupcrawl.verdict import Verdict


_DIGITS = (2, 3, 4, 6)  #: behind the point, the fewest first
_BEYOND = 1e12  #: nobody types more


def turning(bar: Bar) -> float | None:
    """Return a value of the constant with which a met bar is not met, or one that is not met is.

    It has as few digits as do; a whole number where the constant is one. None: there is no such number.
    """
    if not abs(bar.found) < _BEYOND:
        return None
    if isinstance(bar.value, int):
        value = _stepped(bar, 0)
        return None if value is None else int(value)
    found = (_stepped(bar, digits) for digits in _DIGITS)
    return next((value for value in found if value is not None), None)


def _stepped(bar: Bar, digits: int) -> float | None:
    """Return the nearest number with so many digits that turns the bar, at most a step beyond ``found``."""
    wanted, unit = not bar.is_met, 10**digits
    low = math.floor(bar.found * unit)
    # An at-least bar is met by constants up to what was found, an at-most bar by those from there on.
    down = bar.at_least == wanted
    steps = (low + 1, low, low - 1) if down else (low, low + 1, low + 2)
    values = (round(step / unit, digits) for step in steps)
    return next((value for value in values if replace(bar, value=value).is_met is wanted), None)


_SHORT = 300  #: characters of a text that somebody might call short
NEW_STORE = "needs a new store or namespace: the present one was filled under the other value"
UNSURE = "a page is met there if the two share a key, which their sketches do not tell"


@dataclass(frozen=True, slots=True)
class SettingChange:
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
class Counterfactual:
    """Changes with which a page gets another verdict."""

    changes: tuple[SettingChange, ...]
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
class CounterfactualSearch:
    """A verdict, and how to come to it under another configuration."""

    config: Config
    verdict: Verdict
    judge: Callable[[Config], Verdict]  #: where the scheme differs, as in a store that was filled anew
    is_sure: Callable[[Config], bool] = lambda _: True  #: whether it is known whom the page meets in that

    def levers(self, candidates: Iterable[tuple[SettingChange, ...]]) -> list[Counterfactual]:
        """Return those that really change the verdict; of several values of one constant the nearest."""
        found: dict[tuple[object, ...], Counterfactual] = {}
        for changes in candidates:
            lever = self._tried(changes)
            if lever is None:
                continue
            what = (*(change.name for change in changes), *_outcome(lever.verdict))
            if what not in found or _distance(lever) < _distance(found[what]):
                found[what] = lever
        return sorted(found.values(), key=lambda lever: lever.verdict.keep == self.verdict.keep)

    def _tried(self, changes: tuple[SettingChange, ...]) -> Counterfactual | None:
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
            return Counterfactual(changes, verdict)
        return Counterfactual(
            changes, verdict, NEW_STORE if self.is_sure(config) else f"{NEW_STORE}; {UNSURE}"
        )


def of_constants(config: Config, opinions: Iterable[Opinion]) -> Iterator[tuple[SettingChange, ...]]:
    """Yield for every bar the constant that turns it: met where it was not, not met where it was."""
    for opinion in opinions:
        for bar in dict.fromkeys((*opinion.bars, *opinion.part_bars)):
            change = _turned(config, opinion.detector, bar)
            if change is not None:
                yield (change,)


def of_constants_together(config: Config, opinions: Iterable[Opinion]) -> Iterator[tuple[SettingChange, ...]]:
    """Yield for every detector the constants of all bars that are not met, where they are several."""
    for opinion in opinions:
        for bars in (opinion.bars, opinion.part_bars):
            unmet = [bar for bar in bars if not bar.is_met]
            changes = [_turned(config, opinion.detector, bar) for bar in unmet]
            if len(unmet) > 1 and None not in changes:
                yield tuple(change for change in changes if change is not None)


def of_policy(config: Config, verdict: Verdict) -> Iterator[tuple[SettingChange, ...]]:
    """Yield what decides what is done about a relation: whether it drops a page, and which copy stays."""
    if verdict.relation is not None:
        yield (SettingChange("drop", config.drop, config.drop ^ {verdict.relation}),)
        yield (SettingChange("keep", config.keep, "latest" if config.keep == "first" else "first"),)


def of_length(config: Config, length: int, letters: int) -> Iterator[tuple[SettingChange, ...]]:
    """Yield a bound on short texts that lets a text in where the present one does not, or shuts it out."""
    least, bound = min(length, 2 * letters), config.min_chars
    if 0 < least < bound:
        yield (SettingChange("min_chars", bound, least - least % 10 or least),)
    elif 0 < least < _SHORT:
        yield (SettingChange("min_chars", bound, least - least % 10 + 10),)


def _turned(config: Config, detector: str, bar: Bar) -> SettingChange | None:
    value = turning(bar) if bar.constant else None
    if value is None:
        return None
    name = name_of(config, detector, bar.constant)
    return SettingChange(name, constant_value(config, name), value)


def _outcome(verdict: Verdict) -> Sequence[object]:
    replaces = verdict.supersedes is not None
    return verdict.status, verdict.keep, verdict.relation, verdict.reason, replaces


def _distance(lever: Counterfactual) -> float:
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
