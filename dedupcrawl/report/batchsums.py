"""What the verdicts of a batch amount to, in exact figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.solving import NOBODY, RELATIONS
from dedupcrawl.judging import DUPLICATE
from dedupcrawl.report.figures import Figures, Histogram, Slice
from dedupcrawl.report.merging import SLICES
from dedupcrawl.report.sums import BINS, bin_of, edges
from dedupcrawl.report.timeline import width_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dedupcrawl.batch.reopening import Told
    from dedupcrawl.detectors.base import Opinion

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

_DUPLICATES = tuple(place for place, each in enumerate(RELATIONS) if each in DUPLICATE)
_LATEST = 2.0**37  #: seconds; a time that is later is none that a clock has told


def is_duplicate(told: Told) -> Flags:
    """Return of each row whether it repeats another one."""
    return np.isin(told.relation, _DUPLICATES)


def figures_of(told: Told, given: int, sizes: Numbers) -> Figures:
    """Return the headline of the rows behind the given ones; ``sizes`` in bytes are of all rows."""
    own = slice(given, None)
    keep, duplicate = told.keep[own], is_duplicate(told)[own]
    relation, reason, size = told.relation[own], told.reason[own], sizes[own]
    names = [*map(str, RELATIONS)]
    return Figures(
        pages=len(keep),
        checked=int(np.count_nonzero(reason == NOBODY)),
        kept=int(np.count_nonzero(keep)),
        dropped=int(np.count_nonzero(~keep)),
        duplicates=_counted(relation[duplicate], names),
        related=_counted(relation[~duplicate], names),
        unchecked=_counted(reason, told.reasons),
        bytes=int(size.sum()),
        bytes_saved=int(size[~keep].sum()),
    )


def detectors_of(told: Told) -> dict[str, int]:
    """Return how many duplicates each detector decided."""
    return _counted(told.detector[is_duplicate(told)], told.detectors)


def clusters_of(told: Told, given: int, most: int) -> list[tuple[int, Numbers]]:
    """Return the largest clusters of at least two pages: founder, and rows behind the given ones."""
    rows = given + np.flatnonzero(told.reason[given:] == NOBODY)
    order = np.argsort(told.founder[rows], kind="stable")
    rows = rows[order]
    founders, starts, counts = np.unique(told.founder[rows], return_index=True, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:most]
    return [
        (int(founders[at]), rows[starts[at] : starts[at] + counts[at]])
        for at in largest.tolist()
        if counts[at] > 1
    ]


def is_time(times: Numbers) -> Flags:
    """Return of each Unix time whether it can be one."""
    return np.asarray(np.isfinite(times) & (np.abs(times) < _LATEST))


def slices_of(told: Told, given: int, times: Numbers) -> tuple[Slice, ...]:
    """Count what came when; pages without a time are left out."""
    known = given + np.flatnonzero(is_time(times[given:]))
    if not len(known):
        return ()
    seconds = np.floor(times[known]).astype(np.int64)
    width = width_for((int(seconds.min()), int(seconds.max())), 1, SLICES)
    places = seconds // width
    first, size = int(places.min()), int(places.max() - places.min()) + 1
    fates = (
        told.keep[known] & (told.reason[known] == NOBODY),
        ~told.keep[known],
        told.reason[known] != NOBODY,
    )
    counts = [np.bincount(places[fate] - first, minlength=size) for fate in fates]
    return tuple(
        Slice(float((first + at) * width), *(int(of_one[at]) for of_one in counts)) for at in range(size)
    )


def histograms_of(
    told: Told, missed: Iterable[Sequence[Opinion]], thresholds: Mapping[str, float | None]
) -> tuple[Histogram, ...]:
    """Count similarities: of related pages by the detector that decided, of others as they were weighed."""
    misses: Counter[tuple[str, int]] = Counter(
        (each.detector, bin_of(each.similarity))
        for opinions in missed
        for each in opinions
        if each.similarity is not None
    )
    found = []
    for place, name in enumerate(told.detectors):
        similar = told.similarity[(told.detector == place) & ~np.isnan(told.similarity)]
        bins = np.bincount([bin_of(each) for each in similar.tolist()], minlength=BINS).tolist()
        missing = tuple(misses[name, at] for at in range(BINS))
        if any(bins) or any(missing):
            found.append(Histogram(name, thresholds.get(name), edges(), tuple(bins), missing))
    return tuple(found)


def _counted(places: Numbers, names: Sequence[str]) -> dict[str, int]:
    """Count places by their names, most first; ``NOBODY`` is none."""
    counts = np.bincount(places[places != NOBODY].astype(np.int64), minlength=len(names))
    found = {name: int(count) for name, count in zip(names, counts, strict=True) if count}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
