"""Two texts cut into what both have and what differs, for a person to read.

Tokens are words, and single characters of scripts that set no spaces between words. First the runs of tokens
that stand once in each text are lined up (the longest rising sequence of them, as in patience diff), then
each gap between them is filled by its longest common subsequence, computed many places at a time.

Sources:
    H. Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004, from which the recurrence is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from dedupcrawl.text.normalize import UNSPACED
from dedupcrawl.tools.report.report_model import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    TokenMatch = tuple[int, int]  # places of two tokens that are the same, in the old and in the new text
    DiffPiece = tuple[str, str]

MAX_CHARS = 20_000  #: of each text; the rest is cut off
ANCHOR_TOKENS = 4  #: tokens of a run that is looked for in both texts
MAX_GAP_AREA = 1 << 26  #: tokens of both texts between two runs, multiplied; a larger gap is not filled
MAX_ISLAND_LETTERS = (
    12  #: letters of words that both texts have amid much else, up to which they are taken for chance
)
MAX_ISLAND_PASSES = 8  #: of leaving out such islands, each of which may make others of its neighbours

_UNSPACED_CLASS = "".join(f"{chr(start)}-{chr(stop - 1)}" for start, stop in UNSPACED)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED_CLASS}]")
_TOKEN = re.compile(rf"([{_UNSPACED_CLASS}]|[^\W{_UNSPACED_CLASS}]+|\S)(\s*)")
_SENTENCE_ENDS = frozenset(".!?…。！？")  #: of sentences
_LETTERS_PER_CHARACTER = 3  #: that a character of such a script counts for


@dataclass(frozen=True, slots=True)
class TextDiff:
    """Two texts side by side."""

    changes: tuple[Change, ...]  #: joined, their sides are the two texts, as far as they are shown
    is_cut: bool  #: whether a text is longer than what is shown of it


def compare_texts(old: str, new: str, most: int = MAX_CHARS) -> TextDiff:
    """Cut two texts into pieces that are equal and pieces that differ, by turns.

    The time grows with the lengths alone, whatever the texts say: some tenths of a second at worst.
    ``most`` characters of each are compared.
    """
    is_cut = max(len(old), len(new)) > most
    pieces = list(_pieces(_TokenizedText.of(old, most), _TokenizedText.of(new, most)))
    if is_cut and len(pieces) > 1 and "" in pieces[-1]:
        pieces.pop()  # the other text has it too, perhaps, beyond the cut
    return TextDiff(tuple(Change(*piece) for piece in pieces), is_cut)


@dataclass(frozen=True, slots=True)
class _TokenizedText:
    """The tokens of a text, and the blanks in front of the first and behind each of them."""

    words: tuple[str, ...]
    blanks: tuple[str, ...]  #: one more than there are words

    @classmethod
    def of(cls, text: str, most: int) -> _TokenizedText:
        """Cut a text up; of one that is too long, the word that the end is amid is left out too."""
        start = len(text[:most]) - len(text[:most].lstrip())
        found = _TOKEN.findall(text[:most], start)
        if len(text) > most and len(found) > 1:
            found.pop()
        return cls(tuple(word for word, _ in found), (text[:start], *(blank for _, blank in found)))

    def between(self, start: int, stop: int) -> str:
        """Return the text behind the blank ``start``, up to and with the blank ``stop - 1``."""
        pairs = zip(self.words[start:stop], self.blanks[start + 1 : stop + 1], strict=True)
        return "".join(part for pair in pairs for part in pair)


def _pieces(old: _TokenizedText, new: _TokenizedText) -> Iterator[DiffPiece]:
    """Return the pieces; neighbours of one kind are joined."""
    matches = _without_islands(old, new, _match_tokens(old.words, new.words))
    return _merge_pieces(_alternating_pieces(old, new, _align_to_sentences(old, new, matches)))


def _alternating_pieces(
    old: _TokenizedText, new: _TokenizedText, matches: Sequence[TokenMatch]
) -> Iterator[DiffPiece]:
    yield old.blanks[0], new.blanks[0]
    for (a, b), (next_a, next_b) in pairwise([(-1, -1), *matches, (len(old.words), len(new.words))]):
        yield old.between(a + 1, next_a), new.between(b + 1, next_b)
        if next_a < len(old.words):
            yield old.words[next_a], new.words[next_b]
            yield old.blanks[next_a + 1], new.blanks[next_b + 1]


def _merge_pieces(pieces: Iterable[DiffPiece]) -> Iterator[DiffPiece]:
    held = ("", "")
    for piece in pieces:
        if piece == ("", ""):
            continue
        if held == ("", "") or (held[0] == held[1]) == (piece[0] == piece[1]):
            held = (held[0] + piece[0], held[1] + piece[1])
        else:
            yield held
            held = piece
    if held != ("", ""):
        yield held


# -- which tokens are the same ----------------------------------------------------------------


def _match_tokens(old: Sequence[str], new: Sequence[str]) -> list[TokenMatch]:
    """Line up two sequences of tokens; both places rise."""
    start, end = _common_affixes(old, new)
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    inner = [(start + a, start + b) for a, b in _match_between_anchors(inner_old, inner_new)]
    first = [(place, place) for place in range(start)]
    last = [(len(old) - back, len(new) - back) for back in range(end, 0, -1)]
    return [*first, *inner, *last]


def _common_affixes(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many tokens both have at the beginning, and how many at the end."""
    most = min(len(old), len(new))
    start = next((place for place in range(most) if old[place] != new[place]), most)
    most -= start
    end = next((back for back in range(most) if old[-1 - back] != new[-1 - back]), most)
    return start, end


def _match_between_anchors(old: Sequence[str], new: Sequence[str]) -> Iterator[TokenMatch]:
    """Fill the gaps between the runs that both have."""
    begin = (0, 0)
    for a, b in [*_longest_increasing(_anchors(old, new)), (len(old), len(new))]:
        if a < begin[0] or b < begin[1]:  # the run before reached over it
            continue
        gap = _longest_common_subsequence(old[begin[0] : a], new[begin[1] : b])
        yield from ((begin[0] + left, begin[1] + right) for left, right in gap)
        same = 0
        while a + same < len(old) and b + same < len(new) and old[a + same] == new[b + same]:
            yield a + same, b + same
            same += 1
        begin = (a + same, b + same)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[TokenMatch]:
    """Return where the runs begin that stand once in each, by their place in the old text."""
    there = _unique_runs(new)
    return [(place, there[run]) for run, place in _unique_runs(old).items() if run in there]


def _unique_runs(tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
    runs = [tuple(tokens[place : place + ANCHOR_TOKENS]) for place in range(len(tokens) - ANCHOR_TOKENS + 1)]
    counts = Counter(runs)
    return {run: place for place, run in enumerate(runs) if counts[run] == 1}


def _longest_increasing(pairs: Sequence[TokenMatch]) -> list[TokenMatch]:
    """Return the longest part of ``pairs``, whose first numbers rise, in which the second ones rise too."""
    ends: list[int] = []  # the least last number of a rising sequence of each length
    last: list[int] = []  # the pair that has it
    before: list[int] = []
    for place, (_, new) in enumerate(pairs):
        length = bisect_left(ends, new)
        ends[length : length + 1] = [new]
        last[length : length + 1] = [place]
        before.append(last[length - 1] if length else -1)
    found, place = [], last[-1] if last else -1
    while place >= 0:
        found.append(pairs[place])
        place = before[place]
    return found[::-1]


def _longest_common_subsequence(old: Sequence[str], new: Sequence[str]) -> list[TokenMatch]:
    """Return a longest common subsequence; nothing where the gap is too large."""
    if not old or not new or len(old) * len(new) > MAX_GAP_AREA:
        return []
    places: dict[str, int] = {}
    for place, token in enumerate(old):
        places[token] = places.get(token, 0) | 1 << place
    row = whole = (1 << len(old)) - 1
    rows = [row]
    for token in new:
        hits = row & places.get(token, 0)
        row = (row + hits | row - hits) & whole
        rows.append(row)
    return _backtrack(old, new, rows)


def _backtrack(old: Sequence[str], new: Sequence[str], rows: Sequence[int]) -> list[TokenMatch]:
    """Follow the rows from the last to the first; a 0 at a place says that the subsequence grows there."""
    found, place, row = [], len(old) - 1, len(new)
    while place >= 0 and row > 0:
        if rows[row] >> place & 1:
            place -= 1
        elif not rows[row - 1] >> place & 1:
            row -= 1
        else:
            found.append((place, row - 1))
            place, row = place - 1, row - 1
    return found[::-1]


# -- what is the same by chance ---------------------------------------------------------------


def _without_islands(
    old: _TokenizedText, new: _TokenizedText, matches: Sequence[TokenMatch]
) -> Sequence[TokenMatch]:
    """Leave out the few words that two passages have in common by chance: "of the" joins nothing."""
    weights = _letter_offsets(old.words), _letter_offsets(new.words)
    for _ in range(MAX_ISLAND_PASSES):
        left = _drop_islands(weights, matches)
        if len(left) == len(matches):
            break
        matches = left
    return matches


def _drop_islands(weights: tuple[list[int], list[int]], matches: Sequence[TokenMatch]) -> list[TokenMatch]:
    """Leave out the blocks that are small and weigh less than what differs on either side of them."""
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
    """Return the runs of matches that follow each other: where they begin, and how long they are."""
    blocks: list[tuple[int, int, int]] = []
    for a, b in matches:
        if blocks and (a, b) == (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]):
            blocks[-1] = (*blocks[-1][:2], blocks[-1][2] + 1)
        else:
            blocks.append((a, b, 1))
    return blocks


def _letter_offsets(words: Sequence[str]) -> list[int]:
    """Return how many letters stand before each word, and behind the last."""
    return [
        0,
        *accumulate(
            _LETTERS_PER_CHARACTER if _UNSPACED_CHARACTER.match(word) else len(word) for word in words
        ),
    ]


# -- where a passage that only one text has begins --------------------------------------------


def _align_to_sentences(
    old: _TokenizedText, new: _TokenizedText, matches: Sequence[TokenMatch]
) -> list[TokenMatch]:
    """Let passages that were put in, or taken out, begin where a sentence does, where there is a choice.

    "b. a b. c" is "b. c" with either "a b. " or " a b." put in.
    """
    slid = list(matches)
    for place in range(1, len(slid)):
        (a, b), (c, d) = slid[place - 1], slid[place]
        if c == a + 1 and d > b + 1:
            _slide_passage(slid, place, new, 1)
        elif d == b + 1 and c > a + 1:
            _slide_passage(slid, place, old, 0)
    return slid


def _slide_passage(matches: list[TokenMatch], place: int, text: _TokenizedText, side: int) -> None:
    """Slide the passage before the match at ``place``, which only the text of this side has."""
    words, start, stop = text.words, matches[place - 1][side] + 1, matches[place][side]
    left = _slide_distance(
        matches, place - 1, -1, lambda step: words[start - 1 - step] == words[stop - 1 - step]
    )
    right = _slide_distance(matches, place, 1, lambda step: words[start + step] == words[stop + step])
    best = max(range(-left, right + 1), key=lambda by: (_start_score(text, start + by), -abs(by)))
    for step in range(abs(best)):
        moved, to = (place + step, start + step) if best > 0 else (place - 1 - step, stop - 1 - step)
        other = matches[moved][1 - side]
        matches[moved] = (to, other) if side == 0 else (other, to)


def _slide_distance(matches: Sequence[TokenMatch], place: int, way: int, fits: Callable[[int], bool]) -> int:
    """Return how far one can go from a match, as long as they follow each other and each fits."""
    a, b = matches[place]
    step = 0
    while 0 <= place < len(matches) and matches[place] == (a, b) and fits(step):
        place, a, b, step = place + way, a + way, b + way, step + 1
    return step


def _start_score(text: _TokenizedText, place: int) -> int:
    """Say how likely a reader is to see a beginning at a word."""
    if place == 0 or "\n" in text.blanks[place]:
        return 2
    return int(text.words[place - 1] in _SENTENCE_ENDS)
