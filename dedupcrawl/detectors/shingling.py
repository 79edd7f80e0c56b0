"""Shingling: super-shingles of the minima of shingles."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dedupcrawl.detectors.base import CountingDetector, Fingerprint
from dedupcrawl.detectors.lsh import bucket_keys
from dedupcrawl.text.features import least_hashes
from dedupcrawl.text.shingles import MAX_SHINGLE, Hashes, light_mix, mix, seeded_constants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.text.features import Features

_HEADER = struct.Struct("<BI")
_TAG = 0x42
_CHUNK_SHINGLES = 1024  #: shingles hashed at a time; with all functions they fit into the processor cache


@dataclass(frozen=True)
class Shingling(CountingDetector):
    """Super-shingles (Broder et al., *Syntactic clustering of the Web*, 1997; Henzinger, SIGIR 2006).

    The smallest shingle under each of m independent hash functions is one of the ``minima``; two pages share
    each of them with probability J. The minima form m' groups of m / m'. The hash of a group is a
    super-shingle, which two pages share with probability J^(m / m'). Two pages match if at least b =
    ``needed`` super-shingles are equal (Fetterly, Manasse, Najork, *On the evolution of clusters of
    near-duplicate Web pages*, 2003).

    Sketch, little-endian: ``B`` tag 0x42, ``I`` length in characters, then the super-shingles, 8 bytes each.
    They are also the keys.
    """

    name: ClassVar[str] = "shingling"
    needed_constant: ClassVar[str] = "needed"
    part: ClassVar[str] = "super-shingles"
    characters: int = 8  #: w, tokens of a shingle that starts at a character of a script without spaces, 1…64
    words: int = 8  #: w, tokens of a shingle that starts at a word, 1…64
    minima: int = 84  #: m, hash functions, 1…1024
    super_shingles: int = 6  #: m', a divisor of m
    needed: int = 2  #: b, lowest number of equal super-shingles, 1…``super_shingles``
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("characters", 1, MAX_SHINGLE)
        self.check_integer("words", 1, MAX_SHINGLE)
        self.check_integer("minima", 1, 1024)
        self.check_integer("super_shingles", 1, self.minima)
        if self.minima % self.super_shingles:
            raise self.setting_error("super_shingles", f"a divisor of minima = {self.minima}")
        self.check_integer("needed", 1, self.super_shingles)
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        shingles = features.shingles(self.characters, self.words, self.seed)
        if not len(shingles):
            return None
        supers = super_shingles(minima(shingles, self.minima, self.seed), self.super_shingles, self.seed)
        sketch = _HEADER.pack(_TAG, features.length) + supers.astype("<u8").tobytes()
        return Fingerprint(bucket_keys(supers), sketch)

    def scheme(self) -> Mapping[str, object]:
        constants = self.constants("characters", "words", "minima", "super_shingles", "seed")
        return {"version": 2, **constants}

    def measure(self, new: bytes, old: bytes) -> tuple[int, float, dict[str, object], bytes]:
        """Return equal super-shingles, similarity, evidence, and which super-shingles differ.

        The similarity is the J at which this number of equal super-shingles is expected.
        """
        new_length, new_supers = self._read(new)
        old_length, old_supers = self._read(old)
        differing = (new_supers != old_supers).tobytes()
        equal = differing.count(0)
        similarity = float((equal / self.super_shingles) ** (self.super_shingles / self.minima))
        evidence: dict[str, object] = {
            "super_shingles": f"{equal} of {self.super_shingles}",
            "lengths": [new_length, old_length],
        }
        return equal, similarity, evidence, differing

    def _read(self, sketch: bytes) -> tuple[int, Hashes]:
        if len(sketch) != _HEADER.size + 8 * self.super_shingles or sketch[0] != _TAG:
            raise self.sketch_error(sketch)
        _, length = _HEADER.unpack_from(sketch)
        if not length:
            raise self.sketch_error(sketch)
        return length, np.frombuffer(sketch, "<u8", offset=_HEADER.size)


def minima(shingles: Hashes, count: int, seed: int) -> Hashes:
    """Return the smallest hash of the shingles under each of ``count`` hash functions."""
    factors = seeded_constants(seed, "minimum", count)
    compiled = least_hashes(shingles, factors)
    if compiled is not None:
        return compiled
    functions = factors[:, None]
    chunks = [shingles[i : i + _CHUNK_SHINGLES] for i in range(0, len(shingles), _CHUNK_SHINGLES)]
    least: Hashes = np.min([light_mix(chunk * functions).min(axis=1) for chunk in chunks], axis=0)
    return least


def super_shingles(least: Hashes, count: int, seed: int) -> Hashes:
    """Hash the minima in ``count`` groups. The hash depends on the order within a group and on the group."""
    groups = least.reshape(count, -1)
    sums = (groups * seeded_constants(seed, "super-shingle", groups.shape[1])).sum(axis=1, dtype=np.uint64)
    return mix(sums + seeded_constants(seed, "group", count))
