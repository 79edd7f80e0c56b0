"""Words, for the methods that need them.

Where a script puts spaces between words, a word is a run of letters, digits and the marks on them. Elsewhere:

* Chinese: what the segmenter finds.
* Japanese: kanji as in Chinese; a run of hiragana, and one of katakana, is one word.
* Thai, Khmer, Lao and other scripts without spaces, for which jieba has no dictionary: a phrase, which is all
  that stands between two spaces or marks of punctuation. A user's own segmenter can do better.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.text.normalize import roles
from dedupcrawl.text.scripts import Role
from dedupcrawl.text.segmenters import JIEBA, load_segmenter, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.text.normalize import Flags

_BORDER, _PLACE = "\n", "\0"
_ASTRAL, _END = 0x10000, 0x110000  #: code points beyond the basic plane
_HAN = ((0x3005, 0x3008), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x40000))
_JIEBAS = ((0x4E00, 0x9FD6),)  #: Han characters that jieba cuts; any other is a word to it
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
    return _by_jieba(text, segmenter) if segmenter in JIEBA else _by_function(text, segmenter)


def is_han(word: str) -> bool:
    """Whether a word begins with a Han character: a segmenter has cut it."""
    return _patterns().is_han(word) is not None


def is_unspaced(word: str) -> bool:
    """Whether a word is of a script without spaces: how it is cut depends on the segmenter."""
    return bool(roles()[ord(word[0])] == Role.CHARACTER)


def _by_jieba(text: str, segmenter: str) -> tuple[str, ...]:
    runs, is_cut = _patterns().for_jieba.findall(text), _patterns().is_cut
    others = [run for run in runs if not is_cut(run)]
    if len(others) == len(runs):
        return tuple(runs)
    # One call for all Chinese costs less than hundreds; the rest is kept out of it, and put back after.
    chinese = _BORDER.join([run if is_cut(run) else _PLACE for run in runs])
    back = iter(others)
    cut = load_segmenter(segmenter)(chinese)
    return tuple([next(back) if piece == _PLACE else piece for piece in cut if piece != _BORDER])


def _by_function(text: str, segmenter: str) -> tuple[str, ...]:
    found: list[str] = []
    for run in _patterns().for_others.findall(text):
        found.extend(pieces(segmenter, run) if is_unspaced(run) else (run,))
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
    han, cut = unspaced & _within(_HAN), unspaced & _within(_JIEBAS)
    kana = [unspaced & _within(ranges) for ranges in (_HIRAGANA, _KATAKANA)]
    others = unspaced & ~np.logical_or.reduce([han, *kana])
    uncut = f"[{_ranges(han & ~cut, 0, _END)}]"
    return _Patterns(
        re.compile(f"[{_ranges(han, 0, _END)}]").match,
        re.compile(f"[{_ranges(cut, 0, _END)}]").match,
        re.compile("|".join([*map(_run, (spaced, cut, *kana, others)), uncut])),
        re.compile("|".join(map(_run, (spaced, unspaced)))),
    )


def _within(ranges: Iterable[tuple[int, int]]) -> Flags:
    members = np.zeros(_END, bool)
    for start, stop in ranges:
        members[start:stop] = True
    return members


def _run(members: Flags) -> str:
    """Return the pattern of a run of these code points.

    Those beyond the basic plane stand apart, behind a guard: :mod:`re` looks the others up in a bitmap, but
    walks through all ranges of these.
    """
    basic, astral = _ranges(members, 0, _ASTRAL), _ranges(members, _ASTRAL, _END)
    guarded = f"|(?=[\\U{_ASTRAL:08x}-\\U{_END - 1:08x}])[{astral}]+" if astral else ""
    return f"(?:[{basic}]+{guarded})+"


def _ranges(members: Flags, start: int, stop: int) -> str:
    edges = np.flatnonzero(np.diff(members[start:stop].astype(np.int8), prepend=0, append=0)) + start
    return "".join(f"\\U{low:08x}-\\U{high - 1:08x}" for low, high in edges.reshape(-1, 2).tolist())
