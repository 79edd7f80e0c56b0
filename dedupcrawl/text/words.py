"""Words and sentences.

In scripts with spaces, a word is a run of letters, digits and their marks. In other scripts:

* Chinese: the words found by the segmenter.
* Japanese: kanji as in Chinese; a run of hiragana or of katakana is one word.
* Thai, Khmer, Lao and others, for which jieba has no dictionary: the text between two spaces or punctuation
  marks. A user's own segmenter can do better.
"""

from __future__ import annotations

import functools
import logging
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.errors import MissingPackageError, SettingError
from dedupcrawl.page.time_limit import check_time
from dedupcrawl.text.normalize import CharacterKind, roles
from dedupcrawl.utils.optional import import_extra, require_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.text.normalize import Flags

Segmenter = Callable[[str], Iterable[str]]

SEGMENTER_ACCEPTED = '"jieba", "rjieba" or the dotted name of a function, "package.module:name"'
JIEBA_SEGMENTERS = ("jieba", "rjieba")  #: two implementations with the same result
_PROBE = "中文"  #: test input


def check_segmenter(name: str, setting: str = "segmenter") -> None:
    """Check that a segmenter can be used.

    jieba is the default, also of detectors that need no words, and is loaded at the first Han character, because that
    takes a second. :func:`require_segmenter` checks whether it is installed.

    Raises:
        SettingError: The segmenter does not exist, or fails on a Chinese word.
        MissingPackageError: rjieba is not installed.
    """
    if name == "jieba":
        return
    try:
        list(segment(name, _PROBE))
    except SettingError as error:
        raise SettingError(setting, name, error.accepted) from error
    except MissingPackageError:
        raise
    except Exception as error:  # a user's function may raise anything
        accepted = f"a function from str to an iterable of str; given {_PROBE!r} this one fails: {error!r}"
        raise SettingError(setting, name, accepted) from error


def require_segmenter(name: object, user: str) -> None:
    """Raise MissingPackageError if ``name`` is jieba, which ``user`` needs, and it is not installed."""
    if name == "jieba":
        require_extra("jieba", user, "zh")


def segment(name: str, run: str) -> Iterator[str]:
    """Yield the words of ``run``, a text without spaces; empty words and white space are ignored.

    Raises:
        SettingError: The segmenter does not exist.
        TypeError: A user's function yields something other than str. Its own exceptions are not caught.
    """
    for word in load_segmenter(name)(run):
        if not isinstance(word, str):
            raise TypeError(f"segmenter {name!r} returned {word!r}, which is not a str")
        if word.strip():
            yield word


@functools.cache
def load_segmenter(name: str) -> Segmenter:
    """Return the function of a segmenter.

    Raises:
        SettingError: The segmenter does not exist.
        MissingPackageError: jieba or rjieba is not installed.
    """
    if name == "jieba":
        return _load_jieba()
    if name == "rjieba":
        rust: Segmenter = import_extra("rjieba", "The segmenter rjieba", "rjieba").cut
        return rust
    try:
        function: Segmenter = pkgutil.resolve_name(name)
    except Exception as error:  # the user's module may raise anything when it is imported
        accepted = f"{SEGMENTER_ACCEPTED}; this one cannot be loaded: {error}"
        raise SettingError("segmenter", name, accepted) from error
    if not callable(function):
        raise SettingError("segmenter", name, f"{SEGMENTER_ACCEPTED}; this one is not a function")
    return function


def _load_jieba() -> Segmenter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports the retired pkg_resources and has invalid escapes
        jieba = import_extra("jieba", "The segmenter jieba", "zh")  # slow to import

    jieba.setLogLevel(logging.ERROR)
    segmenter: Segmenter = jieba.Tokenizer().cut
    return segmenter


_SEPARATOR, _PLACEHOLDER = "\n", "\0"  #: between runs, and in the place of a run that jieba does not get
#: Characters that jieba gets at a time. It needs 0.1 ms and 1 kB for a character of an unknown word, and a run without
#: punctuation may be as long as a page. Natural text has no run of this length.
_PIECE_LENGTH = 4096
_ASTRAL, _CODE_POINTS = 0x10000, 0x110000  #: code points beyond the basic plane, and their end
_HAN = ((0x3005, 0x3008), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x40000))
_JIEBA_HAN = ((0x4E00, 0x9FD6),)  #: Han characters that jieba segments; any other is a word
_HIRAGANA = ((0x3041, 0x30A0), (0x30FC, 0x30FD))  #: both kana include the long vowel mark
_KATAKANA = ((0x30A0, 0x3100), (0x31F0, 0x3200))

_CLOSERS = "\"'”’»›」』】》〉)\\]}"
_SENTENCE_END = re.compile(rf"([。！？｡!?.‼⁇⁈⁉।۔؟]+)[{_CLOSERS}]*")
_FULL_STOPS = frozenset("。｡.।۔")  #: of these marks, those that are neither "!" nor "?"
_LAST_WORD = re.compile(r"[a-z][a-z.]*$", re.IGNORECASE)
_LOOK_BACK_LENGTH = 16  #: characters before a full stop that are searched for an abbreviation
#: An initial, or an abbreviation that does not end a sentence.
_ABBREVIATION = re.compile(
    r"[a-z]|mr|mrs|ms|dr|prof|rev|hon|st|sr|jr|gen|col|sgt|capt|lt|gov|sen|rep|pres|vol|pp|vs|al|cf|fig"
    r"|inc|ltd|corp|co|bros|dept|est|approx|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|e\.g|i\.e|a\.m|p\.m|u\.s|u\.k|u\.n|ph\.d",
    re.IGNORECASE,
)


def words(text: str, segmenter: str = "jieba") -> tuple[str, ...]:
    """Return the words of ``text`` in order, without white space, punctuation and symbols.

    ``segmenter`` is "jieba" (github.com/fxsjy/jieba, loaded at the first Han character), "rjieba" (the same
    in Rust, an optional dependency), or the dotted name of a function from str to an iterable of str. The
    function gets every run of scripts without spaces, such as Han and kana together, or Thai. Empty words are
    ignored.

    Raises:
        SettingError: The segmenter does not exist.
        TypeError: The user's function returns something other than str. Its own exceptions are not caught.
    """
    split = _words_by_jieba if segmenter in JIEBA_SEGMENTERS else _words_by_function
    return split(text, segmenter)


def is_han(word: str) -> bool:
    """Whether a word begins with a Han character, so that a segmenter has produced it."""
    return _patterns().is_han(word) is not None


def is_unspaced(word: str) -> bool:
    """Whether a word is in a script without spaces, so that it depends on the segmenter."""
    return bool(roles()[ord(word[0])] == CharacterKind.CHARACTER)


def _words_by_jieba(text: str, segmenter: str) -> tuple[str, ...]:
    runs, is_segmented = _patterns().for_jieba.findall(text), _patterns().is_segmented
    others = [run for run in runs if not is_segmented(run)]
    if len(others) == len(runs):
        return tuple(runs)
    # One call for all Chinese is faster than hundreds of calls; placeholders replace the other words.
    chinese = _SEPARATOR.join([run if is_segmented(run) else _PLACEHOLDER for run in runs])
    replaced, cut = iter(others), load_segmenter(segmenter)
    found = (word for piece in _pieces(chinese) for word in cut(piece) if word != _SEPARATOR)
    return tuple([next(replaced) if word == _PLACEHOLDER else word for word in found])


def _pieces(text: str) -> Iterator[str]:
    """Yield a text of runs in pieces of at most ``_PIECE_LENGTH`` characters, cut within longer runs only."""
    start = 0
    while len(text) - start > _PIECE_LENGTH:
        check_time()
        stop = text.rfind(_SEPARATOR, start + 1, start + _PIECE_LENGTH)
        stop = stop if stop > 0 else start + _PIECE_LENGTH
        yield text[start:stop]
        start = stop
    yield text[start:]


def _words_by_function(text: str, segmenter: str) -> tuple[str, ...]:
    found: list[str] = []
    for run in _patterns().for_others.findall(text):
        check_time()
        found.extend(segment(segmenter, run) if is_unspaced(run) else (run,))
    return tuple(found)


class _PatternTable(NamedTuple):
    """Patterns of runs; jieba gets Han characters only, other segmenters all scripts without spaces."""

    is_han: Callable[[str], object]
    is_segmented: Callable[[str], object]  #: whether jieba gets a run
    for_jieba: re.Pattern[str]
    for_others: re.Pattern[str]


@functools.cache
def _patterns() -> _PatternTable:
    spaced, unspaced = roles() == CharacterKind.WORD, roles() == CharacterKind.CHARACTER
    han, segmented = unspaced & _members_of(_HAN), unspaced & _members_of(_JIEBA_HAN)
    kana = [unspaced & _members_of(ranges) for ranges in (_HIRAGANA, _KATAKANA)]
    others = unspaced & ~np.logical_or.reduce([han, *kana])
    single = f"[{_character_ranges(han & ~segmented, 0, _CODE_POINTS)}]"
    return _PatternTable(
        re.compile(f"[{_character_ranges(han, 0, _CODE_POINTS)}]").match,
        re.compile(f"[{_character_ranges(segmented, 0, _CODE_POINTS)}]").match,
        re.compile("|".join([*map(_run_pattern, (spaced, segmented, *kana, others)), single])),
        re.compile("|".join(map(_run_pattern, (spaced, unspaced)))),
    )


def _members_of(ranges: Iterable[tuple[int, int]]) -> Flags:
    members = np.zeros(_CODE_POINTS, bool)
    for start, stop in ranges:
        members[start:stop] = True
    return members


def _run_pattern(members: Flags) -> str:
    """Return the pattern of a run of these code points.

    Code points beyond the basic plane are in a separate guarded group: :mod:`re` uses a bitmap for the
    others, but a linear search for these.
    """
    basic, astral = _character_ranges(members, 0, _ASTRAL), _character_ranges(members, _ASTRAL, _CODE_POINTS)
    guarded = f"|(?=[\\U{_ASTRAL:08x}-\\U{_CODE_POINTS - 1:08x}])[{astral}]+" if astral else ""
    return f"(?:[{basic}]+{guarded})+"


def _character_ranges(members: Flags, start: int, stop: int) -> str:
    edges = np.flatnonzero(np.diff(members[start:stop].astype(np.int8), prepend=0, append=0)) + start
    return "".join(f"\\U{low:08x}-\\U{high - 1:08x}" for low, high in edges.reshape(-1, 2).tolist())


def sentence_ends(text: str, *, only_full_stops: bool = False) -> tuple[int, ...]:
    """Return the index after every sentence of ``text``, including closing quotation marks.

    With ``only_full_stops`` a sentence that ends with an exclamation or a question mark goes on.

    A full stop does not end a sentence inside a number or an address (``3.14``, ``example.com``), after an
    initial or a known abbreviation, or in an ellipsis. Case does not matter, because normalised text has
    none.
    """
    found = (match for match in _SENTENCE_END.finditer(text) if _is_sentence_end(text, match))
    return tuple(each.end() for each in found if not only_full_stops or not _FULL_STOPS.isdisjoint(each.group(1)))


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
    """Split ``text`` after every sentence and at every line break, without surrounding white space."""
    bounds = [0, *sentence_ends(text), len(text)]
    parts = (text[start:stop] for start, stop in pairwise(bounds))
    return [line.strip() for part in parts for line in part.splitlines() if line.strip()]
