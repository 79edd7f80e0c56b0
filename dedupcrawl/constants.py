"""Constants of a configuration by name (``threshold``, ``minhash.slots``), and configurations as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.detectors.registry import DETECTORS, SHARED, build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.text.secret_seed import SECRET, SecretSeed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


#: Fields of ``Config`` that do not affect an evaluation, or are chosen in another way.
_EXCLUDED = frozenset({"detectors", "lease", "wait", "ttl"})
PREFIX = "DEDUP_"  #: of Scrapy settings
_USUAL = ("detectors", "threshold", "length_ratio", "min_chars", "reader", "drop", "keep")
GENERAL = tuple(name for name in CONFIG_FIELDS if name not in _EXCLUDED)


def with_constant(config: Config, name: str, value: object) -> Config:
    """Return ``config`` with one constant changed.

    Raises:
        SettingError: the name or the value is not accepted, or no detector in use has this constant.
    """
    if wrong := complaint(config, name):
        raise SettingError(name, value, wrong)
    detector, dot, constant = name.partition(".")
    if dot:
        chosen = constants_of(config)
        changed = replace(config, detectors={**chosen, detector: {**chosen[detector], constant: value}})
    else:
        changes: dict[str, Any] = {name: value}
        changed = replace(config, **changes)
    stand_in = SecretSeed.draw()
    same = build_detectors(_with_seed(changed, stand_in)) == build_detectors(_with_seed(config, stand_in))
    if name in SHARED and same and value != getattr(config, name):
        raise SettingError(name, value, _not_had(config))
    return changed


def check_detectors(config: Config) -> None:
    """Raise SettingError unless the detectors accept their constants. The seed may be one that only a store knows."""
    build_detectors(_with_seed(config, SecretSeed.draw()))


def _with_seed(config: Config, secret: SecretSeed) -> Config:
    """Return ``config`` with ``secret`` if its seed is in a store; other constants do not depend on it."""
    return replace(config, seed=secret) if config.seed == SECRET else config


def _not_had(config: Config) -> str:
    """Describe the accepted constants when no detector in use has a shared one."""
    chosen = constants_of(config)
    own = ", ".join(f"{each}.{constant}" for each in chosen for constant in constants_named(each))
    return f"a constant that {' or '.join(chosen)} has" + (f", and these are {own}" if own else "")


def value_of(config: Config, name: str) -> object:
    """Return the value of a constant; :func:`complaint` must accept its name."""
    detector, dot, constant = name.partition(".")
    if not dot:
        return getattr(config, name)
    built = {each.name: each for each in build_detectors(config)}
    return getattr(built[detector], constant)


def complaint(config: Config, name: str) -> str:
    """Return which names are accepted if ``name`` is none of them, otherwise ""."""
    detector, dot, constant = name.partition(".")
    chosen = constants_of(config)
    if not dot:
        names = ", ".join(GENERAL)
        return "" if name in GENERAL else f"one of {names}, or DETECTOR.CONSTANT as in {_example(config)}"
    if detector not in chosen:
        return f"a constant of a detector in use, and these are {' and '.join(chosen)}"
    names = ", ".join(constants_named(detector))
    return "" if constant in constants_named(detector) else f"{detector} has the constants {names}"


def _example(config: Config) -> str:
    detector = list(constants_of(config))[-1]
    return f"{detector}.{constants_named(detector)[0]}"


def constants_of(config: Config) -> dict[str, dict[str, Any]]:
    """Return the detectors in use, each with the constants that the user set."""
    chosen = config.detectors
    if isinstance(chosen, Mapping):
        return {name: dict(constants or {}) for name, constants in chosen.items()}
    return {name: {} for name in chosen}


def constants_named(detector: str) -> tuple[str, ...]:
    """Return the names of a detector's constants."""
    return tuple(each.name for each in fields(DETECTORS[detector]) if each.init)  # type: ignore[arg-type]


def setting_name(constant: str) -> str:
    """Return the Scrapy setting of a field of :class:`~dedupcrawl.config.Config`.

    >>> setting_name("length_ratio")
    'DEDUP_LENGTH_RATIO'
    """
    return PREFIX + constant.upper()


def settings_lines(config: Config, also: Iterable[str] = ()) -> list[str]:
    """Return a line of ``settings.py`` for each constant that differs from its default.

    Constants named in ``also`` ("name" or "name.detail") get a line in any case.
    """
    asked = {name.partition(".")[0] for name in also}
    return [f"{setting_name(name)} = {_as_python(value)}" for name, value in _changed(config, asked)]


def settings_shown(config: Config) -> dict[str, str]:
    """Return the settings that a report shows: the usual ones, and those that differ from their default."""
    return {setting_name(name): _as_prose(value) for name, value in _changed(config, _USUAL)}


def settings_json(values: Mapping[str, object]) -> dict[str, str]:
    """Return settings as a ledger stores them: each value as JSON."""
    return {setting_name(name): json.dumps(value, ensure_ascii=False) for name, value in values.items()}


def _changed(config: Config, also: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Yield the constants that differ from their defaults, and those in ``also``."""
    default, asked = Config(), frozenset(also)
    for name in CONFIG_FIELDS:
        value = getattr(config, name)
        if name in asked or value != getattr(default, name):
            yield name, value


def _as_python(value: object) -> str:
    if isinstance(value, frozenset):
        return repr(sorted(map(str, value)))
    return repr(list(value) if isinstance(value, tuple) else value).replace("'", '"')


def _as_prose(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_as_prose(of)}".strip() for name, of in value.items())
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)
