"""What a detector has to say of a pair of pages, whether it matches them or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.detectors.base import Match


@dataclass(frozen=True, slots=True)
class Bar:
    """One condition that a pair must meet for a detector to take it for copies."""

    constant: str  #: the field of the detector that sets it, as a user names it: "threshold"
    value: float  #: the constant in force
    found: float  #: what the pair has, in the same unit
    at_least: bool  #: whether ``found`` must reach ``value``; False: must not exceed it

    @property
    def is_met(self) -> bool:
        """Whether the pair meets it."""
        return self.found >= self.value if self.at_least else self.found <= self.value


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What two sketches have in common, laid out for a person to see.

    Either places that agree or not, or elements by their names.
    """

    unit: str  #: what the places or elements are, in the plural: "slots", "bits", "feature codes", "keywords"
    agreeing: str = ""  #: a character a place: "1" where the sketches agree, "0" where they differ
    shared: tuple[str, ...] = ()  #: elements of both, by name; at most ``MOST_SHOWN`` of each kind
    only_new: tuple[str, ...] = ()
    only_old: tuple[str, ...] = ()


MOST_SHOWN = 40  #: elements of an exhibit


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one detector says of a new and an older page."""

    detector: str
    match: Match | None  #: exactly what :meth:`~dedupcrawl.detectors.base.Detector.compare` says
    similarity: float | None = None  #: 0…1 in its own measure, matched or not; None: nothing to measure
    figures: Mapping[str, object] = field(default_factory=dict)  #: plain JSON; a match's evidence is among it
    bars: tuple[Bar, ...] = ()  #: what a near-duplicate must meet
    exhibits: tuple[Exhibit, ...] = ()
    silent: str = ""  #: why it says nothing ("the new page has no fingerprint"); "" where it does
