"""Sums of what several ledgers counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.report.figures import Figures, Flow, Histogram, Host, Slice
from dedupcrawl.report.timeline import folded, width_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OTHERS = "(others)"  #: all hosts that are not named, and pages without any
SLICES = 120  #: spans of time that are shown


def figures_of(counts: Mapping[str, int]) -> Figures:
    """Return the headline; names are those of the stats without ``dedup/``."""
    unchecked = below("unchecked/", counts)
    return Figures(
        pages=counts.get("checked", 0) + sum(unchecked.values()),
        checked=counts.get("checked", 0),
        kept=counts.get("kept", 0),
        dropped=counts.get("dropped", 0),
        duplicates=below("duplicate/", counts),
        related=below("related/", counts),
        unchecked=unchecked,
        released=counts.get("released", 0),
        bytes=counts.get("bytes", 0),
        bytes_saved=counts.get("bytes_saved", 0),
        requests_saved=counts.get("requests_saved"),
    )


def below(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counters whose names begin with this, largest first."""
    found = {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix) and n}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def joined_hosts(hosts: Iterable[Host]) -> tuple[Host, ...]:
    """Add up what is said of the same host; those with most pages first."""
    sums: dict[str, Host] = {}
    for each in hosts:
        name = each.name or OTHERS
        before = sums.get(name, Host(name, 0, 0, 0))
        sums[name] = Host(
            name, before.pages + each.pages, before.kept + each.kept, before.dropped + each.dropped
        )
    return tuple(sorted(sums.values(), key=lambda each: (-each.pages, each.name)))


def joined_flows(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    """Add up what is said of the same two hosts; those with most pages first."""
    sums: Counter[tuple[str, str]] = Counter()
    for each in flows:
        sums[each.copy or OTHERS, each.source or OTHERS] += each.pages
    return tuple(Flow(*hosts, n) for hosts, n in sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def joined_histograms(histograms: Iterable[Histogram]) -> tuple[Histogram, ...]:
    """Add up what is said of the same detector; edges are the same in all."""
    sums: dict[str, Histogram] = {}
    for each in histograms:
        before = sums.get(each.detector)
        sums[each.detector] = each if before is None else _added(before, each)
    return tuple(sums.values())


def _added(one: Histogram, two: Histogram) -> Histogram:
    return Histogram(
        one.detector,
        two.threshold if one.threshold is None else one.threshold,
        one.edges,
        tuple(map(sum, zip(one.matched, two.matched, strict=True))),
        tuple(map(sum, zip(one.missed, two.missed, strict=True))),
    )


def joined_slices(slices: Iterable[tuple[int, Iterable[Slice]]]) -> tuple[Slice, ...]:
    """Add up spans of time; give them without gaps, at most :data:`SLICES`.

    Args:
        slices: seconds in a span, a power of two, and the spans; they begin at multiples of it.
    """
    known = [(width, tuple(each)) for width, each in slices]
    widest = max((width for width, each in known if each), default=1)
    starts = [int(each.start) for _, of_one in known for each in of_one]
    if not starts:
        return ()
    width = width_for((min(starts), max(starts)), widest, SLICES)
    sums: Counter[tuple[int, int]] = Counter()
    for own, of_one in known:
        counts = {int(each.start) // own: (each.kept, each.dropped, each.unchecked) for each in of_one}
        for place, found in folded(counts, width // own).items():
            for kind, n in enumerate(found):
                sums[place, kind] += n
    first, last = min(starts) // width, max(starts) // width
    return tuple(
        Slice(float(place * width), *(sums[place, kind] for kind in range(3)))
        for place in range(first, last + 1)
    )
