"""Pages that come within a moment are read and judged in one go.

In a crawl, a good part of what judging a page costs is to bring code and tables into the processor's caches,
from which Scrapy's own work has driven them; a round pays that once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from dedupcrawl.crawl.holds import Hold
from dedupcrawl.crawl.waiting import Background, Outcome
from dedupcrawl.page import Page
from dedupcrawl.policy import unchecked

if TYPE_CHECKING:
    from scrapy.http import Response

    from dedupcrawl.crawl.session import Session
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.verdict import Verdict

MOMENT = 0.02  #: seconds for which a page waits for others
MOST = 16  #: pages judged in one go: the reactor is not held up for more than some 20 ms


class _Entry:
    """A page that waits for its round."""

    __slots__ = ("hold", "over", "response", "visit")

    def __init__(self, visit: Visit, response: Response) -> None:
        self.visit = visit
        self.response = response
        self.hold = Hold(unchecked(response.url, "error"), visit)
        self.over = Outcome()


class Rounds:
    """Collects pages, and judges those of a round one right after the other."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: list[_Entry] = []
        self._background = Background()

    async def judge(self, visit: Visit, response: Response) -> Hold:
        """Read a response and claim its content in the next round."""
        entry = _Entry(visit, response)
        self._entries.append(entry)
        if len(self._entries) == MOST:
            self._begin()
        elif len(self._entries) == 1:
            call_later(MOMENT, self._begin)
        await entry.over.wait()
        return entry.hold

    def _begin(self) -> None:
        entries, self._entries = self._entries, []
        subjects = [self._session.read(entry.response) for entry in entries]
        for entry, subject in zip(entries, subjects, strict=True):
            # Beside the others: it may have to wait for an item of one of them.
            self._background.start(self._judge(entry, subject))

    async def _judge(self, entry: _Entry, subject: Page | Verdict) -> None:
        try:
            if isinstance(subject, Page):
                entry.hold = await self._session.desk.judge(subject, entry.visit)
            else:
                entry.hold = Hold(subject, entry.visit)
        finally:
            entry.over.settle()
