"""The protocol of claims over a sharded namespace: of pages that match, one is kept.

No step is atomic over several nodes. So a page first files itself at its home, and places its id in the buckets of its
keys; only then it reads the other ids there. Of two pages that match, at least one finds the other.

A page files itself as an open claim, which other pages respect. If it finds no claim that may drop it, it is kept. If
it finds one, it withdraws, and files itself under another id as *pending*. Ids begin with the time of filing, and are
the order of pending pages: a page waits for lower ids, and *wounds* higher ones. A wounded page claims only when it has
found out that none of the pages that wounded it is kept.

A page is a generator of rounds: it yields commands, and is sent their replies. :meth:`ShardWriter.run` runs many
pages at a time, and sends the commands of all of them in one round trip.

================================  =====================================================================
step                              commands
================================  =====================================================================
look (where many are copies)      read the buckets, then the records: a duplicate ends here. A single page
                                  first reads the buckets of one node, which is enough for most duplicates
file                              the record as a claim; its id into each empty bucket; the others are read
contest                           read every id that is met; what is absent is condemned, and refiles. If there are
                                  other claims, the page withdraws, and files itself as pending
wait, wound                       for lower, at higher pending ids; an open claim ends it: the caller waits
join                              the buckets where others stood, and contest what that shows
claim                             if pending, unless wounded; then settle with the blockers that may be kept
commit                            with the first round of the next pages, or by itself
================================  =====================================================================
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from enum import Enum
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dedupcrawl.stores.base import Offer
from dedupcrawl.stores.redis.sharded.layout import OPENED, ClaimEntry, packed_time
from dedupcrawl.stores.redis.sharded.packed_values import TIME_BYTES, filed_in, recent_url_key
from dedupcrawl.stores.redis.sharded.reader import LookupState, ShardReader, UnsettledClaim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.stores.base import FilingDecision, JudgedOffer, Record
    from dedupcrawl.stores.redis.sharded.layout import Command, ShardLayout
    from dedupcrawl.stores.redis.sharded.reader import Rounds
    from dedupcrawl.stores.redis.sharded.wire import ShardTransport

T = TypeVar("T")

PATIENCE = 1.0  #: seconds for which a page waits for pending ones; most take milliseconds
REMEMBERED = 4096  #: pages that were blocked, until they are offered again
DECIDED = 2000  #: milliseconds after which a page that filed itself as a claim has read all that it found
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05  #: seconds between two rounds if all pages wait
MOST_DRAWS = 64  #: ids that a page draws: if 64 are taken, nearly all are
LOOK_RATE = 0.15  #: minimum share of duplicates: then reading first costs the servers less
MEMORY = 64  #: pages over which that share is measured


class LookupKind(Enum):
    """Whether pages are looked up before they are filed."""

    NOT = "not"
    ONE_NODE = "one node"  #: first on one node: saves messages, if a page has them to itself
    ALL_NODES = "all nodes"


class ResendQueue:
    """Commands that withdraw claims. A failover may lose them, and others would wait for a claim that nobody has.

    So each is sent a second time, with the second renewal of the lease after it.
    """

    def __init__(self) -> None:
        self._new: deque[Command] = deque(maxlen=REMEMBERED)
        self._old: deque[Command] = deque()

    def add(self, commands: Iterable[Command]) -> None:
        """Add commands that were sent; they must change nothing if they were not lost."""
        self._new.extend(commands)

    @property
    def due(self) -> list[Command]:
        """The commands to send with this renewal."""
        return [*self._old]

    def sent(self) -> None:
        """Forget the commands that were due."""
        self._old, self._new = self._new, deque(maxlen=REMEMBERED)


class ShardWriter(ShardReader):
    """Claims pages for one store object.

    Args:
        layout: the keys and commands.
        wire: sends commands.
        now: as for :class:`ShardReader`, like ``lease``, ``ttl`` and ``asks_servers``.
        clock: returns the Unix time in seconds that records are compared with, to know their age.
    """

    def __init__(
        self,
        layout: ShardLayout,
        wire: ShardTransport,
        now: Callable[[], int],
        clock: Callable[[], float],
        *,
        lease: float,
        ttl: int | None,
        asks_servers: bool,
    ) -> None:
        super().__init__(layout, now, lease=lease, ttl=ttl, asks_servers=asks_servers)
        self.wire, self._clock = wire, clock
        self._last = 0
        self.duplicates = 0.0  #: share of the latest pages; decides whether pages are looked up before they are filed
        self.token = b""  #: of this worker
        self.abandoned: dict[
            bytes, UnsettledClaim
        ] = {}  #: claims to withdraw: an error ended them, and they may be there
        self.withdrawn = ResendQueue()
        self._left: OrderedDict[tuple[str, float, tuple[bytes, ...]], None] = OrderedDict()  # pages that were blocked
        self._lock = Lock()

    # -- many pages -----------------------------------------------------------------------------

    def run(self, pages: Iterable[Rounds[T]]) -> list[T]:
        """Run pages to their ends. When one raises, the others go on, unless a node cannot be reached."""
        running = list(pages)
        try:
            return self._run(running)
        finally:
            for page in running:
                page.close()

    def _run(self, running: Sequence[Rounds[T]]) -> list[T]:
        ends: list[Any] = [None] * len(running)
        failure: Exception | None = None
        replies: list[tuple[int, list[Any] | None]] = [(n, None) for n in range(len(running))]
        pause = FIRST_PAUSE
        while replies:
            wants: list[tuple[int, int]] = []  # pages, and how many commands they want
            commands: list[Command] = []
            for n, answer in replies:
                try:
                    want = running[n].send(answer)  # type: ignore[arg-type]  # None starts a generator
                    wants.append((n, len(want)))
                    commands += want
                except StopIteration as stop:
                    ends[n] = stop.value
                except Exception as error:  # noqa: BLE001  # of one page: the others go on
                    failure = failure or error
            answers = self.wire.ask(commands) if commands else []
            pause = FIRST_PAUSE if commands else min(2 * pause, LONGEST_PAUSE)
            if wants and not commands:
                time.sleep(pause)
            ends_at = accumulate(count for _, count in wants)
            replies = [(n, answers[end - count : end]) for (n, count), end in zip(wants, ends_at, strict=True)]
        if failure is not None:
            raise failure
        return ends

    def offer(
        self, offers: Sequence[JudgedOffer], committed: Sequence[UnsettledClaim] = ()
    ) -> tuple[list[Offer], list[UnsettledClaim], list[UnsettledClaim]]:
        """Claim pages together, and commit claims in their first round trip.

        When it raises, none of the pages stays claimed, and any of the claims may be committed.

        Returns:
            The offers of the pages, the claims of those that were kept, and the claims that do not exist any more.
        """
        lookup_kind = (
            LookupKind.NOT
            if self.duplicates <= LOOK_RATE
            else LookupKind.ONE_NODE
            if len(offers) == 1
            else LookupKind.ALL_NODES
        )
        claimed: list[UnsettledClaim] = []
        pages: list[Rounds[Any]] = [self.claim(each, claimed, lookup_kind) for each in offers]
        try:
            *found, lost = self.run([*pages, self.commit(committed)])
        except BaseException:
            self.abandoned.update((claim.id, claim) for claim in claimed)
            raise
        ends = cast("list[Offer]", found)
        for each, end in zip(offers, ends, strict=True):
            if each.judge is not None:
                self.duplicates += ((end.id is None) - self.duplicates) / MEMORY
        return ends, claimed, lost

    # -- one page -------------------------------------------------------------------------------

    def claim(
        self, offer: JudgedOffer, claimed: list[UnsettledClaim], lookup_kind: LookupKind = LookupKind.NOT
    ) -> Rounds[Offer]:
        """Claim a page; the rounds end with the offer. The claim of a page that is kept is added to ``claimed``."""
        lookup = LookupState(self.layout)
        if lookup_kind is not LookupKind.NOT and offer.judge is not None:
            found = yield from self._look_up(offer, lookup, lookup_kind)
            if found is not None:
                return found
        own, key = offer.record.keys[:1], recent_url_key(offer.record.url)
        own = (key,) if key in offer.record.keys else own  # a page is at home where its URL is
        pends = self._has_left(offer.record)
        for _ in range(MOST_DRAWS):
            claim, value = self._new_claim(offer.record, own, pends=pends)
            try:
                is_filed = yield from self._file(claim, value, lookup, compares=offer.judge is not None)
                end = (yield from self._contest(offer, claim, lookup)) if is_filed else None
                if end is None or end.id is None:
                    withdrawal = self.removal(claim.id, claim.filed, claim.joined)
                    yield withdrawal if is_filed else withdrawal[1:]  # another page may have the id
                    self.withdrawn.add(withdrawal[:1] if is_filed and not claim.pends else [])
            except BaseException:
                self.abandoned[claim.id] = claim
                raise
            if end is not None:
                claimed += [claim] if end.id is not None else []
                return end
            lookup, pends = lookup.restarted(), True
        raise self.layout.full()

    def _has_left(self, record: Record) -> bool:
        """Whether a page was blocked before. Two that claim whenever they are filed could block each other for ever."""
        with self._lock:
            return self._left.pop(_identity(record), self) is None

    def _leave(self, record: Record) -> None:
        with self._lock:
            self._left[_identity(record)] = None
            while len(self._left) > REMEMBERED:
                self._left.popitem(last=False)

    def _new_claim(self, record: Record, home: tuple[bytes, ...], *, pends: bool) -> tuple[UnsettledClaim, bytes]:
        now = self.now()
        with self._lock:
            filed = self._last = max(self._last + 1, now)
        value = self._value(filed, record, now)
        return UnsettledClaim(
            self.layout.new_id(b"".join(home), len(value)), filed, record, self.token, {*home}, pends
        ), value

    def _value(self, filed: int, record: Record, now: int) -> bytes:
        age = round(1000 * (self._clock() - record.seen))
        return self.layout.codec.pack(record, filed, max(0, min(now - age, (1 << 8 * TIME_BYTES) - 1)))

    def _file(self, claim: UnsettledClaim, value: bytes, lookup: LookupState, *, compares: bool) -> Rounds[bool]:
        """File a page, and place it; return False if its id cannot be used."""
        record, id = claim.record, claim.id
        home = next(iter(claim.joined), b"")
        commands = [self.layout.file(id, value, claim.token + OPENED, home, pends=claim.pends)]
        others = [key for key in dict.fromkeys(record.keys) if key != home]
        if not compares:
            claim.joined.update(others)
            replies = yield [*commands, *[self.layout.join(key, id) for key in others]]
            if replies[0] is None:  # a page that has the id may be in these buckets, too
                before = zip(others, map(self.layout.ids_in, replies[1:]), strict=True)
                claim.joined = {key for key, ids in before if id not in ids}
            return replies[0] is not None
        free = [key for key in others if not lookup.buckets.get(key)] if lookup.buckets else others
        replies = yield [*commands, *self.layout.places(free, id)]
        if len(free) == len(others) and record.probes is None and replies[0] == b"" and 0 not in replies:
            claim.joined.update(others)  # all buckets were empty
            return True
        placed = {key for key, is_first in zip(free, replies[1:], strict=True) if is_first}
        if replies[0] is None:
            claim.joined = placed  # it is not in the bucket of its home, or whoever has buried it removes it there
            return False
        claim.joined.update(placed)
        seen: dict[bytes, bytes] = dict.fromkeys(claim.joined, b"")  # as if read at the moment they were filled
        seen[home] = replies[0]
        rest = [key for key in dict.fromkeys((*others, *record.lookup_keys)) if key not in seen]
        if rest:  # read after the page was placed: others may look for it only there
            found = yield self.layout.read_buckets(rest)
            seen |= {key: packed or b"" for key, packed in zip(rest, found, strict=True)}
            claim.joined.update(key for key in others if id in self.layout.ids_in(seen[key]))
        lookups = [key for key in record.lookup_keys if key in seen]
        lookup.add(lookups, [seen[key] for key in lookups], id)
        return True

    def _contest(self, offer: JudgedOffer, claim: UnsettledClaim, lookup: LookupState) -> Rounds[Offer | None]:
        """Find out whether a filed page is kept; None if it has to be filed again."""
        if offer.judge is None:
            return (yield from self._settle(offer, claim, lookup, offer.record))
        while True:
            if lookup.buckets or lookup.blockers:
                yield from self._meet(lookup, claim.record.lookup_keys, offer.ignores)
            judgement = offer.judge(lookup.candidates())
            if judgement.blockers and not (claim.pends or self._is_decided(judgement, lookup)):
                return None
            if self._must_leave(judgement, lookup):
                if judgement.record is not None:
                    self._leave(offer.record)
                return Offer(None, tuple(lookup.candidates()))
            if judgement.blockers:
                yield from self._wound_or_wait(judgement, claim, lookup)
                continue
            if (yield from self._join_rest(claim, lookup)):
                continue
            assert judgement.record is not None
            end = yield from self._settle(offer, claim, lookup, judgement.record)
            if end is None or end.id is not None:
                return end

    def _must_leave(self, judgement: FilingDecision, lookup: LookupState) -> bool:
        """Whether a page is a copy, or has to wait: for a claim, or for pages that are pending for long."""
        waited = time.monotonic() - lookup.waits_since if lookup.waits_since else 0.0
        is_late = bool(judgement.blockers) and waited >= PATIENCE
        return judgement.record is None or is_late or self._is_open(judgement, lookup)

    def _wound_or_wait(self, judgement: FilingDecision, claim: UnsettledClaim, lookup: LookupState) -> Rounds[None]:
        """Ask pending blockers with higher ids to give way, else wait for all of them. They are read again then."""
        blockers = [self.layout.short_id(id) for id in judgement.blockers]
        pending = [id for id in blockers if lookup.met[id][0].state == b"p"]
        wounds = [id for id in pending if lookup.met[id][1].id > claim.long_id]
        if not wounds:
            lookup.waits_since = lookup.waits_since or time.monotonic()
            yield ()
            for id in blockers:
                lookup.drop(id, is_gone=False)
            return
        states = yield [self.layout.wound(id, claim.id, self.now()) for id in wounds]
        for id, state in zip(wounds, states, strict=True):
            lookup.drop(id, is_gone=state in {b"p", b"X"})

    def _is_open(self, judgement: FilingDecision, lookup: LookupState) -> bool:
        """Whether one of the blockers is no pending page: it may take long until it is settled."""
        return any(lookup.met[self.layout.short_id(id)][0].state != b"p" for id in judgement.blockers)

    def _is_decided(self, judgement: FilingDecision, lookup: LookupState) -> bool:
        """Whether one of the blockers has been a claim for so long that its page will not withdraw."""
        before = self.now() - DECIDED
        found = [lookup.met[self.layout.short_id(id)][0] for id in judgement.blockers]
        return any(each.state != b"p" and filed_in(each.value) < before for each in found)

    def _join_rest(self, claim: UnsettledClaim, lookup: LookupState) -> Rounds[bool]:
        """Place a page in the buckets that had other ids; return whether that shows ids that it has not found yet."""
        if not claim.joined.issuperset(claim.record.keys):
            rest = [key for key in dict.fromkeys(claim.record.keys) if key not in claim.joined]
            claim.joined.update(rest)  # even if the call fails
            seen = {key: ids[-1] for key, ids in lookup.buckets.items()}
            replies = yield [self.layout.join(key, claim.id, seen.get(key, b"")) for key in rest]
            lookups = claim.record.lookup_keys
            found = [(key, packed) for key, packed in zip(rest, replies, strict=True) if key in lookups]
            lookup.add([key for key, _ in found], [packed for _, packed in found], claim.id)
        return bool(lookup.unmet())

    def _settle(
        self, offer: JudgedOffer, claim: UnsettledClaim, lookup: LookupState, record: Record
    ) -> Rounds[Offer | None]:
        """Claim a page that nothing blocks. None: its filing was lost; an offer without id: read the blockers."""
        id, is_changed = claim.id, record is not claim.record and record != claim.record
        is_claimed = not (claim.pends or offer.committed or is_changed)
        if claim.pends and not (offer.committed or is_changed):
            is_claimed = (yield [self.layout.claim(id)])[0] == 1
        if not is_claimed:
            known = b"*" if offer.judge is None else b"".join([*lookup.gone, *lookup.met])
            value = self._value(claim.filed, record, self.now()) if is_changed else b""
            said = (yield [self.layout.settle(id, claim.token + OPENED, known, value, commit=offer.committed)])[0]
            if said == b"X":
                return None
            if said != b"c":
                lookup.blockers += [blocker for blocker in self.layout.ids_in(said) if blocker not in lookup.blockers]
                return Offer(None)
        return Offer(claim.long_id, tuple(lookup.candidates()))

    def removal(self, id: bytes, filed: int, keys: Iterable[bytes], condemned: int | None = None) -> list[Command]:
        """Return the commands that remove a record and its ids."""
        self.known.remove(id)
        leaves = [self.layout.leave(key, id) for key in dict.fromkeys(keys)]
        return [self.layout.remove(id, packed_time(filed), condemned), *leaves]

    # -- claims ---------------------------------------------------------------------------------

    def commit(self, claims: Sequence[UnsettledClaim]) -> Rounds[list[UnsettledClaim]]:
        """Make claims permanent; return those that do not exist any more."""
        if not claims:
            return []
        pairs = [self.layout.seal(claim.id) for claim in claims]
        sealed = yield [seal for seal, _ in pairs]
        # Not in one call: while a slot moves, the seal may be sent again after the command behind it was executed.
        self.wire.later([end for (_, end), reply in zip(pairs, sealed, strict=True) if reply == 1])
        left = [claim for claim, reply in zip(claims, sealed, strict=True) if reply != 1]
        there = (yield [self.layout.commit(claim.id) for claim in left]) if left else []
        return [claim for claim, reply in zip(left, there, strict=True) if reply != 1]

    # -- what a page meets ----------------------------------------------------------------------

    def _meet(
        self, lookup: LookupState, keys: Sequence[bytes], ignores: Callable[[Sequence[Record]], Sequence[bool]] | None
    ) -> Rounds[None]:
        """Read the ids of the buckets that were not met, and remove those that are gone."""
        if ignores is not None:
            lookup.meet_known(self.known, ignores)
        while ask := lookup.unmet():
            now = self.now()
            replies = yield [self.layout.fetch(id, now) for id in ask]
            found = {id: ClaimEntry(*reply) for id, reply in zip(ask, replies, strict=True)}
            absent = [id for id, each in found.items() if each.state == b"X"]
            dead = [id for id in found if self.is_expired(found[id])] + (yield from self._dead(found))
            removed = yield from self.remove_dead([(id, found[id]) for id in dead])
            for id, each in found.items():
                if each.state == b"X" or id in removed:
                    lookup.drop(id, is_gone=True)
                elif id not in dead:  # else it has changed meanwhile, and is read again
                    lookup.met[id] = each, self.candidate(id, each)
                    self.known.add(id, *lookup.met[id])
            pairs = [(key, id) for id in absent for key in keys if id in lookup.buckets.get(key, ())]
            if pairs:  # a round without commands would wait
                yield [self.layout.leave(key, id) for key, id in pairs]

    def _look_up(self, offer: JudgedOffer, lookup: LookupState, lookup_kind: LookupKind) -> Rounds[Offer | None]:
        """Read before anything is filed: return the offer of a page that a committed or open one blocks."""
        assert offer.judge is not None
        keys = tuple(dict.fromkeys(offer.record.lookup_keys))
        commands = self.layout.read_buckets(keys)
        parts = self._parts(commands) if lookup_kind is LookupKind.ONE_NODE and keys else [range(len(keys))]
        for part in parts:
            lookup.add([keys[n] for n in part], (yield [commands[n] for n in part]), b"")
            if offer.ignores is not None:
                lookup.meet_known(self.known, offer.ignores)
            yield from self.read(lookup)
            judgement = offer.judge(lookup.candidates())
            if judgement.is_final:  # a page that the other nodes have cannot change it
                break
        if judgement.record is None or self._is_open(judgement, lookup):
            return Offer(None, tuple(lookup.candidates()))
        lookup.met = {id: each for id, each in lookup.met.items() if each[0].state == b"c"}
        lookup.gone.clear()
        return None

    def _parts(self, commands: Sequence[Command]) -> list[Sequence[int]]:
        """Return the numbers of the commands for the node that has most of them, and those of the others."""
        places = [self.wire.place_of(command) for command in commands]
        largest = max(places, key=places.count)
        first = [n for n, place in enumerate(places) if place == largest]
        return [first, rest] if (rest := [n for n in range(len(places)) if n not in first]) else [first]


def _identity(record: Record) -> tuple[str, float, tuple[bytes, ...]]:
    return record.url, record.seen, record.keys
