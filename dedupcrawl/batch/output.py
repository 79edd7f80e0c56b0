"""Step 3 of a batch: the output files, and the summary of the whole run."""

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
_ZERO: Counter[str] = Counter()


def write_output(job: Job, work: Workdir, part: Part) -> int:
    """Write the output of a part, then its state; return the number of rows in it.

    Raises DedupError if it cannot be written, or if the input has changed since it was fingerprinted.
    """
    state = read_part_state(work, part.name)
    assert state is not None
    target = work.output(part.name)
    _check_unchanged(job, part, state)
    if state.broken and not state.rows:  # nothing was readable, not even the columns
        target.unlink(missing_ok=True)
        rows = 0
    else:
        with atomic_output(target) as path:
            rows = _write_rows(job, work, part, path, state)
            _check_unchanged(job, part, state)
    written = {"by": _verdict_signature(work), "rows": rows, "size": file_size(target)}
    write_state(work.output_state(part.name), written)
    return rows


def is_output_current(work: Workdir, part: Part) -> bool:
    """Return whether the output of a part exists and was written from the current verdicts."""
    state, size = read_state(work.output_state(part.name)), file_size(work.output(part.name))
    return state is not None and (state.get("by"), state.get("size")) == (_verdict_signature(work), size)


def _write_rows(job: Job, work: Workdir, part: Part, path: Path, state: PartState) -> int:
    file_format, truncated, verdicts = (format_named(part.format), state.broken is not None, work.verdicts(part.name))
    try:
        if job.annotate:
            rows = file_format.annotate(part, path, read_annotations(verdicts), truncated=truncated)
            expected = state.rows - state.bad
        else:
            keep = read_keep(verdicts)
            rows = file_format.copy(part, path, keep, truncated=truncated)
            expected = int(np.count_nonzero(keep))
    except PartError as error:
        raise DedupError(f"{part.path}: it was read before, and now cannot be copied: {error}") from error
    if rows != expected:
        raise DedupError(f"{path}: {rows} rows were written, and {expected} had to be")
    return rows


def _check_unchanged(job: Job, part: Part, state: PartState) -> None:
    with suppress(OSError):
        if PartState.of(part.path, job.fingerprint_digest).has_same_input(state):
            return
    raise DedupError(f"{part.path}: the file has changed since it was fingerprinted; run the same command again")


def _verdict_signature(work: Workdir) -> str:
    return str((read_state(work.solution) or {}).get("signature", ""))


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; -1 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def summarize(
    job: Job, work: Workdir, parts: Sequence[Part], states: Sequence[PartState], *, seconds: float, fingerprinted: int
) -> dict[str, Any]:
    """Return the contents of ``summary.json``.

    ``seconds`` and ``fingerprinted`` (pages) are those of this run alone.
    """
    solution = read_state(work.solution) or {}
    files = [
        counts | _read_errors(part, state) for counts, part, state in zip(solution["parts"], parts, states, strict=True)
    ]
    pages = sum(file["pages"] for file in files)
    workdir_bytes = sum(path.stat().st_size for path in work.folder.rglob("*") if path.is_file())
    return {
        "complete": True,
        "version": package_version(),
        "request": job.request(),
        "pages": pages,
        "kept": sum(file["kept"] for file in files),
        **{name: dict(sum((Counter(file[name]) for file in files), _ZERO).most_common()) for name in COUNTERS},
        "bytes": {name: sum(file[of] for file in files) for name, of in (("read", "bytes"), ("kept", "kept_bytes"))},
        "bad": {
            "rows": sum(file["bad"] for file in files),
            "broken": sum(file["broken"] is not None for file in files),
        },
        "given": solution["given"],
        "superseded": solution["superseded"],
        "crowded": solution["crowding"],
        "sites": solution.get("sites", []),
        "seconds": round(seconds, 3),
        "fingerprinted": fingerprinted,
        "pages_per_second": round(fingerprinted / seconds, 1) if fingerprinted else None,
        "work_bytes_per_page": round(workdir_bytes / pages, 1) if pages else None,
        "parts": files,
    }


def _read_errors(part: Part, state: PartState) -> dict[str, Any]:
    broken = None if state.broken is None else {"row": state.broken[0], "why": state.broken[1]}
    return {
        "path": str(part.path),
        "bad": state.bad,
        "bad_rows": [{"row": row, "why": why} for row, why in state.bad_rows],
        "broken": broken,
    }
