"""Signatures that are stored beside the names and values of a page: of its layout, and of text that was not read.

Similar pages fall into four classes (patent CN101645082): the same or part of the content, in the same or another
layout. The relation of a verdict gives the content, and the signatures of two layouts the rest.

If less than half of the text of each of two pages was read, and most of the rest differs, the text that matches may be
what all pages of the site begin with. Then the new page is kept as ``unchecked(little-read)``.

``Record.identity`` begins with the signature of the layout (4 bytes, 0 if it is unknown), followed by the sketch of
:mod:`dedupcrawl.identity`. If less than half of the page was read, the signature of the rest is the end; the highest
bit of the first byte tells it. Both are computed in :mod:`dedupcrawl.page.signatures`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dedupcrawl.page.signatures import LAYOUT_BYTES, PARTS, REMOVED_BYTES, UNIT

if TYPE_CHECKING:
    from collections.abc import Mapping

EVIDENCE = "layout"  #: key of the evidence of a verdict
SAME, OTHER = "same", "other"
MIN_EQUAL_PARTS = 2  #: of four, measured on pairs of pages of wcxb (docs/methods.md, "Layout")

_UNKNOWN = bytes(LAYOUT_BYTES)
_HAS_REMOVED = 0x80  #: bit of the first byte, which no layout has


def with_layout(layout: bytes, sketch: bytes, removed: bytes = b"") -> bytes:
    """Return the identity to store: the signature of the layout, a sketch, and the signature of removed text.

    Each may be b"". Without a sketch there is no removed text.
    """
    layout = layout or _UNKNOWN
    if removed and sketch:
        return bytes((layout[0] | _HAS_REMOVED,)) + layout[1:] + sketch + removed
    return layout + sketch if sketch or layout is not _UNKNOWN else b""


def without_layout(identity: bytes) -> bytes:
    """Return the sketch in a stored identity, b"" if there is none."""
    return identity[LAYOUT_BYTES:-REMOVED_BYTES] if _has_removed(identity) else identity[LAYOUT_BYTES:]


def removed_part(identity: bytes) -> bytes:
    """Return the signature of removed text in a stored identity, b"" if there is none."""
    return identity[-REMOVED_BYTES:] if _has_removed(identity) else b""


def _has_removed(identity: bytes) -> bool:
    return len(identity) > LAYOUT_BYTES + REMOVED_BYTES and identity[0] >= _HAS_REMOVED


def compare_layouts(new: bytes, old: bytes) -> str:
    """Return "same" or "other" for two stored identities, "" if the layout of a page is unknown."""
    first, second = _layout_of(new), _layout_of(old)
    if _UNKNOWN in (first, second) or not (first and second):
        return ""
    equal = sum(mine == other for mine, other in zip(first, second, strict=True))
    return SAME if equal >= MIN_EQUAL_PARTS else OTHER


def _layout_of(identity: bytes) -> bytes:
    layout = identity[:LAYOUT_BYTES]
    return bytes((layout[0] & ~_HAS_REMOVED,)) + layout[1:] if layout else b""


def evidence_with_layout(evidence: Mapping[str, object], new: bytes, old: bytes) -> Mapping[str, object]:
    """Return the evidence of a match, with the comparison of the layouts in two stored identities."""
    layout = compare_layouts(new, old)
    return {**evidence, EVIDENCE: layout} if layout else evidence


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
