"""Near-duplicates by the super-shingles of their shingles' minima."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

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
    check_seed,
    setting_error,
    sketch_error,
)
from dedupcrawl.detectors.lsh import bucket_keys
from dedupcrawl.text.hashing import Hashes, light_mix, mix, seeded_constants
from dedupcrawl.text.shingles import MAX_SHINGLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.text.features import Features

_HEADER = struct.Struct("<BI")
_TAG = 0x42
_CHUNK_SHINGLES = (
    1024  #: shingles hashed at a time: so many under all functions stay in the processor's cache
)


@dataclass(frozen=True)
class Shingling(Detector):
    """Super-shingles (Broder et al., *Syntactic clustering of the Web*, 1997; Henzinger, SIGIR 2006).

    The least shingle under each of m independent hash functions is one of the page's ``minima``; two pages
    share each with probability J. They stand in m' ``super_shingles`` groups of m / m', and a hash of each
    group is a super-shingle, shared with probability J^(m / m'). Two pages match when at least b = ``needed``
    are equal (Fetterly, Manasse, Najork, *On the evolution of clusters of near-duplicate Web pages*).

    Sketch, little-endian: ``B`` tag 0x42, ``I`` length in characters, then the super-shingles, 8 bytes
    each. They are the keys too.
    """

    name: ClassVar[str] = "shingling"
    characters: int = 8  #: w, length of a shingle that starts at a character of a script without spaces
    words: int = 8  #: w, length of one that starts at a word
    minima: int = 84  #: m
    super_shingles: int = 6  #: m'
    needed: int = 2  #: b
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "characters", 1, MAX_SHINGLE)
        check_integer(self, "words", 1, MAX_SHINGLE)
        check_integer(self, "minima", 1, 1024)
        check_integer(self, "super_shingles", 1, self.minima)
        if self.minima % self.super_shingles:
            raise setting_error(self, "super_shingles", f"a divisor of minima = {self.minima}")
        check_integer(self, "needed", 1, self.super_shingles)
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its super-shingles; None when it has no letter or digit."""
        shingles = features.shingles(self.characters, self.words, self.seed)
        if not len(shingles):
            return None
        supers = super_shingles(minima(shingles, self.minima, self.seed), self.super_shingles, self.seed)
        sketch = _HEADER.pack(_TAG, features.length) + supers.astype("<u8").tobytes()
        return Fingerprint(bucket_keys(supers), sketch)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Count equal super-shingles.

        The similarity is the J at which so many of them would be expected to be equal.
        """
        new_length, new_supers = self._read(new)
        old_length, old_supers = self._read(old)
        equal = int(np.count_nonzero(new_supers == old_supers))
        if equal < self.needed:
            return None
        return Match(
            self._similarity(equal), Relation.NEAR_DUPLICATE, self._evidence(equal, new_length, old_length)
        )

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the super-shingles that are equal."""
        new_length, new_supers = self._read(new)
        old_length, old_supers = self._read(old)
        differing = new_supers != old_supers
        equal = self.super_shingles - int(np.count_nonzero(differing))
        return Opinion(
            self.name,
            self.compare(new, old),
            self._similarity(equal),
            self._evidence(equal, new_length, old_length),
            (Bar("needed", self.needed, equal, at_least=True, measure="equal super-shingles"),),
            (Exhibit.of_places("super-shingles", differing.tobytes()),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes super-shingles."""
        return {
            "version": 1,
            "characters": self.characters,
            "words": self.words,
            "minima": self.minima,
            "super_shingles": self.super_shingles,
            "seed": self.seed,
        }

    def _similarity(self, equal: int) -> float:
        share = equal / self.super_shingles
        return float(share ** (self.super_shingles / self.minima))

    def _evidence(self, equal: int, new_length: int, old_length: int) -> dict[str, object]:
        return {
            "super_shingles": f"{equal} of {self.super_shingles}",
            "lengths": [new_length, old_length],
        }

    def _read(self, sketch: bytes) -> tuple[int, Hashes]:
        if len(sketch) != _HEADER.size + 8 * self.super_shingles or sketch[0] != _TAG:
            raise sketch_error(self, sketch)
        _, length = _HEADER.unpack_from(sketch)
        if not length:
            raise sketch_error(self, sketch)
        return length, np.frombuffer(sketch, "<u8", offset=_HEADER.size)


def minima(shingles: Hashes, count: int, seed: int) -> Hashes:
    """Return the least shingle, not empty, under each of ``count`` hash functions, as its hash there."""
    functions = seeded_constants(seed, "minimum", count)[:, None]
    chunks = [shingles[at : at + _CHUNK_SHINGLES] for at in range(0, len(shingles), _CHUNK_SHINGLES)]
    least: Hashes = np.min([light_mix(chunk * functions).min(axis=1) for chunk in chunks], axis=0)
    return least


def super_shingles(least: Hashes, count: int, seed: int) -> Hashes:
    """Hash the minima in ``count`` groups; the place within the group counts, and so does the group."""
    groups = least.reshape(count, -1)
    sums = (groups * seeded_constants(seed, "super-shingle", groups.shape[1])).sum(axis=1, dtype=np.uint64)
    return mix(sums + seeded_constants(seed, "group", count))
