"""Reads the text of responses and items, and judges them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse
from scrapy.utils.asyncio import call_later

from dedupcrawl.crawl.concurrency import BackgroundTasks, OneShotEvent
from dedupcrawl.crawl.items import ItemClaim, PageState
from dedupcrawl.crawl.page_view import PageView
from dedupcrawl.crawl.settings import FIELD
from dedupcrawl.decision import unchecked
from dedupcrawl.page import Page, PageError, read_response
from dedupcrawl.page.document import check_body
from dedupcrawl.page.readers import response_text
from dedupcrawl.utils.time_limit import TOO_SLOW, TooSlowError, time_limit
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from dedupcrawl.crawl.claims import ClaimManager
    from dedupcrawl.crawl.items import ResponseState, ResponseTracker
    from dedupcrawl.crawl.recorder import PageRecorder
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.page import ReadOptions
    from dedupcrawl.page.model import Block
    from dedupcrawl.verdict import Verdict

SKIP = "dedup_skip"  #: key of ``Request.meta``
SKIPPED = "skip"  #: reason of the verdict on such a request

BATCH_SECONDS = 0.02  #: how long a page waits for others
BATCH_SIZE = 16  #: pages of a batch: it blocks the reactor for no more than about 20 ms


class ResponseReader:
    """Reads each response once; its state in ``responses`` stores the page.

    Args:
        options: how pages are read.
        responses: store the pages.
        stats: count errors.
        timeout: seconds of processor time for one page; None: no limit.
    """

    def __init__(
        self, options: ReadOptions, responses: ResponseTracker, stats: CrawlStats, timeout: float | None = None
    ) -> None:
        self._options = options
        self._timeout = timeout
        self._stats = stats
        self.responses = responses

    def read(self, response: Response) -> Page | Verdict:
        """Return the page of a response, or the verdict ``unchecked`` if it cannot be judged."""
        state = self.responses.of(response)
        if state.subject is None:
            began = thread_time()
            try:
                with time_limit(self._timeout):
                    state.subject = read_page_of(response, self._options)
            except TooSlowError:
                state.subject = unchecked(response.url, TOO_SLOW)
            except Exception as error:  # noqa: BLE001  # no page may end a crawl
                self._stats.crashed(response.url, error)
                state.subject = unchecked(response.url, "error")
            state.read_seconds = thread_time() - began
        return state.subject

    def read_blocks(self, response: Response) -> tuple[Block, ...]:
        """Return all blocks of the page of a response, () if it cannot be read."""
        try:
            subject = read_page_of(response, replace(self._options, blocks=True))
        except Exception as error:  # noqa: BLE001  # no page may end a crawl
            self._stats.crashed(response.url, error)
            return ()
        return subject.blocks if isinstance(subject, Page) else ()

    def view(self, response: Response) -> PageView:
        """Return what spiders and pipelines see of the page of a response."""
        state = self.responses.of(response)
        if state.view is None:
            state.view = PageView(self, response)
        return state.view


class PageJudge:
    """Returns the claim of an item: of its page, or its own with ``DEDUP_ITEM_FIELDS``."""

    def __init__(
        self, options: Options, reader: ResponseReader, claims: ClaimManager, stats: CrawlStats, recorder: PageRecorder
    ) -> None:
        self._options = options
        self._responses = reader.responses
        self._claims = claims
        self._stats = stats
        self._recorder = recorder
        self._batcher = MicroBatcher(reader, claims)

    async def claim(self, item: Any, response: Response | None, *, again: bool = False) -> ItemClaim:
        """Return the claim of an item.

        Args:
            item: in the pipelines.
            response: where it came from, if that is known.
            again: whether the item was judged before, and its claim was released.
        """
        if self._options.item_fields:
            claim = await self._claim_item(item, response, again=again)
        elif response is not None:
            claim = await self._claim_page(response)
        else:
            claim = self._judged(ItemClaim(unchecked(own_url(item), "no-response")), None)
        claim.in_flight += 1
        return claim

    async def _claim_page(self, response: Response) -> ItemClaim:
        """Return the claim that all items of a response share; the page is judged for the first item."""
        state = self._responses.of(response)
        while (claim := state.valid_claim) is None:
            if state.judging is not None:
                await state.judging.wait()
            else:
                await self._judge_page(state, response)
        return claim

    async def _judge_page(self, state: ResponseState, response: Response) -> None:
        state.judging = judging = OneShotEvent()
        try:
            claim = await self._batcher.judge(state, response)
            state.claim = self._judged(claim, state.subject, len(response.body), state)
            if state.view is not None:
                state.view.record(claim.verdict, state.subject)
            state.subject = None  # saves memory; if the claim is released, the page is read again
        finally:
            state.judging = None
            judging.set()

    async def _claim_item(self, item: Any, response: Response | None, *, again: bool) -> ItemClaim:
        """Judge an item by its own text.

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
        page = read_item(item, self._options.item_fields, url or base)
        claim = await self._claims.judge(page, None, track_url=is_own)
        return self._judged(claim, page, len(page.text.encode("utf-8", "replace")), again=again)

    def _judged(
        self,
        claim: ItemClaim,
        subject: Page | Verdict | None,
        size: int = 0,
        response: ResponseState | None = None,
        *,
        again: bool = False,
    ) -> ItemClaim:
        self._stats.judged(claim.verdict, again=again or (response is not None and response.claim is not None))
        if self._options.drops and not claim.verdict.keep:
            claim.advance(PageState.DROPPED)
            self._stats.dropped(claim.verdict, size)
        self._recorder.record_verdict(claim, subject, size, response)
        return claim


class MicroBatcher:
    """Collects the pages of ``BATCH_SECONDS`` and judges them in one go.

    Between two pages, Scrapy's own work evicts code and tables from the processor's caches. Loading them again is a
    large part of the cost of a page.
    """

    def __init__(self, reader: ResponseReader, claims: ClaimManager) -> None:
        self._reader = reader
        self._claims = claims
        self._entries: list[_QueuedPage] = []
        self._background = BackgroundTasks()

    async def judge(self, state: ResponseState, response: Response) -> ItemClaim:
        """Read a response and claim its content in the next batch."""
        entry = _QueuedPage(state, response, ItemClaim(unchecked(response.url, "error"), state))
        self._entries.append(entry)
        if len(self._entries) == BATCH_SIZE:
            self._start_batch()
        elif len(self._entries) == 1:
            call_later(BATCH_SECONDS, self._start_batch)
        await entry.judged.wait()
        return entry.claim

    def _start_batch(self) -> None:
        entries, self._entries = self._entries, []
        subjects = [self._reader.read(entry.response) for entry in entries]
        for entry, subject in zip(entries, subjects, strict=True):
            # Each in a task of its own: it may have to wait for an item of another one.
            self._background.start(self._judge(entry, subject))

    async def _judge(self, entry: _QueuedPage, subject: Page | Verdict) -> None:
        try:
            if isinstance(subject, Page):
                entry.claim = await self._claims.judge(subject, entry.state)
            else:
                entry.claim = ItemClaim(subject, entry.state)
        finally:
            entry.judged.set()


@dataclass(eq=False, slots=True)
class _QueuedPage:
    state: ResponseState
    response: Response
    claim: ItemClaim
    judged: OneShotEvent = field(default_factory=OneShotEvent)


def read_page_of(response: Response, options: ReadOptions) -> Page | Verdict:
    """Read a page from the parsed tree of its response; return why if it cannot be judged."""
    refusal = _refusal(response)
    if refusal:
        return unchecked(response.url, refusal)
    assert isinstance(response, TextResponse)
    try:
        if _is_plain(response):
            check_body(response.body, options.max_bytes)
            return Page.from_text(response_text(response), response.url)
        return read_response(response, options)
    except PageError as error:
        return unchecked(response.url, error.reason)


def read_item(item: Any, names: Sequence[str], url: str) -> Page:
    """Make a page of the text in the fields ``names`` of an item; missing fields are ignored."""
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    texts = (_text(adapter.get(name)) for name in names)
    return Page.from_text("\n".join(text for text in texts if text), url)


def own_url(item: Any) -> str:
    """Return the field ``url`` of an item, "" if it has none."""
    url = ItemAdapter(item).get("url") if ItemAdapter.is_item(item) else ""
    return url if isinstance(url, str) else ""


def is_skipped(response: Response) -> bool:
    """Whether the request is excluded from deduplication by its meta key ``dedup_skip``."""
    return bool(response.request is not None and response.request.meta.get(SKIP))


def tag(item: Any, verdict: Verdict) -> None:
    """Write the verdict into the field ``dedup`` of an item, if the item accepts that field."""
    # Each kind of item refuses a field in its own way: KeyError, AttributeError of a frozen class,
    # ValidationError of pydantic, TypeError of an object that is no item…
    with suppress(Exception):
        ItemAdapter(item)[FIELD] = verdict.to_dict()


def is_informative(verdict: Verdict) -> bool:
    """Whether a verdict contains more than that the page is new."""
    return verdict.status is not Status.UNIQUE or verdict.relation is not None


def _refusal(response: Response) -> str:
    if is_skipped(response):
        return SKIPPED
    if response.status != 200:
        return "status"
    if not isinstance(response, TextResponse) or isinstance(response, JsonResponse | XmlResponse):
        return "not-html"
    return "" if response.body.strip() else "empty"


def _is_plain(response: TextResponse) -> bool:
    kind = response.headers.get("Content-Type") or b""
    return not isinstance(response, HtmlResponse) and kind.startswith(b"text/plain")


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(_text, value)))
    return "" if value is None else str(value)
