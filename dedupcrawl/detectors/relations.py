"""From resemblance, containment and two lengths to how the pages relate."""

from __future__ import annotations

from dataclasses import dataclass

from dedupcrawl.detectors.base import Match, Relation


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where resemblance ends."""

    similarity: float  #: least Jaccard similarity of a near-duplicate
    length_ratio: float  #: most that the longer may exceed the shorter
    containment: float  #: least share of the shorter in the longer to call it an excerpt


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two sets of features share, every number 0…1."""

    similarity: float  #: |A∩B| / |A∪B|
    new_in_old: float  #: |A∩B| / |A|, A the new page
    old_in_new: float  #: |A∩B| / |B|

    @classmethod
    def estimated(cls, similarity: float, new: int, old: int) -> Overlap:
        """Derive containment from J and the two sizes (Broder 1997)."""
        common = similarity * (new + old) / (1 + similarity)
        return cls(similarity, min(1.0, common / new), min(1.0, common / old))


def length_ratio(new: int, old: int) -> float:
    """Longer / shorter, at least 1; lengths are positive."""
    return max(new, old) / min(new, old)


def relate(overlap: Overlap, new: int, old: int, bounds: Bounds) -> Relation | None:
    """Say how a new page of length ``new`` relates to an old one, None: not enough to speak of."""
    if overlap.similarity >= bounds.similarity and length_ratio(new, old) <= bounds.length_ratio:
        return Relation.NEAR_DUPLICATE
    if new <= old:
        return Relation.EXCERPT if overlap.new_in_old >= bounds.containment else None
    return Relation.EXPANSION if overlap.old_in_new >= bounds.containment else None


def judged(overlap: Overlap, new: int, old: int, bounds: Bounds, counted: dict[str, object]) -> Match | None:
    """Make a match of a relation, with what was ``counted`` and the lengths as its evidence."""
    relation = relate(overlap, new, old, bounds)
    if relation is None:
        return None
    evidence = counted | {
        "lengths": [new, old],
        "length_ratio": round(length_ratio(new, old), 3),
        "new_in_old": round(overlap.new_in_old, 3),
        "old_in_new": round(overlap.old_in_new, 3),
    }
    return Match(overlap.similarity, relation, evidence)
