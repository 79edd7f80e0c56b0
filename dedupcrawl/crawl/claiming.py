"""How a page comes to its claim, while others come to theirs."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from dedupcrawl.claim import Pending
from dedupcrawl.crawl.holds import Hold, Met
from dedupcrawl.crawl.line import AwayError
from dedupcrawl.crawl.waiting import Outcome, pause
from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler

    from dedupcrawl.claim import Claim
    from dedupcrawl.crawl.line import Line
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.stores.base import Record

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.05  #: seconds before another worker's claim is looked at again; doubles up to
LONGEST_PAUSE = 1.0


class Claiming:
    """Makes claims, and knows those that are open.

    A store across a network takes its time, and its answers may come in another order than it gave them. So
    what is claimed is noted in one step with the answer, and a page that repeats an own claim whose answer is
    still under way waits for that.

    Args:
        waits: whether pages wait for a store that is away.
    """

    def __init__(self, crawler: Crawler, line: Line, *, waits: bool) -> None:
        self._crawler = crawler
        self._line = line
        self._waits = waits
        self._asking: set[Outcome] = set()  # offers under way, whose ids are not known here yet
        self.open: dict[int, Hold] = {}

    async def claim(
        self, dedup: Deduplicator, record: Record, url: str, visit: Visit | None, *, versions: bool
    ) -> Hold:
        """Claim the content of a page; wait as long as it repeats one whose own fate is open.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store cannot be asked.
        """
        offer = partial(dedup.claim_record, record, url, versions=versions)
        patience = dedup.config.wait
        gives_up = False
        while True:
            answer = await self.insist(self._offer, offer, visit, give_up=gives_up)
            if isinstance(answer, Hold):
                return answer
            own = await self._own(answer)
            # A store that failed may show a claim as open although its outcome is known here.
            if own is not None and not own.outcome.known:
                await own.outcome.wait()
            else:
                patience = await self._wait_for(dedup, answer, patience)
                gives_up = patience <= 0

    async def _offer(
        self, offer: Callable[..., Claim | Pending], visit: Visit | None, *, give_up: bool
    ) -> Hold | Pending:
        asked = Outcome()
        self._asking.add(asked)
        try:
            answer = await self._line.ask(offer, give_up=give_up)
            return answer if isinstance(answer, Pending) else self._hold(answer, visit)
        finally:
            self._asking.discard(asked)
            asked.settle()

    def _hold(self, claim: Claim, visit: Visit | None) -> Hold:
        met = Met(claim.record, claim.met) if claim.record and claim.met else None
        if claim.id is None:
            return Hold(claim.verdict, visit, met=met)
        kept = replace(claim, met=()) if met else claim
        hold = self.open[claim.id] = Hold(claim.verdict, visit, kept, met=met)
        return hold

    async def _own(self, pending: Pending) -> Hold | None:
        """Return our own hold that a page waits for; the answer that names it may come after this one."""
        if pending.mine and pending.id not in self.open:
            for asked in tuple(self._asking):
                await asked.wait()
        return self.open.get(pending.id) if pending.mine else None

    async def _wait_for(self, dedup: Deduplicator, pending: Pending, patience: float) -> float:
        """Wait until another worker's claim is settled; return the seconds of patience that are left.

        While the store is away no patience is lost, for nobody can settle anything.
        """
        step = FIRST_PAUSE
        began, away = time.monotonic(), self._line.seconds_away
        end = began + patience
        while (
            left := end - time.monotonic() + self._line.seconds_away - away
        ) > 0 and self._crawler.crawling:
            await pause(min(step, left))
            if await self.insist(self._line.ask, dedup.is_settled, pending.id):
                return end - time.monotonic() + self._line.seconds_away - away
            step = min(2 * step, LONGEST_PAUSE)
        return 0

    async def insist(self, question: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask again where that may help: once while the store is there, and after an outage if pages wait."""
        failures = 0
        while True:
            try:
                return await question(*args, **kwargs)
            except StoreError as error:
                if isinstance(error, AwayError) or self._line.outage is not None:
                    again = self._waits and await self._line.wait()
                else:
                    failures += 1
                    again = failures == 1
                if not again:
                    raise
