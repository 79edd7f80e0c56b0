"""Random projection: the signs of the sum of the random vectors of all tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.detectors.base import Detector, Fingerprint, Match, Threshold
from dedupcrawl.detectors.simhash import (
    MAX_KEYS,
    WORD_BITS,
    assessment_by_bits,
    block_keys,
    hamming_distance,
    match_by_bits,
    read_bits,
    sign_bits,
)
from dedupcrawl.text.shingles import mix, seeded_constants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.text.features import Features
    from dedupcrawl.text.shingles import Hashes

_TAG = 0x52


@dataclass(frozen=True)
class RandomProjection(Detector):
    """Charikar's random projection as used by Henzinger (*Finding near-duplicate web pages*, SIGIR 2006).

    Every token has a fixed vector in {-1, +1}^b, drawn from the seed. A page is the sum of the vectors of all
    its tokens, each as often as it occurs. Positive sums become 1, others 0. Two pages match if at least
    ``agreement`` of the ``bits`` agree. The share of agreeing bits is 1 - angle / pi, so this is a bound on
    the cosine of the token counts. The order of tokens does not matter.

    The bits are divided into ``bits`` - ``agreement`` + 1 blocks. Matching pages have an equal block, so the
    blocks are the keys.

    Sketch: tag 0x52, then the bits, little-endian.
    """

    name: ClassVar[str] = "random_projection"
    bits: int = 384  #: b, bits of a sketch, a multiple of 64 up to 1024
    agreement: int = 372  #: c, lowest number of agreeing bits, at least ``bits`` / 2; at most 128 keys
    characters: int = 1  #: characters of a token in a script without spaces, 1…16
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("bits", WORD_BITS, 1024)
        if self.bits % WORD_BITS:
            raise self.setting_error("bits", f"a multiple of {WORD_BITS}")
        self.check_integer("agreement", max(self.bits // 2, self.bits - MAX_KEYS + 1), self.bits)
        self.check_integer("characters", 1, 16)
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        tokens = self._tokens(features)
        if not len(tokens):
            return None
        salts = seeded_constants(self.seed, "projection", self.bits // WORD_BITS)
        code = b"".join(sign_bits(mix(tokens + salt)) for salt in salts)
        keys = block_keys(code, self.bits - self.agreement + 1, self.bits - self.agreement)
        return Fingerprint(keys, bytes((_TAG,)) + code)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        return match_by_bits(self._read(new), self._read(old), self.agreement)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        first, second = self._read(new), self._read(old)
        agree = self.bits - hamming_distance(first, second)
        threshold = Threshold("agreement", self.agreement, agree, at_least=True, measure="bits that agree")
        return assessment_by_bits(self, first, second, threshold, self.compare(new, old))

    def scheme(self) -> Mapping[str, object]:
        return {"version": 2, **asdict(self)}

    def _tokens(self, features: Features) -> Hashes:
        if self.characters == 1:
            return features.tokens(self.seed).hashes
        return features.shingles(self.characters, 1, self.seed)

    def _read(self, sketch: bytes) -> bytes:
        return read_bits(self, sketch, _TAG, self.bits)
