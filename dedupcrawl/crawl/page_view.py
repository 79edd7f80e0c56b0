"""The page and the verdict of a response, for spiders and pipelines: ``response.meta["dedup"]``.

Pipelines receive no response; :func:`current_page` returns the same object to them.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from itemadapter import ItemAdapter

from dedupcrawl.page import Page

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from dedupcrawl.decision import Verdict
    from dedupcrawl.page.model import Block

logger = logging.getLogger(__name__)

META_KEY = "dedup"  #: key of ``Response.meta``


class PageSource(Protocol):
    """The methods of :class:`~dedupcrawl.crawl.responses.ResponseReader` that a view needs."""

    def read(self, response: Response) -> Page | Verdict:
        """Return the page of a response, or why it cannot be judged."""

    def read_blocks(self, response: Response) -> tuple[Block, ...]:
        """Return all blocks of the page of a response."""


class PageView:
    """The page of a response and its verdict.

    It does not keep its response alive. A copy made by pickle, for example in a request that is stored in
    ``JOBDIR``, is empty.

    Args:
        source: reads the page; None for an empty view.
        response: the response.
    """

    __slots__ = ("_blocks", "_response", "_source", "_subject", "_verdict")

    def __init__(self, source: PageSource | None = None, response: Response | None = None) -> None:
        self._source = source
        self._response = None if response is None else ref(response)
        self._subject: Page | Verdict | None = None
        self._blocks: tuple[Block, ...] | None = None
        self._verdict: Verdict | None = None

    def __reduce__(self) -> tuple[type[PageView], tuple[()]]:
        return PageView, ()

    @property
    def page(self) -> Page | None:
        """The page, which is read on first use; None if it cannot be read: ``verdict`` has the reason."""
        subject = self._subject
        if subject is None:
            response = self._response() if self._response is not None else None
            if self._source is None or response is None:
                return None
            subject = self._subject = self._source.read(response)
        return subject if isinstance(subject, Page) else None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of the page with the reason why each was kept or removed.

        The page is read again for them on first use; () if it cannot be read.
        """
        if self._blocks is None:
            response = self._response() if self._response is not None else None
            if self._source is None or response is None:
                return ()
            self._blocks = self._source.read_blocks(response)
        return self._blocks

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the page; None until its first item has reached the pipeline of deduplication."""
        if self._verdict is None and not isinstance(self._subject, Page):
            return self._subject
        return self._verdict

    def record(self, verdict: Verdict, subject: Page | Verdict | None) -> None:
        """Record the verdict, and the page that was read for it, so that it is not read again."""
        self._verdict = verdict
        if subject is not None:
            self._subject = subject


#: The view of the page whose item passes the pipelines.
_CURRENT_VIEW: ContextVar[PageView | None] = ContextVar("dedupcrawl_page_view", default=None)


def current_page() -> PageView | None:
    """Return the page of the item that passes the pipelines, for a pipeline after that of deduplication.

    None: the item has no response, or neither ``DEDUP_TEXT_FIELD`` nor ``DEDUP_RESPONSE_META`` is set.
    """
    return _CURRENT_VIEW.get()


def set_current_page(view: PageView | None) -> None:
    """Set what :func:`current_page` returns to later pipelines."""
    _CURRENT_VIEW.set(view)


def drop_view(request: Request, response: Response) -> None:
    """Remove the view of a response from the meta of a request that the spider made with ``meta=response.meta``."""
    if request is not response.request and isinstance(request.meta.get(META_KEY), PageView):
        del request.meta[META_KEY]


class FieldWriter:
    """Writes a value into a field of items that have this field.

    A dict has every field, an item of another type only those that its class declares.

    Args:
        field: name of the field.
        what: the value, for the log.
    """

    def __init__(self, field: str, what: str) -> None:
        self._field = field
        self._what = what
        self._refused: set[type] = set()

    def is_declared(self, item: Any) -> bool:
        """Whether an item has the field, even if it has no value yet."""
        names = ItemAdapter.get_field_names_from_class(type(item))
        return names is None or self._field in names

    def set(self, item: Any, value: object) -> None:
        """Set the field; an item that refuses the value stays as it is."""
        try:
            ItemAdapter(item)[self._field] = value
        except Exception as error:  # noqa: BLE001  # each kind of item refuses in its own way
            self.warn(item, error)

    def warn(self, item: Any, reason: object) -> None:
        """Log once for each class of items that its field cannot be set."""
        if type(item) in self._refused:
            return
        self._refused.add(type(item))
        logger.warning(
            "The %(what)s cannot be written into the field %(field)s of %(kind)s: %(reason)s",
            {"what": self._what, "field": self._field, "kind": type(item).__name__, "reason": reason},
        )


class VerdictFieldWriter(FieldWriter):
    """Writes verdicts into the field ``DEDUP_TAG_FIELD`` of items."""

    def __init__(self, field: str) -> None:
        super().__init__(field, "verdict")

    def write(self, item: Any, verdict: Verdict) -> None:
        """Write a verdict into an item."""
        if ItemAdapter.is_item(item):
            if self.is_declared(item):
                self.set(item, verdict.to_dict())
            else:
                self.warn(item, "the class does not declare it")


class TextFieldWriter(FieldWriter):
    """Writes the main text of pages into the field ``DEDUP_TEXT_FIELD`` of items."""

    def __init__(self, field: str) -> None:
        super().__init__(field, "main text")

    def write(self, item: Any, view: PageView) -> None:
        """Write the main text into an item. A value that the spider has set stays."""
        if not ItemAdapter.is_item(item) or not self.is_declared(item) or self._has_value(item):
            return
        page = view.page
        if page is not None:
            self.set(item, page.text)

    def _has_value(self, item: Any) -> bool:
        with suppress(Exception):
            return bool(ItemAdapter(item).get(self._field))
        return False
