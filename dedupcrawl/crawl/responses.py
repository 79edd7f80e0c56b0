"""What is read from responses and items, and what is written into items."""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse

from dedupcrawl.decision import unchecked
from dedupcrawl.page import Page, PageError, read_response
from dedupcrawl.page.document import check_body
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.page import ReadOptions
    from dedupcrawl.verdict import Verdict

SKIP = "dedup_skip"  #: key of ``Request.meta``
SKIPPED = "skip"
FIELD = "dedup"  #: of an item, for the verdict
MAX_REMEMBERED = 100_000  #: URLs of files and images; those beyond them may be counted twice


def read_page_of(response: Response, options: ReadOptions) -> Page | Verdict:
    """Read a page from the tree that the spider has parsed anyway, or return why it is not judged."""
    refusal = _refusal(response)
    if refusal:
        return unchecked(response.url, refusal)
    assert isinstance(response, TextResponse)
    try:
        if _is_plain(response):
            check_body(response.body, options.max_bytes)
            return Page.from_text(response.text, response.url)
        return read_response(response, options)
    except PageError as error:
        return unchecked(response.url, error.reason)


def read_item(item: Any, names: Sequence[str], url: str) -> Page:
    """Make a page of an item's own text; fields that it does not have are passed over."""
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    texts = (_text(adapter.get(name)) for name in names)
    return Page.from_text("\n".join(text for text in texts if text), url)


def own_url(item: Any) -> str:
    """Return what an item names as its URL, "" if it names none."""
    url = ItemAdapter(item).get("url") if ItemAdapter.is_item(item) else ""
    return url if isinstance(url, str) else ""


def is_skipped(response: Response) -> bool:
    """Whether the request is excluded from deduplication."""
    return bool(response.request is not None and response.request.meta.get(SKIP))


def tag(item: Any, verdict: Verdict) -> None:
    """Write the verdict into the field ``dedup`` of an item that takes one; leave others as they are."""
    # What an item class does with a foreign field is its own affair: KeyError, AttributeError of a
    # frozen class, ValidationError of pydantic, TypeError of what is no item at all…
    with suppress(Exception):
        ItemAdapter(item)[FIELD] = verdict.to_dict()


def is_informative(verdict: Verdict) -> bool:
    """Whether a verdict says more than that the page is new."""
    return verdict.status is not Status.UNIQUE or verdict.relation is not None


class MediaRequests:
    """Counts the requests of Scrapy's files and images pipelines that a dropped item saves.

    Only pipelines after ours count, for earlier ones have fetched already; and only those that make their
    requests as Scrapy does, for the requests of others cannot be foreseen.
    """

    def __init__(self) -> None:
        self._fields: tuple[str, ...] = ()
        self._seen: set[bytes] = set()

    @property
    def is_active(self) -> bool:
        """Whether there is anything to save."""
        return bool(self._fields)

    def find_pipelines(self, crawler: Crawler, ours: object) -> None:
        """Find such pipelines after ``ours``; the engine must exist."""
        pipelines = crawler.engine.scraper.itemproc.middlewares if crawler.engine else ()
        later = pipelines[pipelines.index(ours) + 1 :] if ours in pipelines else ()
        self._fields = tuple(dict.fromkeys(field for each in later if (field := _field_of(each))))

    def add_kept(self, item: Any) -> None:
        """Remember the URLs of an item that goes on: no copy of it saves their requests."""
        if self._fields:
            for url in _urls(item, self._fields):
                self._is_new(url)

    def count_saved(self, item: Any) -> int:
        """Count requests that would have been made for an item; each URL is asked for once in a crawl."""
        if not self._fields:
            return 0
        return sum(self._is_new(url) for url in _urls(item, self._fields))

    def _is_new(self, url: str) -> bool:
        hashed = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        is_new = hashed not in self._seen
        if is_new and len(self._seen) < MAX_REMEMBERED:
            self._seen.add(hashed)
        return is_new


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


def _field_of(pipeline: object) -> str:
    """Return the field with URLs that a pipeline fetches, "" if it is none of Scrapy's kind."""
    from scrapy.pipelines.files import FilesPipeline  # noqa: PLC0415  # heavy, and rarely needed
    from scrapy.pipelines.images import ImagesPipeline  # noqa: PLC0415

    if not isinstance(pipeline, FilesPipeline):
        return ""
    asks = type(pipeline).get_media_requests
    if isinstance(pipeline, ImagesPipeline):
        return pipeline.images_urls_field if asks is ImagesPipeline.get_media_requests else ""
    return pipeline.files_urls_field if asks is FilesPipeline.get_media_requests else ""


def _urls(item: Any, fields: tuple[str, ...]) -> Iterator[str]:
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    for field in fields:
        urls = adapter.get(field)
        if isinstance(urls, list | tuple):
            yield from (url for url in urls if isinstance(url, str))
