"""dedupcrawl keeps every article of a crawl once: a Scrapy extension that drops near-duplicate pages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupcrawl.config import Config
    from dedupcrawl.crawl.addon import Addon
    from dedupcrawl.crawl.page_objects import DedupPage, DedupVerdict
    from dedupcrawl.decision import Claim, Pending, Status, Verdict
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.page import Page, read_page

    __version__: str

__all__ = [
    "Addon",
    "Claim",
    "Config",
    "DedupPage",
    "DedupVerdict",
    "Deduplicator",
    "Page",
    "Pending",
    "Status",
    "Verdict",
    "read_page",
]


_MODULES = {
    "Addon": "crawl.addon",
    "Config": "config",
    "Deduplicator": "deduplicator",
    **dict.fromkeys(("DedupPage", "DedupVerdict"), "crawl.page_objects"),
    **dict.fromkeys(("Claim", "Pending", "Status", "Verdict"), "decision"),
    **dict.fromkeys(("Page", "read_page"), "page"),
}


def __getattr__(name: str) -> object:
    """Import a public name on first use: importing Scrapy takes longer than processing a small corpus."""
    if name == "__version__":
        from dedupcrawl.errors import package_version  # noqa: PLC0415  # 10 ms

        return package_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
