"""Which passage of the main text came from which block."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from dedupcrawl.inspecting.ink import ink

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_MISSED = 1000  #: lines that no block has, after which no more are looked for: each costs a look at all
GRAM = 6  #: letters by which a block is looked for in a main text that somebody else has put together


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of the main text that follow each other in one block."""

    text: str
    block: int | None  #: place of the block; None: no block has it as it stands


def passages(text: str, blocks: Sequence[tuple[int, str]]) -> list[Passage]:
    """Cut a main text into the passages of its blocks; joined by line ends they are the text.

    Args:
        text: the main text.
        blocks: the place and the text of each block that may be part of it, in reading order.
    """
    found: list[Passage] = []
    for line, block in _lines(text, blocks):
        if found and block is not None and found[-1].block == block:
            found[-1] = Passage(f"{found[-1].text}\n{line}", block)
        else:
            found.append(Passage(line, block))
    return found


def _lines(text: str, blocks: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int | None]]:
    """Look for each line behind the last one that was found, then from the beginning."""
    inks = [ink(each) for _, each in blocks]
    whole = "\n".join(inks)
    starts = [0, *accumulate(len(each) + 1 for each in inks)]
    at = missed = 0
    for line in text.split("\n"):
        wanted = ink(line)
        place = -1
        if wanted and missed < MOST_MISSED:
            place = whole.find(wanted, at)
            place = whole.find(wanted) if place < 0 else place
        if place < 0:
            missed += 1
            yield line, None
            continue
        at = place + len(wanted)
        yield line, blocks[bisect_right(starts, place) - 1][0]


def shares(text: str, blocks: Sequence[str]) -> list[float]:
    """Return for each block how much of its ink the main text has, 0…1, by runs of :data:`GRAM` letters."""
    said = ink(text)
    grams = {said[at : at + GRAM] for at in range(max(0, len(said) - GRAM + 1))}
    return [_share(ink(block), said, grams) for block in blocks]


def _share(block: str, said: str, grams: set[str]) -> float:
    if not block:
        return 0.0
    if len(block) <= GRAM:
        return float(block in said)
    mine = [block[at : at + GRAM] for at in range(len(block) - GRAM + 1)]
    return sum([gram in grams for gram in mine]) / len(mine)
