"""The lines of a text, and on how many pages of a site each stands; by the compiled kernel where it is in use.

A long text that a site repeats has more lines than are counted of one page. So *runs* of lines are counted too: a run
ends with a line whose hash is a multiple of ``RUN_LINES``, wherever it stands. So pages with other text around the same
lines have the same runs, except at either end (content-defined chunks: Muthitacharoen, Chen and Mazières, "A
low-bandwidth network file system", SOSP 2001). A line of a run is on as many pages as the run.
"""

from __future__ import annotations

from itertools import pairwise, repeat
from struct import pack
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from dedupcrawl.text import features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_READ_LINES = 1000  #: of a text; the others are neither counted nor left out
RUN_LINES = 16  #: mean number of lines of a run


class LineLimits(NamedTuple):
    """Which lines of a page are counted if it is kept."""

    least: int = 0  #: bytes of such a line
    new: int = 0  #: lines that no page has: so many of those next to lines that one has, or to an end of the text
    runs: int = 0  #: runs that no page has: so many of the first and last ones; 0: runs are not looked up


ANY_LINE = LineLimits()


class LineCounts(NamedTuple):
    """The lines of a text, one value for each of the first :data:`MAX_READ_LINES` in the lists."""

    hashes: list[int]  #: CRC-32 of the line in UTF-8
    sizes: list[int]  #: bytes of the line in UTF-8
    pages: list[int]  #: pages that have it or its run; 0 for an unknown line
    total: int  #: bytes of all these lines
    new: int  #: bytes of the lines that no page has
    known: int  #: bytes of the lines on at least ``known`` pages
    counted: tuple[int, ...] = ()  #: hashes of the lines and runs to count: those that a page has, then new ones
    fresh: int = 0  #: how many of these are new


def count_lines(text: str, pages: dict[int, int], known: int, limits: LineLimits = ANY_LINE) -> LineCounts:
    """Read the lines of a text. The compiled kernel takes a tenth of the time of Python, with the same result.

    Args:
        text: the lines, with newlines between them.
        pages: the CRC-32 of a line or of a run → pages that have it, 0 or more.
        known: so many pages make a line a known one.
        limits: which lines are counted.
    """
    if features.kernel is not None:
        return LineCounts(*features.kernel.count_lines(text, pages, known, MAX_READ_LINES, RUN_LINES, *limits))
    lines = encoded_lines(text)
    hashes, sizes = [*map(crc32, lines)], [*map(len, lines)]
    own = [*map(pages.get, hashes, repeat(0))]
    runs = [(line, pages.get(line, 0), places) for line, places in _runs(hashes)] if limits.runs else []
    counts = [*own]
    for _, number, places in runs:
        counts[places.start : places.stop] = [max(number, counts[place]) for place in places]
    new = sum([size for size, count in zip(sizes, counts, strict=True) if not count])
    repeated = sum([size for size, count in zip(sizes, counts, strict=True) if count >= known])
    seen = [line for line, size, count in zip(hashes, sizes, own, strict=True) if count and size >= limits.least]
    seen += [line for line, number, _ in runs if number]
    fresh = [hashes[place] for place in _nearest(sizes, counts, limits)]
    fresh += _ends([line for line, number, _ in runs if not number], limits.runs)
    return LineCounts(hashes, sizes, counts, sum(sizes), new, repeated, (*seen, *fresh), len(fresh))


def _runs(hashes: Sequence[int]) -> Iterator[tuple[int, range]]:
    """Yield the hash and the places of each run of at least two lines."""
    start = 0
    for stop, line in enumerate(hashes, 1):
        if line % RUN_LINES and stop < len(hashes):
            continue
        if stop - start > 1:
            yield crc32(pack(f">{stop - start}I", *hashes[start:stop])), range(start, stop)
        start = stop


def _nearest(sizes: Sequence[int], pages: Sequence[int], limits: LineLimits) -> list[int]:
    """Return the places of the new lines to count: the nearest ones; of those that are as near, the last ones."""
    seen = [-1, *(place for place, count in enumerate(pages) if count), len(pages)]
    nearness = [0] * len(pages)
    for first, last in pairwise(seen):
        nearness[first + 1 : last] = [min(place - first, last - place) for place in range(first + 1, last)]
    new = [place for place, size in enumerate(sizes) if not pages[place] and size >= limits.least]
    return sorted(sorted(new, key=lambda place: (nearness[place], -place))[: limits.new])


def _ends(runs: list[int], most: int) -> list[int]:
    """Return the first and last of some runs, ``most`` in all."""
    return runs if len(runs) <= most else runs[: most // 2] + runs[len(runs) - (most - most // 2) :]


def encoded_lines(text: str) -> list[bytes]:
    """Return the first :data:`MAX_READ_LINES` lines of a text in UTF-8; lone surrogates are encoded too."""
    return text.encode("utf-8", "surrogatepass").split(b"\n", MAX_READ_LINES)[:MAX_READ_LINES]


def without_lines(text: str, numbers: list[int], least: int) -> str:
    """Return a text without some of its lines.

    Args:
        text: the text.
        numbers: a number for each line that :func:`count_lines` has read. Later lines remain.
        least: lines with at least this number are left out.
    """
    if features.kernel is not None:
        own: str = features.kernel.without_lines(text, numbers, least)
        return own
    lines = text.split("\n", MAX_READ_LINES)
    kept = [line for line, number in zip(lines, numbers, strict=False) if number < least]
    return "\n".join(kept + lines[len(numbers) :])
