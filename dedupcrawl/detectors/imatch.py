"""I-Match: one hash over the words that are neither common nor rare.

I-Match over several lexicons that lack random terms.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha1
from heapq import nsmallest
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

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
from dedupcrawl.text.hashing import mix, seeded_constants, seeded_hash
from dedupcrawl.text.lexicon import open_lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Lexicon


_HEADER = struct.Struct("<BIH20s")
_TAG = 0x49
RAREST_UNIT = "rarest terms"  #: what the exhibit of an opinion holds
_SHOWN_TERMS = 5  #: terms that the evidence shows
_SHOWN_LENGTH = 32  #: characters of each


class Term(NamedTuple):
    """A word of a page that the lexicon holds."""

    word: str
    nidf: float  #: 0…1


@dataclass(frozen=True)
class IMatch(Detector):
    """SHA-1 over the unique terms whose normalised idf lies in a band, 0.2…0.8, in sorted order.

    Terms that are not in the lexicon are not used (Chowdhury, Frieder, Grossman, McCabe, *Collection
    statistics for fast duplicate document detection*, ACM TOIS 2002). A page without such terms has no
    fingerprint. Nor has one of whose different words they are less than ``least_share``: of a page in a
    language that the lexicon does not know only some names remain, and those do not tell pages apart. Nor
    do fewer than ``least_terms``: headlines that name the same town would be alike.
    How often a term stands in the page does not count.

    Only key: a seeded hash of the signature, which every match has in common.

    Sketch, little-endian: ``B`` tag 0x49, ``I`` terms, ``H`` bytes of the text at the end, 20 bytes SHA-1,
    then the rarest of the terms as UTF-8 between spaces, for the evidence.
    """

    name: ClassVar[str] = "imatch"
    lowest: float = 0.2  #: least normalised idf
    highest: float = 0.8  #: greatest normalised idf
    least_share: float = 0.2  #: of the different words of a page, those that are terms
    least_terms: int = 8  #: of a page
    segmenter: str = "jieba"
    lexicon: str = ""
    language: str = ""  #: of the lexicon; "": any
    seed: int = 0

    def __post_init__(self) -> None:
        for constant in ("lowest", "highest", "least_share"):
            value = getattr(self, constant)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
                raise setting_error(self, constant, "a number from 0 to 1")
        if self.lowest > self.highest:
            raise setting_error(self, "lowest", "a number that is at most highest")
        check_integer(self, "least_terms", 1, 1000)
        check_seed(self)
        check_language(self, "language")
        self.idfs  # noqa: B018 - a lexicon that cannot be read is told at once

    @cached_property
    def idfs(self) -> Lexicon:
        """The lexicon."""
        return open_lexicon(self.lexicon, segmenter=self.segmenter, language=self.language)

    def terms(self, features: Features) -> list[Term]:
        """Return the terms of a page in sorted order; none, if they are too few."""
        words = set(features.words(self.segmenter))
        nidfs = {word: self.idfs.nidf(word) for word in words}
        lowest, highest = self.lowest, self.highest
        kept = [
            Term(word, nidf) for word, nidf in nidfs.items() if nidf is not None and lowest <= nidf <= highest
        ]
        enough = len(kept) >= max(self.least_terms, self.least_share * len(words))
        return sorted(kept, key=itemgetter(0)) if enough else []

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its signature."""
        terms = self.terms(features)
        if not terms:
            return None
        digest = signature(encode_terms(terms))
        key = seeded_hash(digest, 8, self.seed)
        shown = rarest_terms(terms)
        return Fingerprint((key,), _HEADER.pack(_TAG, len(terms), len(shown), digest) + shown)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match equal signatures."""
        terms, digest, shown = self._read(new)
        if digest != self._read(old)[1]:
            return None
        evidence = {"signature": digest.hex(), "terms": terms, "rarest": shown}
        return Match(1.0, Relation.NEAR_DUPLICATE, evidence)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the rarest terms; how much signatures differ means nothing."""
        match = self.compare(new, old)
        terms, digest, shown = self._read(new)
        older_terms, older_digest, older_shown = self._read(old)
        unlike = {"signatures": [digest.hex(), older_digest.hex()], "terms": [terms, older_terms]}
        equal = Bar("", 1, int(match is not None), at_least=True, measure="equal signatures")
        return Opinion(
            self.name,
            match,
            match.similarity if match else None,
            match.evidence if match else unlike,
            (equal,),
            (Exhibit.of_elements(RAREST_UNIT, shown, older_shown),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes signatures."""
        return {
            "version": 1,
            "lowest": float(self.lowest),
            "highest": float(self.highest),
            "least_share": float(self.least_share),
            "least_terms": self.least_terms,
            "segmenter": self.segmenter,
            "lexicon": self.idfs.digest,
            "seed": self.seed,
        }

    def _read(self, sketch: bytes) -> tuple[int, bytes, list[str]]:
        if len(sketch) < _HEADER.size:
            raise sketch_error(self, sketch)
        tag, terms, length, digest = _HEADER.unpack_from(sketch)
        if tag != _TAG or not terms or len(sketch) != _HEADER.size + length:
            raise sketch_error(self, sketch)
        return terms, digest, sketch[_HEADER.size :].decode("utf-8", "replace").split(" ")


def encode_terms(terms: Iterable[Term]) -> list[bytes]:
    """Return the words of terms in UTF-8."""
    return [term.word.encode("utf-8", "surrogatepass") for term in terms]


def signature(words: Iterable[bytes]) -> bytes:
    """Return SHA-1 over words in sorted order with single spaces between them."""
    return sha1(b" ".join(words), usedforsecurity=False).digest()


def rarest_terms(terms: Sequence[Term]) -> bytes:
    """Return some terms that say most, as UTF-8 between spaces."""
    found = nsmallest(_SHOWN_TERMS, terms, key=lambda term: (-term.nidf, term.word))
    return " ".join(term.word[:_SHOWN_LENGTH] for term in found).encode("utf-8", "replace")


_RANDOMIZED_HEADER = struct.Struct("<BIBH")
_RANDOMIZED_TAG = 0x52
_SIGNATURE_BYTES = 8  #: of a signature


class _RandomizedSketch(NamedTuple):
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
        check_integer(self, "lexicons", 1, 64)
        if not isinstance(self.dropped, float) or not 0 < self.dropped < 1:
            raise setting_error(self, "dropped", "a number above 0 and below 1")

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its signatures."""
        terms = self.terms(features)
        if not terms:
            return None
        found = dict.fromkeys(self._signatures(encode_terms(terms)))
        keys = tuple(seeded_hash(one, 8, self.seed) for one in found)
        shown = rarest_terms(terms)
        head = _RANDOMIZED_HEADER.pack(_RANDOMIZED_TAG, len(terms), len(found), len(shown))
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
            (Exhibit.of_elements(RAREST_UNIT, mine.shown, other.shown),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes signatures."""
        return {**super().scheme(), "lexicons": self.lexicons, "dropped": self.dropped}

    def held(self, words: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Return for each further lexicon, a row each, whether it holds each of ``words`` (UTF-8)."""
        digests = (blake2b(word, digest_size=8).digest() for word in words)
        hashes = np.frombuffer(b"".join(digests), "<u8")
        salts = seeded_constants(self.seed, "lexicon", self.lexicons)
        drawn: npt.NDArray[np.bool_] = mix(hashes ^ salts[:, np.newaxis]) >= np.uint64(self.dropped * 2.0**64)
        return drawn

    def _signatures(self, words: Sequence[bytes]) -> Iterator[bytes]:
        for kept in [np.ones(len(words), bool), *self.held(words)]:
            if kept.any():
                yield signature(compress(words, kept.tolist()))[:_SIGNATURE_BYTES]

    def _read_all(self, sketch: bytes) -> _RandomizedSketch:
        if len(sketch) < _RANDOMIZED_HEADER.size:
            raise sketch_error(self, sketch)
        tag, terms, count, length = _RANDOMIZED_HEADER.unpack_from(sketch)
        stop = _RANDOMIZED_HEADER.size + _SIGNATURE_BYTES * count
        if tag != _RANDOMIZED_TAG or not terms or not count or len(sketch) != stop + length:
            raise sketch_error(self, sketch)
        found = frozenset(
            sketch[at : at + _SIGNATURE_BYTES]
            for at in range(_RANDOMIZED_HEADER.size, stop, _SIGNATURE_BYTES)
        )
        return _RandomizedSketch(terms, found, sketch[stop:].decode("utf-8", "replace").split(" "))


def _evidence(new: _RandomizedSketch, old: _RandomizedSketch, signatures: str) -> dict[str, object]:
    return {
        "signatures": signatures,
        "terms": [new.terms, old.terms],
        "rarest": new.shown,
        "older_rarest": old.shown,
    }
