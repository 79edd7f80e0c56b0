"""Skips requests, and sends them after all: for an audit of the rules, or because a rule was revoked."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from dedupcrawl.crawl.rule_audits import SiteSample
from dedupcrawl.crawl.skipped_requests import (
    SkippedEntry,
    SkippedRequestQueue,
    request_key,
    skipped_by,
    storable_fields,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient

POSTPONED, AGAIN, THROUGH = "dedup_postponed", "dedup_again", "dedup_through"  #: keys of Request.meta
LATE = "dedup_late"  #: the same: the request was postponed because its pattern brings nothing new


class AuditManager:
    """The skipped requests of a crawl, and the samples of them by which the rules are audited.

    Args:
        crawler: the crawl.
        client: of the store, which keeps the requests.
        stats: count what is skipped and sent.
    """

    def __init__(self, crawler: Crawler, client: StoreClient, stats: CrawlStats) -> None:
        self._crawler, self._stats = crawler, stats
        self._skipped = SkippedRequestQueue(client)
        self._samples: dict[str, SiteSample] = {}  # by site
        self._resent: set[bytes] = set()
        self.chance = random.Random()  # noqa: S311  # chooses probes

    # -- requests that are skipped ------------------------------------------------------------

    async def store(self, request: Request, site: str, rules: tuple[str, ...], purpose: str) -> bytes | None:
        """Store a request that is not sent, and return its key; None if it must be sent."""
        fields = storable_fields(request, self._crawler.spider) if self._crawler.spider is not None else None
        if fields is None:
            return None
        for name in (POSTPONED, AGAIN, THROUGH, LATE):
            fields.get("meta", {}).pop(name, None)
        key = request_key(request.url, purpose)
        if not await self._skipped.add(site, SkippedEntry(key, fields, rules, time.time())):
            return None
        self._resent.discard(key)
        return key

    def sample(self, site: str) -> SiteSample:
        """Return the samples of the rules of a site."""
        found = self._samples.get(site)
        if found is None:
            found = self._samples[site] = SiteSample(self.chance)
        return found

    # -- requests that are sent again ---------------------------------------------------------

    async def send_again(self, site: str, rules: Collection[str]) -> None:
        """Send all requests that any of these rules has skipped."""
        self.sample(site).remove(rules)
        for each in skipped_by(await self._skipped.find(site), rules):
            self._send(each)

    def _send(self, skipped: SkippedEntry, probed: str = "") -> None:
        """Send a stored request, once; ``probed``: the rule that it probes, so that it is never skipped."""
        engine, spider = self._crawler.engine, self._crawler.spider
        if skipped.key in self._resent or engine is None or spider is None:
            return
        try:
            request = skipped.request(spider)
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            self._stats.crashed(str(skipped.fields.get("url", "")), error)
            return
        request.meta[AGAIN] = skipped.key.hex()
        if probed:
            request.meta[THROUGH] = [*skipped.rules]
        self._resent.add(skipped.key)
        if probed:
            self._stats.count("audited")
        else:
            self._stats.count("sent_again")
        engine.crawl(request)

    async def done(self, site: str, key: str) -> None:
        """Remove a stored request, with this key in hexadecimal digits: its page was downloaded."""
        await self._skipped.remove(site, [bytes.fromhex(key)])

    # -- audits -------------------------------------------------------------------------------

    def next_probes(self) -> Iterable[tuple[str, Mapping[bytes, str], list[str]]]:
        """Yield sites with the probes to send now, and with the rules that cannot be verified."""
        for site, sample in list(self._samples.items()):
            probes, unverified = sample.next_probes()
            if probes or unverified:
                yield site, probes, unverified

    async def send_probes(self, site: str, probes: Mapping[bytes, str]) -> None:
        """Send requests that probe rules."""
        for each in await self._skipped.find(site, [*probes]):
            self._send(each, probed=probes[each.key])

    # -- earlier and later crawls -------------------------------------------------------------

    async def sites(self) -> list[str]:
        """Return the sites of which requests are stored."""
        return await self._skipped.sites()

    async def resume(self, site: str, active: Collection[str]) -> None:
        """Send what earlier crawls have skipped by rules that are not active; audit the rest with this crawl."""
        for each in await self._skipped.find(site):
            if set(active).issuperset(each.rules):
                self.sample(site).add(each.rules, each.key)
            else:
                self._send(each)

    async def expire(self) -> None:
        """Remove the requests that nobody has needed for long, of the sites of this crawl."""
        for site in self._samples:
            await self._skipped.expire(site)
