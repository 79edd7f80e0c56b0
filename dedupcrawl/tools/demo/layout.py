"""Layout: the pages of the five sites as bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from dedupcrawl.tools.demo.corpus import write_story

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from dedupcrawl.tools.demo.corpus import Content, PlannedPage, Section, Site

_RELATED = 4  #: links to related articles on a page
_POPULAR = 6  #: links to popular articles on a page
_COMMENTS = 3  #: most comments on a page
_LATEST = 6  #: articles of a section on the front page


@dataclass(frozen=True, slots=True)
class Link:
    """An entry in a list of articles."""

    href: str
    title: str
    published: datetime


@dataclass(frozen=True, slots=True)
class ListingGroup:
    """A list of articles under a heading."""

    href: str
    label: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """An index page: only links."""

    path: str
    label: str
    groups: tuple[ListingGroup, ...]


class Layout:
    """Renders the pages of one site; ``origins``: scheme and host of every site by its key."""

    def __init__(self, content: Content, site: Site, origins: Mapping[str, str]) -> None:
        self.content, self.site, self._origins = content, site, origins
        self.pages = tuple(page for page in content.pages if page.site == site.key)
        self._variants = {page.view_of: page.path for page in self.pages if page.view_of}
        self._environment = Environment(
            loader=PackageLoader("dedupcrawl.tools.demo", "web/templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=False,
        )
        self._environment.filters["linked"] = _linked

    def documents(self) -> dict[str, bytes]:
        """Return the encoded pages of the site by path."""
        articles = {page.path: self._article(page) for page in self.pages}
        return articles | {
            listing.path: self._render("index", page=listing, listing=listing) for listing in self.listings()
        }

    def listings(self) -> tuple[Listing, ...]:
        """Return the index pages: the front page, and one of each section."""
        groups = tuple(
            ListingGroup(section.path, section.label, self._links(self._listed(section)))
            for section in self.site.sections
        )
        front = tuple(ListingGroup(group.href, group.label, group.links[:_LATEST]) for group in groups)
        sections = (Listing(group.href, group.label, (group,)) for group in groups)
        return (Listing("/", self.site.name, front), *sections)

    def _listed(self, section: Section | None = None) -> list[PlannedPage]:
        """Return the pages in lists, the newest first, without other views and continuations."""
        hidden = {page.continued for page in self.pages} | {page.path for page in self.pages if page.view_of}
        listed = [page for page in self.pages if page.path not in hidden]
        listed = [page for page in listed if section in (None, self._section(page))]
        return sorted(listed, key=lambda page: (self.content.published(page), page.path), reverse=True)

    def _section(self, page: PlannedPage) -> Section:
        return self.site.section_of(self.content.articles[page.article])

    def _links(self, pages: Iterable[PlannedPage]) -> tuple[Link, ...]:
        return tuple(
            Link(page.path, write_story(self.content, page).title, self.content.published(page)) for page in pages
        )

    def _article(self, page: PlannedPage) -> bytes:
        story = write_story(self.content, page)
        others = [other for other in self._listed() if other != page]
        by_checksum = sorted(others, key=lambda other: crc32((page.path + other.path).encode()))
        return self._render(
            page.view,
            page=page,
            story=story,
            section=self._section(page),
            related=self._links(by_checksum[:_RELATED]),
            comments=self._comments(page),
            variant=self._variants.get(page.path, ""),
        )

    def _popular(self) -> tuple[Link, ...]:
        by_checksum = sorted(self._listed(), key=lambda page: crc32(page.path.encode()))
        return self._links(by_checksum[:_POPULAR])

    def _comments(self, page: PlannedPage) -> list[dict[str, str]]:
        if not self.content.articles[page.article].comments:
            return []
        pool = self.content.comments[self.site.language]
        chosen = sorted(pool, key=lambda comment: crc32((page.path + comment[0]).encode()))
        return [{"name": name, "text": text} for name, text in chosen[: 1 + crc32(page.path.encode()) % _COMMENTS]]

    def _render(self, view: str, **context: object) -> bytes:
        template = self._environment.get_template(f"{self.site.key}/{view}.html")
        markup = template.render(site=self.site, origins=self._origins, popular=self._popular(), **context)
        return markup.encode(self.site.charset, "xmlcharrefreplace")


def _linked(text: str, links: Iterable[tuple[str, str]]) -> Markup:
    """Link the first occurrence of each phrase."""
    targets = {str(escape(phrase)): href for phrase, href in links}
    if not targets:
        return escape(text)
    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        phrase = match.group()
        if phrase in seen:
            return phrase
        seen.add(phrase)
        return f'<a href="{escape(targets[phrase])}">{phrase}</a>'

    return Markup(re.sub("|".join(map(re.escape, targets)), link, str(escape(text))))  # noqa: S704  # escaped above
