"""A word diff of two texts, for readers.

Tokens are words, and single characters of scripts without spaces between words. Runs of tokens that occur
once in each text are anchors, as in patience diff: their longest increasing subsequence is matched. Each gap
between anchors is filled with the longest common subsequence, computed bit-parallel.

Source of the recurrence:
    H. Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING

from dedupcrawl.text.normalize import UNSPACED
from dedupcrawl.tools.report.report_model import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    TokenMatch = tuple[int, int]  # indexes of equal tokens in the old and the new text
    DiffPiece = tuple[str, str]

MAX_CHARS = 20_000  #: characters of each text that are compared
ANCHOR_TOKENS = 4  #: tokens of an anchor
MAX_GAP_AREA = 1 << 26  #: tokens of a gap in the old text times those in the new text; larger gaps are not filled
MAX_ISLAND_LETTERS = 12  #: letters of a short match between large differences, which is ignored as accidental
MAX_ISLAND_PASSES = 8  #: passes that remove such matches; a removal can isolate its neighbours

_UNSPACED_CLASS = "".join(f"{chr(start)}-{chr(stop - 1)}" for start, stop in UNSPACED)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED_CLASS}]")
_TOKEN = re.compile(rf"([{_UNSPACED_CLASS}]|[^\W{_UNSPACED_CLASS}]+|\S)(\s*)")
_SENTENCE_ENDS = frozenset(".!?…。！？")  #: last tokens of sentences
_LETTERS_PER_CHARACTER = 3  #: a character of a script without spaces counts as so many letters


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The diff of two texts."""

    changes: tuple[Change, ...]  #: their joined sides are the compared parts of the texts
    is_cut: bool  #: whether a text is longer than the compared part


def compare_texts(old: str, new: str, most: int = MAX_CHARS) -> TextComparison:
    """Compare the first ``most`` characters of two texts; equal and different pieces alternate.

    The time depends on the lengths only: at most some tenths of a second with the default.
    """
    is_cut = max(len(old), len(new)) > most
    tokens = _DiffTable.of(old, most), _DiffTable.of(new, most)
    matches = _without_islands(*tokens, _match_tokens(tokens[0].words, tokens[1].words))
    pieces = list(_merge_pieces(_alternating_pieces(*tokens, _align_to_sentences(*tokens, matches))))
    if is_cut and len(pieces) > 1 and "" in pieces[-1]:
        pieces.pop()  # the other text may have it too, beyond the limit
    return TextComparison(tuple(Change(*piece) for piece in pieces), is_cut)


@dataclass(frozen=True, slots=True)
class _DiffTable:
    """The tokens of a text, and the whitespace before the first and after each of them."""

    words: tuple[str, ...]
    blanks: tuple[str, ...]  #: whitespace, one more than words

    @classmethod
    def of(cls, text: str, most: int) -> _DiffTable:
        """Tokenize a text; the last token of a truncated text is left out, since it may be incomplete."""
        start = len(text[:most]) - len(text[:most].lstrip())
        found = _TOKEN.findall(text[:most], start)
        if len(text) > most and len(found) > 1:
            found.pop()
        return cls(tuple(word for word, _ in found), (text[:start], *(blank for _, blank in found)))

    def between(self, start: int, stop: int) -> str:
        """Return the text of the words from ``start`` to ``stop - 1``, with the whitespace after each."""
        pairs = zip(self.words[start:stop], self.blanks[start + 1 : stop + 1], strict=True)
        return "".join(part for pair in pairs for part in pair)


def _alternating_pieces(old: _DiffTable, new: _DiffTable, matches: Sequence[TokenMatch]) -> Iterator[DiffPiece]:
    yield old.blanks[0], new.blanks[0]
    for (a, b), (next_a, next_b) in pairwise([(-1, -1), *matches, (len(old.words), len(new.words))]):
        yield old.between(a + 1, next_a), new.between(b + 1, next_b)
        if next_a < len(old.words):
            yield old.words[next_a], new.words[next_b]
            yield old.blanks[next_a + 1], new.blanks[next_b + 1]


def _merge_pieces(pieces: Iterable[DiffPiece]) -> Iterator[DiffPiece]:
    texts = (piece for piece in pieces if piece != ("", ""))
    for _, group in groupby(texts, key=lambda piece: piece[0] == piece[1]):
        old, new = zip(*group, strict=True)
        yield "".join(old), "".join(new)


# -- matching tokens --------------------------------------------------------------------------


def _match_tokens(old: Sequence[str], new: Sequence[str]) -> list[TokenMatch]:
    """Match two sequences of tokens; both indexes increase."""
    start, end = _common_affixes(old, new)
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    inner = [(start + a, start + b) for a, b in _match_between_anchors(inner_old, inner_new)]
    first = [(index, index) for index in range(start)]
    last = [(len(old) - back, len(new) - back) for back in range(end, 0, -1)]
    return [*first, *inner, *last]


def _common_affixes(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the lengths of the common prefix and the common suffix."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if old[index] != new[index]), most)
    most -= start
    end = next((back for back in range(most) if old[-1 - back] != new[-1 - back]), most)
    return start, end


def _match_between_anchors(old: Sequence[str], new: Sequence[str]) -> Iterator[TokenMatch]:
    """Match anchors, extend them, and fill the gaps between them."""
    begin = (0, 0)
    for a, b in [*_longest_increasing(_anchors(old, new)), (len(old), len(new))]:
        if a < begin[0] or b < begin[1]:  # inside the extension of the anchor before
            continue
        gap = _longest_common_subsequence(old[begin[0] : a], new[begin[1] : b])
        yield from ((begin[0] + left, begin[1] + right) for left, right in gap)
        same = 0
        while a + same < len(old) and b + same < len(new) and old[a + same] == new[b + same]:
            yield a + same, b + same
            same += 1
        begin = (a + same, b + same)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[TokenMatch]:
    """Return the starts of the runs that occur once in each text, by their index in the old text."""
    there = _unique_runs(new)
    return [(index, there[run]) for run, index in _unique_runs(old).items() if run in there]


def _unique_runs(tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
    runs = [tuple(tokens[index : index + ANCHOR_TOKENS]) for index in range(len(tokens) - ANCHOR_TOKENS + 1)]
    counts = Counter(runs)
    return {run: index for index, run in enumerate(runs) if counts[run] == 1}


def _longest_increasing(pairs: Sequence[TokenMatch]) -> list[TokenMatch]:
    """Return the longest subsequence with increasing second numbers; the first numbers increase already."""
    ends: list[int] = []  # the lowest last number of an increasing subsequence of each length
    last: list[int] = []  # its last pair
    before: list[int] = []
    for index, (_, new) in enumerate(pairs):
        length = bisect_left(ends, new)
        ends[length : length + 1] = [new]
        last[length : length + 1] = [index]
        before.append(last[length - 1] if length else -1)
    found, index = [], last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _longest_common_subsequence(old: Sequence[str], new: Sequence[str]) -> list[TokenMatch]:
    """Return a longest common subsequence; nothing if the gap is too large."""
    if not old or not new or len(old) * len(new) > MAX_GAP_AREA:
        return []
    positions: dict[str, int] = {}
    for index, token in enumerate(old):
        positions[token] = positions.get(token, 0) | 1 << index
    row = whole = (1 << len(old)) - 1
    rows = [row]
    for token in new:
        hits = row & positions.get(token, 0)
        row = (row + hits | row - hits) & whole
        rows.append(row)
    return _backtrack(old, new, rows)


def _backtrack(old: Sequence[str], new: Sequence[str], rows: Sequence[int]) -> list[TokenMatch]:
    """Follow the rows from the last to the first; a 0 bit marks where the subsequence grows."""
    found, index, row = [], len(old) - 1, len(new)
    while index >= 0 and row > 0:
        if rows[row] >> index & 1:
            index -= 1
        elif not rows[row - 1] >> index & 1:
            row -= 1
        else:
            found.append((index, row - 1))
            index, row = index - 1, row - 1
    return found[::-1]


# -- accidental matches -----------------------------------------------------------------------


def _without_islands(old: _DiffTable, new: _DiffTable, matches: Sequence[TokenMatch]) -> Sequence[TokenMatch]:
    """Remove short accidental matches ("of the") between passages that differ."""
    weights = _letter_offsets(old.words), _letter_offsets(new.words)
    for _ in range(MAX_ISLAND_PASSES):
        left = _drop_islands(weights, matches)
        if len(left) == len(matches):
            break
        matches = left
    return matches


def _drop_islands(weights: tuple[list[int], list[int]], matches: Sequence[TokenMatch]) -> list[TokenMatch]:
    """Remove blocks that are short, and shorter than the differences on both sides."""
    old, new = weights
    blocks = _match_blocks(matches)
    edges = [(0, 0, 0), *blocks, (len(old) - 1, len(new) - 1, 0)]
    gaps = [
        max(old[next_a] - old[a + length], new[next_b] - new[b + length])
        for (a, b, length), (next_a, next_b, _) in pairwise(edges)
    ]
    return [
        (a + step, b + step)
        for (a, b, length), around in zip(blocks, pairwise(gaps), strict=True)
        if old[a + length] - old[a] > min(*around, MAX_ISLAND_LETTERS)
        for step in range(length)
    ]


def _match_blocks(matches: Sequence[TokenMatch]) -> list[tuple[int, int, int]]:
    """Return runs of adjacent matches: their starts in both texts, and their lengths."""
    blocks: list[tuple[int, int, int]] = []
    for a, b in matches:
        if blocks and (a, b) == (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]):
            blocks[-1] = (*blocks[-1][:2], blocks[-1][2] + 1)
        else:
            blocks.append((a, b, 1))
    return blocks


def _letter_offsets(words: Sequence[str]) -> list[int]:
    """Return the number of letters before each word, and in total."""
    letters = (_LETTERS_PER_CHARACTER if _UNSPACED_CHARACTER.match(word) else len(word) for word in words)
    return list(accumulate(letters, initial=0))


# -- boundaries of insertions and deletions ---------------------------------------------------


def _align_to_sentences(old: _DiffTable, new: _DiffTable, matches: Sequence[TokenMatch]) -> list[TokenMatch]:
    """Move insertions and deletions to the start of a sentence where there is a choice.

    "b. a b. c" is "b. c" with either "a b. " or " a b." inserted.
    """
    slid = list(matches)
    for index in range(1, len(slid)):
        (a, b), (c, d) = slid[index - 1], slid[index]
        if c == a + 1 and d > b + 1:
            _slide_passage(slid, index, new, 1)
        elif d == b + 1 and c > a + 1:
            _slide_passage(slid, index, old, 0)
    return slid


def _slide_passage(matches: list[TokenMatch], index: int, text: _DiffTable, side: int) -> None:
    """Move the passage before the match at ``index``, which only the text of this side has."""
    words, start, stop = text.words, matches[index - 1][side] + 1, matches[index][side]
    left = _slide_distance(matches, index - 1, -1, lambda step: words[start - 1 - step] == words[stop - 1 - step])
    right = _slide_distance(matches, index, 1, lambda step: words[start + step] == words[stop + step])
    best = max(range(-left, right + 1), key=lambda by: (_start_score(text, start + by), -abs(by)))
    for step in range(abs(best)):
        moved, to = (index + step, start + step) if best > 0 else (index - 1 - step, stop - 1 - step)
        other = matches[moved][1 - side]
        matches[moved] = (to, other) if side == 0 else (other, to)


def _slide_distance(matches: Sequence[TokenMatch], index: int, way: int, fits: Callable[[int], bool]) -> int:
    """Return the number of adjacent matches from ``index`` on for which ``fits`` is true."""
    a, b = matches[index]
    step = 0
    while 0 <= index < len(matches) and matches[index] == (a, b) and fits(step):
        index, a, b, step = index + way, a + way, b + way, step + 1
    return step


def _start_score(text: _DiffTable, index: int) -> int:
    """Score a word as the start of a passage: 2 for a line, 1 for a sentence, 0 otherwise."""
    if index == 0 or "\n" in text.blanks[index]:
        return 2
    return int(text.words[index - 1] in _SENTENCE_ENDS)
