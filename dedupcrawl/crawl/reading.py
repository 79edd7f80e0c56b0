"""From a response or an item to what is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse

from dedupcrawl.page import Page, PageError, read_response
from dedupcrawl.page.document import check_body
from dedupcrawl.policy import unchecked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from dedupcrawl.page import ReadOptions
    from dedupcrawl.verdict import Verdict

SKIP = "dedup_skip"  #: key of ``Request.meta``
SKIPPED = "skip"


def read_page_of(response: Response, options: ReadOptions) -> Page | Verdict:
    """Read a page from the tree that the spider has parsed anyway, or say why it is not judged."""
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
    """Whether the request asked to be left alone."""
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
    kind = response.headers.get("Content-Type") or b""
    return not isinstance(response, HtmlResponse) and kind.startswith(b"text/plain")


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(_text, value)))
    return "" if value is None else str(value)
