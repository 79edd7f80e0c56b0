"""The Boolean model: the words with the highest TF-IDF weights, as a bit set."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dedupcrawl.detectors.base import Assessment, Detector, Evidence, Fingerprint, Match, Relation, Threshold
from dedupcrawl.text.lexicon import keywords, open_lexicon
from dedupcrawl.text.shingles import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Lexicon

_HEADER = struct.Struct("<BIH")
_TAG = 0x42
_POSITION_BYTES = 4  #: bytes of a position in the bit set
_SHOWN_WORDS = 5  #: words in the evidence
_SHOWN_LENGTH = 32  #: characters of each word in the evidence


class _BooleanSketch(NamedTuple):
    length: int
    code: frozenset[bytes]  #: positions of the ones
    heaviest: list[str]


@dataclass(frozen=True)
class Boolean(Detector):
    """The n words with the highest TF-IDF weights as a bit set (n = 32, x = 6).

    Source: Lian, Liu, Xu, Cheng, improved Boolean model. Two pages match if their lengths differ by at most
    20 % of the longer text and popcount(code XOR code') is at most x. A code has 2^32 bits; the hash of a
    word is the position of its one. Only the positions are stored. Once in 9 million pages two of 32 words
    have the same position; such a page has no code. A page with fewer than n different keywords has no code
    either.

    The bits are divided into x + 1 groups. Two codes that differ in at most x bits agree in at least one
    group, so the bits of each group are a key. Single words as keys would be sufficient too, but their
    buckets grow with the store; about five words together occur in copies only.

    Sketch, little-endian: ``B`` tag 0x42, ``I`` length in characters, ``H`` bytes of the text at the end, n
    positions of 4 bytes in ascending order (big-endian), then the words with the highest weights as UTF-8,
    separated by spaces, for the evidence.
    """

    name: ClassVar[str] = "boolean"
    count: int = 32  #: n, words of a code, 1…256
    differing: int = 6  #: x, highest number of differing bits, below 2 · ``count`` and 64
    length_difference: float = 0.2  #: highest difference, as a share of the longer text, from 0, below 1
    segmenter: str = "jieba"  #: segmenter for Chinese
    lexicon: str = ""  #: path of a lexicon file; "": the built-in lexicon
    language: str = ""  #: required language of the lexicon; "": any
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_language()
        self.check_integer("count", 1, 256)
        self.check_integer("differing", 0, min(2 * self.count, 64) - 1)
        self.check_number("length_difference", "a number of at least 0, below 1", lambda value: 0 <= value < 1)
        self.check_seed()
        self._idfs  # noqa: B018 - report an unreadable lexicon at once

    def fingerprint(self, features: Features) -> Fingerprint | None:
        words = [found.word for found in keywords(features.words(self.segmenter), self._idfs, self.count)]
        encoded = (word.encode("utf-8", "surrogatepass") for word in words)
        code = sorted({seeded_hash(word, _POSITION_BYTES, self.seed) for word in encoded})
        if len(code) < self.count:
            return None
        shown = " ".join(word[:_SHOWN_LENGTH] for word in words[:_SHOWN_WORDS]).encode("utf-8", "replace")
        sketch = _HEADER.pack(_TAG, features.length, len(shown)) + b"".join(code) + shown
        return Fingerprint(self._keys(code), sketch)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        evidence, differing, length_difference, *_ = self._measure(new, old)
        if differing > self.differing or length_difference > self.length_difference:
            return None
        return Match(1 - differing / (2 * self.count), Relation.NEAR_DUPLICATE, evidence)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        evidence, differing, difference, new_words, old_words = self._measure(new, old)
        of_lengths = "difference of the lengths, of the longer"
        return Assessment(
            self.name,
            self.compare(new, old),
            1 - differing / (2 * self.count),
            evidence,
            (
                Threshold("differing", self.differing, differing, at_least=False, measure="ones that differ"),
                Threshold("length_difference", self.length_difference, difference, at_least=False, measure=of_lengths),
            ),
            (Evidence.of_elements("heaviest words", new_words, old_words),),
        )

    def scheme(self) -> Mapping[str, object]:
        return {
            "version": 1,
            "count": self.count,
            "groups": self.differing + 1,
            "segmenter": self.segmenter,
            "lexicon": self._idfs.digest,
            "seed": self.seed,
        }

    def _measure(self, new: bytes, old: bytes) -> tuple[dict[str, object], int, float, list[str], list[str]]:
        """Return evidence, differing ones, difference of lengths, and the words of both pages."""
        first, second = self._read(new), self._read(old)
        shorter, longer = sorted((first.length, second.length))
        differing = len(first.code ^ second.code)
        evidence: dict[str, object] = {
            "differing": f"{differing} of {2 * self.count}",
            "lengths": [first.length, second.length],
            "heaviest": first.heaviest,
            "older_heaviest": second.heaviest,
        }
        return evidence, differing, (longer - shorter) / longer, first.heaviest, second.heaviest

    @cached_property
    def _idfs(self) -> Lexicon:
        return open_lexicon(self.lexicon, segmenter=self.segmenter, language=self.language)

    def _keys(self, code: Sequence[bytes]) -> tuple[bytes, ...]:
        """Hash the ones of each group together with the number of the group."""
        groups = [bytes([group]) for group in range(self.differing + 1)]
        for position in code:
            groups[int.from_bytes(position) % len(groups)] += position
        return tuple(seeded_hash(group, 8, self.seed) for group in groups)

    def _read(self, sketch: bytes) -> _BooleanSketch:
        stop = _HEADER.size + _POSITION_BYTES * self.count
        if len(sketch) < stop or sketch[0] != _TAG:
            raise self.sketch_error(sketch)
        _, length, shown = _HEADER.unpack_from(sketch)
        if not length or len(sketch) != stop + shown:
            raise self.sketch_error(sketch)
        starts = range(_HEADER.size, stop, _POSITION_BYTES)
        code = frozenset(sketch[start : start + _POSITION_BYTES] for start in starts)
        return _BooleanSketch(length, code, sketch[stop:].decode("utf-8", "replace").split(" "))
