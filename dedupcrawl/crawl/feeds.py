"""Tracks which feed contains which item, and whether the feed was stored."""

from __future__ import annotations

from contextlib import suppress
from inspect import isawaitable
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy.extensions.feedexport import ItemFilter
from twisted.internet.defer import Deferred

from dedupcrawl.crawl.feed_files import end_last_line
from dedupcrawl.crawl.items import PageState
from dedupcrawl.crawl.waiting_claims import WaitingClaimTable, waits_for_feeds_only

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

    from scrapy.extensions.feedexport import FeedExporter, FeedSlot

    from dedupcrawl.crawl.items import ItemClaim

MAX_CLAIMS = 512  #: claims in memory from which on the oldest are written to files
LOOKS = 2  #: claims that are examined with each item, so that more claims are written than are added
CHUNK = 256  #: claims that are read from a file at once


class FeedTracker:
    """Tracks the slots of Scrapy's feed exporter; each slot becomes one file.

    Scrapy sends ``feed_slot_closed`` after a failed upload too, and its stats count failures by kind of
    storage only. So the method ``store`` of each slot's storage is wrapped.
    """

    def __init__(self, exporter: FeedExporter) -> None:
        self._exporter = exporter
        self._folder: str | None = exporter.settings["FEED_TEMPDIR"] or None
        self._counts: dict[FeedSlot, int] = {}
        self._filters: dict[str, WatchedFilter] = {}  # by the template of the URI
        self._claims: dict[ItemClaim, None] = {}  # in memory; oldest first
        self._waiting: list[WaitingClaimTable] = []
        self._written: WeakSet[ItemClaim] = WeakSet()  # those in files to which somebody refers
        self._stored: WeakSet[FeedSlot] = WeakSet()
        self._closed: WeakSet[FeedSlot] = WeakSet()

    def find_grown(self) -> list[FeedSlot]:
        """Return the slots with more items than at the last call; track new slots from now on."""
        for slot in self._exporter.slots:
            if slot not in self._counts and slot not in self._closed:
                self._counts[slot] = 0
                self._wrap_store(slot)
                end_last_line(self._exporter, slot)
                self._filter_of(slot)
        grown = [slot for slot, count in self._counts.items() if slot.itemcount > count]
        self._counts = {slot: slot.itemcount for slot in self._counts if slot not in self._closed}
        return grown

    def item_exported(self, item: Any, claims: Sequence[ItemClaim]) -> None:
        """Record the feeds that contain a scraped item; called directly after the exporter received it."""
        grown = self.find_grown()
        is_lost = self._has_failed(item, {slot.uri_template for slot in grown})
        if not claims:
            return
        waited_for = [slot for slot in grown if slot not in self._closed]
        is_lost = is_lost or any(slot in self._closed and slot not in self._stored for slot in grown)
        for claim in claims:
            if waited_for:
                claim.feeds.update(waited_for)
                self._claims[claim] = None
            if is_lost:
                _mark_lost(claim)
        if len(self._claims) > MAX_CLAIMS:
            self._write_oldest()

    def slot_closed(self, slot: FeedSlot) -> Iterator[Sequence[ItemClaim]]:
        """Mark a slot as closed; return the claims that waited for it, some at a time."""
        self._closed.add(slot)
        is_stored = slot in self._stored
        claims = [claim for claim in self._claims if slot in claim.feeds]
        for claim in claims:
            claim.feeds.discard(slot)
            if not is_stored:
                _mark_lost(claim)
            if not claim.feeds:
                del self._claims[claim]
        for group in self._waiting:
            if slot in group.feeds:
                group.feed_closed(slot, is_stored=is_stored)
        complete = [group for group in self._waiting if not group.feeds]
        self._waiting = [group for group in self._waiting if group.feeds]
        return _chunks(claims, complete)

    def _write_oldest(self) -> None:
        """Write the oldest claims to files, if they wait for their feeds alone."""
        for claim in [*islice(self._claims, LOOKS)]:
            del self._claims[claim]
            if claim in self._written or not waits_for_feeds_only(claim) or not self._group_of(claim).add(claim):
                self._claims[claim] = None  # it is looked at again after the others
            else:
                self._written.add(claim)

    def _group_of(self, claim: ItemClaim) -> WaitingClaimTable:
        for group in self._waiting:
            if group.feeds == claim.feeds and not group.is_lost:
                return group
        self._waiting.append(WaitingClaimTable(claim.feeds, self._folder))
        return self._waiting[-1]

    def _has_failed(self, item: Any, written: set[str]) -> bool:
        """Whether a feed accepts the item but has not written it: the exporter raised."""
        accepting = [each.uri_template for each in self._exporter.slots if self._filter_of(each).has_accepted(item)]
        return not written.issuperset(accepting)

    def _filter_of(self, slot: FeedSlot) -> WatchedFilter:
        """Return the filter of a feed, which is watched from now on."""
        watched = self._filters.get(slot.uri_template)
        if watched is None:
            watched = self._filters[slot.uri_template] = WatchedFilter(slot.filter)
            slot.filter = self._exporter.filters[slot.uri_template] = watched  # that of the next batches, too
        return watched

    def _wrap_store(self, slot: FeedSlot) -> None:
        storage: Any = slot.storage
        store = storage.store

        def wrapped(file: Any) -> Any:
            result = store(file)
            if isinstance(result, Deferred):
                return result.addCallback(self._mark_stored, slot)
            if isawaitable(result):
                return self._await_stored(result, slot)
            return self._mark_stored(result, slot)

        storage.store = wrapped

    async def _await_stored(self, storing: Awaitable[Any], slot: FeedSlot) -> Any:
        return self._mark_stored(await storing, slot)

    def _mark_stored(self, result: Any, slot: FeedSlot) -> Any:
        self._stored.add(slot)
        return result


def _mark_lost(claim: ItemClaim) -> None:
    if claim.state.allows(PageState.LOST):
        claim.advance(PageState.LOST)


class WatchedFilter(ItemFilter):
    """An item filter of a feed, whose answers can be looked up.

    A filter may draw at random, or count: if it is asked twice about an item, it may give two answers.

    Args:
        filter: that of the project.
    """

    def __init__(self, filter: ItemFilter) -> None:  # whatever else a feed asks of its filter is asked of this one
        self._filter = filter
        self._answer: bool | None = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the filter."""
        return getattr(self._filter, name)

    def accepts(self, item: Any) -> bool:
        """Ask the filter."""
        self._answer = True  # if it raises: the feed does not get the item, but has not refused it
        self._answer = bool(self._filter.accepts(item))
        return self._answer

    def has_accepted(self, item: Any) -> bool:
        """Return the answer about the item that the exporter has just received; ask only if the exporter did not."""
        if self._answer is None:
            with suppress(Exception):
                self.accepts(item)
        answer, self._answer = self._answer, None
        return bool(answer)


def _chunks(claims: Sequence[ItemClaim], groups: Sequence[WaitingClaimTable]) -> Iterator[Sequence[ItemClaim]]:
    yield claims
    for group in groups:
        yield from group.chunks(CHUNK)
