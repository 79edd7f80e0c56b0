"""What editors do to a text that they reprint. Pure functions; the same input gives the same text."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.chunks import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or the caption of a photograph."""

    text: str
    caption: bool = False


@dataclass(frozen=True, slots=True)
class Reprint:
    """What an edit knows of the page it works on."""

    language: str
    source: str  #: name of the site that printed the article first
    author: str
    caption: str
    seed: int


Blocks = tuple[Block, ...]

_SENTENCE = re.compile(r"[^。！？]*[。！？]+[”’」]?|[^。！？]+$")
_ENGLISH_SENTENCE = re.compile(r"\S.*?(?:(?<=[.!?])|(?<=[.!?][”’\"']))(?=\s|$)|\S.*$", re.DOTALL)
_HALF_WIDTH = str.maketrans("，。：；？！（）", ",.:;?!()")
_FULL_WIDTH = str.maketrans({",": "，", ";": "；", ":": "：", "?": "？"})
_CORNERS = str.maketrans("“”‘’", "「」『』")
_TYPEWRITER = str.maketrans("“”‘’", "\"\"''")
_MISTAKEN = {
    "的": "得",
    "在": "再",
    "做": "作",
    "已": "己",
    "像": "象",
    "账": "帐",
    "需": "须",
    "那": "哪",
    "以": "已",
}
_SENTENCES_A_PARAGRAPH = 3
_TYPOS = 3
_LEAST_LETTERS = 6


def apply(names: tuple[str, ...], blocks: Blocks, reprint: Reprint) -> Blocks:
    """Apply the edits that change the body, in their order; others (title, links) are not ours."""
    for name in names:
        edit = EDITS.get(name)
        blocks = edit(blocks, reprint) if edit else blocks
    return blocks


def sentences(text: str, language: str) -> list[str]:
    """Cut a paragraph into sentences; joined again they give the paragraph but for white space."""
    pattern = _SENTENCE if language == "zh" else _ENGLISH_SENTENCE
    return [match.group().strip() for match in pattern.finditer(text)]


def _source(blocks: Blocks, reprint: Reprint) -> Blocks:
    zh = f"（据{reprint.source}消息，记者{reprint.author}）"
    en = f"By {reprint.author}, for {reprint.source}."
    return (Block(zh if reprint.language == "zh" else en), *blocks)


def _editor(blocks: Blocks, _reprint: Reprint) -> Blocks:
    return (*blocks, Block("（责任编辑：林朴）"))


def _caption(blocks: Blocks, reprint: Reprint) -> Blocks:
    return (*blocks[:2], Block(reprint.caption, caption=True), *blocks[2:])


def _width(blocks: Blocks, reprint: Reprint) -> Blocks:
    return _translated(blocks, _HALF_WIDTH if reprint.language == "zh" else _FULL_WIDTH)


def _quotes(blocks: Blocks, reprint: Reprint) -> Blocks:
    return _translated(blocks, _CORNERS if reprint.language == "zh" else _TYPEWRITER)


def _translated(blocks: Blocks, table: dict[int, str] | dict[int, int]) -> Blocks:
    return tuple(replace(block, text=block.text.translate(table)) for block in blocks)


def _drop_end(blocks: Blocks, reprint: Reprint) -> Blocks:
    *earlier, last = blocks
    rest = _joined(sentences(last.text, reprint.language)[:-1], reprint.language)
    return (*earlier, replace(last, text=rest)) if rest else tuple(earlier)


def _resplit(blocks: Blocks, reprint: Reprint) -> Blocks:
    captions = [block for block in blocks if block.caption]
    flow = (
        sentence
        for block in blocks
        if not block.caption
        for sentence in sentences(block.text, reprint.language)
    )
    groups = chunked(flow, _SENTENCES_A_PARAGRAPH)
    paragraphs = [Block(_joined(group, reprint.language)) for group in groups]
    return (*paragraphs[:2], *captions, *paragraphs[2:])


def _joined(parts: list[str], language: str) -> str:
    return ("" if language == "zh" else " ").join(parts)


def _typos(blocks: Blocks, reprint: Reprint) -> Blocks:
    choice = random.Random(reprint.seed)  # noqa: S311  # the same typos in every run
    text = "\n".join(block.text for block in blocks)
    mistaken = _mistake_characters if reprint.language == "zh" else _swap_letters
    texts = mistaken(text, choice).split("\n")
    return tuple(replace(block, text=text) for block, text in zip(blocks, texts, strict=True))


def _mistake_characters(text: str, choice: random.Random) -> str:
    places = [i for i, character in enumerate(text) if character in _MISTAKEN]
    characters = list(text)
    for place in choice.sample(places, min(_TYPOS, len(places))):
        characters[place] = _MISTAKEN[characters[place]]
    return "".join(characters)


def _swap_letters(text: str, choice: random.Random) -> str:
    words = [match.start() for match in re.finditer(rf"\b[a-z]{{{_LEAST_LETTERS},}}\b", text)]
    characters = list(text)
    for start in choice.sample(words, min(_TYPOS, len(words))):
        characters[start + 2], characters[start + 3] = characters[start + 3], characters[start + 2]
    return "".join(characters)


EDITS: Mapping[str, Callable[[Blocks, Reprint], Blocks]] = {
    "source": _source,
    "editor": _editor,
    "caption": _caption,
    "width": _width,
    "quotes": _quotes,
    "drop_end": _drop_end,
    "resplit": _resplit,
    "typos": _typos,
}
