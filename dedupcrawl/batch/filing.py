"""Step 1, in whatever process it is done: a chunk of a corpus in, its fingerprints out."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from dedupcrawl.batch.formats import Bad, PartError, format_named
from dedupcrawl.batch.schema import Filing, schema
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.filing import without_fragment
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.batch.formats import Chunk, Row
    from dedupcrawl.batch.job import Job

_HELD = 1 << 20  #: characters of pages that are read before they are fingerprinted together


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of a chunk. It travels between processes."""

    end: int  #: number behind the last row that was read
    read: int  #: bytes of the file before the end of the chunk
    rows: int  #: with a fingerprint or a reason
    data: bytes  #: a batch of them, as Arrow sends it
    sketches: int
    bad: tuple[Bad, ...] = ()
    broken: tuple[int, str] | None = None  #: first row of a rest that cannot be read, and why

    def batch(self) -> pa.RecordBatch:
        """Return the fingerprints."""
        return pa.ipc.read_record_batch(pa.py_buffer(self.data), schema(self.sketches))


class Clerk:
    """Fingerprints rows; made once in each process."""

    def __init__(self, job: Job) -> None:
        self._fields = job.fields
        self._sketches = job.sketches
        self._dedup = Deduplicator(config=job.config)

    def file(self, format: str, chunk: Chunk) -> Filed:
        """Read and fingerprint a chunk; what cannot be read is told, not raised."""
        filing, bad = Filing(self._sketches), []
        end = chunk.first + chunk.count
        broken: tuple[int, str] | None = None

        def fine() -> Iterator[Row]:
            nonlocal end, broken
            try:
                for row in format_named(format).rows(chunk, self._fields):
                    if isinstance(row, Bad):
                        bad.append(row)
                    else:
                        yield row
            except PartError as error:
                end, broken = error.row, (error.row, error.why)

        self.add(filing, fine())
        rows, data = len(filing), filing.batch().serialize().to_pybytes()
        return Filed(end, chunk.read, rows, data, self._sketches, tuple(bad), broken)

    def add(self, filing: Filing, rows: Iterable[Row]) -> None:
        """Fingerprint rows."""
        held: list[_Read] = []
        size = 0
        for row in rows:
            held.append(self._read(row))
            size += held[-1].length
            if size > _HELD:
                self._file(filing, held)
                held, size = [], 0
        self._file(filing, held)

    def _read(self, row: Row) -> _Read:
        """Read the page of a row, or say why there is none."""
        told = (row.number, row.url, row.time, row.size)
        if row.reason is not None:
            return _Read(*told, row.reason)
        page = self._dedup.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
        return _Read(*told, page if isinstance(page, Page) else page.reason or "error")

    def _file(self, filing: Filing, held: Sequence[_Read]) -> None:
        records = iter(self._dedup.file_many([each.found for each in held if isinstance(each.found, Page)]))
        for each in held:
            record = next(records) if isinstance(each.found, Page) else each.found
            about: dict[str, Any] = {"time": each.time, "length": each.length, "size": each.size}
            if isinstance(record, Record):
                filing.add(each.number, record, **about)
            else:
                why = record if isinstance(record, str) else record.reason or "error"
                filing.add_unfit(each.number, without_fragment(each.url), why, **about)


class _Read(NamedTuple):
    """A row whose page was read, if it could be."""

    number: int
    url: str
    time: float | None
    size: int
    found: Page | str  #: why there is none

    @property
    def length(self) -> int:
        """How long the main text is."""
        return len(self.found.text) if isinstance(self.found, Page) else 0


def file_chunk(job: bytes, format: str, chunk: Chunk) -> Filed:
    """Fingerprint a chunk for a pickled job."""
    return _clerk(job).file(format, chunk)


@lru_cache(1)
def _clerk(job: bytes) -> Clerk:
    return Clerk(pickle.loads(job))  # noqa: S301  # made by the process that started this one
