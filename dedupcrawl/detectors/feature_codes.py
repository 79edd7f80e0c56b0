"""The codes at every end of a sentence, the few of smallest hash."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import Bar, Detector, Exhibit, Fingerprint, Match
from dedupcrawl.detectors.checks import (
    check_bounds,
    check_seed,
    check_whole,
    foreign_sketch,
    setting_error,
)
from dedupcrawl.detectors.codes import code_hashes, code_places
from dedupcrawl.detectors.keys import bucket_keys
from dedupcrawl.detectors.relations import Bounds, Overlap, Size, Weighed, judged, weighed
from dedupcrawl.text.shingles import LONGEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.text.features import Features

Codes = npt.NDArray[np.uint32]

_HEAD = struct.Struct("<BII")
_TAG = 0x47
_END = 2**32  #: above every code
_LEAST_COMMON = 2  #: codes that must be shared: one sentence can be a quotation


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
        check_whole(self, "size", 2, LONGEST)
        if self.size % 2:
            raise setting_error(self, "size", "an even number")
        check_whole(self, "kept", 2, 1024)
        check_bounds(self, "share")
        check_whole(self, "filed", 1, 64)
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its smallest codes."""
        places = code_places(features, self.size)
        hashes = np.unique(code_hashes(features, places, self.size, self.seed) >> np.uint64(32))
        if len(hashes) < _LEAST_COMMON:
            return None
        codes = hashes[: self.kept].astype("<u4").tobytes()
        head = _HEAD.pack(_TAG, features.length, len(hashes))
        return Fingerprint(bucket_keys(hashes[: self.filed]), head + codes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Compare the two samples as far as both reach."""
        new_size, new_codes, new_reach = self._read(new)
        old_size, old_codes, old_reach = self._read(old)
        reach = min(new_reach, old_reach)
        of_new, of_old = new_codes[new_codes <= reach], old_codes[old_codes <= reach]
        common = len(np.intersect1d(of_new, of_old, assume_unique=True))
        if common < _LEAST_COMMON:
            return None
        union = len(of_new) + len(of_old) - common
        overlap = Overlap(common / union, common / len(of_new), common / len(of_old))
        return judged(overlap, new_size, old_size, self._bounds, {"codes": f"{common} of {union}"})

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
        least = Bar("", _LEAST_COMMON, common, at_least=True, measure="codes that both have")
        shown = Exhibit.of_elements("feature codes", _named(of_new), _named(of_old))
        found = Weighed(overlap, new_size, old_size, {"codes": f"{common} of {union}"}, shown, least)
        return weighed(self.name, self.compare(new, old), found, self._bounds, constant="share")

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes codes and keys."""
        return {"version": 1, "size": self.size, "kept": self.kept, "filed": self.filed, "seed": self.seed}

    @property
    def _bounds(self) -> Bounds:
        return Bounds(self.share, self.length_ratio, self.containment)

    def _read(self, sketch: bytes) -> tuple[Size, Codes, int]:
        """Return size, codes, and the largest hash up to which no code is left out."""
        if len(sketch) < _HEAD.size or sketch[0] != _TAG:
            raise foreign_sketch(self, sketch)
        _, length, count = _HEAD.unpack_from(sketch)
        held = min(count, self.kept)
        if not length or count < _LEAST_COMMON or len(sketch) != _HEAD.size + 4 * held:
            raise foreign_sketch(self, sketch)
        codes = np.frombuffer(sketch, "<u4", offset=_HEAD.size)
        return Size(length, count), codes, _END if held == count else int(codes[-1])


def _named(codes: Codes) -> list[str]:
    return [f"{code:08x}" for code in codes.tolist()]
