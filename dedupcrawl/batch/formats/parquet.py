"""Parquet: a row is a row, and columns are added as columns.

Parquet files as batches of rows.
"""

from __future__ import annotations

from contextlib import contextmanager
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
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    import pyarrow as pa
    import pyarrow.parquet as pq

    from dedupcrawl.batch.formats.base import BadRow, Fields, KeepMask, Part, Row

    Change = Callable[[pa.RecordBatch, int], pa.RecordBatch]
    Write = Callable[[Sequence[pa.RecordBatch]], int]


#: Rows of a batch. What a dictionary packs can be a thousand times as large when it is unpacked.
_MAX_BATCH_ROWS = 512
_BUFFER_BYTES = 1 << 20
_UNIT_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}  # of time stamps, in seconds
#: What Spark has noted of its columns, and reads in place of the schema: it would not see those that are new.
_SPARK_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


class ParquetReader:
    """The rows of a part.

    Raises:
        PartError: the footer cannot be read; later, a page cannot.
        DedupError: pyarrow is not installed.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def groups_before(self, row: int) -> Iterator[int]:
        """Give the row groups that begin before a row."""
        return (group for group in range(self.groups) if self._starts[group] < row)

    def batches(self, group: int, until: int | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Give the rows of a row group, up to one, in batches; and of each the number of its first."""
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

    def written_as(self) -> dict[str, Any]:
        """Return how a writer has to write what the file holds as it stands there."""
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
        """Return the schema with other columns behind its own, or in the place of those of their names."""
        kept = [field for field in self.schema if field.name not in added.names]
        notes = {key: each for key, each in (self.schema.metadata or {}).items() if key != _SPARK_METADATA}
        schema: pa.Schema = import_pyarrow().schema([*kept, *added], metadata=notes)
        return schema


def _codec(name: str) -> str:
    return {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}.get(name, name)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def import_pyarrow() -> Any:
    """Import pyarrow, or raise :class:`~dedupcrawl.errors.DedupError`."""
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
    except ImportError:
        raise DedupError("Parquet files need pyarrow: pip install 'dedupcrawl[batch]'") from None
    return pa


def import_parquet() -> Any:
    """Import pyarrow.parquet, or raise :class:`~dedupcrawl.errors.DedupError`."""
    import_pyarrow()
    import pyarrow.parquet as module  # noqa: PLC0415

    return module


def to_ipc(batch: pa.RecordBatch) -> bytes:
    """Return a batch as bytes."""
    sink = import_pyarrow().BufferOutputStream()
    with import_pyarrow().ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_ipc(data: bytes) -> pa.RecordBatch:
    """Return the batch that was packed."""
    return import_pyarrow().ipc.open_stream(data).read_next_batch()


def without_dictionaries(columns: pa.Table) -> pa.Table:
    """Return columns without dictionaries, which would be others for each batch."""
    module = import_pyarrow()
    fields = [
        module.field(each.name, each.type.value_type if module.types.is_dictionary(each.type) else each.type)
        for each in columns.schema
    ]
    return columns.cast(module.schema(fields))


@contextmanager
def open_writer(
    target: Path, schema: pa.Schema, like: ParquetReader
) -> Iterator[Callable[[Sequence[pa.RecordBatch]], int]]:
    """Open a file that is written like another; what is given writes batches as one row group."""
    with import_parquet().ParquetWriter(target, schema, **like.written_as()) as writer:

        def write(batches: Sequence[pa.RecordBatch]) -> int:
            table = import_pyarrow().Table.from_batches(batches, schema)
            if table.num_rows:
                writer.write_table(table, table.num_rows)
            return int(table.num_rows)

        yield write


def value_getter(columns: Mapping[str, pa.Array], at: int) -> Callable[[str], object]:
    """Return what gives the values of a row by their columns, time stamps in Unix seconds."""

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
    except (ValueError, OverflowError):  # dates that Python does not know
        return None


_GROUP_BYTES = 64 << 20  #: a row group that is larger becomes several


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Rows of a table. A chunk is a batch of those columns that are needed.

    What is written has the schema of the file, its notes (those of pandas, for one), the codec of each column
    and its row groups.
    """

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into batches.

        All columns are read, so that what cannot be copied later is known before a page is judged.
        """
        size = part.path.stat().st_size
        with ParquetReader(part) as table:
            check_columns(part.path, fields, table.schema.names)
            wanted = [name for name in column_names(fields).all if name in table.schema.names]
            for group in range(table.groups):
                for first, batch in table.batches(group):
                    read = size * (first + batch.num_rows) // table.rows
                    yield Chunk(first, batch.num_rows, read, to_ipc(batch.select(wanted)))

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Read the values of a batch."""
        batch, names = from_ipc(chunk.data), column_names(fields)
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for at in range(batch.num_rows):
            yield row_from_columns(chunk.first + at, value_getter(columns, at), names)

    def copy(self, part: Part, target: Path, keep: KeepMask, *, cut: bool = False) -> int:
        """Write the kept rows of each row group."""

        def kept(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
            return batch.filter(import_pyarrow().array(keep[first : first + batch.num_rows]))

        with ParquetReader(part) as table:
            _check_count(part, table, len(keep), cut=cut)
            with open_writer(target, table.schema, table) as writer:
                return _write_groups(table, kept, len(keep), writer)

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write all rows with the columns behind the others."""
        added = without_dictionaries(columns.select(ANNOTATION_COLUMNS))

        def extended(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
            said = added.slice(first, batch.num_rows)
            values = [batch.column(name) for name in schema.names if name not in ANNOTATION_COLUMNS]
            values += [said.column(name).combine_chunks() for name in ANNOTATION_COLUMNS]
            whole = import_pyarrow().RecordBatch.from_arrays(values, schema=schema)
            return whole.filter(whole.column(ANNOTATION_COLUMNS[0]).is_valid())

        with ParquetReader(part) as table:
            schema = table.with_columns(added.schema)
            _check_count(part, table, len(added), cut=cut)
            with open_writer(target, schema, table) as writer:
                return _write_groups(table, extended, len(added), writer)


def _check_count(part: Part, table: ParquetReader, count: int, *, cut: bool) -> None:
    check_complete(part, table.rows, count)
    is_beyond_end(part, table.rows - 1, count, cut=cut)


def _write_groups(table: ParquetReader, change: Change, count: int, write: Write) -> int:
    """Write what becomes of the first ``count`` rows, and return how many that are."""
    written = 0
    for group in table.groups_before(count):
        held: list[pa.RecordBatch] = []
        for first, batch in table.batches(group, until=count):
            held.append(change(batch, first))
            if sum(each.nbytes for each in held) >= _GROUP_BYTES:
                written += write(held)
                held = []
        written += write(held)
    return written
