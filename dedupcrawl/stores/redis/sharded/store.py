"""A store whose namespace is sharded over all nodes of a cluster.

Records and buckets are under 1,024 hash tags. The configuration and the leases of workers exist once: they are under
the tag of the namespace, as on a single server.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from dedupcrawl.errors import DamageError, StoreError, StoreUnreachableError
from dedupcrawl.stores.base import (
    FILE_ANYWAY,
    SCAN_CAP,
    ClaimState,
    FilingDecision,
    JudgedOffer,
    JudgedStore,
    Offer,
    StoreInfo,
    check_unused,
    log_damage,
    log_reset,
    raise_damage,
    url_key,
)
from dedupcrawl.stores.records import OWNER_BYTES
from dedupcrawl.stores.redis.address import SHARDED
from dedupcrawl.stores.redis.client import ServerStore
from dedupcrawl.stores.redis.info import owners_here, workers_info
from dedupcrawl.stores.redis.namespace import milliseconds, open_namespace, stored_shelves
from dedupcrawl.stores.redis.offers import join_keys
from dedupcrawl.stores.redis.sharded.layout import TAGS, ShardLayout, long_id, packed_time
from dedupcrawl.stores.redis.sharded.packed_values import TIME_BYTES, ValueCodec, seen_in
from dedupcrawl.stores.redis.sharded.protocol import ShardWriter
from dedupcrawl.stores.redis.sharded.scan import count_namespace, log_outgrown, memory_bytes, remove_keys, scanned
from dedupcrawl.stores.redis.sharded.shard_scripts import scripts
from dedupcrawl.stores.redis.sharded.wire import ShardTransport
from dedupcrawl.stores.redis.site_hash import SITES
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.base import Candidate, OnDamage, Record
    from dedupcrawl.stores.redis.address import ConnectionOptions
    from dedupcrawl.stores.redis.namespace import OpenOptions
    from dedupcrawl.stores.redis.sharded.layout import ClaimEntry, Command
    from dedupcrawl.stores.redis.sharded.reader import Rounds, UnsettledClaim
    from dedupcrawl.stores.workers import WorkersInfo

T = TypeVar("T")

COMMANDS_AT_ONCE = 4096  #: in one round trip
PAGES_PER_VISIT = 100  #: offers after which a batch of records is visited to remove those past their time to live
AT_ONCE = 256  #: pages, or ids, in one round trip
CONDEMNED_FOR = 3_600_000  #: milliseconds for which an id stays condemned: no command is on its way for so long
MAX_PATIENCE = 10.0  #: seconds for which a call follows a failover, at most a sixth of the lease

REMEMBERED = 4096  #: offers whose candidates are remembered for a second offer

logger = logging.getLogger(__name__)


class ShardedStore(ServerStore, JudgedStore):
    """One namespace on all nodes of a cluster; arguments and errors are those of :class:`RedisStore`."""

    def __init__(self, address: ConnectionOptions, namespace: str, scheme: str | None, options: OpenOptions) -> None:
        super().__init__(address, namespace, scheme, options)
        self._server_clock = options.server_clock
        self._renewed = 0  # milliseconds of the servers' clock
        self._offset = 0.0  # seconds from the monotonic clock to that of the server
        self._plain = PlainOfferRegistry()
        self._is_strict = address.wait_replicas > 0
        self._visiting = Lock()
        self._visits: Iterator[list[tuple[bytes, ClaimEntry]]] = iter(())
        self._unvisited = 0  # pages since some records were visited
        self._session.layout = SHARDED
        try:
            patience = max(1.0, min(MAX_PATIENCE, options.lease / 6))
            self._wire = ShardTransport(address, scripts(), patience)
        except BaseException:
            self._session.end()
            raise
        self._layout = ShardLayout(self._names, self.url, address.pages)
        self.protocol = ShardWriter(
            self._layout,
            self._wire,
            self._now,
            options.clock,
            lease=options.lease,
            ttl=self._ttl,
            asks_servers=options.server_clock is None,
        )
        self._own = self.protocol.own
        self._superseded: set[int] = set()  # ids of records to remove: others that are committed replace them
        try:
            self._synchronize()
            if options.reset:
                log_reset(self.url, namespace, self._reset())
            self._enter()
        except BaseException:
            self._end()
            raise
        with suppress(StoreError):  # a node that is away now may not be needed
            log_outgrown(self._layout, self._ask)

    # -- opening, leases and closing ------------------------------------------------------------

    def _enter(self) -> None:
        """Open or create the namespace, and take a token of our own."""
        meta = open_namespace(
            self._session.call, self.url, self._names, scheme=self._scheme, layout=self._layout.name, secret=self.secret
        )
        self._meta, self.secret = meta, meta.secret
        self._layout.set_shelves(meta.shelves)
        self._layout.codec = ValueCodec(meta.scheme, meta.secret)
        if self._scheme is not None:
            self._take_token()

    def _take_token(self) -> None:
        """Begin a lease. One that has ended is never renewed: others may be removing its claims."""
        token = secrets.token_bytes(OWNER_BYTES)
        self._session.token = token
        self._renewed = self._now()
        if not self._extend_lease("1"):
            raise StoreUnreachableError(f"The store {self.url} cannot be used now: a failover has lost a lease.")
        self.protocol.tokens.add(token)
        self.protocol.token = token

    def _extend_lease(self, is_new: str) -> bool:
        """Begin or renew the lease; return False if there is none any more.

        If claims wait for replicas, leases do too: others remove the claims of a worker that a failover has forgotten.
        """
        if not self._session.call("lease", self._lease, is_new, self._stats):
            return False
        return not self._is_strict or self._ask([self._layout.keep_lease(self._session.token)])[0] == 1

    def _synchronize(self) -> None:
        """Learn the time of the server that keeps the leases."""
        if self._server_clock is None:
            seconds, micros = self._session.with_client(lambda client: client.time())
            self._offset = seconds + micros / 1e6 - time.monotonic()

    def _now(self) -> int:
        """Return the time of the servers in milliseconds."""
        return milliseconds(time.monotonic() + self._offset if self._server_clock is None else self._server_clock())

    def renew(self) -> int:
        self._session.check()
        self._synchronize()
        self._renewed = self._now()
        if not self._extend_lease(""):
            with self._lock:
                self.lost_leases += 1  # before the new token: what was filed until now has the old one
                self._enter()
        self._adopt_own()
        self._ask(self.protocol.withdrawn.due)
        self.protocol.withdrawn.sent()
        self._end_stages()
        self._clean_up()
        return len(self._own)

    def _adopt_own(self) -> None:
        """Give the claims of ended leases to the new token; forget those that others have removed."""
        token = self.protocol.token
        with self._lock:
            late = [(id, claim) for id, claim in self._own.items() if claim.token != token]
        commands = [self._layout.adopt(claim.id, claim.token, token) for _, claim in late]
        for (id, claim), reply in zip(late, self._ask(commands), strict=True):
            claim.token = token
            if not reply:
                self._remove_own([id])

    def _remove_own(self, ids: Iterable[int]) -> None:
        with self._lock:
            for id in ids:
                self._own.pop(id, None)

    def _ask(self, commands: Sequence[Command]) -> list[Any]:
        self._session.check()
        return [reply for some in chunked(commands, COMMANDS_AT_ONCE) for reply in self._wire.ask(some)]

    def workers(self) -> WorkersInfo:
        return self._session.with_client(lambda client: workers_info(client, self._names, is_sharded=True))

    def _withdrawals(self) -> Sequence[Callable[[], object]]:
        return self._end_stages, self._clean_up, lambda: self.release(list(self._own))

    def _end(self) -> None:
        super()._end()
        self._wire.close()

    def _reset(self) -> int:
        """Remove the namespace; return how many pages it had."""
        users = self._session.with_client(lambda client: owners_here(client, self._names))
        check_unused(self.url, self.namespace, users)
        new = self._layout.shelves
        self._layout.set_shelves(self._session.with_client(lambda client: stored_shelves(client, self._names)))
        pages = count_namespace(self._layout, self._ask, lambda tokens: self._run(self.protocol.dead(tokens))).pages
        remove_keys(self._layout, self._ask)
        self._layout.set_shelves(new)
        self._notes.clear()
        self._session.with_client(
            lambda client: client.unlink(*map(self._names.key, ("meta", "owners", "workers", SITES)))
        )
        return pages

    def _count(self, commands: Sequence[Command]) -> int:
        """Return how many of these commands found what they change."""
        return self._ask(commands).count(1)

    # -- offers ---------------------------------------------------------------------------------

    def commit_and_offer(self, ids: Iterable[int], offers: Sequence[JudgedOffer]) -> tuple[int, list[Offer]]:
        self._session.check()
        if self._now() - self._renewed > self._lease / 3:  # what is claimed under a lease that has ended is dead
            self.renew()
        self._clean_up()
        committed = dict(self._own_filings(ids))
        lost: list[UnsettledClaim] = []
        ends: list[Offer] = []
        claimed: list[UnsettledClaim] = []
        try:
            for some, old in zip_longest(chunked(offers, AT_ONCE), chunked(committed.values(), AT_ONCE)):
                offered, claims, gone = self.protocol.offer(some or (), old or ())
                ends += offered
                claimed += claims
                lost += gone
        except BaseException:
            self.protocol.abandoned.update((claim.id, claim) for claim in claimed)
            raise
        self._expire_some(len(offers))
        permanent = {end.id for end, offer in zip(ends, offers, strict=True) if offer.committed}
        with self._lock:
            self._own.update((each.long_id, each) for each in claimed if each.long_id not in permanent)
        self._remove_own(committed)
        return len(committed) - len(lost), ends

    def _expire_some(self, pages: int) -> None:
        """Remove some records past their time to live, so that the store does not grow without bound."""
        self._unvisited += pages if self._ttl is not None else 0
        if self._unvisited < PAGES_PER_VISIT or not self._visiting.acquire(blocking=False):
            return
        try:
            self._unvisited = 0
            some = next(self._visits, None)
            if some is None:
                self._visits = scanned(self._layout, self._ask)
            else:
                expired = [(id, each) for id, each in some if self.protocol.is_expired(each)]
                self._remove_records(expired)
        finally:
            self._visiting.release()

    def _clean_up(self) -> None:
        """Do what an error has prevented: withdraw pages that may have been filed, and remove those replaced."""
        self._supersede()
        for claim in list(self.protocol.abandoned.values()):
            found = self._run(self.protocol.states([claim.id]))[claim.id]
            if not found.value or long_id(claim.id, found.value) == claim.long_id:  # else another page has the id
                keys = claim.record.keys
                self._ask(self.protocol.removal(claim.id, claim.filed, keys, condemned=self._now()))
            self.protocol.abandoned.pop(claim.id, None)

    def offer(self, record: Record, since: int = 0) -> Offer:
        return self._offer([record], since, committed=False)[0]

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        offer = self._offer([record], since, committed=True)[0]
        if offer.id is not None:
            self._supersede({*supersede} - {offer.id})
        return offer

    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        return self._offer(records, 0, committed=True)

    def restore(self, records: Sequence[Record]) -> int:
        self._clean_up()
        found = self.protocol.run([self.protocol.find(record.own_keys) for record in records])
        fresh = [record for record, hits in zip(records, found, strict=True) if not record.is_among(hits)]
        self._offer(fresh, FILE_ANYWAY, committed=True)
        return len(fresh)

    def _offer(self, records: Sequence[Record], since: int, *, committed: bool) -> list[Offer]:
        """File records unless there are candidates, other than those that were returned for the same record before."""
        judges = [None if since == FILE_ANYWAY else self._plain.judge(record, since) for record in records]
        pairs = zip(records, judges, strict=True)
        ends = self.offer_judged([JudgedOffer(record, judge, committed) for record, judge in pairs])
        for record, judge, end in zip(records, judges, ends, strict=True):
            if judge is not None and end.id is None:
                self._plain.remember(record, end)
        return [
            Offer(end.id) if judge is None or end.id is not None else Offer(None, judge.uncompared(end.candidates))
            for judge, end in zip(judges, ends, strict=True)
        ]

    # -- claims ---------------------------------------------------------------------------------

    def _own_filings(self, ids: Iterable[int]) -> list[tuple[int, UnsettledClaim]]:
        with self._lock:
            return [(id, self._own[id]) for id in sorted({*ids}) if id in self._own]

    def scraped(self, id: int) -> bool:
        return self._scraped([id]) == 1

    def scraped_many(self, ids: Iterable[int]) -> None:
        self._scraped(ids)

    def _scraped(self, ids: Iterable[int]) -> int:
        own = self._own_filings(ids)
        for _, claim in own:
            claim.slim()
        return self._count([self._layout.scraped(claim.id, claim.token) for _, claim in own])

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        self._session.check()
        own = dict(self._own_filings(ids))
        lost = [self._run(self.protocol.commit(some)) for some in chunked(own.values(), AT_ONCE)]
        committed = len(own) - sum(map(len, lost))
        self._remove_own(own)
        if committed:
            self._supersede(supersede)
        return committed

    def _end_stages(self) -> None:
        """Send now what commits have left to the next call."""
        self._session.check()
        self._wire.flush()

    def _supersede(self, ids: Iterable[int] = ()) -> None:
        """Remove records that are replaced; when a node fails now, with the next call."""
        with self._lock:
            self._superseded.update(id for id in ids if id > 0)
            old = frozenset(self._superseded)
        if old:
            found = self._run(self.protocol.states(sorted({self._layout.short_id(id) for id in old})))
            # Another page may have the short id by now.
            self._remove_records(
                [(id, each) for id, each in found.items() if each.value and long_id(id, each.value) in old]
            )
            with self._lock:
                self._superseded.difference_update(old)

    def _remove_records(self, found: Sequence[tuple[bytes, ClaimEntry]]) -> int:
        """Remove records, whatever their state, and their ids in the buckets; return how many were there."""
        removed = self._count([self._layout.remove(id, each.value[:TIME_BYTES]) for id, each in found])
        leaves = [self._layout.leave(key, id) for id, each in found for key in self.protocol.keys_of(id, each)]
        self._ask(leaves)
        self._remove_own(long_id(id, each.value) for id, each in found)
        return removed

    def release(self, ids: Iterable[int]) -> int:
        own = self._own_filings(ids)
        removals = [self._layout.remove(each.id, packed_time(each.filed)) for _, each in own]
        released = self._count(removals)
        self.protocol.withdrawn.add(removals)
        self._ask([self._layout.leave(key, each.id) for _, each in own for key in each.record.keys])
        self._remove_own(id for id, _ in own)
        return released

    # -- lookups --------------------------------------------------------------------------------

    def _run(self, rounds: Rounds[T]) -> T:
        self._session.check()
        return self.protocol.run([rounds])[0]

    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        join_keys(probes)  # checks them
        return self._run(self.protocol.find(tuple(dict.fromkeys(probes))))

    def get(self, id: int) -> Candidate | None:
        hits = self._run(self.protocol.live([self._layout.short_id(id)])) if id > 0 else ()
        return next((hit for hit in hits if hit.id == id), None)

    def lookup(self, url: str) -> Candidate | None:
        packed = self._ask([self._layout.bucket(url_key(url))])[0]
        hits = self._run(self.protocol.live(self._layout.ids_in(packed or b"")))
        return next((hit for hit in reversed(hits) if hit.record.url == url), None)

    def records(self, on_damage: OnDamage = raise_damage) -> Iterator[Candidate]:
        for some in scanned(self._layout, self._ask):
            live = self._run(self.protocol.only_live(dict(some)))
            found = []
            for id, each in live.items():
                try:
                    found.append(self.protocol.candidate(id, each))
                except DamageError as error:
                    on_damage(error)
            yield from sorted(found, key=lambda candidate: candidate.id)

    # -- housekeeping ---------------------------------------------------------------------------

    def forget(self, url: str, on_damage: OnDamage = log_damage) -> int:
        packed = self._ask([self._layout.bucket(url_key(url))])[0] or b""
        ids = self._layout.ids_in(packed)
        states = self._run(self.protocol.states(ids)) if ids else {}
        removed = self._remove_records(self._of_url(url, states.items(), on_damage))
        if len(ids) >= SCAN_CAP:  # older records of the URL may have left the bucket; all have the same home
            for some in scanned(self._layout, self._ask, [self._layout.tag_of(url_key(url))]):
                removed += self._remove_records(self._of_url(url, some, on_damage))
        return removed

    def _of_url(
        self, url: str, found: Iterable[tuple[bytes, ClaimEntry]], on_damage: OnDamage
    ) -> list[tuple[bytes, ClaimEntry]]:
        there = []
        for id, each in found:
            try:
                if each.value and self._layout.candidate(id, each, self.protocol.tokens).record.url == url:
                    there.append((id, each))
            except DamageError as error:
                on_damage(error)
        return there

    def prune(self, older_than: float, on_damage: OnDamage = log_damage) -> int:
        self._end_stages()
        self.prune_sites(older_than)
        self.notes.prune(older_than)
        removed = 0
        before = self._now() - milliseconds(self._clock() - older_than)
        for some in scanned(self._layout, self._ask):
            live = self._run(self.protocol.only_live(dict(some)))
            old = {id for id, each in live.items() if each.state == b"c" and seen_in(each.value) < before}
            doomed = [(id, each) for id, each in some if id in old or id not in live or each.state == b"u"]
            sound = [each for each in doomed if self._is_sound(*each, on_damage)]
            removed += self._remove_records([each for each in sound if each[0] in old])
            removed += len(self._run(self.protocol.remove_dead([each for each in sound if each[0] not in old])))
        swept = self._ask([self._layout.sweep(n, self._now() - CONDEMNED_FOR) for n in range(TAGS)])
        staged = {id for n, reply in enumerate(swept) for id in self._layout.swept(n, reply)}
        self._ask([self._layout.tidy(id) for id in sorted(staged)])
        for text in self._session.call("remove_owners"):
            on_damage(self._session.damage(text.decode("utf-8", "replace")))
        return removed

    def _is_sound(self, id: bytes, found: ClaimEntry, on_damage: OnDamage) -> bool:
        try:
            self._layout.candidate(id, found, self.protocol.tokens)
        except DamageError as error:
            on_damage(error)
            return False
        return True

    def info(self) -> StoreInfo:
        count = count_namespace(self._layout, self._ask, lambda tokens: self._run(self.protocol.dead(tokens)))
        bytes_used = memory_bytes(self._layout, self._ask)
        about = StoreInfo(self.url, self.namespace, bytes=bytes_used, scheme=self._meta.scheme, **count._asdict())
        return self._with_tables(replace(about, layout=SHARDED))


# -- offers of callers who compare pages themselves -------------------------------------------------


class PlainOfferRegistry:
    """Makes the judges of plain offers, and remembers the candidates that callers compare before they offer again."""

    def __init__(self) -> None:
        self._compared: OrderedDict[tuple[Any, ...], frozenset[int]] = OrderedDict()
        self._lock = Lock()

    def judge(self, record: Record, since: int) -> PlainOfferJudge:
        """Return the judge of an offer; ``since`` as for :meth:`Store.offer`."""
        with self._lock:
            known = self._compared.pop(_identity(record), None) if since else None
        return PlainOfferJudge(record, frozenset() if known is None else known, 0 if known is not None else since)

    def remember(self, record: Record, end: Offer) -> None:
        """Remember the candidates of a page: its caller will offer it again unless it is a copy."""
        with self._lock:
            self._compared[_identity(record)] = frozenset(hit.id for hit in end.candidates)
            while len(self._compared) > REMEMBERED:
                self._compared.popitem(last=False)


class PlainOfferJudge:
    """The judge of a plain offer: a page is filed unless there are candidates that its caller has not compared."""

    def __init__(self, record: Record, compared: frozenset[int], since: int) -> None:
        self._record = record
        self._since = since
        self.compared = compared

    def uncompared(self, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return the candidates that the caller has not compared."""
        return tuple(hit for hit in candidates if hit.id > self._since and hit.id not in self.compared)

    def __call__(self, candidates: Sequence[Candidate]) -> FilingDecision:
        found = self.uncompared(candidates)
        unsettled = tuple(hit.id for hit in found if hit.state is not ClaimState.COMMITTED)
        # A pending page is no candidate yet: it may give way. Protocol and caller wait for the others.
        return FilingDecision(None if len(unsettled) < len(found) else self._record, unsettled)


def _identity(record: Record) -> tuple[Any, ...]:
    return record.url, record.seen, record.keys, record.sketches
