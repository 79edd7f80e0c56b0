"""Claims that wait only for their feeds, in a temporary file.

A feed without batches is closed when the crawl ends. Until then all its pages are claims. Their records are needed once
more if the store has lost a claim when it is committed. So the records are written to a file, and a page takes no
memory here while it waits.

A row is a fixed head, then the ids of superseded records, the probes and the record.

===========  =====  =======================================================
field        bytes  meaning
===========  =====  =======================================================
id              16  of the claim; 0: the store has none
unchecked        1  whether the page is unchecked
supersedes       4  number of ids of superseded records, 16 bytes each
probes           4  bytes of the probes
has probes       1  whether they differ from the keys
record           4  bytes of the record as :mod:`~dedupcrawl.stores.records` packs it; 0: the claim has none
===========  =====  =======================================================
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from dedupcrawl.crawl.items import ItemClaim, PageState
from dedupcrawl.decision import Claim, Status, Verdict
from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import KEY_BYTES
from dedupcrawl.stores.records import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.extensions.feedexport import FeedSlot

    from dedupcrawl.crawl.items import OutcomeCounts
    from dedupcrawl.decision import ClaimOwner
    from dedupcrawl.ledger.ledger_schema import EntryState
    from dedupcrawl.stores.base import Record

MAX_MEMORY = 1 << 20  #: bytes of a file that are kept in memory before it is written to disk
_HEAD = Struct(">16s?II?I")
_ID_BYTES = 16  # ids on a cluster have up to 14


class WaitingClaimTable:
    """Claims that wait for the same feeds.

    A claim to which somebody still refers, such as its response, is returned as the same object.

    Args:
        feeds: the open feeds that contain their items.
        folder: of the file; None: that of the system.
    """

    def __init__(self, feeds: Iterable[FeedSlot], folder: str | None = None) -> None:
        self.feeds = set(feeds)  #: those that are still open
        self.is_lost = False  #: whether one of the feeds could not be stored
        self._file = SpooledTemporaryFile(MAX_MEMORY, dir=folder)  # noqa: SIM115  # closed when it was read
        self._end = 0  # of the last whole row
        self._count = 0
        self._owner: ClaimOwner | None = None
        self._outcomes: OutcomeCounts | None = None
        self._referred: WeakValueDictionary[int, ItemClaim] = WeakValueDictionary()  # by the number of the row
        self._entries: dict[int, EntryState] = {}  # only with a report

    def add(self, claim: ItemClaim) -> bool:
        """Add a claim; return False if it cannot be written."""
        try:
            row = _packed(claim)
            self._file.seek(self._end)
            self._file.write(row)
        except (OSError, StoreError):
            return False
        if claim.claim is not None:
            self._owner = claim.claim.deduplicator
        if claim.entry is not None:
            self._entries[self._count] = claim.entry
        self._outcomes = claim.outcomes
        self._referred[self._count] = claim
        self._end += len(row)
        self._count += 1
        return True

    def feed_closed(self, feed: FeedSlot, *, is_stored: bool) -> None:
        """Record that one of the feeds was closed."""
        self.feeds.discard(feed)
        self.is_lost = self.is_lost or not is_stored
        for claim in self._referred.values():
            claim.feeds.discard(feed)

    def chunks(self, size: int) -> Iterator[list[ItemClaim]]:
        """Yield the claims, so many at a time, and remove the file.

        Raises:
            OSError: the file cannot be read.
            DamageError: it was changed.
        """
        with self._file:
            self._file.seek(0)
            for start in range(0, self._count, size):
                yield [self._next(number) for number in range(start, min(start + size, self._count))]

    def _next(self, number: int) -> ItemClaim:
        claim_id, is_unchecked, supersedes, probes, has_probes, length = _HEAD.unpack(self._file.read(_HEAD.size))
        old = self._file.read(_ID_BYTES * supersedes)
        probed, record = self._file.read(probes), self._file.read(length)
        claim = self._referred.get(number)
        if claim is None:
            verdict = Verdict("", Status.UNCHECKED if is_unchecked else Status.UNIQUE, keep=True)
            found = decode(record, f"row {number} of a feed's claims") if record else None
            if found is not None:
                verdict = replace(verdict, url=found.url)
                found = replace(found, probes=_split(probed, KEY_BYTES)) if has_probes else found
            claim = self._restored(verdict, _number(claim_id), found, tuple(map(_number, _split(old, _ID_BYTES))))
            claim.entry = self._entries.get(number)
            claim.outcomes = self._outcomes
        if self.is_lost and claim.state.allows(PageState.LOST):
            claim.advance(PageState.LOST)
        return claim

    def _restored(self, verdict: Verdict, id: int, record: Record | None, supersedes: tuple[int, ...]) -> ItemClaim:
        filed = Claim(verdict, self._owner, id, record, supersedes) if id and self._owner else None
        claim = ItemClaim(verdict, claim=filed)
        claim.advance(PageState.SCRAPED)
        claim.outcome.set()
        return claim


def waits_for_feeds_only(claim: ItemClaim) -> bool:
    """Whether nothing more will happen to a claim and its items before the feeds are closed."""
    if claim.state is not PageState.SCRAPED or claim.in_flight or claim.record is not None:
        return False
    is_known = claim.claim is None or claim.outcome.is_set  # the store knows that it is scraped
    return is_known and (claim.response is None or claim.response.is_complete)


def _packed(claim: ItemClaim) -> bytes:
    filed = claim.claim
    record = None if filed is None else filed.record
    numbers = () if filed is None else (filed.id or 0, *filed.supersedes)
    claim_id, *old = (number.to_bytes(_ID_BYTES, "big") for number in numbers or (0,))
    probes = record.probes if record is not None else None
    packed, probed = encode(record) if record is not None else b"", b"".join(probes or ())
    is_unchecked = claim.verdict.status is Status.UNCHECKED
    head = _HEAD.pack(claim_id, is_unchecked, len(old), len(probed), probes is not None, len(packed))
    return b"".join((head, *old, probed, packed))


def _number(packed: bytes) -> int:
    return int.from_bytes(packed, "big")


def _split(packed: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(packed[at : at + size] for at in range(0, len(packed), size))
