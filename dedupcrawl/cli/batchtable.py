"""What a batch came to, as a short table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.screen import out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHOWN = 10  #: bad rows


def report(summary: Mapping[str, Any], folder: Path) -> None:
    """Show the figures of ``summary.json``, and what could not be read."""
    console = out()
    if summary["already"]:
        console.print(Text(f"nothing to do: {folder} holds all of this already"))
    table = Table(show_header=False)
    for name, value in _rows(summary):
        table.add_row(name, Text(value))
    console.print(table)
    unread = [line for part in summary["parts"] for line in _unread(part)]
    for line in unread[:SHOWN]:
        console.print(Text(f"left out: {line}", style="yellow"))
    if len(unread) > SHOWN:
        console.print(
            Text(f"… and {len(unread) - SHOWN:,} more, in {folder / 'summary.json'}", style="yellow")
        )


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "pages", f"{summary['pages']:,}"
    yield "kept", f"{summary['kept']:,} ({_share(summary['kept'], summary['pages'])})"
    for name, of in (("dropped", "dropped"), ("kept, related", "related"), ("unchecked", "unchecked")):
        if summary[of]:
            yield name, ", ".join(f"{each} {count:,}" for each, count in summary[of].items())
    read, kept = summary["bytes"]["read"], summary["bytes"]["kept"]
    yield "bytes", f"{read:,} read, {kept:,} kept ({_share(kept, read)})"
    if summary["bad"]["rows"] or summary["bad"]["broken"]:
        yield "unreadable", f"{summary['bad']['rows']:,} rows; the rest of {summary['bad']['broken']:,} files"
    if summary["given"]:
        yield "known before", f"{summary['given']:,} pages that share a key with these"
    if summary["superseded"]:
        yield (
            "superseding",
            f"{summary['superseded']:,}; superseded.jsonl says what they take the place of",
        )
    yield from _stores(summary)
    crowded = summary["crowded"]
    if crowded["buckets"]:
        beyond = f"{crowded['pages']:,} pages were not compared with all in them"
        yield (
            "crowded buckets",
            f"{crowded['buckets']:,}; {beyond} (fullest: {crowded['fullest']:,} kept pages)",
        )
    rate = f", {summary['pages_per_second']:,} pages/s" if summary["pages_per_second"] else ""
    yield "time", f"{summary['seconds']:,.1f} s{rate}"
    if summary["work_bytes_per_page"]:
        yield "fingerprints", f"{summary['work_bytes_per_page']:,.0f} bytes a page, in _dedupcrawl/"


def _stores(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if handed := summary.get("handed"):
        when = f", {handed['when']} already" if handed["already"] else ""
        gone = f", {handed['removed']:,} removed" if handed["removed"] else ""
        known = f"{handed['known']:,} were there{gone}{when}"
        yield "handed over", f"{handed['new']:,} to {handed['store']} ({handed['namespace']}), {known}"


def _unread(part: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{part['path']}, row {bad['row']}: {bad['why']}" for bad in part["bad_rows"])
    if part["bad"] > len(part["bad_rows"]):
        yield f"{part['path']}: {part['bad'] - len(part['bad_rows']):,} more rows"
    if part["broken"]:
        yield f"{part['path']}, from row {part['broken']['row']} on: {part['broken']['why']}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
