"""Input files of a corpus: how they are found, read, and written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import (
    ANNOTATION_COLUMNS,
    BadRow,
    Chunk,
    Fields,
    Format,
    Part,
    PartError,
    Row,
)
from dedupcrawl.batch.formats.files import find_parts

if TYPE_CHECKING:
    from collections.abc import Callable

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


def format_named(name: str) -> Format:
    """Return the format ``jsonlines``, ``warc`` or ``parquet``; imports its optional packages."""
    makers: dict[str, Callable[[], Format]] = {"jsonlines": _jsonlines, "warc": _warc, "parquet": _parquet}
    return makers[name]()


def _jsonlines() -> Format:
    from dedupcrawl.batch.formats.jsonlines import JsonLinesFormat  # noqa: PLC0415

    return JsonLinesFormat()


def _warc() -> Format:
    from dedupcrawl.batch.formats.warc import WarcFormat  # noqa: PLC0415

    return WarcFormat()


def _parquet() -> Format:
    from dedupcrawl.batch.formats.parquet import ParquetFormat  # noqa: PLC0415

    return ParquetFormat()
