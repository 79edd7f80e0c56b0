"""The backlog: calls that must be made again when the store is back.

States of claims are kept in memory, since a claim ends with its process. Pages to file are kept in the
:mod:`~dedupcrawl.crawl.spool`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dedupcrawl.crawl.spool import Spool, spool_name
from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.spool import SpoolFile
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.stores.base import Record
    from dedupcrawl.verdict import Claim


class Backlog:
    """Undelivered states of claims, and undelivered records.

    Args:
        options: name the store and the folder of the spool; without a folder no record is kept.
        scheme: of the deduplicator, which identifies its configuration.
        stats: count the spooled pages.
    """

    def __init__(self, options: Options, scheme: str, stats: CrawlStats) -> None:
        self._stats = stats
        self._claims: dict[int, tuple[Claim, PageState]] = {}
        self._spool = None
        if options.spool is not None:
            self._spool = Spool(options.spool / spool_name(options.store, options.namespace, scheme))

    @property
    def has_files(self) -> bool:
        """Whether the spool has files, also of earlier crawls."""
        return self._spool is not None and self._spool.has_files

    @property
    def is_pending(self) -> bool:
        """Whether this process has anything to deliver."""
        return bool(self._claims) or (self._spool is not None and self._spool.has_pending)

    def add_claims(self, claims: Iterable[Claim], state: PageState) -> None:
        """Add the state of claims; it replaces an earlier state of the same claim."""
        self._claims.update((claim.id, (claim, state)) for claim in claims if claim.id is not None)

    def claims(self, most: int) -> Mapping[int, tuple[Claim, PageState]]:
        """Return the next claims to deliver, up to ``most``, and their states by id."""
        return dict(islice(self._claims.items(), most))

    def remove_claims(self, delivered: Mapping[int, tuple[Claim, PageState]]) -> None:
        """Remove claims, except those whose state has changed meanwhile."""
        for key, entry in delivered.items():
            if self._claims.get(key) == entry:
                del self._claims[key]

    def add_records(self, records: Sequence[Record]) -> None:
        """Spool pages that are not filed and whose items are durable."""
        if self._spool is None:
            return
        try:
            count = self._spool.append(records)
        except (OSError, StoreError) as error:
            self._stats.spool_failed(error, len(records))
        else:
            self._stats.spooled(count, len(records) - count)

    def spool_files(self) -> Generator[SpoolFile, None, None]:
        """Yield the files of the spool; each is locked until the next one is requested."""
        if self._spool is not None:
            yield from self._spool.files()

    def close(self) -> None:
        """Leave the spool to the next crawl."""
        left = None if self._spool is None else self._spool.close()
        if left is not None:
            self._stats.spool_left(left)
