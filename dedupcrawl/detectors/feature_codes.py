"""Feature codes: the tokens on either side of the end of a sentence.

The characters around the first full stop, and the length of the text.

The codes at every end of a sentence, the few of smallest hash.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import (
    Bar,
    Detector,
    Exhibit,
    Fingerprint,
    Match,
    Opinion,
    Relation,
    check_bounds,
    check_integer,
    check_ratio,
    check_seed,
    setting_error,
    sketch_error,
)
from dedupcrawl.detectors.lsh import bucket_keys
from dedupcrawl.detectors.relations import (
    MatchBounds,
    Overlap,
    OverlapMeasurement,
    TextSize,
    length_ratio,
    match_by_overlap,
    opinion_by_overlap,
)
from dedupcrawl.text.hashing import Hashes, seeded_constants
from dedupcrawl.text.shingles import MAX_SHINGLE, hash_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.normalize import Indices


MAX_TOKEN_CHARACTERS = 32  #: characters kept of a token; nothing that is longer is a word


def code_positions(features: Features, size: int) -> Indices:
    """Return, for every sentence end with ``size`` / 2 tokens on either side, where its code begins.

    Places are indices of the token stream: a code is characters where the script has no spaces,
    words elsewhere, and punctuation is no part of it.
    """
    starts, _ = features.token_spans
    places = np.searchsorted(starts, np.array(features.sentence_ends, np.int64)) - size // 2
    return np.unique(places[(places >= 0) & (places + size <= len(starts))])


def code_tokens(features: Features, place: int, size: int) -> tuple[str, ...]:
    """Return the tokens of the code that begins at ``place``."""
    starts, stops = features.token_spans
    spans = zip(starts[place : place + size].tolist(), stops[place : place + size].tolist(), strict=True)
    return tuple(features.text[start : min(stop, start + MAX_TOKEN_CHARACTERS)] for start, stop in spans)


def code_hashes(features: Features, places: Indices, size: int, seed: int) -> Hashes:
    """Hash the codes that begin at ``places``."""
    return hash_runs(features.tokens.hashes, size, seed)[places]


def longest_common_subsequence(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the longest common subsequence, O(n·m)."""
    row = [0] * (len(right) + 1)
    for item in left:
        diagonal = 0
        for at, other in enumerate(right, 1):
            diagonal, row[at] = row[at], diagonal + 1 if item == other else max(row[at], row[at - 1])
    return row[-1]


def code_text(tokens: Sequence[str]) -> str:
    """Write a code down: words with spaces, characters without."""
    return ("" if all(len(token) == 1 for token in tokens) else " ").join(tokens)


_FIRST_HEADER = struct.Struct("<BI")
_FIRST_TAG = 0x46


@dataclass(frozen=True)
class FeatureCode(Detector):
    """L/2 tokens on either side of the first full stop (feature codes of Chinese web pages, L = 10).

    Two codes match when their longest common subsequence is at least L - ``tolerance``, because editors
    mistype and reprints shift, and when the lengths of the texts differ by no more than the ratio
    α. The code is cut into ``tolerance`` + 1 pieces, which are the keys. A probe asks for each piece at all
    offsets up to ``tolerance``. Of ``tolerance`` tokens changed, put in or left out at least one piece
    survives; two that changed places can break two pieces, so that a page with that and another error is
    not always met. The first full stop is the first that has L/2 tokens on either side; a page without one
    has no code.

    Sketch, little-endian: ``B`` tag 0x46, ``I`` length in characters, then the tokens in UTF-8 between
    spaces.
    """

    name: ClassVar[str] = "feature_code"
    size: int = 10  #: L, tokens
    tolerance: int = 2
    length_ratio: float = 1.10  #: α
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "size", 4, MAX_SHINGLE)
        check_integer(self, "tolerance", 0, 8)
        if self.size % 2 or self.size < 2 * (self.tolerance + 1):
            raise setting_error(self, "size", "an even number, at least 2 * (tolerance + 1)")
        check_ratio(self, "length_ratio")
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the pieces of its code."""
        places = code_positions(features, self.size)
        if not len(places):
            return None
        place = int(places[0])
        code = " ".join(code_tokens(features, place, self.size)).encode()
        hashes = features.tokens.hashes
        keys = bucket_keys(self._pieces(hashes, place, 0))
        probes = bucket_keys(self._pieces(hashes, place, self.tolerance))
        return Fingerprint(keys, _FIRST_HEADER.pack(_FIRST_TAG, features.length) + code, probes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match codes within the tolerance and lengths within the ratio."""
        new_length, new_code = self._read(new)
        old_length, old_code = self._read(old)
        ratio = length_ratio(new_length, old_length)
        common = longest_common_subsequence(new_code, old_code)
        if common < self.size - self.tolerance or ratio > self.length_ratio:
            return None
        evidence = self._evidence(new_code, old_code, common, (new_length, old_length))
        return Match(common / self.size, Relation.NEAR_DUPLICATE, evidence)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the two codes."""
        new_length, new_code = self._read(new)
        old_length, old_code = self._read(old)
        ratio = length_ratio(new_length, old_length)
        common = longest_common_subsequence(new_code, old_code)
        lost, measure = self.size - common, "tokens of the code that are lost"
        return Opinion(
            self.name,
            self.compare(new, old),
            common / self.size,
            self._evidence(new_code, old_code, common, (new_length, old_length)),
            (
                Bar("tolerance", self.tolerance, lost, at_least=False, measure=measure),
                Bar("length_ratio", self.length_ratio, ratio, at_least=False, measure="longer / shorter"),
            ),
            (Exhibit.of_elements("feature codes", [code_text(new_code)], [code_text(old_code)]),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes codes and keys."""
        return {"version": 1, "size": self.size, "tolerance": self.tolerance, "seed": self.seed}

    def _pieces(self, hashes: Hashes, place: int, reach: int) -> Hashes:
        """Hash every piece of the code at ``place``, moved by up to ``reach`` as far as there is text."""
        count = self.tolerance + 1
        cuts = [place + self.size * piece // count for piece in range(count + 1)]
        found = [
            hash_runs(hashes[max(0, start - reach) : stop + reach], stop - start, self.seed) ^ salt
            for salt, (start, stop) in zip(
                seeded_constants(self.seed, "piece", count), pairwise(cuts), strict=True
            )
        ]
        return np.concatenate(found)

    def _evidence(
        self, new_code: list[str], old_code: list[str], common: int, lengths: tuple[int, int]
    ) -> dict[str, object]:
        return {
            "code": code_text(new_code),
            "older_code": code_text(old_code),
            "common": f"{common} of {self.size}",
            "lengths": list(lengths),
            "length_ratio": round(length_ratio(*lengths), 3),
        }

    def _read(self, sketch: bytes) -> tuple[int, list[str]]:
        if len(sketch) < _FIRST_HEADER.size or sketch[0] != _FIRST_TAG:
            raise sketch_error(self, sketch)
        _, length = _FIRST_HEADER.unpack_from(sketch)
        code = sketch[_FIRST_HEADER.size :].decode(errors="replace").split(" ")
        if not length or len(code) != self.size:
            raise sketch_error(self, sketch)
        return length, code


Codes = npt.NDArray[np.uint32]

_SAMPLE_HEADER = struct.Struct("<BII")
_SAMPLE_TAG = 0x47
_UNBOUNDED = 2**32  #: above every code
_MIN_COMMON = 2  #: codes that must be shared: one sentence can be a quotation


@dataclass(frozen=True)
class FeatureCodes(Detector):
    """The feature code at every sentence end; the k of smallest hash are a sample of all.

    The share of equal codes is |A∩B| / |A∪B| among the codes up to the largest hash that both samples
    reach (bottom-k sketch: Cohen, Kaplan, PODC 2007). The ``filed`` smallest are the keys: two pages that
    share J of their codes share none of these with a probability of at most (1 - J)^filed. A page with fewer
    than two codes has none.

    Sketch, little-endian: ``B`` tag 0x47, ``I`` length in characters, ``I`` distinct codes, then the upper 32
    bits of the k smallest hashes, rising.
    """

    name: ClassVar[str] = "feature_codes"
    size: int = 10  #: L, tokens
    kept: int = 32  #: k
    share: float = 0.5  #: t
    length_ratio: float = 1.10  #: α
    containment: float = 0.9
    filed: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "size", 2, MAX_SHINGLE)
        if self.size % 2:
            raise setting_error(self, "size", "an even number")
        check_integer(self, "kept", 2, 1024)
        check_bounds(self, "share")
        check_integer(self, "filed", 1, 64)
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its smallest codes."""
        places = code_positions(features, self.size)
        hashes = np.unique(code_hashes(features, places, self.size, self.seed) >> np.uint64(32))
        if len(hashes) < _MIN_COMMON:
            return None
        codes = hashes[: self.kept].astype("<u4").tobytes()
        head = _SAMPLE_HEADER.pack(_SAMPLE_TAG, features.length, len(hashes))
        return Fingerprint(bucket_keys(hashes[: self.filed]), head + codes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Compare the two samples as far as both reach."""
        new_size, new_codes, new_reach = self._read(new)
        old_size, old_codes, old_reach = self._read(old)
        reach = min(new_reach, old_reach)
        of_new, of_old = new_codes[new_codes <= reach], old_codes[old_codes <= reach]
        common = len(np.intersect1d(of_new, of_old, assume_unique=True))
        if common < _MIN_COMMON:
            return None
        union = len(of_new) + len(of_old) - common
        overlap = Overlap(common / union, common / len(of_new), common / len(of_old))
        return match_by_overlap(overlap, new_size, old_size, self._bounds, {"codes": f"{common} of {union}"})

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the codes, by their hashes, as far as both samples reach."""
        new_size, new_codes, new_reach = self._read(new)
        old_size, old_codes, old_reach = self._read(old)
        reach = min(new_reach, old_reach)
        of_new, of_old = new_codes[new_codes <= reach], old_codes[old_codes <= reach]
        common = len(np.intersect1d(of_new, of_old, assume_unique=True))
        union = len(of_new) + len(of_old) - common
        # Of a sample that begins beyond the other's end nothing can be shared.
        overlap = Overlap(common / union, common / max(1, len(of_new)), common / max(1, len(of_old)))
        least = Bar("", _MIN_COMMON, common, at_least=True, measure="codes that both have")
        shown = Exhibit.of_elements("feature codes", _hex_codes(of_new), _hex_codes(of_old))
        found = OverlapMeasurement(
            overlap, new_size, old_size, {"codes": f"{common} of {union}"}, shown, least
        )
        return opinion_by_overlap(self.name, self.compare(new, old), found, self._bounds, constant="share")

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes codes and keys."""
        return {"version": 1, "size": self.size, "kept": self.kept, "filed": self.filed, "seed": self.seed}

    @property
    def _bounds(self) -> MatchBounds:
        return MatchBounds(self.share, self.length_ratio, self.containment)

    def _read(self, sketch: bytes) -> tuple[TextSize, Codes, int]:
        """Return size, codes, and the largest hash up to which no code is left out."""
        if len(sketch) < _SAMPLE_HEADER.size or sketch[0] != _SAMPLE_TAG:
            raise sketch_error(self, sketch)
        _, length, count = _SAMPLE_HEADER.unpack_from(sketch)
        held = min(count, self.kept)
        if not length or count < _MIN_COMMON or len(sketch) != _SAMPLE_HEADER.size + 4 * held:
            raise sketch_error(self, sketch)
        codes = np.frombuffer(sketch, "<u4", offset=_SAMPLE_HEADER.size)
        return TextSize(length, count), codes, _UNBOUNDED if held == count else int(codes[-1])


def _hex_codes(codes: Codes) -> list[str]:
    return [f"{code:08x}" for code in codes.tolist()]
