"""Step 3: the output of a part, written by what is said of its rows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.atomic import whole
from dedupcrawl.batch.formats import PartError, format_named
from dedupcrawl.batch.verdicts import columns_of, keep_of
from dedupcrawl.batch.work import Made, read_made, read_state, write_state
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.work import Work


def write_part(job: Job, work: Work, part: Part) -> int:
    """Write the output of a part, and then by what; return how many rows it has.

    Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be written, and when the part is not any more
    what was judged.
    """
    made = read_made(work, part.name)
    assert made is not None
    target = work.output(part.name)
    _check_same(job, part, made)
    if made.broken and not made.rows:  # nothing of it could be read, not even what kind of columns it has
        target.unlink(missing_ok=True)
        rows = 0
    else:
        with whole(target) as path:
            rows = _write(job, work, part, path, made)
            _check_same(job, part, made)
    write_state(work.written(part.name), {"by": _signature(work), "rows": rows, "size": _size(target)})
    return rows


def is_written(work: Work, part: Part) -> bool:
    """Whether the output of a part is there, by the verdicts that there are."""
    state = read_state(work.written(part.name))
    there = _size(work.output(part.name))
    return state is not None and (state.get("by"), state.get("size")) == (_signature(work), there)


def _write(job: Job, work: Work, part: Part, path: Path, made: Made) -> int:
    kind, cut = format_named(part.format), made.broken is not None
    verdicts = work.verdicts(part.name)
    try:
        if job.annotate:
            rows, expected = kind.annotate(part, path, columns_of(verdicts), cut=cut), made.rows - made.bad
        else:
            keep = keep_of(verdicts)
            rows, expected = kind.copy(part, path, keep, cut=cut), int(np.count_nonzero(keep))
    except PartError as error:
        raise DedupError(f"{part.path}: it was read before, and now cannot be copied: {error}") from error
    if rows != expected:
        raise DedupError(f"{path}: {rows} rows were written, and {expected} had to be")
    return rows


def _check_same(job: Job, part: Part, made: Made) -> None:
    with suppress(OSError):
        if Made.of(part.path, job.making).fits(made):
            return
    raise DedupError(
        f"{part.path}: the file has changed since it was fingerprinted; run the same command again"
    )


def _signature(work: Work) -> str:
    return str((read_state(work.solved) or {}).get("signature", ""))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
