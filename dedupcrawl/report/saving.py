"""A report as a file, written beside its place and renamed when it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.atomic import whole
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.report.facts import Report

_OURS = b'<meta name="generator" content="dedupcrawl">'
_HEAD = 4096  #: bytes in which it stands


def save(report: Report, path: Path) -> int:
    """Write the page of a report; return how many bytes it has.

    Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be written.
    """
    from dedupcrawl.report.page import render  # noqa: PLC0415  # a crawl needs it at its end alone

    page = render(report).encode("utf-8", "replace")
    with whole(path) as unfinished:
        unfinished.write_bytes(page)
    return len(page)


def refuse_foreign(path: Path) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if something else than a page of ours stands there."""
    try:
        if path.is_dir():
            raise DedupError(f"{path}: the report is one file, and this is a folder")
        with path.open("rb") as file:
            is_ours = _OURS in file.read(_HEAD) or not path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error.strerror or error}") from error
    if not is_ours:
        raise DedupError(f"{path}: is no report of dedupcrawl, and is left alone; name another file")
