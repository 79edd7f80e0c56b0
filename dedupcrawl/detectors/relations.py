"""From an estimated resemblance and two sizes to how the pages relate."""

from __future__ import annotations

from dataclasses import dataclass

from dedupcrawl.detectors.base import Relation


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a page is."""

    length: int  #: characters of the normalised main text
    features: int  #: features (shingles, codes) in it; repetitions may count if they do on both sides


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where resemblance ends."""

    threshold: float  #: least Jaccard similarity of a near-duplicate
    length_ratio: float  #: most that the longer may exceed the shorter
    containment: float  #: least share of a page in the other to call it an excerpt of it


def length_ratio(new: int, old: int) -> float:
    """Longer / shorter, at least 1; lengths are positive."""
    return max(new, old) / min(new, old)


def containment(similarity: float, of: int, within: int) -> float:
    """Estimate |A∩B| / |A| from J(A, B), |A| and |B|, 0…1 (Broder 1997)."""
    return min(1.0, similarity * (of + within) / ((1 + similarity) * of))


def relate(similarity: float, new: Sizes, old: Sizes, bounds: Bounds) -> Relation | None:
    """Say how a new page relates to an old one, None: not enough to speak of."""
    if similarity >= bounds.threshold and length_ratio(new.length, old.length) <= bounds.length_ratio:
        return Relation.NEAR_DUPLICATE
    if new.features <= old.features:
        inside = containment(similarity, new.features, old.features)
        return Relation.EXCERPT if inside >= bounds.containment else None
    inside = containment(similarity, old.features, new.features)
    return Relation.EXPANSION if inside >= bounds.containment else None
