"""A small site: its pages, and what each of them says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page, labelled with its content. Pages of one content are copies of one another."""

    url: str
    html: str
    content: str
    made: str = ""  #: how the copy was made; "" for the page itself


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one kind of site, in the order in which a crawl meets them."""

    kind: str
    seed: int
    pages: tuple[SitePage, ...]

    @property
    def contents(self) -> Counter[str]:
        """Number of pages of each content."""
        return Counter(page.content for page in self.pages)


class Copy(StrEnum):
    """How a copy of a page on its own host is made."""

    PRINT = "print"  #: a bare page, titled "Print"
    AMP = "amp"  #: a template of its own, without sidebars
    UTM = "utm"  #: another query, nothing else
    SESSION = "session"  #: a session in all links, other related links
    SECTION = "section"  #: reached through another section: other breadcrumbs, another title
    STAMP = "stamp"  #: a line "Updated …" at the head of the text
    COUNTER = "counter"  #: another number of readers at the end of the text
    NOTE = "note"  #: an editor's note below the text
    TAIL = "tail"  #: a date and an hour at the end of the text
    MOBILE = "mobile"  #: another template on the host "m."
    SCHEME = "scheme"  #: the same page over http
    FOOTED = "footed"  #: a print view without captions, with a line that tells where it was printed from
    READ_MORE = "read-more"  #: an accelerated view without captions, with lines that recommend other pages
    APP = "app"  #: another template, without captions, with a line that recommends an application
    ARCHIVED = "archived"  #: a line above the text: the page is not updated any more
    TRANSLATED = "translated"  #: a line above the text: there are other languages, or who translated it
    REPRINT = "reprint"  #: the text on another site, in the template and under the name of that site


class Harder(StrEnum):
    """What a site may do to make its pages harder to tell apart."""

    NO_H1 = "no-h1"  #: the name of a page stands in its title only
    EQUAL_H1 = "equal-h1"  #: the only h1 of every page is the site's name
    EQUAL_TITLE = "equal-title"  #: the title of every page is the site's name
    BESIDE = "beside"  #: tables and definition lists stand in a side column


@dataclass(frozen=True, slots=True)
class Draft:
    """A page before it is set into a template."""

    path: str
    name: str  #: plain text
    body: str  #: HTML
    content: str = ""  #: default: the path
    lead: str = ""  #: HTML between name and body
    after: str = ""  #: HTML below the body, in the same column
    beside: str = ""  #: HTML in the side column
    head: str = ""  #: HTML in the head: JSON-LD, state of a script
    trail: tuple[str, ...] = ()  #: breadcrumbs
    heading: str = ""  #: HTML of the h1; default: the name
    title: str = ""  #: of the page, before the name of the site; default: the name
    copies: tuple[Copy, ...] = ()
    host: str = ""  #: default: that of the site
    layout: Layout | None = None  #: default: that of the site

    @property
    def shown(self) -> str:
        """The name that views and metadata show: pages whose heading is their title have no other."""
        return self.heading if self.heading and self.heading == self.title else self.name


@dataclass(frozen=True, slots=True)
class Frame:
    """What all pages of a site share."""

    name: str
    language: str
    menu: tuple[str, ...]
    footer: str  #: HTML
    side: str = "Related"  #: heading of the side column
    banner: str = ""  #: HTML of a consent banner


@dataclass(frozen=True, slots=True)
class View:
    """A draft with everything that its template needs."""

    draft: Draft
    frame: Frame
    url: str
    related: tuple[tuple[str, str], ...]  #: (name, path) of other pages
    title: str
    h1: str  #: HTML, "" without


#: Sets a page into a template.
Layout: TypeAlias = "Callable[[View], str]"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A site before its pages are set."""

    host: str
    frame: Frame
    layout: Layout
    drafts: tuple[Draft, ...]
    one_h1: bool = False  #: whether the only h1 of every page is the site's name
