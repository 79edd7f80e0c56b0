"""Parquet: a row is a row, and columns are added as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import COLUMNS, Chunk, check_end, check_more
from dedupcrawl.batch.formats.fields import check_columns, names_of, row_of
from dedupcrawl.batch.formats.tables import Table, getter, packed, plain, pyarrow, unpacked, writer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from dedupcrawl.batch.formats.base import Bad, Fields, Keep, Part, Row

    #: From a batch, and the number of its first row, to what is written in its place.
    Change = Callable[[pa.RecordBatch, int], pa.RecordBatch]
    #: Writes batches as one row group, and returns how many rows they have.
    Write = Callable[[Sequence[pa.RecordBatch]], int]

_GROUP_BYTES = 64 << 20  #: a row group that is larger becomes several


@dataclass(frozen=True, slots=True)
class Parquet:
    """Rows of a table. A chunk is a batch of those columns that are needed.

    What is written has the schema of the file, its notes (those of pandas, for one), the codec of each column
    and its row groups.
    """

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into batches.

        All columns are read, so that what cannot be copied later is known before a page is judged.
        """
        size = part.path.stat().st_size
        with Table(part) as table:
            check_columns(part.path, fields, table.schema.names)
            wanted = [name for name in names_of(fields).all if name in table.schema.names]
            for group in range(table.groups):
                for first, batch in table.batches(group):
                    read = size * (first + batch.num_rows) // table.rows
                    yield Chunk(first, batch.num_rows, read, packed(batch.select(wanted)))

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | Bad]:
        """Read the values of a batch."""
        batch, names = unpacked(chunk.data), names_of(fields)
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for at in range(batch.num_rows):
            yield row_of(chunk.first + at, getter(columns, at), names)

    def copy(self, part: Part, target: Path, keep: Keep, *, cut: bool = False) -> int:
        """Write the kept rows of each row group."""

        def kept(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
            return batch.filter(pyarrow().array(keep[first : first + batch.num_rows]))

        with Table(part) as table:
            _check_count(part, table, len(keep), cut=cut)
            with writer_of(target, table.schema, table) as writer:
                return _write(table, kept, len(keep), writer)

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write all rows with the columns behind the others."""
        added = plain(columns.select(COLUMNS))

        def extended(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
            said = added.slice(first, batch.num_rows)
            values = [batch.column(name) for name in schema.names if name not in COLUMNS]
            values += [said.column(name).combine_chunks() for name in COLUMNS]
            whole = pyarrow().RecordBatch.from_arrays(values, schema=schema)
            return whole.filter(whole.column(COLUMNS[0]).is_valid())

        with Table(part) as table:
            schema = table.with_columns(added.schema)
            _check_count(part, table, len(added), cut=cut)
            with writer_of(target, schema, table) as writer:
                return _write(table, extended, len(added), writer)


def _check_count(part: Part, table: Table, count: int, *, cut: bool) -> None:
    check_end(part, table.rows, count)
    check_more(part, table.rows - 1, count, cut=cut)


def _write(table: Table, change: Change, count: int, write: Write) -> int:
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
