"""Words, for the methods that need them.

Where a script puts spaces between words, a word is a run of letters, digits and the marks on them. Elsewhere:

* Chinese: what the segmenter finds.
* Japanese: kanji as in Chinese; a run of hiragana, and one of katakana, is one word.
* Thai, Khmer, Lao and other scripts without spaces, for which jieba has no dictionary: a phrase, which is all
  that stands between two spaces or marks of punctuation. A user's own segmenter can do better.

Where sentences end.
"""

from __future__ import annotations

import functools
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.text.normalize import Role, roles
from dedupcrawl.text.segmenters import JIEBA_SEGMENTERS, load_segmenter, segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.text.normalize import Flags


_SEPARATOR, _PLACEHOLDER = "\n", "\0"
_ASTRAL, _CODE_POINTS = 0x10000, 0x110000  #: code points beyond the basic plane
_HAN = ((0x3005, 0x3008), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x40000))
_JIEBA_HAN = ((0x4E00, 0x9FD6),)  #: Han characters that jieba cuts; any other is a word to it
_HIRAGANA = ((0x3041, 0x30A0), (0x30FC, 0x30FD))  #: both with the mark of a long vowel
_KATAKANA = ((0x30A0, 0x3100), (0x31F0, 0x3200))


def words(text: str, segmenter: str = "jieba") -> tuple[str, ...]:
    """Return the words of ``text`` in order, without white space, punctuation and symbols.

    ``segmenter`` is "jieba" (github.com/fxsjy/jieba, which is loaded, and its dictionary read, when the first
    Han character is met), "rjieba" (the same in Rust, an optional dependency), or the dotted name of a
    function from str to an iterable of str. Such a function gets every run of a script without spaces: Han
    and kana together, or Thai. What it gives of white space or nothing is left out.

    Raises:
        SettingError: there is no such segmenter.
        TypeError: the user's function gives something other than str. What it raises itself is not caught.
    """
    return (
        _words_by_jieba(text, segmenter)
        if segmenter in JIEBA_SEGMENTERS
        else _words_by_function(text, segmenter)
    )


def is_han(word: str) -> bool:
    """Whether a word begins with a Han character: a segmenter has cut it."""
    return _patterns().is_han(word) is not None


def is_unspaced(word: str) -> bool:
    """Whether a word is of a script without spaces: how it is cut depends on the segmenter."""
    return bool(roles()[ord(word[0])] == Role.CHARACTER)


def _words_by_jieba(text: str, segmenter: str) -> tuple[str, ...]:
    runs, is_cut = _patterns().for_jieba.findall(text), _patterns().is_cut
    others = [run for run in runs if not is_cut(run)]
    if len(others) == len(runs):
        return tuple(runs)
    # One call for all Chinese costs less than hundreds; the rest is kept out of it, and put back after.
    chinese = _SEPARATOR.join([run if is_cut(run) else _PLACEHOLDER for run in runs])
    back = iter(others)
    cut = load_segmenter(segmenter)(chinese)
    return tuple([next(back) if piece == _PLACEHOLDER else piece for piece in cut if piece != _SEPARATOR])


def _words_by_function(text: str, segmenter: str) -> tuple[str, ...]:
    found: list[str] = []
    for run in _patterns().for_others.findall(text):
        found.extend(segment(segmenter, run) if is_unspaced(run) else (run,))
    return tuple(found)


class _Patterns(NamedTuple):
    """What one run is; jieba knows Han characters only, other segmenters get all that has no spaces."""

    is_han: Callable[[str], object]
    is_cut: Callable[[str], object]
    for_jieba: re.Pattern[str]
    for_others: re.Pattern[str]


@functools.cache
def _patterns() -> _Patterns:
    spaced, unspaced = roles() == Role.WORD, roles() == Role.CHARACTER
    han, cut = unspaced & _members_of(_HAN), unspaced & _members_of(_JIEBA_HAN)
    kana = [unspaced & _members_of(ranges) for ranges in (_HIRAGANA, _KATAKANA)]
    others = unspaced & ~np.logical_or.reduce([han, *kana])
    uncut = f"[{_character_ranges(han & ~cut, 0, _CODE_POINTS)}]"
    return _Patterns(
        re.compile(f"[{_character_ranges(han, 0, _CODE_POINTS)}]").match,
        re.compile(f"[{_character_ranges(cut, 0, _CODE_POINTS)}]").match,
        re.compile("|".join([*map(_run_pattern, (spaced, cut, *kana, others)), uncut])),
        re.compile("|".join(map(_run_pattern, (spaced, unspaced)))),
    )


def _members_of(ranges: Iterable[tuple[int, int]]) -> Flags:
    members = np.zeros(_CODE_POINTS, bool)
    for start, stop in ranges:
        members[start:stop] = True
    return members


def _run_pattern(members: Flags) -> str:
    """Return the pattern of a run of these code points.

    Those beyond the basic plane stand apart, behind a guard: :mod:`re` looks the others up in a bitmap, but
    walks through all ranges of these.
    """
    basic, astral = _character_ranges(members, 0, _ASTRAL), _character_ranges(members, _ASTRAL, _CODE_POINTS)
    guarded = f"|(?=[\\U{_ASTRAL:08x}-\\U{_CODE_POINTS - 1:08x}])[{astral}]+" if astral else ""
    return f"(?:[{basic}]+{guarded})+"


def _character_ranges(members: Flags, start: int, stop: int) -> str:
    edges = np.flatnonzero(np.diff(members[start:stop].astype(np.int8), prepend=0, append=0)) + start
    return "".join(f"\\U{low:08x}-\\U{high - 1:08x}" for low, high in edges.reshape(-1, 2).tolist())


_CLOSERS = "\"'”’»›」』】》〉)\\]}"
_SENTENCE_END = re.compile(rf"([。！？｡!?.‼⁇⁈⁉।۔؟]+)[{_CLOSERS}]*")
_LAST_WORD = re.compile(r"[a-z][a-z.]*$", re.IGNORECASE)
_LOOK_BACK_LENGTH = 16  #: characters before a full stop in which an abbreviation is looked for

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
    return tuple(match.end() for match in _SENTENCE_END.finditer(text) if _is_sentence_end(text, match))


def _is_sentence_end(text: str, match: re.Match[str]) -> bool:
    marks = match.group(1)
    if marks.strip("."):
        return True
    following = text[match.end() : match.end() + 1]
    if len(marks) > 1 or (following > " " and following.isascii()):
        return False
    before = _LAST_WORD.search(text, max(0, match.start() - _LOOK_BACK_LENGTH), match.start())
    return before is None or _ABBREVIATION.fullmatch(before.group()) is None


def sentences(text: str) -> list[str]:
    """Cut ``text`` behind every sentence and at every line break; white space around is dropped."""
    cuts = [0, *sentence_ends(text), len(text)]
    pieces = (text[start:stop] for start, stop in pairwise(cuts))
    return [line.strip() for piece in pieces for line in piece.splitlines() if line.strip()]
