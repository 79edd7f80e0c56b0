"""Feature codes: the tokens on either side of a sentence end.

:class:`FeatureCode` uses the first full stop and the length of the text, :class:`FeatureCodes` a sample of
all sentence ends.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import Assessment, Detector, Evidence, Fingerprint, Match, Relation, Threshold
from dedupcrawl.detectors.lsh import bucket_keys, is_rising
from dedupcrawl.detectors.relations import (
    MatchLimits,
    Overlap,
    OverlapMeasurements,
    TextSize,
    are_similar_lengths,
    length_ratio,
    length_thresholds,
)
from dedupcrawl.text.shingles import MAX_SHINGLE, Hashes, hash_runs, seeded_constants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.normalize import Indices

Codes = npt.NDArray[np.uint32]

MAX_TOKEN_CHARACTERS = 32  #: stored characters of a token; longer tokens are not words
_ENDS = ("stops", "sentences")  #: kinds of sentence ends with codes
_FIRST_HEADER = struct.Struct("<BI")
_FIRST_TAG = 0x46
_SAMPLE_HEADER = struct.Struct("<BII")
_SAMPLE_TAG = 0x47
_UNBOUNDED = 2**32  #: above every code: the sample covers all codes
_MIN_COMMON = 2  #: lowest number of common codes; one sentence can be a quotation


@dataclass(frozen=True)
class FeatureCode(Detector):
    """L/2 tokens on either side of the first full stop (feature codes of Chinese web pages, L = 10).

    Two codes match if their longest common subsequence has at least L - ``tolerance`` tokens, because editors
    make typos and reprints shift text, and if the ratio of the text lengths is at most α. The first full stop
    is the first one with L/2 tokens on either side; a page without one has no code.

    The code is divided into ``tolerance`` + 1 pieces, which are the keys. A probe has each piece at all
    offsets up to ``tolerance``. After ``tolerance`` tokens are changed, inserted or deleted, at least one
    piece is unchanged. Two transposed tokens can change two pieces, so that a page with a transposition and
    another error is sometimes missed.

    Sketch, little-endian: ``B`` tag 0x46, ``I`` length in characters, then the tokens in UTF-8, separated by
    spaces.
    """

    name: ClassVar[str] = "feature_code"
    size: int = 10  #: L, tokens of a code, an even number, 4…64 and at least 2 · (``tolerance`` + 1)
    tolerance: int = 2  #: highest number of tokens in which two codes differ, 0…8
    length_ratio: float = 1.10  #: α, highest ratio of the longer to the shorter text, at least 1
    length_slack: int = 500  #: highest difference of the lengths in characters, 0…10⁹
    ends: str = "stops"  #: marks with codes: "stops" (full stops, as in the source), "sentences" (also ! and ?)
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("size", 4, MAX_SHINGLE)
        self.check_integer("tolerance", 0, 8)
        if self.size % 2 or self.size < 2 * (self.tolerance + 1):
            raise self.setting_error("size", "an even number, at least 2 * (tolerance + 1)")
        self.check_lengths()
        check_ends(self)
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        positions = code_positions(features, self.size, self.ends)
        if not len(positions):
            return None
        position = int(positions[0])
        code = " ".join(code_tokens(features, position, self.size)).encode()
        hashes = features.tokens(self.seed).hashes
        keys = bucket_keys(self._pieces(hashes, position, 0))
        probes = bucket_keys(self._pieces(hashes, position, self.tolerance))
        return Fingerprint(keys, _FIRST_HEADER.pack(_FIRST_TAG, features.length) + code, probes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        new_length, new_code = self._read(new)
        old_length, old_code = self._read(old)
        common = longest_common_subsequence(new_code, old_code)
        if common < self.size - self.tolerance or not self._are_similar(new_length, old_length):
            return None
        evidence = self._evidence(new_code, old_code, common, (new_length, old_length))
        return Match(common / self.size, Relation.NEAR_DUPLICATE, evidence)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        new_length, new_code = self._read(new)
        old_length, old_code = self._read(old)
        common = longest_common_subsequence(new_code, old_code)
        lost, measure = self.size - common, "tokens of the code that are lost"
        return Assessment(
            self.name,
            self.compare(new, old),
            common / self.size,
            self._evidence(new_code, old_code, common, (new_length, old_length)),
            (
                Threshold("tolerance", self.tolerance, lost, at_least=False, measure=measure),
                *length_thresholds(new_length, old_length, self.length_ratio, self.length_slack),
            ),
            (Evidence.of_elements("feature codes", [code_text(new_code)], [code_text(old_code)]),),
        )

    def scheme(self) -> Mapping[str, object]:
        return {"version": 3, **self.constants("size", "tolerance", "ends", "seed")}

    def _are_similar(self, new: int, old: int) -> bool:
        return are_similar_lengths(new, old, self.length_ratio, self.length_slack)

    def _pieces(self, hashes: Hashes, position: int, reach: int) -> Hashes:
        """Hash every piece of the code at ``position``, at all offsets up to ``reach`` within the text."""
        count, seed = self.tolerance + 1, self.seed
        bounds = pairwise(position + self.size * piece // count for piece in range(count + 1))
        pieces = [
            hash_runs(hashes[max(0, start - reach) : stop + reach], stop - start, seed) ^ salt
            for salt, (start, stop) in zip(seeded_constants(seed, "piece", count), bounds, strict=True)
        ]
        return np.concatenate(pieces)

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
            raise self.sketch_error(sketch)
        _, length = _FIRST_HEADER.unpack_from(sketch)
        code = sketch[_FIRST_HEADER.size :].decode(errors="replace").split(" ")
        if not length or len(code) != self.size:
            raise self.sketch_error(sketch)
        return length, code


@dataclass(frozen=True)
class FeatureCodes(Detector):
    """The feature codes of all sentence ends; the k codes with the smallest hashes are a sample of them.

    The share of equal codes is |A∩B| / |A∪B| among the codes up to the largest hash that both samples cover
    (bottom-k sketch: Cohen, Kaplan, PODC 2007). The ``filed`` smallest are the keys. Two pages that share J
    of their codes have no common key with a probability of at most (1 - J)^filed. A page with fewer than two
    codes has no fingerprint.

    Sketch, little-endian: ``B`` tag 0x47, ``I`` length in characters, ``I`` distinct codes, then the upper 32
    bits of the k smallest hashes in ascending order.
    """

    name: ClassVar[str] = "feature_codes"
    size: int = 10  #: L, tokens of a code, an even number, 2…64
    kept: int = 32  #: k, codes of a sample, 2…1024
    share: float = 0.5  #: t, lowest share of equal codes of a near-duplicate, above 0, at most 1
    length_ratio: float = 1.10  #: α, highest ratio of the longer to the shorter text, at least 1
    length_slack: int = 500  #: highest difference of the lengths in characters, 0…10⁹
    containment: float = 0.9  #: lowest share of the shorter page in the longer one for an excerpt, above 0, at most 1
    filed: int = 8  #: codes used as keys, 1…64
    ends: str = "stops"  #: marks with codes: "stops" (full stops, as in the source), "sentences" (also ! and ?)
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("size", 2, MAX_SHINGLE)
        if self.size % 2:
            raise self.setting_error("size", "an even number")
        self.check_integer("kept", 2, 1024)
        self.check_bounds("share")
        self.check_integer("filed", 1, 64)
        check_ends(self)
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        codes_at = hash_runs(features.tokens(self.seed).hashes, self.size, self.seed)
        hashes = np.unique(codes_at[code_positions(features, self.size, self.ends)] >> np.uint64(32))
        if len(hashes) < _MIN_COMMON:
            return None
        codes = hashes[: self.kept].astype("<u4").tobytes()
        head = _SAMPLE_HEADER.pack(_SAMPLE_TAG, features.length, len(hashes))
        return Fingerprint(bucket_keys(hashes[: self.filed]), head + codes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        common, measured, *_ = self._measure(new, old)
        return measured.match(self._bounds) if common >= _MIN_COMMON else None

    def assess(self, new: bytes, old: bytes) -> Assessment:
        common, measured, *codes = self._measure(new, old)
        minimum = Threshold("", _MIN_COMMON, common, at_least=True, measure="codes that both have")
        piece = Evidence.of_elements(
            "feature codes", *([f"{code:08x}" for code in sample.tolist()] for sample in codes)
        )
        return measured.assessment(self.name, self._bounds, piece, minimum, constant="share")

    def scheme(self) -> Mapping[str, object]:
        return {"version": 3, **self.constants("size", "kept", "filed", "ends", "seed")}

    @property
    def _bounds(self) -> MatchLimits:
        return MatchLimits(self.share, self.length_ratio, self.length_slack, self.containment)

    def _measure(self, new: bytes, old: bytes) -> tuple[int, OverlapMeasurements, Codes, Codes]:
        """Count the common codes up to the largest hash that both samples cover; return these codes too."""
        new_size, new_codes, new_reach = self._read(new)
        old_size, old_codes, old_reach = self._read(old)
        reach = min(new_reach, old_reach)
        new_codes, old_codes = new_codes[new_codes <= reach], old_codes[old_codes <= reach]
        common = len(np.intersect1d(new_codes, old_codes, assume_unique=True))
        union = len(new_codes) + len(old_codes) - common
        # One of the samples can be empty below the common reach.
        overlap = Overlap(common / union, common / max(1, len(new_codes)), common / max(1, len(old_codes)))
        counts: dict[str, object] = {"codes": f"{common} of {union}"}
        return common, OverlapMeasurements(overlap, new_size, old_size, counts), new_codes, old_codes

    def _read(self, sketch: bytes) -> tuple[TextSize, Codes, int]:
        """Return size, codes, and the largest hash that the sample covers."""
        if len(sketch) < _SAMPLE_HEADER.size or sketch[0] != _SAMPLE_TAG:
            raise self.sketch_error(sketch)
        _, length, count = _SAMPLE_HEADER.unpack_from(sketch)
        stored = min(count, self.kept)
        if not length or count < _MIN_COMMON or len(sketch) != _SAMPLE_HEADER.size + 4 * stored:
            raise self.sketch_error(sketch)
        codes = np.frombuffer(sketch, "<u4", offset=_SAMPLE_HEADER.size)
        if not is_rising(codes):
            raise self.sketch_error(sketch)
        return TextSize(length, count), codes, _UNBOUNDED if stored == count else int(codes[-1])


def check_ends(detector: FeatureCode | FeatureCodes) -> None:
    """Require the constant ``ends`` to name a kind of sentence end."""
    if detector.ends not in _ENDS:
        raise detector.setting_error("ends", " or ".join(f'"{name}"' for name in _ENDS))


def code_positions(features: Features, size: int, ends: str = "stops") -> Indices:
    """Return the position of every code: of every sentence end with ``size / 2`` tokens on either side.

    A position is the index of the first token of the code in the token stream. Tokens are characters in
    scripts without spaces and words in other scripts; punctuation is not included. ``ends`` is the constant
    of the detectors.
    """
    starts, _ = features.token_spans
    found = features.full_stops if ends == "stops" else features.sentence_ends
    positions = np.searchsorted(starts, np.array(found, np.int64)) - size // 2
    return np.unique(positions[(positions >= 0) & (positions + size <= len(starts))])


def code_tokens(features: Features, position: int, size: int) -> tuple[str, ...]:
    """Return the ``size`` tokens of the code at ``position``."""
    starts, stops = features.token_spans
    code = slice(position, position + size)
    spans = zip(starts[code].tolist(), stops[code].tolist(), strict=True)
    return tuple(features.text[start : min(stop, start + MAX_TOKEN_CHARACTERS)] for start, stop in spans)


def longest_common_subsequence(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the longest common subsequence, in O(n·m) time."""
    row = [0] * (len(right) + 1)
    for item in left:
        diagonal = 0
        for i, other in enumerate(right, 1):
            diagonal, row[i] = row[i], diagonal + 1 if item == other else max(row[i], row[i - 1])
    return row[-1]


def code_text(tokens: Sequence[str]) -> str:
    """Return a code as text: words are joined with spaces, single characters without."""
    return ("" if all(len(token) == 1 for token in tokens) else " ").join(tokens)
