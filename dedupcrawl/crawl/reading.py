"""From a response or an item to what is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse

from dedupcrawl.page import Page, PageError, read_tree
from dedupcrawl.policy import unchecked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from dedupcrawl.page import ReadOptions
    from dedupcrawl.verdict import Verdict

SKIP = "dedup_skip"  #: key of ``Request.meta``
SKIPPED = "skip"


def read_response(response: Response, options: ReadOptions) -> Page | Verdict:
    """Read a page from the tree that the spider has parsed anyway, or say why it is not judged."""
    refusal = _refusal(response, options)
    if refusal is not None:
        return unchecked(response.url, refusal)
    assert isinstance(response, TextResponse)
    if not isinstance(response, HtmlResponse) and _is_plain(response):
        return Page.from_text(response.text, response.url)
    try:
        return read_tree(response.selector.root, response.url, options)
    except PageError as error:
        return unchecked(response.url, error.reason)


def read_item(item: Any, names: Sequence[str], url: str) -> Page:
    """Make a page of an item's own text; fields that it does not have are passed over."""
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    texts = (_text(adapter.get(name)) for name in names)
    return Page.from_text("\n".join(text for text in texts if text), url)


def own_url(item: Any) -> str:
    """Return what an item names as its URL, "" if it names none."""
    if not ItemAdapter.is_item(item):
        return ""
    url = ItemAdapter(item).get("url")
    return url if isinstance(url, str) else ""


def is_skipped(response: Response) -> bool:
    """Whether the request asked to be left alone."""
    return bool(response.request is not None and response.request.meta.get(SKIP))


def _refusal(response: Response, options: ReadOptions) -> str | None:
    if is_skipped(response):
        return SKIPPED
    if response.status != 200:
        return "status"
    if not isinstance(response, TextResponse) or isinstance(response, JsonResponse | XmlResponse):
        return "not-html"
    if not response.body.strip():
        return "empty"
    return "too-large" if len(response.body) > options.max_bytes else None


def _is_plain(response: TextResponse) -> bool:
    kind = response.headers.get("Content-Type") or b""
    return kind.startswith(b"text/plain")


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(_text, value)))
    return "" if value is None else str(value)
