"""MinHash: the Jaccard similarity of the sets of shingles."""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dedupcrawl.detectors.base import Detector, Evidence, Fingerprint, Match, Relation
from dedupcrawl.detectors.lsh import (
    ROUNDS,
    band_keys,
    band_keys_of_many,
    choose_bands,
    fast_similarity_sketch,
    fast_similarity_sketches,
)
from dedupcrawl.detectors.relations import MIN_AGREEMENT, MatchLimits, SlotOverlap, TextSize
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features, hasher, is_compiled, loaded, normalizer, relate_sketches
from dedupcrawl.text.shingles import MAX_SHINGLE, seeded_constants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.detectors.lsh import Slots
    from dedupcrawl.text._kernel import Sketcher
    from dedupcrawl.text.features import FeaturesBatch

HEADER = struct.Struct("<BII")
TAG = 0x4D
_CHANCE_AGREEMENT = 1 / 256  #: share of agreeing slots of different elements, because a slot has 8 bits
#: By the byte that stands for it in :meth:`MinHash.relations`. The next number stands for a damaged sketch.
RELATIONS = (None, Relation.NEAR_DUPLICATE, Relation.EXCERPT, Relation.EXPANSION)
_NO_SKETCH = len(RELATIONS)


@dataclass(frozen=True)
class MinHash(Detector):
    """A sketch of the set of shingles; the keys are its LSH bands.

    Each slot of two sketches agrees with probability J, the Jaccard similarity (Broder, *On the resemblance and
    containment of documents*, 1997). :mod:`~dedupcrawl.detectors.lsh` names the sources of sketch and bands. The
    defaults were measured on labelled pages (docs/methods-measured.md).

    Sketch, little-endian: ``B`` tag 0x4D, ``I`` length in characters, ``I`` shingles, then one byte per slot.
    The similarity is the share of agreeing slots, corrected for chance.
    """

    name: ClassVar[str] = "minhash"
    threshold: float = 0.8  #: lowest estimated similarity of a near-duplicate, above 0, at most 1
    length_ratio: float = 1.10  #: α, highest ratio of the longer to the shorter text, at least 1
    length_slack: int = 500  #: highest difference of the lengths in characters, 0…10⁹
    containment: float = 0.9  #: lowest share of the shorter page in the longer one for an excerpt, above 0, at most 1
    slots: int = 128  #: slots of a sketch: 16, 32, 64, 128 or 256
    characters: int = 5  #: tokens of a shingle that starts at a character of a script without spaces, 1…64
    words: int = 3  #: tokens of a shingle that starts at a word, 1…64
    filed: int = 32  #: slots used for bands, 16…256; all, if ``slots`` is lower. Every key uses space in the store
    floor: float = 0.75  #: lowest threshold for which the bands are chosen; a lower threshold is the floor itself
    miss_weight: float = 0.9  #: weight of a missed copy in the choice of bands, above 0, at most 1
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_bounds("threshold")
        if not isinstance(self.slots, int) or self.slots not in (16, 32, 64, 128, 256):
            raise self.setting_error("slots", "16, 32, 64, 128 or 256")
        self.check_integer("characters", 1, MAX_SHINGLE)
        self.check_integer("words", 1, MAX_SHINGLE)
        self.check_integer("filed", 16, 256)
        self.check_share("floor")
        self.check_share("miss_weight")
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        if self.sketcher and features.compiled is not None:
            return self.sketcher.sketch(features.compiled)
        shingles = features.shingles(self.characters, self.words, self.seed)
        if not len(shingles):
            return None
        slots = fast_similarity_sketch(shingles, self.slots, self.seed)
        head = HEADER.pack(TAG, features.length, len(shingles))
        return Fingerprint(self._keys(slots), head + slots.tobytes())

    def fingerprint_text(self, text: str) -> Fingerprint | None:
        """Compute the fingerprint of a text that is no page; ``None`` for a text without tokens.

        The result is that of :meth:`fingerprint` for ``Features(Page.from_text(text))``, with less overhead.
        """
        sketcher = self.sketcher
        return sketcher.sketch_string(text) if sketcher else self.fingerprint(Features(Page.from_text(text)))

    @cached_property
    def sketcher(self) -> Sketcher[Fingerprint] | None:
        """The compiled sketcher, which makes sketch and keys of a text as lsh.py does; None with numpy."""
        if not is_compiled():
            return None
        bands, rows = self._bands()
        counts = {"round": ROUNDS, "order": self.slots, "row": rows, "band": bands}
        constants = [seeded_constants(self.seed, purpose, count) for purpose, count in counts.items()]
        shared = normalizer(False), hasher(self.seed)
        lengths = self.characters, self.words
        sketcher: Sketcher[Fingerprint] = loaded().Sketcher(Fingerprint, TAG, *shared, *lengths, *constants)
        return sketcher

    def __getstate__(self) -> dict[str, object]:
        """Return the constants alone: a sketcher cannot be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def fingerprint_many(self, batch: FeaturesBatch, wanted: Sequence[bool]) -> list[Fingerprint | None]:
        hashes, texts, counts = batch.shingles(self.characters, self.words, self.seed)
        if not all(wanted):
            is_wanted = np.array(wanted)[texts]
            hashes, texts = hashes[is_wanted], texts[is_wanted]
        sketches = fast_similarity_sketches(hashes, texts, len(batch), self.slots, self.seed)
        keys = band_keys_of_many(sketches, *self._bands(), self.seed)
        rows, size = sketches.tobytes(), self.slots
        pages = enumerate(zip(wanted, batch.lengths, counts.tolist(), strict=True))
        return [
            Fingerprint(keys[i], HEADER.pack(TAG, length, count) + rows[i * size : (i + 1) * size])
            if is_wanted and count
            else None
            for i, (is_wanted, length, count) in pages
        ]

    def keys_from_sketch(self, sketch: bytes) -> tuple[bytes, ...]:
        self._read(sketch)
        return self._keys(np.frombuffer(sketch, np.uint8, offset=HEADER.size))

    def compare(self, new: bytes, old: bytes) -> Match | None:
        new_size, new_slots = self._read(new)
        old_size, old_slots = self._read(old)
        differing = (new_slots ^ old_slots).to_bytes(self.slots, "little")
        agreement = SlotOverlap(differing.count(0), self.slots, _CHANCE_AGREEMENT)
        return agreement.match(new_size, old_size, self._bounds)

    def relations(self, new: bytes, olds: Sequence[bytes]) -> list[Relation | None]:
        self._read(new)
        size = HEADER.size + self.slots
        for old in olds:
            if old and len(old) != size:
                raise self.sketch_error(old)
        joined = b"".join(olds)
        compiled = relate_sketches(new, joined, TAG, self.slots, self._numbers)
        codes = self._relations(new, joined) if compiled is None else compiled
        if _NO_SKETCH in codes:
            at = codes.index(_NO_SKETCH) * size
            raise self.sketch_error(joined[at : at + size])
        found = map(RELATIONS.__getitem__, codes)
        return [next(found) if old else None for old in olds] if b"" in olds else list(found)

    def _relations(self, new: bytes, olds: bytes) -> bytes:
        """Do the same with numpy as ``relate_sketches`` in C: a byte for each of the sketches, see ``RELATIONS``."""
        rows = np.frombuffer(olds, np.uint8).reshape(-1, HEADER.size + self.slots)
        agreeing = (rows[:, HEADER.size :] == np.frombuffer(new, np.uint8)[HEADER.size :]).sum(1)
        lengths, counts = rows[:, 1 : HEADER.size].copy().view("<u4").T.astype(np.float64)
        is_sketch = (rows[:, 0] == TAG) & (lengths > 0) & (counts > 0)
        lengths, counts = np.where(is_sketch, (lengths, counts), 1.0)
        _, length, count = HEADER.unpack_from(new)
        share = agreeing / self.slots
        similarity = np.maximum(0.0, (share - _CHANCE_AGREEMENT) / (1 - _CHANCE_AGREEMENT))
        common = similarity * (counts + count) / (1 + similarity)
        bounds, shorter = self._bounds, np.minimum(lengths, length)
        longer = np.maximum(lengths, length)
        is_alike = (longer / shorter <= bounds.length_ratio) & (longer - shorter <= bounds.length_slack)
        is_part = length <= lengths
        is_contained = common / np.where(is_part, float(count), counts) >= bounds.containment
        part = np.where(is_contained, np.where(is_part, 2, 3), 0)
        codes = np.where(is_alike & (similarity >= bounds.similarity), 1, part)
        codes[agreeing * MIN_AGREEMENT < self.slots] = 0
        codes[~is_sketch] = _NO_SKETCH
        return codes.astype(np.uint8).tobytes()

    def assess(self, new: bytes, old: bytes) -> Assessment:
        new_size, new_slots = self._read(new)
        old_size, old_slots = self._read(old)
        differing = (new_slots ^ old_slots).to_bytes(self.slots, "little")
        piece = Evidence.of_places("slots", differing)
        agreement = SlotOverlap(differing.count(0), self.slots, _CHANCE_AGREEMENT)
        return agreement.assessment(self.name, new_size, old_size, self._bounds, piece)

    def scheme(self) -> Mapping[str, object]:
        bands, rows = self._bands()
        constants = self.constants("slots", "characters", "words")
        return {"version": 2, **constants, "bands": bands, "rows": rows, "seed": self.seed}

    def _keys(self, slots: Slots) -> tuple[bytes, ...]:
        return band_keys(slots, *self._bands(), self.seed)

    def _bands(self) -> tuple[int, int]:
        return choose_bands(min(self.threshold, self.floor), min(self.filed, self.slots), self.miss_weight)

    @cached_property
    def _bounds(self) -> MatchLimits:
        return MatchLimits(self.threshold, self.length_ratio, self.length_slack, self.containment)

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        """The bounds as the compiled code takes them."""
        return (_CHANCE_AGREEMENT, *astuple(self._bounds))

    def _read(self, sketch: bytes) -> tuple[TextSize, int]:
        """Return the size of a page, and its slots as one number."""
        if len(sketch) != HEADER.size + self.slots or sketch[0] != TAG:
            raise self.sketch_error(sketch)
        _, length, shingles = HEADER.unpack_from(sketch)
        if not length or not shingles:
            raise self.sketch_error(sketch)
        return TextSize(length, shingles), int.from_bytes(sketch[HEADER.size :], "little")
