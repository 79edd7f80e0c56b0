"""The item pipeline, and the middlewares that responses and items pass before it.

The middlewares correct encodings, link items to their responses, and keep duplicates from the spider. The pipeline
drops the items of duplicate pages, and settles the claims of the others: an item passes
:meth:`~DedupPipeline.process_item` first. When the later pipelines have stored or refused it, Scrapy sends a signal,
and the claim of its page is committed or released.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, DropItem, IgnoreRequest, NotConfigured
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import load_object

from dedupcrawl.crawl.concurrency import when_awaited
from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.feed_files import OverwrittenFeedTracker
from dedupcrawl.crawl.item_pages import PASSED_BY
from dedupcrawl.crawl.items import PageState
from dedupcrawl.crawl.page_view import META_KEY, TextFieldWriter, VerdictFieldWriter, drop_view, set_current_page
from dedupcrawl.crawl.progress import ProgressMonitor
from dedupcrawl.crawl.responses import SKIP, SKIPPED, is_unread
from dedupcrawl.crawl.revalidating import is_followed
from dedupcrawl.crawl.stats import describe
from dedupcrawl.page import Page
from dedupcrawl.page.document import replacement_encoding
from dedupcrawl.utils.resources import FrozenHeap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

    from dedupcrawl.crawl.context import CrawlContext
    from dedupcrawl.crawl.items import ItemClaim
    from dedupcrawl.decision import Verdict


ORDER = 50  #: number of the pipeline in ``ITEM_PIPELINES``: before the pipelines that store items
OVERWRITE_REASON = "dedup_overwrite"  #: reason of a crawl that ``DEDUP_ON_OVERWRITE`` closes
MAX_MEDIA_URLS = 100_000  #: URLs of files and images in memory; further ones may be counted twice


class DuplicatePage(DropItem):
    """The item's page is a duplicate; the message names the page that it repeats."""

    def __init__(self, verdict: Verdict) -> None:
        # Scrapy logs a dropped item in full; a line of ours is in the log already.
        super().__init__(describe(verdict), log_level="DEBUG")
        self.verdict = verdict


class DedupPipeline:
    """Drops or tags the items of duplicates; commits or releases the claims of the others."""

    def __init__(self, crawler: Crawler, context: CrawlContext) -> None:
        self._crawler = crawler
        self._context = context
        self._options, self._shows_pages = context.options, context.options.shows_pages
        self._claims, self._feeds = context.claims, context.feeds
        self._stats, self._recorder = context.stats, context.recorder
        self._verdicts = None if self._options.drops else VerdictFieldWriter(self._options.tag_field)
        self._texts = TextFieldWriter(self._options.text_field) if self._options.text_field else None
        self._media = MediaRequestCounts()
        self._progress = ProgressMonitor(crawler, context.options, context.stats, context.client)
        self._heap = FrozenHeap()
        self._overwritten: OverwrittenFeedTracker | None = None
        self._has_begun = self._is_finished = False
        connect = crawler.signals.connect
        connect(self.begin, signals.engine_started)
        connect(self.item_scraped, signals.item_scraped)
        connect(self.item_refused, signals.item_dropped)
        connect(self.item_refused, signals.item_error)
        connect(self.find_overwritten, signals.spider_opened)
        if self._feeds is not None:
            connect(self._feeds.find_grown, signals.spider_opened)
            connect(self.feed_slot_closed, signals.feed_slot_closed)
            connect(self.finish, signals.feed_exporter_closed)
        connect(self.end, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl."""
        return cls(crawler, context_of(crawler))

    # -- items --------------------------------------------------------------------------------

    async def process_item(self, item: Any) -> Any:
        """Return the item, with its verdict if ``DEDUP_ACTION`` is "tag"; raises :class:`DuplicatePage`."""
        response = self._context.responses.pop_item(item)
        claim, completing = await self._context.judge.claim(item, response)
        processed = _ProcessedClaim(claim, None if response is None else ref(response), completing)
        _PROCESSED_ITEM.set(processed)
        self._note_revisit(response, processed)
        admitted = self._admitted(item, claim, response)
        return admitted if self._claims.is_sure(claim) else await self._confirmed(item, processed)

    def _admitted(self, item: Any, claim: ItemClaim, response: Response | None) -> Any:
        if claim.state is PageState.DROPPED:
            self._count_saved_requests(item, claim)
            raise DuplicatePage(claim.verdict)
        self._media.count_new(item)
        if self._verdicts is not None and claim.verdict.reason != SKIPPED:
            self._verdicts.write(item, claim.verdict)
        if self._shows_pages:
            self._show_page(item, claim, response)
        return item

    def confirm_item(self, item: Any) -> Any:
        """Return the item, or judge it again if others may have claimed its page; called after each later pipeline."""
        processed = _PROCESSED_ITEM.get()
        if processed is None or self._claims.is_sure(processed.claim):
            return item
        return self._confirmed(item, processed)

    async def _confirmed(self, item: Any, processed: _ProcessedClaim) -> Any:
        if await self._claims.confirm(processed.claim):
            return item
        response = None if processed.source is None else processed.source()
        for each in processed.claims:
            each.in_flight -= 1
        processed.claim, processed.completing = await self._context.judge.claim(item, response, again=True)
        self._note_revisit(response, processed)
        return self._admitted(item, processed.claim, response)

    def _note_revisit(self, response: Response | None, processed: _ProcessedClaim) -> None:
        revisit = None if response is None else self._context.responses.of(response).revisit
        if revisit is None:
            return
        for each in processed.claims:
            filed = each.claim.id if each.claim is not None else None
            revisit.note_claim(each.verdict, filed, is_deferred=each.record is not None)

    def _item_ended(self, response: object, *, is_lost: bool) -> None:
        """Tell the state of the page of an item how the item ended; the signals have the response of the item."""
        state = self._context.responses.find(response) if isinstance(response, Response) else None
        if state is not None and state.revisit is not None and self._context.revalidation is not None:
            self._context.revalidation.item_ended(state.revisit, is_lost=is_lost)

    def _show_page(self, item: Any, claim: ItemClaim, response: Response | None) -> None:
        """Write the main text into the item, and let the later pipelines see the page that it is about."""
        view = None if claim.response is None else claim.response.view
        if view is None and response is not None:
            view = self._context.reader.view(response)
        set_current_page(view)
        if view is not None and self._texts is not None:
            self._texts.write(item, view)

    async def item_scraped(self, item: Any, response: object) -> None:
        """Handle Scrapy's signal: all pipelines passed the item."""
        claims = _pop_claims(response)
        first = [claim for claim in claims if claim.state.allows(PageState.SCRAPED)]
        for claim in first:
            claim.advance(PageState.SCRAPED)
        if self._feeds is not None:
            self._feeds.item_exported(item, claims)
        for claim in claims:
            if claim in first and claim.outcomes is not None:
                self._stats.count("kept")
                self._recorder.record_state(claim)
            await self._claims.item_scraped(claim, is_first=claim in first)
        self._item_ended(response, is_lost=not claims)

    async def item_refused(self, item: Any, response: object) -> None:
        """Handle Scrapy's signals: a pipeline dropped the item, or raised an exception."""
        claims = _pop_claims(response)
        for claim in claims:
            await self._claims.item_refused(claim)
        self._item_ended(response, is_lost=not claims or claims[0].state is not PageState.DROPPED)
        if claims:
            return
        source = self._context.responses.discard_item(item)
        waiting = None if source is None else self._context.responses.of(source).valid_claim
        if waiting is not None:
            await self._claims.settle([waiting])

    async def feed_slot_closed(self, slot: FeedSlot) -> None:
        """Handle Scrapy's signal: a feed was stored, or could not be stored."""
        if self._feeds is not None:
            await self._claims.settle_in_chunks(self._feeds.slot_closed(slot))

    def _count_saved_requests(self, item: Any, claim: ItemClaim) -> None:
        requests = self._media.count_new(item)
        if requests:
            self._stats.count("requests_saved", requests)
            self._recorder.record_saved_requests(claim, requests)

    # -- start and end of the crawl -----------------------------------------------------------

    def open_spider(self) -> Awaitable[None]:
        """Open the store and the ledger.

        Scrapy calls this method of all pipelines before it awaits the results. If that of another pipeline raises,
        this result is never awaited.
        """
        return when_awaited(self._open)

    async def _open(self) -> None:
        """Open the store, whose leases are renewed from now on, and the ledger."""
        await self._context.open(self._crawler)
        self._media.find_pipelines(self._crawler, self)
        self._confirm_between_pipelines()
        if self._options.drops:
            for earlier in pipelines_before(self._crawler, self):
                self._stats.pipeline_before(earlier)
        if self._media.is_active:
            self._recorder.count("requests_saved", 0)  # the report shows 0 instead of "unknown"
        self._progress.start()
        if self._options.gc_freeze:
            self._heap.freeze()

    async def find_overwritten(self) -> None:
        """Handle Scrapy's signal: feeds are open, and not written. Log those that will lack what the store knows.

        Raises ``CloseSpider`` if ``DEDUP_ON_OVERWRITE`` is "close" and there are any.
        """
        exporter = self._crawler.get_extension(FeedExporter)
        if exporter is None or not self._options.drops:
            return
        self._overwritten = OverwrittenFeedTracker(exporter, self._context.client)
        closes = self._options.on_overwrite == "close"
        if not await self._overwritten.find(if_unknown=closes):
            return
        if closes:
            self._overwritten.spare()
            raise CloseSpider(OVERWRITE_REASON)
        self._overwritten.warn()

    def _confirm_between_pipelines(self) -> None:
        """Check the claim of an item after each later pipeline, as :meth:`process_item` does before the first.

        So it is checked before each of them, and before the feeds: any of them may store the item.
        """
        processor = self._crawler.engine.scraper.itemproc if self._crawler.engine else None
        methods = getattr(processor, "methods", {}).get("process_item", ())
        if self.process_item in methods:  # a project may have an ITEM_PROCESSOR of its own
            later = list(methods)[methods.index(self.process_item) + 1 :]
            for _ in later:
                methods.pop()
            methods.extend(each for method in later for each in (method, self.confirm_item))

    async def close_spider(self) -> None:
        """Settle the remaining claims; feeds come first, if items are stored in them."""
        if self._feeds is None:
            await self.finish()
        if not self._has_begun:  # another component failed to open: Scrapy will send no signal
            await self.end()

    def begin(self) -> None:
        """Handle Scrapy's signal: the engine has started, so it will also send ``engine_stopped``."""
        self._has_begun = True

    async def end(self) -> None:
        """Handle Scrapy's signal: the engine has stopped. Make the report.

        This takes long and may be interrupted. Feeds and the requests of ``JOBDIR`` are stored before.
        """
        self._heap.unfreeze()
        await self.finish()
        await self._recorder.close()

    async def finish(self) -> None:
        """Settle the remaining claims, close the store and log the summary, once."""
        if self._is_finished:
            return
        self._is_finished = True
        self._progress.stop()
        if self._context.client.is_open:
            if self._context.revalidation is not None:
                await self._context.revalidation.close()
            if self._context.bodies is not None:
                await self._context.bodies.close()
            await self._context.foresight.close()
            await self._claims.close()
            self._context.judge.fields.warn()
            self._stats.log_summary()
            self._context.foresight.sum_up()
            if self._overwritten is not None:
                counts = self._stats.counts
                self._overwritten.sum_up(counts["dropped"], counts["duplicate/unchanged"])


@dataclass(slots=True)
class _ProcessedClaim:
    """The claim of an item between ``process_item`` and the signal of its outcome."""

    claim: ItemClaim
    source: ref[Response] | None
    completing: ItemClaim | None = None  #: of the page of its response, if the item is about another page
    is_used: bool = False

    @property
    def claims(self) -> list[ItemClaim]:
        """All claims that are settled with the item."""
        return [self.claim] if self.completing is None else [self.claim, self.completing]


#: Scrapy processes an item and signals its outcome in one context.
_PROCESSED_ITEM: ContextVar[_ProcessedClaim | None] = ContextVar("dedupcrawl_processed_item", default=None)


def _pop_claims(response: object) -> list[ItemClaim]:
    """Return the claims of the item of this signal, none if it did not reach this pipeline.

    The context may be a copy of another item's, so the response is compared.
    """
    processed = _PROCESSED_ITEM.get()
    if processed is None or processed.is_used or (processed.source and processed.source() is not response):
        return []
    processed.is_used = True
    return processed.claims


def pipelines_before(crawler: Crawler, ours: object) -> Iterator[str]:
    """Describe the pipelines that process items of pages which ``ours`` drops afterwards.

    If the project has set the number of ours, only pipelines that download files are described: the order may be
    intended, for example for a pipeline that cleans the fields of ``DEDUP_ITEM_FIELDS``.
    """
    running = crawler.engine.scraper.itemproc.middlewares if crawler.engine else ()
    chosen = crawler.settings.get_component_priority_dict_with_base("ITEM_PIPELINES")
    numbers = {load_object(each): number for each, number in chosen.items() if number is not None}
    earlier = running[: running.index(ours)] if ours in running else ()
    number = numbers.get(type(ours), ORDER)
    for each in earlier:
        if number == ORDER or _downloads_files(each):
            yield f"{type(each).__name__} ({numbers.get(type(each))}) comes before {type(ours).__name__} ({number})"


def _downloads_files(pipeline: object) -> bool:
    from scrapy.pipelines.media import MediaPipeline  # noqa: PLC0415  # heavy, and rarely needed

    return isinstance(pipeline, MediaPipeline)


class MediaRequestCounts:
    """Counts the requests of Scrapy's files and images pipelines that a dropped item saves.

    Pipelines that run before deduplication have made their requests already. Pipelines that override
    ``get_media_requests`` are not counted: their requests are unknown.
    """

    def __init__(self) -> None:
        self._fields: tuple[str, ...] = ()
        self._seen: set[bytes] = set()

    @property
    def is_active(self) -> bool:
        """Whether such a pipeline exists."""
        return bool(self._fields)

    def find_pipelines(self, crawler: Crawler, ours: object) -> None:
        """Find the media pipelines after the pipeline ``ours``; the engine must exist."""
        pipelines = crawler.engine.scraper.itemproc.middlewares if crawler.engine else ()
        later = pipelines[pipelines.index(ours) + 1 :] if ours in pipelines else ()
        self._fields = tuple(dict.fromkeys(field for each in later if (field := _urls_field(each))))

    def count_new(self, item: Any) -> int:
        """Return how many of an item's URLs are new: each URL is requested once in a crawl.

        If the item is kept, these URLs are requested now; if it is dropped, their requests are saved.
        """
        return sum(map(self._is_new, _urls(item, self._fields))) if self._fields else 0

    def _is_new(self, url: str) -> bool:
        hashed = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        is_new = hashed not in self._seen
        if is_new and len(self._seen) < MAX_MEDIA_URLS:
            self._seen.add(hashed)
        return is_new


def _urls_field(pipeline: object) -> str:
    """Return the item field with the URLs that a pipeline requests, "" if they are unknown."""
    from scrapy.pipelines.files import FilesPipeline  # noqa: PLC0415  # heavy, and rarely needed
    from scrapy.pipelines.images import ImagesPipeline  # noqa: PLC0415

    for base, name in ((ImagesPipeline, "images_urls_field"), (FilesPipeline, "files_urls_field")):
        if isinstance(pipeline, base):
            is_standard = type(pipeline).get_media_requests is base.get_media_requests
            return str(getattr(pipeline, name)) if is_standard else ""
    return ""


def _urls(item: Any, fields: tuple[str, ...]) -> Iterator[str]:
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    for name in fields:
        urls = adapter.get(name)
        if isinstance(urls, list | tuple):
            yield from (url for url in urls if isinstance(url, str))


# -- middlewares ----------------------------------------------------------------------------------


class DedupDownloaderMiddleware:
    """Withholds known pages from the spider, if ``DEDUP_FOLLOW_DUPLICATES`` is False.

    By default a page is read when its first item arrives: most responses are lists of links without items,
    which need not be read.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._context = context

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` if duplicates are followed."""
        context = context_of(crawler)
        if context.options.follow_duplicates:
            raise NotConfigured
        return cls(context)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response; raises ``IgnoreRequest`` if the store knows its content."""
        # The request is checked here since ``response.request`` is not set yet.
        if request.callback is NO_CALLBACK or request.meta.get(SKIP):
            return response
        bodies, state = self._context.bodies, self._context.responses.of(response)
        page: Page | Verdict | None = None
        known = await bodies.unchanged([(response, state)]) if bodies and is_unread(response, state) else []
        claim = next(filter(None, known), None)
        if claim is None:
            page = self._context.reader.read(response)
            if not isinstance(page, Page):
                return response
            claim = await self._context.claims.check(page)
        verdict, size = claim.verdict, len(response.body)
        if bodies and page is not None:
            bodies.note(response, state, claim)
        if verdict.keep or self._context.judge.pages.is_needed(request, response):
            return response
        if bodies and page is None:
            bodies.used()
        self._context.stats.outcomes.add(claim)
        claim.advance(PageState.DROPPED)
        self._context.stats.judged(verdict)
        self._context.stats.count("withheld")
        self._context.stats.dropped(verdict, size)
        self._context.recorder.record_verdict(claim, page, size)
        raise IgnoreRequest(describe(verdict))


class DedupSpiderMiddleware:
    """Links items to their responses.

    It is next to the engine, and so receives each item as the pipelines will.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._responses = context.responses
        self._reader = context.reader if context.options.shows_pages else None
        self._claims, self._stats = context.claims, context.stats
        self._pages, self._revalidation = context.judge.pages, context.revalidation
        self._judges_pages = not context.options.item_fields

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl."""
        return cls(context_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Store the response in the current context, and the view of its page in its meta if a setting asks for it."""
        self._responses.enter(response)
        if self._revalidation is None or not is_followed(response):
            self._pages.response_received(response)
        if self._reader is not None:
            response.meta[META_KEY] = self._reader.view(response)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Register the response of each item, and mark the end of the output.

        If a request carries an unfinished item, the page of the response is kept.
        """
        add_item, passed = self._responses.add_item, 0
        revisit = None if self._revalidation is None else self._responses.of(response).revisit
        try:
            async for output in result:
                if revisit is not None:
                    revisit.output_passed(output)
                if isinstance(output, Request):
                    if self._reader is not None:
                        drop_view(output, response)
                    if self._judges_pages:
                        passed += await self._carry(output, response)
                elif output is not None:
                    add_item(output, response)
                yield output
            if passed == 1:
                await self._pages.carry(response, passes=True)
        except Exception:
            await self._end(response)
            raise
        await self._end(response)
        if revisit is not None and self._revalidation is not None:
            self._revalidation.output_ended(revisit)

    async def _carry(self, request: Request, response: Response) -> bool:
        """Keep the page of a response if a request carries its item; return whether an item has no URL."""
        request.meta.pop(PASSED_BY, None)  # copied with the meta of the response
        try:
            if self._pages.carries_item(request, response):
                await self._pages.carry(response)
                return False
            return self._pages.passes_item(request, response)
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose a request
            self._stats.crashed(response.url, error)
            return False

    async def _end(self, response: Response) -> None:
        state = self._responses.find(response)
        if state is None:
            return
        state.output_ended.set()
        if state.valid_claim is not None:
            await self._claims.settle([state.valid_claim])


class EncodingMiddleware:
    """Replaces labels such as ``charset=idna`` or ``charset=hex``: they name codecs of Python, not encodings of pages.

    ``response.text`` raises an exception for them. Scrapy's ``MetaRefreshMiddleware`` reads it, so the page would be
    lost before a spider sees it. This middleware runs just before that one, after decompression.
    """

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        """Return the response, with a usable encoding if its own one is not."""
        if not isinstance(response, TextResponse):
            return response
        header = (response.headers.get("Content-Type") or b"").decode("latin-1")
        encoding = replacement_encoding(response.body, header)
        return response.replace(encoding=encoding) if encoding else response
