"""Skips requests, and sends them after all: for an audit of the rules, or because a rule was revoked."""

from __future__ import annotations

import random
import time
from operator import attrgetter
from typing import TYPE_CHECKING

from dedupcrawl.crawl.foreseen_requests import AGAIN, OWN_KEYS, THROUGH
from dedupcrawl.crawl.rule_audits import SiteSample
from dedupcrawl.crawl.skipped_requests import (
    SkippedEntry,
    SkippedRequestQueue,
    request_key,
    skipped_by,
    storable_fields,
)
from dedupcrawl.errors import StoreError
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.stores import MEMORY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient


class AuditManager:
    """The skipped requests of a crawl, and the samples of them by which the rules are audited.

    Args:
        crawler: the crawl.
        options: the settings in force.
        client: of the store, which keeps the requests.
        stats: count what is skipped and sent.
    """

    def __init__(self, crawler: Crawler, options: Options, client: StoreClient, stats: CrawlStats) -> None:
        self._crawler, self._stats = crawler, stats
        self._skipped = SkippedRequestQueue(client)
        self._samples: dict[str, SiteSample] = {}  # by site
        self._resent: set[bytes] = set()
        self._owed: dict[str, set[str]] = {}  # rules by site: what they have skipped is still to be sent again
        #: What a store in memory has is lost when the crawl is stopped, and JOBDIR knows its URLs as visited.
        self._can_skip = options.store != MEMORY or not crawler.settings["JOBDIR"]
        self.chance = random.Random()  # noqa: S311  # chooses probes

    # -- requests that are skipped ------------------------------------------------------------

    async def store(
        self, request: Request, site: str, rules: tuple[str, ...], purpose: str, refuted: int = 0
    ) -> bytes | None:
        """Store a request that is not sent, and return its key; None if it must be sent.

        Args:
            request: that is skipped.
            site: of its URL.
            rules: that skip it.
            purpose: name of its callback.
            refuted: how often these rules were refuted.
        """
        spider = self._crawler.spider
        fields = storable_fields(request, spider, OWN_KEYS) if spider is not None and self._can_skip else None
        if spider is None or fields is None:
            return None
        key = request_key(request.url, purpose, spider.name)
        if not await self._skipped.add(site, SkippedEntry(key, fields, rules, time.time(), spider.name, refuted)):
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
        """Send all requests that any of these rules has skipped; if the store does not answer, they are owed."""
        self.sample(site).remove(rules)
        try:
            found = await self._skipped.find(site)
        except StoreError:
            self._owed.setdefault(site, set()).update(rules)
            raise
        for each in skipped_by(found, rules):
            self._send(each)

    def take_owed(self) -> list[tuple[str, set[str]]]:
        """Return sites with the rules whose skipped requests are owed; the caller sends them again."""
        owed, self._owed = self._owed, {}
        return [*owed.items()]

    def _send(self, skipped: SkippedEntry, *, is_probe: bool = False) -> None:
        """Send a stored request, once; a probe is never skipped."""
        engine, spider = self._crawler.engine, self._crawler.spider
        if skipped.key in self._resent or engine is None or spider is None or skipped.spider != spider.name:
            return
        try:
            request = skipped.request(spider)
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            self._stats.crashed(str(skipped.fields.get("url", "")), error)
            return
        request.meta[AGAIN] = skipped.key.hex()
        self._resent.add(skipped.key)
        if is_probe:
            request.meta[THROUGH] = [(site_of(request.url), text) for text in skipped.rules]
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

    async def send_probes(self, site: str, keys: Sequence[bytes]) -> None:
        """Send the requests with these keys, which probe rules."""
        for each in await self._skipped.find(site, keys) if keys else ():
            self._send(each, is_probe=True)

    # -- earlier and later crawls -------------------------------------------------------------

    async def sites(self) -> list[str]:
        """Return the sites of which requests are stored."""
        return await self._skipped.sites()

    async def resume(self, site: str, active: Mapping[str, int]) -> None:
        """Go on with the requests that earlier crawls of this spider have skipped.

        Those of rules that are not active, or that were refuted since, are sent; the others are audited with this
        crawl.

        Args:
            site: of the requests.
            active: the rules that act, with how often they were refuted.
        """
        name = self._crawler.spider.name if self._crawler.spider is not None else ""
        found = sorted(await self._skipped.find(site), key=attrgetter("at"))  # the latest are audited first
        for each in (entry for entry in found if entry.spider == name):
            is_refuted = sum(active.get(text, 0) for text in each.rules) > each.refuted  # and learnt again since
            if is_refuted or not active.keys() >= {*each.rules}:
                self._send(each)
            else:
                self.sample(site).add(each.rules, each.key)

    async def expire(self) -> None:
        """Remove the requests that nobody has needed for long, of the sites of this crawl."""
        for site in self._samples:
            await self._skipped.expire(site)
