"""I-Match over several lexicons that lack random terms."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dedupcrawl.detectors.base import Bar, Exhibit, Fingerprint, Match, Opinion, Relation
from dedupcrawl.detectors.checks import check_whole, foreign_sketch, setting_error
from dedupcrawl.detectors.imatch import RAREST, IMatch, encoded, rarest, signature
from dedupcrawl.text.hashing import constants, mix, seeded_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.text.features import Features

_HEAD = struct.Struct("<BIBH")
_TAG = 0x52
_BYTES = 8  #: of a signature


class _Sketch(NamedTuple):
    terms: int
    signatures: frozenset[bytes]
    shown: list[str]


@dataclass(frozen=True)
class IMatchRandomized(IMatch):
    """I-Match over the lexicon and K more that each lack a random share p of its terms (K = 10, p = 0.3).

    Two pages match when they have any signature in common (Kołcz, Chowdhury, Alspector, *Improved robustness
    of signature-based near-replica detection via lexicon randomization*, KDD 2004): if they differ in d
    terms, a lexicon lacks all of them with probability p^d. An empty signature is none. Whether a lexicon
    lacks a term is decided by a hash of term and seed, so all workers have the same ones.

    Keys: a seeded hash of each different signature; two pages that match share one of them.

    Sketch, little-endian: ``B`` tag 0x52, ``I`` terms, ``B`` signatures, ``H`` bytes of the text at the end,
    8 bytes of the SHA-1 a signature, then the rarest of the terms as UTF-8 between spaces, for the evidence.
    """

    name: ClassVar[str] = "imatch_randomized"
    lexicons: int = 10  #: K
    dropped: float = 0.3  #: p

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "lexicons", 1, 64)
        if not isinstance(self.dropped, float) or not 0 < self.dropped < 1:
            raise setting_error(self, "dropped", "a number above 0 and below 1")

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its signatures."""
        terms = self.terms(features)
        if not terms:
            return None
        found = dict.fromkeys(self._signatures(encoded(terms)))
        keys = tuple(seeded_hash(one, 8, self.seed) for one in found)
        shown = rarest(terms)
        head = _HEAD.pack(_TAG, len(terms), len(found), len(shown))
        return Fingerprint(keys, head + b"".join(found) + shown)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match pages that have a signature in common; the similarity is the share of equal signatures."""
        mine, other = self._read_all(new), self._read_all(old)
        common = mine.signatures & other.signatures
        if not common:
            return None
        most = max(len(mine.signatures), len(other.signatures))
        evidence = _evidence(mine, other, f"{len(common)} of {most}")
        return Match(len(common) / most, Relation.NEAR_DUPLICATE, evidence)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Count the signatures that are equal, and show the rarest terms."""
        mine, other = self._read_all(new), self._read_all(old)
        common = len(mine.signatures & other.signatures)
        most = max(len(mine.signatures), len(other.signatures))
        return Opinion(
            self.name,
            self.compare(new, old),
            common / most,
            _evidence(mine, other, f"{common} of {most}"),
            (Bar("", 1, common, at_least=True, measure="equal signatures"),),
            (Exhibit.of_elements(RAREST, mine.shown, other.shown),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes signatures."""
        return {**super().scheme(), "lexicons": self.lexicons, "dropped": self.dropped}

    def held(self, words: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Return for each further lexicon, a row each, whether it holds each of ``words`` (UTF-8)."""
        digests = (blake2b(word, digest_size=8).digest() for word in words)
        hashes = np.frombuffer(b"".join(digests), "<u8")
        salts = constants(self.seed, "lexicon", self.lexicons)
        drawn: npt.NDArray[np.bool_] = mix(hashes ^ salts[:, np.newaxis]) >= np.uint64(self.dropped * 2.0**64)
        return drawn

    def _signatures(self, words: Sequence[bytes]) -> Iterator[bytes]:
        for kept in [np.ones(len(words), bool), *self.held(words)]:
            if kept.any():
                yield signature(compress(words, kept.tolist()))[:_BYTES]

    def _read_all(self, sketch: bytes) -> _Sketch:
        if len(sketch) < _HEAD.size:
            raise foreign_sketch(self, sketch)
        tag, terms, count, length = _HEAD.unpack_from(sketch)
        stop = _HEAD.size + _BYTES * count
        if tag != _TAG or not terms or not count or len(sketch) != stop + length:
            raise foreign_sketch(self, sketch)
        found = frozenset(sketch[at : at + _BYTES] for at in range(_HEAD.size, stop, _BYTES))
        return _Sketch(terms, found, sketch[stop:].decode("utf-8", "replace").split(" "))


def _evidence(new: _Sketch, old: _Sketch, signatures: str) -> dict[str, object]:
    return {
        "signatures": signatures,
        "terms": [new.terms, old.terms],
        "rarest": new.shown,
        "older_rarest": old.shown,
    }
