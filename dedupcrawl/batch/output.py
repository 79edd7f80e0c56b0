"""What a run came to, in figures.

Step 3: the output of a part, written by what is said of its rows.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.formats import PartError, format_named
from dedupcrawl.batch.verdicts import read_annotations, read_keep
from dedupcrawl.batch.workdir import PartState, read_part_state, read_state, write_state
from dedupcrawl.errors import DedupError, package_version
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.workdir import Workdir


COUNTERS = ("dropped", "related", "unchecked")


def summarize(
    job: Job,
    work: Workdir,
    parts: Sequence[Part],
    made: Sequence[PartState],
    *,
    seconds: float,
    fingerprinted: int,
) -> dict[str, Any]:
    """Return what ``summary.json`` holds.

    Args:
        job: what was asked for.
        work: where it was done.
        parts: the input.
        made: of each part, what could be read of it.
        seconds: that this run took.
        fingerprinted: pages that it fingerprinted; the others had been before.
    """
    solved = read_state(work.solved) or {}
    files = [
        count | _read_errors(part, each)
        for count, part, each in zip(solved["parts"], parts, made, strict=True)
    ]
    pages = sum(file["pages"] for file in files)
    return {
        "complete": True,
        "version": package_version(),
        "request": job.request(),
        "pages": pages,
        "kept": sum(file["kept"] for file in files),
        **{name: _sum_counters(file[name] for file in files) for name in COUNTERS},
        "bytes": {
            name: sum(file[of] for file in files) for name, of in (("read", "bytes"), ("kept", "kept_bytes"))
        },
        "bad": {
            "rows": sum(file["bad"] for file in files),
            "broken": sum(file["broken"] is not None for file in files),
        },
        "given": solved["given"],
        "superseded": solved["superseded"],
        "crowded": solved["crowding"],
        "seconds": round(seconds, 3),
        "fingerprinted": fingerprinted,
        "pages_per_second": round(fingerprinted / seconds, 1) if fingerprinted else None,
        "work_bytes_per_page": round(_workdir_bytes(work) / pages, 1) if pages else None,
        "parts": files,
    }


def _read_errors(part: Part, made: PartState) -> dict[str, Any]:
    broken = None if made.broken is None else {"row": made.broken[0], "why": made.broken[1]}
    return {
        "path": str(part.path),
        "bad": made.bad,
        "bad_rows": [{"row": row, "why": why} for row, why in made.bad_rows],
        "broken": broken,
    }


def _sum_counters(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total.most_common())


def _workdir_bytes(work: Workdir) -> int:
    """Return how many bytes the work folder has."""
    return sum(path.stat().st_size for path in work.folder.rglob("*") if path.is_file())


def write_output(job: Job, work: Workdir, part: Part) -> int:
    """Write the output of a part, and then by what; return how many rows it has.

    Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be written, and when the part is not any more
    what was judged.
    """
    made = read_part_state(work, part.name)
    assert made is not None
    target = work.output(part.name)
    _check_unchanged(job, part, made)
    if made.broken and not made.rows:  # nothing of it could be read, not even what kind of columns it has
        target.unlink(missing_ok=True)
        rows = 0
    else:
        with atomic_output(target) as path:
            rows = _write_rows(job, work, part, path, made)
            _check_unchanged(job, part, made)
    write_state(
        work.written(part.name), {"by": _verdict_signature(work), "rows": rows, "size": _file_size(target)}
    )
    return rows


def is_output_current(work: Workdir, part: Part) -> bool:
    """Whether the output of a part is there, by the verdicts that there are."""
    state = read_state(work.written(part.name))
    there = _file_size(work.output(part.name))
    return state is not None and (state.get("by"), state.get("size")) == (_verdict_signature(work), there)


def _write_rows(job: Job, work: Workdir, part: Part, path: Path, made: PartState) -> int:
    kind, cut = format_named(part.format), made.broken is not None
    verdicts = work.verdicts(part.name)
    try:
        if job.annotate:
            rows, expected = (
                kind.annotate(part, path, read_annotations(verdicts), cut=cut),
                made.rows - made.bad,
            )
        else:
            keep = read_keep(verdicts)
            rows, expected = kind.copy(part, path, keep, cut=cut), int(np.count_nonzero(keep))
    except PartError as error:
        raise DedupError(f"{part.path}: it was read before, and now cannot be copied: {error}") from error
    if rows != expected:
        raise DedupError(f"{path}: {rows} rows were written, and {expected} had to be")
    return rows


def _check_unchanged(job: Job, part: Part, made: PartState) -> None:
    with suppress(OSError):
        if PartState.of(part.path, job.making).fits(made):
            return
    raise DedupError(
        f"{part.path}: the file has changed since it was fingerprinted; run the same command again"
    )


def _verdict_signature(work: Workdir) -> str:
    return str((read_state(work.solved) or {}).get("signature", ""))


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
