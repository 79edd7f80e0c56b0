"""The characters around the first full stop, and the length of the text."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dedupcrawl.detectors.base import Bar, Detector, Exhibit, Fingerprint, Match, Opinion, Relation
from dedupcrawl.detectors.checks import check_ratio, check_seed, check_whole, foreign_sketch, setting_error
from dedupcrawl.detectors.codes import code_places, code_tokens, longest_common_subsequence, readable
from dedupcrawl.detectors.keys import bucket_keys
from dedupcrawl.detectors.relations import length_ratio
from dedupcrawl.text.hashing import Hashes, constants
from dedupcrawl.text.shingles import LONGEST, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.text.features import Features

_HEAD = struct.Struct("<BI")
_TAG = 0x46


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
        check_whole(self, "size", 4, LONGEST)
        check_whole(self, "tolerance", 0, 8)
        if self.size % 2 or self.size < 2 * (self.tolerance + 1):
            raise setting_error(self, "size", "an even number, at least 2 * (tolerance + 1)")
        check_ratio(self, "length_ratio")
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the pieces of its code."""
        places = code_places(features, self.size)
        if not len(places):
            return None
        place = int(places[0])
        code = " ".join(code_tokens(features, place, self.size)).encode()
        hashes = features.tokens.hashes
        keys = bucket_keys(self._pieces(hashes, place, 0))
        probes = bucket_keys(self._pieces(hashes, place, self.tolerance))
        return Fingerprint(keys, _HEAD.pack(_TAG, features.length) + code, probes)

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
            (Exhibit.of_elements("feature codes", [readable(new_code)], [readable(old_code)]),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes codes and keys."""
        return {"version": 1, "size": self.size, "tolerance": self.tolerance, "seed": self.seed}

    def _pieces(self, hashes: Hashes, place: int, reach: int) -> Hashes:
        """Hash every piece of the code at ``place``, moved by up to ``reach`` as far as there is text."""
        count = self.tolerance + 1
        cuts = [place + self.size * piece // count for piece in range(count + 1)]
        found = [
            runs(hashes[max(0, start - reach) : stop + reach], stop - start, self.seed) ^ salt
            for salt, (start, stop) in zip(constants(self.seed, "piece", count), pairwise(cuts), strict=True)
        ]
        return np.concatenate(found)

    def _evidence(
        self, new_code: list[str], old_code: list[str], common: int, lengths: tuple[int, int]
    ) -> dict[str, object]:
        return {
            "code": readable(new_code),
            "older_code": readable(old_code),
            "common": f"{common} of {self.size}",
            "lengths": list(lengths),
            "length_ratio": round(length_ratio(*lengths), 3),
        }

    def _read(self, sketch: bytes) -> tuple[int, list[str]]:
        if len(sketch) < _HEAD.size or sketch[0] != _TAG:
            raise foreign_sketch(self, sketch)
        _, length = _HEAD.unpack_from(sketch)
        code = sketch[_HEAD.size :].decode(errors="replace").split(" ")
        if not length or len(code) != self.size:
            raise foreign_sketch(self, sketch)
        return length, code
