"""Verdicts of a detector are the same on every store."""

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
def pages() -> tuple[Page, ...]:
    """The bundled web's articles, in the order of its plan."""
    content = load_content()
    origins = {site: f"http://{site}.example" for site in content.sites}
    bodies = {
        f"{origins[key]}{path}": body
        for key, site in content.sites.items()
        for path, body in SiteLayout(content, site, origins).documents().items()
    }
    urls = [f"{origins[page.site]}{page.path}" for page in content.pages]
    return tuple(read_page(bodies[url], url) for url in urls)


@pytest.mark.parametrize("name", DETECTORS)
def test_memory_and_lmdb_agree(name: str, tmp_path: Path) -> None:
    verdicts = []
    for store in ("memory://", f"lmdb://{tmp_path}/store"):
        with Deduplicator(store, detectors=[name]) as dedup:
            verdicts.append([dedup.add(page) for page in pages()])
    with Deduplicator(f"lmdb://{tmp_path}/store", detectors=[name]) as again:
        later = [again.check(page) for page in pages()]

    assert verdicts[0] == verdicts[1]
    assert sum(not verdict.keep for verdict in verdicts[0]) >= 5
    assert [verdict.keep for verdict in later if verdict.reason is None] == [False] * sum(
        verdict.reason is None for verdict in later
    )
