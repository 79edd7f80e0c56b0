"""What the demo shows at its end: every page, what became of it, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.table import Table
from rich.text import Text

from dedupcrawl.demo.folder import REPORT
from dedupcrawl.formatting import similarity_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from dedupcrawl.demo.truth import DemoSummary, Fault, Outcome

_COLUMNS = ("", "page", "what it is", "relation", "of", "similarity", "detector")


def show(
    console: Console,
    folder: Path,
    sites: Mapping[str, str],
    judged: Sequence[tuple[Outcome, Fault | None]],
    summary: DemoSummary,
) -> None:
    """Print the verdicts, content by content, then the figures.

    Args:
        console: where to.
        folder: the folder of the demo.
        sites: the key of the site by host and port.
        judged: what became of each page, in the order of the crawl, and whether it is wrong.
        summary: the figures.
    """
    console.print(_table(sites, judged))
    index = [outcome for outcome, _ in judged if outcome.truth.is_index]
    said = Counter(_said(outcome.verdict) for outcome in index)
    console.print(
        f"{len(index)} index pages, counted apart: {', '.join(f'{n} {what}' for what, n in said.items())}."
    )
    console.print(
        f"{summary.pages} pages of {summary.distinct} different contents: "
        f"[green]{summary.kept} kept[/], [yellow]{summary.dropped} dropped[/]; "
        f"{summary.wrongly_dropped} wrongly dropped, {summary.missed} missed."
    )
    if not summary.kept:
        console.print("All of it was kept by earlier crawls: nothing new.")
    console.print(
        f"Kept so far: {folder / 'items.jsonl'}   Figures: {folder / 'summary.json'}", soft_wrap=True
    )
    if (folder / REPORT).exists():
        console.print(f"To look at: {folder / REPORT}", soft_wrap=True)


def _table(sites: Mapping[str, str], judged: Sequence[tuple[Outcome, Fault | None]]) -> Table:
    table = Table(*_COLUMNS, title="What was kept, what was dropped, and why", title_justify="left")
    of_clusters: dict[str, list[tuple[Outcome, Fault | None]]] = {}
    for outcome, fault in judged:
        if not outcome.truth.is_index or fault:
            of_clusters.setdefault(outcome.truth.cluster, []).append((outcome, fault))
    # Contents of one page stand together at the end: traps, mostly.
    for group in sorted(of_clusters.values(), key=lambda group: len(group) == 1):
        for outcome, fault in group:
            table.add_row(*_row(sites, outcome, fault))
        if len(group) > 1:
            table.add_section()
    return table


def _row(sites: Mapping[str, str], outcome: Outcome, fault: Fault | None) -> tuple[str | Text, ...]:
    truth, verdict = outcome.truth, outcome.verdict
    fate = Text("kept", "green") if outcome.kept else Text("dropped", "yellow")
    if fault:
        fate = Text(str(fault), "bold red")
    similarity = verdict.get("similarity")
    return (
        fate,
        f"{truth.site}{truth.path}",
        truth.kind,
        str(verdict.get("relation") or verdict.get("reason") or "–"),
        _place(sites, verdict.get("of")),
        similarity_text(similarity) if isinstance(similarity, float | int) else "",
        str(verdict.get("detector", "")),
    )


def _said(verdict: Mapping[str, object]) -> str:
    reason = verdict.get("reason")
    return f"{verdict.get('status', 'unjudged')}{f' ({reason})' if reason else ''}"


def _place(sites: Mapping[str, str], url: object) -> str:
    """Shorten the URL of a page that this crawl served; another one stays as it is."""
    if not isinstance(url, str):
        return ""
    parts = urlsplit(url)
    return url.replace(f"{parts.scheme}://{parts.netloc}", sites.get(parts.netloc, parts.netloc), 1)
