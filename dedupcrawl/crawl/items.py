"""The life cycle of a page in a crawl: its responses, its items and the claim that they share."""

from __future__ import annotations

from contextvars import ContextVar
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from dedupcrawl.crawl.concurrency import OneShotEvent
from dedupcrawl.ledger.entry import Fate
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.http import Response

    from dedupcrawl.ledger.entry import EntryHandle
    from dedupcrawl.page import Page
    from dedupcrawl.stores.base import Candidate, Record
    from dedupcrawl.verdict import Claim, Verdict

CURRENT_RESPONSE: ContextVar[ref[Response] | None] = ContextVar("dedupcrawl_response", default=None)

MAX_LINKS = 10_000  #: items between spider and pipelines; more than Scrapy queues there


class PageState(Enum):
    """How far a page has come, from its verdict on.

    The store persists :attr:`stored` of a claimed page; the ledger records :attr:`fate`.
    """

    OPEN = "open"  #: judged; its items are in the pipelines
    DROPPED = "dropped"  #: its items go no further
    REFUSED = "refused"  #: nothing is filed, and all its items so far were refused; another may still pass
    SCRAPED = "scraped"  #: at least one of its items passed all pipelines
    LOST = "lost"  #: scraped, but a feed that had taken one of its items could not be stored
    COMMITTED = "committed"  #: all its items are durable
    RELEASED = "released"  #: its items were not stored: the claim is withdrawn, the page may be judged again

    @property
    def stored(self) -> ClaimState | None:
        """The state of its claim in the store; None: no claim."""
        return _STORED.get(self)

    @property
    def fate(self) -> Fate:
        """What the ledger records of it."""
        return _FATES[self]

    @property
    def is_settled(self) -> bool:
        """Whether it is committed or released."""
        return self in (PageState.COMMITTED, PageState.RELEASED)

    def allows(self, state: PageState) -> bool:
        """Whether a page may go from this state to another."""
        return state in _TRANSITIONS.get(self, ())


_TRANSITIONS: Mapping[PageState, tuple[PageState, ...]] = MappingProxyType(
    {
        PageState.OPEN: (PageState.DROPPED, PageState.REFUSED, PageState.SCRAPED, PageState.RELEASED),
        PageState.REFUSED: (PageState.SCRAPED,),
        PageState.SCRAPED: (PageState.LOST, PageState.COMMITTED),
        PageState.LOST: (PageState.RELEASED,),
    }
)
_STORED: Mapping[PageState, ClaimState] = MappingProxyType(
    {
        PageState.OPEN: ClaimState.OPEN,
        PageState.SCRAPED: ClaimState.SCRAPED,
        PageState.LOST: ClaimState.SCRAPED,
        PageState.COMMITTED: ClaimState.COMMITTED,
    }
)
_FATES: Mapping[PageState, Fate] = MappingProxyType(
    {
        PageState.OPEN: Fate.OPEN,
        PageState.DROPPED: Fate.DROPPED,
        PageState.REFUSED: Fate.RELEASED,
        PageState.SCRAPED: Fate.KEPT,
        PageState.LOST: Fate.KEPT,
        PageState.COMMITTED: Fate.KEPT,
        PageState.RELEASED: Fate.RELEASED,
    }
)


class Comparison(NamedTuple):
    """What a page was compared with."""

    record: Record
    candidates: Sequence[Candidate]


class ItemClaim:
    """A verdict, the claim that goes with it, and how far the items under it have come.

    Only :meth:`advance` changes its state. ``outcome`` is set when the store knows whether the content was
    scraped: pages that repeat it wait for that.
    """

    __slots__ = (
        "_state",
        "claim",
        "comparison",
        "feeds",
        "in_flight",
        "note",
        "outcome",
        "record",
        "response",
        "verdict",
    )

    def __init__(
        self,
        verdict: Verdict,
        response: ResponseState | None = None,
        claim: Claim | None = None,
        record: Record | None = None,
        comparison: Comparison | None = None,
    ) -> None:
        self.verdict = verdict
        self.response = response  #: whose items share it; None: it is for one item alone
        self.claim = claim  #: None when nothing is filed
        self.record = record  #: to be filed once its items are safe: the store could not be asked
        self.comparison = comparison  #: until it is recorded; a claim may last until the feed is closed
        self.note: EntryHandle | None = None  #: its entry in the ledger
        self._state = PageState.OPEN
        self.in_flight = 0  #: items in the pipelines
        self.feeds: set[FeedSlot] = set()  #: open feeds that have taken one of its items
        self.outcome = OneShotEvent()

    @property
    def state(self) -> PageState:
        """How far the page has come."""
        return self._state

    def advance(self, state: PageState) -> None:
        """Go on to another state; raises :class:`ValueError` for a transition that does not exist."""
        if not self._state.allows(state):
            raise ValueError(f"a page cannot go from {self._state.value} to {state.value}")
        self._state = state

    @property
    def is_filed(self) -> bool:
        """Whether the store has a record of it, or is to get one."""
        return self.claim is not None or self.record is not None

    @property
    def is_complete(self) -> bool:
        """Whether nothing more will happen to its items."""
        return not self.in_flight and not self.feeds and (self.response is None or self.response.is_complete)

    @property
    def is_refused(self) -> bool:
        """Whether every item that came so far was dropped or failed."""
        return not self.in_flight and self.state in (PageState.OPEN, PageState.REFUSED)


class ResponseState:
    """One response on its way through spider and pipelines."""

    __slots__ = ("awaited", "claim", "deciding", "note", "output_ended", "subject", "urls")

    def __init__(self) -> None:
        self.subject: Page | Verdict | None = None  #: as it was read, or why it cannot be judged
        self.claim: ItemClaim | None = None  #: the last one that its items shared
        self.deciding: OneShotEvent | None = None  #: exists while one of its items asks for all of them
        self.note: EntryHandle | None = None  #: its entry in the ledger, should it be judged again
        self.awaited = 0  #: items that the spider yielded and the pipelines have not begun
        self.output_ended = OneShotEvent()  #: the spider will yield no more
        self.urls: set[str] = set()  #: own URLs of its items, when items are judged

    @property
    def valid_claim(self) -> ItemClaim | None:
        """The claim that its items share now; None: it is not judged yet, or must be judged again."""
        claim = self.claim
        return None if claim is None or claim.state is PageState.RELEASED else claim

    @property
    def is_complete(self) -> bool:
        """Whether no more items will come."""
        return self.output_ended.is_set and not self.awaited


class ResponseTracker:
    """The responses of a crawl that are under way.

    The spider middleware registers items with :meth:`add_item`, the pipeline looks up their response
    with :meth:`pop_item`. An item of an errback never passes a spider middleware, so it has no source
    although the context that it runs in may well stem from another response. So the context is
    used only where an earlier pipeline can have put another object in an item's place.

    Args:
        may_be_replaced: whether other pipelines stand before this one.
    """

    def __init__(self, *, may_be_replaced: bool = False) -> None:
        self._may_be_replaced = may_be_replaced
        self._states: WeakKeyDictionary[Response, ResponseState] = WeakKeyDictionary()
        # The item itself is kept, for an id may be used again once its object is gone; a spider may
        # yield one object several times.
        self._links: dict[int, tuple[Any, list[Response]]] = {}

    def of(self, response: Response) -> ResponseState:
        """Return the state of a response."""
        state = self._states.get(response)
        if state is None:
            state = self._states[response] = ResponseState()
        return state

    def find(self, response: Response) -> ResponseState | None:
        """Return the state of a response, None when nothing came from it."""
        return self._states.get(response)

    def add_item(self, item: Any, response: Response) -> None:
        """Remember where an item comes from until a pipeline takes it up."""
        self._links.setdefault(id(item), (item, []))[1].append(response)
        self.of(response).awaited += 1
        if len(self._links) > MAX_LINKS:
            self._unlink(next(iter(self._links)))

    def pop_item(self, item: Any) -> Response | None:
        """Return the response that an item came from; None: none is known."""
        if id(item) in self._links:
            return self._unlink(id(item))
        return self._pop_replaced() if self._may_be_replaced else None

    def discard_item(self, item: Any) -> Response | None:
        """Forget an item that an earlier pipeline refused; return its response if it was still awaited."""
        return self._unlink(id(item)) if id(item) in self._links else None

    def _pop_replaced(self) -> Response | None:
        """Find the source of an item that an earlier pipeline put in another's place."""
        current = CURRENT_RESPONSE.get()
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
