"""Counterfactuals: which setting would change a verdict, found by judging again with the setting changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError
from dedupcrawl.sites.manual_versions import COPIES, SIBLINGS, VERSIONS
from dedupcrawl.tools.explain.configuration import constant_name, constant_value, setting_of, with_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Verdict
    from dedupcrawl.detectors.base import Assessment, Threshold


NEW_STORE = "needs a new store or namespace: the present one was filled under the other value"
UNSURE = "there, the pages are compared only if they share a key, and the keys cannot be computed from the sketches"
_DIGITS = (2, 3, 4, 6)  #: decimal places to try, the fewest first
_MAX_VALUE = 1e12  #: larger values are no constants that a user would set
_SHORT_CHARS = 300  #: texts below this length may be excluded by ``min_chars``


def turning_value(threshold: Threshold) -> float | None:
    """Return a value of the constant that turns a met threshold into an unmet one, or the other way round.

    It has as few decimal places as possible. None: there is no such value.
    """
    if not abs(threshold.found) < _MAX_VALUE:
        return None
    if isinstance(threshold.value, int):
        value = _stepped(threshold, 0)
        return None if value is None else int(value)
    found = (_stepped(threshold, digits) for digits in _DIGITS)
    return next((value for value in found if value is not None), None)


def _stepped(threshold: Threshold, digits: int) -> float | None:
    """Return the nearest number of ``digits`` decimal places that turns the threshold, a step from ``found``."""
    wanted, unit = not threshold.is_met, 10**digits
    low = math.floor(threshold.found * unit)
    # An "at least" threshold is met by constants up to the value found, an "at most" threshold by constants from it on.
    down = threshold.at_least == wanted
    steps = (low + 1, low, low - 1) if down else (low, low + 1, low + 2)
    values = (round(step / unit, digits) for step in steps)
    return next((value for value in values if replace(threshold, value=value).is_met is wanted), None)


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A constant and another value for it."""

    name: str  #: as in ``--set``: "threshold", "minhash.containment"
    now: object
    then: object

    @property
    def setting(self) -> str:
        """The Scrapy setting, with the keys inside it."""
        return setting_of(self.name)

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {"name": self.name, "setting": self.setting, "now": _plain(self.now), "then": _plain(self.then)}


@dataclass(frozen=True, slots=True)
class CounterfactualChange:
    """Changes that give a page another verdict."""

    changes: tuple[SettingChange, ...]
    verdict: Verdict
    remark: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        values: dict[str, object] = {
            "changes": [change.as_dict() for change in self.changes],
            "verdict": self.verdict.to_dict(),
        }
        return {**values, "remark": self.remark} if self.remark else values


@dataclass(frozen=True, slots=True)
class CounterfactualBuilder:
    """Tries changes of a configuration on a verdict."""

    config: Config
    verdict: Verdict
    judge: Callable[[Config], Verdict]  #: under another scheme it judges as in a new store
    is_sure: Callable[[Config], bool] = lambda _: True  #: whether the candidates in a new store are known

    def search(self, candidates: Iterable[tuple[SettingChange, ...]]) -> list[CounterfactualChange]:
        """Return the changes that change the verdict; of several values of one constant the nearest."""
        found: dict[tuple[object, ...], CounterfactualChange] = {}
        for changes in candidates:
            tried = self._try(changes)
            if tried is None:
                continue
            effect = (*(change.name for change in changes), *_outcome(tried.verdict))
            if effect not in found or _distance(tried) < _distance(found[effect]):
                found[effect] = tried
        return sorted(found.values(), key=lambda each: each.verdict.keep == self.verdict.keep)

    def _try(self, changes: tuple[SettingChange, ...]) -> CounterfactualChange | None:
        config = self.config
        try:
            for change in changes:
                config = with_value(config, change.name, change.then)
            verdict = self.judge(config)
        except SettingError:  # not a value that a user could set
            return None
        if _outcome(verdict) == _outcome(self.verdict):
            return None
        remark = ""
        if schemes_differ(config, self.config):
            remark = NEW_STORE if self.is_sure(config) else f"{NEW_STORE}; {UNSURE}"
        return CounterfactualChange(changes, verdict, remark)


def constant_changes(config: Config, assessments: Iterable[Assessment]) -> Iterator[tuple[SettingChange, ...]]:
    """Yield for every threshold the change of its constant that turns it (see :func:`turning_value`)."""
    for assessment in assessments:
        for threshold in dict.fromkeys((*assessment.thresholds, *assessment.part_thresholds)):
            change = _turning_change(config, assessment.detector, threshold)
            if change is not None:
                yield (change,)


def joint_constant_changes(config: Config, assessments: Iterable[Assessment]) -> Iterator[tuple[SettingChange, ...]]:
    """Yield for every detector with several unmet thresholds the changes that turn all of them."""
    for assessment in assessments:
        for thresholds in (assessment.thresholds, assessment.part_thresholds):
            unmet = [threshold for threshold in thresholds if not threshold.is_met]
            changes = [_turning_change(config, assessment.detector, threshold) for threshold in unmet]
            if len(unmet) > 1 and None not in changes:
                yield tuple(change for change in changes if change is not None)


def policy_changes(config: Config, verdict: Verdict) -> Iterator[tuple[SettingChange, ...]]:
    """Yield changes of the policy: whether the relation drops a page, and which copy is kept."""
    if verdict.relation is not None:
        yield (SettingChange("drop", config.drop, config.drop ^ {verdict.relation}),)
        yield (SettingChange("keep", config.keep, "latest" if config.keep == "first" else "first"),)
    if verdict.relation is Relation.SIBLING or VERSIONS in verdict.evidence:
        yield (SettingChange("versions", config.versions, SIBLINGS if config.versions == COPIES else COPIES),)


def length_changes(config: Config, length: int, letters: int) -> Iterator[tuple[SettingChange, ...]]:
    """Yield a ``min_chars`` that admits a text which the present one excludes, or excludes a short one.

    ``length``: characters of the normalised text; ``letters`` among them must be at least ``min_chars / 2``.
    """
    least, bound = min(length, 2 * letters), config.min_chars
    if 0 < least < bound:
        yield (SettingChange("min_chars", bound, least - least % 10 or least),)
    elif 0 < least < _SHORT_CHARS:
        yield (SettingChange("min_chars", bound, least - least % 10 + 10),)


def _turning_change(config: Config, detector: str, threshold: Threshold) -> SettingChange | None:
    value = turning_value(threshold) if threshold.constant else None
    if value is None:
        return None
    name = constant_name(config, detector, threshold.constant)
    return SettingChange(name, constant_value(config, name), value)


def _outcome(verdict: Verdict) -> Sequence[object]:
    replaces = verdict.supersedes is not None
    return verdict.status, verdict.keep, verdict.relation, verdict.reason, replaces


def _distance(counterfactual: CounterfactualChange) -> float:
    return sum(
        abs(change.then - change.now)
        for change in counterfactual.changes
        if isinstance(change.then, int | float) and isinstance(change.now, int | float)
    )


def schemes_differ(one: Config, other: Config) -> bool:
    """Whether the two configurations need different stores."""
    return schemes(build_detectors(one), one) != schemes(build_detectors(other), other)


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset) else value
