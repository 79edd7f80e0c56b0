"""The delivery of the backlog: deferred calls are made again until the store has accepted or refused them.

An entry is refused if the store has answered twice with an error about it, and has accepted a trial record in between.
After any other failure the call is repeated later: a time-out, a lost connection, a server without memory, or one that
accepts no writes. The entry stays in the backlog, and the store counts as away until everything is delivered.
"""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dedupcrawl.crawl.concurrency import gather
from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from dedupcrawl.crawl.backlog import Backlog, SpoolFile
    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.decision import Claim
    from dedupcrawl.deduplicator import Deduplicator

P = ParamSpec("P")
T = TypeVar("T")

CONCURRENT_DELIVERIES = 16  #: concurrent calls that deliver the backlog, while pages wait


class BacklogClient:
    """Delivers a backlog: first the states of claims, then the pages of the spool.

    Args:
        backlog: what is to be delivered.
        dedup: makes the calls.
        stats: count what is delivered and refused.
        run: calls a function, in a thread if the store is remote, also while the store counts as away.
    """

    def __init__(
        self,
        backlog: Backlog,
        dedup: Deduplicator,
        stats: CrawlStats,
        run: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._backlog = backlog
        self._dedup = dedup
        self._stats = stats
        self._run = run
        self.until = inf  #: monotonic time after which nothing further is delivered, except for a first batch

    @property
    def _has_time(self) -> bool:
        return time.monotonic() < self.until

    async def deliver(self) -> None:
        """Deliver what is pending, and what ended processes have left in the spool.

        Refused pages stay in the spool for the next crawl. Raises :class:`~dedupcrawl.errors.StoreError` if something
        is to be delivered later; the backlog keeps that.
        """
        is_first = True
        while is_first or (self._backlog.is_pending and self._has_time):
            is_first = False
            await self.deliver_claims()
            with closing(self._backlog.spool_files()) as files:
                for file in files:
                    await self._replay(file)

    async def deliver_claims(self) -> None:
        """Deliver the states of claims; raises :class:`~dedupcrawl.errors.StoreError` as :meth:`deliver` does."""
        while claims := self._backlog.claims(CONCURRENT_DELIVERIES):
            answers = await gather(self._attempt(_store_state, *entry) for entry in claims.values())
            pairs = zip(claims.items(), answers, strict=True)
            self._backlog.remove_claims(dict(entry for entry, answer in pairs if not isinstance(answer, StoreError)))
            _raise_first(answers)
            if not self._has_time:
                return

    async def _replay(self, file: SpoolFile) -> None:
        answers: list[bool | StoreError | None] = []
        try:
            for pages in file.batches(CONCURRENT_DELIVERIES):
                await self.deliver_claims()  # a page whose claim was committed meanwhile is filed already
                some = await gather(self._attempt(self._dedup.remember, page.record) for page in pages)
                answers += some
                file.remove(page.id for page, answer in zip(pages, some, strict=True) if isinstance(answer, bool))
                _raise_first(some)
                if not self._has_time:
                    return
        except OSError as error:
            self._stats.spool_failed(error, 0)
            file.skip_pending()  # else it would be tried again and again
        finally:
            self._stats.replayed(*map(answers.count, (True, False, None)))

    async def _attempt(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | StoreError | None:
        """Make a deferred call; return its result, None if it is refused, or why it is to be made later."""
        try:
            return await self._insist(partial(function, *args, **kwargs))
        except StoreError as error:
            return error
        except Exception as error:  # noqa: BLE001  # the other entries are to be delivered
            self._stats.crashed("the backlog of the store", error)
            return None

    async def _insist(self, function: Callable[[], T]) -> T | None:
        for _ in range(2):
            try:
                result: T = await self._run(function)
            except (StoreFullError, StoreUnreachableError):
                raise
            except StoreError as error:
                refusal = error
                await self._run(self._dedup.try_filing)  # raises if other records are not accepted either
            else:
                return result
        self._stats.store_failed(refusal)
        return None


def _raise_first(answers: Iterable[object]) -> None:
    """Raise the first answer that is an error: its call is to be made later."""
    for answer in answers:
        if isinstance(answer, StoreError):
            raise answer


def _store_state(claim: Claim, state: PageState) -> None:
    if state.stored is ClaimState.SCRAPED:
        claim.scraped()
    elif state.stored is ClaimState.COMMITTED:
        claim.commit()
    else:
        claim.release()
