"""The contract of a store: an optimistic compare-and-set over exact-match keys.

``offer`` files a record *unless* another one with a higher id than ``since`` stands under one of
its probes; then it files nothing and returns those candidates. The caller compares them; if none
matches it offers again with ``since`` = the highest id it has seen. So the common case (nobody
there) is one atomic step, and two workers can never both be first.

A filed record is a *claim* until it is committed: *open* while its item is in the pipelines,
*scraped* once all of them took it, *committed* once it is durable. Claims carry a lease that the
living process renews; the claims of a dead process end with it, and its records with them.

Signatures of different configurations must never meet: the guard that keeps them apart.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.errors import StoreMismatchError
from dedupcrawl.utils.resources import Closing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.stores.workers import WorkersInfo, WorkerStats


KEY_BYTES = 6  #: size of a bucket key; 2^48 buckets keep false candidates below 1 in 10^4 at 10^9 keys
BUCKET_CAP = 32  #: at most so many candidates are read from a bucket, newest first
SCAN_CAP = 8 * BUCKET_CAP  #: at most so many entries of a bucket, dead ones included, are looked at

FILE_ANYWAY = 2**63 - 1  #: an id that no record has: offering "since" it files in any case


def url_key(url: str) -> bytes:
    """Return the bucket key under which the record of a URL is found again.

    The caller puts it among the keys of the record; ``lookup`` and ``forget`` then compare whole URLs.
    """
    data = url.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=KEY_BYTES, person=b"dedupcrawl.url").digest()


class ClaimState(IntEnum):
    """How far a record has come."""

    OPEN = 1
    SCRAPED = 2
    COMMITTED = 3


@dataclass(frozen=True, slots=True)
class Record:
    """What is filed of one page."""

    url: str
    keys: tuple[bytes, ...]  #: each ``KEY_BYTES`` long, distinct
    sketches: tuple[bytes, ...]  #: one per detector in the configured order, b"" where it has none
    seen: float  #: Unix time in seconds
    cluster: str = ""  #: "" when the page founds its own cluster
    probes: tuple[bytes, ...] | None = None  #: where to look when it differs from ``keys``; not stored

    @property
    def lookup_keys(self) -> tuple[bytes, ...]:
        """The keys under which earlier copies would be found."""
        return self.keys if self.probes is None else self.probes

    @property
    def home(self) -> tuple[bytes, ...]:
        """The keys under which this very record would be found: that of its URL, or all if it has none."""
        own = url_key(self.url)
        return (own,) if own in self.keys else self.keys

    def is_among(self, candidates: Iterable[Candidate]) -> bool:
        """Whether one of them has its URL, keys and sketches."""
        there = (each.record for each in candidates)
        mine = (self.url, self.sketches, self.keys)
        return any((each.url, each.sketches, each.keys) == mine for each in there)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An earlier record found under one of the probes."""

    id: int  #: grows with the order of filing
    record: Record
    state: ClaimState
    mine: bool  #: claimed through this very store object, and not committed yet


@dataclass(frozen=True, slots=True)
class Offer:
    """What came of an offer."""

    id: int | None  #: the id under which it was filed, None if it was not
    candidates: tuple[Candidate, ...] = ()  #: by rising id


@dataclass(frozen=True, slots=True)
class HotBucket:
    """A bucket with more records in it than are read."""

    key: str  #: in hexadecimal
    beyond: int  #: how many records were filed in it since then


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The state of a namespace, in numbers."""

    url: str
    namespace: str
    pages: int
    open: int  #: claims that are open
    scraped: int  #: claims whose item was scraped but is not durable yet
    keys: int
    bytes: int  #: on disk (or in memory, as far as it is known)
    oldest: float | None  #: Unix time of the record filed first
    newest: float | None  #: Unix time of the record filed last
    scheme: str  #: JSON of the configuration it was filled with
    ended: int = 0  #: how many of these claims have a lease that ended: who meets one takes its place
    layout: str = ""  #: how a server lays it out; "" elsewhere
    hot: int | None = None  #: how many buckets hold more than are read; None where that is not counted
    hottest: tuple[HotBucket, ...] = ()  #: some of them, those first in which most was filed


class Store(Closing):
    """Where fingerprints wait for their copies. All methods are synchronous and thread-safe.

    A record is *live* unless it is older than the time to live, or its claim's lease ran out or its
    claim's process is dead. Only live records are ever shown.

    Every method raises :class:`~dedupcrawl.errors.StoreError` when the store cannot do it.
    """

    remote: ClassVar[bool] = False  #: whether its calls cross a network: a crawl then makes them in threads

    @abstractmethod
    def offer(self, record: Record, since: int = 0) -> Offer:
        """File ``record`` as an open claim unless a live record with id > ``since`` stands under a probe.

        Dead records met on the way are removed (a server, which serves others too, removes ``BUCKET_CAP`` at
        most), and with every record filed two that are past the time to live, the oldest, so that they do not
        pile up. Ids rise and are never given twice.
        """

    @abstractmethod
    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        """File ``record`` for good, unless a live record with id > ``since`` stands under a probe.

        As :meth:`offer` and :meth:`commit` do, but in one step: it is never a claim, and when it is filed,
        the records that it supersedes are removed.
        """

    @abstractmethod
    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        """Do as :meth:`add` with each of these records, in this order, in one go.

        When it raises, none of them is filed; or they are taken back before anything else is filed.
        """

    def restore(self, records: Sequence[Record]) -> int:
        """File records for good, in this order, whatever stands beside them; return how many were filed.

        Those that are there already, by URL, keys and sketches, are left alone.
        """
        fresh = [record for record in records if not record.is_among(self.find(record.home))]
        for record in fresh:
            self.add(record, FILE_ANYWAY)
        return len(fresh)

    @abstractmethod
    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        """Look only: the live records under ``probes``, by rising id."""

    @abstractmethod
    def get(self, id: int) -> Candidate | None:
        """Return the live record with this id, or None once it was released, forgotten or pruned."""

    @abstractmethod
    def scraped(self, id: int) -> bool:
        """Mark an own open claim as scraped. False: the claim is gone (its lease ran out)."""

    @abstractmethod
    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        """Make own claims permanent and remove the records they supersede; return how many were there.

        Both happen in one step, or neither. When none of the claims is left, nothing is superseded. A
        claim whose lease ran out can be committed as long as nobody else has removed it.
        """

    @abstractmethod
    def release(self, ids: Iterable[int]) -> int:
        """Withdraw own claims and their records; return how many were there."""

    @abstractmethod
    def renew(self) -> int:
        """Extend the lease of every own claim; return how many there are."""

    @abstractmethod
    def lookup(self, url: str) -> Candidate | None:
        """Return the newest live record of this URL."""

    @abstractmethod
    def records(self) -> Iterator[Candidate]:
        """Walk the live records by rising id, a few at a time; what is filed meanwhile may be among them."""

    @abstractmethod
    def forget(self, url: str) -> int:
        """Remove all records of this URL; return how many."""

    @abstractmethod
    def prune(self, older_than: float) -> int:
        """Remove committed records seen before this Unix time, and all that dead processes left.

        Records past the time to live go too. Returns how many were removed.
        """

    @abstractmethod
    def info(self) -> StoreInfo:
        """Count what is filed, whether live or not."""

    def publish(self, figures: WorkerStats) -> None:  # there may be nobody to tell
        """Say what ``store watch`` shows of this worker, with the next renewal and with the end.

        Stores of which that is not asked take no notice.
        """

    def fleet(self) -> WorkersInfo | None:
        """Return what the workers say of themselves; None where they are not asked."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Withdraw own claims that are still open or scraped, then let go. Closing twice is allowed."""


_MISSING = "nothing"


def scheme_json(scheme: Mapping[str, object]) -> str:
    """Write a configuration so that equal ones are equal texts."""
    return json.dumps(scheme, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def check_scheme(url: str, namespace: str, there: str, here: str) -> None:
    """Refuse to let another configuration in.

    Raises :class:`~dedupcrawl.errors.StoreMismatchError`, naming what differs.
    """
    if there != here:
        found = differences(json.loads(there), json.loads(here))
        raise StoreMismatchError(
            f"The store {url} (namespace {namespace!r}) was filled under another configuration: "
            f"{'; '.join(found)}. Use the former settings, another namespace or another store."
        )


def differences(there: object, here: object, name: str = "") -> list[str]:
    """Name every constant that differs, dotted: ``minhash.slots is 64 there, 128 here``."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        names = sorted({*there, *here})
        pairs = ((there.get(each, _MISSING), here.get(each, _MISSING), each) for each in names)
        return [
            text for old, new, each in pairs for text in differences(old, new, f"{name}.{each}".strip("."))
        ]
    return [] if there == here else [f"{name} is {_as_json(there)} there, {_as_json(here)} here"]


def _as_json(value: object) -> str:
    return _MISSING if value is _MISSING else json.dumps(value, ensure_ascii=False)
