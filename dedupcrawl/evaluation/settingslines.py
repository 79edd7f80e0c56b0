"""A configuration as the lines of a ``settings.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.config import CONFIG_FIELDS, Config

if TYPE_CHECKING:
    from collections.abc import Iterable


def settings_lines(config: Config, also: Iterable[str] = ()) -> list[str]:
    """Return a line for each constant that is not the default one, and for those named in ``also``."""
    default, asked = Config(), {name.partition(".")[0] for name in also}
    return [
        f"DEDUP_{name.upper()} = {_written(getattr(config, name))}"
        for name in CONFIG_FIELDS
        if name in asked or getattr(config, name) != getattr(default, name)
    ]


def _written(value: object) -> str:
    if isinstance(value, frozenset):
        return repr(sorted(map(str, value)))
    return repr(list(value) if isinstance(value, tuple) else value).replace("'", '"')
