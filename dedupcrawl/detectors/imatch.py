"""I-Match: one hash over the words of medium frequency, and its variant with randomised lexicons."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha1
from heapq import nsmallest
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dedupcrawl.detectors.base import Assessment, Detector, Evidence, Fingerprint, Match, Relation, Threshold
from dedupcrawl.text.lexicon import open_lexicon
from dedupcrawl.text.shingles import mix, seeded_constants, seeded_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Lexicon

_HEADER = struct.Struct("<BIH20s")
_TAG = 0x49
_RANDOMIZED_HEADER = struct.Struct("<BIBH")
_RANDOMIZED_TAG = 0x52
_SIGNATURE_BYTES = 8  #: stored bytes of a signature of :class:`IMatchRandomized`
_RAREST_UNIT = "rarest terms"  #: unit of the evidence
_SHOWN_TERMS = 5  #: terms in the evidence
_SHOWN_LENGTH = 32  #: characters of each term in the evidence


class LexiconTerm(NamedTuple):
    """A word of a page that is in the lexicon."""

    word: str  #: normalised
    nidf: float  #: normalised idf, 0…1


@dataclass(frozen=True)
class IMatch(Detector):
    """SHA-1 over the seed and the unique terms with a normalised idf from 0.2 to 0.8, in sorted order.

    Words that are not in the lexicon are not used, and the frequency of a term in the page does not matter
    (Chowdhury, Frieder, Grossman, McCabe, *Collection statistics for fast duplicate document detection*, ACM
    TOIS 2002). Two conditions are additions to the paper. At least ``least_share`` of the different words of
    a page must be terms: of a page in a language that the lexicon does not cover only some names remain,
    which do not distinguish pages. And there must be at least ``least_terms`` terms, because otherwise
    headlines with the same town would be equal. Other pages have no fingerprint.

    The only key is a seeded hash of the signature.

    Sketch, little-endian: ``B`` tag 0x49, ``I`` terms, ``H`` bytes of the text at the end, 20 bytes SHA-1,
    then the rarest terms as UTF-8, separated by spaces, for the evidence.
    """

    name: ClassVar[str] = "imatch"
    lowest: float = 0.2  #: lowest normalised idf of a term, 0…1
    highest: float = 0.8  #: highest normalised idf of a term, ``lowest``…1
    least_share: float = 0.2  #: lowest share of terms among the different words of a page, 0…1
    least_terms: int = 8  #: lowest number of terms of a page, 1…1000
    segmenter: str = "jieba"  #: segmenter for Chinese
    lexicon: str = ""  #: path of a lexicon file; "": the built-in lexicon
    language: str = ""  #: required language of the lexicon; "": any
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        for constant in ("lowest", "highest", "least_share"):
            self.check_number(constant, "a number from 0 to 1", lambda value: 0 <= value <= 1)
        if self.lowest > self.highest:
            raise self.setting_error("lowest", "a number that is at most highest")
        self.check_integer("least_terms", 1, 1000)
        self.check_seed()
        self.check_language()
        self.idfs  # noqa: B018 - report an unreadable lexicon at once

    @cached_property
    def idfs(self) -> Lexicon:
        """The lexicon."""
        return open_lexicon(self.lexicon, segmenter=self.segmenter, language=self.language)

    def terms(self, features: Features) -> list[LexiconTerm]:
        """Return the terms of a page in sorted order; an empty list if they are too few."""
        words, lowest, highest = set(features.words(self.segmenter)), self.lowest, self.highest
        nidfs = ((word, self.idfs.nidf(word)) for word in words)
        kept = [LexiconTerm(word, nidf) for word, nidf in nidfs if nidf is not None and lowest <= nidf <= highest]
        enough = len(kept) >= max(self.least_terms, self.least_share * len(words))
        return sorted(kept, key=itemgetter(0)) if enough else []

    def fingerprint(self, features: Features) -> Fingerprint | None:
        terms = self.terms(features)
        if not terms:
            return None
        digest, shown = signature(encode_terms(terms), self.seed), rarest_terms(terms)
        key = seeded_hash(digest, 8, self.seed)
        return Fingerprint((key,), _HEADER.pack(_TAG, len(terms), len(shown), digest) + shown)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        terms, digest, shown = self._read(new)
        if digest != self._read(old)[1]:
            return None
        evidence = {"signature": digest.hex(), "terms": terms, "rarest": shown}
        return Match(1.0, Relation.NEAR_DUPLICATE, evidence)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        match = self.compare(new, old)
        terms, digest, shown = self._read(new)
        old_terms, old_digest, old_shown = self._read(old)
        unequal = {"signatures": [digest.hex(), old_digest.hex()], "terms": [terms, old_terms]}
        equal = Threshold("", 1, int(match is not None), at_least=True, measure="equal signatures")
        return Assessment(
            self.name,
            match,
            match.similarity if match else None,
            match.evidence if match else unequal,
            (equal,),
            (Evidence.of_elements(_RAREST_UNIT, shown, old_shown),),
        )

    def scheme(self) -> Mapping[str, object]:
        return {
            "version": 1,
            "lowest": float(self.lowest),
            "highest": float(self.highest),
            "least_share": float(self.least_share),
            **self.constants("least_terms", "segmenter"),
            "lexicon": self.idfs.digest,
            "seed": self.seed,
        }

    def _read(self, sketch: bytes) -> tuple[int, bytes, list[str]]:
        if len(sketch) < _HEADER.size:
            raise self.sketch_error(sketch)
        tag, terms, length, digest = _HEADER.unpack_from(sketch)
        if tag != _TAG or not terms or len(sketch) != _HEADER.size + length:
            raise self.sketch_error(sketch)
        return terms, digest, sketch[_HEADER.size :].decode("utf-8", "replace").split(" ")


def encode_terms(terms: Iterable[LexiconTerm]) -> list[bytes]:
    """Return the words of terms in UTF-8."""
    return [term.word.encode("utf-8", "surrogatepass") for term in terms]


def signature(words: Iterable[bytes], seed: int) -> bytes:
    """Return the SHA-1 over the seed in 8 bytes and sorted words, joined with single spaces.

    With a secret seed nobody can search for other words with the same signature.
    """
    return sha1(seed.to_bytes(8, "little") + b" ".join(words), usedforsecurity=False).digest()


def rarest_terms(terms: Sequence[LexiconTerm]) -> bytes:
    """Return the rarest terms as UTF-8, separated by spaces."""
    found = nsmallest(_SHOWN_TERMS, terms, key=lambda term: (-term.nidf, term.word))
    return " ".join(term.word[:_SHOWN_LENGTH] for term in found).encode("utf-8", "replace")


class _RandomizedSketch(NamedTuple):
    terms: int
    signatures: frozenset[bytes]
    rarest: list[str]


@dataclass(frozen=True)
class IMatchRandomized(IMatch):
    """I-Match with K = 10 more lexicons that each lack a random share p = 0.3 of the terms.

    Two pages match if any signature is equal (Kołcz, Chowdhury, Alspector, *Improved robustness of
    signature-based near-replica detection via lexicon randomization*, KDD 2004). If they differ in d terms, a
    lexicon lacks all of them with probability p^d. Empty signatures are not used. A hash of term and seed
    decides whether a lexicon lacks a term, so that all workers have the same lexicons.

    The keys are seeded hashes of the different signatures.

    Sketch, little-endian: ``B`` tag 0x52, ``I`` terms, ``B`` signatures, ``H`` bytes of the text at the end,
    8 bytes of the SHA-1 per signature, then the rarest terms as UTF-8, separated by spaces, for the evidence.
    """

    name: ClassVar[str] = "imatch_randomized"
    lexicons: int = 10  #: K, additional lexicons, 1…64
    dropped: float = 0.3  #: p, share of the terms that each of them lacks, above 0, below 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_integer("lexicons", 1, 64)
        self.check_number("dropped", "a number above 0 and below 1", lambda value: 0 < value < 1)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        terms = self.terms(features)
        if not terms:
            return None
        found = dict.fromkeys(self._signatures(encode_terms(terms)))
        keys = tuple(seeded_hash(one, 8, self.seed) for one in found)
        shown = rarest_terms(terms)
        head = _RANDOMIZED_HEADER.pack(_RANDOMIZED_TAG, len(terms), len(found), len(shown))
        return Fingerprint(keys, head + b"".join(found) + shown)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        common, similarity, evidence = self._measure(self._read_all(new), self._read_all(old))
        return Match(similarity, Relation.NEAR_DUPLICATE, evidence) if common else None

    def assess(self, new: bytes, old: bytes) -> Assessment:
        first, second = self._read_all(new), self._read_all(old)
        common, similarity, evidence = self._measure(first, second)
        return Assessment(
            self.name,
            self.compare(new, old),
            similarity,
            evidence,
            (Threshold("", 1, common, at_least=True, measure="equal signatures"),),
            (Evidence.of_elements(_RAREST_UNIT, first.rarest, second.rarest),),
        )

    def scheme(self) -> Mapping[str, object]:
        return {**super().scheme(), "lexicons": self.lexicons, "dropped": self.dropped}

    def kept_terms(self, words: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Return which of the UTF-8 ``words`` each additional lexicon has; the shape is (lexicons, words)."""
        digests = (seeded_hash(word, 8, self.seed) for word in words)
        hashes = np.frombuffer(b"".join(digests), "<u8")
        salts = seeded_constants(self.seed, "lexicon", self.lexicons)
        kept: npt.NDArray[np.bool_] = mix(hashes ^ salts[:, np.newaxis]) >= np.uint64(self.dropped * 2.0**64)
        return kept

    def _signatures(self, words: Sequence[bytes]) -> Iterator[bytes]:
        for kept in [np.ones(len(words), bool), *self.kept_terms(words)]:
            if kept.any():
                yield signature(compress(words, kept.tolist()), self.seed)[:_SIGNATURE_BYTES]

    def _measure(self, new: _RandomizedSketch, old: _RandomizedSketch) -> tuple[int, float, dict[str, object]]:
        """Return the number of common signatures, the similarity and the evidence."""
        common, most = len(new.signatures & old.signatures), max(len(new.signatures), len(old.signatures))
        evidence: dict[str, object] = {
            "signatures": f"{common} of {most}",
            "terms": [new.terms, old.terms],
            "rarest": new.rarest,
            "older_rarest": old.rarest,
        }
        return common, common / most, evidence

    def _read_all(self, sketch: bytes) -> _RandomizedSketch:
        if len(sketch) < _RANDOMIZED_HEADER.size:
            raise self.sketch_error(sketch)
        tag, terms, count, length = _RANDOMIZED_HEADER.unpack_from(sketch)
        stop = _RANDOMIZED_HEADER.size + _SIGNATURE_BYTES * count
        if tag != _RANDOMIZED_TAG or not terms or not count or len(sketch) != stop + length:
            raise self.sketch_error(sketch)
        starts = range(_RANDOMIZED_HEADER.size, stop, _SIGNATURE_BYTES)
        found = frozenset(sketch[start : start + _SIGNATURE_BYTES] for start in starts)
        return _RandomizedSketch(terms, found, sketch[stop:].decode("utf-8", "replace").split(" "))
