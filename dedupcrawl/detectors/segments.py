"""N segments of a text, one hash each."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.detectors.base import (
    Bar,
    Detector,
    Exhibit,
    Fingerprint,
    Match,
    Opinion,
    Relation,
    check_integer,
    check_seed,
    sketch_error,
)
from dedupcrawl.text.hashing import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features

_TAG = b"S"
_HASH_BYTES = 8  #: of a segment's hash
_MIN_PART_LENGTH = 5  #: characters of an equal part: one or two of them stand in many a text
_BREAK = "\0"  #: stands for a line break, which normalisation would make a space


@dataclass(frozen=True)
class Segments(Detector):
    """The text is cut into N segments, and M of them must be equal (segment signatures, N = 8, M = 6).

    It is cut at the ends of paragraphs where there are at least N, else into equal parts. Where segments
    are equal among themselves they count once, or one repeated word would match another number of it; a
    page with fewer than M distinct ones has no fingerprint.

    A page of d distinct segments is filed under the d - M + 1 of smallest hash. Two pages that share M have a
    smallest common segment; at least M - 1 common ones are greater, so at most d - M of either page are
    smaller: it is among the first d - M + 1 of both.

    Sketch: ``S``, then 8 bytes a segment in the order of the text.
    """

    name: ClassVar[str] = "segments"
    count: int = 8  #: N
    equal: int = 6  #: M
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "count", 1, 64)
        check_integer(self, "equal", 1, self.count)
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its smallest segments."""
        segments = cut_into_segments(paragraphs(features), self.count)
        texts = (segment.encode("utf-8", "surrogatepass") for segment in segments)
        hashes = [seeded_hash(text, _HASH_BYTES, self.seed) for text in texts]
        distinct = sorted(set(hashes))
        if len(distinct) < self.equal:
            return None
        return Fingerprint(tuple(distinct[: len(distinct) - self.equal + 1]), _TAG + b"".join(hashes))

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match pages that share M segments, wherever they stand."""
        new_hashes, old_hashes = self._read(new), self._read(old)
        mine, others = set(new_hashes), set(old_hashes)
        common = mine & others
        if len(common) < self.equal:
            return None
        evidence = self._evidence(new_hashes, old_hashes, common)
        return Match(len(common) / max(len(mine), len(others)), Relation.NEAR_DUPLICATE, evidence)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show which segments of the new page the older one has too."""
        new_hashes, old_hashes = self._read(new), self._read(old)
        mine, others = set(new_hashes), set(old_hashes)
        common = mine & others
        return Opinion(
            self.name,
            self.compare(new, old),
            len(common) / max(len(mine), len(others)),
            self._evidence(new_hashes, old_hashes, common),
            (Bar("equal", self.equal, len(common), at_least=True, measure="equal segments"),),
            (Exhibit.of_places("segments", bytes(each not in others for each in new_hashes)),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes segments and keys."""
        return {"version": 1, "count": self.count, "equal": self.equal, "seed": self.seed}

    def _evidence(
        self, new_hashes: list[bytes], old_hashes: list[bytes], common: set[bytes]
    ) -> dict[str, object]:
        return {
            "segments": f"{len(common)} of {self.count}",
            "equal": _positions(new_hashes, common),
            "older_equal": _positions(old_hashes, common),
        }

    def _read(self, sketch: bytes) -> list[bytes]:
        if len(sketch) != 1 + _HASH_BYTES * self.count or sketch[:1] != _TAG:
            raise sketch_error(self, sketch)
        return [sketch[at : at + _HASH_BYTES] for at in range(1, len(sketch), _HASH_BYTES)]


def paragraphs(features: Features) -> list[str]:
    """Return the normalised lines of a page that are not empty."""
    page = features.page
    text = f"{page.text}\n{page.rest}".replace("\n", _BREAK)
    lines = (line.strip() for line in features.part(text).text.split(_BREAK))
    return [line for line in lines if line]


def cut_into_segments(lines: Sequence[str], count: int) -> list[str]:
    """Cut a text of ``lines`` into ``count`` segments, none of them empty.

    With at least ``count`` lines the cuts are those ends of lines that are nearest to equal parts. With fewer
    the parts are equal; a text too short for five characters in each is cut into none.
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
    """Return which segments are common, counted from 1."""
    return [place for place, found in enumerate(hashes, 1) if found in common]
