"""Foresees which requests of a crawl lead to copies of stored pages, and learns from the verdicts.

It is built on the public signals of :mod:`dedupcrawl.crawl.signals`. The middlewares in
:mod:`dedupcrawl.crawl.foreseeing` carry out what it decides. An error of it must not lose a request: it is counted and
logged, and the request is sent.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import create_looping_call

from dedupcrawl.crawl.audit_manager import AuditManager
from dedupcrawl.crawl.concurrency import BackgroundTaskGroup, sleep
from dedupcrawl.crawl.evidence_registry import PAUSE, EvidenceRegistry
from dedupcrawl.crawl.foreseen_requests import (
    AGAIN,
    FOUND_ON_PROBE,
    LATE,
    POSTPONED,
    THROUGH,
    Probed,
    RequestOutcome,
    RequestState,
    content_of,
    is_touchable,
    purpose_of,
)
from dedupcrawl.crawl.pattern_manager import IDLE, RULE, PatternManager
from dedupcrawl.crawl.rule_summary import log_requests, log_rules, rule_row
from dedupcrawl.crawl.signals import dedup_outcome, dedup_verdict
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.errors import StoreError
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.foresee.foresight import ForesightRegistry, exchange
from dedupcrawl.sites.registrable_domain import site_of

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Iterable, Sequence
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.items import PageRecorder
    from dedupcrawl.crawl.not_found_monitor import NotFoundMonitor
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.foresee.rule_learner import ForeseenPage, SiteRules
    from dedupcrawl.foresee.rule_state import RuleState

logger = logging.getLogger(__name__)

PROBE_SHARE = 0.05  #: of the foreseen requests that are sent all the same with "skip"
LAST_PRIORITY = -1_000_000  #: of requests that are postponed; those of exhausted patterns, and again, come later
MAX_REQUESTS = 512  #: requests whose pages may still be judged
MAX_EXCHANGE_SECONDS = 60.0  #: between two exchanges of evidence, unless a third of the lease is less
RECORDED_RULES = 200  #: in the report


class ForesightManager:
    """Decides about the requests of a crawl, and learns from its verdicts.

    Args:
        crawler: the crawl.
        options: the settings in force.
        client: of the store.
        stats: count and log.
        recorder: of the rules.
        not_found: recognises pages that are not found; they say nothing about others.
    """

    def __init__(
        self,
        crawler: Crawler,
        options: Options,
        client: StoreClient,
        stats: CrawlStats,
        recorder: PageRecorder,
        *,
        not_found: NotFoundMonitor | None = None,
    ) -> None:
        self._crawler, self._client, self._stats, self._recorder = crawler, client, stats, recorder
        self._patterns = PatternManager() if options.changes_crawl else None
        self._not_found = not_found
        self._mode = "" if options.item_fields else options.foresee  # rules are learnt from pages
        self._changes_crawl = options.changes_crawl
        self._interval = min(MAX_EXCHANGE_SECONDS, options.config.lease / 3)
        self._registry = ForesightRegistry()
        self._audits = AuditManager(crawler, options, client, stats)
        self._requests: OrderedDict[str, RequestState] = OrderedDict()
        self._evidence = EvidenceRegistry()
        self._under_way: dict[int, str] = {}  # canonical forms, with the URL of the request
        self._kept: OrderedDict[str, tuple[int, RequestState]] = OrderedDict()  # whose items are in the pipelines
        self._exchanging: set[str] = set()
        self._changed: set[str] = set()  # sites that were learnt about since the last exchange
        self._is_owed_last = False  # whether what is owed was tried at the end
        self._logged: set[str] = set()  # rules
        self._background = BackgroundTaskGroup()  # of what may send requests
        self._decided = 0  # requests
        self._copies = self._copy_bytes = 0  # dropped pages, and the bytes of their bodies
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._is_closed = False
        if self._mode:
            self._connect()

    def _connect(self) -> None:
        connect = self._crawler.signals.connect
        connect(self.verdict_given, dedup_verdict)
        connect(self.outcome_known, dedup_outcome)
        connect(self.spider_opened, signals.spider_opened)
        if self._mode == "skip":
            connect(self.spider_idle, signals.spider_idle)

    # -- requests -----------------------------------------------------------------------------

    async def decide(self, request: Request) -> RequestOutcome:
        """Decide what is done with a request; remember one that is sent until its page is judged."""
        self._decided += 1
        site, purpose = site_of(request.url), purpose_of(request)
        await self._know(site)
        meta, rules = request.meta, self._registry.rules(site)
        form = rules.form(request.url, purpose) if self._changes_crawl else 0
        state = RequestState(
            purpose, through=tuple(map(tuple, meta.get(THROUGH, ()))), again=meta.get(AGAIN, ""), form=form
        )
        if is_touchable(request):
            state = replace(state, is_touchable=True)
            page = rules.predict(request.url, purpose)
            if page is not None:
                return await self._decide_foreseen(request, site, page, state)
            if self._waits(request, form) or await self._waits_for_evidence(request, rules, purpose):
                return RequestOutcome.POSTPONED
            self._suspect(meta.get(FOUND_ON_PROBE, ()))
            fate = await self._decide_by_pattern(request, site, state)
            if fate is not RequestOutcome.SENT:
                return fate
        elif meta.get(AGAIN):
            state = self._as_probe(request, site, state)
        self._send(request, state)
        return RequestOutcome.SENT

    def _suspect(self, probed: Iterable[tuple[str, str]]) -> None:
        """Have rules of sites audited in full: a copy that they foresaw has a link that no other page had until then.

        A request that waits may turn out to be foreseen itself, and is no reason.
        """
        if self._mode == "skip":
            for site, text in probed:
                self._audits.sample(site).suspect(text)

    async def _decide_foreseen(
        self, request: Request, site: str, page: ForeseenPage, state: RequestState
    ) -> RequestOutcome:
        is_first = POSTPONED not in request.meta or self._mode == "skip"  # there it waited for the verdict on another
        if is_first and not state.again and not request.meta.get("retry_times"):
            self._stats.count("foreseen")
        if self._mode == "postpone" and POSTPONED not in request.meta:
            self._stats.count("postponed")
            return RequestOutcome.POSTPONED
        if self._mode == "skip" and await self._skip(request, site, page, state):
            return RequestOutcome.SKIPPED
        self._send(request, replace(state, page=page, rules=tuple(rule.text for rule in page.rules)))
        return RequestOutcome.SENT

    async def _skip(self, request: Request, site: str, page: ForeseenPage, state: RequestState) -> bool:
        """Store a request that is not sent; return False if it must be sent."""
        if self._audits.chance.random() < PROBE_SHARE:
            return False
        texts, refuted = tuple(rule.text for rule in page.rules), sum(rule.refuted for rule in page.rules)
        key = await self._store(request, site, texts, state.purpose, refuted)
        if key is None:
            return False
        for rule in page.rules:
            rule.skipped += 1
        self._audits.sample(site).add(texts, key)
        self._changed.add(site)
        lost = [rule for rule in page.rules if not rule.is_active]  # refuted while the request was stored
        if lost:
            self._start(self._send_again(site, [rule.text for rule in lost]))
        return True

    async def _decide_by_pattern(self, request: Request, site: str, state: RequestState) -> RequestOutcome:
        """Postpone a request of a pattern that brings nothing new; skip it where such pages only lead to each other."""
        if not self.lateness(request):
            return RequestOutcome.SENT
        if LATE not in request.meta:
            self._stats.count("postponed")
            return RequestOutcome.POSTPONED
        patterns = self._patterns if self._mode == "skip" else None
        pattern = patterns.barren_pattern(request) if patterns is not None else ""
        if patterns is None or not pattern:
            return RequestOutcome.SENT
        # It is sent again as if it had been found here: the steps on the way to it are not counted twice.
        fresh = request.replace(priority=LAST_PRIORITY, meta={**request.meta, IDLE: 1})
        if await self._store(fresh, site, (RULE.format(pattern),), state.purpose) is None:
            return RequestOutcome.SENT
        patterns.skipped(site, pattern)
        if not patterns.barren_pattern(request):  # a page was new while the request was stored
            self._start(self._send_again(site, [RULE.format(pattern)]))
        return RequestOutcome.SKIPPED

    def lateness(self, request: Request) -> int:
        """Return by how much a request comes after others that are postponed; 0 unless its pattern is exhausted."""
        return self._patterns.lateness(request) if self._patterns is not None else 0

    async def _store(
        self, request: Request, site: str, rules: tuple[str, ...], purpose: str, refuted: int = 0
    ) -> bytes | None:
        """Store a request that is not sent, and return its key; None if it must be sent."""
        key = await self._audits.store(request, site, rules, purpose, refuted)
        if key is not None:
            self._stats.count("skipped")
            self._stats.count("skipped_bytes", self._copy_bytes // max(1, self._copies))
        return key

    def _as_probe(self, request: Request, site: str, state: RequestState) -> RequestState:
        """Return the state of a request that is sent again, for an audit or after a rule was refuted."""
        page = self._registry.rules(site).predict(request.url, state.purpose)
        return replace(state, page=page, rules=tuple(text for _, text in state.through), through=())

    def _waits(self, request: Request, form: int) -> bool:
        """Whether a page of the same canonical form is under way, whose verdict tells whether this is a copy."""
        if not form or POSTPONED in request.meta or self._under_way.get(form, request.url) == request.url:
            return False
        self._stats.count("postponed")
        return True

    async def _waits_for_evidence(self, request: Request, rules: SiteRules, purpose: str) -> bool:
        """Whether the page of a request is to be foreseen later, by a rule that needs other pages before."""
        expected = rules.expected_evidence(request.url, purpose) if self._mode == "skip" else None
        if expected is None or not self._evidence.waits(request, expected):
            return False
        if POSTPONED not in request.meta:
            self._stats.count("postponed")
        elif self._evidence.is_under_way:  # no others are left: without a pause, all that wait would go round
            await sleep(PAUSE)
        return True

    def _send(self, request: Request, state: RequestState) -> None:
        if self._mode == "skip" and state.page is None and state.is_touchable:
            rules = self._registry.rules(site_of(request.url))
            self._evidence.sent(without_fragment(request.url), rules.expected_evidence(request.url, state.purpose))
        if self._patterns is not None:
            self._patterns.sent(request)
        self._requests[without_fragment(request.url)] = state
        while len(self._requests) > MAX_REQUESTS:
            self.forget(next(iter(self._requests)))
        if state.form:
            self._under_way.setdefault(state.form, request.url)

    def forget(self, url: str) -> RequestState | None:
        """Forget a request: its page will not be judged. Return its state."""
        state = self._requests.pop(without_fragment(url), None)
        self._evidence.forget(without_fragment(url))
        if state is not None and state.form and self._under_way.get(state.form) == url:
            del self._under_way[state.form]
        return state

    def answered(self, url: str) -> None:
        """Count a page that was downloaded for its pattern."""
        if self._patterns is not None:
            self._patterns.answered(url)

    def mark(self, request: Request, found_on: str) -> None:
        """Note in a request where it was found."""
        if self._patterns is not None:
            self._patterns.mark(request, found_on)

    def page_without_items(self, url: str) -> None:
        """Handle a page of which the spider has yielded no item, so that there is no verdict on it."""
        state = self.forget(url)
        if state is not None and state.again:
            self._start(self._audits.done(site_of(url), state.again))

    def probed_by(self, url: str) -> tuple[Probed, Probed]:
        """Return the rules that the request of a page probes in the audit, and those before it."""
        state = self._requests.get(without_fragment(url))
        if state is None or not state.rules:
            return (), ()
        site = site_of(url)
        probed = tuple((site, text) for text in state.rules)
        return (probed, ()) if state.again else ((), probed)

    # -- verdicts -----------------------------------------------------------------------------

    def verdict_given(self, verdict: Verdict, size: int, canonical: str = "") -> None:
        """Handle the signal: learn from a dropped page at once, and from a kept one when it is stored."""
        url = verdict.url
        site = site_of(url)
        if self._patterns is not None:
            self._count_for_patterns(self._patterns, verdict, site)
        state = self.forget(url)
        content = content_of(verdict)
        if state is None or content is None or (self._not_found is not None and self._not_found.has_matched(url)):
            return
        self._note_canonical(url, canonical)
        if not verdict.keep:
            self._copies += 1
            self._copy_bytes += size
        if self._mode == "observe" and state.page is None and state.is_touchable:
            state = self._foreseen_late(url, state)
        if state.page is not None or state.rules:
            self._count_probe(url, state, is_copy=not verdict.keep)
        if verdict.keep and state.through and verdict.status is Status.UNIQUE:
            for origin in {each for each, _ in state.through}:
                rules = self._rules_with(origin, [text for each, text in state.through if each == origin])
                self._refuted(origin, rules, f"{url} was reached through its copies only")
        if verdict.keep:
            self._kept[url] = content, state
            while len(self._kept) > MAX_REQUESTS:
                self._kept.popitem(last=False)
        else:
            self._learn(url, content, verdict.of or "", state)

    def _note_canonical(self, url: str, canonical: str) -> None:
        """Have the rule tested by which a page differs from the URL that it calls canonical, if it is of its site."""
        site = site_of(url)
        if canonical and canonical != url and site_of(canonical) == site:
            self._registry.rules(site).suggest(url, canonical)

    def _count_for_patterns(self, patterns: PatternManager, verdict: Verdict, site: str) -> None:
        """Credit the patterns of a new page, and send what was skipped of them; probe its host."""
        again = [RULE.format(pattern) for pattern in patterns.verdict_given(verdict)]
        if again:
            self._start(self._send_again(site, again))
        if self._not_found is not None:
            self._not_found.page_judged(verdict.url)

    def _foreseen_late(self, url: str, state: RequestState) -> RequestState:
        """Foresee a page when it is judged: its request would have been postponed until its first copy was judged."""
        page = self._registry.rules(site_of(url)).predict(url, state.purpose)
        self._stats.count("foreseen", int(page is not None))
        return replace(state, page=page)

    def outcome_known(self, verdict: Verdict, outcome: str) -> None:
        """Handle the signal: a page was stored, or will not be."""
        found = self._kept.pop(verdict.url, None)
        if found is not None and outcome == "kept":
            self._learn(verdict.url, found[0], "", found[1])

    def _learn(self, url: str, content: int, of: str, state: RequestState) -> None:
        """Learn from a page that is stored, or that repeats a stored page."""
        site = site_of(url)
        if state.again:
            self._start(self._audits.done(site, state.again))
        self._changed.add(site)
        rules = self._registry.rules(site)
        revision = rules.revision
        lost = rules.learn(url, content, of, state.purpose)
        if rules.revision != revision:
            self._report_new(rules)
        if lost:
            self._report_refuted(site, lost, f"{url} is no copy")

    def _report_new(self, rules: SiteRules) -> None:
        """Log the rules that have begun to act."""
        active = {rule.text: rule for rule in rules.active_rules()}
        for text in active.keys() - self._logged:
            message = "The rule %(rule)s acts: %(good)d groups of pages, no counter-example; %(copy)s repeats %(of)s"
            copy, of = active[text].example
            what = {"rule": text, "good": active[text].good, "copy": copy, "of": of}
            logger.info(message, what, extra={"spider": self._crawler.spider})
        self._logged.update(active)

    def _count_probe(self, url: str, state: RequestState, *, is_copy: bool) -> None:
        site = site_of(url)
        rules = state.page.rules if state.page is not None else self._rules_with(site, state.rules)
        self._stats.count("probes")
        self._stats.count("probes_wrong", int(not is_copy))
        for rule in rules:
            rule.probes += 1
            rule.wrong += not is_copy
        self._changed.add(site)
        if is_copy and self._mode == "skip":
            texts = {*state.rules, *(rule.text for rule in rules)}
            is_of_audit = bool(state.again) and not state.is_touchable  # others were sent again, and foreseen again
            self._audits.sample(site).confirm(texts, was_skipped=is_of_audit)
        if not is_copy:
            self._refuted(site, rules, f"{url} is no copy", url)

    def _rules_with(self, site: str, texts: Collection[str]) -> list[RuleState]:
        return [rule for rule in self._registry.rules(site).active_rules() if rule.text in texts]

    def _refuted(self, site: str, rules: Iterable[RuleState], why: str, url: str = "") -> None:
        lost = self._registry.rules(site).refute(rules, url)
        if lost:
            self._report_refuted(site, lost, why)

    def _report_refuted(self, site: str, lost: Sequence[RuleState], why: str) -> None:
        """Log rules that were refuted here, tell the other workers, and send what they have skipped."""
        self._stats.count("revoked", len(lost))
        self._logged.difference_update(rule.text for rule in lost)
        for rule in lost:
            message = "The rule %(rule)s is revoked: %(why)s"
            logger.info(message, {"rule": rule.text, "why": why}, extra={"spider": self._crawler.spider})
        self._start(self._exchange(site))
        self._start(self._send_again(site, [rule.text for rule in lost]))

    # -- requests that are sent again ---------------------------------------------------------

    async def _send_again(self, site: str, rules: Collection[str]) -> None:
        """Send all requests that any of these rules has skipped."""
        if self._mode == "skip":
            await self._audits.send_again(site, rules)
            self._is_owed_last = False

    def _send_owed(self) -> bool:
        """Try again to send what a store that was away did not give; return whether there is any."""
        owed = self._audits.take_owed()
        for site, rules in owed:
            self._start(self._send_again(site, rules))
        return bool(owed)

    async def _resume(self) -> None:
        """Go on with the requests that earlier crawls have skipped."""
        for site in await self._audits.sites():
            await self._exchange(site)
            active = {rule.text: rule.refuted for rule in self._registry.rules(site).active_rules()}
            await self._audits.resume(site, active)

    # -- the end of the crawl -----------------------------------------------------------------

    def spider_idle(self) -> None:
        """Handle Scrapy's signal: audit the rules; raises ``DontCloseSpider`` until that is done."""
        if not self._is_owed_last:  # once: a store that is still away must not keep the crawl open
            self._is_owed_last = self._send_owed()
        if not self._background.running:
            for site, probes, unverified in self._audits.next_probes():
                self._start(self._audits.send_probes(site, [*probes]))
                if unverified:
                    self._start(self._send_unverified(site, unverified))
        if self._background.running:
            raise DontCloseSpider
        engine = self._crawler.engine
        if engine is not None and not engine.spider_is_idle():
            raise DontCloseSpider

    async def _send_unverified(self, site: str, rules: Collection[str]) -> None:
        """Send all that rules have skipped which cannot be verified."""
        self._refuted(site, self._rules_with(site, rules), "too few of its probes could be judged")
        await self._send_again(site, rules)

    def sum_up(self) -> None:
        """Log how many requests were foreseen, and by which rules; record these."""
        if self._stats.counts["foreseen"]:
            counts, texts = self._stats.counts, self._stats.texts
            log_requests(self._crawler, counts, self._decided, texts, is_observed=self._mode == "observe")
            used = self.used_rules()
            log_rules(self._crawler, [rule for _, rule in used], texts)
            for site, rule in used[:RECORDED_RULES]:
                self._recorder.record_rule(rule_row(site, rule))

    def used_rules(self) -> list[tuple[str, RuleState]]:
        """Return the rules that have foreseen a page with their sites, the most useful first."""
        rules = [(site, rule) for site, known in self._registry for rule in known.rules if rule.requests]
        return sorted(rules, key=lambda each: each[1].requests, reverse=True)

    # -- the store ----------------------------------------------------------------------------

    def spider_opened(self) -> None:
        """Handle Scrapy's signal: exchange evidence with the store from now on."""
        self._loop = create_looping_call(self._exchange_changed)
        self._loop.start(self._interval, now=False)
        if self._mode == "skip":
            self._start(self._resume())

    def _exchange_changed(self) -> None:
        self._send_owed()
        for site in [site for site, rules in self._registry if site in self._changed or any(rules.active_rules())]:
            self._start(self._exchange(site))

    async def _know(self, site: str) -> None:
        """Load the rules of a site; those of a remote store arrive later."""
        if self._registry.knows(site) or site in self._exchanging:
            return
        if self._client.is_remote:
            self._start(self._exchange(site))
        else:
            await self._guarded(self._exchange(site))

    async def _exchange(self, site: str) -> None:
        """Exchange the evidence about a site with the store."""
        if site in self._exchanging or not self._client.is_open or not site:
            return
        self._exchanging.add(site)
        self._changed.discard(site)
        try:
            sent = self._registry.outgoing(site)
            received = await self._client.call(exchange, self._client.dedup.store.notes, site, sent)
            lost = self._registry.incoming(site, sent, received)
        except StoreError:
            self._changed.add(site)  # it is told with the next exchange
            raise
        finally:
            self._exchanging.discard(site)
        if lost and not self._is_closed:
            await self._send_again(site, [rule.text for rule in lost])

    async def close(self) -> None:
        """Give the store what was learnt since the last exchange, and remove requests that have expired."""
        if not self._mode or self._is_closed:
            return
        self._is_closed = True
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        for site in [site for site, _ in self._registry if site in self._changed]:
            await self._guarded(self._exchange(site))
        if self._mode == "skip":
            await self._guarded(self._audits.expire())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._background.start(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that calls the store; what failed is done with a later exchange, or in the next crawl."""
        try:
            await work
        except StoreError:
            return
        except Exception as error:  # noqa: BLE001  # an error of ours must not end the crawl
            self._stats.crashed("the rules of a site", error)
