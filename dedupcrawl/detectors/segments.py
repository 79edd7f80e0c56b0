"""Segment signatures: N segments of a text with one hash each."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.detectors.base import CountingDetector, Fingerprint
from dedupcrawl.text.shingles import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features

_TAG = b"S"
_HASH_BYTES = 8  #: bytes of the hash of a segment
_MIN_PART_LENGTH = 5  #: lowest length of an equal part; shorter parts occur in many texts
_BREAK = "\0"  #: replaces line breaks, because normalisation turns these into spaces


@dataclass(frozen=True)
class Segments(CountingDetector):
    """The text is divided into N segments. At least M segments must be equal (segment signatures, N = 8, M = 6).

    It is divided at the ends of paragraphs if there are at least N paragraphs, otherwise into equal parts.
    Equal segments of one page count once, because otherwise a repeated word would match any other number of
    repetitions. A page with fewer than M distinct segments has no fingerprint.

    The keys of a page with d distinct segments are the d - M + 1 with the smallest hashes. Two pages that
    share M segments have a smallest common segment. At least M - 1 common ones are greater, so at most d - M
    segments of either page are smaller: it is among the first d - M + 1 of both.

    Sketch: ``S``, then 8 bytes per segment in the order of the text.
    """

    name: ClassVar[str] = "segments"
    needed_constant: ClassVar[str] = "equal"
    part: ClassVar[str] = "segments"
    count: int = 8  #: N, segments of a text, 1…64
    equal: int = 6  #: M, lowest number of equal segments, 1…``count``
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("count", 1, 64)
        self.check_integer("equal", 1, self.count)
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        segments = cut_into_segments(paragraphs(features), self.count)
        texts = (segment.encode("utf-8", "surrogatepass") for segment in segments)
        hashes = [seeded_hash(text, _HASH_BYTES, self.seed) for text in texts]
        distinct = sorted(set(hashes))
        if len(distinct) < self.equal:
            return None
        return Fingerprint(tuple(distinct[: len(distinct) - self.equal + 1]), _TAG + b"".join(hashes))

    def scheme(self) -> Mapping[str, object]:
        return {"version": 1, "count": self.count, "equal": self.equal, "seed": self.seed}

    def measure(self, new: bytes, old: bytes) -> tuple[int, float, dict[str, object], bytes]:
        """Return common segments, similarity, evidence, and which segments of the new page differ."""
        new_hashes, old_hashes = self._read(new), self._read(old)
        new_set, old_set = set(new_hashes), set(old_hashes)
        common = new_set & old_set
        evidence: dict[str, object] = {
            "segments": f"{len(common)} of {self.count}",
            "equal": _positions(new_hashes, common),
            "older_equal": _positions(old_hashes, common),
        }
        differing = bytes(segment not in common for segment in new_hashes)
        return len(common), len(common) / max(len(new_set), len(old_set)), evidence, differing

    def _read(self, sketch: bytes) -> list[bytes]:
        if len(sketch) != 1 + _HASH_BYTES * self.count or sketch[:1] != _TAG:
            raise self.sketch_error(sketch)
        return [sketch[i : i + _HASH_BYTES] for i in range(1, len(sketch), _HASH_BYTES)]


def paragraphs(features: Features) -> list[str]:
    """Return the normalised lines of a page without empty lines."""
    page = features.page
    text = f"{page.text}\n{page.rest}".replace("\n", _BREAK)
    lines = (line.strip() for line in features.features_of(text).text.split(_BREAK))
    return [line for line in lines if line]


def cut_into_segments(lines: Sequence[str], count: int) -> list[str]:
    """Divide a text of ``lines`` into ``count`` segments that are not empty.

    With at least ``count`` lines it is divided at the line ends that are nearest to equal parts. With fewer
    lines the parts are equal. A text with fewer than five characters per part has no segments.
    """
    if len(lines) >= count:
        return [" ".join(lines[start:stop]) for start, stop in pairwise(_cuts(lines, count))]
    text = " ".join(lines)
    if len(text) < _MIN_PART_LENGTH * count:
        return []
    return [text[len(text) * i // count : len(text) * (i + 1) // count] for i in range(count)]


def _cuts(lines: Sequence[str], count: int) -> list[int]:
    ends = [0, *accumulate(map(len, lines))]
    cuts = [0]
    for i in range(1, count):
        wanted = ends[-1] * i / count
        after = bisect_left(ends, wanted)
        nearest = after if ends[after] - wanted < wanted - ends[after - 1] else after - 1
        cuts.append(min(max(nearest, cuts[-1] + 1), len(lines) - count + i))
    return [*cuts, len(lines)]


def _positions(hashes: Sequence[bytes], common: set[bytes]) -> list[int]:
    """Return the numbers of the common segments, counted from 1."""
    return [i for i, segment in enumerate(hashes, 1) if segment in common]
