"""The pages of the demo are judged rightly in whatever order a crawl meets them."""

from __future__ import annotations

import random
from functools import cache

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.page.model import Page
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.crawl import PageLabel, PageOutcome, all_pages, find_faults
from dedupcrawl.tools.demo.sites import SiteLayout


@cache
def read_pages() -> tuple[tuple[PageLabel, Page], ...]:
    """Return the pages with main text, each with what is true of it."""
    content = load_content()
    truths = all_pages(content)
    origins = {key: f"http://{key}.example" for key in content.sites}
    found = []
    with Deduplicator() as dedup:
        for site in content.sites.values():
            for path, html in SiteLayout(content, site, origins).documents().items():
                page = dedup.read(html=html, url=f"{origins[site.key]}{path}")
                if (site.key, path) in truths and isinstance(page, Page):
                    found.append((truths[site.key, path], page))
    return tuple(found)


@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_the_pages_is_judged_wrongly(seed: int) -> None:
    pages = [*read_pages()]
    assert len(pages) > 100
    random.Random(seed).shuffle(pages)
    with Deduplicator() as dedup:
        verdicts = [dedup.add(page) for _, page in pages]
    outcomes = [
        PageOutcome(truth, verdict.keep, verdict.to_dict()) for (truth, _), verdict in zip(pages, verdicts, strict=True)
    ]
    faults = [
        (fault, page.url, verdict.of)
        for fault, (_, page), verdict in zip(find_faults(outcomes), pages, verdicts, strict=True)
        if fault
    ]
    assert faults == []
