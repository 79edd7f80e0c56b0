"""A report as a file, written beside its place and renamed when it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.errors import DedupError
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.tools.report.report_model import Report

_GENERATOR = b'<meta name="generator" content="dedupcrawl">'
_HEAD_BYTES = 4096  #: bytes in which it stands


def save_report(report: Report, path: Path) -> int:
    """Write the page of a report; return how many bytes it has.

    Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be written.
    """
    from dedupcrawl.tools.report.html_report import render_report  # noqa: PLC0415  # a crawl needs it at its end alone

    page = render_report(report).encode("utf-8", "replace")
    with atomic_output(path) as unfinished:
        unfinished.write_bytes(page)
    return len(page)


def require_report_or_nothing(path: Path) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if something else than a page of ours stands there."""
    try:
        if path.is_dir():
            raise DedupError(f"{path}: the report is one file, and this is a folder")
        with path.open("rb") as file:
            is_ours = _GENERATOR in file.read(_HEAD_BYTES) or not path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error.strerror or error}") from error
    if not is_ours:
        raise DedupError(f"{path}: is no report of dedupcrawl, and is left alone; name another file")
