"""What a page was held against: the page that it relates to, and those that it nearly matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.policy import cluster_of
from dedupcrawl.report.entry import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.stores.base import Candidate, Record
    from dedupcrawl.verdict import Verdict

    Weigh = Callable[[Record, Record], tuple[Opinion, ...]]

MOST_WEIGHED = 8  #: pages that did not match and are weighed, the latest ones: a crowded bucket has many more
MOST_NEAR = 3  #: near misses of one page


def held_against(
    verdict: Verdict, record: Record, candidates: Sequence[Candidate], weigh: Weigh, least: float
) -> tuple[Held, ...]:
    """Return the page that the verdict names, then near misses, the nearest first.

    Args:
        verdict: on the page.
        record: of the page.
        candidates: what it was compared with.
        weigh: says what each detector thinks of two pages.
        least: similarity of a near miss, by the detector to which the two look most alike.
    """
    named = [each for each in candidates if verdict.of is not None and each.record.url == verdict.of]
    others = [each for each in candidates if each not in named and cluster_of(each.record) != verdict.cluster]
    related = _weighed(named, record, weigh)
    if len(related) > 1:
        related.sort(key=lambda held: _fits(held, verdict), reverse=True)
    if not others:
        return tuple(related[:1])
    missed = [held for held in _weighed(others[-MOST_WEIGHED:], record, weigh) if _is_near(held, least)]
    missed.sort(key=_similarity, reverse=True)
    return (*related[:1], *missed[:MOST_NEAR])


def _weighed(candidates: Iterable[Candidate], new: Record, weigh: Weigh) -> list[Held]:
    return [Held(each.record.url, cluster_of(each.record), weigh(new, each.record)) for each in candidates]


def _fits(held: Held, verdict: Verdict) -> tuple[bool, float]:
    """Tell which of several versions of a page the verdict means."""
    decided = any(each.match is not None and each.detector == verdict.detector for each in held.opinions)
    return decided, _similarity(held)


def _is_near(held: Held, least: float) -> bool:
    return _similarity(held) >= least and not any(each.match for each in held.opinions)


def _similarity(held: Held) -> float:
    nearest = held.nearest
    return -1.0 if nearest is None or nearest.similarity is None else nearest.similarity
