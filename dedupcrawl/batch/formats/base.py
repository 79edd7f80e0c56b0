"""The contract of a file format: how the rows of a corpus are read, and written again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    Keep = np.ndarray[tuple[int], np.dtype[np.bool_]]

#: What ``annotate`` adds to each row, in this order.
COLUMNS = (
    "dedup_status", "dedup_relation", "dedup_of", "dedup_similarity", "dedup_cluster", "dedup_detector",
)  # fmt: skip

CHUNK_BYTES = 1 << 20  #: a chunk is about so large; one row that is larger is a chunk of its own
MOST_BYTES = 64 << 20  #: of a line or a record; a longer one is a bad row, and is never held in memory


class PartError(DedupError):
    """The rest of a part cannot be read; all rows before ``row`` are intact.

    Args:
        part: the file.
        row: the number of the first row that cannot be read.
        why: what is wrong, in words.
    """

    def __init__(self, part: str, row: int, why: str) -> None:
        super().__init__(part, row, why)
        self.part = part
        self.row = row
        self.why = why

    def __str__(self) -> str:
        return f"{self.part}: cannot be read{f' from row {self.row} on' if self.row else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the corpus."""

    number: int  #: its place in the order of arrival
    path: Path
    name: str  #: of its output: a relative path with slashes, another one for each part
    format: str  #: key of :func:`~dedupcrawl.batch.formats.format_named`


@dataclass(frozen=True, slots=True)
class Fields:
    """In which columns the pages are; "" looks for the usual names.

    Where ``html`` or ``text`` is named, the other is not looked for. HTML counts before text.
    """

    url: str = ""
    html: str = ""
    text: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows that follow each other, not parsed yet: cheap to make and to send to another process."""

    first: int  #: number of the first row
    count: int  #: rows, bad ones included
    read: int  #: bytes of the file that lie before the end of the chunk, as near as the format can tell
    data: Any  #: known to the format alone; it can be pickled


def in_chunks(rows: Iterable[tuple[object, int]], read: Callable[[], int]) -> Iterator[Chunk]:
    """Yield rows in chunks of about :data:`CHUNK_BYTES`.

    Args:
        rows: each with its size in bytes.
        read: returns how many bytes of the file have been read so far.

    Raises :class:`PartError`, after a chunk of the rows before it, where the rows cannot be read on.
    """
    held: list[object] = []
    first = size = 0
    try:
        for row, length in rows:
            held.append(row)
            size += length
            if size >= CHUNK_BYTES:
                yield Chunk(first, len(held), read(), tuple(held))
                first, held, size = first + len(held), [], 0
    except PartError:
        if held:
            yield Chunk(first, len(held), read(), tuple(held))
        raise
    if held:
        yield Chunk(first, len(held), read(), tuple(held))


@dataclass(frozen=True, slots=True)
class Row:
    """A page of the corpus.

    Where ``reason`` is None exactly one of ``html`` and ``text`` is given, which may be empty. A row with a
    ``reason`` is to stay unchecked(reason), whatever it holds: what is no page, or no whole one.
    """

    number: int  #: in its part, from 0
    url: str
    html: bytes | str | None
    text: str | None
    time: float | None  #: Unix time in seconds
    size: int  #: bytes of the page
    content_type: str = ""  #: the HTTP header, which may name the encoding of ``html``
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that is damaged; those after it can be read."""

    number: int
    why: str


class Format(Protocol):
    """Reads and writes the files of one kind. Rows have the same numbers in all four methods.

    Every method raises :class:`PartError` where the rest of a file cannot be read, and
    :class:`~dedupcrawl.errors.DedupError` where an optional package is missing. None holds more than a few
    chunks of the file in memory.
    """

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into chunks.

        Raises :class:`~dedupcrawl.errors.DedupError` if a column that is named, or any page, is not there.
        """
        ...

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | Bad]:
        """Parse a chunk: one ``Row`` or ``Bad`` for each number from ``first`` on."""
        ...

    def copy(self, part: Part, target: Path, keep: Keep, *, cut: bool = False) -> int:
        """Write those rows to ``target`` whose place in ``keep`` is True, and return how many.

        Args:
            part: what is copied, packed like it.
            target: a path that is written at once; what is there after an error is not whole.
            keep: for each row of the part. Bad rows must be False.
            cut: end after the rows of ``keep``, for the rest cannot be read. Otherwise a file with more rows
                raises :class:`PartError`, as does one with fewer: it is not the one that was judged.
        """
        ...

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write all rows with :data:`COLUMNS`, which replace any of these names; return how many.

        ``columns`` has a row for each row of the part. One whose ``dedup_status`` is null, a bad row, is left
        out. The rest is as in ``copy``.
        """
        ...


def check_end(part: Part, seen: int, expected: int) -> None:
    """Raise :class:`PartError` if a file has ended before all rows that were expected."""
    if seen < expected:
        raise PartError(str(part.path), seen, f"the file has changed: it had {expected} rows")


def check_more(part: Part, number: int, expected: int, *, cut: bool) -> bool:
    """Whether a row is one too many, behind a cut. Raises :class:`PartError` where there is no cut."""
    if number >= expected and not cut:
        raise PartError(str(part.path), number, f"the file has changed: it had {expected} rows")
    return number >= expected


def values_of(columns: pa.Table) -> Iterator[dict[str, Any]]:
    """Give :data:`COLUMNS` row by row."""
    for batch in columns.select(COLUMNS).to_batches(max_chunksize=1024):
        yield from batch.to_pylist()
