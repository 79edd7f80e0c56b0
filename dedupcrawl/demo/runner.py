"""Runs the real crawler over the bundled web and checks what it kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import dedupcrawl
from dedupcrawl.demo.content import load_content
from dedupcrawl.demo.folder import FEED, Folder
from dedupcrawl.demo.report import show
from dedupcrawl.demo.server import FIRST_PORT, HOST, serve
from dedupcrawl.demo.truth import Outcome, all_pages, faults, summarize
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.demo.truth import DemoSummary, Truth

Pages = dict[tuple[str, str], "Truth"]

_START = "jiangchao"
_WIDE = 170  #: columns of the report where there is no terminal
_PAUSE = 0.1  #: seconds between two looks at the journal
_PATIENCE = 30  #: seconds for the crawler to finish after an interrupt


def run_demo(out: Path, *, fresh: bool = False, first_port: int = FIRST_PORT) -> DemoSummary:
    """Serve the bundled web, crawl it with ``scrapy crawl site``, show and check every verdict.

    Args:
        out: folder for all that comes of it (see :mod:`dedupcrawl.demo.folder`), the store included.
        fresh: forget what earlier demo crawls left there.
        first_port: see :func:`~dedupcrawl.demo.server.serve`.

    Raises:
        DedupError: the folder cannot be used, or the crawl did not reach every page.
    """
    console = Console() if sys.stdout.isatty() else Console(width=_WIDE)
    folder, content = Folder(out), load_content()
    folder.prepare(fresh=fresh)
    pages = all_pages(content)
    kept_before = _clusters(pages, folder.kept_urls())
    folder.forget_last()
    with serve(content, first_port) as origins:
        _crawl(folder, origins, len(pages), console)
        sites = {urlsplit(origin).netloc: key for key, origin in origins.items()}
    outcomes = _outcomes(folder, sites, pages)
    found = faults(outcomes, kept_before)
    summary = summarize(outcomes, found)
    folder.add_items(row["url"] for row in folder.journal() if _is_kept_article(row, sites, pages))
    folder.write_summary(summary)
    show(console, folder.path, sites, list(zip(outcomes, found, strict=True)), summary)
    return summary


def _clusters(pages: Pages, urls: Sequence[str]) -> set[str]:
    """Return the clusters of pages of earlier crawls, whose ports may have been others."""
    by_path = {truth.path: truth.cluster for truth in pages.values() if not truth.is_index}
    return {by_path[_path(url)] for url in urls if _path(url) in by_path}


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _truth(url: str, sites: Mapping[str, str], pages: Pages) -> Truth:
    try:
        return pages[sites[urlsplit(url).netloc], _path(url)]
    except KeyError:
        raise DedupError(f"the crawl went astray: {url} is no page of the bundled web") from None


def _is_kept_article(row: Mapping[str, object], sites: Mapping[str, str], pages: Pages) -> bool:
    return bool(row["kept"]) and not _truth(str(row["url"]), sites, pages).is_index


def _outcomes(folder: Folder, sites: Mapping[str, str], pages: Pages) -> list[Outcome]:
    rows = folder.journal()
    outcomes = [Outcome(_truth(row["url"], sites, pages), row["kept"], row["verdict"]) for row in rows]
    missing = pages.keys() - {(outcome.truth.site, outcome.truth.path) for outcome in outcomes}
    if missing:
        named = ", ".join(sorted(f"{site}{path}" for site, path in missing)[:3])
        log = folder.path / "crawl.log"
        raise DedupError(f"the crawl reached {len(outcomes)} of {len(pages)} pages, not {named}…; see {log}")
    return outcomes


def _crawl(folder: Folder, origins: Mapping[str, str], pages: int, console: Console) -> None:
    command = ["scrapy", "crawl", "site", "-a", f"url={origins[_START]}/", "-O", FEED]
    console.print(f"In {folder.path}: [bold]{' '.join(command)}[/]", highlight=False, soft_wrap=True)
    log = folder.path / "crawl.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  # our own command
            [sys.executable, "-m", *command],
            cwd=folder.path,
            env=_environment(),
            stdout=output,
            stderr=output,
        )
        try:
            _watch(process, folder, pages, console)
        except KeyboardInterrupt:
            # The crawler was interrupted too, and finishes what it has begun: store and items must agree.
            process.wait(_PATIENCE)
            raise
    if process.returncode:
        end = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        raise DedupError(f"scrapy ended with status {process.returncode}: {end} (see {log})")


def _environment() -> dict[str, str]:
    """Make the child find this very dedupcrawl, the folder's project, and the loopback without a proxy."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    package = str(Path(dedupcrawl.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, ours.get("PYTHONPATH"))))
    return ours | {"PYTHONPATH": path, "no_proxy": HOST, "NO_PROXY": HOST}


def _watch(process: subprocess.Popen[bytes], folder: Folder, pages: int, console: Console) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pages, {task.fields[dropped]} dropped"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Crawling", total=pages, dropped=0)
        while True:
            over = process.poll() is not None
            rows = folder.journal()
            progress.update(task, completed=len(rows), dropped=sum(not row["kept"] for row in rows))
            if over:
                return
            try:
                process.wait(_PAUSE)
            except subprocess.TimeoutExpired:
                continue
