"""The fingerprints of a part, written as they come."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from dedupcrawl.atomic import whole
from dedupcrawl.batch.filing import Clerk
from dedupcrawl.batch.formats import PartError, format_named
from dedupcrawl.batch.schema import schema, with_probes
from dedupcrawl.batch.work import Made, write_state
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dedupcrawl.batch.filing import Filed
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.work import Work

BATCH = 4096  #: rows that are written together, about
LISTED = 1000  #: bad rows of a part that are listed; all are counted
SKIP = "--skip-bad leaves out what cannot be read, and lists it"


def print_part(job: Job, work: Work, part: Part) -> Made:
    """Fingerprint a part from its beginning to its end, in this process."""
    return write_prints(job, work, part, _one_by_one(job, part))


def _one_by_one(job: Job, part: Part) -> Iterator[Filed]:
    clerk = Clerk(job)
    for chunk in format_named(part.format).chunks(part, job.fields):
        yield clerk.file(part.format, chunk)


def write_prints(job: Job, work: Work, part: Part, pieces: Iterable[Filed]) -> Made:
    """Write the fingerprints of a part, and then what they were made of.

    Raises :class:`~dedupcrawl.errors.DedupError` when they cannot be written, when the file changes
    meanwhile, and for what cannot be read, unless the job skips that.
    """
    made = _seen(job, part)
    with whole(work.prints(part.name)) as path:
        made = _write(job, part, path, pieces, made)
        if made.broken is None and not _seen(job, part).fits(made):
            raise DedupError(f"{part.path}: the file was changed while it was read")
    write_state(work.made(part.name), made)
    return made


def refuse_bad(part: Part, made: Made) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if something of a part could not be read."""
    if made.bad_rows:
        number, why = made.bad_rows[0]
        raise DedupError(f"{part.path}, row {number}: {why} ({SKIP})")
    if made.broken:
        number, why = made.broken
        raise DedupError(f"{PartError(str(part.path), number, why)} ({SKIP})")


def _seen(job: Job, part: Part) -> Made:
    try:
        return Made.of(part.path, job.making)
    except OSError as error:
        raise DedupError(f"{part.path}: cannot be read: {error.strerror}") from error


def _write(job: Job, part: Part, path: Path, pieces: Iterable[Filed], made: Made) -> Made:
    try:
        with _Batches(path, job.sketches) as out:
            for filed in _unbroken(part, pieces):
                out.add(filed.batch())
                made = _noted(made, filed)
                if not job.skip_bad:
                    refuse_bad(part, made)
    except PartError as error:
        made = replace(made, rows=error.row, broken=[error.row, error.why])
    if not job.skip_bad:
        refuse_bad(part, made)
    return made


def _unbroken(part: Part, pieces: Iterable[Filed]) -> Iterator[Filed]:
    """Raise, behind what was read before it, what a worker was told of the rest."""
    for filed in pieces:
        yield filed
        if filed.broken:
            raise PartError(str(part.path), *filed.broken)


def _noted(made: Made, filed: Filed) -> Made:
    more: list[list[Any]] = [[bad.number, bad.why] for bad in filed.bad[: LISTED - len(made.bad_rows)]]
    return replace(
        made,
        rows=filed.end,
        bad=made.bad + len(filed.bad),
        bad_rows=[*made.bad_rows, *more] if more else made.bad_rows,
    )


class _Batches:
    """An Arrow file; small batches are joined, so that a corpus of many rows has few of them."""

    def __init__(self, path: Path, sketches: int) -> None:
        self._schema = schema(sketches)
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
        if sum(each.num_rows for each in self._held) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            for batch in pa.Table.from_batches(self._held).combine_chunks().to_batches():
                self._writer.write_batch(with_probes(batch))
            self._held = []
