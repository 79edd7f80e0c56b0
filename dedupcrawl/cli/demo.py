"""``dedupcrawl demo``: a real crawl of a small bundled web."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dedupcrawl.tools.demo.crawl import run_demo
from dedupcrawl.tools.demo.server import serve_alone


def demo(
    out: Annotated[Path, typer.Option(help="Where items.jsonl and summary.json go.")] = Path("demo-out"),
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting of this crawl, as for scrapy."),
    ] = None,
    fresh: Annotated[bool, typer.Option(help="Forget earlier demo crawls first.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the sites only, until interrupted.")] = False,
) -> None:
    """Crawl five bundled sites that reprint each other, and check every verdict."""
    if serve:
        serve_alone(partial(print, flush=True))
        return
    summary = run_demo(out, settings=settings or (), fresh=fresh)
    if summary.wrongly_dropped or summary.missed:
        raise typer.Exit(1)
