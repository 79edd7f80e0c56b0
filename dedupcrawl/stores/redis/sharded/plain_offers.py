"""Offers of callers who compare pages themselves: a page is filed unless there are candidates they have not seen."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from dedupcrawl.stores.base import ClaimState, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.stores.base import Candidate, Offer, Record

REMEMBERED = 4096  #: offers whose candidates are remembered for a second offer


class PlainOffers:
    """Makes the judges of plain offers, and remembers what their callers compare before they offer again."""

    def __init__(self) -> None:
        self._compared: OrderedDict[tuple[Any, ...], frozenset[int]] = OrderedDict()
        self._lock = Lock()

    def judge(self, record: Record, since: int) -> UnlessFound:
        """Return the judge of an offer; ``since`` as for :meth:`Store.offer`."""
        with self._lock:
            known = self._compared.pop(_identity(record), None) if since else None
        return UnlessFound(record, frozenset() if known is None else known, 0 if known is not None else since)

    def remember(self, record: Record, end: Offer) -> None:
        """Remember what a page is compared with: its caller will offer it again unless it is a copy."""
        with self._lock:
            self._compared[_identity(record)] = frozenset(hit.id for hit in end.candidates)
            while len(self._compared) > REMEMBERED:
                self._compared.popitem(last=False)


class UnlessFound:
    """The judge of a plain offer: a page is filed unless there are candidates that its caller has not compared."""

    def __init__(self, record: Record, compared: frozenset[int], since: int) -> None:
        self._record = record
        self._since = since
        self.compared = compared

    def uncompared(self, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return the candidates that the caller has not compared."""
        return tuple(hit for hit in candidates if hit.id > self._since and hit.id not in self.compared)

    def __call__(self, candidates: Sequence[Candidate]) -> Judgement:
        found = self.uncompared(candidates)
        unsettled = tuple(hit.id for hit in found if hit.state is not ClaimState.COMMITTED)
        # A pending page is no candidate yet: it may give way. Protocol and caller wait for the others.
        return Judgement(None if len(unsettled) < len(found) else self._record, unsettled)


def _identity(record: Record) -> tuple[Any, ...]:
    return record.url, record.seen, record.keys, record.sketches
