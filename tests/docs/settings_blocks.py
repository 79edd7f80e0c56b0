"""Blocks that contain only settings, validated as in a crawl."""

from __future__ import annotations

import ast
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.settings import Settings

from dedupcrawl import Deduplicator
from dedupcrawl.crawl.settings import Options
from dedupcrawl.stores import is_local
from dedupcrawl.stores.redis.address import read_address

if TYPE_CHECKING:
    from pathlib import Path


def is_settings(code: str) -> bool:
    """Whether the code only assigns to names in capitals."""
    return all(
        isinstance(each, ast.Assign) and all(isinstance(name, ast.Name) and name.id.isupper() for name in each.targets)
        for each in ast.parse(code).body
    )


def validate(code: str, folder: Path) -> None:
    """Validate the settings one after the other; a name that occurs twice shows alternatives.

    Detectors, readers, segmenters and lexicons are created; addresses of servers are only parsed.
    """
    values: dict[str, object] = {"JOBDIR": str(folder / "job")}
    names: dict[str, object] = {"os": os}
    for each in ast.parse(code).body:
        assert isinstance(each, ast.Assign)
        exec(ast.unparse(each), names)
        values |= {name: value for name, value in names.items() if name.isupper()}
        _accept(values)


def _accept(values: dict[str, object]) -> None:
    options = Options.from_settings(Settings(values), "news")
    if not is_local(options.store):
        read_address(options.store)
    Deduplicator("memory://", config=replace(options.config)).close()


def assigned_names(code: str) -> set[str]:
    """Return the names that a block assigns, if it contains only settings."""
    if not is_settings(code):
        return set()
    return {name.id for each in ast.parse(code).body for name in each.targets}  # type: ignore[attr-defined]


def without_names(code: str, names: set[str]) -> str:
    """Remove the lines that assign these names."""
    lines = code.splitlines(keepends=True)
    for each in reversed(ast.parse(code).body):
        if isinstance(each, ast.Assign) and {getattr(name, "id", "") for name in each.targets} & names:
            del lines[each.lineno - 1 : each.end_lineno]
    return "".join(lines)
