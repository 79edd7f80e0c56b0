"""Reads a sharded namespace: the pages under keys and ids, and whether their workers are alive."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dedupcrawl.errors import DamageError
from dedupcrawl.stores.base import BUCKET_CAP, Record
from dedupcrawl.stores.records import CACHED_RECORDS
from dedupcrawl.stores.redis.seen_workers import SeenWorkerTable
from dedupcrawl.stores.redis.sharded.layout import ClaimEntry, long_id, packed_time
from dedupcrawl.stores.redis.sharded.packed_values import TIME_BYTES, filed_in, seen_in

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from dedupcrawl.stores.base import Candidate
    from dedupcrawl.stores.redis.sharded.layout import Command, ShardLayout

TRUSTED = 60.0  #: seconds for which a committed record is known without being read again
UNSEEN_LIFE = 1.0  #: seconds for which a worker counts as alive before its lease was seen to be renewed

T = TypeVar("T")
Rounds: TypeAlias = "Generator[Sequence[Command], list[Any], T]"


@dataclass(slots=True)
class UnsettledClaim:
    """A page whose claim is not settled yet: everything that must be withdrawn if its claim fails."""

    id: bytes
    filed: int  #: milliseconds
    record: Record
    token: bytes  #: of the worker
    joined: set[bytes] = field(default_factory=set)  #: keys of the buckets in which its id is
    pends: bool = False  #: whether it was filed as pending; else as an open claim
    long_id: int = field(init=False)  #: the id as a candidate has it

    def __post_init__(self) -> None:
        self.long_id = long_id(self.id, packed_time(self.filed))

    def slim(self) -> None:
        """Keep only what withdraws the claim: a scraped one may wait for hours until its feed is stored."""
        self.record = Record("", self.record.keys, (), self.record.seen)
        self.joined = set()


@dataclass(slots=True)
class LookupState:
    """The ids and records that a page has found."""

    layout: ShardLayout
    buckets: dict[bytes, list[bytes]] = field(default_factory=dict)  # by lookup key, where others are: newest last
    blockers: list[bytes] = field(default_factory=list)  # ids that wounded it
    met: dict[bytes, tuple[ClaimEntry, Candidate]] = field(default_factory=dict)
    gone: set[bytes] = field(default_factory=set)
    waits_since: float = 0.0  # monotonic time at which its page began to wait for pending ones; 0: it has not

    def add(self, keys: Iterable[bytes], packed: Iterable[bytes | None], own: bytes) -> None:
        """Add the ids of buckets."""
        others = self.layout.others_in(keys, packed, own)
        for key in others.keys() & self.buckets.keys():
            there = self.buckets[key]
            others[key] = there + [id for id in others[key] if id not in there]
        self.buckets |= others

    def unmet(self) -> list[bytes]:
        """The ids to read next: in each bucket the newest that count and are not known to be gone."""
        if not self.buckets and not self.blockers:
            return []
        found: dict[bytes, None] = {}
        met, gone = self.met, self.gone
        for ids in self.buckets.values():
            if len(ids) == 1:  # as in most buckets
                if ids[0] not in met and ids[0] not in gone:
                    found[ids[0]] = None
                continue
            some = ids if not gone else [id for id in ids if id not in gone]
            for id in reversed(some[-BUCKET_CAP:]):
                if id not in met:
                    found[id] = None
        found.update((id, None) for id in self.blockers if id not in gone and id not in met)
        return list(found)

    def candidates(self) -> list[Candidate]:
        """The live pages that were met, by rising id."""
        found = [candidate for _, candidate in self.met.values()]
        return sorted(found, key=lambda candidate: candidate.id) if len(found) > 1 else found

    def restarted(self) -> LookupState:
        """Return the state for this page under another id, which has wounded no page yet."""
        return LookupState(self.layout, met={id: each for id, each in self.met.items() if each[0].state == b"c"})

    def meet_known(self, known: KnownRecordTable, ignores: Callable[[Sequence[Record]], Sequence[bool]]) -> None:
        """Take what is known of ids that were not met, where it is ignored."""
        found = [(id, page) for id in self.unmet() if (page := known.get(id)) is not None]
        if found:
            are_ignored = ignores([candidate.record for _, (_, candidate) in found])
            self.met.update(each for each, is_ignored in zip(found, are_ignored, strict=True) if is_ignored)

    def drop(self, id: bytes, *, is_gone: bool) -> None:
        """Forget an id: to read it again, or because it is gone."""
        self.met.pop(id, None)
        if is_gone:
            self.gone.add(id)


class KnownRecordTable:
    """The committed records that a store object has read lately. Thread-safe.

    They are not read again for a page that they certainly do not drop, such as nearly all pages of a template. What
    could slip: if a record was removed, and a new page got its id, one of 2²⁰ or more under its tag, then a copy of
    the new page is kept for up to ``TRUSTED`` seconds. No page is dropped for a record that was not read anew.

    Args:
        most: records that are kept, at least 1; the one that was read first goes first.
        clock: returns seconds.
    """

    def __init__(self, most: int = CACHED_RECORDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._found: dict[bytes, tuple[float, ClaimEntry, Candidate]] = {}
        self._lock = Lock()

    def get(self, id: bytes) -> tuple[ClaimEntry, Candidate] | None:
        """Return what stands under an id, if it was read lately."""
        known = self._found.get(id)
        return known[1:] if known is not None and self._clock() < known[0] else None

    def add(self, id: bytes, entry: ClaimEntry, candidate: Candidate) -> None:
        """Note what was read."""
        if entry.state != b"c":
            return
        with self._lock:
            self._found.pop(id, None)
            self._found[id] = self._clock() + TRUSTED, entry, candidate
            if len(self._found) > self._most:
                del self._found[next(iter(self._found))]

    def remove(self, id: bytes) -> None:
        """Forget an id."""
        with self._lock:
            self._found.pop(id, None)


class ShardReader:
    """Reads pages, and removes those that are dead; each method is a generator of rounds, see :mod:`.protocol`.

    Args:
        layout: the keys and commands.
        now: returns the time in milliseconds of the servers' clock, as far as it is known here.
        lease: seconds. For a quarter of it, a worker that is alive is assumed to stay alive. A page that has been
        pending for longer does not count, even if its worker is alive: a failover has lost its outcome.
        ttl: milliseconds after which a record no longer counts; None: never.
        asks_servers: whether leases follow the clock of a server; otherwise they follow ``now``, for tests.
    """

    def __init__(
        self, layout: ShardLayout, now: Callable[[], int], *, lease: float, ttl: int | None, asks_servers: bool
    ) -> None:
        self.layout, self.now = layout, now
        self._lease, self._ttl = round(1000 * lease), ttl
        self._life = lease / 4 if asks_servers else 0.0
        self._asks_servers = asks_servers
        self._known: dict[bytes, float] = {}  # token -> until when its worker is taken for alive
        self._seen = SeenWorkerTable()
        self._witnessed: set[bytes] = set()  # tokens of the workers among them whose lease was seen to be renewed
        self.tokens: set[bytes] = set()  #: all that this store object had
        self.own: dict[int, UnsettledClaim] = {}  #: own claims, by the ids of their candidates
        self.known = KnownRecordTable()  #: what need not be read again

    def read(self, lookup: LookupState) -> Rounds[None]:
        """Read the ids of the buckets that were not met, and change nothing."""
        while ask := lookup.unmet():
            found = yield from self.states(ask)
            live = yield from self.only_live(found)
            for id, each in found.items():
                if id in live:
                    lookup.met[id] = each, self.candidate(id, each)
                    self.known.add(id, *lookup.met[id])
                else:
                    lookup.drop(id, is_gone=True)

    def only_live(self, found: dict[bytes, ClaimEntry]) -> Rounds[dict[bytes, ClaimEntry]]:
        """Return what is neither absent, nor expired, nor the claim of a dead worker."""
        if self._ttl is None and all(each.state == b"c" for each in found.values()):
            return found
        unsettled = {id: each for id, each in found.items() if each.state != b"c"}
        dead = {*(yield from self._dead(unsettled))} if unsettled else set()
        gone = {id for id, each in found.items() if each.state == b"X" or id in dead or self.is_expired(each)}
        return {id: each for id, each in found.items() if id not in gone}

    def live(self, ids: Sequence[bytes]) -> Rounds[list[Candidate]]:
        """Return the live records with these ids, by rising id."""
        live = yield from self.only_live((yield from self.states(ids)) if ids else {})
        return sorted((self.candidate(id, each) for id, each in live.items()), key=lambda hit: hit.id)

    def candidate(self, id: bytes, found: ClaimEntry) -> Candidate:
        """Decode a record; raise ``DamageError`` if it is damaged."""
        return self.layout.candidate(id, found, self.tokens, self._witnessed)

    def dead(self, tokens: set[bytes]) -> Rounds[set[bytes]]:
        """Return the workers among these whose lease has ended; our own count as alive."""
        lives = (yield from self.alive(others)) if (others := tokens - self.tokens) else {}
        return {token for token, lives_on in lives.items() if not lives_on}

    def states(self, ids: Sequence[bytes]) -> Rounds[dict[bytes, ClaimEntry]]:
        """Read the entries of ids, and change nothing."""
        peeked = [self.layout.peeked(reply) for reply in (yield [self.layout.peek(id) for id in ids])]
        found = {id: each for id, each in zip(ids, peeked, strict=True) if each is not None}
        rest = [id for id in ids if id not in found]
        if rest:
            replies = yield [self.layout.look(id) for id in rest]
            found |= {id: ClaimEntry(*reply) for id, reply in zip(rest, replies, strict=True)}
        return found

    def find(self, keys: Sequence[bytes]) -> Rounds[tuple[Candidate, ...]]:
        """Return the live records under keys, by rising id."""
        lookup = LookupState(self.layout)
        lookup.add(keys, (yield self.layout.read_buckets(keys)), b"")
        yield from self.read(lookup)
        return tuple(lookup.candidates())

    def is_expired(self, found: ClaimEntry) -> bool:
        """Whether a committed record is past its time to live."""
        if self._ttl is None or found.state != b"c":
            return False
        return seen_in(found.value) < self.now() - self._ttl

    def _dead(self, found: dict[bytes, ClaimEntry]) -> Rounds[list[bytes]]:
        """Return the ids of claims whose worker's lease has ended, and of those that are late."""
        late = {id for id, each in found.items() if self._is_late(id, each)}
        tokens = {each.token for each in found.values() if each.owner and each.token not in self.tokens}
        if not tokens:
            return list(late)
        lives = yield from self.alive(tokens)
        return [id for id, each in found.items() if id in late or (each.owner and not lives.get(each.token, True))]

    def _is_late(self, id: bytes, found: ClaimEntry) -> bool:
        """Whether a page has been pending, or has no owner, for a lease. An own claim can still be committed."""
        if found.state not in {b"p", b"u"} or long_id(id, found.value) in self.own:
            return False
        return filed_in(found.value) < self.now() - self._lease

    def alive(self, tokens: set[bytes]) -> Rounds[dict[bytes, bool]]:
        """Ask whether the leases of workers run."""
        now = time.monotonic()
        lives = {token: True for token in tokens if self._known.get(token, 0.0) > now}
        ask = sorted(tokens - lives.keys())
        if ask:
            given = b"" if self._asks_servers else b"%d" % self.now()
            replies = (yield [self.layout.alive(ask, given)])[0]
            ends = dict(zip(ask, replies, strict=True))
            lives |= {token: end > 0 for token, end in ends.items()}
            self._witnessed = {each for each in self._witnessed if lives.get(each, True)}
            self._witnessed.update(token for token, end in ends.items() if end and self._seen.sees(token, end))
            self._known = {token: until for token, until in self._known.items() if until > now}
            self._known.update((token, now + self._life_of(token)) for token in ask if lives[token])
        return lives

    def _life_of(self, token: bytes) -> float:
        """Return for how many seconds a worker counts as alive: only a few until its lease was seen to be renewed."""
        return self._life if token in self._witnessed else min(self._life, UNSEEN_LIFE)

    def remove_dead(self, dead: Sequence[tuple[bytes, ClaimEntry]]) -> Rounds[set[bytes]]:
        """Remove dead claims and expired records; return those that are gone, not those that have changed meanwhile."""
        if not dead:
            return set()
        now = self.now()
        replies = yield [
            self.layout.bury(id, each.token, now, pending=each.state == b"p")
            if each.state != b"c"  # that of nobody, too, may be committed meanwhile
            else self.layout.remove(id, each.value[:TIME_BYTES])
            for id, each in dead
        ]
        removed = {id for (id, _), reply in zip(dead, replies, strict=True) if reply in {b"X", 1, 0}}
        yield [self.layout.leave(key, id) for id, each in dead if id in removed for key in self.keys_of(id, each)]
        return removed

    def keys_of(self, id: bytes, found: ClaimEntry) -> tuple[bytes, ...]:
        """Return the keys of a record; none if it is damaged."""
        try:
            return self.layout.candidate(id, found, self.tokens).record.keys
        except DamageError:
            return ()
