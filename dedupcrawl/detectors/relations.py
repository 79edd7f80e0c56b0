"""Relations of two pages, from their similarity, containment and lengths."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from dedupcrawl.detectors.base import Assessment, Evidence, Match, Relation, Threshold

MIN_AGREEMENT = 8  #: at least one slot in this number must agree
_MAX_DEVIATIONS = 6  #: standard deviations of an estimate; chance exceeds six once in a billion pairs


@dataclass(frozen=True, slots=True)
class MatchLimits:
    """The bounds of a match."""

    similarity: float  #: lowest Jaccard similarity of a near-duplicate, 0…1
    length_ratio: float  #: highest ratio of the longer to the shorter text, at least 1
    length_slack: int  #: highest difference of the lengths in characters, from 0
    containment: float  #: lowest share of an excerpt in the longer page, 0…1


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two sets of features have in common. All numbers are 0…1."""

    similarity: float  #: |A∩B| / |A∪B|
    new_in_old: float  #: |A∩B| / |A|, where A is the new page
    old_in_new: float  #: |A∩B| / |B|

    @classmethod
    def estimated(cls, similarity: float, new: int, old: int) -> Overlap:
        """Compute containment from J and the numbers of features (Broder 1997)."""
        common = similarity * (new + old) / (1 + similarity)
        return cls(similarity, min(1.0, common / new), min(1.0, common / old))


class TextSize(NamedTuple):
    """The size of a page."""

    length: int  #: characters of the normalised main text, at least 1
    features: int  #: shingles or codes, at least 1; with or without repetitions


def length_ratio(new: int, old: int) -> float:
    """Return the ratio of the longer to the shorter of two positive lengths, at least 1."""
    return max(new, old) / min(new, old)


def are_similar_lengths(new: int, old: int, ratio: float, slack: int) -> bool:
    """Return whether two positive lengths differ by at most the ratio and at most ``slack`` characters.

    A ratio alone lets a long page carry a whole story more than its copy: five per cent of 30,000 characters.
    The bylines, notices and captions by which copies differ do not grow with the text.
    """
    return length_ratio(new, old) <= ratio and abs(new - old) <= slack


def length_thresholds(new: int, old: int, ratio: float, slack: int) -> tuple[Threshold, Threshold]:
    """Return the two conditions of :func:`are_similar_lengths`."""
    difference, measure = abs(new - old), "difference of the lengths in characters"
    return (
        Threshold("length_ratio", ratio, length_ratio(new, old), at_least=False, measure="longer / shorter"),
        Threshold("length_slack", slack, difference, at_least=False, measure=measure),
    )


def relate(overlap: Overlap, new: TextSize, old: TextSize, bounds: MatchLimits) -> Relation | None:
    """Return how a new page relates to an earlier one; ``None`` if it does not."""
    has_similar_length = are_similar_lengths(new.length, old.length, bounds.length_ratio, bounds.length_slack)
    if has_similar_length and overlap.similarity >= bounds.similarity:
        return Relation.NEAR_DUPLICATE
    if new.length <= old.length:
        return Relation.EXCERPT if overlap.new_in_old >= bounds.containment else None
    return Relation.EXPANSION if overlap.old_in_new >= bounds.containment else None


@dataclass(frozen=True, slots=True)
class OverlapMeasurements:
    """The measured values of a pair."""

    overlap: Overlap
    new: TextSize  #: size of the new page
    old: TextSize  #: size of the earlier page
    counts: dict[str, object]  #: of the evidence, as JSON values

    def match(self, bounds: MatchLimits) -> Match | None:
        """Return the match of the pair within ``bounds``."""
        relation = relate(self.overlap, self.new, self.old, bounds)
        return Match(self.overlap.similarity, relation, self._evidence) if relation else None

    def assessment(
        self, detector: str, bounds: MatchLimits, piece: Evidence, minimum: Threshold, *, constant: str = "threshold"
    ) -> Assessment:
        """Return the assessment of ``detector`` on the pair.

        Args:
            detector: Name of the detector.
            bounds: The bounds of a match.
            piece: The common parts of the sketches.
            minimum: Fixed condition of the method; shown only if the pair does not meet it.
            constant: Name of the constant that sets ``bounds.similarity``.
        """
        overlap, lengths = self.overlap, (self.new.length, self.old.length)
        unmet = () if minimum.is_met else (minimum,)
        shorter, contained = ("new", overlap.new_in_old) if lengths[0] <= lengths[1] else ("older", overlap.old_in_new)
        part = f"share of the {shorter} page in the other"
        return Assessment(
            detector,
            None if unmet else self.match(bounds),
            overlap.similarity,
            self._evidence,
            (
                *unmet,
                Threshold(constant, bounds.similarity, overlap.similarity, at_least=True, measure="similarity"),
                *length_thresholds(*lengths, bounds.length_ratio, bounds.length_slack),
            ),
            (piece,),
            part_thresholds=(
                *unmet,
                Threshold("containment", bounds.containment, contained, at_least=True, measure=part),
            ),
        )

    @property
    def _evidence(self) -> dict[str, object]:
        lengths = [self.new.length, self.old.length]
        return self.counts | {
            "lengths": lengths,
            "length_ratio": round(length_ratio(*lengths), 3),
            "new_in_old": round(self.overlap.new_in_old, 3),
            "old_in_new": round(self.overlap.old_in_new, 3),
        }


@dataclass(frozen=True, slots=True)
class SlotOverlap:
    """The number of agreeing slots of two sketches."""

    agreeing: int  #: number of agreeing slots
    slots: int  #: number of slots of a sketch
    chance: float = 0.0  #: share of slots that agree by chance, 0…1
    counts_sets: bool = False  #: whether the sizes of pages are those of sets, without repetitions

    @property
    def similarity(self) -> float:
        """The estimate of J, corrected for chance, 0…1."""
        return max(0.0, (self.agreeing / self.slots - self.chance) / (1 - self.chance))

    def match(self, new: TextSize, old: TextSize, bounds: MatchLimits) -> Match | None:
        """Return the match of two pages, given their sizes.

        If one page is much longer, computing the containment enlarges the error of the estimate. So a pair with fewer
        than one agreeing slot in eight never matches.
        """
        if self.agreeing * MIN_AGREEMENT < self.slots or self.similarity > self.limit(new, old):
            return None
        return self._measured(new, old).match(bounds)

    def limit(self, new: TextSize, old: TextSize) -> float:
        """Return the highest estimate that two sets of these sizes can give.

        Two sets have at most J = min / max of their sizes. The estimate is allowed ``_MAX_DEVIATIONS`` standard
        deviations more, and the error of one slot. A higher one comes from a page that was made to agree. Sizes
        with repetitions limit nothing: a text and the same text twice have J = 1.
        """
        if not self.counts_sets:
            return 1.0
        most = min(new.features, old.features) / max(new.features, old.features)
        return min(1.0, most + _MAX_DEVIATIONS * sqrt(most * (1 - most) / self.slots) + 1 / self.slots)

    def assessment(
        self, detector: str, new: TextSize, old: TextSize, bounds: MatchLimits, slots: Evidence
    ) -> Assessment:
        """Return the assessment on two pages, given their sizes and the evidence of their slots."""
        least = self.slots / MIN_AGREEMENT
        minimum = Threshold("", least, self.agreeing, at_least=True, measure="slots that agree")
        limit = self.limit(new, old)
        if self.similarity > limit:
            minimum = Threshold("", limit, self.similarity, at_least=False, measure="similarity that the sizes allow")
        return self._measured(new, old).assessment(detector, bounds, slots, minimum)

    def _measured(self, new: TextSize, old: TextSize) -> OverlapMeasurements:
        overlap = Overlap.estimated(self.similarity, new.features, old.features)
        return OverlapMeasurements(overlap, new, old, {"slots": f"{self.agreeing} of {self.slots}"})
