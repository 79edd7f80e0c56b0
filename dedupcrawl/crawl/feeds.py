"""Which feed took which item, and whether it was stored."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from scrapy.extensions.feedexport import FeedExporter, FeedSlot

    from dedupcrawl.crawl.holds import Hold


class Feeds:
    """Follows the slots of Scrapy's feed exporter, each of which becomes one file.

    ``feed_slot_closed`` is sent after a failed upload too, and stats only count failures by the kind
    of storage; so the storage of every slot is watched.
    """

    def __init__(self, exporter: FeedExporter) -> None:
        self._exporter = exporter
        self._counts: dict[FeedSlot, int] = {}
        self._holds: dict[FeedSlot, set[Hold]] = {}
        self._stored: WeakSet[FeedSlot] = WeakSet()
        self._closed: WeakSet[FeedSlot] = WeakSet()

    def look(self) -> list[FeedSlot]:
        """Return the slots that have grown since the last look; new ones are watched from now on."""
        for slot in self._exporter.slots:
            if slot not in self._counts and slot not in self._closed:
                self._counts[slot] = 0
                self._watch(slot)
        grown = [slot for slot, count in self._counts.items() if slot.itemcount > count]
        self._counts = {slot: slot.itemcount for slot in self._counts if slot not in self._closed}
        return grown

    def took(self, item: Any, hold: Hold | None) -> None:
        """Note which feeds have just taken an item, right after the exporter was told of it."""
        grown = self.look()
        if hold is None:
            return
        for slot in grown:
            if slot not in self._closed:
                hold.feeds.add(slot)
                self._holds.setdefault(slot, set()).add(hold)
            elif slot not in self._stored:
                hold.lost = True
        if self._has_failed(item, {slot.uri_template for slot in grown}):
            hold.lost = True

    def closed(self, slot: FeedSlot) -> Iterable[Hold]:
        """Note that a slot is closed; return the holds that waited for it."""
        self._closed.add(slot)
        holds = self._holds.pop(slot, set())
        for hold in holds:
            hold.feeds.discard(slot)
            hold.lost = hold.lost or slot not in self._stored
        return holds

    def _has_failed(self, item: Any, took: set[str]) -> bool:
        """Whether a feed that accepts the item has not taken it: writing it raised."""
        return any(_accepts(slot, item) for slot in self._exporter.slots if slot.uri_template not in took)

    def _watch(self, slot: FeedSlot) -> None:
        store = slot.storage.store

        def watched(file: Any) -> Any:
            result = store(file)
            if isinstance(result, Deferred):
                return result.addCallback(self._note, slot)
            if isawaitable(result):
                return self._noting(result, slot)
            return self._note(result, slot)

        storage: Any = slot.storage
        storage.store = watched

    async def _noting(self, storing: Awaitable[Any], slot: FeedSlot) -> Any:
        return self._note(await storing, slot)

    def _note(self, result: Any, slot: FeedSlot) -> Any:
        self._stored.add(slot)
        return result


def _accepts(slot: FeedSlot, item: Any) -> bool:
    try:
        return slot.filter.accepts(item)
    except Exception:  # noqa: BLE001  # the exporter's own question failed so too, and left the item out
        return True
