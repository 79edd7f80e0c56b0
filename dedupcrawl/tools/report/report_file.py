"""Writes the HTML file of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.report.messages import PageLanguage
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.tools.report.report_model import Report

_GENERATOR = b'<meta name="generator" content="dedupcrawl">'
_HEAD_BYTES = 4096  #: bytes at the start of a report that contain it


def save_report(report: Report, path: Path, language: PageLanguage = PageLanguage.AUTO) -> int:
    """Write the HTML file atomically, and return its size in bytes; raises DedupError on failure."""
    from dedupcrawl.tools.report.html_report import render_report  # noqa: PLC0415  # slow import, end of a crawl

    page = render_report(report, language=language).encode("utf-8", "replace")
    with atomic_output(path) as unfinished:
        unfinished.write_bytes(page)
    return len(page)


def require_report_or_nothing(path: Path) -> None:
    """Raise DedupError if the path exists and is not a report, so that no other file is overwritten."""
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
