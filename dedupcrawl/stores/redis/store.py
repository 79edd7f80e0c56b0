"""A store on a Redis or Valkey server. Each operation is one call of one script, so it is atomic.

Leases follow the server's clock. The age of a record is measured on its worker's clock and subtracted from
the server's time. There are no lock files: the claims of a dead worker end with their lease.

A call whose reply is lost may have been executed. So every operation can be called twice (see
:mod:`dedupcrawl.stores.redis.offers` for offers).
"""

from __future__ import annotations

import logging
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import DamageError, StoreMismatchError
from dedupcrawl.stores.base import ClaimState, Offer, log_damage, log_reset, raise_damage, url_key
from dedupcrawl.stores.redis.client import ServerStore
from dedupcrawl.stores.redis.info import namespace_info, remove_namespace, workers_info
from dedupcrawl.stores.redis.namespace import MAX_ID, decode_candidate, milliseconds, open_namespace
from dedupcrawl.stores.redis.offers import MAX_IDS_PER_CALL, OfferClient, join_keys
from dedupcrawl.stores.redis.packed_urls import pack_url
from dedupcrawl.stores.redis.seen_workers import SeenWorkerTable
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.base import Candidate, OnDamage, Record, StoreInfo
    from dedupcrawl.stores.redis.address import ConnectionOptions
    from dedupcrawl.stores.redis.client import NamespaceLostError
    from dedupcrawl.stores.redis.namespace import OpenOptions
    from dedupcrawl.stores.redis.transports import Argument
    from dedupcrawl.stores.workers import WorkersInfo

logger = logging.getLogger(__name__)


class RedisStore(ServerStore):
    """One namespace on a server.

    Errors are those of :func:`~dedupcrawl.stores.open_store`.

    Args:
        address: where the server is.
        namespace: which part of the store.
        scheme: JSON of the configuration; None: accept any, and the namespace must exist.
        options: lease, time to live, secret seed and clocks.
    """

    def __init__(self, address: ConnectionOptions, namespace: str, scheme: str | None, options: OpenOptions) -> None:
        super().__init__(address, namespace, scheme, options)
        self._layout = address.layout
        self._is_entered = False
        self._seen = SeenWorkerTable()
        self._ttl_argument: Argument = "" if self._ttl is None else self._ttl
        self._own: set[int] = set()  # ids of own claims
        self._lost = 0  # how many own claims others have removed, as far as this object has noticed
        self._call = self._session.call
        self._offers = OfferClient(
            self._session, self._on_namespace_lost, options.clock, lease=self._lease, ttl=self._ttl
        )
        self._known = self._offers.known
        try:
            if options.reset:
                pages = self._session.with_client(lambda client: remove_namespace(client, self.url, self._names))
                log_reset(self.url, namespace, pages)
            self._enter()
        except BaseException:
            self._session.end()
            raise

    def _enter(self) -> None:
        meta = open_namespace(
            self._call, self.url, self._names, scheme=self._scheme, layout=self._layout, secret=self.secret
        )
        if self._is_entered and meta.secret != self.secret:
            raise StoreMismatchError(
                f"The store {self.url} (namespace {self.namespace!r}) lost its data, and another process has "
                "created it again with another secret seed: start this process again."
            )
        self._meta, self.secret, self._is_entered = meta, meta.secret, True
        # If the server loses its data, the namespace is created again in the same layout.
        self._layout = self._session.layout = self._meta.layout
        self._offers.mark = self._meta.mark
        if self._scheme is not None:
            self._lost = self._call("renew", self._lease, -1, self._stats)

    def _on_namespace_lost(self, error: NamespaceLostError, mark: bytes) -> None:
        """Create the namespace with this mark again, unless another thread has; its claims are lost."""
        with self._lock:
            if self._offers.mark == mark:
                logger.warning("%(error)s Pages stored before are no longer known there.", {"error": error})
                self._own.clear()
                self._known.clear()
                self._enter()

    def offer(self, record: Record, since: int = 0) -> Offer:
        earlier = () if since else self._earlier(record)
        if earlier:
            return Offer(None, earlier)
        offer = self._offer(self._offers.claim(record, since), record, since)
        if offer.id is not None:
            with self._lock:
                self._own.add(offer.id)
        return offer

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        earlier = () if since else self._earlier(record)
        if earlier:
            return Offer(None, earlier)
        reply = self._offers.add(record, since, _valid_ids(supersede) if supersede else ())
        return Offer(reply) if type(reply) is int else self._offer(reply, record, since)

    def add_stored(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        return self._offer(self._offers.add(record, since, _valid_ids(supersede), is_stored=True), record, since)

    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        pairs = zip(self._offers.add_many(records, 0), records, strict=True)
        return [self._offer(reply, record, 0) for reply, record in pairs]

    def restore(self, records: Sequence[Record]) -> int:
        self._offers.withdraw_unconfirmed()  # otherwise records to be withdrawn would count as stored
        hits = self._session.call_many("find", [(self._ttl_argument, join_keys(record.own_keys)) for record in records])
        pairs = zip(records, map(self._candidates, hits), strict=True)
        fresh = [record for record, candidates in pairs if not record.is_among(candidates)]
        if fresh:
            self._offers.add_many(fresh, MAX_ID)
        return len(fresh)

    def _offer(self, reply: int | list[Any], record: Record, since: int) -> Offer:
        if isinstance(reply, int):
            return Offer(reply)
        return Offer(None, self._noted(reply, () if since else record.lookup_keys))

    def _earlier(self, record: Record) -> tuple[Candidate, ...]:
        """Return the live records under the lookup keys if most of them are known here; () if an offer is to find them.

        An offer sends the whole record, and gets all candidates. It also removes dead records.
        """
        mark = self._known.mark(record.lookup_keys)
        if not mark or self._offers.has_unconfirmed:
            return ()
        found, dead = self._find_new(record.lookup_keys, mark)
        if dead or not found:
            return ()
        self._offers.note_id(found[-1].id)
        return found

    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        mark = self._known.mark(probes)
        if mark:
            return self._find_new(probes, mark)[0]
        return self._noted(self._call("find", self._ttl_argument, join_keys(probes)), probes)

    def _find_new(self, probes: Sequence[bytes], mark: int) -> tuple[tuple[Candidate, ...], int]:
        """Return the live records under keys, of which the client has most up to the mark, and how many are dead."""
        rows, hits, dead = self._call("find_new", self._ttl_argument, join_keys(probes), mark)
        known, lacking = self._known.read(rows)
        if lacking:
            hits = [*hits, *self._call("get_many", self._ttl_argument, b"".join(lacking))]
        new = self._candidates(hits)
        found = tuple(sorted((*known, *new), key=attrgetter("id"))) if new else tuple(known)
        self._known.add(found, zip(new, hits, strict=True), probes)
        return found, dead

    def _noted(self, hits: Sequence[Any], probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        """Return records that were received; ``probes`` are the keys of which all live records are among them."""
        found = self._candidates(hits)
        self._known.add(found, zip(found, hits, strict=True), probes)
        return found

    def get(self, id: int) -> Candidate | None:
        hits = self._call("get", self._ttl_argument, id) if 0 < id <= MAX_ID else ()
        return next(iter(self._candidates(hits)), None)

    def lookup(self, url: str) -> Candidate | None:
        hits = self._call("lookup", self._ttl_argument, url_key(url), pack_url(url))
        return next(iter(self._candidates(hits)), None)

    def records(self, on_damage: OnDamage = raise_damage) -> Iterator[Candidate]:
        start = 0
        while start >= 0:
            before = start
            start, hits, damaged = self._call("list_records", self._ttl_argument, start)
            self._session.check_progress("list_records", before, start)
            self._report(damaged, on_damage)
            for hit in hits:
                try:
                    candidate = decode_candidate(self.url, self._names, hit, self._has_lived)
                except DamageError as error:
                    on_damage(error)
                else:
                    yield candidate

    def _candidates(self, hits: Iterable[Any]) -> tuple[Candidate, ...]:
        return tuple(decode_candidate(self.url, self._names, hit, self._has_lived) for hit in hits)

    def _has_lived(self, id: int, token: bytes, till: int) -> bool:
        """Whether a worker was alive since this store was opened: it has filed a claim since, or renewed its claims."""
        return id > self._meta.last or self._seen.sees(token, till)

    def scraped(self, id: int) -> bool:
        return bool(self._call("scraped", id))

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        claims, old = _valid_ids(ids), _valid_ids(supersede)
        if old or len(claims) <= MAX_IDS_PER_CALL:
            return self._commit(claims, old)
        return sum(self._commit(chunk, []) for chunk in chunked(claims, MAX_IDS_PER_CALL))

    def _commit(self, claims: list[int], old: list[int]) -> int:
        committed = self._call("commit", len(claims), *claims, *old, again="commit_again")
        self._remove_own(committed)
        return len(committed)

    def release(self, ids: Iterable[int]) -> int:
        return sum(self._release(chunk) for chunk in chunked(_valid_ids(ids), MAX_IDS_PER_CALL))

    def _release(self, ids: list[int]) -> int:
        released = self._call("release", *ids)
        self._remove_own(released)
        return len(released)

    def renew(self) -> int:
        lost = self._call("renew", self._lease, self._lost, self._stats)
        if lost != self._lost:
            with self._lock:
                own = sorted(self._own)
            chunks = chunked(own, MAX_IDS_PER_CALL)
            held = {id for chunk in chunks for id in self._call("own_claims", *chunk)}
            self._remove_own(set(own) - held)
            self._lost = lost
        self._offers.withdraw_unconfirmed()  # after the leases: a server that falters may not answer for long
        return len(self._own)

    def _remove_own(self, ids: Iterable[int]) -> None:
        with self._lock:
            self._own.difference_update(ids)

    def forget(self, url: str, on_damage: OnDamage = log_damage) -> int:
        removed, is_cut, damaged, others = self._call("forget", pack_url(url), url_key(url))
        self._report(damaged, on_damage)
        self._report_unreadable(others, on_damage)
        more = self._in_steps("forget_scan", on_damage, pack_url(url)) if is_cut else 0
        return int(removed) + more

    def prune(self, older_than: float, on_damage: OnDamage = log_damage) -> int:
        self.prune_sites(older_than)
        self.notes.prune(older_than)
        removed = self._in_steps("prune", on_damage, self._ttl_argument, milliseconds(self._clock() - older_than))
        self._report(self._call("remove_owners"), on_damage)
        return removed

    def _in_steps(self, operation: str, on_damage: OnDamage, *arguments: Argument) -> int:
        """Do a long operation in short calls, each starting where the one before stopped."""
        removed = start = 0
        while start >= 0:
            before = start
            count, start, damaged = self._call(operation, *arguments, start)
            self._session.check_progress(operation, before, start)
            removed += count
            self._report(damaged, on_damage)
        return removed

    def _report(self, damaged: Iterable[bytes], on_damage: OnDamage) -> None:
        """Report the values that a script has skipped."""
        for text in damaged:
            on_damage(self._session.damage(text.decode("utf-8", "replace")))

    def _report_unreadable(self, hits: Iterable[Any], on_damage: OnDamage) -> None:
        """Report the records under the key of a URL that seem to have another URL because they are damaged."""
        for id, value in hits:
            try:
                decode_candidate(self.url, self._names, (id, value, ClaimState.COMMITTED, 0))
            except DamageError as error:
                on_damage(error)

    def info(self) -> StoreInfo:
        about = self._session.with_client(
            lambda client: namespace_info(client, self._call, self.url, self._names, self._meta)
        )
        return self._with_tables(about)

    def workers(self) -> WorkersInfo:
        return self._session.with_client(lambda client: workers_info(client, self._names))

    def _withdrawals(self) -> Sequence[Callable[[], object]]:
        return self._offers.withdraw_unconfirmed, self._release_own

    def _release_own(self) -> None:
        self.release(list(self._own))


def _valid_ids(ids: Iterable[int]) -> list[int]:
    return sorted({id for id in ids if 0 < id <= MAX_ID}) if ids else []
