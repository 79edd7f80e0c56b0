"""Deduplicating a file as a user of datasketch or rensa would: ``python -m benchmarks.peers NAME IN OUT``.

Reads texts from JSON Lines, writes the numbers of the kept lines. Both use our shingles of lower-case text,
128 slots and the threshold 0.8. As in dedupcrawl, a hit of the index is verified by the estimated similarity,
and a page is dropped only for a match with a kept one. Without either they drop more pages, wrongly.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SLOTS, THRESHOLD = 128, 0.8
_CHARACTERS, _WORDS = 5, 3
_HAN = re.compile(r"[\u3400-\u9fff]")


def cut(text: str) -> list[str]:
    """Return shingles: five characters if most characters are Chinese, else three words."""
    low = text.lower()
    if len(_HAN.findall(low)) > 0.25 * len(low):
        joined = re.sub(r"\W+", "", low)
        return [joined[at : at + _CHARACTERS] for at in range(len(joined) - _CHARACTERS + 1)]
    words = re.findall(r"\w+", low)
    return [" ".join(words[at : at + _WORDS]) for at in range(len(words) - _WORDS + 1)]


def by_datasketch(texts: Iterator[str]) -> Iterator[int]:
    """Yield the kept lines."""
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415  # no script pays for the import of the other

    index = MinHashLSH(threshold=THRESHOLD, num_perm=SLOTS)
    kept: dict[int, MinHash] = {}
    for number, text in enumerate(texts):
        sketch = MinHash(SLOTS)
        sketch.update_batch([shingle.encode() for shingle in cut(text)])
        if not any(kept[hit].jaccard(sketch) >= THRESHOLD for hit in index.query(sketch)):
            index.insert(number, sketch)
            kept[number] = sketch
            yield number


def by_rensa(texts: Iterator[str]) -> Iterator[int]:
    """Yield the kept lines."""
    from rensa import RMinHash, RMinHashLSH  # noqa: PLC0415

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=SLOTS, num_bands=16)
    kept: dict[int, RMinHash] = {}
    for number, text in enumerate(texts):
        sketch = RMinHash(num_perm=SLOTS, seed=1)
        sketch.update(cut(text))
        if not any(kept[hit].jaccard(sketch) >= THRESHOLD for hit in index.query(sketch)):
            index.insert(number, sketch)
            kept[number] = sketch
            yield number


PEERS: dict[str, Callable[[Iterator[str]], Iterator[int]]] = {"datasketch": by_datasketch, "rensa": by_rensa}


def main(name: str, source: str, target: str) -> None:
    """Deduplicate a file."""
    with Path(source).open("rb") as lines:
        kept = PEERS[name](orjson.loads(line)["text"] for line in lines)
        Path(target).write_text("\n".join(map(str, kept)), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
