"""Verdicts of a detector are the same on every store, and most drops are right."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.page import read_page
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.sites import SiteLayout

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.page import Page


@cache
def pages() -> tuple[tuple[Page, ...], dict[str, str]]:
    """The bundled web's articles, in the order of its plan, and the content of each by its URL."""
    content = load_content()
    origins = {site: f"http://{site}.example" for site in content.sites}
    bodies = {
        f"{origins[key]}{path}": body
        for key, site in content.sites.items()
        for path, body in SiteLayout(content, site, origins).documents().items()
    }
    urls = [f"{origins[page.site]}{page.path}" for page in content.pages]
    contents = {url: page.cluster for url, page in zip(urls, content.pages, strict=True)}
    return tuple(read_page(bodies[url], url) for url in urls), contents


@pytest.mark.parametrize("name", DETECTORS)
def test_memory_and_lmdb_agree(name: str, tmp_path: Path) -> None:
    verdicts = []
    articles, content = pages()
    for store in ("memory://", f"lmdb://{tmp_path}/store"):
        with Deduplicator(store, detectors=[name]) as dedup:
            verdicts.append([dedup.add(page) for page in articles])
    with Deduplicator(f"lmdb://{tmp_path}/store", detectors=[name]) as again:
        later = [again.check(page) for page in articles]

    assert verdicts[0] == verdicts[1]
    dropped = [verdict for verdict in verdicts[0] if not verdict.keep]
    assert {verdict.detector for verdict in dropped} == {name}
    right = sum(content[verdict.url] == content[verdict.of or ""] for verdict in dropped)
    assert right >= max(5, 0.5 * len(dropped))  # `eval duplicates` measures the precision of each
    assert [verdict.keep for verdict in later if verdict.reason is None] == [False] * sum(
        verdict.reason is None for verdict in later
    )
