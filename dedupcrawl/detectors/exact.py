"""Equal text after normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.detectors.base import Assessment, Detector, Fingerprint, Match, Relation, Threshold
from dedupcrawl.text.shingles import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features, FeaturesBatch

HASH_BYTES = 16  #: of the hash of a text


@dataclass(frozen=True)
class Exact(Detector):
    """A 128-bit BLAKE2b hash of the normalised main text in UTF-8.

    The 16 bytes of the hash are the sketch and the only key. A page without text has no fingerprint.
    """

    name: ClassVar[str] = "exact"
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        return self._fingerprint(features.encoded)

    def fingerprint_many(self, batch: FeaturesBatch, wanted: Sequence[bool]) -> list[Fingerprint | None]:
        pages = zip(batch.encoded, wanted, strict=True)
        return [self._fingerprint(text) if is_wanted else None for text, is_wanted in pages]

    def _fingerprint(self, text: bytes) -> Fingerprint | None:
        if not text:
            return None
        sketch = seeded_hash(text, HASH_BYTES, self.seed)
        return Fingerprint((sketch,), sketch)

    def keys_from_sketch(self, sketch: bytes) -> tuple[bytes, ...]:
        return (sketch,)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        for sketch in (new, old):
            if len(sketch) != HASH_BYTES:
                raise self.sketch_error(sketch)
        if new != old:
            return None
        return Match(1.0, Relation.IDENTICAL, {"text": f"same {HASH_BYTES * 8}-bit hash {new.hex()}"})

    def relations(self, new: bytes, olds: Sequence[bytes]) -> list[Relation | None]:
        if not {*map(len, olds), len(new)} <= {0, HASH_BYTES}:
            raise self.sketch_error(next(each for each in (new, *olds) if len(each) not in (0, HASH_BYTES)))
        return [Relation.IDENTICAL if old == new else None for old in olds]

    def assess(self, new: bytes, old: bytes) -> Assessment:
        match = self.compare(new, old)
        equal = Threshold("", 1, int(match is not None), at_least=True, measure="equal hashes of the text")
        figures = match.evidence if match else {"text": f"hashes {new.hex()} and {old.hex()}"}
        return Assessment(self.name, match, match.similarity if match else None, figures, (equal,))

    def scheme(self) -> Mapping[str, object]:
        return {"version": 1, "seed": self.seed}
