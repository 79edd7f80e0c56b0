"""The configuration of an explanation: constants by the names that a user sets them by, and their sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import CONFIG_FIELDS, Config, constants_of, setting_name, with_constant
from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.registry import SHARED, build_detectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.detectors.base import Assessment

_CRAWL = "crawl"  #: kind of the runs whose ledger holds settings as JSON
_GENERAL = ("min_chars", "drop", "keep")  #: constants that belong to no detector and decide every verdict

_FIELDS = "fields"  #: the rule of the combined detector by which each item field has a detector


class ConstantSource(StrEnum):
    """Where the value of a constant comes from."""

    STORE = "the store"
    GIVEN = "the command line"
    PROJECT = "the project"
    RUN = "the run"
    DEFAULT = "the defaults"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings of a crawl."""

    config: Config
    namespace: str


def settings_of_run(about: Mapping[str, Any]) -> RunOptions | None:
    """Return the settings in the ``about`` of a run (see :meth:`~dedupcrawl.ledger.ledger.Ledger.create`).

    None: the run is no crawl, or this version does not accept its settings.
    """
    if about.get("kind") != _CRAWL:
        return None
    try:
        values = {name: json.loads(text) for name, text in about.get("settings", {}).items()}
        fields: dict[str, Any] = {
            name: values[setting] for name in CONFIG_FIELDS if (setting := setting_name(name)) in values
        }
        return RunOptions(Config(**fields), str(values.get("DEDUP_NAMESPACE", "")))
    except (ValueError, TypeError, AttributeError):  # a SettingError is a ValueError
        return None


def constant_name(config: Config, detector: str, constant: str) -> str:
    """Return the full name of the constant of a threshold: "threshold", "minhash.containment".

    A constant shared by all detectors keeps its plain name. The constant of a member of the combined detector
    is named "combined.all_of.simhash.distance", of one for a field "combined.fields.body.minhash.slots".
    """
    place = [detector]
    own: Mapping[str, Any] = constants_of(config).get(detector, {})
    if detector == Combined.name:
        member, _, constant = constant.partition(".")
        rule, members = _members(config)
        place += [rule, member]
        own = members.get(member, {})
        if rule == _FIELDS:
            ((used, own),) = own.items()
            place.append(used)
    if constant in SHARED and constant not in own:
        return constant
    return ".".join((*place, constant))


def setting_of(name: str) -> str:
    """Return the Scrapy setting that holds a constant, with the keys inside it.

    >>> setting_of("length_ratio"), setting_of("minhash.containment")
    ('DEDUP_LENGTH_RATIO', "DEDUP_DETECTORS['minhash']['containment']")
    """
    first, *further = name.split(".")
    if not further:
        return setting_name(first)
    if further[0] == _FIELDS:
        return setting_name("item_fields") + "".join(f"[{each!r}]" for each in further[1:])
    return setting_name("detectors") + "".join(f"[{each!r}]" for each in (first, *further))


def constant_value(config: Config, name: str) -> object:
    """Return the value of a constant (see :func:`constant_name`) in ``config``."""
    first, *further = name.split(".")
    if not further:
        return getattr(config, first)
    found: Any = next(each for each in build_detectors(config) if each.name == first)
    if isinstance(found, Combined):
        found = dict(zip(found.labels, found.members, strict=True))[further[1]]
    return getattr(found, further[-1])


def with_value(config: Config, name: str, value: object) -> Config:
    """Return ``config`` with one constant changed; a value that is not accepted raises a SettingError."""
    first, *further = name.split(".")
    if first != Combined.name or not further:
        return with_constant(config, name, value)
    rule, member, *of_field, constant = further
    _, members = _members(config)
    own = members[member][of_field[0]] if of_field else members[member]
    new = {**own, constant: value}
    changed = {**members, member: {of_field[0]: new} if of_field else new}
    found = replace(config, detectors={**constants_of(config), first: {rule: changed}})
    build_detectors(found)
    return found


def _members(config: Config) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the rule of the combined detector, and the constants of each member; of a field, by detector."""
    given = constants_of(config)[Combined.name]
    if not given:
        default = Combined()
        return "all_of", {each.name: {} for each in default.members}
    ((rule, members),) = given.items()
    if rule == _FIELDS:
        named = {field: {one: {}} if isinstance(one, str) else one for field, one in members.items()}
        return rule, {field: {name: dict(own or {}) for name, own in one.items()} for field, one in named.items()}
    if isinstance(members, Mapping):
        return rule, {name: dict(constants or {}) for name, constants in members.items()}
    return rule, {name: {} for name in members}


@dataclass(frozen=True, slots=True)
class ConstantEntry:
    """A constant in force."""

    name: str
    value: object
    source: ConstantSource

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        value = sorted(map(str, self.value)) if isinstance(self.value, frozenset) else self.value
        return {"name": self.name, "setting": setting_of(self.name), "value": value, "source": self.source.name.lower()}


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """A configuration, and where its constants come from."""

    config: Config
    given: frozenset[str]  #: names of constants that the user set
    source: ConstantSource = ConstantSource.DEFAULT  #: of constants that neither the user nor the store gives
    recovered: bool = False  #: whether the detectors were read from the store
    notes: tuple[str, ...] = ()  #: remarks on what was read from the store

    def listed(self, assessments: Iterable[Assessment]) -> tuple[ConstantEntry, ...]:
        """Return the constants that decide a verdict: those of the thresholds and the general ones."""
        thresholds = (
            (each.detector, threshold)
            for each in assessments
            for threshold in (*each.thresholds, *each.part_thresholds)
        )
        named = (
            constant_name(self.config, detector, threshold.constant)
            for detector, threshold in thresholds
            if threshold.constant
        )
        names = dict.fromkeys((*named, *_GENERAL))
        return tuple(ConstantEntry(name, constant_value(self.config, name), self._source(name)) for name in names)

    def _source(self, name: str) -> ConstantSource:
        if name in self.given:
            return ConstantSource.GIVEN
        return ConstantSource.STORE if self.recovered and self._is_stored(name) else self.source

    def _is_stored(self, name: str) -> bool:
        """Whether the name is a detector's constant that the store holds."""
        detector, *further = name.split(".")
        value: object = constants_of(self.config).get(detector) if further else None
        for part in further:
            if not isinstance(value, dict) or part not in value:
                return False
            value = value[part]
        return bool(further)
