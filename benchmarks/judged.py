"""Pages offered to a store that asks a judge (``JudgedStore``), for the benchmarks of clusters."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.shared import page_of
from dedupcrawl.stores.base import ClaimState, FilingDecision, JudgedOffer, JudgedStore
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.stores.base import Candidate, Offer, Record

BATCH = 20  #: pages that a crawl claims together


class SameStory:
    """A judge for whom pages with the same first sketch are copies."""

    def __init__(self, page: Record) -> None:
        self.page = page

    def __call__(self, candidates: Sequence[Candidate]) -> FilingDecision:
        """Judge the page."""
        story = self.page.sketches[0]
        same = [each for each in candidates if each.record.sketches[0] == story]
        if any(each.state is ClaimState.COMMITTED for each in same):
            return FilingDecision(None, is_final=True)
        return FilingDecision(self.page, tuple(each.id for each in same))


def is_waiting(end: Offer, page: Record) -> bool:
    """Whether a page has to be offered again."""
    return end.id is None and SameStory(page)(end.candidates).record is not None


def keep(store: JudgedStore, pages: Iterable[Record], at_once: int = BATCH) -> list[Record]:
    """Offer pages until all are decided, each batch with the commits of the last one; return those that are kept."""
    kept: list[Record] = []
    claims: dict[int, Record] = {}
    for some in chunked(pages, at_once):
        waiting = some
        while waiting:
            offers = [JudgedOffer(page, SameStory(page)) for page in waiting]
            count, ends = store.commit_and_offer(claims, offers)
            assert count == len(claims), "a claim was lost"
            claims = {end.id: page for end, page in zip(ends, waiting, strict=True) if end.id is not None}
            kept += claims.values()
            left = [page for end, page in zip(ends, waiting, strict=True) if is_waiting(end, page)]
            if len(left) == len(waiting):
                time.sleep(0.02)
            waiting = left
    store.commit(claims)
    return kept


def small_page(number: int) -> Record:
    """Return a page with a small sketch: a planned namespace has its record in pieces."""
    page = page_of(number)
    return replace(page, sketches=(page.sketches[0], page.sketches[1][:32]))
