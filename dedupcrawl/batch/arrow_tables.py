"""Deduplicate the pages of an Arrow table, or of any object that exports one, without Spark."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dedupcrawl.batch.formats.base import ANNOTATION_COLUMNS, Fields, column_names, missing_column
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.runner import run
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.utils.redaction import SECRET

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = "dedup_number"  #: the column that numbers the rows
_FILE = "pages.parquet"
_ROWS_PER_GROUP = 4096  #: of the temporary file: a group is read into memory as a whole
ACCEPTED = "a pyarrow table, or an object with __arrow_c_stream__ (polars, pandas, datasets, duckdb), or one of Spark"


def deduplicate_table(
    data: object,
    *,
    config: Config | None = None,
    order_by: str | Sequence[str] | None = None,
    url: str = "",
    html: str = "",
    text: str = "",
    annotate: bool = False,
    drop_clusters: bool = False,
    workers: int = 1,
) -> Any:
    """Remove near-duplicate pages from a table, or annotate all rows with their verdicts.

    The verdicts are those of ``dedupcrawl batch`` on a file with these rows. The columns that are read are written to a
    temporary file.

    Args:
        data: one page in each row: a pyarrow ``Table``, ``RecordBatch`` or ``RecordBatchReader``, or an object that
            exports Arrow by ``__arrow_c_stream__``, or is a ``datasets.Dataset``.
        config: detectors and policy; default: ``Config()``.
        order_by: columns that give the order of arrival, ascending; default: the order of the rows, which also breaks
            ties.
        url: column with the URL; "": look for the usual names, as with ``html`` and ``text``.
        html: column with the HTML.
        text: column with the main text.
        annotate: return all rows, with the columns ``dedup_*``, instead of the kept rows. Columns of these names are
            replaced.
        drop_clusters: drop all copies of a page, also the one that would be kept.
        workers: number of processes; 0: one for each core. More than one are started by ``multiprocessing``, so a
            script needs ``if __name__ == "__main__":``.

    Returns:
        The rows in their order: a polars or pandas ``DataFrame``, a ``datasets.Dataset`` or a duckdb relation for
        objects of these types, else a pyarrow ``Table``.

    Raises:
        SettingError: a named column is missing, no column holds pages, or the seed is "secret", which only a store
            keeps.
        DedupError: a row cannot be read.
        TypeError: ``data`` exports no Arrow table.
    """
    if config is not None and config.seed == SECRET:
        raise SettingError("seed", SECRET, "a whole number: a table has no store that keeps a secret")
    table = _table_of(data)
    fields = Fields(url=url, html=html, text=text)
    error = missing_column(fields, table.column_names)
    if error:
        accepted = f"a table with the columns that hold the pages; {error}"
        raise SettingError("data", table.column_names, accepted)
    order = _order(table, order_by)
    with tempfile.TemporaryDirectory(prefix="dedupcrawl-") as folder:
        job = Job(
            (str(Path(folder, _FILE)),),
            Path(folder, "out"),
            config or Config(),
            fields,
            annotate=annotate,
            drop_clusters=drop_clusters,
            workers=workers,
        )
        _write_pages(table, fields, order, Path(job.inputs[0]))
        run(job)
        found = pq.read_table(job.out / _FILE).sort_by(_NUMBER)
    return _annotated(data, table, found.select(ANNOTATION_COLUMNS)) if annotate else _kept(data, table, found[_NUMBER])


def _table_of(data: object) -> pa.Table:
    """Return an object as a table; raise TypeError if it exports none."""
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data
    if _package(data) == "datasets":
        # A data set in memory or on disk; its rows may be selected or shuffled by indices.
        return _table_of(data.with_format("arrow")[:])  # type: ignore[attr-defined]
    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"deduplicate takes {ACCEPTED}, not {type(data).__name__}")
    table = pa.table(data)
    return table.cast(pa.schema([_selectable(field) for field in table.schema], table.schema.metadata))


def _selectable(field: pa.Field) -> pa.Field:
    """Return a field of a type whose rows pyarrow can select: polars exports views, of which it cannot."""
    selectable = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return field.with_type(selectable.get(field.type, field.type))


def _order(table: pa.Table, order_by: str | Sequence[str] | None) -> pa.Array | None:
    """Return the numbers of the rows in their order of arrival; None: as they are."""
    names = [order_by] if isinstance(order_by, str) else [*(order_by or ())]
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise SettingError("order_by", missing[0], f"one of the columns {', '.join(table.column_names)}")
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]) if names else None


def _write_pages(table: pa.Table, fields: Fields, order: pa.Array | None, path: Path) -> None:
    """Write the columns that are read, and the numbers of the rows, in the order of arrival."""
    wanted = column_names(fields).all
    pages = table.select([name for name in table.column_names if name in wanted])
    pages = pages.append_column(_NUMBER, pa.array(range(table.num_rows), pa.int64()))
    pq.write_table(pages if order is None else pages.take(order), path, row_group_size=_ROWS_PER_GROUP)


def _package(data: object) -> str:
    return type(data).__module__.partition(".")[0]


def _kept(data: Any, table: pa.Table, numbers: pa.ChunkedArray) -> Any:
    """Return these rows, as the type of ``data``."""
    match _package(data):
        case "polars":
            return data[numbers.to_numpy()]
        case "pandas":
            return data.iloc[numbers.to_numpy()]
        case "datasets":
            return data.select(numbers.to_numpy())
    return _like(data, table.take(numbers))


def _annotated(data: Any, table: pa.Table, verdicts: pa.Table) -> Any:
    """Return all rows with the columns of their verdicts at their end, as the type of ``data``."""
    if _package(data) == "pandas":
        added = verdicts.to_pandas().set_index(data.index)
        return data.drop(columns=[name for name in verdicts.column_names if name in data]).join(added)
    own = table.select([name for name in table.column_names if name not in verdicts.column_names])
    return _like(data, pa.table([*own.columns, *verdicts.columns], schema=pa.schema([*own.schema, *verdicts.schema])))


def _like(data: Any, table: pa.Table) -> Any:
    """Return a table as the type of ``data``."""
    match _package(data):
        case "polars":
            import polars as pl  # noqa: PLC0415  # it is there: the caller has it

            return pl.from_arrow(table)
        case "datasets":
            return type(data)(table)
        case "duckdb" | "_duckdb":
            import duckdb  # noqa: PLC0415  # the same

            return duckdb.from_arrow(table)
    return table
