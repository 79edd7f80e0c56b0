"""Step 1, in whatever process it is done: a chunk of a corpus in, its fingerprints out.

The fingerprints of a part, written as they come.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pyarrow as pa

from dedupcrawl.batch.fingerprint_table import FingerprintTableBuilder, fill_probes, fingerprint_schema
from dedupcrawl.batch.formats import BadRow, PartError, format_named
from dedupcrawl.batch.workdir import PartState, write_state
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import Record
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.batch.formats import Chunk, Part, Row
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.workdir import Workdir


_CHARS_PER_BATCH = 1 << 20  #: characters of pages that are read before they are fingerprinted together


@dataclass(frozen=True, slots=True)
class FingerprintedChunk:
    """What became of a chunk. It travels between processes."""

    end: int  #: number behind the last row that was read
    read: int  #: bytes of the file before the end of the chunk
    rows: int  #: with a fingerprint or a reason
    data: bytes  #: a batch of them, as Arrow sends it
    sketches: int
    bad: tuple[BadRow, ...] = ()
    broken: tuple[int, str] | None = None  #: first row of a rest that cannot be read, and why

    def batch(self) -> pa.RecordBatch:
        """Return the fingerprints."""
        return pa.ipc.read_record_batch(pa.py_buffer(self.data), fingerprint_schema(self.sketches))


class RowFingerprinter:
    """Fingerprints rows; made once in each process."""

    def __init__(self, job: Job) -> None:
        self._fields = job.fields
        self._sketches = job.sketches
        self._dedup = Deduplicator(config=job.config)

    def file(self, format: str, chunk: Chunk) -> FingerprintedChunk:
        """Read and fingerprint a chunk; what cannot be read is told, not raised."""
        filing, bad = FingerprintTableBuilder(self._sketches), []
        end = chunk.first + chunk.count
        broken: tuple[int, str] | None = None

        def fine() -> Iterator[Row]:
            nonlocal end, broken
            try:
                for row in format_named(format).rows(chunk, self._fields):
                    if isinstance(row, BadRow):
                        bad.append(row)
                    else:
                        yield row
            except PartError as error:
                end, broken = error.row, (error.row, error.why)

        self.add(filing, fine())
        rows, data = len(filing), filing.batch().serialize().to_pybytes()
        return FingerprintedChunk(end, chunk.read, rows, data, self._sketches, tuple(bad), broken)

    def add(self, filing: FingerprintTableBuilder, rows: Iterable[Row]) -> None:
        """Fingerprint rows."""
        held: list[_RowToFingerprint] = []
        size = 0
        for row in rows:
            held.append(self._read(row))
            size += held[-1].length
            if size > _CHARS_PER_BATCH:
                self._file(filing, held)
                held, size = [], 0
        self._file(filing, held)

    def _read(self, row: Row) -> _RowToFingerprint:
        """Read the page of a row, or say why there is none."""
        told = (row.number, row.url, row.time, row.size)
        if row.reason is not None:
            return _RowToFingerprint(*told, row.reason)
        page = self._dedup.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
        return _RowToFingerprint(*told, page if isinstance(page, Page) else page.reason or "error")

    def _file(self, filing: FingerprintTableBuilder, held: Sequence[_RowToFingerprint]) -> None:
        records = iter(self._dedup.file_many([each.found for each in held if isinstance(each.found, Page)]))
        for each in held:
            record = next(records) if isinstance(each.found, Page) else each.found
            about: dict[str, Any] = {"time": each.time, "length": each.length, "size": each.size}
            if isinstance(record, Record):
                filing.add(each.number, record, **about)
            else:
                why = record if isinstance(record, str) else record.reason or "error"
                filing.add_unfit(each.number, without_fragment(each.url), why, **about)


class _RowToFingerprint(NamedTuple):
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


def fingerprint_chunk(job: bytes, format: str, chunk: Chunk) -> FingerprintedChunk:
    """Fingerprint a chunk for a pickled job."""
    return _fingerprinter(job).file(format, chunk)


@lru_cache(1)
def _fingerprinter(job: bytes) -> RowFingerprinter:
    return RowFingerprinter(pickle.loads(job))  # noqa: S301  # made by the process that started this one


ROWS_PER_BATCH = 4096  #: rows that are written together, about
MAX_LISTED_BAD_ROWS = 1000  #: bad rows of a part that are listed; all are counted
SKIP_HINT = "--skip-bad leaves out what cannot be read, and lists it"


def fingerprint_part(job: Job, work: Workdir, part: Part) -> PartState:
    """Fingerprint a part from its beginning to its end, in this process."""
    return write_fingerprints(job, work, part, _fingerprint_chunks(job, part))


def _fingerprint_chunks(job: Job, part: Part) -> Iterator[FingerprintedChunk]:
    clerk = RowFingerprinter(job)
    for chunk in format_named(part.format).chunks(part, job.fields):
        yield clerk.file(part.format, chunk)


def write_fingerprints(
    job: Job, work: Workdir, part: Part, pieces: Iterable[FingerprintedChunk]
) -> PartState:
    """Write the fingerprints of a part, and then what they were made of.

    Raises :class:`~dedupcrawl.errors.DedupError` when they cannot be written, when the file changes
    meanwhile, and for what cannot be read, unless the job skips that.
    """
    made = _current_state(job, part)
    with atomic_output(work.prints(part.name)) as path:
        made = _write_chunks(job, part, path, pieces, made)
        if made.broken is None and not _current_state(job, part).fits(made):
            raise DedupError(f"{part.path}: the file was changed while it was read")
    write_state(work.made(part.name), made)
    return made


def check_readable(part: Part, made: PartState) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if something of a part could not be read."""
    if made.bad_rows:
        number, why = made.bad_rows[0]
        raise DedupError(f"{part.path}, row {number}: {why} ({SKIP_HINT})")
    if made.broken:
        number, why = made.broken
        raise DedupError(f"{PartError(str(part.path), number, why)} ({SKIP_HINT})")


def _current_state(job: Job, part: Part) -> PartState:
    try:
        return PartState.of(part.path, job.making)
    except OSError as error:
        raise DedupError(f"{part.path}: cannot be read: {error.strerror}") from error


def _write_chunks(
    job: Job, part: Part, path: Path, pieces: Iterable[FingerprintedChunk], made: PartState
) -> PartState:
    try:
        with _ArrowWriter(path, job.sketches) as out:
            for filed in _raise_at_break(part, pieces):
                out.add(filed.batch())
                made = _with_bad_rows(made, filed)
                if not job.skip_bad:
                    check_readable(part, made)
    except PartError as error:
        made = replace(made, rows=error.row, broken=[error.row, error.why])
    if not job.skip_bad:
        check_readable(part, made)
    return made


def _raise_at_break(part: Part, pieces: Iterable[FingerprintedChunk]) -> Iterator[FingerprintedChunk]:
    """Raise, behind what was read before it, what a worker was told of the rest."""
    for filed in pieces:
        yield filed
        if filed.broken:
            raise PartError(str(part.path), *filed.broken)


def _with_bad_rows(made: PartState, filed: FingerprintedChunk) -> PartState:
    more: list[list[Any]] = [
        [bad.number, bad.why] for bad in filed.bad[: MAX_LISTED_BAD_ROWS - len(made.bad_rows)]
    ]
    return replace(
        made,
        rows=filed.end,
        bad=made.bad + len(filed.bad),
        bad_rows=[*made.bad_rows, *more] if more else made.bad_rows,
    )


class _ArrowWriter:
    """An Arrow file; small batches are joined, so that a corpus of many rows has few of them."""

    def __init__(self, path: Path, sketches: int) -> None:
        self._schema = fingerprint_schema(sketches)
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, self._schema)
        self._held: list[pa.RecordBatch] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None or issubclass(kind, PartError):
                self._flush()
                self._writer.close()
        finally:
            self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        self._held.append(batch)
        if sum(each.num_rows for each in self._held) >= ROWS_PER_BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            for batch in pa.Table.from_batches(self._held).combine_chunks().to_batches():
                self._writer.write_batch(fill_probes(batch))
            self._held = []
