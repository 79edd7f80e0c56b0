"""What the ledger of a crawl says of the configuration in force.

Constants by the names under which a user sets them, those of combined detectors included.

The constants that an explanation rests on, and where each of them was taken from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.constants import constants_of, setting_name, with_constant
from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.registry import SHARED, build_detectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.detectors.base import Opinion


_CRAWL = "crawl"  #: kind of the runs that note their settings as JSON


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a crawl."""

    config: Config
    namespace: str


def settings_in(about: Mapping[str, Any]) -> RunSettings | None:
    """Return the settings that a run noted; see :meth:`~dedupcrawl.ledger.ledger.Ledger.create`.

    None: it is no crawl, or one of a version whose settings mean something else here.
    """
    if about.get("kind") != _CRAWL:
        return None
    try:
        noted = {name: json.loads(text) for name, text in about.get("settings", {}).items()}
        given: dict[str, Any] = {
            name: noted[setting] for name in CONFIG_FIELDS if (setting := setting_name(name)) in noted
        }
        return RunSettings(Config(**given), str(noted.get("DEDUP_NAMESPACE", "")))
    except (ValueError, TypeError, AttributeError):  # a SettingError is a ValueError
        return None


def name_of(config: Config, detector: str, constant: str) -> str:
    """Return the name of the constant of a bar: "threshold", "minhash.containment".

    A constant that a detector takes from the configuration has its plain name; one of a member of a combined
    detector is "combined.all_of.simhash.distance".
    """
    place = [detector]
    own: Mapping[str, Any] = constants_of(config).get(detector, {})
    if detector == Combined.name:
        member, _, constant = constant.partition(".")
        rule, members = _members(config)
        place += [rule, member]
        own = members.get(member, {})
    if constant in SHARED and constant not in own:
        return constant
    return ".".join((*place, constant))


def setting_of(name: str) -> str:
    """Return the Scrapy setting in which a constant stands, and where in it.

    >>> setting_of("length_ratio"), setting_of("minhash.containment")
    ('DEDUP_LENGTH_RATIO', "DEDUP_DETECTORS['minhash']['containment']")
    """
    first, *further = name.split(".")
    if not further:
        return setting_name(first)
    return setting_name("detectors") + "".join(f"[{each!r}]" for each in (first, *further))


def constant_value(config: Config, name: str) -> object:
    """Return what a constant, named as by :func:`name_of`, is in ``config``."""
    first, *further = name.split(".")
    if not further:
        return getattr(config, first)
    found: Any = next(each for each in build_detectors(config) if each.name == first)
    if isinstance(found, Combined):
        found = next(each for each in found.members if each.name == further[1])
    return getattr(found, further[-1])


def with_value(config: Config, name: str, value: object) -> Config:
    """Return ``config`` with one constant changed.

    Raises :class:`~dedupcrawl.errors.SettingError` for a value that makes no sense.
    """
    first, *further = name.split(".")
    if first != Combined.name or not further:
        return with_constant(config, name, value)
    rule, member, constant = further
    _, members = _members(config)
    changed = {**members, member: {**members[member], constant: value}}
    found = replace(config, detectors={**constants_of(config), first: {rule: changed}})
    build_detectors(found)
    return found


def _members(config: Config) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the rule of the combined detector, and its members with the constants given for each."""
    given = constants_of(config)[Combined.name]
    if not given:
        default = Combined()
        return "all_of", {each.name: {} for each in default.members}
    ((rule, members),) = given.items()
    if isinstance(members, Mapping):
        return rule, {name: dict(constants or {}) for name, constants in members.items()}
    return rule, {name: {} for name in members}


_GENERAL = ("min_chars", "drop", "keep")


class PremiseSource(StrEnum):
    """Where a constant was taken from."""

    STORE = "the store"
    GIVEN = "the command line"
    PROJECT = "the project"
    RUN = "the run"
    DEFAULT = "the defaults"


@dataclass(frozen=True, slots=True)
class Premise:
    """A constant in force."""

    name: str
    value: object
    source: PremiseSource

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        value = sorted(map(str, self.value)) if isinstance(self.value, frozenset) else self.value
        return {
            "name": self.name,
            "setting": setting_of(self.name),
            "value": value,
            "source": self.source.name.lower(),
        }


@dataclass(frozen=True, slots=True)
class Premises:
    """A configuration, and how it came about."""

    config: Config
    given: frozenset[str]  #: names of constants that the user set
    source: PremiseSource = PremiseSource.DEFAULT  #: of what neither the user nor the store says
    recovered: bool = False  #: whether the detectors are those that the store names
    notes: tuple[str, ...] = ()  #: what was concluded from the store

    def listed(self, opinions: Iterable[Opinion]) -> tuple[Premise, ...]:
        """Return the constants that decide a verdict: those of the bars, and the general ones."""
        names = dict.fromkeys((*self._of_bars(opinions), *_GENERAL))
        return tuple(Premise(name, constant_value(self.config, name), self._source(name)) for name in names)

    def _of_bars(self, opinions: Iterable[Opinion]) -> Iterator[str]:
        for opinion in opinions:
            for bar in (*opinion.bars, *opinion.part_bars):
                if bar.constant:
                    yield name_of(self.config, opinion.detector, bar.constant)

    def _source(self, name: str) -> PremiseSource:
        if name in self.given:
            return PremiseSource.GIVEN
        return PremiseSource.STORE if self.recovered and self._is_told(name) else self.source

    def _is_told(self, name: str) -> bool:
        """Whether it is a constant of a detector, and the store says it."""
        detector, *further = name.split(".")
        told: object = constants_of(self.config).get(detector) if further else None
        for part in further:
            if not isinstance(told, dict) or part not in told:
                return False
            told = told[part]
        return bool(further)
