"""What stores over tables have in common: transactions, looking and housekeeping."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from dedupcrawl.stores.base import Candidate, ClaimState, Store, StoreInfo, url_key
from dedupcrawl.stores.codec import decode, seen
from dedupcrawl.stores.tables import OWNER_BYTES
from dedupcrawl.stores.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupcrawl.stores.tables import Tables

T = TypeVar("T")

CHUNK = 256  #: most records removed in one transaction, so that other writers wait a few milliseconds
SCAN = 16 * CHUNK  #: most records looked at in one


class Timing(TypedDict):
    """The keyword arguments of a store over tables that concern time."""

    lease: float  #: seconds for which a claim lives without being renewed
    ttl: float | None  #: seconds after which a record no longer counts; None: never
    clock: Callable[[], float]  #: returns the Unix time in seconds


class TabledStore(Store):
    """Looking and housekeeping over :class:`~dedupcrawl.stores.tables.Tables`.

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
    def _read(self, work: Callable[[Tables], T]) -> T:
        """Run ``work`` on one consistent view of the tables."""

    @abstractmethod
    def _write(self, work: Callable[[Tables], T]) -> T:
        """Run ``work`` so that all its changes are made at once, or none."""

    @abstractmethod
    def _breathes(self, token: bytes) -> bool:
        """Whether the process of another owner lives, as far as one can know."""

    def _view(self, tables: Tables) -> View:
        now = self._clock()
        return View(tables, self._me, now, now - self._ttl, self._breathes)

    # -- looking ------------------------------------------------------------------------------

    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        return self._read(lambda tables: tuple(self._view(tables).search(probes, 0)[0]))

    def get(self, id: int) -> Candidate | None:
        return self._read(lambda tables: self._view(tables).candidate(id))

    def lookup(self, url: str) -> Candidate | None:
        return self._read(partial(self._lookup, url))

    def _lookup(self, url: str, tables: Tables) -> Candidate | None:
        view = self._view(tables)
        hits = (view.candidate(id) for id in tables.newest(url_key(url), 0))
        return next((hit for hit in hits if hit is not None and hit.record.url == url), None)

    def records(self) -> Iterator[Candidate]:
        start: int | None = 0
        while start is not None:
            found, start = self._read(partial(self._some, start))
            yield from found

    def _some(self, start: int, tables: Tables) -> tuple[list[Candidate], int | None]:
        """Return some live records, and the id to go on with (None: at the end)."""
        view = self._view(tables)
        ids = [id for id, _ in islice(tables.records(start), CHUNK)]
        found = [hit for hit in map(view.candidate, ids) if hit is not None]
        return found, ids[-1] + 1 if ids else None

    # -- housekeeping -------------------------------------------------------------------------

    def forget(self, url: str) -> int:
        return self._write(partial(self._forget, url))

    def _forget(self, url: str, tables: Tables) -> int:
        ids = list(tables.newest(url_key(url), 0))
        values = ((id, tables.record(id)) for id in ids)
        doomed = [id for id, value in values if value is not None and decode(value, id).url == url]
        view = self._view(tables)
        return sum(view.remove(id) for id in doomed)

    def prune(self, older_than: float) -> int:
        return self._bury() + self._in_chunks(partial(self._prune, older_than))

    def _prune(self, older_than: float, start: int, tables: Tables) -> tuple[int, int | None]:
        """Remove a chunk; return how many, and the id to go on with (None: at the end)."""
        view = self._view(tables)
        doomed: list[int] = []
        following = None
        for looked, (id, value) in enumerate(tables.records(start)):
            if looked == SCAN or len(doomed) == CHUNK:
                following = id
                break
            claim = tables.claim(id)
            old = seen(value, id) < max(older_than, view.oldest)
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

    def _bury_some(self, dead: set[bytes], start: int, tables: Tables) -> tuple[int, int | None]:
        claims = list(islice(tables.claims(start), CHUNK))
        view = self._view(tables)
        removed = sum(view.remove(id, tell=False) for id, claim in claims if claim.owner in dead)
        return removed, claims[-1][0] + 1 if claims else None

    def _in_chunks(self, work: Callable[[int, Tables], tuple[int, int | None]]) -> int:
        """Do a long piece of work in short transactions, each going on where the last one stopped."""
        removed = 0
        start: int | None = 0
        while start is not None:
            count, start = self._write(partial(work, start))
            removed += count
        return removed

    def info(self) -> StoreInfo:
        return self._read(self._info)

    def _info(self, tables: Tables) -> StoreInfo:
        sizes = tables.sizes()
        moments = [seen(value, id) for id, value in tables.ends()]
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


def _drop_owner(token: bytes, tables: Tables) -> None:
    tables.drop_owner(token)
