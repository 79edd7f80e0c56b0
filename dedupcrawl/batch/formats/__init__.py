"""Input files of a corpus: how they are found, read, and written again."""

from __future__ import annotations

from importlib import import_module

from dedupcrawl.batch.formats.base import ANNOTATION_COLUMNS, BadRow, Chunk, Fields, Format, Part, PartError, Row
from dedupcrawl.batch.formats.files import find_parts

__all__ = [
    "ANNOTATION_COLUMNS",
    "BadRow",
    "Chunk",
    "Fields",
    "Format",
    "Part",
    "PartError",
    "Row",
    "find_parts",
    "format_named",
]


_CLASSES = {"jsonlines": "JsonLinesFormat", "parquet": "ParquetFormat", "warc": "WarcFormat"}


def format_named(name: str) -> Format:
    """Return the format ``jsonlines``, ``parquet`` or ``warc``; imports its optional packages."""
    found: Format = getattr(import_module(f"dedupcrawl.batch.formats.{name}"), _CLASSES[name])()
    return found
