"""Counts over time in a bounded number of equal spans, which get longer as time goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Counts = tuple[int, int, int]  #: kept, dropped, unchecked


def width_for(seconds: Iterable[int], width: int, most: int) -> int:
    """Return the least doubling of ``width`` at which ``most`` spans cover all ``seconds`` since 1970."""
    first, last = _ends(seconds)
    while last // width - first // width >= most:
        width *= 2
    return width


def folded(counts: Mapping[int, Counts], factor: int) -> dict[int, Counts]:
    """Join every ``factor`` spans; keys are the places of spans, counted from 1970."""
    wider: dict[int, Counts] = {}
    for place, (kept, dropped, unchecked) in counts.items():
        before = wider.get(place // factor, (0, 0, 0))
        wider[place // factor] = (before[0] + kept, before[1] + dropped, before[2] + unchecked)
    return wider


def _ends(seconds: Iterable[int]) -> tuple[int, int]:
    known = tuple(seconds)
    return (min(known), max(known)) if known else (0, 0)
