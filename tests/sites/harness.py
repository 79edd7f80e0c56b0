"""One site through one deduplicator: what was lost, and which copies were kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl import Deduplicator, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.sites.model import Site, SitePage


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdicts on the pages of a site."""

    kind: str
    pages: tuple[SitePage, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def distinct(self) -> int:
        """Number of contents."""
        return len({page.content for page in self.pages})

    @property
    def kept(self) -> int:
        """Number of pages kept."""
        return sum(verdict.keep for verdict in self.verdicts)

    @property
    def lost(self) -> list[Verdict]:
        """Verdicts that drop a page as a copy of another content, or of a content without a kept page."""
        contents = {page.url: page.content for page in self.pages}
        there = {page.content for page, verdict in self.both() if verdict.keep}
        gone: dict[str, Verdict] = {}
        for page, verdict in self.both():
            if page.content not in there:
                gone.setdefault(page.content, verdict)
            elif not verdict.keep and contents.get(verdict.of or "") not in {page.content, None}:
                gone.setdefault(page.url, verdict)
        return list(gone.values())

    @property
    def copies(self) -> int:
        """Number of pages beyond the first of each content."""
        return len(self.pages) - self.distinct

    @property
    def copies_kept(self) -> list[Verdict]:
        """Verdicts that keep a page although one of its content was kept before."""
        seen: set[str] = set()
        again = []
        for page, verdict in self.both():
            if verdict.keep and page.content in seen:
                again.append(verdict)
            if verdict.keep:
                seen.add(page.content)
        return again

    def both(self) -> Iterable[tuple[SitePage, Verdict]]:
        return zip(self.pages, self.verdicts, strict=True)


def run(site: Site) -> Outcome:
    """Judge the pages of a site in order, with default settings."""
    with Deduplicator() as dedup:
        return Outcome(site.kind, site.pages, tuple(dedup.add(html=page.html, url=page.url) for page in site.pages))
