"""From the plan of a page to what stands on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from dedupcrawl.demo.edits import Block, Reprint, apply

if TYPE_CHECKING:
    from datetime import datetime

    from dedupcrawl.demo.content import Article, Content, PlannedPage

_PART = re.compile(r"(?P<id>[^\[!]+)(?:\[(?P<first>\d*):(?P<last>\d*)\]|!(?P<ending>ending))?")


@dataclass(frozen=True, slots=True)
class Story:
    """What the template of an article page prints."""

    title: str
    author: str
    source: str
    published: datetime
    language: str
    keywords: tuple[str, ...]
    description: str
    blocks: tuple[Block, ...]
    links: tuple[tuple[str, str], ...] = ()  #: (phrase, target): links set inside the text
    continued: str = ""

    @property
    def text(self) -> str:
        """The whole body, a block a line."""
        return "\n".join(block.text for block in self.blocks)


def tell(content: Content, page: PlannedPage) -> Story:
    """Put a page together: its parts, then the edits."""
    article = content.articles[page.article]
    home = content.home(article.id)
    reprint = Reprint(
        article.language,
        home.name,
        article.author,
        article.caption,
        crc32(f"{page.site}{page.cluster}".encode()),
    )
    blocks = tuple(Block(text) for part in page.parts for text in _paragraphs(content, part))
    section = content.sites[page.site].section_of(article)
    return Story(
        title=_title(page, article),
        author=article.author,
        source=home.name,
        published=content.published(page),
        language=article.language,
        keywords=article.keywords,
        description=article.description,
        blocks=apply(page.edits, blocks, reprint),
        links=tuple((word, section.path) for word in article.keywords) if "links" in page.edits else (),
        continued=page.continued,
    )


def _title(page: PlannedPage, article: Article) -> str:
    if page.title:
        return page.title
    return article.other_title if "title" in page.edits else article.title


def _paragraphs(content: Content, part: str) -> tuple[str, ...]:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{part!r} names no part of an article")
    article = content.articles[match["id"]]
    if match["ending"]:
        return article.ending
    first, last = (int(match[name]) if match[name] else None for name in ("first", "last"))
    return article.paragraphs[first:last]
