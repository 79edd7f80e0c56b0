"""Tracks which feed contains which item, and whether the feed was stored."""

from __future__ import annotations

from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy.extensions.feedexport import FileFeedStorage, StdoutFeedStorage
from twisted.internet.defer import Deferred

from dedupcrawl.crawl.items import PageState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Iterator

    from scrapy.extensions.feedexport import FeedExporter, FeedSlot

    from dedupcrawl.crawl.items import ItemClaim


class FeedTracker:
    """Tracks the slots of Scrapy's feed exporter; each slot becomes one file.

    Scrapy sends ``feed_slot_closed`` after a failed upload too, and its stats count failures by kind of
    storage only. So the method ``store`` of each slot's storage is wrapped.
    """

    def __init__(self, exporter: FeedExporter) -> None:
        self._exporter = exporter
        self._counts: dict[FeedSlot, int] = {}
        self._claims: dict[FeedSlot, set[ItemClaim]] = {}
        self._stored: WeakSet[FeedSlot] = WeakSet()
        self._closed: WeakSet[FeedSlot] = WeakSet()

    def find_grown(self) -> list[FeedSlot]:
        """Return the slots with more items than at the last call; track new slots from now on."""
        for slot in self._exporter.slots:
            if slot not in self._counts and slot not in self._closed:
                self._counts[slot] = 0
                self._wrap_store(slot)
        grown = [slot for slot, count in self._counts.items() if slot.itemcount > count]
        self._counts = {slot: slot.itemcount for slot in self._counts if slot not in self._closed}
        return grown

    def item_exported(self, item: Any, claim: ItemClaim | None) -> None:
        """Record the feeds that contain a scraped item; called directly after the exporter received it."""
        grown = self.find_grown()
        if claim is None:
            return
        is_lost = self._has_failed(item, {slot.uri_template for slot in grown})
        for slot in grown:
            if slot not in self._closed:
                claim.feeds.add(slot)
                self._claims.setdefault(slot, set()).add(claim)
            elif slot not in self._stored:
                is_lost = True
        if is_lost:
            _mark_lost(claim)

    def slot_closed(self, slot: FeedSlot) -> Iterable[ItemClaim]:
        """Mark a slot as closed; return the claims that waited for it."""
        self._closed.add(slot)
        claims = self._claims.pop(slot, set())
        for claim in claims:
            claim.feeds.discard(slot)
            if slot not in self._stored:
                _mark_lost(claim)
        return claims

    def _has_failed(self, item: Any, written: set[str]) -> bool:
        """Whether a feed accepts the item but has not written it: the exporter raised."""
        return any(_accepts(slot, item) for slot in self._exporter.slots if slot.uri_template not in written)

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


def _accepts(slot: FeedSlot, item: Any) -> bool:
    try:
        return slot.filter.accepts(item)
    except Exception:  # noqa: BLE001  # the exporter got the same error, and did not write the item
        return True


def overwritten_feeds(exporter: FeedExporter) -> Iterator[str]:
    """Return the addresses of the open feeds that replace what an earlier crawl has written.

    A feed whose address contains the time, or is made by a function of the project, counts as new.
    """
    for slot in exporter.slots:
        options, storage = exporter.feeds[slot.uri_template], slot.storage
        is_new = any(name in slot.uri_template for name in ("%(time)", "%(batch_time)")) or options.get("uri_params")
        if is_new or isinstance(storage, StdoutFeedStorage):
            continue
        if isinstance(storage, FileFeedStorage):
            is_overwritten = options.get("overwrite", False) and Path(storage.path).exists()
        else:  # feeds on servers are replaced by default, and asking whether they exist takes time
            is_overwritten = options.get("overwrite", True)
        if is_overwritten:
            yield slot.uri
