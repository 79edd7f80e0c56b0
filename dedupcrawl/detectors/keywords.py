"""The rules of the search engine Tianwang: equal summaries or equal keywords."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dedupcrawl.detectors.base import Bar, Detector, Exhibit, Fingerprint, Match, Opinion, Relation
from dedupcrawl.text.lexicon import keywords, open_lexicon
from dedupcrawl.text.shingles import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Keyword, Lexicon

_HEADER = struct.Struct("<BBH16s")
_TAG = 0x54
_SUMMARY_BYTES = 512  #: bytes of the main text that replace a description, as in the source
_SHOWN_LENGTH = 32  #: characters of a keyword in the evidence
_SHOWN_SUMMARY_LENGTH = 80  #: characters of a summary in the evidence


class _KeywordsSketch(NamedTuple):
    digest: bytes
    weights: npt.NDArray[np.float32]
    text: str


@dataclass(frozen=True)
class Keywords(Detector):
    """Equal MD5 of the summary or of the N keywords with the highest weights (Tianwang; N = 10, a = 0.01).

    Des is the description of the page, or else the first 512 bytes of its main text. T are the N words with
    the highest TF-IDF weights W. Con is T in the order of weight, Sort is T in sorted order, both joined with
    single spaces. The five variants compare: 1 Des; 2 Con; 3 Sort; 4 Con, with Σ(Wi-Wj)² / (ΣWi² + ΣWj²) < a;
    5 Sort, with the same bound.

    A page with fewer than N keywords has no fingerprint. A description with fewer than N different tokens is
    replaced by the main text; if that has fewer too, there is no fingerprint.

    The MD5 is over the seed in 8 bytes and the text. The only key is a seeded hash of it.

    Sketch, little-endian: ``B`` tag 0x54, ``B`` variant, ``H`` bytes of the text at the end, 16 bytes MD5;
    variants 4 and 5: N ``f``, the weights in the order of that text; then, as UTF-8 for the evidence, the
    keywords separated by spaces or the beginning of the summary.
    """

    name: ClassVar[str] = "keywords"
    variant: int = 5  #: which text must be equal, 1…5, see above
    count: int = 10  #: N, keywords of a page, 1…256
    difference: float = 0.01  #: a, upper bound of the difference of weights (variants 4 and 5), above 0, at most 1
    segmenter: str = "jieba"  #: segmenter for Chinese
    lexicon: str = ""  #: path of a lexicon file; "": the built-in lexicon
    language: str = ""  #: required language of the lexicon; "": any
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("variant", 1, 5)
        self.check_integer("count", 1, 256)
        self.check_share("difference")
        self.check_seed()
        self.check_language()
        if not self._by_summary:
            self._idfs  # noqa: B018 - report an unreadable lexicon at once

    def fingerprint(self, features: Features) -> Fingerprint | None:
        return self._of_summary(features) if self._by_summary else self._of_keywords(features)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        first, second = self._read(new), self._read(old)
        if first.digest != second.digest:
            return None
        evidence = self._evidence(first)
        if not self._has_weights:
            return Match(1.0, Relation.NEAR_DUPLICATE, evidence)
        difference = weight_difference(first.weights, second.weights)
        if not difference < self.difference:
            return None
        return Match(1 - difference, Relation.NEAR_DUPLICATE, evidence | {"difference": round(difference, 5)})

    def assess(self, new: bytes, old: bytes) -> Opinion:
        first, second = self._read(new), self._read(old)
        is_equal = first.digest == second.digest
        bars = [Bar("", 1, int(is_equal), at_least=True, measure="equal MD5")]
        figures = self._evidence(first)
        similarity = 1.0 if is_equal else None
        if not is_equal:
            figures["older_md5"] = second.digest.hex()
        elif self._has_weights:
            found, measure = weight_difference(first.weights, second.weights), "difference of the weights"
            bars.append(Bar("difference", self.difference, found, at_least=False, measure=measure, is_strict=True))
            figures["difference"], similarity = round(found, 5), 1 - found
        unit = "summaries" if self._by_summary else "keywords"
        exhibit = Exhibit.of_elements(unit, self._elements(first), self._elements(second))
        return Opinion(self.name, self.compare(new, old), similarity, figures, tuple(bars), (exhibit,))

    def words_in(self, sketch: bytes) -> tuple[str, ...]:
        """Return the keywords in a sketch, cut to 32 characters; an empty tuple for variant 1."""
        return () if self._by_summary else tuple(self._read(sketch).text.split(" "))

    def scheme(self) -> Mapping[str, object]:
        shared = {"version": 1, "variant": self.variant, "count": self.count, "seed": self.seed}
        if self._by_summary:
            return shared
        return {**shared, "segmenter": self.segmenter, "lexicon": self._idfs.digest}

    def _evidence(self, sketch: _KeywordsSketch) -> dict[str, object]:
        text = {"summary": sketch.text} if self._by_summary else {"keywords": self._elements(sketch)}
        return {"md5": sketch.digest.hex(), **text}

    def _elements(self, sketch: _KeywordsSketch) -> list[str]:
        return [sketch.text] if self._by_summary else sketch.text.split(" ")

    @property
    def _by_summary(self) -> bool:
        return self.variant == 1

    @property
    def _has_weights(self) -> bool:
        return self.variant >= 4

    @cached_property
    def _idfs(self) -> Lexicon:
        return open_lexicon(self.lexicon, segmenter=self.segmenter, language=self.language)

    def _of_summary(self, features: Features) -> Fingerprint | None:
        description = features.features_of(features.page.description)
        summary = description.text.encode("utf-8", "surrogatepass")
        if not self._has_enough_tokens(description):
            summary = features.text.encode("utf-8", "surrogatepass")[:_SUMMARY_BYTES]
            if not self._has_enough_tokens(features.features_of(summary.decode("utf-8", "ignore"))):
                return None
        return self._fingerprint(summary, (), summary.decode("utf-8", "ignore")[:_SHOWN_SUMMARY_LENGTH])

    def _has_enough_tokens(self, features: Features) -> bool:
        return len(np.unique(features.tokens(self.seed).hashes)) >= self.count

    def _of_keywords(self, features: Features) -> Fingerprint | None:
        found = keywords(features.words(self.segmenter), self._idfs, self.count)
        if len(found) < self.count:
            return None
        if self.variant in (3, 5):
            found.sort()
        joined = " ".join(keyword.word for keyword in found)
        shown = " ".join(keyword.word[:_SHOWN_LENGTH] for keyword in found)
        return self._fingerprint(joined.encode("utf-8", "surrogatepass"), found, shown)

    def _fingerprint(self, hashed: bytes, weighted: Sequence[Keyword], shown: str) -> Fingerprint:
        digest = md5(self.seed.to_bytes(8, "little") + hashed, usedforsecurity=False).digest()
        key = seeded_hash(digest, 8, self.seed)
        weights = np.array([keyword.weight for keyword in weighted] if self._has_weights else [], "<f4").tobytes()
        text = shown.encode("utf-8", "replace")
        return Fingerprint((key,), _HEADER.pack(_TAG, self.variant, len(text), digest) + weights + text)

    def _read(self, sketch: bytes) -> _KeywordsSketch:
        if len(sketch) < _HEADER.size:
            raise self.sketch_error(sketch)
        tag, variant, length, digest = _HEADER.unpack_from(sketch)
        start = _HEADER.size + 4 * self.count * self._has_weights
        if tag != _TAG or variant != self.variant or len(sketch) != start + length:
            raise self.sketch_error(sketch)
        weights = np.frombuffer(sketch[_HEADER.size : start], "<f4")
        if len(weights) and not (np.isfinite(weights).all() and weights.any()):
            raise self.sketch_error(sketch)
        return _KeywordsSketch(digest, weights, sketch[start:].decode("utf-8", "replace"))


def weight_difference(new: npt.NDArray[np.float32], old: npt.NDArray[np.float32]) -> float:
    """Return Σ(Wi-Wj)² / (ΣWi² + ΣWj²), 0…1, for the weights of the same keywords in two pages."""
    first, second = new.astype(np.float64), old.astype(np.float64)
    return float(((first - second) ** 2).sum() / ((first**2).sum() + (second**2).sum()))
