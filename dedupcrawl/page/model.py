"""The result of reading a page, and the errors of reading one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from dedupcrawl.errors import DedupError

BINARY = "binary"  #: an image, an archive, an office document…, whatever the Content-Type is
TOO_LARGE = "too-large"  #: more bytes than ``ReadOptions.max_bytes``
TOO_DEEP = "too-deep"  #: tags nested so deep that the parser left out the rest of the page
TOO_MANY_ATTRIBUTES = "too-many-attributes"  #: more attributes on a tag than can be parsed in linear time


class PageError(DedupError):
    """The input is not a page that can be read.

    Args:
        reason: one short word; it becomes the reason of the ``unchecked`` verdict. The package uses
            :data:`BINARY`, :data:`TOO_LARGE`, :data:`TOO_DEEP` and :data:`TOO_MANY_ATTRIBUTES`.
        message: a sentence for people.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ReaderError(DedupError):
    """A user's reader raised an exception (the ``__cause__``), or returned something that is no main text."""

    @property
    def kind(self) -> str:
        """Class name of the cause. Used to log each kind of failure once."""
        return type(self.__cause__ or self).__name__


class Kind(StrEnum):
    """The kind of a page."""

    ARTICLE = "article"
    INDEX = "index"  #: nothing but guide links
    EMPTY = "empty"  #: no main text
    CONSENT = "consent"  #: no main text but a text that asks for consent to cookies


class Block(NamedTuple):
    """The text between two block boundaries, and whether it belongs to the main text.

    Lengths are in UTF-8 bytes after white space is normalised: one Chinese character (three bytes) then
    weighs about as much as the half of an English word that it stands for. A named tuple, because a page has
    hundreds.
    """

    text: str  #: lines (``<br>``) separated by ``\n``
    length: int
    link_length: int  #: bytes of ``length`` that are quasi-noise (text of links to web pages)
    links: int  #: number of links to web pages
    longest_run: int  #: most links in a row with nothing but separators between them
    tag: str  #: the element that holds the text
    kept: bool  #: whether the block belongs to the main text
    reason: str  #: why it was kept or removed, a constant of :mod:`dedupcrawl.page.rules`

    @property
    def link_density(self) -> float:
        """R of the link rules: quasi-noise bytes / all bytes, 0…1."""
        return self.link_length / self.length if self.length else 0.0


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the detectors see it: its main text and its metadata. Unknown metadata is ``""``."""

    url: str  #: of the page; "" if it is unknown
    text: str  #: main text, paragraphs separated by ``\n``
    title: str = ""
    language: str = ""  #: primary subtag of BCP 47 in lower case ("zh", "en")
    published: str = ""  #: publication time as the page writes it
    canonical: str = ""  #: canonical URL, absolute
    keywords: str = ""  #: content of ``<meta name=keywords>``
    description: str = ""  #: content of the description in the metadata
    blocks: tuple[Block, ...] = ()  #: in reading order; () without ``ReadOptions.blocks``
    kind: Kind = Kind.ARTICLE
    #: the main text that is compared, by the rules alone, if the block model chose another one for ``text``; else None.
    #: ``rest``, ``beside``, ``stated``, ``unread`` and the signatures belong to it
    compared: str | None = None
    #: other text of the page that is compared too: where it is longer than the main text; the titles of parts
    #: of the topic (reader ``"topic"``)
    rest: str = ""
    #: bytes of sentences that were removed, without links, landmarks and consent texts: where they are many times the
    #: main text, it may not be what the page is about
    unread: int = 0
    listed: int = 0  #: linked headings between the first and the last block of the compared text: other pages
    visible: str = ""  #: all text of a page without main text, where it is long enough to be compared
    titles: str = ""  #: all headings of the page, one a line (reader ``"topic"``)
    anchors: str = ""  #: text of topic-anchor blocks (reader ``"topic"``)
    heading: str = ""  #: the only ``<h1>`` that is no link; without any, the last ``<h2>`` before the main text
    beside: str = ""  #: all text that is neither main text nor a heading, a block a line
    #: the part of it without links that was removed for its position only, and what the pictures of the page show
    stated: str = ""
    #: signature of the removed text, where less than half was read (:mod:`dedupcrawl.page.signatures`)
    removed: bytes = b""
    files: bytes = b""  #: signature of the lists of links to files (:mod:`dedupcrawl.page.signatures`)
    fields: tuple[tuple[str, str], ...] = ()  #: of an item whose fields are judged each for itself: names and texts
    layout: bytes = b""  #: signature of the element structure (:mod:`dedupcrawl.page.signatures`); b"" if unknown

    @property
    def title_field(self) -> str:
        """Title and headings, a line each; those that the title contains, as it does with the site, are left out.

        The headings are ``titles``, or without any ``heading``, which takes the place of a title that it contains.
        """
        title, heading = (" ".join(name.split()).casefold() for name in (self.title, self.heading))
        if self.titles:
            others = [line for line in self.titles.split("\n") if " ".join(line.split()).casefold() not in title]
            return "\n".join(filter(None, [self.title, *others]))
        if heading in title:
            return self.title
        return self.heading if title in heading else f"{self.title}\n{self.heading}"

    def as_compared(self) -> Page:
        """Return the page with the main text that is compared."""
        return self if self.compared is None else replace(self, text=self.compared, compared=None)

    @classmethod
    def from_text(cls, text: str, url: str = "", title: str = "") -> Page:
        """Return a page made of plain text.

        Args:
            text: the main text, a paragraph a line.
            url: URL of the page.
            title: title of the page.
        """
        return cls(url=url, text=text, title=title, kind=Kind.ARTICLE if text.strip() else Kind.EMPTY)
