"""What a crawl owes to a store that was away: claims to settle, and pages to file.

The rule: an item that is stored is filed as soon as the store is back, if need be by the next crawl; an item
that is not stored gives its claim back, or the claim ends with its lease.
"""

from __future__ import annotations

import json
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from dedupcrawl.crawl.spool import Spool
from dedupcrawl.crawl.waiting import together
from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.claim import Claim
    from dedupcrawl.crawl.line import Line
    from dedupcrawl.crawl.options import Options
    from dedupcrawl.crawl.spool import SpoolFile
    from dedupcrawl.crawl.tally import Tally
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.stores.base import Record


AT_ONCE = 16  #: calls side by side: pages wait until all is paid


class Debts:
    """Claims are owed in memory, for they end with the process; stored pages in the spool as well."""

    def __init__(self, dedup: Deduplicator, tally: Tally, options: Options) -> None:
        self._dedup = dedup
        self._tally = tally
        self._claims: dict[int, tuple[Claim, Callable[[Claim], None]]] = {}
        self._spool = None
        if options.spool is not None:
            self._spool = Spool(options.spool / spool_name(options.store, options.namespace, dedup.scheme))

    @property
    def are_inherited(self) -> bool:
        """Whether earlier crawls may have left something."""
        return self._spool is not None and self._spool.has_files

    @property
    def are_there(self) -> bool:
        """Whether the store must be told something."""
        return bool(self._claims) or (self._spool is not None and self._spool.waits)

    def owe(self, claims: Iterable[Claim], order: Callable[[Claim], None]) -> None:
        """Note what the store must be told of claims; it takes the place of what was owed before."""
        self._claims.update((claim.id, (claim, order)) for claim in claims if claim.id is not None)

    def remember(self, records: Sequence[Record]) -> None:
        """Remember pages that are stored and not filed."""
        if self._spool is None:
            return
        try:
            room = self._spool.append(records)
        except (OSError, StoreError) as error:
            self._tally.spool_failed(error, len(records))
        else:
            self._tally.spooled(room, len(records) - room)

    async def pay(self, line: Line) -> None:
        """Tell the store all that is owed to it.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store is away; the rest is still owed then.
        What the store refuses, being there, is owed no longer; it stays in the spool for the next crawl.
        """
        is_first = True
        while is_first or self.are_there:
            await self._settle(line)
            if is_first:
                await line.recover()
            await self._replay(line)
            is_first = False

    def close(self) -> None:
        """Leave the spool to the next crawl."""
        if self._spool is not None:
            left = self._spool.close()
            if left is not None:
                self._tally.spool_left(left)

    async def _settle(self, line: Line) -> None:
        while self._claims:
            owed = dict(islice(self._claims.items(), AT_ONCE))
            await together(line.attempt(order, claim) for claim, order in owed.values())
            for each, debt in owed.items():
                if self._claims.get(each) == debt:
                    del self._claims[each]

    async def _replay(self, line: Line) -> None:
        if self._spool is not None:
            with closing(self._spool.files()) as files:
                for file in files:
                    await self._replay_one(file, line)

    async def _replay_one(self, file: SpoolFile, line: Line) -> None:
        answers: list[bool | None] = []
        try:
            for records in file.batches(AT_ONCE):
                fresh = await together(line.attempt(self._dedup.remember, record) for record in records)
                for record, answer in zip(records, fresh, strict=True):
                    if answer is None:
                        file.refuse(record)
                answers += fresh
            file.tidy()
        except OSError as error:
            self._tally.spool_failed(error, 0)
        finally:
            self._tally.replayed(*map(answers.count, (True, False, None)))


def spool_name(store: str, namespace: str, scheme: str) -> str:
    """Name the spool of a store, however one logs in there: records of two configurations must never meet."""
    address = urlsplit(store)
    host = address.netloc.rpartition("@")[2]
    database = parse_qs(address.query).get("db", [])
    place = [address.scheme, host, address.path, *database, namespace, scheme]
    return blake2b(json.dumps(place).encode(), digest_size=8).hexdigest()
