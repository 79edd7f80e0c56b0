"""A store that tells what passes through it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dedupcrawl.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.config import Config
    from dedupcrawl.stores.base import Offer, Record


class CountingStore(MemoryStore):
    """A store in memory that counts the earlier records its offers return; each of them is compared."""

    def __init__(self, config: Config) -> None:
        super().__init__("default", "{}", lease=config.lease, ttl=None, clock=time.time)
        self.candidates = 0
        self._offered: Record | None = None

    def offer(self, record: Record, since: int = 0) -> Offer:
        """File or find as any store; count what was found, and remember what was offered."""
        return self._counted(record, super().offer(record, since))

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        """Do the same where a record is filed for good."""
        return self._counted(record, super().add(record, since, supersede))

    def _counted(self, record: Record, offer: Offer) -> Offer:
        self.candidates += len(offer.candidates)
        self._offered = record
        return offer

    def take(self) -> Record | None:
        """Return the record offered last, once: a page that nobody can judge offers none."""
        record, self._offered = self._offered, None
        return record
