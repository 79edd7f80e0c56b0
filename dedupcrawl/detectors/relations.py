"""From resemblance, containment and two lengths to how the pages relate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dedupcrawl.detectors.base import Bar, Exhibit, Match, Opinion, Relation

_MIN_AGREEMENT = 8  #: one slot in so many must agree


@dataclass(frozen=True, slots=True)
class MatchBounds:
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


class TextSize(NamedTuple):
    """How large a page is."""

    length: int  #: characters of the normalised main text, at least 1
    features: int  #: shingles or codes, at least 1; repetitions may count if they do on both sides


def length_ratio(new: int, old: int) -> float:
    """Longer / shorter, at least 1; lengths are positive."""
    return max(new, old) / min(new, old)


def relate(overlap: Overlap, new: TextSize, old: TextSize, bounds: MatchBounds) -> Relation | None:
    """Say how a new page relates to an old one, None: not enough to speak of."""
    if (
        overlap.similarity >= bounds.similarity
        and length_ratio(new.length, old.length) <= bounds.length_ratio
    ):
        return Relation.NEAR_DUPLICATE
    if new.length <= old.length:
        return Relation.EXCERPT if overlap.new_in_old >= bounds.containment else None
    return Relation.EXPANSION if overlap.old_in_new >= bounds.containment else None


def match_by_overlap(
    overlap: Overlap, new: TextSize, old: TextSize, bounds: MatchBounds, counted: dict[str, object]
) -> Match | None:
    """Make a match of a relation, with what was ``counted`` and the lengths as its evidence."""
    relation = relate(overlap, new, old, bounds)
    if relation is None:
        return None
    return Match(overlap.similarity, relation, overlap_evidence(overlap, new, old, counted))


def overlap_evidence(
    overlap: Overlap, new: TextSize, old: TextSize, counted: dict[str, object]
) -> dict[str, object]:
    """Put what was ``counted`` and the lengths down as plain JSON."""
    return counted | {
        "lengths": [new.length, old.length],
        "length_ratio": round(length_ratio(new.length, old.length), 3),
        "new_in_old": round(overlap.new_in_old, 3),
        "old_in_new": round(overlap.old_in_new, 3),
    }


@dataclass(frozen=True, slots=True)
class OverlapMeasurement:
    """What was found of two pages, for :func:`weighed` to say."""

    overlap: Overlap
    new: TextSize
    old: TextSize
    counted: dict[str, object]
    exhibit: Exhibit
    least: Bar  #: what the method itself asks for before it says anything


def opinion_by_overlap(
    detector: str,
    match: Match | None,
    found: OverlapMeasurement,
    bounds: MatchBounds,
    *,
    constant: str = "threshold",
) -> Opinion:
    """Make an opinion of what was found; ``constant`` is the one that sets ``bounds.similarity``.

    The bar of the method itself is named only where the pair does not meet it.
    """
    overlap, new, old = found.overlap, found.new, found.old
    ratio = length_ratio(new.length, old.length)
    own = () if found.least.is_met else (found.least,)
    shorter = "new" if new.length <= old.length else "older"
    contained = overlap.new_in_old if shorter == "new" else overlap.old_in_new
    part = f"share of the {shorter} page in the other"
    return Opinion(
        detector,
        match,
        overlap.similarity,
        overlap_evidence(overlap, new, old, found.counted),
        (
            *own,
            Bar(constant, bounds.similarity, overlap.similarity, at_least=True, measure="similarity"),
            Bar("length_ratio", bounds.length_ratio, ratio, at_least=False, measure="longer / shorter"),
        ),
        (found.exhibit,),
        part_bars=(*own, Bar("containment", bounds.containment, contained, at_least=True, measure=part)),
    )


@dataclass(frozen=True, slots=True)
class SlotAgreement:
    """How many slots of two sketches agree."""

    agreeing: int
    slots: int
    chance: float = 0.0  #: share of slots in which different elements agree

    @property
    def similarity(self) -> float:
        """The estimate of J, corrected for chance."""
        return max(0.0, (self.agreeing / self.slots - self.chance) / (1 - self.chance))

    def judged(self, new: TextSize, old: TextSize, bounds: MatchBounds) -> Match | None:
        """Judge two pages by their sketches and sizes.

        Containment multiplies the estimate by up to the ratio of the sizes, and its error too, so fewer
        slots than one in eight prove nothing.
        """
        if self.agreeing * _MIN_AGREEMENT < self.slots:
            return None
        overlap = Overlap.estimated(self.similarity, new.features, old.features)
        return match_by_overlap(overlap, new, old, bounds, self._counted)

    def weighed(
        self, detector: str, new: TextSize, old: TextSize, bounds: MatchBounds, slots: Exhibit
    ) -> Opinion:
        """Say of two pages all that is measured for :meth:`judged`."""
        overlap = Overlap.estimated(self.similarity, new.features, old.features)
        least = Bar("", self.slots / _MIN_AGREEMENT, self.agreeing, at_least=True, measure="slots that agree")
        found = OverlapMeasurement(overlap, new, old, self._counted, slots, least)
        return opinion_by_overlap(detector, self.judged(new, old, bounds), found, bounds)

    @property
    def _counted(self) -> dict[str, object]:
        return {"slots": f"{self.agreeing} of {self.slots}"}
