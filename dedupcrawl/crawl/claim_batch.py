"""Claims pages together where the store is remote and takes many in few round trips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupcrawl.crawl.concurrency import OneShotEvent
from dedupcrawl.verdict import Pending, Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from dedupcrawl.crawl.items import ItemClaim, ResponseState
    from dedupcrawl.page import Page
    from dedupcrawl.stores.base import Record

#: Seconds for which states of claims are collected: as long as pages are, so that a call has many of both.
COLLECT = 0.02


class ClaimBatch:
    """Claims pages in one call of the store. A page without an answer is judged by itself.

    Args:
        judge: judges a page that has no answer, or has to wait.
        claim: makes a first attempt to claim pages.
        pages: with their records.
    """

    def __init__(
        self,
        judge: Callable[..., Coroutine[Any, Any, ItemClaim]],
        claim: Callable[[Sequence[tuple[Record, str, ResponseState]]], Awaitable[Sequence[ItemClaim | Pending]]],
        pages: Sequence[tuple[Page, ResponseState, Record]],
    ) -> None:
        self._judge = judge
        self._claim_all = claim
        self._pages = pages
        self._answers: Sequence[ItemClaim | Pending] = ()
        self._answered = OneShotEvent()

    async def run(self) -> None:
        """Claim the pages."""
        try:
            self._answers = await self._claim_all(
                [(record, page.url, response) for page, response, record in self._pages]
            )
        except Exception:  # noqa: BLE001  # each page is judged, and fails, by itself
            self._answers = ()
        finally:
            self._answered.set()

    def claims(self) -> list[Coroutine[Any, Any, ItemClaim]]:
        """Return a coroutine for each page, which waits for its claim."""
        return [self._claim(n) for n in range(len(self._pages))]

    async def _claim(self, n: int) -> ItemClaim:
        await self._answered.wait()
        page, response, record = self._pages[n]
        if not self._answers:
            return await self._judge(page, response)
        answer = self._answers[n]
        if isinstance(answer, Pending):
            return await self._judge(page, response, answered=(record, answer))
        return answer


def split(
    pages: Sequence[tuple[Page, ResponseState]], records: Sequence[Record | Verdict]
) -> list[tuple[Page, ResponseState, Record]]:
    """Return the pages that have a record."""
    pairs = zip(pages, records, strict=True)
    return [(*page, record) for page, record in pairs if not isinstance(record, Verdict)]
