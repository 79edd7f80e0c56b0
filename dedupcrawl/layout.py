"""Whether two pages have the same layout, from the bytes that are stored of each.

Similar pages fall into four classes (patent CN101645082): the same or part of the content, in the same or another
layout. The relation of a verdict gives the content, and this module the layout.

``Record.identity`` begins with the signature of the layout (4 bytes, 0 if it is unknown), followed by the sketch of
:mod:`dedupcrawl.identity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.structure import LAYOUT_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

EVIDENCE = "layout"  #: key of the evidence of a verdict
SAME, OTHER = "same", "other"
MIN_EQUAL_PARTS = 2  #: of four, measured on pairs of pages of wcxb (docs/methods.md, "Layout")

_UNKNOWN = bytes(LAYOUT_BYTES)


def with_layout(layout: bytes, sketch: bytes) -> bytes:
    """Return the identity to store: the signature of the layout and a sketch; both may be b""."""
    return (layout or _UNKNOWN) + sketch if layout or sketch else b""


def without_layout(identity: bytes) -> bytes:
    """Return the sketch in a stored identity, b"" if there is none."""
    return identity[LAYOUT_BYTES:]


def compare_layouts(new: bytes, old: bytes) -> str:
    """Return "same" or "other" for two stored identities, "" if the layout of a page is unknown."""
    first, second = new[:LAYOUT_BYTES], old[:LAYOUT_BYTES]
    if _UNKNOWN in (first, second) or not (first and second):
        return ""
    equal = sum(mine == other for mine, other in zip(first, second, strict=True))
    return SAME if equal >= MIN_EQUAL_PARTS else OTHER


def evidence_with_layout(evidence: Mapping[str, object], new: bytes, old: bytes) -> Mapping[str, object]:
    """Return the evidence of a match, with the comparison of the layouts in two stored identities."""
    layout = compare_layouts(new, old)
    return {**evidence, EVIDENCE: layout} if layout else evidence
