"""Options that several commands share.

The Scrapy project that the working directory is in, as a source of the configuration.
"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import typer

from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError

DetectorNames = Annotated[
    list[str] | None,
    typer.Option(
        "--detector", metavar="NAME", help="Use this detector instead of the default ones; repeatable."
    ),
]
OfProject = Annotated[
    bool,
    typer.Option("--project", help="Take DEDUP_* of the Scrapy project around as the configuration."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a constant: threshold=0.7, or minhash.slots=256 of one detector; repeatable.",
    ),
]


def config_of(detectors: list[str] | None) -> Config:
    """Return the default configuration, with these detectors if any are named."""
    return Config(detectors=tuple(detectors)) if detectors else Config()


def assignments_of(texts: list[str] | None) -> dict[str, Any]:
    """Read ``NAME=VALUE``; a value is JSON where it can be read so, and a text where not.

    Raises :class:`~dedupcrawl.errors.SettingError` for a text that assigns nothing, and a name given twice.
    """
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name = name.strip()
        if not name or not equals:
            raise SettingError("--set", text, "NAME=VALUE, e.g. threshold=0.7 or minhash.slots=256")
        if name in found:
            raise SettingError("--set", text, f"{name} once")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> object:
    constant = {"True": True, "False": False, "None": None}
    if text in constant:
        return constant[text]
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def project_here() -> tuple[Config, str | None]:
    """Return the configuration of the project, and the namespace that it names.

    Raises :class:`~dedupcrawl.errors.SettingError` where there is none, or a setting of it is not accepted.
    """
    from scrapy.utils.project import get_project_settings, inside_project  # noqa: PLC0415  # takes half a second

    from dedupcrawl.crawl.settings import config_in, namespace_in  # noqa: PLC0415

    if not inside_project():
        raise SettingError("--project", True, "a working directory with a scrapy.cfg, in it or above it")
    settings = get_project_settings()
    return config_in(settings), namespace_in(settings)
