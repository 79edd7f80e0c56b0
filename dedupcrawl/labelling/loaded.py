"""What is found in a run, of whatever kind it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.labelling.drawing import Urn
    from dedupcrawl.report.figures import Histogram

THRESHOLD = 0.8  #: where no detector of the run has one

#: Of the other relations nobody needs to be asked: texts are identical, or pages have one URL.
ASKED = frozenset({Relation.NEAR_DUPLICATE, Relation.EXCERPT, Relation.EXPANSION})


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pairs of a run."""

    urn: Urn
    name: str  #: of the run, for a person
    without_text: int  #: pairs that cannot be shown: a text was not kept, or cannot be read again


def threshold_of(histograms: Iterable[Histogram]) -> float:
    """Return the threshold of the detector that measured most pairs."""
    found = [
        (sum(each.matched) + sum(each.missed), each.threshold)
        for each in histograms
        if each.threshold is not None
    ]
    return max(found)[1] if found else THRESHOLD


def run_name(title: str, began: float) -> str:
    """Return the name by which labels know their run."""
    return f"{title} of {datetime.fromtimestamp(began, UTC).isoformat(timespec='milliseconds')}"
