"""Where the common part of two texts is: at the beginning, in the middle, at the end, or everywhere.

The literature on copies of pages distinguishes them by the position of what they share. Sketches of detectors have no
positions: their hashes are sorted. An *outline* of a text has the lowest hashes of its runs of five tokens, each with
its place in the text. It is made where texts are at hand, and compared in place of the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.shingles import hash_runs

if TYPE_CHECKING:
    import numpy.typing as npt

    Entries = npt.NDArray[np.uint32]
    Counts = npt.NDArray[np.int64]

#: Positions of a common part. Of a page that contains the other one it is the part which is the other page.
WHOLE, BEGINNING, MIDDLE, END, BOTH_ENDS, MOVED, SCATTERED = POSITIONS = (
    "whole", "beginning", "middle", "end", "both ends", "moved", "scattered",
)  # fmt: skip
SAMPLE = 128  #: hashes of an outline that is stored, 4 bytes each
ALL = 1 << 14  #: hashes of an outline of a text that is at hand
RUN = 5  #: tokens that are hashed together: words, or characters of a script without spaces
MIN_COMMON = 3  #: minimum hashes of a common part; fewer are accidental
CONTAINED = 0.9  #: minimum share of a text that another text must have to contain it, as of an excerpt
COVERED = 0.5  #: minimum share of a third of a text that is common, or of all common parts that are in it
_PLACES = 256  #: places in a text that are told apart
_PARTS = 3  #: beginning, middle, end
_WHOLE_RANGE = (1 << 24) - 1  #: highest hash
_BY_PARTS: dict[tuple[bool, ...], str] = {
    (True, False, False): BEGINNING,
    (True, True, False): BEGINNING,
    (False, True, False): MIDDLE,
    (False, True, True): END,
    (False, False, True): END,
    (True, False, True): BOTH_ENDS,
    (True, True, True): WHOLE,
}


def outline(text: str, size: int = SAMPLE) -> bytes:
    """Return the outline of a text: 4 bytes for each hash, at most ``size`` hashes, and 4 bytes before them.

    The first four bytes are the highest hash up to which no hash is left out.
    """
    hashes = hash_runs(Features(Page.from_text(text)).tokens(0).hashes, RUN, 0) >> np.uint64(40)
    places = np.arange(len(hashes), dtype=np.uint64) * np.uint64(_PLACES) // np.uint64(max(1, len(hashes)))
    order = np.lexsort((places, hashes))  # of equal hashes the first place counts
    entries = (hashes << np.uint64(8) | places)[order].astype("<u4")
    is_first = np.ones(len(entries), bool)
    is_first[1:] = entries[1:] >> 8 != entries[:-1] >> 8
    entries = entries[is_first]
    until = _WHOLE_RANGE if len(entries) <= size else int(entries[size - 1] >> 8)
    return until.to_bytes(4, "little") + entries[:size].tobytes()


def common_position(new: bytes, old: bytes) -> str:
    """Return where the common part of two texts is, one of ``POSITIONS``; "" if they have none.

    Args:
        new: outline of one text.
        old: outline of the other.

    >>> first, last = " ".join(map(str, range(100))), " ".join(map(str, range(1000, 1100)))
    >>> common_position(outline(first), outline(f"{first} {last}")), common_position(outline(first), outline(last))
    ('beginning', '')
    """
    one, other = _comparable(new, old)
    mine, theirs = np.isin(one >> 8, other >> 8), np.isin(other >> 8, one >> 8)
    if np.count_nonzero(mine) < MIN_COMMON:
        return ""
    parts, other_parts = _common_parts(one, mine), _common_parts(other, theirs)
    if np.mean(mine) >= CONTAINED:
        parts = (True,) * _PARTS
    if np.mean(theirs) >= CONTAINED:
        other_parts = (True,) * _PARTS
    both = tuple(each and its for each, its in zip(parts, other_parts, strict=True))
    return _BY_PARTS.get(both) or (MOVED if any(parts) and any(other_parts) else SCATTERED)


def _comparable(new: bytes, old: bytes) -> tuple[Entries, Entries]:
    """Return the entries of two outlines up to the hash from which one of them is not whole."""
    one, other = (np.frombuffer(each, "<u4") for each in (new, old))
    until = min(one[:1].tolist() + other[:1].tolist(), default=0)
    return one[1:][one[1:] >> 8 <= until], other[1:][other[1:] >> 8 <= until]


def _common_parts(entries: Entries, common: npt.NDArray[np.bool_]) -> tuple[bool, ...]:
    """Return for each third of a text whether it is common."""
    parts = (entries & (_PLACES - 1)).astype(np.int64) * _PARTS // _PLACES
    all_of, shared = (np.bincount(each, minlength=_PARTS) for each in (parts, parts[common]))
    return tuple(
        bool(count >= COVERED * total or count >= COVERED * shared.sum()) and bool(count)
        for count, total in zip(shared.tolist(), all_of.tolist(), strict=True)
    )
