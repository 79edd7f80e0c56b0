"""The bundled web: articles, sites, the plan of the pages, and the stories that pages print.

Reprints are edited as editors do. The edits are pure functions: the same input gives the same text.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from zlib import crc32

from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.resources.abc import Traversable


WEB = files("dedupcrawl.tools.demo") / "web"
_SENTENCE = re.compile(r"[^。！？]*[。！？]+[”’」]?|[^。！？]+$")
_ENGLISH_SENTENCE = re.compile(r"\S.*?(?:(?<=[.!?])|(?<=[.!?][”’\"']))(?=\s|$)|\S.*$", re.DOTALL)
_HALF_WIDTH = str.maketrans("，。：；？！（）", ",.:;?!()")
_FULL_WIDTH = str.maketrans({",": "，", ";": "；", ":": "：", "?": "？"})
_CORNERS = str.maketrans("“”‘’", "「」『』")
_TYPEWRITER = str.maketrans("“”‘’", "\"\"''")
#: Characters that writers confuse, with the wrong one.
_HOMOPHONES = dict(zip("的在做已像账需那以", "得再作己象帐须哪已", strict=True))
_SENTENCES_A_PARAGRAPH = 3
_TYPOS = 3  #: typos in a text
_MIN_LETTERS = 6  #: letters of an English word with a typo
_PART = re.compile(r"(?P<id>[^\[!]+)(?:\[(?P<first>\d*):(?P<last>\d*)\]|!(?P<ending>ending))?")


@dataclass(frozen=True, slots=True)
class ArticleText:
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
    other_title: str = ""  #: headline of another editor
    caption: str = ""  #: of its photograph
    comments: bool = True  #: whether readers can comment on it
    ending: tuple[str, ...] = ()  #: last paragraphs of another story that starts like this one


@dataclass(frozen=True, slots=True)
class SectionConfig:
    """A list of articles on a site."""

    path: str
    label: str
    takes: tuple[str, ...]  #: sections of articles, or a foreign language


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """One of the five sites."""

    key: str
    name: str
    language: str
    charset: str  #: encoding of its pages
    declared: str  #: charset in the HTML head
    header: str  #: charset in the HTTP header; "": none
    sections: tuple[SectionConfig, ...]

    def section_of(self, article: ArticleText) -> SectionConfig:
        """Return the section that lists an article."""
        wanted = article.section if article.language == self.language else article.language
        return next(section for section in self.sections if wanted in section.takes)


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """A page with an article, and its labels."""

    site: str
    path: str  #: with its query; unique among pages with an article
    kind: str  #: "original", "reprint", "excerpt", …
    cluster: str  #: name of its content: equal for copies
    parts: tuple[str, ...]  #: its text: "ID", "ID[first:last]" (paragraphs), "ID!ending"
    edits: tuple[str, ...] = ()
    title: str = ""  #: "": that of the article
    delay: int = 0  #: hours after the article was first published
    view: str = "article"  #: template
    view_of: str = ""  #: path of the page that it is another view of
    continued: str = ""  #: path of its next page

    @property
    def article(self) -> str:
        """Id of its first article."""
        return self.parts[0].partition("[")[0].partition("!")[0]


@dataclass(frozen=True, slots=True)
class BundledCorpus:
    """The bundled web, before layout."""

    articles: Mapping[str, ArticleText]
    sites: Mapping[str, SiteConfig]
    pages: tuple[PlannedPage, ...]
    comments: Mapping[str, tuple[tuple[str, str], ...]] = field(repr=False)  #: language → (name, text)

    def published(self, page: PlannedPage) -> datetime:
        """Return when a site published a page."""
        return self.articles[page.article].published + timedelta(hours=page.delay)

    def home(self, article: str) -> SiteConfig:
        """Return the site that published an article first."""
        first = next(page for page in self.pages if page.cluster == article and not page.delay)
        return self.sites[first.site]


@cache
def load_content() -> BundledCorpus:
    """Read the bundled web."""
    articles = (
        _article(f"{folder.name}/{file.name.removesuffix('.toml')}", _toml(file))
        for folder in (WEB / "articles").iterdir()
        for file in folder.iterdir()
    )
    comments = _toml(WEB / "comments.toml").items()
    lines = (WEB / "pages.jsonl").read_text("utf-8").strip().split("\n")
    return BundledCorpus(
        articles={article.id: article for article in articles},
        sites={key: _site(key, row) for key, row in _toml(WEB / "sites.toml").items()},
        pages=tuple(_page(json.loads(line)) for line in lines),
        comments={language: tuple((row["name"], row["text"]) for row in rows) for language, rows in comments},
    )


def _toml(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _article(id: str, row: dict[str, Any]) -> ArticleText:
    paragraphs, ending = _paragraphs(row.pop("text")), _paragraphs(row.pop("ending", ""))
    keywords, language = tuple(row.pop("keywords")), id.partition("/")[0]
    return ArticleText(id=id, language=language, keywords=keywords, paragraphs=paragraphs, ending=ending, **row)


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.strip().split("\n\n")))


def _site(key: str, row: dict[str, Any]) -> SiteConfig:
    sections = tuple(SectionConfig(each["path"], each["label"], tuple(each["takes"])) for each in row.pop("sections"))
    return SiteConfig(key=key, sections=sections, **row)


def _page(row: dict[str, Any]) -> PlannedPage:
    parts, edits = tuple(row.pop("parts")), tuple(row.pop("edits", ()))
    return PlannedPage(parts=parts, edits=edits, **row)


@dataclass(frozen=True, slots=True)
class ArticleBlock:
    """A paragraph, or the caption of a photograph."""

    text: str
    caption: bool = False


@dataclass(frozen=True, slots=True)
class EditContext:
    """What edits need to know about a page."""

    language: str
    source: str  #: name of the site that published the article first
    author: str
    caption: str
    seed: int


Blocks = tuple[ArticleBlock, ...]


def apply_edits(names: tuple[str, ...], blocks: Blocks, reprint: EditContext) -> Blocks:
    """Apply the edits of the body in order; other edits (title, links) are ignored."""
    for name in names:
        edit = EDITS.get(name)
        blocks = edit(blocks, reprint) if edit else blocks
    return blocks


def sentences(text: str, language: str) -> list[str]:
    """Split a paragraph into sentences; joined, they give the paragraph except for white space."""
    pattern = _SENTENCE if language == "zh" else _ENGLISH_SENTENCE
    return [match.group().strip() for match in pattern.finditer(text)]


def _source(blocks: Blocks, reprint: EditContext) -> Blocks:
    zh = f"（据{reprint.source}消息，记者{reprint.author}）"
    en = f"By {reprint.author}, for {reprint.source}."
    return (ArticleBlock(zh if reprint.language == "zh" else en), *blocks)


def _translated(blocks: Blocks, table: dict[int, str] | dict[int, int]) -> Blocks:
    return tuple(replace(block, text=block.text.translate(table)) for block in blocks)


def _drop_end(blocks: Blocks, reprint: EditContext) -> Blocks:
    *earlier, last = blocks
    rest = _joined(sentences(last.text, reprint.language)[:-1], reprint.language)
    return (*earlier, replace(last, text=rest)) if rest else tuple(earlier)


def _resplit(blocks: Blocks, reprint: EditContext) -> Blocks:
    captions = [block for block in blocks if block.caption]
    bodies = [block.text for block in blocks if not block.caption]
    flow = (sentence for text in bodies for sentence in sentences(text, reprint.language))
    groups = chunked(flow, _SENTENCES_A_PARAGRAPH)
    paragraphs = [ArticleBlock(_joined(group, reprint.language)) for group in groups]
    return (*paragraphs[:2], *captions, *paragraphs[2:])


def _joined(parts: list[str], language: str) -> str:
    return ("" if language == "zh" else " ").join(parts)


def _typos(blocks: Blocks, reprint: EditContext) -> Blocks:
    choice = random.Random(reprint.seed)  # noqa: S311  # the same typos in every run
    text = "\n".join(block.text for block in blocks)
    mistaken = _mistake_characters if reprint.language == "zh" else _swap_letters
    texts = mistaken(text, choice).split("\n")
    return tuple(replace(block, text=text) for block, text in zip(blocks, texts, strict=True))


def _mistake_characters(text: str, choice: random.Random) -> str:
    places = [i for i, character in enumerate(text) if character in _HOMOPHONES]
    characters = list(text)
    for place in choice.sample(places, min(_TYPOS, len(places))):
        characters[place] = _HOMOPHONES[characters[place]]
    return "".join(characters)


def _swap_letters(text: str, choice: random.Random) -> str:
    words = [match.start() for match in re.finditer(rf"\b[a-z]{{{_MIN_LETTERS},}}\b", text)]
    characters = list(text)
    for start in choice.sample(words, min(_TYPOS, len(words))):
        characters[start + 2], characters[start + 3] = characters[start + 3], characters[start + 2]
    return "".join(characters)


EDITS: Mapping[str, Callable[[Blocks, EditContext], Blocks]] = {
    "source": _source,
    "editor": lambda blocks, _: (*blocks, ArticleBlock("（责任编辑：林朴）")),
    "caption": lambda blocks, page: (*blocks[:2], ArticleBlock(page.caption, caption=True), *blocks[2:]),
    "width": lambda blocks, page: _translated(blocks, _HALF_WIDTH if page.language == "zh" else _FULL_WIDTH),
    "quotes": lambda blocks, page: _translated(blocks, _CORNERS if page.language == "zh" else _TYPEWRITER),
    "drop_end": _drop_end,
    "resplit": _resplit,
    "typos": _typos,
}


@dataclass(frozen=True, slots=True)
class ArticlePage:
    """What the template of an article page shows."""

    title: str
    author: str
    source: str
    published: datetime
    language: str
    keywords: tuple[str, ...]
    description: str
    blocks: tuple[ArticleBlock, ...]
    links: tuple[tuple[str, str], ...] = ()  #: (phrase, target) of links in the text
    continued: str = ""

    @property
    def text(self) -> str:
        """The body, one line per block."""
        return "\n".join(block.text for block in self.blocks)


def write_story(content: BundledCorpus, page: PlannedPage) -> ArticlePage:
    """Return the story of a page: its parts, edited."""
    article = content.articles[page.article]
    home = content.home(article.id)
    seed = crc32(f"{page.site}{page.cluster}".encode())
    reprint = EditContext(article.language, home.name, article.author, article.caption, seed)
    blocks = tuple(ArticleBlock(text) for part in page.parts for text in _paragraphs_of_part(content, part))
    section = content.sites[page.site].section_of(article)
    return ArticlePage(
        title=page.title or (article.other_title if "title" in page.edits else article.title),
        author=article.author,
        source=home.name,
        published=content.published(page),
        language=article.language,
        keywords=article.keywords,
        description=article.description,
        blocks=apply_edits(page.edits, blocks, reprint),
        links=tuple((word, section.path) for word in article.keywords) if "links" in page.edits else (),
        continued=page.continued,
    )


def _paragraphs_of_part(content: BundledCorpus, part: str) -> tuple[str, ...]:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{part!r} names no part of an article")
    article = content.articles[match["id"]]
    if match["ending"]:
        return article.ending
    first, last = (int(match[name]) if match[name] else None for name in ("first", "last"))
    return article.paragraphs[first:last]
