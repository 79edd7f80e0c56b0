"""The add-on without its work: all parts of a crawl, but no page is read, fingerprinted or stored.

What a crawl costs with it, compared with a crawl without the add-on, is the cost of its middlewares and bookkeeping.
"""

from __future__ import annotations

from functools import cached_property
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING

from dedupcrawl import Addon, Claim, Config, Page, Status, Verdict
from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.context import CrawlContext
from dedupcrawl.crawl.foresight_manager import ForesightManager
from dedupcrawl.crawl.items import PageRecorder, ResponseTracker
from dedupcrawl.crawl.responses import PageJudge, ResponseReader
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.filing import LeaseMonitor
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.http import Response

    from dedupcrawl.detectors.base import Assessment


class NullDeduplicator:
    """A deduplicator for which every page is new."""

    config = Config()
    store = SimpleNamespace(remote=False, publish=lambda _: None, scraped_many=lambda _: None)
    scheme = ""
    lapses = 0
    site_memory = None

    def __init__(self) -> None:
        self._ids = count(1)
        self.lease = LeaseMonitor(self.config.lease)

    def fingerprint(self, page: Page, **_: object) -> Record:
        """Return a record with nothing but the URL."""
        return Record(page.url, (), (), 0.0)

    def fingerprint_many(self, pages: Sequence[Page], _: object) -> list[Record]:
        """Return records with nothing but the URL."""
        return [self.fingerprint(page) for page in pages]

    def claim_record(self, record: Record, url: str, **_: object) -> Claim:
        """Claim without a lookup."""
        verdict = Verdict(url, Status.UNIQUE, keep=True)
        return Claim(verdict, self, next(self._ids), record)  # type: ignore[arg-type]

    def claim_records(self, pages: Iterable[tuple[Record, str]]) -> list[Claim]:
        """Claim without a lookup."""
        return [self.claim_record(record, url) for record, url in pages]

    def assessments(self, *_: object) -> tuple[Assessment, ...]:
        """Return no assessment."""
        return ()

    def commit(self, claims: Iterable[Claim]) -> None:
        """Do nothing."""

    def renew(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class NullReader(ResponseReader):
    """A reader that does not read."""

    def read(self, response: Response) -> Page:
        """Return a page with nothing but its URL."""
        return Page(response.url, "")


class NullAddon(Addon):
    """The add-on with all its parts, but without their work."""

    @cached_property
    def context(self) -> CrawlContext:
        """Return a context that neither reads nor stores."""
        crawler = self._crawler
        options = Options.from_settings(crawler.settings, "daily")
        stats = CrawlStats(crawler)
        client = StoreClient(crawler, options, stats)
        client.connect(NullDeduplicator())  # type: ignore[arg-type]
        claims = ClaimManager(crawler, client, options, stats)
        recorder, responses = PageRecorder(), ResponseTracker()
        reader = NullReader(options.config.reading, responses, stats)
        judge = PageJudge(options, reader, claims, stats, recorder)
        foresight = ForesightManager(crawler, options, client, stats, recorder)
        return CrawlContext(options, responses, client, claims, reader, judge, stats, recorder, foresight)


class ReadingAddon(Addon):
    """The add-on, but no page is known by its bytes."""

    @cached_property
    def context(self) -> CrawlContext:
        """Return a context that reads all pages."""
        found = super().context
        assert found.bodies is not None
        found.bodies.is_used = False
        return found
