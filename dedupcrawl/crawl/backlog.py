"""What could not be delivered to a store that was away: states of claims, and pages to file.

The rule: an item that is stored is filed as soon as the store is back, if need be by the next crawl. The
claim of an item that is not stored is released, or it ends with its lease.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from dedupcrawl.crawl.spool import Spool
from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from dedupcrawl.claim import Claim
    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.spool import SpoolFile
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.stores.base import Record


class Backlog:
    """Undelivered states of claims (in memory: claims end with the process) and records (in the spool).

    Args:
        options: name the store and the folder of the spool; without a folder records are not kept.
        scheme: of the deduplicator.
        stats: counts what is spooled.
    """

    def __init__(self, options: Options, scheme: str, stats: CrawlStats) -> None:
        self._stats = stats
        self._claims: dict[int, tuple[Claim, PageState]] = {}
        self._spool = None
        if options.spool is not None:
            self._spool = Spool(options.spool / spool_name(options.store, options.namespace, scheme))

    @property
    def has_files(self) -> bool:
        """Whether the spool of this store has files; earlier crawls may have left some."""
        return self._spool is not None and self._spool.has_files

    @property
    def is_pending(self) -> bool:
        """Whether this process has anything to deliver."""
        return bool(self._claims) or (self._spool is not None and self._spool.has_pending)

    def add_claims(self, claims: Iterable[Claim], state: PageState) -> None:
        """Note a state that the store must get to know; it replaces an earlier one of the same claim."""
        self._claims.update((claim.id, (claim, state)) for claim in claims if claim.id is not None)

    def claims(self, most: int) -> Mapping[int, tuple[Claim, PageState]]:
        """Return the next claims to deliver, with their states, by id."""
        return dict(islice(self._claims.items(), most))

    def remove_claims(self, delivered: Mapping[int, tuple[Claim, PageState]]) -> None:
        """Remove claims, except those whose state has changed meanwhile."""
        for key, entry in delivered.items():
            if self._claims.get(key) == entry:
                del self._claims[key]

    def add_records(self, records: Sequence[Record]) -> None:
        """Spool pages whose items are stored and that are not filed."""
        if self._spool is None:
            return
        try:
            room = self._spool.append(records)
        except (OSError, StoreError) as error:
            self._stats.spool_failed(error, len(records))
        else:
            self._stats.spooled(room, len(records) - room)

    def spool_files(self) -> Generator[SpoolFile, None, None]:
        """Return the files of the spool that can be replayed now, each locked until the next is asked for."""
        if self._spool is not None:
            yield from self._spool.files()

    def close(self) -> None:
        """Leave the spool to the next crawl."""
        if self._spool is not None:
            left = self._spool.close()
            if left is not None:
                self._stats.spool_left(left)


def spool_name(store: str, namespace: str, scheme: str) -> str:
    """Name the spool of a store, whatever the login: records of two configurations must never meet."""
    address = urlsplit(store)
    host = address.netloc.rpartition("@")[2]
    database = parse_qs(address.query).get("db", [])
    place = [address.scheme, host, address.path, *database, namespace, scheme]
    return blake2b(json.dumps(place).encode(), digest_size=8).hexdigest()
