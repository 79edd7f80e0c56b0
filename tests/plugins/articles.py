"""Three pages for a crawl with a plugin: an article, a copy of it in another layout, and another article."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from tests.crawl.site import Site

ARTICLES = {"/a": plain("Ice", text(1)), "/b": fancy("Ice", text(1)), "/c": plain("Fire", text(2))}


def articles(site: Site) -> list[str]:
    """Serve the three pages, and return their URLs."""
    return [site.put(path, page) for path, page in ARTICLES.items()]
