"""What the bundled web holds: articles, sites, and the plan of the pages."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

WEB = files("dedupcrawl.demo") / "web"


@dataclass(frozen=True, slots=True)
class Article:
    """A text that sites print."""

    id: str  #: language and name, "en/night-ferry"
    language: str
    title: str
    author: str
    published: datetime
    section: str
    keywords: tuple[str, ...]
    description: str
    paragraphs: tuple[str, ...]
    other_title: str = ""  #: what another editor calls it
    caption: str = ""  #: of its photograph
    comments: bool = True  #: whether sites let readers comment on it
    ending: tuple[str, ...] = ()  #: paragraphs with which another story begins like this one and ends


@dataclass(frozen=True, slots=True)
class Section:
    """A list of articles on a site."""

    path: str
    label: str
    takes: tuple[str, ...]  #: sections of articles, or their language where it is not the site's


@dataclass(frozen=True, slots=True)
class Site:
    """One of the five."""

    key: str
    name: str
    language: str
    charset: str  #: that its pages are encoded in
    declared: str  #: what their head says
    header: str  #: what the HTTP header says, "" for nothing
    sections: tuple[Section, ...]

    def section_of(self, article: Article) -> Section:
        """Find where the site lists an article."""
        wanted = article.section if article.language == self.language else article.language
        return next(section for section in self.sections if wanted in section.takes)


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """A page that bears an article, and the truth about it."""

    site: str
    path: str  #: with its query; no two pages that bear an article share one
    kind: str  #: what a person would call it: original, reprint, excerpt…
    cluster: str  #: the same for all pages with the same content
    parts: tuple[str, ...]  #: what it prints: "ID", "ID[first:last]" (paragraphs), "ID!ending"
    edits: tuple[str, ...] = ()
    title: str = ""  #: "" for the article's own
    delay: int = 0  #: hours after the article was first published
    view: str = "article"  #: template
    view_of: str = ""  #: path of the page that this is another view of
    continued: str = ""  #: path of the page that it goes on at

    @property
    def article(self) -> str:
        """Id of the article it begins with."""
        return self.parts[0].partition("[")[0].partition("!")[0]


@dataclass(frozen=True, slots=True)
class Content:
    """The bundled web, not yet laid out."""

    articles: Mapping[str, Article]
    sites: Mapping[str, Site]
    pages: tuple[PlannedPage, ...]
    comments: Mapping[str, tuple[tuple[str, str], ...]] = field(repr=False)  #: language → (name, text)

    def published(self, page: PlannedPage) -> datetime:
        """When a site printed a page."""
        return self.articles[page.article].published + timedelta(hours=page.delay)

    def home(self, article: str) -> Site:
        """Return the site that printed an article first."""
        first = next(page for page in self.pages if page.cluster == article and not page.delay)
        return self.sites[first.site]


@cache
def load_content() -> Content:
    """Read the bundled web."""
    articles = (
        _article(f"{folder.name}/{file.name.removesuffix('.toml')}", _toml(file))
        for folder in (WEB / "articles").iterdir()
        for file in folder.iterdir()
    )
    comments = _toml(WEB / "comments.toml")
    return Content(
        articles={article.id: article for article in articles},
        sites={key: _site(key, row) for key, row in _toml(WEB / "sites.toml").items()},
        pages=tuple(
            _page(json.loads(line)) for line in (WEB / "pages.jsonl").read_text("utf-8").strip().split("\n")
        ),
        comments={
            language: tuple((row["name"], row["text"]) for row in rows) for language, rows in comments.items()
        },
    )


def _toml(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _article(id: str, row: dict[str, Any]) -> Article:
    paragraphs, ending = _paragraphs(row.pop("text")), _paragraphs(row.pop("ending", ""))
    keywords, language = tuple(row.pop("keywords")), id.partition("/")[0]
    return Article(id=id, language=language, keywords=keywords, paragraphs=paragraphs, ending=ending, **row)


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.strip().split("\n\n")))


def _site(key: str, row: dict[str, Any]) -> Site:
    sections = tuple(
        Section(section["path"], section["label"], tuple(section["takes"])) for section in row.pop("sections")
    )
    return Site(key=key, sections=sections, **row)


def _page(row: dict[str, Any]) -> PlannedPage:
    parts, edits = tuple(row.pop("parts")), tuple(row.pop("edits", ()))
    return PlannedPage(parts=parts, edits=edits, **row)
