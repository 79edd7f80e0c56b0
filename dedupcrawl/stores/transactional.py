"""What the rules of claiming need of a backend: five small tables in one consistent view.

Which records are live: the rules of leases, dead owners and age, inside one transaction.

What stores over tables have in common: transactions, looking and housekeeping.

The store whose rules are written once, whatever holds its tables.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, Unpack

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import (
    BUCKET_CAP,
    FILE_ANYWAY,
    SCAN_CAP,
    Candidate,
    ClaimState,
    Offer,
    Store,
    StoreInfo,
    url_key,
)
from dedupcrawl.stores.codec import decode, decode_seen, encode
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.base import Record


OWNER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Lease:
    """Who filed a record that is not committed yet; a committed record has no claim."""

    owner: bytes  #: ``OWNER_BYTES`` random bytes, another token for each store object
    state: ClaimState
    until: float  #: Unix time at which the lease ends unless the owner renewed it


@dataclass(frozen=True, slots=True)
class Owner:
    """A store object that files records; renewing all its claims is one small write."""

    until: float  #: Unix time to which it has renewed all its claims
    lost: int = 0  #: how many of its claims ended without its doing


@dataclass(frozen=True, slots=True)
class TableSizes:
    """How much a namespace holds."""

    pages: int
    keys: int
    bytes: int


class StoreTables(Protocol):
    """One namespace inside one transaction."""

    def next_id(self) -> int:
        """Return an id above all that were ever given, and remember it."""

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        """File a packed record under its keys."""

    def drop_record(self, id: int, keys: Iterable[bytes]) -> None:
        """Take a record out, and its keys."""

    def record(self, id: int) -> bytes | None:
        """Return a packed record."""

    def records(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Walk the packed records from the id ``start`` on."""

    def ends(self) -> list[tuple[int, bytes]]:
        """Return the packed records filed first and last, or nothing."""

    def newest(self, key: bytes, since: int) -> Iterable[int]:
        """Walk the ids above ``since`` in a bucket, newest first."""

    def claim(self, id: int) -> Lease | None:
        """Return the claim on a record."""

    def put_claim(self, id: int, claim: Lease) -> None:
        """File a claim, or another state of it."""

    def drop_claim(self, id: int) -> None:
        """End a claim."""

    def claims(self, start: int) -> Iterator[tuple[int, Lease]]:
        """Walk the claims from the id ``start`` on."""

    def owner(self, token: bytes) -> Owner | None:
        """Return what is known of an owner."""

    def put_owner(self, token: bytes, owner: Owner) -> None:
        """Remember an owner."""

    def drop_owner(self, token: bytes) -> None:
        """Forget an owner, which has no claims any more."""

    def owners(self) -> list[bytes]:
        """Return the tokens of all owners."""

    def sizes(self) -> TableSizes:
        """Count."""


@dataclass(slots=True)
class LiveRecords:
    """The tables as one store object sees them at one moment."""

    tables: StoreTables
    me: bytes  #: the token of that store object
    now: float
    oldest: float  #: records seen before this Unix time are past their time to live
    breathes: Callable[[bytes], bool]  #: whether the process of another owner still lives
    _verdicts: dict[bytes, float] = field(default_factory=dict)

    def candidate(self, id: int) -> Candidate | None:
        """Return the live record with this id."""
        value = self.tables.record(id)
        if value is None or decode_seen(value, id) < self.oldest:
            return None
        claim = self.tables.claim(id)
        if claim is None:
            return Candidate(id, decode(value, id), ClaimState.COMMITTED, mine=False)
        if not self.holds(claim):
            return None
        return Candidate(id, decode(value, id), claim.state, mine=claim.owner == self.me)

    def search(self, probes: Iterable[bytes], since: int) -> tuple[list[Candidate], list[int]]:
        """Return the live records under the probes by rising id, and the ids of dead ones met."""
        met: dict[int, Candidate | None] = {}
        for probe in probes:
            live = 0
            for id in islice(self.tables.newest(probe, since), SCAN_CAP):
                if id not in met:
                    met[id] = self.candidate(id)
                live += met[id] is not None
                if live == BUCKET_CAP:
                    break
        found = sorted((hit for hit in met.values() if hit is not None), key=lambda hit: hit.id)
        return found, [id for id, hit in met.items() if hit is None]

    def holds(self, claim: Lease) -> bool:
        """Whether the lease of a claim runs and its owner lives."""
        renewed = self._verdicts.get(claim.owner)
        if renewed is None:
            renewed = self._verdicts[claim.owner] = self._renewed(claim.owner)
        return self.now < max(claim.until, renewed) and renewed > 0

    def _renewed(self, token: bytes) -> float:
        """Until when an owner has renewed its claims; 0 for a dead one."""
        owner = self.tables.owner(token)
        if owner is None or (token != self.me and not self.breathes(token)):
            return 0.0
        return owner.until

    def remove(self, id: int, *, tell: bool = True) -> bool:
        """Take a record out with its keys and its claim. False: it is not there.

        ``tell``: whether the owner of the claim has yet to learn of it.
        """
        value = self.tables.record(id)
        if value is None:
            return False
        self.tables.drop_record(id, decode(value, id).keys)
        claim = self.tables.claim(id)
        if claim is not None:
            self.tables.drop_claim(id)
            if tell:
                self._tell_loss(claim.owner)
        return True

    def expire(self) -> None:
        """Remove the two oldest records if they are past their time to live.

        So a store to which pages are added does not grow without end, and no addition takes long.
        """
        for _ in range(2):
            oldest = self.tables.ends()[:1]
            if not oldest or decode_seen(oldest[0][1], oldest[0][0]) >= self.oldest:
                return
            with suppress(StoreError):  # a damaged record stays, and nobody has to wait for its sake
                self.remove(oldest[0][0])

    def _tell_loss(self, token: bytes) -> None:
        """Let an owner know, when it next renews, that a claim of its own is gone."""
        owner = self.tables.owner(token)
        if owner is not None:
            self.tables.put_owner(token, replace(owner, lost=owner.lost + 1))


T = TypeVar("T")

CHUNK = 256  #: most records removed in one transaction, so that other writers wait a few milliseconds
PRUNE_SCAN = 16 * CHUNK  #: most records looked at in one


class Timing(TypedDict):
    """The keyword arguments of a store over tables that concern time."""

    lease: float  #: seconds for which a claim lives without being renewed
    ttl: float | None  #: seconds after which a record no longer counts; None: never
    clock: Callable[[], float]  #: returns the Unix time in seconds


class TabledStore(Store):
    """Looking and housekeeping over :class:`~dedupcrawl.stores.transactional.StoreTables`.

    A subclass says how a piece of work runs in a transaction, and whether another owner still lives.
    Work may run twice (a transaction that found the file too small is begun anew), so it changes
    nothing but the tables.
    """

    def __init__(self, url: str, namespace: str, scheme: str, **timing: Unpack[Timing]) -> None:
        self.url = url
        self.namespace = namespace
        self._scheme = scheme
        ttl = timing["ttl"]
        self._lease = timing["lease"]
        self._ttl = inf if ttl is None else ttl
        self._clock = timing["clock"]
        self._me = secrets.token_bytes(OWNER_BYTES)

    @abstractmethod
    def _read(self, work: Callable[[StoreTables], T]) -> T:
        """Run ``work`` on one consistent view of the tables."""

    @abstractmethod
    def _write(self, work: Callable[[StoreTables], T]) -> T:
        """Run ``work`` so that all its changes are made at once, or none."""

    @abstractmethod
    def _breathes(self, token: bytes) -> bool:
        """Whether the process of another owner lives, as far as one can know."""

    def _view(self, tables: StoreTables) -> LiveRecords:
        now = self._clock()
        return LiveRecords(tables, self._me, now, now - self._ttl, self._breathes)

    # -- looking ------------------------------------------------------------------------------

    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        return self._read(lambda tables: tuple(self._view(tables).search(probes, 0)[0]))

    def get(self, id: int) -> Candidate | None:
        return self._read(lambda tables: self._view(tables).candidate(id))

    def lookup(self, url: str) -> Candidate | None:
        return self._read(partial(self._lookup, url))

    def _lookup(self, url: str, tables: StoreTables) -> Candidate | None:
        view = self._view(tables)
        hits = (view.candidate(id) for id in tables.newest(url_key(url), 0))
        return next((hit for hit in hits if hit is not None and hit.record.url == url), None)

    def records(self) -> Iterator[Candidate]:
        start: int | None = 0
        while start is not None:
            found, start = self._read(partial(self._some, start))
            yield from found

    def _some(self, start: int, tables: StoreTables) -> tuple[list[Candidate], int | None]:
        """Return some live records, and the id to go on with (None: at the end)."""
        view = self._view(tables)
        ids = [id for id, _ in islice(tables.records(start), CHUNK)]
        found = [hit for hit in map(view.candidate, ids) if hit is not None]
        return found, ids[-1] + 1 if ids else None

    # -- housekeeping -------------------------------------------------------------------------

    def forget(self, url: str) -> int:
        return self._write(partial(self._forget, url))

    def _forget(self, url: str, tables: StoreTables) -> int:
        ids = list(tables.newest(url_key(url), 0))
        values = ((id, tables.record(id)) for id in ids)
        doomed = [id for id, value in values if value is not None and decode(value, id).url == url]
        view = self._view(tables)
        return sum(view.remove(id) for id in doomed)

    def prune(self, older_than: float) -> int:
        return self._bury() + self._in_chunks(partial(self._prune, older_than))

    def _prune(self, older_than: float, start: int, tables: StoreTables) -> tuple[int, int | None]:
        """Remove a chunk; return how many, and the id to go on with (None: at the end)."""
        view = self._view(tables)
        doomed: list[int] = []
        following = None
        for looked, (id, value) in enumerate(tables.records(start)):
            if looked == PRUNE_SCAN or len(doomed) == CHUNK:
                following = id
                break
            claim = tables.claim(id)
            old = decode_seen(value, id) < max(older_than, view.oldest)
            if old if claim is None else not view.holds(claim):
                doomed.append(id)
        return sum(view.remove(id) for id in doomed), following

    def _bury(self) -> int:
        """Remove the dead owners and all their claims; return how many records went."""
        owners = self._read(lambda tables: tables.owners())
        dead = {token for token in owners if token != self._me and not self._breathes(token)}
        removed = self._in_chunks(partial(self._bury_some, dead)) if dead else 0
        for token in dead:
            self._write(partial(_drop_owner, token))
        return removed

    def _bury_some(self, dead: set[bytes], start: int, tables: StoreTables) -> tuple[int, int | None]:
        claims = list(islice(tables.claims(start), CHUNK))
        view = self._view(tables)
        removed = sum(view.remove(id, tell=False) for id, claim in claims if claim.owner in dead)
        return removed, claims[-1][0] + 1 if claims else None

    def _in_chunks(self, work: Callable[[int, StoreTables], tuple[int, int | None]]) -> int:
        """Do a long piece of work in short transactions, each going on where the last one stopped."""
        removed = 0
        start: int | None = 0
        while start is not None:
            count, start = self._write(partial(work, start))
            removed += count
        return removed

    def info(self) -> StoreInfo:
        return self._read(self._info)

    def _info(self, tables: StoreTables) -> StoreInfo:
        sizes = tables.sizes()
        moments = [decode_seen(value, id) for id, value in tables.ends()]
        view = self._view(tables)
        claims = [claim for _, claim in tables.claims(0)]
        states = [claim.state for claim in claims]
        return StoreInfo(
            url=self.url,
            namespace=self.namespace,
            pages=sizes.pages,
            open=states.count(ClaimState.OPEN),
            scraped=states.count(ClaimState.SCRAPED),
            keys=sizes.keys,
            bytes=sizes.bytes,
            oldest=moments[0] if moments else None,
            newest=moments[-1] if moments else None,
            scheme=self._scheme,
            ended=sum(not view.holds(claim) for claim in claims),
        )


def _drop_owner(token: bytes, tables: StoreTables) -> None:
    tables.drop_owner(token)


class TransactionalStore(TabledStore):
    """Offers, claims and leases."""

    def __init__(self, url: str, namespace: str, scheme: str, **timing: Unpack[Timing]) -> None:
        super().__init__(url, namespace, scheme, **timing)
        self._own: set[int] = set()
        self._lost = 0

    # -- filing -------------------------------------------------------------------------------

    def offer(self, record: Record, since: int = 0) -> Offer:
        offer = self._write(partial(self._file, record, encode(record), since, None))
        if offer.id is not None:
            self._own.add(offer.id)
        return offer

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        old = sorted(set(supersede))
        return self._write(partial(self._file, record, encode(record), since, old))

    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        packed = [(record, encode(record)) for record in records]
        return self._write(partial(self._add_many, packed))

    def _add_many(self, packed: Sequence[tuple[Record, bytes]], tables: StoreTables) -> list[Offer]:
        return [self._file(record, value, 0, [], tables) for record, value in packed]

    def restore(self, records: Sequence[Record]) -> int:
        packed = [(record, encode(record)) for record in records]
        return self._in_chunks(partial(self._restore, packed))

    def _restore(
        self, packed: Sequence[tuple[Record, bytes]], start: int, tables: StoreTables
    ) -> tuple[int, int | None]:
        view, end = self._view(tables), start + CHUNK
        some = packed[start:end]
        fresh = [pair for pair in some if not pair[0].is_among(view.search(pair[0].home, 0)[0])]
        for record, value in fresh:
            self._file(record, value, FILE_ANYWAY, [], tables)
        return len(fresh), end if end < len(packed) else None

    def _file(
        self, record: Record, value: bytes, since: int, supersede: list[int] | None, tables: StoreTables
    ) -> Offer:
        """File a record for good, or (None: it supersedes nothing yet) as a claim."""
        view = self._view(tables)
        found, dead = view.search(record.lookup_keys, since)
        for id in dead:
            view.remove(id)
        if found:
            return Offer(None, tuple(found))
        if self._ttl < inf:
            view.expire()
        id = tables.next_id()
        tables.put_record(id, value, record.keys)
        if supersede is None:
            tables.put_claim(id, Lease(self._me, ClaimState.OPEN, view.now + self._lease))
        for old in supersede or ():
            view.remove(old)
        return Offer(id)

    # -- claims -------------------------------------------------------------------------------

    def scraped(self, id: int) -> bool:
        return self._write(partial(self._mark_scraped, id))

    def _mark_scraped(self, id: int, tables: StoreTables) -> bool:
        claim = tables.claim(id)
        if claim is None or claim.owner != self._me:
            return False
        tables.put_claim(id, Lease(self._me, ClaimState.SCRAPED, claim.until))
        return True

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        mine = self._write(partial(self._commit, set(ids), sorted(set(supersede))))
        self._own.difference_update(mine)
        return len(mine)

    def _commit(self, ids: set[int], supersede: list[int], tables: StoreTables) -> list[int]:
        mine = self._mine(ids, tables)
        for id in mine:
            tables.drop_claim(id)
        view = self._view(tables)
        for id in supersede if mine else ():
            view.remove(id)
        return mine

    def release(self, ids: Iterable[int]) -> int:
        mine = self._write(partial(self._release, set(ids)))
        self._own.difference_update(mine)
        return len(mine)

    def _release(self, ids: set[int], tables: StoreTables) -> list[int]:
        mine = self._mine(ids, tables)
        view = self._view(tables)
        for id in mine:
            view.remove(id, tell=False)
        return mine

    def _mine(self, ids: Iterable[int], tables: StoreTables) -> list[int]:
        claims = ((id, tables.claim(id)) for id in sorted(ids))
        return [id for id, claim in claims if claim is not None and claim.owner == self._me]

    def renew(self) -> int:
        lost, gone = self._write(self._renew)
        self._lost = lost
        self._own.difference_update(gone)
        return len(self._own)

    def _renew(self, tables: StoreTables) -> tuple[int, set[int]]:
        # Without a row somebody took this process for dead, and may have removed any claim.
        owner = tables.owner(self._me) or Owner(0.0, self._lost + 1)
        tables.put_owner(self._me, Owner(self._clock() + self._lease, owner.lost))
        own = set(self._own) if owner.lost != self._lost else set()
        return owner.lost, own.difference(self._mine(own, tables))

    def _withdraw(self) -> None:
        """Release every own claim, a chunk at a time."""
        for chunk in chunked(sorted(self._own), CHUNK):
            self.release(chunk)
