"""The processor time of ``DEDUP_FORESEE = "observe"``: the entrances of foreseeing are timed during a crawl.

A request enters by the downloader middleware, and a page by the two signals and by the middleware again. The time is
that of the thread, so that other processes do not count; that of the clock does. The rest of the crawl is that of a
crawl with ``False``: the add-on does nothing else for foreseeing.
"""

from __future__ import annotations

from time import thread_time
from types import coroutine
from typing import TYPE_CHECKING, Any

from dedupcrawl.crawl.foreseeing import ForeseeingDownloaderMiddleware
from dedupcrawl.crawl.foresight_manager import ForesightManager

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

    from scrapy import Request
    from scrapy.http import Response

    from dedupcrawl.decision import Verdict


class MethodClock:
    """Adds up the processor time of requests and of pages."""

    def __init__(self) -> None:
        self.requests = self.pages = 0
        self.request_seconds = self.page_seconds = 0.0

    def figures(self) -> dict[str, float]:
        """Return the microseconds of a request and of a page that was judged."""
        return {
            "foresee_us_per_request": round(1e6 * self.request_seconds / max(1, self.requests), 1),
            "foresee_us_per_page": round(1e6 * self.page_seconds / max(1, self.pages), 1),
        }

    def start(self) -> None:
        """Time the methods from now on, in this process; the signals need their exact parameters."""
        clock, middleware, manager = self, ForeseeingDownloaderMiddleware, ForesightManager
        decide, respond = middleware.process_request, middleware.process_response
        judge, settle = manager.verdict_given, manager.outcome_known

        async def process_request(self: ForeseeingDownloaderMiddleware, request: Request) -> Request | None:
            clock.requests += 1
            found: Request | None = await clock._timed(decide(self, request))
            return found

        def process_response(self: ForeseeingDownloaderMiddleware, request: Request, response: Response) -> Response:
            begun = thread_time()
            found = respond(self, request, response)
            clock.page_seconds += thread_time() - begun
            return found

        def verdict_given(self: ForesightManager, verdict: Verdict, size: int, canonical: str = "") -> None:
            begun = thread_time()
            judge(self, verdict, size, canonical)
            clock.pages += 1
            clock.page_seconds += thread_time() - begun

        def outcome_known(self: ForesightManager, verdict: Verdict, outcome: str) -> None:
            begun = thread_time()
            settle(self, verdict, outcome)
            clock.page_seconds += thread_time() - begun

        for owner, method in (
            (middleware, process_request),
            (middleware, process_response),
            (manager, verdict_given),
            (manager, outcome_known),
        ):
            setattr(owner, method.__name__, method)

    @coroutine
    def _timed(self, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Await a coroutine; what runs while it waits is not counted."""
        value = None
        while True:
            begun = thread_time()
            try:
                waits_for = work.send(value)
            except StopIteration as end:
                return end.value
            finally:
                self.request_seconds += thread_time() - begun
            value = yield waits_for
