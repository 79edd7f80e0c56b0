"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from dedupcrawl.config import Config

DetectorNames = Annotated[
    list[str] | None,
    typer.Option(
        "--detector", metavar="NAME", help="Use this detector instead of the default ones; repeatable."
    ),
]


def config_of(detectors: list[str] | None) -> Config:
    """Return the default configuration, with these detectors if any are named."""
    return Config(detectors=tuple(detectors)) if detectors else Config()
