"""What a run came to, in figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dedupcrawl.batch.work import read_state
from dedupcrawl.version import our_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.work import Made, Work

COUNTS = ("dropped", "related", "unchecked")


def summarize(
    job: Job, work: Work, parts: Sequence[Part], made: Sequence[Made], *, seconds: float, fingerprinted: int
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
        count | _unread(part, each) for count, part, each in zip(solved["parts"], parts, made, strict=True)
    ]
    pages = sum(file["pages"] for file in files)
    return {
        "complete": True,
        "version": our_version(),
        "request": job.request(),
        "pages": pages,
        "kept": sum(file["kept"] for file in files),
        **{name: _summed(file[name] for file in files) for name in COUNTS},
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
        "work_bytes_per_page": round(_size(work) / pages, 1) if pages else None,
        "parts": files,
    }


def _unread(part: Part, made: Made) -> dict[str, Any]:
    broken = None if made.broken is None else {"row": made.broken[0], "why": made.broken[1]}
    return {
        "path": str(part.path),
        "bad": made.bad,
        "bad_rows": [{"row": row, "why": why} for row, why in made.bad_rows],
        "broken": broken,
    }


def _summed(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total.most_common())


def _size(work: Work) -> int:
    """Return how many bytes the work folder has."""
    return sum(path.stat().st_size for path in work.folder.rglob("*") if path.is_file())
