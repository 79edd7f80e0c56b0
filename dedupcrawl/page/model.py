"""The one error that reading a page can end with.

What reading a page yields.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dedupcrawl.errors import DedupError


class PageError(DedupError):
    """What was given is no page that can be read.

    ``reason`` is one short word for a verdict's ``unchecked`` reason: :data:`BINARY`, :data:`TOO_LARGE` or
    :data:`TOO_DEEP`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ReaderError(DedupError):
    """A reader of the user's own failed on a page, or returned what is no main text.

    What it raised is the cause.
    """

    @property
    def kind(self) -> str:
        """The name of what was raised: who logs a failure of each kind once tells them apart by it."""
        return type(self.__cause__ or self).__name__


BINARY = "binary"  #: an image, an archive, an office document… whatever its Content-Type says
TOO_LARGE = "too-large"  #: more bytes than ``ReadOptions.max_bytes``
TOO_DEEP = "too-deep"  #: tags nested so deep that the parser has left out the rest of the page


class Kind(StrEnum):
    """What a page is to a reader."""

    ARTICLE = "article"
    INDEX = "index"  #: nothing is left on it but guide links
    EMPTY = "empty"  #: no text at all


class Block(NamedTuple):
    """A run of text between two block boundaries, and what became of it.

    Lengths are in UTF-8 bytes after white space is folded, so that one Chinese character (three
    bytes) weighs about as much as the half of an English word that it stands for. A named tuple,
    because hundreds are made of every page.
    """

    text: str  #: lines (``<br>``) separated by ``\n``
    length: int
    link_length: int  #: of ``length``, how much is quasi-noise (text of links to web pages)
    links: int
    longest_run: int  #: most links in a row with nothing but separators between them
    tag: str  #: the element whose text this is
    kept: bool
    reason: str  #: why it was kept or cut, a name of :mod:`dedupcrawl.page.noise`

    @property
    def link_density(self) -> float:
        """R of the link rules: quasi-noise bytes / all bytes, 0…1."""
        return self.link_length / self.length if self.length else 0.0


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the detectors see it: its main text and what its head says of it."""

    url: str
    text: str  #: main text, paragraphs separated by ``\n``
    title: str = ""
    language: str = ""  #: primary subtag of BCP 47 in lower case ("zh", "en"), "" if not declared
    published: str = ""  #: as the page writes it, "" if it does not say
    canonical: str = ""
    keywords: str = ""
    description: str = ""
    blocks: tuple[Block, ...] = ()
    kind: Kind = Kind.ARTICLE
    rest: str = ""  #: what else the page states, where that is more than its main text; it is judged too
    anchors: str = ""  #: text of topic-anchor blocks (the patent's reader)

    @classmethod
    def from_text(cls, text: str, url: str = "", title: str = "") -> Page:
        """Make a page of plain text that needs no reading."""
        return cls(url=url, text=text, title=title, kind=Kind.ARTICLE if text.strip() else Kind.EMPTY)
