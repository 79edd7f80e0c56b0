"""``dedupcrawl demo``: a real crawl of bundled sites."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dedupcrawl.tools.demo.crawl import run_demo
from dedupcrawl.tools.demo.sites import serve_alone


def demo(
    out: Annotated[Path, typer.Option(help="Folder for items.jsonl and summary.json.")] = Path("demo-out"),
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Scrapy setting for this crawl; repeatable."),
    ] = None,
    fresh: Annotated[bool, typer.Option(help="Delete the data of earlier demo crawls first.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Only serve the sites, until interrupted.")] = False,
) -> None:
    """Crawl five bundled sites that reprint each other, and check every verdict."""
    if serve:
        serve_alone(partial(print, flush=True))
        return
    summary = run_demo(out, settings=settings or (), fresh=fresh)
    if summary.wrongly_dropped or summary.missed:
        raise typer.Exit(1)
