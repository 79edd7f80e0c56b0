"""Pairs of pages about which a person may be asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

MOST_CHARS = 50_000  #: of a text that goes with a label; the rest is cut off
_TITLE = 1_000  #: characters of a title


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two pages."""

    url: str
    title: str
    text: str  #: main text
    is_cut: bool = False  #: whether the text is longer

    @classmethod
    def of(cls, url: str, title: str, text: str, most: int = MOST_CHARS) -> Side:
        """Cut what is too long; see :func:`whole`."""
        return cls(whole(url), whole(title[:_TITLE]), whole(text[:most]), len(text) > most)


@dataclass(frozen=True)
class OfferedPair:
    """Two pages that a run held against each other, and what it made of them."""

    new: Side
    old: Side
    relation: str  #: "" for a near miss
    similarity: float  #: by ``detector``
    detector: str  #: that decided; of a near miss the one that measured the most
    cluster: str  #: of the older page
    is_dropped: bool = False

    @cached_property
    def id(self) -> str:
        """The same for the same two texts, whichever came first, and wherever they stand."""
        one, other = sorted(_digest(side.text) for side in (self.new, self.old))
        return (one + other).hex()


def whole(text: str) -> str:
    """Replace halves of characters, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()
