"""dedupcrawl keeps every article of a crawl once: a Scrapy extension that drops near-duplicate pages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupcrawl.config import Config
    from dedupcrawl.crawl.addon import Addon
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.page import Page, read_page
    from dedupcrawl.verdict import Claim, Pending, Status, Verdict

__all__ = ["Addon", "Claim", "Config", "Deduplicator", "Page", "Pending", "Status", "Verdict", "read_page"]


def __getattr__(name: str) -> object:
    """Import a public name on first use: importing Scrapy takes longer than processing a small corpus."""
    modules = {
        "Addon": "crawl.addon",
        "Claim": "verdict",
        "Config": "config",
        "Deduplicator": "deduplicator",
        "Page": "page",
        "Pending": "verdict",
        "Status": "verdict",
        "Verdict": "verdict",
        "read_page": "page",
    }
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{modules[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
