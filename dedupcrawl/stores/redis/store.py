"""A store on a Redis or Valkey server: each operation is one call of one script, and so atomic.

The server's clock rules: leases end by it, and a record's age is what its worker's clock says, taken off the
server's. There are no lock files; the claims of a dead worker end with their lease.

A call whose answer is lost may have been done. So every operation can be asked twice (filing.py says how an
offer can).
"""

from __future__ import annotations

import logging
import time
from threading import RLock
from typing import TYPE_CHECKING, Any

from dedupcrawl.stores.base import Offer, Store, url_key
from dedupcrawl.stores.redis.client import RedisSession
from dedupcrawl.stores.redis.info import namespace_info, open_namespace, workers_info
from dedupcrawl.stores.redis.namespace import KeyNames, decode_candidate, milliseconds
from dedupcrawl.stores.redis.offers import MAX_ID, MAX_IDS_PER_CALL, OfferClient, join_keys
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.base import Candidate, Record, StoreInfo
    from dedupcrawl.stores.redis.address import Address
    from dedupcrawl.stores.redis.client import Argument, NamespaceLostError
    from dedupcrawl.stores.workers import WorkersInfo, WorkerStats

logger = logging.getLogger(__name__)


class RedisStore(Store):
    """One namespace on a server.

    Args:
        address: where the server is.
        namespace: which part of it.
        scheme: JSON of the configuration; None: whichever it was filled with, and it must exist.
        lease: seconds for which a claim lives without being renewed.
        ttl: seconds after which a record no longer counts; None: never.
        clock: Unix time in seconds on this machine, which tells the ages of records.
        server_clock: Unix time in seconds that rules in place of the server's; for tests.

    Raises:
        StoreMismatchError: it was filled under another configuration.
        StoreUnreachableError: the server does not answer.
        StoreError: it cannot be opened.
    """

    remote = True

    def __init__(
        self,
        address: Address,
        namespace: str,
        scheme: str | None,
        *,
        lease: float,
        ttl: float | None,
        clock: Callable[[], float] = time.time,
        server_clock: Callable[[], float] | None = None,
    ) -> None:
        self.url = address.shown
        self.namespace = namespace
        self._layout = address.layout
        self._scheme = scheme
        self._lease = round(lease * 1000)
        self._ttl: Argument = "" if ttl is None else round(ttl * 1000)
        self._clock = clock
        self._names = KeyNames(namespace)
        self._lock = RLock()
        self._own: set[int] = set()
        self._lost = 0
        self._says = b""
        self._session = RedisSession(address, self._names, server_clock)
        self._ask = self._session.ask
        self._filing = OfferClient(
            self._ask, self._session.ask_many, self._begin_anew, clock, lease=self._lease, ttl=self._ttl
        )
        try:
            self._enter()
        except BaseException:
            self._session.end()
            raise

    def _enter(self) -> None:
        key = self._names.all[0]
        self._admission = open_namespace(
            self._session.calls, self.url, self.namespace, key, scheme=self._scheme, layout=self._layout
        )
        # Should the server lose its data, all begin anew in the layout that they had.
        self._layout = self._session.calls.layout = self._admission.layout
        self._filing.mark = self._admission.mark
        if self._scheme is not None:
            self._lost = self._ask("renew", self._lease, -1, self._says)

    # -- filing and looking -------------------------------------------------------------------

    def offer(self, record: Record, since: int = 0) -> Offer:
        offer = self._offer(self._filing.claim(record, since))
        if offer.id is not None:
            with self._lock:
                self._own.add(offer.id)
        return offer

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        return self._offer(self._filing.add(record, since, _valid_ids(supersede)))

    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        return [self._offer(answer) for answer in self._filing.add_many(records, 0)]

    def restore(self, records: Sequence[Record]) -> int:
        self._filing.settle()  # else it would take for stored what is to be taken back
        there = self._session.ask_many("find", [(self._ttl, join_keys(record.home)) for record in records])
        met = zip(records, map(self._candidates, there), strict=True)
        fresh = [record for record, candidates in met if not record.is_among(candidates)]
        if fresh:
            self._filing.restore(fresh)
        return len(fresh)

    def _offer(self, answer: int | list[Any]) -> Offer:
        return Offer(answer) if isinstance(answer, int) else Offer(None, self._candidates(answer))

    def _begin_anew(self, error: NamespaceLostError, mark: bytes) -> None:
        """Go on in a namespace whose server has lost its data; what was claimed there is gone.

        mark: of the namespace that was lost; another thread may have begun anew already.
        """
        with self._lock:
            if self._filing.mark == mark:
                logger.warning("%(error)s Pages stored before are no longer known there.", {"error": error})
                self._own.clear()
                self._enter()

    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        return self._candidates(self._ask("find", self._ttl, join_keys(probes)))

    def get(self, id: int) -> Candidate | None:
        return (
            next(iter(self._candidates(self._ask("get", self._ttl, id))), None) if 0 < id <= MAX_ID else None
        )

    def lookup(self, url: str) -> Candidate | None:
        hits = self._ask("lookup", self._ttl, url_key(url), _url_bytes(url))
        return next(iter(self._candidates(hits)), None)

    def records(self) -> Iterator[Candidate]:
        start = 0
        while start >= 0:
            start, hits = self._ask("walk", self._ttl, start)
            yield from self._candidates(hits)

    def _candidates(self, hits: Iterable[Any]) -> tuple[Candidate, ...]:
        return tuple(decode_candidate(self.url, self._names, hit) for hit in hits)

    # -- claims -------------------------------------------------------------------------------

    def scraped(self, id: int) -> bool:
        return bool(self._ask("scraped", id))

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        claims, old = _valid_ids(ids), _valid_ids(supersede)
        if old or len(claims) <= MAX_IDS_PER_CALL:
            return self._commit(claims, old)
        return sum(self._commit(chunk, []) for chunk in chunked(claims, MAX_IDS_PER_CALL))

    def _commit(self, claims: list[int], old: list[int]) -> int:
        rest = (len(claims), *claims, *old)
        there = self._ask("commit", "0", *rest, again=("1", *rest))
        self._disclaim(there)
        return len(there)

    def release(self, ids: Iterable[int]) -> int:
        return sum(self._release(chunk) for chunk in chunked(_valid_ids(ids), MAX_IDS_PER_CALL))

    def _release(self, ids: list[int]) -> int:
        there = self._ask("release", *ids)
        self._disclaim(there)
        return len(there)

    def renew(self) -> int:
        self._filing.settle()
        lost = self._ask("renew", self._lease, self._lost, self._says)
        if lost != self._lost:
            with self._lock:
                own = sorted(self._own)
            mine = {id for chunk in chunked(own, MAX_IDS_PER_CALL) for id in self._ask("mine", *chunk)}
            self._disclaim(set(own) - mine)
            self._lost = lost
        return len(self._own)

    def _disclaim(self, ids: Iterable[int]) -> None:
        with self._lock:
            self._own.difference_update(ids)

    # -- housekeeping -------------------------------------------------------------------------

    def forget(self, url: str) -> int:
        removed, cut = self._ask("forget", _url_bytes(url), url_key(url))
        return int(removed) + (self._sweep("comb", _url_bytes(url)) if cut else 0)

    def prune(self, older_than: float) -> int:
        removed = self._sweep("prune", self._ttl, milliseconds(self._clock() - older_than))
        self._ask("bury")
        return removed

    def _sweep(self, operation: str, *arguments: Argument) -> int:
        """Do a long piece of work in short calls, each going on where the last one stopped."""
        removed = start = 0
        while start >= 0:
            count, start = self._ask(operation, *arguments, start)
            removed += count
        return removed

    def info(self) -> StoreInfo:
        return self._session.look(
            lambda client: namespace_info(client, self._ask, self.url, self._names, self._admission)
        )

    def publish(self, figures: WorkerStats) -> None:
        self._says = figures.packed()

    def fleet(self) -> WorkersInfo:
        return self._session.look(lambda client: workers_info(client, self._names))

    def close(self) -> None:
        if self._session.is_anothers:
            return  # claims and connections are the parent's
        with self._lock:
            if not self._session.ended:
                try:
                    self._leave()
                finally:
                    self._session.end()

    def _leave(self) -> None:
        """Release what is still claimed, also by offers whose answer is not known."""
        self._filing.settle()
        self.release(list(self._own))
        if self._scheme is not None:  # else it never came in, perhaps because it may only read
            self._ask("leave", self._says)


def _valid_ids(ids: Iterable[int]) -> list[int]:
    return sorted({id for id in ids if 0 < id <= MAX_ID})


def _url_bytes(url: str) -> bytes:
    return url.encode("utf-8", "surrogatepass")
