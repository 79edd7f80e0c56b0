"""A store that counts what it hands out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dedupcrawl.stores.memory import MemoryStore

if TYPE_CHECKING:
    from dedupcrawl.config import Config
    from dedupcrawl.stores.base import Offer, Record


class CountingStore(MemoryStore):
    """A store in memory that counts the earlier records its offers return; each of them is compared."""

    def __init__(self, config: Config) -> None:
        super().__init__("default", "{}", lease=config.lease, ttl=None, clock=time.time)
        self.candidates = 0

    def offer(self, record: Record, since: int = 0) -> Offer:
        """File or find as any store, and count what was found."""
        offer = super().offer(record, since)
        self.candidates += len(offer.candidates)
        return offer
