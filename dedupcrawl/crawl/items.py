"""The life cycle of a page in a crawl: the state of a response, and the claim that its items share."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import ref

from dedupcrawl.crawl.concurrency import OneShotEvent
from dedupcrawl.decision import Status
from dedupcrawl.ledger.ledger_schema import Outcome
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.http import Response

    from dedupcrawl.crawl.page_view import PageView
    from dedupcrawl.crawl.revisits import RevisitState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.decision import Claim, Verdict
    from dedupcrawl.ledger.ledger_schema import Compare, EntryState, RuleRow
    from dedupcrawl.page import Page
    from dedupcrawl.sites.site_memory import SiteTracker
    from dedupcrawl.stores.base import Candidate, Record

CURRENT_RESPONSE: ContextVar[ref[Response] | None] = ContextVar("dedupcrawl_response", default=None)

MAX_LINKS = 10_000  #: items between spider and pipelines; more than Scrapy queues there


class PageState(Enum):
    """The state of a judged page, with its state in the store and in the ledger."""

    stored: ClaimState | None  #: state of its claim in the store; None: the store has no claim
    outcome: Outcome  #: state in the ledger

    #: Judged; its items are in the pipelines.
    OPEN = "open", ClaimState.OPEN, Outcome.OPEN
    #: A duplicate: its items are dropped.
    DROPPED = "dropped", None, Outcome.DROPPED
    #: Not filed, and the pipelines refused all its items so far; a later item may still pass.
    REFUSED = "refused", None, Outcome.RELEASED
    #: At least one of its items passed all pipelines.
    SCRAPED = "scraped", ClaimState.SCRAPED, Outcome.KEPT
    #: Scraped, but a feed with one of its items could not be stored.
    LOST = "lost", ClaimState.SCRAPED, Outcome.KEPT
    #: All its items are durable.
    COMMITTED = "committed", ClaimState.COMMITTED, Outcome.KEPT
    #: Its items were not stored: the claim is withdrawn, and the page may be judged again.
    RELEASED = "released", None, Outcome.RELEASED

    __hash__ = object.__hash__  # that of ``Enum`` is a function in Python, and a page needs a dozen

    def __new__(cls, value: str, stored: ClaimState | None, outcome: Outcome) -> Self:
        """Create a state whose value is its name in lower case."""
        state = object.__new__(cls)
        state._value_ = value
        state.stored, state.outcome = stored, outcome
        return state

    @property
    def is_settled(self) -> bool:
        """Whether the page is committed or released."""
        return self in (PageState.COMMITTED, PageState.RELEASED)

    def allows(self, state: PageState) -> bool:
        """Whether the transition to ``state`` exists."""
        return state in _TRANSITIONS.get(self, ())


_TRANSITIONS: Mapping[PageState, tuple[PageState, ...]] = MappingProxyType(
    {
        PageState.OPEN: (PageState.DROPPED, PageState.REFUSED, PageState.SCRAPED, PageState.RELEASED),
        PageState.REFUSED: (PageState.SCRAPED,),
        PageState.SCRAPED: (PageState.LOST, PageState.COMMITTED),
        PageState.LOST: (PageState.RELEASED,),
    }
)


class OutcomeCounts:
    """Counts pages by their present state, each page once, however often it is judged.

    Every claim that was passed to :meth:`add` reports its transitions. So the sum of the counts is the number of pages.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[PageState, bool]] = Counter()

    def add(self, claim: ItemClaim, *, again: bool = False) -> None:
        """Count the page of a new claim; ``again``: it was judged before, and its former claim was released."""
        claim.outcomes = self
        self._counts[_outcome(claim, claim.state)] += 1
        if again:
            self._counts[PageState.RELEASED, False] -= 1

    def move(self, claim: ItemClaim, before: PageState) -> None:
        """Count the page of a claim, which was in the state ``before``, in its present state."""
        self._counts[_outcome(claim, before)] -= 1
        self._counts[_outcome(claim, claim.state)] += 1

    def of(self, *states: PageState, unchecked: bool | None = None) -> int:
        """Return the number of pages in these states; ``unchecked`` None: of checked and unchecked ones."""
        kinds = (False, True) if unchecked is None else (unchecked,)
        return sum(self._counts[state, kind] for state in states for kind in kinds)


def _outcome(claim: ItemClaim, state: PageState) -> tuple[PageState, bool]:
    """Return the state, and whether the page is unchecked; for a released page that no longer matters."""
    return state, state is not PageState.RELEASED and claim.verdict.status is Status.UNCHECKED


class PageRecorder:
    """The interface of recorders of verdicts and outcomes; this class itself records nothing.

    :class:`~dedupcrawl.crawl.recorder.LedgerRecorder` writes them to the ledger of a report.
    """

    def open(
        self, options: Options, compare: Compare, counts: Mapping[str, int], memory: SiteTracker | None = None
    ) -> None:
        """Begin to record; raises ``DedupError``.

        Args:
            options: of the crawl.
            compare: returns the assessment of each detector on two pages.
            counts: those of the stats so far.
            memory: what the sites of the crawl repeat; None: all text is compared.
        """

    def count(self, name: str, by: int) -> None:
        """Add to a counter; ``name`` is that of the stat without ``dedup/``."""

    def record_verdict(
        self, claim: ItemClaim, subject: Page | Verdict | None, size: int, response: ResponseState | None = None
    ) -> None:
        """Record a judged page.

        Args:
            claim: contains the verdict, and the pages that the page was compared with.
            subject: the page, if it could be read.
            size: of the response's body or the item's text, in bytes.
            response: whose items share the verdict; if the page is judged again, its entry is replaced.
        """

    def record_state(self, claim: ItemClaim) -> None:
        """Record the state of a page that was not dropped."""

    def record_saved_requests(self, claim: ItemClaim, requests: int) -> None:
        """Record how many requests a dropped page saved."""

    def record_rule(self, rule: RuleRow) -> None:
        """Record a rule by which requests were foreseen."""

    async def close(self) -> None:
        """End the record; returns when it is written."""


class ComparedRecord(NamedTuple):
    """A page and the earlier pages that it was compared with."""

    record: Record
    candidates: Sequence[Candidate]


@dataclass(eq=False, slots=True, weakref_slot=True)
class ItemClaim:
    """A verdict, its claim in the store, and the state of the items that share them."""

    verdict: Verdict  #: on the page
    response: ResponseState | None = None  #: whose items share the claim; None: a single item's
    claim: Claim | None = None  #: None when nothing is filed
    record: Record | None = None  #: to file once the items are durable: the store could not be called
    comparison: ComparedRecord | None = None  #: until the recorder has read it
    entry: EntryState | None = None  #: in the ledger
    in_flight: int = 0  #: items in the pipelines
    lapses: int = 0  #: of the lease, before the claim was made or last confirmed; see ``Deduplicator``
    feeds: set[FeedSlot] = field(default_factory=set)  #: open feeds that contain one of its items
    outcome: OneShotEvent = field(default_factory=OneShotEvent)  #: scraped or settled; copies wait for it
    outcomes: OutcomeCounts | None = None  #: counts the page; None: nobody does
    _state: PageState = PageState.OPEN

    @property
    def state(self) -> PageState:
        """The current state; :meth:`advance` alone changes it."""
        return self._state

    def advance(self, state: PageState) -> None:
        """Change the state; raises :class:`ValueError` for a transition that does not exist."""
        if not self._state.allows(state):
            raise ValueError(f"a page cannot go from {self._state.value} to {state.value}")
        before, self._state = self._state, state
        if self.outcomes is not None:
            self.outcomes.move(self, before)

    @property
    def is_filed(self) -> bool:
        """Whether the store has a record of the page, or will get one."""
        return self.claim is not None or self.record is not None

    @property
    def is_complete(self) -> bool:
        """Whether nothing more will happen to its items."""
        return not self.in_flight and not self.feeds and (self.response is None or self.response.is_complete)

    @property
    def has_items(self) -> bool:
        """Whether an item is in the pipelines, or passed them."""
        return bool(self.in_flight) or self.state in (PageState.SCRAPED, PageState.LOST, PageState.COMMITTED)

    @property
    def is_refused(self) -> bool:
        """Whether the pipelines refused every item so far."""
        return not self.in_flight and self.state in (PageState.OPEN, PageState.REFUSED)


def advance_all(claims: Iterable[ItemClaim], old: PageState, new: PageState) -> list[ItemClaim]:
    """Change the state of the claims that are in state ``old``, and return them.

    This is done before the store is called, so that no claim is settled twice.
    """
    advanced = [claim for claim in claims if claim.state is old]
    for claim in advanced:
        claim.advance(new)
    return advanced


@dataclass(eq=False, slots=True)
class BodyEntry:
    """The bytes of a response, which were looked up before the page was read."""

    url: str  #: of the page
    site: str
    key: bytes  #: of its note
    hashed: bytes  #: hash of the response
    noted: bytes | None = None  #: the note of its URL


@dataclass(eq=False, slots=True)
class ResponseState:
    """The state of one response from the spider to the end of the pipelines."""

    subject: Page | Verdict | None = None  #: the page, or why it cannot be judged
    read_seconds: float = 0.0  #: processor time that reading the page has used
    claim: ItemClaim | None = None  #: the last claim that its items shared
    judging: OneShotEvent | None = None  #: exists while the page is being judged
    entry: EntryState | None = None  #: in the ledger; used again when the page is judged again
    awaited: int = 0  #: items that the spider yielded and the pipeline has not received
    output_ended: OneShotEvent = field(default_factory=OneShotEvent)  #: the spider will yield no more
    item_urls: set[str] = field(default_factory=set)  #: when items are judged
    number: int = field(default_factory=count(1).__next__)  #: of the response in this process
    shapes: dict[int, int] = field(default_factory=dict)  #: the first item of each kind; see ``ItemPages``
    was_counted: bool = False  #: whether its page is in the stats
    view: PageView | None = None  #: what the spider sees of the page; None: nothing asks for it
    body: BodyEntry | None = None  #: the bytes of its body, if they were looked up
    revisit: RevisitState | None = None  #: what the next crawl needs to ask for the page conditionally

    @property
    def valid_claim(self) -> ItemClaim | None:
        """The claim that its items share now; None: the page must be judged, for the first time or again."""
        claim = self.claim
        return None if claim is None or claim.state is PageState.RELEASED else claim

    @property
    def is_complete(self) -> bool:
        """Whether no more items will come."""
        return self.output_ended.is_set and not self.awaited


class ResponseTracker:
    """Finds the response that an item came from.

    The spider middleware registers items with :meth:`add_item`, the pipeline looks up their response
    with :meth:`pop_item`. The current context is used only if an earlier pipeline may have replaced the
    item: the item of an errback has no response, but its context may contain the response of another item.

    Args:
        may_be_replaced: whether other pipelines run before the pipeline of deduplication.
    """

    def __init__(self, *, may_be_replaced: bool = False) -> None:
        self._may_be_replaced = may_be_replaced
        # By id, which ``WeakKeyDictionary`` takes ten times as long to find. A state ends with its response.
        self._states: dict[int, tuple[ref[Response], ResponseState]] = {}
        # By id. The item is stored too, since the id of a deleted object may be used again. A spider may
        # yield one object several times, hence the list.
        self._links: dict[int, tuple[Any, list[Response]]] = {}

    def of(self, response: Response) -> ResponseState:
        """Return the state of a response; create it if there is none."""
        state = self.find(response)
        if state is None:
            key, state = id(response), ResponseState()
            self._states[key] = ref(response, partial(self._states.pop, key)), state
        return state

    def find(self, response: Response) -> ResponseState | None:
        """Return the state of a response, None if it has none."""
        found = self._states.get(id(response))
        return found[1] if found is not None and found[0]() is response else None

    def enter(self, response: Response) -> None:
        """Store a response in the current context, if items may have to be found by it."""
        if self._may_be_replaced:
            CURRENT_RESPONSE.set(ref(response))

    def add_item(self, item: Any, response: Response) -> None:
        """Store the response of an item until the pipeline receives the item."""
        self._links.setdefault(id(item), (item, []))[1].append(response)
        self.of(response).awaited += 1
        if len(self._links) > MAX_LINKS:
            self._unlink(next(iter(self._links)))

    def pop_item(self, item: Any) -> Response | None:
        """Return the response of an item, None if it is unknown."""
        response = self.discard_item(item)
        return self._pop_replaced() if response is None and self._may_be_replaced else response

    def discard_item(self, item: Any) -> Response | None:
        """Return the response of an item that an earlier pipeline refused, None if it is unknown."""
        return self._unlink(id(item)) if id(item) in self._links else None

    def _pop_replaced(self) -> Response | None:
        """Return the response of an item that an earlier pipeline replaced by another object."""
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
