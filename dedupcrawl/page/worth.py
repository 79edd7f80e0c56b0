"""What a block says for or against the container that it stands in."""

from __future__ import annotations

from dedupcrawl.page.tables import words

COST = 40.0  #: bytes a block must have before it speaks for its container: labels and dates do not
LINK_COST = 3.0  #: a byte of link text outweighs so many of plain text
PARAGRAPH = 30.0  #: what being a <p> is worth
MOST, LEAST = 600.0, -200.0  #: no single block decides alone
HEADINGS = words("h1 h2 h3 h4 h5 h6")
HEADING = 200  #: a heading shorter than this says nothing for or against its container
CELLS = words("dd dt li td th")  #: short by nature: without links they cost nothing
LONG_GUIDE = -LEAST - COST  #: bytes of a block of guide links that says as much against it as any can


def worth(tag: str, length: int, link_length: int) -> float:
    """Return what a block says for its container (below 0: against it), in bytes of good text."""
    if length < HEADING and tag in HEADINGS:
        return 0.0
    value = length - LINK_COST * link_length - COST
    if tag == "p":
        value += PARAGRAPH
        if link_length:
            value = max(value, length - link_length - COST)
    elif value < 0 and not link_length and tag in CELLS:
        return 0.0
    if value < LEAST:
        return LEAST
    return min(value, MOST)
