"""Pages of made sites: their texts, their HTML, and what the truth says about them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5
from html import escape
from typing import TypeAlias

SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
FUNCTION_WORDS = (
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "for",
    "it",
    "was",
    "on",
    "with",
    "as",
    "by",
    "from",
)
PADDING = f"<!-- {'x' * 6000} -->"  #: a page of the web is mostly markup
NAVIGATION = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in ("Home", "Contact", "Imprint"))

#: A URL, absolute or relative, and the text of its link.
Link: TypeAlias = tuple[str, str]


def chance(*key: object) -> random.Random:
    """Return a source of random numbers that depends on the key only."""
    return random.Random(md5(repr(key).encode()).digest())


@lru_cache(maxsize=1)
def vocabulary() -> list[str]:
    """Return 6,000 words of two to four syllables."""
    source = chance("vocabulary")
    return ["".join(source.choice(SYLLABLES) for _ in range(source.randint(2, 4))) for _ in range(6000)]


@lru_cache(maxsize=8192)
def paragraphs(content: str, words: int = 220) -> tuple[str, ...]:
    """Return the text of a content: sentences about a topic of its own, four to a paragraph."""
    source = chance("text", content)
    topic = source.sample(vocabulary(), 80)
    sentences, count = list[str](), 0
    while count < words:
        length = source.randint(9, 18)
        chosen = [source.choice(FUNCTION_WORDS if source.random() < 0.4 else topic) for _ in range(length)]
        sentences.append(f"{' '.join(chosen).capitalize()}.")
        count += length
    return tuple(" ".join(sentences[at : at + 4]) for at in range(0, len(sentences), 4))


@lru_cache(maxsize=8192)
def title(content: str) -> str:
    """Return the title of a content: four words."""
    return " ".join(chance("title", content).sample(vocabulary(), 4)).title()


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page, and what it is worth."""

    content: str  #: name of its content if it is an article; "": a list, a wall or an error
    heading: str
    text: tuple[str, ...] = ()  #: paragraphs
    links: tuple[Link, ...] = ()
    status: int = 200

    def html(self) -> bytes:
        """Return the page as a server sends it."""
        main = f"<h1>{self.heading}</h1>"
        if self.text:
            main = f"<article>{main}{''.join(f'<p>{each}</p>' for each in self.text)}</article>"
        links = "".join(f'<li><a href="{escape(url)}">{text}</a></li>' for url, text in self.links)
        return (
            f'<!doctype html><html lang="en"><head><title>{self.heading}</title></head><body>'
            f"<nav><ul>{NAVIGATION}</ul></nav>{main}<div class='links'><ul>{links}</ul></div>"
            f"<footer>All rights reserved.</footer>{PADDING}</body></html>"
        ).encode()


def article(content: str, links: list[Link] | None = None, heading: str = "") -> MadePage:
    """Return the page of an article."""
    return MadePage(content, heading or title(content), paragraphs(content), tuple(links or ()))


def listing(links: list[Link], heading: str = "Section") -> MadePage:
    """Return a page of links."""
    return MadePage("", heading, (), tuple(links))


def named(urls: list[str]) -> list[Link]:
    """Return links whose texts are their URLs."""
    return [(url, url) for url in urls]
