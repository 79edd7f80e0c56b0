"""Near-duplicates by the signs of weighted sums over the hashes of their shingles."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.detectors.base import Bar, Detector, Fingerprint, Match
from dedupcrawl.detectors.bits import (
    MOST_KEYS,
    WORD,
    agreeing,
    block_keys,
    differing,
    key_count,
    read_bits,
    sign_bits,
    weighed,
)
from dedupcrawl.detectors.checks import check_seed, check_whole, setting_error
from dedupcrawl.detectors.fields import Field, Weighing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.text.features import Features

_TAG = 0x48
_LONGEST = 16  #: tokens of a shingle: the tables of a Rabin fingerprint grow with it
_HEAVIEST = 1000


@dataclass(frozen=True)
class SimHash(Detector):
    """Charikar's fingerprint (STOC 2002) of weighted shingles, found as by Manku, Jain, Das Sarma (WWW 2007).

    The features are shingles, hashed by Rabin fingerprints; with ``weights`` = "terms" they weigh what patent
    CN101645082 gives them, the term frequencies of their tokens plus the weight of their field, with
    "occurrences" the weight of the field for every time they occur. Bit j of the fingerprint is 1 where
    those whose hash has bit j outweigh the others. A field of weight 0 is not read.

    Two pages match when at most ``distance`` of the ``bits`` differ. The fingerprint is cut into
    ``blocks``, by default one more than ``distance``; every choice of ``blocks`` - ``distance`` of them is
    a key, so that no such pair is lost: four blocks of 64 bits make four keys of 16 bits, five make
    ten of 25, six make twenty of 32.

    Sketch: tag 0x48, then the fingerprint, little-endian.
    """

    name: ClassVar[str] = "simhash"
    bits: int = 64  #: f
    distance: int = 3  #: d
    blocks: int = 0  #: 0: distance + 1
    characters: int = 5  #: length of a shingle that starts at a character of a script without spaces
    words: int = 3  #: length of one that starts at a word
    weights: str = "terms"
    title_weight: int = 0
    keywords_weight: int = 0  #: of keywords and description
    text_weight: int = 1
    anchors_weight: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, "bits", 64, 256)
        if self.bits not in (64, 128, 256):
            raise setting_error(self, "bits", "64, 128 or 256")
        check_whole(self, "distance", 0, self.bits // 4)
        check_whole(self, "blocks", 0, self.bits)
        if 0 < self.blocks <= self.distance or key_count(self._blocks, self.distance) > MOST_KEYS:
            accepted = f"0, or more than distance, with at most {MOST_KEYS} choices of distance of them"
            raise setting_error(self, "blocks", accepted)
        check_whole(self, "characters", 1, _LONGEST)
        check_whole(self, "words", 1, _LONGEST)
        if self.weights not in ("terms", "occurrences"):
            raise setting_error(self, "weights", '"terms" or "occurrences"')
        check_whole(self, "title_weight", 0, _HEAVIEST)
        check_whole(self, "keywords_weight", 0, _HEAVIEST)
        check_whole(self, "text_weight", 1, _HEAVIEST)
        check_whole(self, "anchors_weight", 0, _HEAVIEST)
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the choices of its blocks; None when its text has no letter or digit."""
        if not len(features.tokens.hashes):
            return None
        how = Weighing(self.characters, self.words, self.seed, self.bits // WORD)
        fields = self._fields(features)
        found = how.by_terms(fields) if self.weights == "terms" else how.by_occurrences(fields)
        bits = b"".join(sign_bits(hashes, found.weights) for hashes in found.hashes)
        return Fingerprint(block_keys(bits, self._blocks, self.distance), bytes((_TAG,)) + bits)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match fingerprints within the distance."""
        return agreeing(self._read(new), self._read(old), self.bits - self.distance)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the bits that agree, and the Hamming distance."""
        mine, other = self._read(new), self._read(old)
        apart = differing(mine, other)
        bar = Bar("distance", self.distance, apart, at_least=False, measure="bits that differ")
        return weighed(self, mine, other, bar, self.compare(new, old))

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes fingerprints and keys."""
        return {"version": 1, **asdict(self), "blocks": self._blocks}

    @property
    def _blocks(self) -> int:
        return self.blocks or self.distance + 1

    def _fields(self, features: Features) -> list[Field]:
        page = features.page
        others = (
            (self.title_weight, page.title),
            (self.keywords_weight, f"{page.keywords}\n{page.description}"),
            (self.anchors_weight, page.anchors),
        )
        read = [(features.part(text).tokens, weight) for weight, text in others if weight and text]
        main = Field(features.tokens, self.text_weight)
        return [main, *(Field(tokens, weight) for tokens, weight in read if len(tokens.hashes))]

    def _read(self, sketch: bytes) -> bytes:
        return read_bits(self, sketch, _TAG, self.bits)
