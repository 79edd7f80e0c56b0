"""Which hosts the pages of a batch are of, and who repeats whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.schema import to_text
from dedupcrawl.report.figures import Flow, Host
from dedupcrawl.report.hosts import host_of
from dedupcrawl.report.merging import OTHERS

if TYPE_CHECKING:
    from dedupcrawl.batch.prints import Prints
    from dedupcrawl.progress import Progress

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

MOST = 200_000  #: hosts that are told apart


class Hosts:
    """The host of every row.

    Args:
        prints: the corpus.
        teller: is told how far it has come; it has begun already.
    """

    def __init__(self, prints: Prints, teller: Progress) -> None:
        self._names: dict[str, int] = {OTHERS: 0}
        self._origins: dict[bytes, int] = {}
        self._of = np.zeros(len(prints), np.int32)
        start = 0
        for batch in prints.batches:
            urls = batch.column("url").to_pylist()
            self._of[start : start + len(urls)] = [self._place(url) for url in urls]
            start += len(urls)
            teller.advance(len(urls), len(urls))
        self.names = list(self._names)

    def _place(self, url: bytes) -> int:
        origin = b"/".join(url.split(b"/", 3)[:3])
        place = self._origins.get(origin)
        if place is None:
            name = host_of(to_text(url)) or OTHERS
            place = self._names.get(name, 0 if len(self._names) > MOST else len(self._names))
            if place:
                self._names[name] = place
            if len(self._origins) < 2 * MOST:
                self._origins[origin] = place
        return place

    def name(self, row: int) -> str:
        """Return the host of a row."""
        return self.names[int(self._of[row])]

    def counted(self, rows: slice, keep: Flags) -> tuple[Host, ...]:
        """Count the pages of these rows by their hosts, those with most pages first."""
        size = len(self.names)
        pages = np.bincount(self._of[rows], minlength=size)
        kept = np.bincount(self._of[rows][keep[rows]], minlength=size)
        order = np.argsort(-pages, kind="stable")
        return tuple(
            Host(self.names[place], int(pages[place]), int(kept[place]), int(pages[place] - kept[place]))
            for place in order[: int(np.count_nonzero(pages))].tolist()
        )

    def flows(self, copies: Numbers, sources: Numbers) -> tuple[Flow, ...]:
        """Count pairs of rows by their hosts, those with most pairs first."""
        size = len(self.names)
        pairs, counts = np.unique(
            self._of[copies].astype(np.int64) * size + self._of[sources], return_counts=True
        )
        order = np.argsort(-counts, kind="stable").tolist()
        return tuple(
            Flow(self.names[pairs[at] // size], self.names[pairs[at] % size], int(counts[at])) for at in order
        )
