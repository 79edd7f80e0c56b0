"""The heaviest words of a page as a set of bits."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dedupcrawl.detectors.base import (
    Bar,
    Detector,
    Exhibit,
    Fingerprint,
    Match,
    Opinion,
    Relation,
    check_integer,
    check_language,
    check_seed,
    setting_error,
    sketch_error,
)
from dedupcrawl.text.hashing import seeded_hash
from dedupcrawl.text.lexicon import keywords, open_lexicon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Lexicon

_HEADER = struct.Struct("<BIH")
_TAG = 0x42
_POSITION_BYTES = 4  #: of a position in the bit set
_SHOWN_WORDS = 5  #: features that the evidence shows
_SHOWN_LENGTH = 32  #: characters of each


class _BooleanSketch(NamedTuple):
    length: int
    code: frozenset[bytes]
    shown: list[str]


@dataclass(frozen=True)
class Boolean(Detector):
    """The n heaviest words by TF-IDF as a bit set (Lian, Liu, Xu, Cheng: Boolean model; n = 32, x = 6).

    Two pages match when their lengths differ by no more than 20 % of the longer and popcount(code XOR code')
    is at most x. A code is 2^32 bits wide, each word sets the bit that a hash of it names, and the positions
    of the ones are what is kept: once in 9 million pages two of 32 words fall upon one bit, and then the page
    has no code. Nor has one with fewer than n different keywords.

    The bits are dealt out to x + 1 groups. Two codes that differ in at most x bits agree in a whole group, so
    what of a code falls into each group is a key. A single word as a key, the first few in some order of all
    words, would do too, but then buckets grow with the crawl; some five words together meet only in copies.

    Sketch, little-endian: ``B`` tag 0x42, ``I`` length in characters, ``H`` bytes of the text at the end, n
    times 4 bytes, the ones by rising position (big-endian), then the heaviest words as UTF-8 between spaces,
    for the evidence.
    """

    name: ClassVar[str] = "boolean"
    count: int = 32  #: n
    differing: int = 6  #: x
    length_difference: float = 0.2  #: most that the lengths differ, as a share of the longer
    segmenter: str = "jieba"
    lexicon: str = ""
    language: str = ""  #: of the lexicon; "": any
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "count", 1, 256)
        check_integer(self, "differing", 0, min(2 * self.count, 64) - 1)
        difference = self.length_difference
        if not isinstance(difference, int | float) or isinstance(difference, bool) or not 0 <= difference < 1:
            raise setting_error(self, "length_difference", "a number of at least 0, below 1")
        check_seed(self)
        check_language(self, "language")
        self._idfs  # noqa: B018 - a lexicon that cannot be read is told at once

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the groups of its code."""
        found = [found.word for found in keywords(features.words(self.segmenter), self._idfs, self.count)]
        code = self._code(found)
        if len(code) < self.count:
            return None
        shown = " ".join(word[:_SHOWN_LENGTH] for word in found[:_SHOWN_WORDS]).encode("utf-8", "replace")
        sketch = _HEADER.pack(_TAG, features.length, len(shown)) + b"".join(code) + shown
        return Fingerprint(self._keys(code), sketch)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match codes within x bits and lengths within the bound."""
        mine, other = self._read(new), self._read(old)
        shorter, longer = sorted((mine.length, other.length))
        differing = len(mine.code ^ other.code)
        if differing > self.differing or (longer - shorter) / longer > self.length_difference:
            return None
        similarity = 1 - differing / (2 * self.count)
        return Match(similarity, Relation.NEAR_DUPLICATE, self._evidence(mine, other))

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Count the ones that differ, and show the heaviest words."""
        mine, other = self._read(new), self._read(old)
        shorter, longer = sorted((mine.length, other.length))
        differing = len(mine.code ^ other.code)
        apart, of_lengths = (longer - shorter) / longer, "difference of the lengths, of the longer"
        return Opinion(
            self.name,
            self.compare(new, old),
            1 - differing / (2 * self.count),
            self._evidence(mine, other),
            (
                Bar("differing", self.differing, differing, at_least=False, measure="ones that differ"),
                Bar("length_difference", self.length_difference, apart, at_least=False, measure=of_lengths),
            ),
            (Exhibit.of_elements("heaviest words", mine.shown, other.shown),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes code and keys."""
        return {
            "version": 1,
            "count": self.count,
            "groups": self.differing + 1,
            "segmenter": self.segmenter,
            "lexicon": self._idfs.digest,
            "seed": self.seed,
        }

    def _evidence(self, new: _BooleanSketch, old: _BooleanSketch) -> dict[str, object]:
        return {
            "differing": f"{len(new.code ^ old.code)} of {2 * self.count}",
            "lengths": [new.length, old.length],
            "heaviest": new.shown,
            "older_heaviest": old.shown,
        }

    @cached_property
    def _idfs(self) -> Lexicon:
        return open_lexicon(self.lexicon, segmenter=self.segmenter, language=self.language)

    def _code(self, words: Sequence[str]) -> list[bytes]:
        """Return the positions of the ones, rising."""
        encoded = (word.encode("utf-8", "surrogatepass") for word in words)
        return sorted({seeded_hash(word, _POSITION_BYTES, self.seed) for word in encoded})

    def _keys(self, code: Sequence[bytes]) -> tuple[bytes, ...]:
        """Hash the ones of each group, with the number of the group before them."""
        groups = [bytes([group]) for group in range(self.differing + 1)]
        for position in code:
            groups[int.from_bytes(position) % len(groups)] += position
        return tuple(seeded_hash(group, 8, self.seed) for group in groups)

    def _read(self, sketch: bytes) -> _BooleanSketch:
        stop = _HEADER.size + _POSITION_BYTES * self.count
        if len(sketch) < stop or sketch[0] != _TAG:
            raise sketch_error(self, sketch)
        _, length, shown = _HEADER.unpack_from(sketch)
        if not length or len(sketch) != stop + shown:
            raise sketch_error(self, sketch)
        code = frozenset(
            sketch[at : at + _POSITION_BYTES] for at in range(_HEADER.size, stop, _POSITION_BYTES)
        )
        return _BooleanSketch(length, code, sketch[stop:].decode("utf-8", "replace").split(" "))
