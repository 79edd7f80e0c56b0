"""A configuration as text: settings by the names that a user gives them in ``settings.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedupcrawl.config import CONFIG_FIELDS, Config

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = "DEDUP_"
_USUAL = ("detectors", "threshold", "length_ratio", "min_chars", "reader", "drop", "keep")


def setting_name(constant: str) -> str:
    """Return the Scrapy setting of a field of :class:`~dedupcrawl.config.Config`.

    >>> setting_name("length_ratio")
    'DEDUP_LENGTH_RATIO'
    """
    return PREFIX + constant.upper()


def settings_lines(config: Config, also: Iterable[str] = ()) -> list[str]:
    """Return a line of ``settings.py`` for each constant that differs from its default.

    Args:
        config: the configuration.
        also: constants that get a line even with their default value, as "name" or "name.detail".
    """
    asked = {name.partition(".")[0] for name in also}
    return [f"{setting_name(name)} = {_as_python(value)}" for name, value in _changed(config, asked)]


def settings_shown(config: Config) -> dict[str, str]:
    """Return what a report shows of a configuration: the usual settings, and those that were changed."""
    return {setting_name(name): _as_prose(value) for name, value in _changed(config, _USUAL)}


def settings_json(values: Mapping[str, object]) -> dict[str, str]:
    """Return settings as a ledger stores them: each value as JSON, which can be read again."""
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
