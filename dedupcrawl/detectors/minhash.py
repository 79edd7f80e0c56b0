"""Near-duplicates by the Jaccard similarity of their shingles."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dedupcrawl.detectors.base import (
    Detector,
    Exhibit,
    Fingerprint,
    Match,
    check_bounds,
    check_integer,
    check_seed,
    check_share,
    setting_error,
    sketch_error,
)
from dedupcrawl.detectors.lsh import (
    band_keys,
    band_keys_of_many,
    choose_bands,
    fast_similarity_sketch,
    fast_similarity_sketches,
)
from dedupcrawl.detectors.relations import MatchBounds, SlotAgreement, TextSize
from dedupcrawl.text.shingles import MAX_SHINGLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.detectors.lsh import Slots
    from dedupcrawl.text.features import Features, FeaturesBatch

_HEADER = struct.Struct("<BII")
_TAG = 0x4D
_CHANCE_AGREEMENT = 1 / 256


@dataclass(frozen=True)
class MinHash(Detector):
    """A sketch of the set of shingles, filed under its LSH bands.

    Sketch, little-endian: ``B`` tag 0x4D, ``I`` length in characters, ``I`` shingles, then one byte
    a slot. The similarity is the share of agreeing slots, corrected for the one in 256 that agree
    by chance.

    Every key costs room in the store, so only the first ``filed`` slots go into bands;
    ``miss_weight`` tells their choice how much worse a missed copy is than a candidate compared in vain.
    """

    name: ClassVar[str] = "minhash"
    threshold: float = 0.8
    length_ratio: float = 1.10
    containment: float = 0.9
    slots: int = 128
    characters: int = 5  #: length of a shingle that starts at a character of a script without spaces
    words: int = 3  #: length of one that starts at a word
    filed: int = 32
    miss_weight: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(self, "threshold")
        if not isinstance(self.slots, int) or self.slots not in (16, 32, 64, 128, 256):
            raise setting_error(self, "slots", "16, 32, 64, 128 or 256")
        check_integer(self, "characters", 1, MAX_SHINGLE)
        check_integer(self, "words", 1, MAX_SHINGLE)
        check_integer(self, "filed", 16, 256)
        check_share(self, "miss_weight")
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the bands of its sketch; None when it has no letter or digit."""
        shingles = features.shingles(self.characters, self.words, self.seed)
        if not len(shingles):
            return None
        slots = fast_similarity_sketch(shingles, self.slots, self.seed)
        head = _HEADER.pack(_TAG, features.length, len(shingles))
        return Fingerprint(self._keys(slots), head + slots.tobytes())

    def fingerprint_many(self, group: FeaturesBatch, wanted: Sequence[bool]) -> list[Fingerprint | None]:
        """File several pages."""
        hashes, texts, counts = group.shingles(self.characters, self.words, self.seed)
        if not all(wanted):
            asked = np.array(wanted)[texts]
            hashes, texts = hashes[asked], texts[asked]
        sketches = fast_similarity_sketches(hashes, texts, len(group), self.slots, self.seed)
        keys = band_keys_of_many(sketches, *self._bands(), self.seed)
        rows = sketches.tobytes()
        return [
            Fingerprint(
                keys[place],
                _HEADER.pack(_TAG, length, count) + rows[place * self.slots : (place + 1) * self.slots],
            )
            if one and count
            else None
            for place, (one, length, count) in enumerate(
                zip(wanted, group.lengths, counts.tolist(), strict=True)
            )
        ]

    def keys_of(self, sketch: bytes) -> tuple[bytes, ...]:
        """The bands are cut from the slots."""
        self._read(sketch)
        return self._keys(np.frombuffer(sketch, np.uint8, offset=_HEADER.size))

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Estimate the similarity and judge it by the two lengths."""
        new_size, new_slots = self._read(new)
        old_size, old_slots = self._read(old)
        differing = (new_slots ^ old_slots).to_bytes(self.slots, "little")
        return SlotAgreement(differing.count(0), self.slots, _CHANCE_AGREEMENT).judged(
            new_size, old_size, self._bounds
        )

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the slots that agree."""
        new_size, new_slots = self._read(new)
        old_size, old_slots = self._read(old)
        differing = (new_slots ^ old_slots).to_bytes(self.slots, "little")
        shown = Exhibit.of_places("slots", differing)
        agreement = SlotAgreement(differing.count(0), self.slots, _CHANCE_AGREEMENT)
        return agreement.weighed(self.name, new_size, old_size, self._bounds, shown)

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes slots and bands."""
        bands, rows = self._bands()
        return {
            "version": 1,
            "slots": self.slots,
            "characters": self.characters,
            "words": self.words,
            "bands": bands,
            "rows": rows,
            "seed": self.seed,
        }

    def _keys(self, slots: Slots) -> tuple[bytes, ...]:
        return band_keys(slots, *self._bands(), self.seed)

    def _bands(self) -> tuple[int, int]:
        return choose_bands(self.threshold, min(self.filed, self.slots), self.miss_weight)

    @cached_property
    def _bounds(self) -> MatchBounds:
        return MatchBounds(self.threshold, self.length_ratio, self.containment)

    def _read(self, sketch: bytes) -> tuple[TextSize, int]:
        """Return the size of a page, and its slots as the digits of one number."""
        if len(sketch) != _HEADER.size + self.slots or sketch[0] != _TAG:
            raise sketch_error(self, sketch)
        _, length, shingles = _HEADER.unpack_from(sketch)
        if not length or not shingles:
            raise sketch_error(self, sketch)
        return TextSize(length, shingles), int.from_bytes(sketch[_HEADER.size :], "little")
