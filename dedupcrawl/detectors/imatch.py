"""I-Match: one hash over the words that are neither common nor rare."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha1
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dedupcrawl.detectors.base import Bar, Detector, Exhibit, Fingerprint, Match, Opinion, Relation
from dedupcrawl.detectors.checks import check_language, check_seed, check_whole, foreign_sketch, setting_error
from dedupcrawl.text.hashing import seeded_hash
from dedupcrawl.text.lexicon import open_lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Lexicon

_HEAD = struct.Struct("<BIH20s")
_TAG = 0x49
RAREST = "rarest terms"  #: what the exhibit of an opinion holds
_SHOWN = 5  #: terms that the evidence shows
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
        check_whole(self, "least_terms", 1, 1000)
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
        digest = signature(encoded(terms))
        key = seeded_hash(digest, 8, self.seed)
        shown = rarest(terms)
        return Fingerprint((key,), _HEAD.pack(_TAG, len(terms), len(shown), digest) + shown)

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
            (Exhibit.of_elements(RAREST, shown, older_shown),),
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
        if len(sketch) < _HEAD.size:
            raise foreign_sketch(self, sketch)
        tag, terms, length, digest = _HEAD.unpack_from(sketch)
        if tag != _TAG or not terms or len(sketch) != _HEAD.size + length:
            raise foreign_sketch(self, sketch)
        return terms, digest, sketch[_HEAD.size :].decode("utf-8", "replace").split(" ")


def encoded(terms: Iterable[Term]) -> list[bytes]:
    """Return the words of terms in UTF-8."""
    return [term.word.encode("utf-8", "surrogatepass") for term in terms]


def signature(words: Iterable[bytes]) -> bytes:
    """Return SHA-1 over words in sorted order with single spaces between them."""
    return sha1(b" ".join(words), usedforsecurity=False).digest()


def rarest(terms: Sequence[Term]) -> bytes:
    """Return some terms that say most, as UTF-8 between spaces."""
    found = nsmallest(_SHOWN, terms, key=lambda term: (-term.nidf, term.word))
    return " ".join(term.word[:_SHOWN_LENGTH] for term in found).encode("utf-8", "replace")
