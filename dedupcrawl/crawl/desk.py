"""Where pages are judged and claims are settled: the only caller of the store in a crawl."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from dedupcrawl.claim import Claim, Pending
from dedupcrawl.crawl.holds import Hold
from dedupcrawl.crawl.waiting import pause
from dedupcrawl.errors import DedupError
from dedupcrawl.policy import unchecked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.tally import Tally
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.page import Page
    from dedupcrawl.verdict import Verdict

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.05  #: seconds before another worker's claim is looked at again; doubles up to
LONGEST_PAUSE = 1.0
CHUNK = 256  #: most claims committed at once, so that the reactor breathes in between


class Desk:
    """Judges pages, and settles what becomes of their claims."""

    def __init__(self, crawler: Crawler, dedup: Deduplicator, tally: Tally) -> None:
        self._crawler = crawler
        self._dedup = dedup
        self._tally = tally
        self._open: dict[int, Hold] = {}

    async def look(self, page: Page) -> Verdict:
        """Say what is known of a page, and file nothing."""
        try:
            return await self._ask(self._dedup.check, page)
        except Exception as error:  # noqa: BLE001  # a page is never lost for a fault of ours
            return self._failed(page, error)

    async def judge(self, page: Page, visit: Visit | None, *, track_url: bool = True) -> Hold:
        """Claim a page's content; wait as long as it repeats one whose own fate is open."""
        try:
            claim = await self._claim(page, track_url=track_url)
        except Exception as error:  # noqa: BLE001  # the same
            return Hold(self._failed(page, error), visit)
        hold = Hold(claim.verdict, visit, claim if claim.id is not None else None)
        if claim.id is not None:
            self._open[claim.id] = hold
        return hold

    async def scraped(self, hold: Hold) -> None:
        """Note that all pipelines took one more of the items under ``hold``."""
        hold.in_flight -= 1
        first = not hold.scraped
        hold.scraped = True
        await self.settle([hold])
        if first and not hold.over and hold.claim is not None:
            await self._tell(hold.claim.scraped)
            hold.outcome.settle()

    async def refused(self, hold: Hold) -> None:
        """Note that one of the items under ``hold`` was dropped or failed."""
        hold.in_flight -= 1
        if hold.claim is not None and hold.is_refused:
            await self._release([hold])
        else:
            await self.settle([hold])

    async def settle(self, holds: Iterable[Hold]) -> None:
        """Commit those of ``holds`` whose items are all safe; release those that a feed lost."""
        ripe = [hold for hold in holds if hold.scraped and hold.is_ripe and not hold.over]
        if ripe:
            await self._commit([hold for hold in ripe if not hold.lost])
            await self._release([hold for hold in ripe if hold.lost])

    async def close(self) -> None:
        """Settle what is left when no item will come any more, and let the store go."""
        left = list(self._open.values())
        await self._commit([hold for hold in left if hold.scraped and not hold.feeds and not hold.lost])
        await self._tell(self._dedup.close)

    async def renew(self) -> None:
        """Tell the store that this process lives."""
        await self._tell(self._dedup.renew)

    # -- claims -------------------------------------------------------------------------------

    async def _claim(self, page: Page, *, track_url: bool) -> Claim:
        patience = self._dedup.config.wait
        answer = await self._ask(self._dedup.try_claim, page, track_url=track_url)
        while isinstance(answer, Pending):
            own = self._open.get(answer.id) if answer.mine else None
            gives_up = False
            # A store that failed may show a claim as open although its outcome is known here.
            if own is not None and not own.outcome.known:
                await own.outcome.wait()
            else:
                patience = await self._wait_for(answer, patience)
                gives_up = patience <= 0
            answer = await self._ask(self._dedup.try_claim, page, track_url=track_url, give_up=gives_up)
        return answer

    async def _wait_for(self, pending: Pending, patience: float) -> float:
        """Wait until another worker's claim is settled; return the seconds of patience that are left."""
        step = FIRST_PAUSE
        while patience > 0 and self._crawler.crawling:
            step = min(step, patience)
            await pause(step)
            patience -= step
            if await self._ask(self._dedup.is_settled, pending.id):
                return patience
            step = min(2 * step, LONGEST_PAUSE)
        return 0

    async def _commit(self, holds: Sequence[Hold]) -> None:
        for chunk in _chunks(self._end(holds)):
            await self._tell(self._dedup.commit, [hold.claim for hold in chunk if hold.claim])
            self._conclude(chunk)

    async def _release(self, holds: Sequence[Hold]) -> None:
        for chunk in _chunks(self._end(holds)):
            for hold in chunk:
                if hold.visit is not None and hold.visit.hold is hold:
                    hold.visit.hold = None
            await self._tell(self._dedup.release, [hold.claim for hold in chunk if hold.claim])
            self._tally.released(len(chunk))
            self._conclude(chunk)

    def _end(self, holds: Sequence[Hold]) -> list[Hold]:
        """Mark them as over before the store is asked, so that nobody settles them twice."""
        for hold in holds:
            hold.over = True
        return list(holds)

    def _conclude(self, holds: Sequence[Hold]) -> None:
        for hold in holds:
            if hold.claim is not None and hold.claim.id is not None:
                self._open.pop(hold.claim.id, None)
            hold.outcome.settle()

    # -- the store ----------------------------------------------------------------------------

    async def _ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        # The one seam to the store. Both stores answer in microseconds; one across a network would
        # be asked through scrapy.utils.asyncio.run_in_thread here.
        return question(*args, **kwargs)

    async def _tell(self, order: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
        """Ask for what the crawl can do without: a store that fails costs no item."""
        try:
            await self._ask(order, *args, **kwargs)
        except DedupError as error:
            self._tally.store_failed(error)

    def _failed(self, page: Page, error: Exception) -> Verdict:
        if isinstance(error, DedupError):
            self._tally.store_failed(error)
            return unchecked(page.url, "store")
        self._tally.crashed(page.url, error)
        return unchecked(page.url, "error")


def _chunks(holds: Iterable[Hold]) -> Iterable[list[Hold]]:
    remaining = iter(holds)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
