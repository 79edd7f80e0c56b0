"""Parquet files: rows are read in Arrow batches; annotations are added as columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dedupcrawl.batch.formats.base import (
    ANNOTATION_COLUMNS,
    CHUNK_BYTES,
    Chunk,
    PartError,
    check_columns,
    check_complete,
    column_names,
    is_beyond_end,
    row_from_columns,
)
from dedupcrawl.utils.optional import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    import pyarrow as pa
    import pyarrow.parquet as pq

    from dedupcrawl.batch.formats.base import BadRow, Fields, KeepMask, Part, Row

    #: Changes a batch, given the number of its first row.
    Change = Callable[[pa.RecordBatch, int], pa.RecordBatch]

_MAX_BATCH_ROWS = 512  #: few, since dictionary-encoded values can grow a thousandfold when decoded
_BUFFER_BYTES = 1 << 20
_GROUP_BYTES = 64 << 20  #: a larger row group is split when it is written
_UNIT_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}  #: units of Arrow timestamps
#: Metadata in which Spark repeats the schema. It would hide added columns from Spark, so it is removed.
_SPARK_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Parquet (:class:`~dedupcrawl.batch.formats.base.Format`). A chunk is a batch of the needed columns.

    Output files keep the schema, the metadata, the codec of each column, and the row groups.
    """

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into batches.

        All columns are read, so that damage that prevents copying is found before pages are judged.
        """
        size = part.path.stat().st_size
        with ParquetReader(part) as reader:
            check_columns(part.path, fields, reader.schema.names)
            wanted = [name for name in column_names(fields).all if name in reader.schema.names]
            for group in range(reader.groups):
                for first, batch in reader.batches(group):
                    read = size * (first + batch.num_rows) // reader.rows
                    yield Chunk(first, batch.num_rows, read, _to_ipc(batch.select(wanted)))

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Read the values of a batch."""
        batch = import_pyarrow().ipc.open_stream(chunk.data).read_next_batch()
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        names = column_names(fields).among(columns)
        for at in range(batch.num_rows):
            yield row_from_columns(chunk.first + at, _value_getter(columns, at), names)

    def copy(self, part: Part, target: Path, keep: KeepMask, *, truncated: bool = False) -> int:
        """Copy the kept rows of each row group."""

        def kept(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
            return batch.filter(import_pyarrow().array(keep[first : first + batch.num_rows]))

        with ParquetReader(part) as reader:
            _check_count(part, reader, len(keep), truncated=truncated)
            return _write_groups(reader, kept, len(keep), target, reader.schema)

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, truncated: bool = False) -> int:
        """Copy all rows with the columns after their own."""
        added = _without_dictionaries(columns.select(ANNOTATION_COLUMNS))

        def annotated(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
            rows = added.slice(first, batch.num_rows)
            values = [batch.column(name) for name in schema.names if name not in ANNOTATION_COLUMNS]
            values += [rows.column(name).combine_chunks() for name in ANNOTATION_COLUMNS]
            whole = import_pyarrow().RecordBatch.from_arrays(values, schema=schema)
            return whole.filter(whole.column(ANNOTATION_COLUMNS[0]).is_valid())

        with ParquetReader(part) as reader:
            schema = reader.with_columns(added.schema)
            _check_count(part, reader, len(added), truncated=truncated)
            return _write_groups(reader, annotated, len(added), target, schema)


def _check_count(part: Part, reader: ParquetReader, count: int, *, truncated: bool) -> None:
    check_complete(part, reader.rows, count)
    is_beyond_end(part, reader.rows - 1, count, truncated=truncated)


def _write_groups(reader: ParquetReader, change: Change, count: int, target: Path, schema: pa.Schema) -> int:
    """Write the first ``count`` rows, changed; return how many rows were written."""
    written = 0
    with import_parquet().ParquetWriter(target, schema, **reader.writer_options()) as writer:

        def write(batches: Sequence[pa.RecordBatch]) -> int:
            table = import_pyarrow().Table.from_batches(batches, schema)
            if table.num_rows:
                writer.write_table(table, table.num_rows)
            return int(table.num_rows)

        for group in reader.groups_before(count):
            pending: list[pa.RecordBatch] = []
            for first, batch in reader.batches(group, until=count):
                pending.append(change(batch, first))
                if sum(each.nbytes for each in pending) >= _GROUP_BYTES:
                    written += write(pending)
                    pending = []
            written += write(pending)
    return written


def _to_ipc(batch: pa.RecordBatch) -> bytes:
    sink = import_pyarrow().BufferOutputStream()
    with import_pyarrow().ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _without_dictionaries(columns: pa.Table) -> pa.Table:
    """Decode dictionary columns: each batch would need the same dictionary."""
    module = import_pyarrow()
    fields = [
        module.field(each.name, each.type.value_type if module.types.is_dictionary(each.type) else each.type)
        for each in columns.schema
    ]
    return columns.cast(module.schema(fields))


def _value_getter(columns: Mapping[str, pa.Array], at: int) -> Callable[[str], object]:
    """Return a function that returns the value of a column in a row; timestamps as Unix seconds."""

    def get(name: str) -> object:
        column = columns.get(name)
        return None if column is None else _value(name, column[at])

    return get


def _value(name: str, scalar: pa.Scalar) -> object:
    unit = getattr(scalar.type, "unit", None)
    if unit in _UNIT_SECONDS and scalar.is_valid and import_pyarrow().types.is_timestamp(scalar.type):
        return scalar.value * _UNIT_SECONDS[unit]
    try:
        return scalar.as_py()
    except UnicodeDecodeError as error:
        raise TypeError(f"column {name!r} is not UTF-8 at its byte {error.start}") from error
    except (ValueError, OverflowError):  # a date out of Python's range
        return None


class ParquetReader:
    """Reads a part in batches.

    Raises PartError if the footer, or later a page, cannot be read, DedupError without pyarrow.
    """

    def __init__(self, part: Part) -> None:
        self._path = str(part.path)
        self._errors = (import_pyarrow().ArrowException, OSError)
        try:
            self._file: pq.ParquetFile = import_parquet().ParquetFile(
                part.path, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
            )
        except self._errors as error:
            raise PartError(self._path, 0, _first_line(error)) from error
        self.rows: int = self._file.metadata.num_rows
        self.schema: pa.Schema = self._file.schema_arrow
        self.groups: int = self._file.num_row_groups
        sizes = (self._file.metadata.row_group(group).num_rows for group in range(self.groups))
        self._starts = [0, *accumulate(sizes)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def groups_before(self, row: int) -> Iterator[int]:
        """Yield the row groups that start before a row."""
        return (group for group in range(self.groups) if self._starts[group] < row)

    def batches(self, group: int, until: int | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the batches of a row group, before row ``until``, each with the number of its first row."""
        first = self._starts[group]
        end = min(self._starts[group + 1], self.rows if until is None else until)
        batches = self._file.iter_batches(self._rows_at_once(group), row_groups=[group], use_threads=False)
        try:
            while first < end:
                batch = next(batches)[: end - first]
                yield first, batch
                first += batch.num_rows
        except self._errors as error:
            raise PartError(self._path, first, _first_line(error)) from error

    def _rows_at_once(self, group: int) -> int:
        found = self._file.metadata.row_group(group)
        fitting: int = CHUNK_BYTES * found.num_rows // max(found.total_byte_size, 1)
        return max(1, min(_MAX_BATCH_ROWS, fitting))

    def writer_options(self) -> dict[str, Any]:
        """Return the options of a writer that writes files like this one."""
        metadata = self._file.metadata
        groups = [metadata.row_group(place) for place in range(min(1, self.groups))]
        leaves = [group.column(place) for group in groups for place in range(group.num_columns)]
        return {
            "compression": {leaf.path_in_schema: _codec(leaf.compression) for leaf in leaves} or "snappy",
            "version": metadata.format_version,
            "use_compliant_nested_type": not any(".list.item" in leaf.path_in_schema for leaf in leaves),
            "store_schema": b"ARROW:schema" in (metadata.metadata or {}),
            "use_deprecated_int96_timestamps": any(leaf.physical_type == "INT96" for leaf in leaves),
            "sorting_columns": [each for group in groups for each in group.sorting_columns] or None,
        }

    def with_columns(self, added: pa.Schema) -> pa.Schema:
        """Return the schema with columns added after its own; those of the same names are replaced."""
        kept = [field for field in self.schema if field.name not in added.names]
        metadata = {key: each for key, each in (self.schema.metadata or {}).items() if key != _SPARK_METADATA}
        schema: pa.Schema = import_pyarrow().schema([*kept, *added], metadata=metadata)
        return schema


def _codec(name: str) -> str:
    return {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}.get(name, name)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def import_pyarrow() -> Any:
    """Import pyarrow, or raise MissingPackageError."""
    return import_extra("pyarrow", "A Parquet file", "batch")


def import_parquet() -> Any:
    """Import pyarrow.parquet, or raise MissingPackageError."""
    return import_extra("pyarrow.parquet", "A Parquet file", "batch")
