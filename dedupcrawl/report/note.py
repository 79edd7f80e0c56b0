"""What becomes of a page, and what is remembered of it until that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """What became of a page."""

    OPEN = "open"  #: it was judged; its item is under way, or its crawl was killed
    KEPT = "kept"
    DROPPED = "dropped"
    RELEASED = "released"  #: a later pipeline refused its items, or a feed was not stored


@dataclass(slots=True)
class Note:
    """A page that was written down; what becomes of it is told later."""

    id: int
    host: str
    second: int  #: Unix time
    is_unchecked: bool
    cluster: str
    requests: int = 0  #: that were not made since it was dropped
    fate: Fate = Fate.OPEN
