"""Which response an item came from, and what is known of that response."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

if TYPE_CHECKING:
    from scrapy.http import Response

    from dedupcrawl.crawl.holds import Hold
    from dedupcrawl.crawl.waiting import Outcome
    from dedupcrawl.page import Page
    from dedupcrawl.report.note import Note
    from dedupcrawl.verdict import Verdict

CURRENT: ContextVar[ref[Response] | None] = ContextVar("dedupcrawl_response", default=None)

MOST_LINKS = 10_000  #: items between spider and pipelines; more than Scrapy lets wait there


class Visit:
    """One response on its way through spider and pipelines."""

    __slots__ = ("awaited", "counted", "deciding", "exhausted", "hold", "note", "subject", "urls")

    def __init__(self) -> None:
        self.subject: Page | Verdict | None = None  #: as it was read, or why it cannot be judged
        self.hold: Hold | None = None  #: the claim that its items share
        self.deciding: Outcome | None = None  #: set while one of its items asks for all of them
        self.note: Note | None = None  #: what the ledger knows of it, should it be judged again
        self.counted = False
        self.awaited = 0  #: items that the spider yielded and the pipelines have not begun
        self.exhausted = False  #: the spider will yield no more
        self.urls: set[str] = set()  #: own URLs of its items, when items are judged

    @property
    def is_over(self) -> bool:
        """Whether no more items will come."""
        return self.exhausted and not self.awaited


class Visits:
    """The responses of a crawl that are under way.

    The last spider middleware hands items over with :meth:`yielded`, the pipeline takes them up
    with :meth:`take`. An item of an errback never passes a spider middleware, so it has no source
    although the context that it runs in may well stem from another response: hence the context is
    asked only where an earlier pipeline can have put another object in an item's place.

    Args:
        may_be_replaced: whether other pipelines stand before this one.
    """

    def __init__(self, *, may_be_replaced: bool = False) -> None:
        self._may_be_replaced = may_be_replaced
        self._visits: WeakKeyDictionary[Response, Visit] = WeakKeyDictionary()
        # The item itself is kept, for an id may be used again once its object is gone; a spider may
        # yield one object several times.
        self._links: dict[int, tuple[Any, list[Response]]] = {}

    def of(self, response: Response) -> Visit:
        """Return what is known of a response."""
        visit = self._visits.get(response)
        if visit is None:
            visit = self._visits[response] = Visit()
        return visit

    def find(self, response: Response) -> Visit | None:
        """Return what is known of a response, None when nothing came from it."""
        return self._visits.get(response)

    def yielded(self, item: Any, response: Response) -> None:
        """Remember where an item comes from until a pipeline takes it up."""
        self._links.setdefault(id(item), (item, []))[1].append(response)
        self.of(response).awaited += 1
        if len(self._links) > MOST_LINKS:
            self._unlink(next(iter(self._links)))

    def take(self, item: Any) -> Response | None:
        """Return the response that an item came from; None: from none, as far as one can tell."""
        if id(item) in self._links:
            return self._unlink(id(item))
        return self._take_replaced() if self._may_be_replaced else None

    def lose(self, item: Any) -> Response | None:
        """Forget an item that an earlier pipeline refused; return its response if it was still awaited."""
        return self._unlink(id(item)) if id(item) in self._links else None

    def _take_replaced(self) -> Response | None:
        """Find the source of an item that an earlier pipeline put in another's place."""
        current = CURRENT.get()
        response = current() if current else None
        links = self._links.items()
        return next((self._unlink(key) for key, (_, sources) in links if sources[0] is response), None)

    def _unlink(self, key: int) -> Response:
        _, sources = self._links[key]
        response = sources.pop(0)
        if not sources:
            del self._links[key]
        self.of(response).awaited -= 1
        return response
