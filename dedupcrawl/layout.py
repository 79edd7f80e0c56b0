"""Whether two pages have the same layout, from the bytes that are stored of each.

Similar pages fall into four classes (patent CN101645082): the same or part of the content, in the same or another
layout. The relation of a verdict gives the content, and this module the layout.

``Record.identity`` begins with the signature of the layout (4 bytes, 0 if it is unknown), followed by the sketch of
:mod:`dedupcrawl.identity`. If less than half of the page was read, the signature of the rest
(:mod:`dedupcrawl.page.removed`) is the end; the highest bit of the first byte tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.removed import REMOVED_BYTES
from dedupcrawl.page.structure import LAYOUT_BYTES

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
