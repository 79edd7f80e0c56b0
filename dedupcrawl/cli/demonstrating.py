"""``dedupcrawl demo``: a real crawl of a small bundled web."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dedupcrawl.demo.runner import run_demo


def demo(
    out: Annotated[Path, typer.Option(help="Where items.jsonl and summary.json go.")] = Path("demo-out"),
    fresh: Annotated[bool, typer.Option(help="Forget earlier demo crawls first.")] = False,
) -> None:
    """Crawl five bundled sites that reprint each other, and check every verdict."""
    summary = run_demo(out, fresh=fresh)
    if summary.wrongly_dropped or summary.missed:
        raise typer.Exit(1)
