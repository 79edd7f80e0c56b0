"""Labelled pages, read once and then shown to every detector."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.exact import Exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.evaluation.rows import Row
    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions
    from dedupcrawl.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Reading:
    """A labelled page as the detectors see it, or the verdict on one that the reader refuses."""

    row: Row
    subject: Page | Verdict


@dataclass(frozen=True, slots=True)
class Readings:
    """All pages of a labelled file, in its order."""

    pages: tuple[Reading, ...]
    seconds: float  #: of the processor, for all of them together


class Shelf:
    """The rows of a labelled file; they are read again only when the constants of reading change."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)
        self._options: ReadOptions | None = None
        self._readings = Readings((), 0.0)

    def __len__(self) -> int:
        return len(self._rows)

    def read(
        self, config: Config, track: Callable[[Sequence[Row]], Iterable[Row]] = lambda rows: rows
    ) -> Readings:
        """Return the pages as ``config`` has them read; ``track`` sees the rows pass that are read now."""
        # The readers are the same whatever the detectors; this one loads no lexicon.
        with Deduplicator(config=replace(config, detectors=(Exact.name,))) as dedup:
            if dedup.reading != self._options:
                self._readings = _read(track(self._rows), dedup)
                self._options = dedup.reading
        return self._readings


def _read(rows: Iterable[Row], dedup: Deduplicator) -> Readings:
    start = time.process_time()
    pages = tuple(
        Reading(row, dedup.read(html=row.html, text=None if row.html is not None else row.text, url=row.url))
        for row in rows
    )
    return Readings(pages, time.process_time() - start)
