"""Step 1 of a batch: fingerprint the rows of a part and write them to an Arrow file.

Chunks are fingerprinted in worker processes (:func:`fingerprint_chunk`); one process writes the results.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pyarrow as pa

from dedupcrawl.batch.columns import FingerprintTableBuilder, RowValues, fill_probes, fingerprint_schema
from dedupcrawl.batch.formats import BadRow, PartError, format_named
from dedupcrawl.batch.formats.base import textless_reason
from dedupcrawl.batch.repeated_text import TEXT_SCHEMA, TextTableBuilder
from dedupcrawl.batch.workdir import PartState, Workdir, write_state
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import Record
from dedupcrawl.text.positions import outline
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.batch.formats import Chunk, Part, Row
    from dedupcrawl.batch.job import Job

ROWS_PER_BATCH = 4096  #: rows of a record batch that is written, at least; small batches are joined
MAX_LISTED_ROWS = 1000  #: bad rows of a part that are listed, and rows without text; all are counted
SKIP_HINT = "--skip-bad leaves out what cannot be read, and lists it"
_CHARS_PER_BATCH = 1 << 20  #: characters of main text that are fingerprinted together


@dataclass(frozen=True, slots=True)
class FingerprintedChunk:
    """The fingerprints of a chunk. It is pickled between processes."""

    end: int  #: number after the last row that was read
    read: int  #: bytes of the file before the end of the chunk
    rows: int  #: rows in ``data``
    data: bytes  #: a serialized record batch
    sketches: int  #: sketches of each record
    texts: bytes = b""  #: a serialized record batch of the texts; b"" without site memory
    bad: tuple[BadRow, ...] = ()
    textless: tuple[BadRow, ...] = ()  #: rows whose columns of HTML and text are empty; they are in ``data`` too
    broken: tuple[int, str] | None = None  #: first row that cannot be read, and why; the rows after it are not read

    def batch(self) -> pa.RecordBatch:
        """Return the fingerprints."""
        return pa.ipc.read_record_batch(pa.py_buffer(self.data), fingerprint_schema(self.sketches))


class RowFingerprinter:
    """Fingerprints rows; created once in each process."""

    def __init__(self, job: Job) -> None:
        self._fields = job.columns
        self._why_textless = textless_reason(job.columns)
        self._annotates = job.annotate
        self._sketches = job.sketches
        self._has_memory = job.config.site_memory
        self._dedup = Deduplicator(config=job.config, site_memory=False)  # all text, see repeated_text.py

    def fingerprint(self, format: str, chunk: Chunk) -> FingerprintedChunk:
        """Parse and fingerprint a chunk; unreadable rows are returned, not raised."""
        builder, texts = FingerprintTableBuilder(self._sketches), TextTableBuilder()
        bad: list[BadRow] = []
        textless: list[BadRow] = []
        end = chunk.first + chunk.count
        broken: tuple[int, str] | None = None

        def readable() -> Iterator[Row]:
            nonlocal end, broken
            try:
                for row in format_named(format).rows(chunk, self._fields):
                    if isinstance(row, BadRow):
                        bad.append(row)
                        continue
                    if row.is_textless:
                        textless.append(BadRow(row.number, self._why_textless))
                    yield row
            except PartError as error:
                end, broken = error.row, (error.row, error.why)

        self.add(builder, readable(), texts)
        rows, data = len(builder), builder.batch().serialize().to_pybytes()
        read = texts.batch().serialize().to_pybytes() if self._has_memory else b""
        errors = (tuple(bad), tuple(textless), broken)
        return FingerprintedChunk(end, chunk.read, rows, data, self._sketches, read, *errors)

    def add(self, builder: FingerprintTableBuilder, rows: Iterable[Row], texts: TextTableBuilder) -> None:
        """Fingerprint rows, and add them and, with site memory, their texts to tables."""
        pending: list[_ParsedRow] = []
        size = 0
        for row in rows:
            pending.append(self._parse(row))
            size += pending[-1].length
            if size > _CHARS_PER_BATCH:
                self._add_all(builder, pending, texts)
                pending, size = [], 0
        self._add_all(builder, pending, texts)

    def _parse(self, row: Row) -> _ParsedRow:
        if row.reason is not None:
            return _ParsedRow(row, row.reason)
        page = self._dedup.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
        bare = row._replace(html=None, text=None)  # saves memory
        return _ParsedRow(bare, page if isinstance(page, Page) else page.reason or "error")

    def _facts(self, row: Row, page: Page | str) -> RowValues:
        text = page.text if isinstance(page, Page) else ""
        outlined = outline(text) if self._annotates and text else None
        return RowValues(row.time, len(text), row.size, row.score, row.capture or None, outlined)

    def _add_all(self, builder: FingerprintTableBuilder, rows: Sequence[_ParsedRow], texts: TextTableBuilder) -> None:
        records = iter(self._dedup.fingerprint_many([each.page for each in rows if isinstance(each.page, Page)]))
        for each in rows:
            record = next(records) if isinstance(each.page, Page) else each.page
            if self._has_memory:
                texts.add(each.page if isinstance(record, Record) and isinstance(each.page, Page) else None)
            row, facts = each.row, self._facts(*each)
            if isinstance(record, Record):
                builder.add(row.number, record, facts)
            else:
                why = record if isinstance(record, str) else record.reason or "error"
                builder.add_unchecked(row.number, without_fragment(row.url), why, facts)


class _ParsedRow(NamedTuple):
    """A row and its page."""

    row: Row  #: without the page
    page: Page | str  #: or the reason why there is none

    @property
    def length(self) -> int:
        """Characters of the main text."""
        return len(self.page.text) if isinstance(self.page, Page) else 0


def fingerprint_chunk(job: bytes, format: str, chunk: Chunk) -> FingerprintedChunk:
    """Fingerprint a chunk in a worker process."""
    return _fingerprinter(job).fingerprint(format, chunk)


@lru_cache(1)
def _fingerprinter(job: bytes) -> RowFingerprinter:
    return RowFingerprinter(pickle.loads(job))  # noqa: S301  # pickled by the parent process


def fingerprint_part(job: Job, work: Workdir, part: Part) -> PartState:
    """Fingerprint a whole part in this process; arguments and errors as :func:`write_fingerprints`."""
    fingerprinter, chunks = RowFingerprinter(job), format_named(part.format).chunks(part, job.columns)
    found = (fingerprinter.fingerprint(part.format, chunk) for chunk in chunks)
    return write_fingerprints(job, work, part, found)


def write_fingerprints(job: Job, work: Workdir, part: Part, chunks: Iterable[FingerprintedChunk]) -> PartState:
    """Write the fingerprints and the texts of a part, then the state of the file they were made from.

    Raises DedupError if the files cannot be written, if the input changes while it is read, and for bad
    rows unless the job skips them.
    """
    state = _current_state(job, part)
    with atomic_output(work.fingerprints(part.name)) as path, atomic_output(work.texts(part.name)) as texts:
        state = _write_chunks(job, part, (path, texts), chunks, state)
        if state.broken is None and not _current_state(job, part).has_same_input(state):
            raise DedupError(f"{part.path}: the file was changed while it was read")
    write_state(work.part_state(part.name), state)
    return state


def check_readable(part: Part, state: PartState) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if any row of a part could not be read."""
    if state.bad_rows:
        number, why = state.bad_rows[0]
        raise DedupError(f"{part.path}, row {number}: {why} ({SKIP_HINT})")
    if state.broken:
        number, why = state.broken
        raise DedupError(f"{PartError(str(part.path), number, why)} ({SKIP_HINT})")


def _current_state(job: Job, part: Part) -> PartState:
    try:
        return PartState.of(part.path, job.fingerprint_digest)
    except OSError as error:
        raise DedupError(f"{part.path}: cannot be read: {error.strerror}") from error


def _write_chunks(
    job: Job, part: Part, paths: tuple[Path, Path], chunks: Iterable[FingerprintedChunk], state: PartState
) -> PartState:
    schemas = (fingerprint_schema(job.sketches), TEXT_SCHEMA)
    try:
        with _ArrowWriter(paths[0], schemas[0]) as writer, _ArrowWriter(paths[1], schemas[1]) as texts:
            for chunk in _raise_at_break(part, chunks):
                writer.write(chunk.batch())
                if chunk.texts:
                    texts.write(pa.ipc.read_record_batch(pa.py_buffer(chunk.texts), TEXT_SCHEMA))
                state = _with_rows_of(state, chunk)
                if not job.skip_bad:
                    check_readable(part, state)
    except PartError as error:
        state = replace(state, rows=error.row, broken=[error.row, error.why])
    if not job.skip_bad:
        check_readable(part, state)
    return state


def _raise_at_break(part: Part, chunks: Iterable[FingerprintedChunk]) -> Iterator[FingerprintedChunk]:
    """Yield chunks; raise PartError after the last one that can be read."""
    for chunk in chunks:
        yield chunk
        if chunk.broken:
            raise PartError(str(part.path), *chunk.broken)


def _with_rows_of(state: PartState, chunk: FingerprintedChunk) -> PartState:
    return replace(
        state,
        rows=chunk.end,
        bad=state.bad + len(chunk.bad),
        bad_rows=_listed(state.bad_rows, chunk.bad),
        textless=state.textless + len(chunk.textless),
        textless_rows=_listed(state.textless_rows, chunk.textless),
    )


def _listed(rows: list[list[Any]], more: Sequence[BadRow]) -> list[list[Any]]:
    """Return a list with further rows, as far as there is room."""
    added: list[list[Any]] = [[row.number, row.why] for row in more[: MAX_LISTED_ROWS - len(rows)]]
    return [*rows, *added] if added else rows


class _ArrowWriter:
    """Writes an Arrow file; joins small batches to at least :data:`ROWS_PER_BATCH` rows."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, self._schema)
        self._pending: list[pa.RecordBatch] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None or issubclass(kind, PartError):
                self._flush()
                self._writer.close()
        finally:
            self._file.close()

    def write(self, batch: pa.RecordBatch) -> None:
        self._pending.append(batch)
        if sum(each.num_rows for each in self._pending) >= ROWS_PER_BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            for batch in pa.Table.from_batches(self._pending).combine_chunks().to_batches():
                self._writer.write_batch(fill_probes(batch) if "probes" in self._schema.names else batch)
            self._pending = []
