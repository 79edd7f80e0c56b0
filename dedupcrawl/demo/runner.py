"""The demo from end to end: serve, crawl, check, show."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.console import Console

from dedupcrawl.demo.content import load_content
from dedupcrawl.demo.crawler import crawl
from dedupcrawl.demo.folder import Folder
from dedupcrawl.demo.report import show
from dedupcrawl.demo.server import FIRST_PORT, serve
from dedupcrawl.demo.truth import Outcome, all_pages, faults, summarize
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.demo.truth import DemoSummary, Truth

Pages = dict[tuple[str, str], "Truth"]

_START = "jiangchao"
_WIDE = 170  #: columns of the report where there is no terminal


def run_demo(
    out: Path, *, settings: Sequence[str] = (), fresh: bool = False, first_port: int = FIRST_PORT
) -> DemoSummary:
    """Serve the bundled web, crawl it with ``scrapy crawl site``, show and check every verdict.

    Args:
        out: folder for all that comes of it (see :mod:`dedupcrawl.demo.folder`), the store included.
        settings: Scrapy settings in force for this crawl, each as ``NAME=VALUE``.
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
        sites = {urlsplit(origin).netloc: key for key, origin in origins.items()}
        try:
            crawl(folder, f"{origins[_START]}/", len(pages), console, settings)
        finally:
            # Whatever ended the crawl: the store will not let these articles through again.
            folder.add_items(_is_article(sites, pages))
    outcomes = _outcomes(folder, sites, pages)
    found = faults(outcomes, kept_before)
    summary = summarize(outcomes, found)
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


def _is_article(sites: Mapping[str, str], pages: Pages) -> Callable[[str], bool]:
    return lambda url: not _truth(url, sites, pages).is_index


def _outcomes(folder: Folder, sites: Mapping[str, str], pages: Pages) -> list[Outcome]:
    rows = folder.journal()
    outcomes = [Outcome(_truth(row["url"], sites, pages), row["kept"], row["verdict"]) for row in rows]
    missing = pages.keys() - {(outcome.truth.site, outcome.truth.path) for outcome in outcomes}
    if missing:
        named = ", ".join(sorted(f"{site}{path}" for site, path in missing)[:3])
        log = folder.path / "crawl.log"
        raise DedupError(f"the crawl reached {len(outcomes)} of {len(pages)} pages, not {named}…; see {log}")
    return outcomes
