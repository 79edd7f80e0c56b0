"""Which page an item is about: mostly the page of its response, but an item may be assembled over several pages.

A spider parses an article, requests the page of its author, and yields the item from there. The item is about the
article, which this crawl has received before. Its response may be gone by then. So the article is read when its
callback yields a request that carries the unfinished item.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from scrapy.http import Response

from dedupcrawl.crawl.item_hash import ItemHasher, shape_of
from dedupcrawl.crawl.item_text import read_whole_item
from dedupcrawl.crawl.page_urls import as_url, is_canonical_url, is_url_of, page_key, url_key_at, url_keys
from dedupcrawl.crawl.recent_table import RecentTable
from dedupcrawl.detectors.base import Relation
from dedupcrawl.page import Page
from dedupcrawl.sites.registrable_domain import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from dedupcrawl.crawl.items import ItemClaim, ResponseState, ResponseTracker
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.decision import Verdict

DEDUP_PAGE = "dedup_page"  #: key of ``Request.meta``: the page that the items of the response are about
#: Key of ``Request.meta`` that the middleware writes: URL of the page whose callback has passed on an item without one.
PASSED_BY = "dedup_passed_by"

OTHER_ITEM = "other-item"  #: reason: its page was seen before, with other items
OTHER_PAGE = "other-page"  #: reason: the page that it is about cannot be judged

#: URLs and items of the crawl that are remembered: at least so many, and at most twice as many.
MAX_REMEMBERED = 50_000
MAX_CARRIED = 10_000  #: pages that wait for an item which a request carries
MAX_CARRIED_CHARS = 1 << 24  #: characters of the texts of these pages

NOTICE_ITEMS = 5  #: items of a kind that are logged as a warning, once
_BY_OTHER_PAGE = (
    "%(items)d items were judged by the page that they are about (such as %(url)s), not by the response that they came "
    "from (%(response)s); %(dropped)d of them were dropped. DEDUP_URL_FIELDS names the fields with the URL of that "
    "page, and dedup_page in the meta of a request names another page"
)
_KEPT_UNCHECKED = {
    OTHER_ITEM: "%(items)d items were kept unchecked: their page (such as %(response)s) was seen before in this crawl, "
    "with other items. DEDUP_ITEM_FIELDS judges items by their texts, and dedup_page in the meta of a request names "
    "the page by which they are judged",
    OTHER_PAGE: "%(items)d items were kept unchecked: the page that they are about (such as %(url)s) cannot be judged "
    "any more, or was read by another process. DEDUP_URL_FIELDS names the fields with the URL of that page",
}

# What is known of a URL of this crawl.
_RECEIVED = 1  #: a response came from it
_AGAIN = 2  #: a second response came from it
_OWN_ITEM = 4  #: an item that is about it came from it
_LISTS = 8  #: several items came from it that are not about it
_KEPT = 16  #: its page was kept
_DROPPED = 32  #: its page was dropped
_NAMED_AGAIN = 64  #: several items have named it
_FILED_NOW = 128  #: its page is in the store since this crawl runs, maybe by another worker

_SCALARS = (str, bytes, int, float, bool, type(None))  #: values that hold no item


class PageReader(Protocol):
    """The part of :class:`~dedupcrawl.crawl.responses.ResponseReader` that is needed here."""

    responses: ResponseTracker

    async def read_apart(self, response: Response) -> Page | Verdict:
        """Return the page of a response, or why it cannot be judged."""


@dataclass(eq=False, slots=True)
class CarriedPage:
    """The page of a response whose unfinished item a request has carried on."""

    url: str
    size: int  #: of the response's body, in bytes
    state: ResponseState  #: of the response
    subject: Page | Verdict  #: the page, or why it cannot be judged
    others: set[int]  #: keys of its other URLs: before redirects, canonical; see :func:`page_key`
    requests: int = 1  #: that carry an item of it
    passes: bool = False  #: whether one request, and no other, carries an item of it that has no URL

    @property
    def chars(self) -> int:
        """Characters of its texts."""
        page = self.subject
        return sum(map(len, (page.text, page.rest, page.beside, page.visible))) if isinstance(page, Page) else 0


Source: TypeAlias = Response | CarriedPage  #: a page that can be judged


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Where an item is from, and which pages decide about it."""

    item: int  #: hash of its fields
    response: int  #: number of the response that it came from
    #: The item is kept if one of these pages is kept. (): the page that the item is about is not known.
    pages: tuple[Source, ...]
    url: str = ""  #: of the page that it names, if that is not the page of its response
    key: int = 0  #: of this URL
    is_first: bool = False  #: whether no other item named this URL before
    is_chosen: bool = False  #: whether ``dedup_page`` or a setting of the project names the page
    is_passed: bool = False  #: whether the item has no URL, and is about the page that has passed it on


class ItemPages:
    """Finds the pages that items are about, and remembers the URLs and items of a crawl in bounded memory.

    Args:
        options: the settings in force.
        reader: reads pages.
    """

    def __init__(self, options: Options, reader: PageReader) -> None:
        self._names = options.url_fields
        self._is_chosen = options.url_fields_given
        self._reader = reader
        self._responses = reader.responses
        self._began = time.time()
        self._written = (options.text_field, "" if options.drops else options.tag_field)
        self._hash = ItemHasher(self._written, self._began, self._names)
        self._urls = RecentTable[int, int](MAX_REMEMBERED)  # flags by key
        self._first = RecentTable[int, int](MAX_REMEMBERED)  # the first item that named a URL, by its key
        self._items = RecentTable[int, int](MAX_REMEMBERED)  # number of the response that an item came from first
        self._carried = CarriedPages()

    # -- responses and requests -----------------------------------------------------------------

    def response_received(self, response: Response) -> None:
        """Remember the URL of a response that the spider receives."""
        self._mark(page_key(response.url), _RECEIVED)

    def carries_item(self, request: Request, response: Response) -> bool:
        """Whether a request that a callback has yielded carries an item of the page of this callback's response."""
        if self._is_plain(request):
            return False
        named, target = request.meta.get(DEDUP_PAGE), page_key(request.url)
        for url in filter(None, [named] if isinstance(named, str) else self._carried_urls(request)):
            key = url_key_at(url, response)
            if is_url_of(key, response):
                return True
            if key != target and self._carried.get(key) is None and is_canonical_url(key, response):
                return True
        return False

    def passes_item(self, request: Request, response: Response) -> bool:
        """Whether a request that a callback has yielded carries an item without a URL; the request is marked then."""
        if self._is_plain(request) or request.meta.get(DEDUP_PAGE) or "" not in self._carried_urls(request):
            return False
        request.meta[PASSED_BY] = response.url
        return True

    async def carry(self, response: Response, *, passes: bool = False) -> None:
        """Read the page of a response, and keep it until the item comes.

        Args:
            response: whose callback has yielded a request that carries the item.
            passes: whether that is the only item without a URL which its requests carry.
        """
        known = self._carried.get(page_key(response.url))
        state = self._responses.of(response)
        if known is not None and known.state is state:
            known.requests += not passes
            known.passes |= passes
            return
        subject = await self._reader.read_apart(response)
        others = set(url_keys(response))
        if isinstance(subject, Page) and subject.canonical:
            others.add(page_key(subject.canonical))
        self._carried.add(CarriedPage(response.url, len(response.body), state, subject, others, passes=passes))

    def is_needed(self, request: Request, response: Response) -> bool:
        """Whether items of this response may be about another page, so that it must not be withheld from the spider."""
        if request.body or request.meta.get(DEDUP_PAGE) or self._urls.get(page_key(response.url), 0) & _RECEIVED:
            return True
        target = page_key(request.url)
        return any(not url or url_key_at(url, response) != target for url in self._carried_urls(request))

    @staticmethod
    def _is_plain(request: Request) -> bool:
        """Whether a request certainly carries nothing, as most do."""
        meta = request.meta
        is_bare = not request.cb_kwargs and len(meta) < 2 and (not meta or "depth" in meta)
        return is_bare and not isinstance(request.callback, partial)

    def _carried_urls(self, request: Request) -> Iterator[str]:
        """Yield the URLs of the items that a request carries, "" for an item without a URL."""
        passed = request.callback if isinstance(request.callback, partial) else partial(str)
        named = [request.cb_kwargs, passed.keywords]
        values = [value for arguments in (*named, request.meta) for value in arguments.values()]
        for value in (*values, *passed.args):
            if not isinstance(value, _SCALARS):
                yield from self._item_urls(value)
        for arguments in filter(None, named):  # the fields of an item, one by one
            yield from filter(None, self._item_urls(arguments))

    def _item_urls(self, value: Any) -> Iterator[str]:
        """Yield the URL of an item, or of the item of a loader."""
        if isinstance(value, ItemLoader):
            yield next((url for name in self._names if (url := as_url(value.get_collected_values(name)))), "")
        elif ItemAdapter.is_item(value):
            yield self.url_of(value)

    # -- items --------------------------------------------------------------------------------

    def url_of(self, item: Any) -> str:
        """Return the first URL in the fields of ``DEDUP_URL_FIELDS`` of an item, "" if it has none."""
        fields = item if type(item) is dict else ItemAdapter(item) if ItemAdapter.is_item(item) else {}
        return next((url for name in self._names if (url := as_url(fields.get(name)))), "")

    def read_whole(self, item: Any, url: str) -> Page:
        """Make a page of all fields of an item, without its URL and the time of scraping."""
        return read_whole_item(item, url, {*self._names, *self._written}, self._hash.is_now)

    def origin(self, item: Any, response: Response) -> ItemSource:
        """Return which pages decide about an item of a response, and remember the item."""
        hashed, number = self._hash(item), self._responses.of(response).number
        named = response.request.meta.get(DEDUP_PAGE) if response.request is not None else None
        if named:
            return self._named_origin(named, hashed, response)
        named_url = self.url_of(item)
        url = named_url or self._passed_by(response)
        key = url_key_at(url, response) if url else 0
        if url and is_url_of(key, response):
            self._mark(page_key(response.url), _OWN_ITEM)
            return ItemSource(hashed, number, (response,))
        self._note_list(item, hashed, response)
        if not url:
            self._mark(page_key(response.url), _OWN_ITEM)
            return ItemSource(hashed, number, (response,))
        first = self._first.get(key)
        if first is None:
            self._first[key] = first = hashed
        elif first != hashed:
            self._mark(key, _NAMED_AGAIN)
        carried = self._carried.get(key)
        pages: tuple[Source, ...] = (response,)
        if carried is not None:
            is_only = first == hashed and carried.requests == 1 and self.is_only_item(key)
            pages = (carried,) if is_only else (response, carried)
        is_passed = not named_url
        return ItemSource(
            hashed, number, pages, url, key, first == hashed, self._is_chosen and not is_passed, is_passed
        )

    def _passed_by(self, response: Response) -> str:
        """Return the URL of the page that has passed on the item of a request, and no other; "" if there is none.

        A page that passes on several is a list. The items are about the pages to which it leads.
        """
        url = response.request.meta.get(PASSED_BY, "") if response.request is not None else ""
        carried = self._carried.get(page_key(url)) if url else None
        is_article = carried is not None and carried.passes and isinstance(carried.subject, Page)
        return url if is_article else ""

    def is_only_item(self, key: int) -> bool:
        """Whether at most one item is about the page with this key, so that the page alone decides about it.

        If several items are about it, a later page may have added new data to one of them. Then the later page
        decides too.
        """
        return not self._urls.get(key, 0) & (_OWN_ITEM | _NAMED_AGAIN)

    def _named_origin(self, named: object, hashed: int, response: Response) -> ItemSource:
        """Return the page that ``dedup_page`` names, a response or a URL."""
        number = self._responses.of(response).number
        url = named.url if isinstance(named, Response) else str(named)
        key = url_key_at(url, response)
        source: Source | None = named if isinstance(named, Response) else self._carried.get(key)
        if source is None and is_url_of(key, response):
            source = response
        pages = () if source is None else (source,)
        return ItemSource(hashed, number, pages, "" if source is response else url, key, is_chosen=True)

    def _note_list(self, item: Any, hashed: int, response: Response) -> None:
        """Remember whether several items of a kind that are not about the page have come from a response."""
        shapes = self._responses.of(response).shapes
        if shapes.setdefault(shape_of(item), hashed) != hashed:
            self._mark(page_key(response.url), _LISTS)

    # -- verdicts -----------------------------------------------------------------------------

    def page_judged(self, source: Source, claim: ItemClaim) -> None:
        """Remember the verdict on a page."""
        key, verdict = page_key(source.url), claim.verdict
        self._mark(key, _KEPT if verdict.keep else _DROPPED)
        candidates = claim.comparison.candidates if claim.comparison and not verdict.keep else ()
        ours = (each.record for each in candidates if each.record.url == verdict.of)
        if any(each.seen >= self._began for each in ours) and page_key(verdict.of or "") == key:
            self._mark(key, _FILED_NOW)

    def is_copy(self, origin: ItemSource, source: Source, claim: ItemClaim) -> bool:
        """Whether another response has given an equal item about a page; remember the item if not."""
        verdict = claim.verdict
        url = source.url if verdict.keep or not verdict.of else verdict.of
        return self._is_known(hash((page_key(url), origin.item)), origin.response)

    def is_other_text(self, page: Page, verdict: Verdict, response: Response) -> bool:
        """Whether the text of an item is similar, but not equal, to that of another item of its URL.

        It is kept if another response of this URL came before in this crawl: it may have had other items.
        """
        item = hash((page_key(page.url), page.text))
        is_known = self._is_known(item, self._responses.of(response).number)
        is_similar = not verdict.keep and verdict.relation is not Relation.UNCHANGED and verdict.of == response.url
        return is_similar and not is_known and bool(self._urls.get(page_key(response.url), 0) & _AGAIN)

    def _is_known(self, item: int, response: int) -> bool:
        """Whether another response had an item; remember this response for it if none had."""
        known = self._items.get(item)
        if known is None:
            self._items[item] = response
        return known is not None and known != response

    def completes(self, source: Source, claim: ItemClaim) -> bool:
        """Whether the page of the response decides too, because the page that the item is about is dropped.

        An article that was stored by an earlier crawl, or stands on another page of the site, may have new comments. A
        reprint of another site's article is a copy, whatever was added to its item.
        """
        of = claim.verdict.of
        return of is not None and isinstance(source, CarriedPage) and site_of(of) == site_of(source.url)

    def is_known(self, response: Response) -> bool:
        """Whether the page of the URL of a response was judged in this crawl."""
        return bool(self._urls.get(page_key(response.url), 0) & (_KEPT | _DROPPED))

    def why_kept(self, origin: ItemSource, source: Source, claim: ItemClaim) -> str:
        """Return why an item is kept that equals no other one, although its page is dropped; "" if it is not.

        Args:
            origin: of the item.
            source: the last of the pages that decide about it.
            claim: of this page.

        Returns:
            The reason of the verdict ``unchecked`` on the item.
        """
        of_url = claim.verdict.of or ""
        of, own = page_key(of_url), page_key(source.url)
        if origin.key and isinstance(source, Response) and not is_url_of(origin.key, source):
            why = self._why_other_page(origin, source, of)
            if why is not None:
                return why
        if of == own:
            return OTHER_ITEM if self._is_again(source) else ""
        is_list = (self._urls.get(own, 0) | self._urls.get(of, 0)) & _LISTS
        is_here = self._urls.get(of, 0) & _KEPT and site_of(of_url) == site_of(source.url)
        return OTHER_ITEM if is_list and is_here else ""

    def _why_other_page(self, origin: ItemSource, response: Response, of: int) -> str | None:
        """Return why an item is kept if its URL is that of a page that cannot be judged.

        "" if it is dropped; None if that page does not matter.
        """
        if origin.key == of or is_canonical_url(origin.key, response):
            return None
        known = self._urls.get(origin.key, 0)
        if known & (_KEPT | _DROPPED):
            return OTHER_ITEM if known & _KEPT else ""
        if origin.is_first and (known & _RECEIVED or self._is_carried(origin.key, response)):
            return OTHER_PAGE
        return None

    def _is_carried(self, key: int, response: Response) -> bool:
        """Whether the request of a response carries an item with this URL; another process may have yielded it."""
        request = response.request
        urls = self._carried_urls(request) if request is not None else ()
        return any(url_key_at(url, response) == key for url in urls if url)

    def _is_again(self, source: Source) -> bool:
        """Whether a page is filed by this crawl, and another response of its URL may give other items."""
        known = self._urls.get(page_key(source.url), 0)
        if isinstance(source, CarriedPage):
            return bool(known & _KEPT)
        request = source.request
        if known & _AGAIN or request is None:
            return bool(known & _AGAIN)
        if self._urls.has_forgotten and request.dont_filter:
            return True
        # Another worker has filed it: two workers may crawl the same pages, but not with the same data.
        return bool(known & _FILED_NOW and (request.body or "" in self._carried_urls(request)))

    def _mark(self, key: int, flag: int) -> None:
        known = self._urls.get(key, 0)
        if flag == _RECEIVED and known & _RECEIVED:
            flag = _AGAIN
        if not known & flag:
            self._urls[key] = known | flag


class ItemNotice:
    """Counts the items that are not judged by their response, and logs each kind once."""

    def __init__(self, stats: CrawlStats) -> None:
        self._stats = stats
        self._counts: Counter[str] = Counter()
        self._dropped = 0

    def judged_by_other_page(self, origin: ItemSource, response: Response, *, is_dropped: bool) -> None:
        """Count an item that was judged by another page than that of its response; log it unless that was chosen.

        Args:
            origin: of the item.
            response: that it came from.
            is_dropped: whether that page is a copy.
        """
        self._stats.count("items_of_other_pages")
        if not origin.is_chosen:
            self._dropped += is_dropped
            self._count(_BY_OTHER_PAGE, origin.url, response)

    def kept_unchecked(self, reason: str, url: str, response: Response) -> None:
        """Count an item that is kept unchecked for this reason."""
        self._count(_KEPT_UNCHECKED[reason], url, response)

    def _count(self, message: str, url: str, response: Response) -> None:
        self._counts[message] += 1
        if self._counts[message] == NOTICE_ITEMS:
            given = {"items": NOTICE_ITEMS, "dropped": self._dropped, "url": url, "response": response.url}
            self._stats.warn(message, given)


class CarriedPages:
    """The pages that wait for their items, by the keys of their URLs. The oldest are forgotten."""

    def __init__(self) -> None:
        self._pages: OrderedDict[CarriedPage, None] = OrderedDict()
        self._by_url: dict[int, CarriedPage] = {}
        self._by_other_url: dict[int, CarriedPage] = {}  # of two views of a page, one may name the other as canonical
        self._chars = 0

    def get(self, key: int) -> CarriedPage | None:
        """Return the page of a URL, None if it is not there."""
        return self._by_url.get(key) or self._by_other_url.get(key)

    def add(self, page: CarriedPage) -> None:
        """Add a page; it replaces an earlier one of the same URL."""
        self._pages[page] = None
        self._chars += page.chars
        self._by_url[page_key(page.url)] = page
        self._by_other_url.update(dict.fromkeys(page.others, page))
        while len(self._pages) > MAX_CARRIED or (self._chars > MAX_CARRIED_CHARS and len(self._pages) > 1):
            self._remove(next(iter(self._pages)))

    def _remove(self, page: CarriedPage) -> None:
        del self._pages[page]
        self._chars -= page.chars
        for pages, keys in ((self._by_url, {page_key(page.url)}), (self._by_other_url, page.others)):
            for key in keys:
                if pages.get(key) is page:
                    del pages[key]
