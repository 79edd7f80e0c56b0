"""Where sentences end."""

from __future__ import annotations

import re
from itertools import pairwise

_CLOSERS = "\"'”’»›」』】》〉)\\]}"
_ENDS = re.compile(rf"([。！？｡!?.‼⁇⁈⁉।۔؟]+)[{_CLOSERS}]*")
_LAST_WORD = re.compile(r"[a-z][a-z.]*$", re.IGNORECASE)
_LOOK_BACK = 16  #: characters before a full stop in which an abbreviation is looked for

#: An initial, or an abbreviation that is followed by more of its sentence.
_ABBREVIATION = re.compile(
    r"[a-z]|mr|mrs|ms|dr|prof|rev|hon|st|sr|jr|gen|col|sgt|capt|lt|gov|sen|rep|pres|vol|pp|vs|al|cf|fig"
    r"|inc|ltd|corp|co|bros|dept|est|approx|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|e\.g|i\.e|a\.m|p\.m|u\.s|u\.k|u\.n|ph\.d",
    re.IGNORECASE,
)


def sentence_ends(text: str) -> tuple[int, ...]:
    """Return the index behind every sentence of ``text``, closing quotation marks included.

    A full stop ends no sentence inside a number or an address (``3.14``, ``example.com``), behind an
    initial or a known abbreviation, nor in an ellipsis. The text may be in any case: capitals are
    not looked at, because normalised text has none.
    """
    return tuple(match.end() for match in _ENDS.finditer(text) if _ends(text, match))


def _ends(text: str, match: re.Match[str]) -> bool:
    marks = match.group(1)
    if marks.strip("."):
        return True
    following = text[match.end() : match.end() + 1]
    if len(marks) > 1 or (following > " " and following.isascii()):
        return False
    before = _LAST_WORD.search(text, max(0, match.start() - _LOOK_BACK), match.start())
    return before is None or _ABBREVIATION.fullmatch(before.group()) is None


def sentences(text: str) -> list[str]:
    """Cut ``text`` behind every sentence and at every line break; white space around is dropped."""
    cuts = [0, *sentence_ends(text), len(text)]
    pieces = (text[start:stop] for start, stop in pairwise(cuts))
    return [line.strip() for piece in pieces for line in piece.splitlines() if line.strip()]
