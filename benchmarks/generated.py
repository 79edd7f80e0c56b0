"""A corpus of generated documents, without any download: ``python -m benchmarks.generated COUNT FILE``.

English documents are made of phrases of Python's own manual (``pydoc_data``), Chinese ones of random characters. A
third of the documents reprint an earlier one: unchanged, with a line of the reprinting site, or with some words
changed. Memory does not grow with the number of documents.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from pydoc_data import topics
from random import Random
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

CHARACTERS = 2600  #: of a document, on average
CHINESE = 0.3  #: share of Chinese documents, as in :mod:`benchmarks.corpora`
REPRINTED = 0.34  #: share of reprints
KEPT = 2000  #: earlier documents that may be reprinted
_PHRASE = 12  #: words of a phrase, at most
_LINE = 14  #: phrases of a paragraph
_HAN = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))


def documents(count: int, seed: int = 1) -> Iterator[dict[str, str]]:
    """Yield documents with the keys ``url`` and ``text``; the same ones for the same seed."""
    rng = Random(seed)
    words = " ".join(topics.topics.values()).split()
    earlier: list[str] = []
    for number in range(count):
        if earlier and rng.random() < REPRINTED:
            text = _reprint(rng.choice(earlier), rng)
        else:
            text = _chinese(rng) if rng.random() < CHINESE else _english(words, rng)
            if len(earlier) < KEPT:
                earlier.append(text)
            else:
                earlier[rng.randrange(KEPT)] = text
        yield {"url": f"https://site{rng.randrange(500)}.example/{number}.html", "text": text}


def _english(words: list[str], rng: Random) -> str:
    length, wanted = 0, CHARACTERS * rng.uniform(0.5, 1.5)
    lines, phrases = [], []
    while length < wanted:
        start = rng.randrange(len(words) - _PHRASE)
        phrase = " ".join(words[start : start + rng.randint(2, _PHRASE)])
        phrases.append(phrase)
        length += len(phrase) + 1
        if len(phrases) == _LINE:
            lines.append(" ".join(phrases))
            phrases = []
    lines.append(" ".join(phrases))
    return "\n".join(lines)


def _chinese(rng: Random) -> str:
    characters = "".join(rng.choices(_HAN, k=round(CHARACTERS * rng.uniform(0.5, 1.5))))
    return "。\n".join(characters[at : at + 40] for at in range(0, len(characters), 40))


def _reprint(text: str, rng: Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return text
    if kind < 0.7:
        return f"{text}\nSource: example news {rng.randrange(10**6)}"
    words = text.split(" ")
    for _ in range(3):
        words[rng.randrange(len(words))] = "changed"
    return " ".join(words)


def write(count: int, path: Path, seed: int = 1) -> None:
    """Write documents as JSON Lines."""
    with path.open("wb") as file:
        for document in documents(count, seed):
            file.write(orjson.dumps(document) + b"\n")


def split(source: Path, folder: Path, parts: int = 16) -> None:
    """Write the lines of a file to files of about the same size in a new folder, in order."""
    folder.mkdir()
    size = source.stat().st_size // parts + 1
    with source.open("rb") as lines:
        for number in range(parts):
            (folder / f"{number:02}.jsonl").write_bytes(b"".join(lines.readlines(size)))


def main() -> int:
    """Write a corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    write(given.count, given.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
