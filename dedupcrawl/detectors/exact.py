"""Same text, byte for byte after normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.detectors.base import (
    Bar,
    Detector,
    Fingerprint,
    Match,
    Opinion,
    Relation,
    check_seed,
    sketch_error,
)
from dedupcrawl.text.hashing import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.text.features import Features, FeaturesBatch

_HASH_BYTES = 16


@dataclass(frozen=True)
class Exact(Detector):
    """A 128-bit BLAKE2b hash of the normalised main text in UTF-8.

    Sketch and only key: the 16 bytes of the hash. A page without any text has none.
    """

    name: ClassVar[str] = "exact"
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the hash of its text."""
        if not features.length:
            return None
        return _hash_fingerprint(
            seeded_hash(features.text.encode("utf-8", "surrogatepass"), _HASH_BYTES, self.seed)
        )

    def fingerprint_many(self, group: FeaturesBatch, wanted: Sequence[bool]) -> list[Fingerprint | None]:
        """File several pages."""
        texts = zip(group.encoded, wanted, strict=True)
        return [
            _hash_fingerprint(seeded_hash(text, _HASH_BYTES, self.seed)) if text and one else None
            for text, one in texts
        ]

    def keys_of(self, sketch: bytes) -> tuple[bytes, ...]:
        """The hash is both."""
        return (sketch,)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match equal hashes."""
        for sketch in (new, old):
            if len(sketch) != _HASH_BYTES:
                raise sketch_error(self, sketch)
        if new != old:
            return None
        return Match(1.0, Relation.IDENTICAL, {"text": f"same {_HASH_BYTES * 8}-bit hash {new.hex()}"})

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the two hashes; how much texts differ is not to be seen from them."""
        match = self.compare(new, old)
        equal = Bar("", 1, int(match is not None), at_least=True, measure="equal hashes of the text")
        figures = match.evidence if match else {"text": f"hashes {new.hex()} and {old.hex()}"}
        return Opinion(self.name, match, match.similarity if match else None, figures, (equal,))

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes the hash."""
        return {"version": 1, "seed": self.seed}


def _hash_fingerprint(sketch: bytes) -> Fingerprint:
    return Fingerprint((sketch,), sketch)
