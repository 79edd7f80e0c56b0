"""Whether two pages of one site whose texts match were read too little to be called copies.

If less than half of the text of each page was read, and most of the rest differs, the text that matches may be what
all pages of the site begin with. Then the new page is kept as ``unchecked(little-read)``.
"""

from __future__ import annotations

import math

from dedupcrawl.layout import removed_part
from dedupcrawl.page.removed import PARTS, UNIT

LITTLE_READ = "little-read"  #: reason of an unchecked page
#: Removed text that only one page has, as a share of what was read of it, from which on the page may be another one.
MIN_OWN = 0.5


def is_little_read(new: bytes, old: bytes) -> bool:
    """Return whether most of what was removed from two pages differs.

    Args:
        new: stored identity of one page, see :mod:`dedupcrawl.layout`.
        old: that of the other.
    """
    mine, other = removed_part(new), removed_part(old)
    if not mine or not other:
        return False
    shared = (mine[0] + other[0]) / UNIT * _resemblance(mine[1:], other[1:])
    return min(mine[0], other[0]) / UNIT - shared >= MIN_OWN


def _resemblance(mine: bytes, other: bytes) -> float:
    """Return the shared part of two texts, 0…0.5 of the length of both together.

    Of unlike texts half of the bits agree. For the resemblance J, the share of both is J / (1 + J). In doubt it is
    lower: J less one standard error, which is 0 for equal texts.
    """
    equal = PARTS - (int.from_bytes(mine, "big") ^ int.from_bytes(other, "big")).bit_count()
    estimate = 2 * equal / PARTS - 1
    resemblance = max(0.0, estimate - math.sqrt((1 - estimate * estimate) / PARTS))
    return resemblance / (1 + resemblance)
