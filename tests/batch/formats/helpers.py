"""Read, copy and annotate single files in tests."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import zstandard

from dedupcrawl.batch.formats import ANNOTATION_COLUMNS, BadRow, Fields, PartError, find_parts, format_named

if TYPE_CHECKING:
    from dedupcrawl.batch.formats import Part, Row


USUAL = Fields()


def part_of(path: Path) -> Part:
    return find_parts([path])[0]


def pack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)  # the same bytes at any time
    return zstandard.ZstdCompressor(write_checksum=True).compress(data) if suffix == ".zst" else data


def unpack(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    return data


def read(path: Path, fields: Fields = USUAL) -> tuple[list[Row | BadRow], PartError | None]:
    """All rows of a part, as another process sees its chunks, and what the reading ended with."""
    part = part_of(path)
    form = format_named(part.format)
    rows: list[Row | BadRow] = []
    try:
        for chunk in form.chunks(part, fields):
            found = list(form.rows(pickle.loads(pickle.dumps(chunk)), fields))
            assert chunk.first == len(rows)
            assert chunk.count == len(found)
            assert 0 <= chunk.read <= path.stat().st_size
            rows += found
    except PartError as error:
        return rows, error
    return rows, None


def rows_of(path: Path, fields: Fields = USUAL) -> list[Any]:
    rows, error = read(path, fields)
    assert error is None
    assert [row.number for row in rows] == list(range(len(rows)))
    return rows


def copy(path: Path, keep: list[bool], target: Path, *, truncated: bool = False) -> int:
    part = part_of(path)
    return format_named(part.format).copy(part, target, np.array(keep, bool), truncated=truncated)


def annotate(path: Path, statuses: list[str | None], target: Path, *, truncated: bool = False) -> int:
    part = part_of(path)
    return format_named(part.format).annotate(part, target, status_table(statuses), truncated=truncated)


def status_table(statuses: list[str | None]) -> pa.Table:
    """The columns of some rows; a status of None means a bad row."""
    count = len(statuses)
    types = {"dedup_similarity": pa.float64()}
    values: dict[str, list[Any]] = {name: [None] * count for name in ANNOTATION_COLUMNS}
    values["dedup_status"] = list(statuses)
    values["dedup_of"] = [f"https://a.example/{row}" if row % 2 else None for row in range(count)]
    values["dedup_similarity"] = [0.5 if row % 2 else None for row in range(count)]
    columns = {name: pa.array(each, types.get(name, pa.string())) for name, each in values.items()}
    return pa.table(columns)
