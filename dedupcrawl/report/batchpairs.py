"""Pairs of pages of a batch side by side: weighed by their stored sketches, texts read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.batch.rereading import reread
from dedupcrawl.batch.solving import NOBODY, RELATIONS
from dedupcrawl.report.differing import MOST_CHARS
from dedupcrawl.report.material import Both

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.batch.reopening import Finished, Told
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.judging import Judge
    from dedupcrawl.page.model import Page
    from dedupcrawl.progress import Progress
    from dedupcrawl.report.material import Key

    Pair = tuple[int, int]  # new and old row


class Pairs:
    """Gives pairs of rows.

    Args:
        finished: the batch.
        told: its verdicts.
        judge: its detectors.
        room: characters of texts that are shown in all.
        teller: is told of texts that are read.
    """

    def __init__(self, finished: Finished, told: Told, judge: Judge, room: int, teller: Progress) -> None:
        self._finished = finished
        self._told = told
        self._judge = judge
        self._room = room
        self._teller = teller
        self._lengths = finished.corpus.prints.numbers("length")

    def weigh(self, new: int, old: int) -> tuple[Opinion, ...]:
        """Return what each detector says of two rows."""
        prints = self._finished.corpus.prints
        return self._judge.opinions(prints.judged(new), prints.judged(old))

    def __call__(self, wanted: Sequence[Key]) -> Iterator[Both]:
        """Give pairs in their order; as many with texts as there is room for."""
        pairs: list[Pair] = [pair for pair in wanted if isinstance(pair, tuple)]
        pages = reread(self._finished, self._that_fit(pairs), MOST_CHARS + 1, self._teller)
        for pair in pairs:
            yield self._both(pair, pages)

    def _that_fit(self, pairs: Sequence[Pair]) -> set[int]:
        rows: set[int] = set()
        room = self._room
        for pair in pairs:
            room -= sum(min(int(self._lengths[row]), MOST_CHARS) for row in pair)
            if room < 0:
                break
            rows.update(pair)
        return rows

    def _both(self, pair: Pair, pages: dict[int, Page]) -> Both:
        new, old = pair
        told, url = self._told, self._finished.corpus.prints.url
        opinions = self.weigh(new, old)
        related = told.of[new] == old and told.relation[new] != NOBODY
        decided = told.detectors[told.detector[new]] if related else ""
        measured = [each.similarity for each in opinions if each.similarity is not None]
        said = float(told.similarity[new])
        nearest = max(measured, default=None)
        similarity = (None if said != said else said) if related else nearest  # noqa: PLR0124  # NaN
        mine, other = pages.get(new), pages.get(old)
        return Both(
            key=pair,
            new=url(new),
            old=url(old),
            opinions=opinions,
            relation=str(RELATIONS[told.relation[new]]) if related else "",
            decided=decided,
            similarity=similarity,
            new_title=_title(mine),
            old_title=_title(other),
            new_text=mine.text if mine else None,
            old_text=other.text if other else None,
        )


def _title(page: Page | None) -> str:
    return page.title if page else ""
