"""Step 1, in whatever process it is done: a chunk of a corpus in, its fingerprints out."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from dedupcrawl.batch.formats import Bad, PartError, format_named
from dedupcrawl.batch.schema import Filing, schema
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.filing import without_fragment
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from dedupcrawl.batch.formats import Chunk, Row
    from dedupcrawl.batch.job import Job


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
        end, broken = chunk.first + chunk.count, None
        try:
            for row in format_named(format).rows(chunk, self._fields):
                if isinstance(row, Bad):
                    bad.append(row)
                else:
                    self.add(filing, row)
        except PartError as error:
            end, broken = error.row, (error.row, error.why)
        rows, data = len(filing), filing.batch().serialize().to_pybytes()
        return Filed(end, chunk.read, rows, data, self._sketches, tuple(bad), broken)

    def add(self, filing: Filing, row: Row) -> None:
        """Fingerprint a row."""
        found, length = (row.reason, 0) if row.reason is not None else self._judged(row)
        if isinstance(found, Record):
            filing.add(row.number, found, time=row.time, length=length, size=row.size)
        else:
            url = without_fragment(row.url)
            filing.add_unfit(row.number, url, found, time=row.time, length=length, size=row.size)

    def _judged(self, row: Row) -> tuple[Record | str, int]:
        """Return the record of a page, or why there is none, and how long its main text is."""
        page = self._dedup.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
        if not isinstance(page, Page):
            return page.reason or "error", 0
        record = self._dedup.file(page)
        return record if isinstance(record, Record) else record.reason or "error", len(page.text)


def file_chunk(job: bytes, format: str, chunk: Chunk) -> Filed:
    """Fingerprint a chunk for a pickled job."""
    return _clerk(job).file(format, chunk)


@lru_cache(1)
def _clerk(job: bytes) -> Clerk:
    return Clerk(pickle.loads(job))  # noqa: S301  # made by the process that started this one
