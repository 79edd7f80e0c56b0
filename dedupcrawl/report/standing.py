"""What became of all pages, as parts that add up to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.report.figures import Figures

_MEANING = {
    "identical": "the same main text as an earlier page",
    "near-duplicate": "the same but for small changes",
    "unchanged": "seen before under the same URL, with the same text",
    "excerpt": "all of it is in a longer earlier page",
    "expansion": "contains a shorter earlier page, and more",
    "updated": "seen before under the same URL, with another text",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A part of the pages."""

    kind: str  #: the class that colours it
    name: str
    meaning: str
    pages: int
    start: float  #: where its part of the bar begins, 0…100
    width: float


def outcomes(figures: Figures) -> tuple[Outcome, ...]:
    """Return the parts in the order of the bar: new, related, repeated, unchecked."""
    made, start = [], 0.0
    for kind, name, meaning, pages in _parts(figures):
        width = 100 * pages / max(figures.pages, 1)
        made.append(Outcome(kind, name, meaning, pages, round(start, 3), round(width, 3)))
        start += width
    return tuple(made)


def _parts(figures: Figures) -> Iterator[tuple[str, str, str, int]]:
    said = sum(figures.duplicates.values()) + sum(figures.related.values())
    yield "unique", "new", "like no earlier page", figures.checked - said
    for counts in (figures.related, figures.duplicates):
        for relation, pages in counts.items():
            if pages:
                yield relation, relation, _MEANING.get(relation, ""), pages
    unchecked = sum(figures.unchecked.values())
    if unchecked:
        reasons = (f"{reason} {pages:,}" for reason, pages in figures.unchecked.items() if pages)
        yield "unchecked", "unchecked", "could not be judged, and kept: " + ", ".join(reasons), unchecked
