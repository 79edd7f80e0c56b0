"""Which sets can be alike at all: no pair is compared whose sizes, or first elements, rule a match out.

Two sets of a ≤ b elements have a Jaccard similarity J ≥ τ only if a ≥ τ·b, and only if they share
o ≥ τ·(a + b) / (1 + τ) of them. So sizes fall into partitions, each so wide that the partners of a set are in
its own or a neighbouring one (Theobald, Siddharth, Paepcke, *SpotSigs*, SIGIR 2008). And in an order that
is the same for all sets, the first element that two such sets share is among the first a - o + 1 of the one
and the first b - o + 1 of the other (prefix filter: Chaudhuri, Ganti, Kaushik, ICDE 2006). Every bound is
found with the very division that J is computed with, so that no rounding loses a pair.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from math import ceil, floor

_FIRST = 16  #: partitions that are numbered at once; then twice as many, and so on


def least_partner(size: int, tau: float) -> int:
    """Return the size of the smallest set that can be as alike as ``tau``, 0…1, to one of ``size``."""
    partner = max(1, floor(size * tau))
    while partner > 1 and (partner - 1) / size >= tau:
        partner -= 1
    while partner / size < tau:
        partner += 1
    return partner


def greatest_partner(size: int, tau: float) -> int:
    """Return the size of the largest set that can be as alike as ``tau``, 0…1, to one of ``size``."""
    partner = max(size, ceil(size / tau))
    while size / (partner + 1) >= tau:
        partner += 1
    while size / partner < tau:
        partner -= 1
    return partner


def prefix(size: int, partner: int, tau: float) -> int:
    """Return how many of ``size`` elements are sure to hold one of those shared with a match.

    ``partner`` is the least size that the match may have.
    """
    common = max(1, floor(tau * (size + partner) / (1 + tau)) - 1)
    while common / (size + partner - common) < tau:
        common += 1
    return size - common + 1


def partition(size: int, tau: float) -> int:
    """Return the number of the partition in which a size is, from 0."""
    last = _FIRST
    while size >= partition_starts(tau, last)[-1]:
        last *= 2
    return bisect_right(partition_starts(tau, last), size) - 1


def least_in(number: int, tau: float) -> int:
    """Return the smallest size in a partition."""
    return partition_starts(tau, max(_FIRST, 1 << number.bit_length()))[number]


@functools.cache  # of powers of two only: near tau = 1 nearly every size has a partition of its own
def partition_starts(tau: float, last: int) -> tuple[int, ...]:
    """Return the smallest size in each partition from 0 to ``last``.

    The largest size in one has no partner beyond the next.
    """
    starts = [1, 2]
    while len(starts) <= last:
        starts.append(max(starts[-1] + 1, greatest_partner(starts[-1] - 1, tau) + 1))
    return tuple(starts)
