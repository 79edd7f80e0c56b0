"""What it costs to have copies kept: ``python -m benchmarks.evasion [--json FILE]``.

Somebody who wants copies of a text to be stored changes each of them a little, at random. Each change is made to
copies of five texts of 180 words and of five texts of 1,200 words, made of sentences of Python's own manual. A
deduplicator with default settings judges the page with the text, and then its copies: 19 of each text, 95 for each
change and length. On one site, the first page is changed likewise. On another site, the copies are of a page that is as
it was. The figures are how many copies are kept, and how; with the default settings, and on one site also with
``sibling`` in ``DEDUP_DROP``.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from pydoc_data import topics
from random import Random
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl import Config, Deduplicator
from dedupcrawl.detectors.base import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WORDS = (180, 1200)  #: of a text
TEXTS = 5  #: of each length
COPIES = 19  #: of each text
FIRST = "first.example"
OTHER = "second.example"
SENTENCES = 3  #: of a paragraph
_SENTENCE_WORDS = (8, 30)
#: Cyrillic letters that look like Latin ones.
_HOMOGLYPHS = str.maketrans("aceopxyi", "асеорхуі")
_ZERO_WIDTH = "\u200b"
_SOFT_HYPHEN = "\u00ad"
_MONTHS = ("January", "March", "May", "June", "August", "October", "November")


@dataclass(frozen=True)
class Draft:
    """A page before it is HTML."""

    title: str
    heading: str
    paragraphs: tuple[str, ...]
    before: tuple[str, ...] = ()  #: lines between heading and text
    after: tuple[str, ...] = ()  #: lines below the text
    extra: str = ""  #: HTML below the text
    menu: tuple[str, ...] = field(default=("Home", "News", "About us"))

    def html(self) -> str:
        """Return the page."""
        lines = (*self.before, *self.paragraphs, *self.after)
        text = "".join(f"<p>{escape(line)}</p>\n" for line in lines)
        menu = "".join(f'<li><a href="/{number}">{entry}</a></li>' for number, entry in enumerate(self.menu))
        return (
            f"<!DOCTYPE html><html lang=en><head><title>{escape(self.title)}</title></head><body><ul>{menu}</ul>"
            f"<main><article><h1>{escape(self.heading)}</h1>\n{text}{self.extra}</article></main>"
            "<footer><p>All rights reserved.</p></footer></body></html>"
        )

    def with_text(self, change: Callable[[str], str]) -> Draft:
        """Return the page with other paragraphs."""
        return replace(self, paragraphs=tuple(map(change, self.paragraphs)))


@cache
def sentences() -> tuple[str, ...]:
    """Return sentences of Python's manual that are prose."""
    prose = " ".join(" ".join(topics.topics.values()).split())
    found = re.findall(r"(?<=\. )[A-Z][a-z ,;\-]+\.(?= )", prose)
    low, high = _SENTENCE_WORDS
    return tuple(dict.fromkeys(each for each in found if low <= len(each.split()) <= high))


def text_of(words: int, chance: Random) -> tuple[str, ...]:
    """Return paragraphs of about so many words."""
    chosen = iter(chance.sample(sentences(), len(sentences())))
    taken: list[str] = []
    while sum(len(each.split()) for each in taken) < words:
        taken.append(next(chosen))
    return tuple(" ".join(taken[start : start + SENTENCES]) for start in range(0, len(taken), SENTENCES))


def draft(words: int, seed: int) -> Draft:
    """Return a page with a text of its own."""
    chance = Random(f"{words} {seed}")
    name = " ".join(chance.choice(sentences()).rstrip(".").split()[:5])
    return Draft(f"{name} - The Manual", name, text_of(words, chance))


# -- changes ------------------------------------------------------------------------------------


def _number(chance: Random) -> str:
    return str(chance.randrange(10_000, 100_000))


def _word(chance: Random) -> str:
    return "".join(chance.choices("bcdfghklmnprstvw", k=3)) + "".join(chance.choices("aeiou", k=3))


def _date(chance: Random) -> str:
    return f"{chance.randint(1, 28)} {chance.choice(_MONTHS)} {chance.randint(1990, 2024)}"


def _prose(count: int, chance: Random) -> str:
    return " ".join(chance.sample(sentences(), count))


def _insert(page: Draft, text: str, chance: Random) -> Draft:
    at = chance.randrange(1, len(page.paragraphs))
    return replace(page, paragraphs=(*page.paragraphs[:at], text, *page.paragraphs[at:]))


def _in_sentence(page: Draft, what: str, chance: Random) -> Draft:
    at = chance.randrange(len(page.paragraphs))
    words = page.paragraphs[at].split()
    words.insert(chance.randrange(1, len(words)), what)
    return replace(page, paragraphs=(*page.paragraphs[:at], " ".join(words), *page.paragraphs[at + 1 :]))


def _share(page: Draft, share: float, chance: Random) -> Draft:
    """Add a text of this share of the words of the page."""
    words = sum(len(each.split()) for each in page.paragraphs)
    return replace(page, after=text_of(round(share * words), chance))


def _shuffled_sentences(page: Draft, chance: Random) -> Draft:
    taken = re.findall(r"[^.]+\.", " ".join(page.paragraphs))
    chance.shuffle(taken)
    groups = range(0, len(taken), SENTENCES)
    return replace(page, paragraphs=tuple(" ".join(taken[at : at + SENTENCES]).strip() for at in groups))


def _replaced(page: Draft, every: int, chance: Random) -> Draft:
    """Replace one word of so many by another one."""
    return page.with_text(
        lambda text: " ".join(_word(chance) if chance.randrange(every) == 0 else word for word in text.split())
    )


def _in_words(page: Draft, mark: str, chance: Random) -> Draft:
    """Insert a character into a word of five."""

    def marked(word: str) -> str:
        return word[:2] + mark + word[2:] if len(word) > 3 and chance.randrange(5) == 0 else word

    return page.with_text(lambda text: " ".join(map(marked, text.split())))


def _homoglyphs(page: Draft, every: int, chance: Random) -> Draft:
    return page.with_text(
        lambda text: " ".join(
            word.translate(_HOMOGLYPHS) if chance.randrange(every) == 0 else word for word in text.split()
        )
    )


#: What is changed at random in each copy.
CHANGES: Mapping[str, Callable[[Draft, Random], Draft]] = {
    "nothing but the URL": lambda page, _: page,
    "a number in the title": lambda page, chance: replace(page, title=f"{page.title} {_number(chance)}"),
    "a number in the heading": lambda page, chance: replace(page, heading=f"{page.heading} {_number(chance)}"),
    "a word in the heading": lambda page, chance: replace(page, heading=f"{page.heading} {_word(chance)}"),
    'a line "Ref 12345" below the text': lambda page, chance: replace(page, after=(f"Ref {_number(chance)}",)),
    'a line "Ref 12345" above the text': lambda page, chance: replace(page, before=(f"Ref {_number(chance)}",)),
    "a line with a date above the text": lambda page, chance: replace(page, before=(_date(chance),)),
    "a price below the text": lambda page, chance: replace(page, after=(f"Price: {_number(chance)} EUR",)),
    "a number in a sentence": lambda page, chance: _in_sentence(page, _number(chance), chance),
    "a date in a sentence": lambda page, chance: _in_sentence(page, f"on {_date(chance)}", chance),
    "a word in a sentence": lambda page, chance: _in_sentence(page, _word(chance), chance),
    "one sentence": lambda page, chance: _insert(page, _prose(1, chance), chance),
    "a paragraph of three sentences": lambda page, chance: _insert(page, _prose(SENTENCES, chance), chance),
    "a text half as long": lambda page, chance: _share(page, 0.5, chance),
    "the order of the paragraphs": lambda page, chance: replace(
        page, paragraphs=tuple(chance.sample(page.paragraphs, len(page.paragraphs)))
    ),
    "the order of the sentences": _shuffled_sentences,
    "one word of 100": lambda page, chance: _replaced(page, 100, chance),
    "one word of 20": lambda page, chance: _replaced(page, 20, chance),
    "Cyrillic letters in one word of 20": lambda page, chance: _homoglyphs(page, 20, chance),
    "Cyrillic letters in all words": lambda page, chance: _homoglyphs(page, 1, chance),
    "zero-width spaces in words": lambda page, chance: _in_words(page, _ZERO_WIDTH, chance),
    "soft hyphens in words": lambda page, chance: _in_words(page, _SOFT_HYPHEN, chance),
    "a hidden paragraph": lambda page, chance: replace(
        page, extra=f'<p style="display:none">{_prose(SENTENCES, chance)}</p>'
    ),
    "a picture with a text": lambda page, chance: replace(page, extra=f'<img src="/1.jpg" alt="{_prose(1, chance)}">'),
    "the menu": lambda page, chance: replace(page, menu=tuple(_word(chance) for _ in page.menu)),
}


# -- the judgement ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Where copies are, and how they are judged."""

    name: str
    site: str
    drops_siblings: bool = False

    def config(self, threshold: float) -> Config:
        """Return the settings."""
        drop = Config().drop | ({Relation.SIBLING} if self.drops_siblings else set())
        return Config(drop=drop, threshold=threshold)


CASES = (
    Case("same_site", FIRST),
    Case("same_site_siblings_dropped", FIRST, drops_siblings=True),
    Case("other_site", OTHER),
)


def judge(change: str, words: int, site: str, config: Config) -> Counter[str]:
    """Return how many copies are dropped, and how many are kept as what."""
    found: Counter[str] = Counter()
    for seed in range(TEXTS):
        page, chance = draft(words, seed), Random(f"{change} {seed}")
        with Deduplicator(config=config) as dedup:
            first = CHANGES[change](page, chance) if site == FIRST else page
            dedup.add(html=first.html(), url=f"https://{FIRST}/article")
            for number in range(COPIES):
                copy = CHANGES[change](page, chance)
                verdict = dedup.add(html=copy.html(), url=f"https://{site}/{number}")
                found["dropped" if not verdict.keep else verdict.relation or verdict.reason or verdict.status] += 1
    return found


def measure(changes: Sequence[str], threshold: float) -> dict[str, dict[str, Counter[str]]]:
    """Judge the copies of all changes; print a line for each."""
    columns = [(f"{case.name}_{words}", words, case) for words in WORDS for case in CASES]
    print(f"kept of {TEXTS * COPIES}".ljust(36), *(name.rjust(32) for name, _, _ in columns))
    found: dict[str, dict[str, Counter[str]]] = {}
    for change in changes:
        found[change] = {name: judge(change, words, case.site, case.config(threshold)) for name, words, case in columns}
        print(change.ljust(36), *(_shown(each).rjust(32) for each in found[change].values()), flush=True)
    return found


def _shown(cell: Counter[str]) -> str:
    kept = cell.total() - cell["dropped"]
    how = ", ".join(name for name, _ in cell.most_common() if name != "dropped")
    return f"{kept} ({how})" if kept else "0"


def main() -> None:
    """Print how many copies are kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--changes", nargs="+", choices=CHANGES, default=tuple(CHANGES), metavar="CHANGE")
    parser.add_argument("--threshold", type=float, default=Config().threshold)
    add_json_option(parser)
    asked = parser.parse_args()
    found = measure(asked.changes, asked.threshold)
    kept = {
        change: {name: {"kept": cell.total() - cell["dropped"], **cell} for name, cell in cells.items()}
        for change, cells in found.items()
    }
    write_results(asked.json, "evasion", figures={"words": WORDS, "copies": TEXTS * COPIES, "changes": kept})


if __name__ == "__main__":
    main()
