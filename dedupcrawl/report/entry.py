"""What is noted of a page: the verdict, and the earlier pages that it was held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Held:
    """An earlier page that a page was held against, matched or not."""

    url: str  #: of the earlier page
    cluster: str  #: of the earlier page
    opinions: tuple[Opinion, ...]  #: one for each detector in use, in their order

    @property
    def nearest(self) -> Opinion | None:
        """The opinion with the highest similarity, of those that measured one."""
        measured = [each for each in self.opinions if each.similarity is not None]
        return max(measured, key=lambda each: each.similarity or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of a run."""

    url: str
    time: float  #: Unix time at which it was judged, or was fetched
    verdict: Verdict
    bytes: int  #: of the body (of the text, where items are judged)
    title: str = ""
    text: str = ""  #: main text; "" where there is none to show
    requests: int = 0  #: that were not made since it was dropped
    held: tuple[Held, ...] = ()  #: the page that it relates to first, then near misses, nearest first
