"""Reads the text of responses and items, and judges them."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import islice
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard

from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse
from scrapy.utils.asyncio import call_later

from dedupcrawl.crawl.concurrency import BackgroundTaskGroup, OneShotEvent, sleep
from dedupcrawl.crawl.item_pages import OTHER_ITEM, OTHER_PAGE, CarriedPage, ItemNotice, ItemPages
from dedupcrawl.crawl.item_text import ItemFields, is_short, own_url, read_item
from dedupcrawl.crawl.items import ItemClaim, PageState
from dedupcrawl.crawl.page_objects import is_placeholder
from dedupcrawl.crawl.page_view import PageView
from dedupcrawl.decision import Status, Verdict, unchecked
from dedupcrawl.detectors.base import Relation
from dedupcrawl.matching import BY_URL
from dedupcrawl.page import Page, PageError, read_response
from dedupcrawl.page.document import check_body
from dedupcrawl.page.options import BUILT_IN
from dedupcrawl.page.readers import response_text
from dedupcrawl.page.time_limit import TOO_SLOW, TooSlowError, time_limit
from dedupcrawl.text.features import utf8_length

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.http import Response

    from dedupcrawl.crawl.claims import ClaimManager, UnsettledClaim
    from dedupcrawl.crawl.concurrency import ThreadPool
    from dedupcrawl.crawl.item_pages import ItemSource, Source
    from dedupcrawl.crawl.items import PageRecorder, ResponseState, ResponseTracker
    from dedupcrawl.crawl.known_bodies import BodyTracker
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.page import ReadOptions
    from dedupcrawl.page.model import Block

SKIP = "dedup_skip"  #: key of ``Request.meta``
SKIPPED = "skip"  #: reason of the verdict on such a request

BATCH_SECONDS = 0.02  #: how long a page waits for others
BATCH_SIZE = 16  #: pages of a batch
READ_SECONDS = 0.02  #: for how long pages are read before the reactor does something else
MAX_HASHED = 1 << 22  #: bytes of bodies that are looked up together: for some milliseconds
LARGE_BODY = 1 << 18  #: minimum bytes of a body that is read in a thread; others take milliseconds


class PageFilter(Protocol):
    """Recognises pages that are not filed."""

    def knows(self, url: str) -> bool:
        """Whether there may be such pages on the host of a URL."""

    async def claim(self, page: Page, state: ResponseState) -> ItemClaim | None:
        """Return the claim of such a page; None: it is judged as any other."""


class ResponseReader:
    """Reads each response once; its state in ``responses`` stores the page.

    Args:
        options: how pages are read.
        responses: store the pages.
        stats: count errors.
        timeout: seconds of processor time for one page; None: no limit.
        large_pages: runs :meth:`read_apart` for large pages; None: none are read there.
    """

    def __init__(
        self,
        options: ReadOptions,
        responses: ResponseTracker,
        stats: CrawlStats,
        timeout: float | None = None,
        *,
        large_pages: ThreadPool | None = None,
    ) -> None:
        self._options = options
        self._timeout = timeout
        self._stats = stats
        self._large_pages = large_pages
        self.responses = responses

    def read(self, response: Response) -> Page | Verdict:
        """Return the page of a response, or the verdict ``unchecked`` if it cannot be judged."""
        return self._kept(response, lambda: self._attempt(response))

    async def read_apart(self, response: Response) -> Page | Verdict:
        """Read a page, a large one in a thread unless the reader is the user's; return what :meth:`read` returns.

        The thread parses the page again, since the tree of the response belongs to the spider.
        """
        pool = self._large_pages
        is_large = len(response.body) >= LARGE_BODY and self._options.reader in BUILT_IN
        if not is_large or pool is None or self.responses.of(response).subject is not None:
            return self.read(response)
        attempt = await pool.run(lambda: self._attempt(response, shares_tree=False))
        return self._kept(response, lambda: attempt)

    def read_blocks(self, response: Response) -> tuple[Block, ...]:
        """Return all blocks of the page of a response, () if it cannot be read in time."""
        subject = self._subject(response, self._attempt(response, blocks=True))
        return subject.blocks if isinstance(subject, Page) else ()

    def _attempt(self, response: Response, *, blocks: bool = False, shares_tree: bool = True) -> _ReadResult:
        """Read a page; may be called in a thread."""
        began = thread_time()
        found: Page | Verdict | Exception
        try:
            with time_limit(self._timeout):
                options = replace(self._options, blocks=True) if blocks else self._options
                found = read_page_of(response, options, shares_tree=shares_tree)
        except TooSlowError:
            found = unchecked(response.url, TOO_SLOW)
        except Exception as error:  # noqa: BLE001  # no page may end a crawl
            found = error
        return _ReadResult(found, thread_time() - began)

    def _subject(self, response: Response, attempt: _ReadResult) -> Page | Verdict:
        if isinstance(attempt.found, Exception):
            self._stats.crashed(response.url, attempt.found)
            return unchecked(response.url, "error")
        return attempt.found

    def _kept(self, response: Response, make: Callable[[], _ReadResult]) -> Page | Verdict:
        """Return the page in the state of the response, which is made if it is not there."""
        state = self.responses.of(response)
        if state.subject is None:
            attempt = make()
            state.subject, state.read_seconds = self._subject(response, attempt), attempt.seconds
        return state.subject

    def view(self, response: Response) -> PageView:
        """Return what spiders and pipelines see of the page of a response."""
        state = self.responses.of(response)
        if state.view is None:
            state.view = PageView(self, response)
        return state.view


class _ReadResult(NamedTuple):
    """An attempt to read a page."""

    found: Page | Verdict | Exception  #: the exception is an error of ours or of the user's reader
    seconds: float  #: of processor time


class PageJudge:
    """Returns the claim of an item: of the page that it is about, or its own with ``DEDUP_ITEM_FIELDS``."""

    def __init__(
        self,
        options: Options,
        reader: ResponseReader,
        claims: ClaimManager,
        stats: CrawlStats,
        recorder: PageRecorder,
        *,
        not_found: PageFilter | None = None,
        bodies: BodyTracker | None = None,
    ) -> None:
        self._options = options
        self._reader = reader
        self._bodies = bodies
        self._not_found = not_found
        self._responses = reader.responses
        self._claims = claims
        self._stats = stats
        self._recorder = recorder
        self._batcher = MicroBatchQueue(reader, claims, bodies)
        self.fields = ItemFields(options.item_fields, stats)  #: those that are judged
        self.pages = ItemPages(options, reader)  #: finds the pages that items are about
        self._notices = ItemNotice(stats)

    async def claim(
        self, item: Any, response: Response | None, *, again: bool = False
    ) -> tuple[ItemClaim, ItemClaim | None]:
        """Return the claim of an item, and that of the page of its response if the item is about another page.

        The second one is None if there is nothing to claim. Both are settled with the item.

        Args:
            item: in the pipelines.
            response: where it came from, if that is known.
            again: whether the item was judged before, and its claim was released.
        """
        if self._options.item_fields:
            claim = await self._claim_item(item, response, again=again)
        elif response is None:
            claim = self._judged(ItemClaim(unchecked(own_url(item), "no-response")), None, again=again)
        elif is_skipped(response):
            claim = self._counted(response, await self._claim_page(response))
        else:
            return await self._claim_both(item, response, again=again)
        claim.in_flight += 1
        return claim, None

    async def _claim_both(self, item: Any, response: Response, *, again: bool) -> tuple[ItemClaim, ItemClaim | None]:
        try:
            origin = self.pages.origin(item, response)
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose an item
            self._stats.crashed(response.url, error)
            origin = None
        if origin is None:
            claim = self._judged(ItemClaim(unchecked(response.url, "error")), None)
        elif not isinstance(response, TextResponse) and response in origin.pages and is_placeholder(response):
            claim = await self._claim_whole_item(item, response, again=again)
        else:
            claim = await self._claim_by_pages(origin, response)
        claim.in_flight += 1
        completing = await self._claim_completing(origin, claim, response) if origin is not None else None
        if completing is not None:
            completing.in_flight += 1
        return claim, completing

    async def _claim_completing(self, origin: ItemSource, claim: ItemClaim, response: Response) -> ItemClaim | None:
        """Claim the page of a response whose item is kept for another page, so that a later crawl knows it too.

        It is not counted: the item is one of the other page.
        """
        is_other = claim.verdict.keep and claim.claim is not None and response not in origin.pages
        if not is_other or claim.response is self._responses.of(response) or self.pages.is_known(response):
            return None
        completing = await self._claim_page(response)
        return completing if completing.verdict.keep and completing.claim is not None else None

    async def _claim_by_pages(self, origin: ItemSource, response: Response) -> ItemClaim:
        """Return the claim of the first page that is kept, of those that decide about an item."""
        sources, is_copy = [*origin.pages], False
        for source in sources:
            claim = await self._claim_page(source)
            is_copy = self.pages.is_copy(origin, source, claim)
            if source is not response:
                self._notices.judged_by_other_page(origin, response, is_dropped=not claim.verdict.keep)
            if origin.is_passed and claim.verdict.status is Status.UNCHECKED and response not in sources:
                sources.append(response)  # a page that cannot be judged says nothing about an item that may be of it
                continue
            if claim.verdict.keep:
                is_equal = is_copy and source is not response and claim.has_items
                return self._copy(claim) if is_equal else self._counted(source, claim)
            if is_copy:
                return self._counted(source, claim)
            if origin.is_first and response not in sources and not self.pages.is_only_item(origin.key):
                sources.append(response)  # others have come meanwhile
            elif response not in sources and self.pages.completes(source, claim):
                added = await self._claim_page(response)
                if added.verdict.keep and added.verdict.status is not Status.UNCHECKED:
                    return self._counted(response, added)
        why = self.pages.why_kept(origin, source, claim) if sources else OTHER_PAGE
        return self._kept_unchecked(origin, response, why) if why else self._counted(source, claim)

    def _copy(self, claim: ItemClaim) -> ItemClaim:
        """Return the claim of an item that equals another one of the same page, which is kept."""
        keep = Relation.UNCHANGED not in self._options.config.drop
        url, cluster = claim.verdict.url, claim.verdict.cluster
        verdict = Verdict(url, Status.DUPLICATE, keep, Relation.UNCHANGED, url, cluster, detector=BY_URL)
        return self._judged(ItemClaim(verdict), None)

    def _kept_unchecked(self, origin: ItemSource, response: Response, reason: str) -> ItemClaim:
        """Return the claim of an item that is kept although its page is dropped, or is not there."""
        url = origin.url or response.url
        self._notices.kept_unchecked(reason, url, response)
        return self._judged(ItemClaim(unchecked(url, reason)), None)

    async def _claim_page(self, source: Source) -> ItemClaim:
        """Return the claim that all items of a page share; the page is judged for the first item."""
        state = source.state if isinstance(source, CarriedPage) else self._responses.of(source)
        while (claim := state.valid_claim) is None:
            if state.judging is not None:
                await state.judging.wait()
            else:
                await self._judge_page(state, source)
        return claim

    async def _judge_page(self, state: ResponseState, source: Source) -> None:
        state.judging = judging = OneShotEvent()
        try:
            if isinstance(source, CarriedPage):
                state.subject = source.subject
            state.claim = claim = await self._claim_unfiled(state, source) or await self._batcher.judge(state, source)
            self.pages.page_judged(source, claim)
            if self._bodies is not None and not isinstance(source, CarriedPage):
                self._bodies.note(source, state, claim)
            if state.view is not None:
                state.view.record(claim.verdict, state.subject)
        finally:
            state.judging = None
            judging.set()

    async def _claim_unfiled(self, state: ResponseState, source: Source) -> ItemClaim | None:
        if self._not_found is None or isinstance(source, CarriedPage) or not self._not_found.knows(source.url):
            return None
        subject = await self._reader.read_apart(source)
        return await self._not_found.claim(subject, state) if isinstance(subject, Page) else None

    def _counted(self, source: Source, claim: ItemClaim) -> ItemClaim:
        """Count a page in the stats, once: with the first item that it keeps or drops."""
        state = claim.response
        if claim.outcomes is None and state is not None:
            size = source.size if isinstance(source, CarriedPage) else len(source.body)
            self._judged(claim, state.subject, size, state)
            state.subject = None  # saves memory; if the claim is released, the page is read again
        return claim

    async def _claim_item(self, item: Any, response: Response | None, *, again: bool) -> ItemClaim:
        """Judge an item by the text of its fields.

        Versions are tracked under a URL of its own only. Several items of a page may have the page's URL:
        the second would be a new version of the first.
        """
        url, base, seen = own_url(item), "", set[str]()
        if response is not None:
            if is_skipped(response):
                return self._judged(ItemClaim(unchecked(response.url, SKIPPED)), None)
            base, seen = response.url, self._responses.of(response).item_urls
        is_own = bool(url) and url != base and (again or url not in seen)
        seen.add(url)
        if not self.fields.has_any(item):
            return self._judged(ItemClaim(unchecked(url or base, "no-field")), None, again=again)
        page = read_item(item, self._options.item_fields, url or base)
        return await self._claim_text(page, response, track_url=is_own, again=again)

    async def _claim_whole_item(self, item: Any, response: Response, *, again: bool) -> ItemClaim:
        """Judge an item whose page was not downloaded by all its fields; the first of a URL is a version of it.

        The items of many pages may have the same few words. Only equal pages would show that they are copies.
        """
        url, seen = own_url(item) or response.url, self._responses.of(response).item_urls
        is_first = again or url not in seen
        seen.add(url)
        try:
            page = self.pages.read_whole(item, url)
        except Exception as error:  # noqa: BLE001  # a field whose value raises must not lose its item
            self._stats.crashed(url, error)
            return self._judged(ItemClaim(unchecked(url, "error")), None, again=again)
        if page.text and is_short(page.text, self._options.config.min_chars):
            return self._judged(ItemClaim(unchecked(url, "short")), page, utf8_length(page.text), again=again)
        return await self._claim_text(page, response, track_url=is_first, again=again)

    async def _claim_text(self, page: Page, response: Response | None, *, track_url: bool, again: bool) -> ItemClaim:
        """Judge the text of an item; ``track_url``: an earlier text of its URL is an earlier version of it."""
        claim = await self._claims.judge(page, None, track_url=track_url)
        if response is not None and self.pages.is_other_text(page, claim.verdict, response):
            self._notices.kept_unchecked(OTHER_ITEM, page.url, response)
            claim = ItemClaim(unchecked(page.url, OTHER_ITEM, of=claim.verdict.of), comparison=claim.comparison)
        return self._judged(claim, page, utf8_length(page.text), again=again)

    def _judged(
        self,
        claim: ItemClaim,
        subject: Page | Verdict | None,
        size: int = 0,
        response: ResponseState | None = None,
        *,
        again: bool = False,
    ) -> ItemClaim:
        is_known = again or (response is not None and response.was_counted)
        if response is not None:
            response.was_counted = True
        self._stats.judged(claim.verdict, again=is_known)
        self._stats.outcomes.add(claim, again=is_known)
        if self._options.drops and not claim.verdict.keep:
            claim.advance(PageState.DROPPED)
            item = subject.text if isinstance(subject, Page) and subject.fields else ""
            self._stats.dropped(claim.verdict, size, item)
        self._recorder.record_verdict(claim, subject, size, response)
        claim.comparison = None  # saves memory
        return claim


class MicroBatchQueue:
    """Collects the pages of ``BATCH_SECONDS`` and judges them together, in their order.

    Between two pages, Scrapy's own work evicts code and tables from the processor's caches. Loading them again is a
    large part of the cost of a page. Every ``READ_SECONDS`` the reactor has its turn nevertheless.
    """

    def __init__(self, reader: ResponseReader, claims: ClaimManager, bodies: BodyTracker | None = None) -> None:
        self._reader = reader
        self._claims = claims
        self._bodies = bodies
        self._entries: deque[_QueuedPage] = deque()
        self._is_reading = False
        self._background = BackgroundTaskGroup()

    async def judge(self, state: ResponseState, source: Source) -> ItemClaim:
        """Read a page, unless it is in its state already, and claim its content in the next batch."""
        entry = _QueuedPage(state, source)
        self._entries.append(entry)
        if len(self._entries) == BATCH_SIZE:
            self._start_batch()
        elif len(self._entries) == 1:
            call_later(BATCH_SECONDS, self._start_batch)
        await entry.judged.wait()
        return entry.claim or ItemClaim(unchecked(source.url, "error"), state)

    def _start_batch(self) -> None:
        if not self._is_reading:  # else the pages that have come meanwhile follow the present ones
            self._is_reading = True
            self._background.start(self._read_batches())

    async def _read_batches(self) -> None:
        try:
            while self._entries:
                await self._look_up()
                await self._judge_all(await self._read_some())
                if self._entries:
                    await sleep(0)
        finally:
            self._is_reading = False

    async def _look_up(self) -> None:
        """Find the next pages whose bytes are known, so that they need not be read."""
        found, size = list[tuple[_QueuedPage, "Response"]](), 0
        for entry in islice(self._entries, BATCH_SIZE):
            source = entry.source
            if not entry.is_looked_up and is_unread(source, entry.state):
                if size >= MAX_HASHED:
                    break
                found.append((entry, source))
                size += len(source.body)
            entry.is_looked_up = True
        if found and self._bodies is not None:
            pages = [(response, entry.state) for entry, response in found]
            for (entry, _), known in zip(found, await self._bodies.unchanged(pages), strict=True):
                entry.known = known

    async def _read_some(self) -> list[tuple[_QueuedPage, Page | Verdict | ItemClaim]]:
        """Read pages until the reactor should have its turn; those that are known are not read."""
        began, read = time.monotonic(), list[tuple[_QueuedPage, "Page | Verdict | ItemClaim"]]()
        while self._entries and len(read) < BATCH_SIZE and time.monotonic() - began < READ_SECONDS:
            if not self._entries[0].is_looked_up:  # it has come meanwhile
                break
            entry = self._entries.popleft()
            read.append((entry, await self._subject(entry)))
        return read

    async def _subject(self, entry: _QueuedPage) -> Page | Verdict | ItemClaim:
        source = entry.source
        if entry.known is not None and self._bodies is not None:
            self._bodies.used()
            return entry.known
        return source.subject if isinstance(source, CarriedPage) else await self._reader.read_apart(source)

    async def _judge_all(self, read: Sequence[tuple[_QueuedPage, Page | Verdict | ItemClaim]]) -> None:
        pages = [(subject, entry.state) for entry, subject in read if isinstance(subject, Page)]
        unanswered = [entry for entry, _ in read]
        try:
            judged = iter(await self._claims.judge_many(pages))
            for entry, subject in read:
                claim: ItemClaim | UnsettledClaim
                if isinstance(subject, Verdict):
                    claim = ItemClaim(subject, entry.state)
                else:
                    claim = next(judged) if isinstance(subject, Page) else subject
                unanswered.remove(entry)
                if isinstance(claim, ItemClaim):
                    entry.answer(claim)
                else:
                    # In a task of its own: it may have to wait for an item of another one.
                    self._background.start(self._wait_for(entry, claim))
        finally:
            for entry in unanswered:
                entry.answer(None)

    async def _wait_for(self, entry: _QueuedPage, claim: UnsettledClaim) -> None:
        answer = None
        try:
            answer = await claim
        finally:
            entry.answer(answer)


@dataclass(eq=False, slots=True)
class _QueuedPage:
    state: ResponseState
    source: Source
    claim: ItemClaim | None = None
    is_looked_up: bool = False  #: whether its bytes were looked up, or cannot be
    known: ItemClaim | None = None  #: the claim of a page that need not be read
    judged: OneShotEvent = field(default_factory=OneShotEvent)

    def answer(self, claim: ItemClaim | None) -> None:
        """Return the claim to the coroutine that waits for it; None after an error of ours."""
        self.claim = claim
        self.judged.set()


def read_page_of(response: Response, options: ReadOptions, *, shares_tree: bool = True) -> Page | Verdict:
    """Read a page from the parsed tree of its response, or from its text; return why if it cannot be judged."""
    response = _as_html(response)
    refusal = _refusal(response)
    if refusal:
        return unchecked(response.url, refusal)
    assert isinstance(response, TextResponse)
    try:
        if _is_plain(response):
            check_body(response.body, options.max_bytes)
            return Page.from_text(response_text(response), response.url)
        return read_response(response, options, shares_tree=shares_tree)
    except PageError as error:
        return unchecked(response.url, error.reason)


def _as_html(response: Response) -> Response:
    """Return a response as HTML if it is that, although its class is none of Scrapy's for texts.

    ``SplashJsonResponse`` has the HTML that Splash has rendered as its body, and attributes of its own for text.
    """
    if isinstance(response, TextResponse) or not _content_type(response).startswith(b"text/html"):
        return response
    encoding = getattr(response, "encoding", None)
    return HtmlResponse(
        response.url, response.status, response.headers, response.body, encoding=encoding, request=response.request
    )


def is_unread(source: Source, state: ResponseState) -> TypeGuard[Response]:
    """Whether a page is that of a response which can be judged, and was not read yet."""
    return not isinstance(source, CarriedPage) and state.subject is None and not _refusal(source)


def is_skipped(response: Response) -> bool:
    """Whether the request is excluded from deduplication by its meta key ``dedup_skip``."""
    return bool(response.request is not None and response.request.meta.get(SKIP))


def _refusal(response: Response) -> str:
    if is_skipped(response):
        return SKIPPED
    if response.status != 200:
        return "status"
    if not isinstance(response, TextResponse) or isinstance(response, JsonResponse | XmlResponse):
        return "not-html"
    return "" if response.body.strip() else "empty"


def _is_plain(response: TextResponse) -> bool:
    return not isinstance(response, HtmlResponse) and _content_type(response).startswith(b"text/plain")


def _content_type(response: Response) -> bytes:
    return response.headers.get("Content-Type") or b""
