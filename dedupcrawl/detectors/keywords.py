"""The rules of the search engine Tianwang: the summary of a page, or its heaviest keywords."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
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
    check_share,
    sketch_error,
)
from dedupcrawl.text.hashing import seeded_hash
from dedupcrawl.text.lexicon import keywords, open_lexicon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.lexicon import Keyword, Lexicon

_HEADER = struct.Struct("<BBH16s")
_TAG = 0x54
_SUMMARY_BYTES = 512
_SHOWN_LENGTH = 32  #: characters of a keyword that the evidence shows
_SHOWN_SUMMARY_LENGTH = 80


class _KeywordsSketch(NamedTuple):
    digest: bytes
    weights: npt.NDArray[np.float32]
    text: str


@dataclass(frozen=True)
class Keywords(Detector):
    """Equal MD5 of the summary or of the N heaviest keywords (Tianwang, five variants; N = 10, a = 0.01).

    Des is the page's description, else the first 512 bytes of its main text; T are the N heaviest words by
    TF-IDF, W their weights; Con is T in the order of weight, Sort is T sorted, both with single spaces. Two
    pages match when these are equal: 1 Des; 2 Con; 3 Sort; 4 Con, and Σ(Wi-Wj)² / (ΣWi² + ΣWj²) < a; 5 Sort,
    and the same bound.

    A page with fewer than N keywords has no fingerprint. A description of fewer than N different tokens says
    nothing, and the main text is taken instead; if that has fewer, there is no fingerprint either.

    Only key: a seeded hash of the MD5, which every match has in common.

    Sketch, little-endian: ``B`` tag 0x54, ``B`` variant, ``H`` bytes of the text at the end, 16 bytes MD5;
    variants 4 and 5: N ``f``, the weights in the order of that text; then, as UTF-8 for the evidence, the
    keywords between spaces or the beginning of the summary.
    """

    name: ClassVar[str] = "keywords"
    variant: int = 3
    count: int = 10  #: N
    difference: float = 0.01  #: a
    segmenter: str = "jieba"
    lexicon: str = ""
    language: str = ""  #: of the lexicon; "": any
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "variant", 1, 5)
        check_integer(self, "count", 1, 256)
        check_share(self, "difference")
        check_seed(self)
        check_language(self, "language")
        if not self._by_summary:
            self._idfs  # noqa: B018 - a lexicon that cannot be read is told at once

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the MD5 of its variant."""
        return self._of_summary(features) if self._by_summary else self._of_keywords(features)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match equal MD5, and weights within the bound where the variant has one."""
        mine, other = self._read(new), self._read(old)
        if mine.digest != other.digest:
            return None
        evidence = self._evidence(mine)
        if not self._weighs:
            return Match(1.0, Relation.NEAR_DUPLICATE, evidence)
        difference = weight_difference(mine.weights, other.weights)
        if not difference < self.difference:
            return None
        return Match(1 - difference, Relation.NEAR_DUPLICATE, evidence | {"difference": round(difference, 5)})

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the keywords, or how the summaries begin."""
        mine, other = self._read(new), self._read(old)
        same = mine.digest == other.digest
        bars = [Bar("", 1, int(same), at_least=True, measure="equal MD5")]
        figures = self._evidence(mine)
        if not same:
            figures["older_md5"] = other.digest.hex()
        elif self._weighs:
            bars.append(self._bar_of_weights(mine, other))
            figures["difference"] = round(bars[-1].found, 5)
        similarity = 1 - bars[1].found if bars[1:] else 1.0 if same else None
        shown = Exhibit.of_elements(self._unit, self._shown(mine), self._shown(other))
        return Opinion(self.name, self.compare(new, old), similarity, figures, tuple(bars), (shown,))

    def words_in(self, sketch: bytes) -> tuple[str, ...]:
        """Return the keywords that a sketch holds, their first 32 characters; variant 1 has none."""
        return () if self._by_summary else tuple(self._read(sketch).text.split(" "))

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes the MD5 and the key."""
        shared = {"version": 1, "variant": self.variant, "count": self.count, "seed": self.seed}
        if self._by_summary:
            return shared
        return {**shared, "segmenter": self.segmenter, "lexicon": self._idfs.digest}

    def _bar_of_weights(self, new: _KeywordsSketch, old: _KeywordsSketch) -> Bar:
        apart = weight_difference(new.weights, old.weights)
        measure = "difference of the weights"
        return Bar("difference", self.difference, apart, at_least=False, measure=measure, is_strict=True)

    def _evidence(self, sketch: _KeywordsSketch) -> dict[str, object]:
        told = sketch.text if self._by_summary else sketch.text.split(" ")
        return {"md5": sketch.digest.hex(), "summary" if self._by_summary else "keywords": told}

    def _shown(self, sketch: _KeywordsSketch) -> list[str]:
        return [sketch.text] if self._by_summary else sketch.text.split(" ")

    @property
    def _unit(self) -> str:
        return "summaries" if self._by_summary else "keywords"

    @property
    def _by_summary(self) -> bool:
        return self.variant == 1

    @property
    def _weighs(self) -> bool:
        return self.variant >= 4

    @cached_property
    def _idfs(self) -> Lexicon:
        return open_lexicon(self.lexicon, segmenter=self.segmenter, language=self.language)

    def _of_summary(self, features: Features) -> Fingerprint | None:
        said = features.part(features.page.description)
        summary = said.text.encode("utf-8", "surrogatepass")
        if not self._says_enough(said):
            summary = features.text.encode("utf-8", "surrogatepass")[:_SUMMARY_BYTES]
            if not self._says_enough(features.part(summary.decode("utf-8", "ignore"))):
                return None
        return self._filed(summary, (), summary.decode("utf-8", "ignore")[:_SHOWN_SUMMARY_LENGTH])

    def _says_enough(self, features: Features) -> bool:
        return len(np.unique(features.tokens.hashes)) >= self.count

    def _of_keywords(self, features: Features) -> Fingerprint | None:
        found = keywords(features.words(self.segmenter), self._idfs, self.count)
        if len(found) < self.count:
            return None
        if self.variant in (3, 5):
            found.sort()
        joined = " ".join(keyword.word for keyword in found)
        shown = " ".join(keyword.word[:_SHOWN_LENGTH] for keyword in found)
        return self._filed(joined.encode("utf-8", "surrogatepass"), found, shown)

    def _filed(self, hashed: bytes, weighed: Sequence[Keyword], shown: str) -> Fingerprint:
        digest = md5(hashed, usedforsecurity=False).digest()
        key = seeded_hash(digest, 8, self.seed)
        weights = np.array([keyword.weight for keyword in weighed] if self._weighs else [], "<f4").tobytes()
        text = shown.encode("utf-8", "replace")
        return Fingerprint((key,), _HEADER.pack(_TAG, self.variant, len(text), digest) + weights + text)

    def _read(self, sketch: bytes) -> _KeywordsSketch:
        if len(sketch) < _HEADER.size:
            raise sketch_error(self, sketch)
        tag, variant, length, digest = _HEADER.unpack_from(sketch)
        start = _HEADER.size + 4 * self.count * self._weighs
        if tag != _TAG or variant != self.variant or len(sketch) != start + length:
            raise sketch_error(self, sketch)
        weights = np.frombuffer(sketch[_HEADER.size : start], "<f4")
        return _KeywordsSketch(digest, weights, sketch[start:].decode("utf-8", "replace"))


def weight_difference(new: npt.NDArray[np.float32], old: npt.NDArray[np.float32]) -> float:
    """Return Σ(Wi-Wj)² / (ΣWi² + ΣWj²), 0…1, of the weights of the same keywords in two pages."""
    mine, others = new.astype(np.float64), old.astype(np.float64)
    return float(((mine - others) ** 2).sum() / ((mine**2).sum() + (others**2).sum()))
