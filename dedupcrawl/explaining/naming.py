"""Constants by the names under which a user sets them, those of combined detectors included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.constants import constants_of, with_constant
from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.registry import SHARED, build_detectors
from dedupcrawl.settings_text import setting_name

if TYPE_CHECKING:
    from dedupcrawl.config import Config


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


def value_of(config: Config, name: str) -> object:
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
