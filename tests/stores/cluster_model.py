"""A model of claims over a cluster: every order in which commands can reach the shards, with crashes and failovers.

An offer is a client that sends rounds of commands and waits for all replies of a round. Each command is one atomic
step on one shard, and those of a round are executed in any order. :meth:`Model.moves` lists what may happen next.

Each key is on a shard of its own, with the records whose first key it is. The time of a lease, of a stop and of a
message has no bound: whatever may happen in some time may happen at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Id: TypeAlias = int  #: ATTEMPTS * offer + attempt: an id is used once
Command: TypeAlias = tuple[object, ...]  #: name, id, and what it needs
ATTEMPTS = 8  #: more new ids than a scenario lets an offer need
PENDING, OPEN, COMMITTED, GONE = "poc-"  #: states of a record; a tombstone is GONE


@dataclass(frozen=True)
class Rules:
    """The protocol; each switch turns one of its rules off."""

    tombstones: bool = True  #: an id that is fetched before it was filed can never be filed
    wound_condemns: bool = True  #: so that is an id that a failover has lost before it is wounded
    wounds: bool = True  #: a page with a lower ticket makes a pending one with a higher ticket wait
    subset: bool = True  #: a wounded page claims only if all that wounded it are known to be gone
    ids_decide: bool = True  #: of two equal tickets that of the lower id is lower
    atomic_file: bool = True  #: record and stage are written in one step
    atomic_withdraw: bool = True  #: record and stage are removed in one step
    read_back: bool = True  #: an id counts as placed in a bucket only if it was read there
    rejoin: bool = True  #: a page joins the buckets in which others stand, and looks at them, before it claims
    bury_stage: bool = True  #: a page that was pending for long is buried only if it is still pending
    bury_owner: bool = True  #: a page is buried only if it still has the owner whose lease ended
    confirm: bool = True  #: a worker whose lease had ended looks at its claim before it stores the item
    verify_blockers: bool = True  #: a page gives way only to a blocker whose copy it is
    strict: bool = False  #: a round ends only when replicas have what it has written
    strict_everywhere: bool = True  #: on all shards, not only on the home
    strict_tombstones: bool = True  #: a fetch that finds a tombstone waits for replicas too


@dataclass(frozen=True)
class Scenario:
    """Offers with their keys and tickets, and the faults that may happen, each so many times."""

    keys: tuple[tuple[int, ...], ...]
    matches: frozenset[tuple[int, int]]  #: (new, old): the new offer is dropped as a copy of the old one
    tickets: tuple[int, ...]  #: of the first attempts; a later one has a higher ticket
    rules: Rules = field(default_factory=Rules)
    again: tuple[int, ...] = ()  #: offers that have left before
    kills: int = 0  #: of a worker
    stops: int = 0  #: of a worker, for longer than its lease
    refusals: int = 0  #: of an item by a later pipeline, after the claim
    late: int = 0  #: a worker finds that a page of a living worker was pending for a whole lease
    repeats: int = 0  #: of a command whose reply was lost
    failovers: int = 0  #: to a replica that has not received the last commands


class Stage(NamedTuple):
    """What a home knows of an id."""

    state: str = GONE
    owner: int = 0  #: 0: the first lease of the worker, 1: the next
    is_wounded: bool = False
    wounds: tuple[Id, ...] = ()


class Shard(NamedTuple):
    """The records whose home it is, and one bucket."""

    homes: tuple[tuple[Id, Stage], ...] = ()
    bucket: tuple[Id, ...] = ()


class Offer(NamedTuple):
    """The state of one client, which is a worker of its own."""

    step: str = "file"
    attempt: int = 0
    todo: frozenset[Command] = frozenset()  #: commands of this round that were not executed yet
    heard: frozenset[tuple[Command, object]] = frozenset()
    seen: frozenset[Id] = frozenset()
    settled: frozenset[Id] = frozenset()
    gone: frozenset[Id] = frozenset()  #: blockers
    joined: frozenset[int] = frozenset()
    pends: bool = False  #: it was filed as pending, and has to claim
    waits: frozenset[tuple[Id, int]] = frozenset()  #: ids and their owners
    wrote: frozenset[int] = frozenset()  #: shards that lack a replica of what this round has written
    result: str = ""  #: kept, dropped, refused, unchecked
    of: int = -1  #: the offer that it copies
    is_stored: bool = False
    is_alive: bool = True
    has_lease: bool = True
    owner: int = 0
    has_changed: bool = False  #: since the filing
    adopting: frozenset[Command] = frozenset()  #: what a new lease takes over, beside the round


class State(NamedTuple):
    """A state of the whole system."""

    offers: tuple[Offer, ...]
    shards: tuple[Shard, ...]
    replicas: tuple[Shard | None, ...]  #: what a replica has since replication stopped; None while it has everything
    budget: tuple[int, ...]  #: faults that may still happen
    forgot: bool = False  #: a failover has lost commands


WAITING = ("done", "sure", "unsure", "wait", "away")  #: steps without a round
KILLS, STOPS, REFUSALS, LATE, REPEATS, FAILOVERS = range(6)


def execute(rules: Rules, shard: Shard, command: Command) -> tuple[Shard, object]:
    """Execute a command on a shard; return the shard after it, and the reply."""
    name, id, *rest = command
    assert isinstance(id, int)
    if name in {"put", "read", "join", "leave"}:
        return _execute_in_bucket(shard, str(name), id)
    homes = dict(shard.homes)
    stage = homes.get(id)
    after, reply = _execute_at_home(rules, stage, str(name), rest)
    if after is None:
        homes.pop(id, None)
    elif after != stage:
        homes[id] = after
    shard = shard._replace(homes=tuple(sorted(homes.items())))
    if name == "remove":
        return _execute_in_bucket(shard, "leave", id)
    return _execute_in_bucket(shard, "join", id) if name in {"file", "record"} and reply else (shard, reply)


def _execute_in_bucket(shard: Shard, name: str, id: Id) -> tuple[Shard, object]:
    """The reply is what stands there then."""
    bucket = shard.bucket
    if name == "leave":
        bucket = tuple(each for each in bucket if each != id)
    elif name == "put":
        bucket = bucket or (id,)
    elif name == "join" and id not in bucket:
        bucket = (*bucket, id)
    return shard._replace(bucket=bucket), None if name in {"put", "leave"} else frozenset(bucket)


def _execute_at_home(  # noqa: C901  # a case for each command
    rules: Rules, stage: Stage | None, name: str, rest: list[object]
) -> tuple[Stage | None, object]:
    known = stage or Stage()
    is_claim = known.state in {PENDING, OPEN}
    match name, *rest:
        case "file", owner, again:
            may = stage is None or (is_claim and known.owner == owner)  # or it was sent again
            return stage or _filed(owner, again), may or None  # type: ignore[arg-type]
        case "record", _, _:  # without a stage it looks committed
            return stage or Stage(COMMITTED), True
        case "stage", owner, again:
            return _filed(owner, again), None  # type: ignore[arg-type]
        case ("unstage",):
            return (known._replace(state=COMMITTED) if is_claim else stage), None
        case ("drop",) | ("remove",):
            return (stage if known.state == GONE else None), None
        case ("look",):
            return stage, (known.state, known.owner)
        case ("fetch",):
            return (stage or (Stage() if rules.tombstones else None)), (known.state, known.owner)
        case "wound", blocker:
            if known.state == PENDING:
                wounds = tuple(sorted({*known.wounds, blocker}))  # type: ignore[type-var]
                return known._replace(is_wounded=True, wounds=wounds), PENDING  # type: ignore[arg-type]
            return (stage or (Stage() if rules.wound_condemns else None)), known.state
        case ("claim",):
            is_free = known.state == PENDING and not known.is_wounded
            return (Stage(OPEN, known.owner) if is_free else stage), is_free
        case "settle", *gone:
            if known.state == PENDING and rules.subset and not {*known.wounds} <= {*gone}:
                return stage, known.wounds
            if known.state == PENDING:
                return Stage(OPEN, known.owner), OPEN
            return stage, known.state
        case ("commit",):
            return (Stage(COMMITTED) if is_claim else stage), None  # pending: a failover has lost the claim
        case "adopt", owner:
            return (known._replace(owner=owner) if is_claim else stage), None  # type: ignore[arg-type]
        case "bury", owner, states:
            may = known.state in (states if rules.bury_stage else PENDING + OPEN)  # type: ignore[operator]
            return (Stage() if may and (known.owner == owner or not rules.bury_owner) else stage), None
    raise AssertionError(name)


def _filed(owner: int, again: bool) -> Stage:
    return Stage(PENDING if again else OPEN, owner)


class Model:
    """The clients of a scenario, and all that can happen."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario, self.rules, self.keys = scenario, scenario.rules, scenario.keys

    def start(self) -> State:
        some = self.scenario
        budget = (some.kills, some.stops, some.refusals, some.late, some.repeats, some.failovers)
        shards = (Shard(),) * (max(map(max, self.keys)) + 1)
        offers = tuple(self.file(Offer(), who, int(who in some.again)) for who in range(len(self.keys)))
        return State(offers, shards, (None,) * len(shards), budget)

    def home(self, id: Id) -> int:
        return self.keys[id // ATTEMPTS][0]

    def shard_of(self, command: Command) -> int:
        name, id, *rest = command
        return rest[0] if name in {"put", "read", "join", "leave"} else self.home(id)  # type: ignore[return-value,arg-type]

    def file(self, offer: Offer, who: int, attempt: int) -> Offer:
        assert attempt < ATTEMPTS, "an offer needs too many ids"
        id = ATTEMPTS * who + attempt
        filing = ["file"] if self.rules.atomic_file else ["record", "stage"]
        again = attempt > 0  # else two pages could give way to each other for ever
        todo: list[Command] = [(name, id, offer.owner, again) for name in filing]
        todo += [(name, id, key) for key in self.keys[who][1:] for name in ("put", "read")]
        return self.new(offer, "file", attempt)._replace(todo=frozenset(todo), has_changed=False, pends=again)

    def withdraw(self, offer: Offer, who: int, step: str, result: str = "", of: int = -1) -> Offer:
        id = ATTEMPTS * who + offer.attempt
        removal: list[Command] = [("drop", id)] if self.rules.atomic_withdraw else [("drop", id), ("unstage", id)]
        return _round(offer, step, [*removal, *(("leave", id, key) for key in self.keys[who])], result=result, of=of)

    def is_lower(self, other: Id, mine: Id) -> bool:
        tickets = self.scenario.tickets
        one, two = ((id % ATTEMPTS, tickets[id // ATTEMPTS], id) for id in (other, mine))
        return one < two if self.rules.ids_decide else one[:2] < two[:2]

    def is_copy(self, who: int, other: Id) -> bool:
        return (who, other // ATTEMPTS) in self.scenario.matches

    def advance(self, offer: Offer, who: int) -> Offer:  # noqa: C901  # a case for each step
        """What a client does after all replies of a round."""
        id = ATTEMPTS * who + offer.attempt
        heard: dict[Id, Any] = {command[1]: said for command, said in offer.heard}  # type: ignore[misc]
        match offer.step:
            case "file":
                return self.filed(offer, who, id)
            case "refile" | "gone":
                return self.file(offer, who, offer.attempt + 1)
            case "fetch":
                return self.fetched(offer, who, id, heard)
            case "wound":
                living = {other for other, said in heard.items() if said in (OPEN, COMMITTED)}
                offer = offer._replace(settled=offer.settled | (heard.keys() - living))
                return self.contest(offer, who, id) if living else self.decide(offer, who, id)
            case "join":
                seen = offer.seen.union(*(said for _, said in offer.heard)) - {id}  # type: ignore[arg-type]
                return self.contest(offer._replace(seen=seen, joined=frozenset(self.keys[who])), who, id)
            case "claim":
                settle = ("settle", id, *sorted(offer.gone))
                return self.claimed(offer) if heard[id] else _round(offer, "settle", [settle])
            case "settle":
                if heard[id] in (OPEN, COMMITTED):
                    return self.claimed(offer)
                if heard[id] == GONE:
                    return self.withdraw(offer, who, "refile")
                return _round(offer, "blockers", [("fetch", each) for each in heard[id]])
            case "blockers":
                return self.blocked(offer, who, id, heard)
            case "bury":
                return self.contest(offer, who, id)
            case "leave":  # an open claim is waited for without a filing of one's own
                return _round(offer, "away", [])
            case "look":
                [(state, _)] = heard.values()
                return _round(offer, "away", []) if state == OPEN else self.file(offer, who, offer.attempt + 1)
            case "confirm":
                is_there = heard[id] == (OPEN, offer.owner)
                return _round(offer, "sure", []) if is_there else self.withdraw(offer, who, "refile")
        return _round(offer, "done", [])  # withdrawn or committed

    def claimed(self, offer: Offer) -> Offer:
        is_changed = offer.has_changed and self.rules.confirm
        return self.new(offer, "unsure" if is_changed else "sure", offer.attempt)

    def new(self, offer: Offer, step: str, attempt: int) -> Offer:
        alike = Offer(step, attempt, owner=offer.owner, adopting=offer.adopting, has_changed=offer.has_changed)
        return alike._replace(is_alive=offer.is_alive, has_lease=offer.has_lease)

    def filed(self, offer: Offer, who: int, id: Id) -> Offer:
        standing, joined = None, {self.keys[who][0]}
        seen: set[Id] = set()
        for (name, _, *rest), said in offer.heard:
            if name in {"file", "record"}:
                standing = said
            elif name == "read" and (id in said or not self.rules.read_back):  # type: ignore[operator]
                joined.add(rest[0])  # type: ignore[arg-type]
            seen.update(said or () if name != "stage" else ())  # type: ignore[arg-type]
        if standing is None:
            return self.withdraw(offer, who, "refile")
        return self.contest(offer._replace(seen=frozenset(seen - {id}), joined=frozenset(joined)), who, id)

    def contest(self, offer: Offer, who: int, id: Id) -> Offer:
        offer = offer._replace(waits=frozenset())
        if ask := offer.seen - offer.settled:
            return _round(offer, "fetch", [("fetch", other) for other in ask])
        return self.decide(offer, who, id)

    def fetched(self, offer: Offer, who: int, id: Id, found: dict[Id, tuple[str, int]]) -> Offer:
        settled, wait, wound = set(offer.settled), set(), []
        if not offer.pends and self.is_blocked(who, found):
            # One command a shard, which leaves fewer states: other withdrawals have what comes between two.
            rest: list[Command] = [("leave", id, key) for key in self.keys[who][1:]]
            return _round(offer, "refile", [("remove", id), *rest])
        if (end := self.first_claim(offer, who, found)) is not None:
            return end
        for other, (state, owner) in found.items():
            if state == GONE or not self.is_copy(who, other):
                settled.add(other)
            elif self.is_lower(other, id):
                wait.add((other, owner))
            elif self.rules.wounds:
                wound.append(other)
            else:
                settled.add(other)
        offer = offer._replace(settled=frozenset(settled), waits=frozenset(wait))
        if wound:
            return _round(offer, "wound", [("wound", other, id) for other in wound])
        return self.decide(offer, who, id)

    def is_blocked(self, who: int, found: dict[Id, tuple[str, int]]) -> bool:
        """Whether this page is a copy of claimed pages, and of no committed page."""
        states = {state for other, (state, _) in found.items() if self.is_copy(who, other)}
        return COMMITTED not in states and bool(states & {PENDING, OPEN})

    def first_claim(
        self, offer: Offer, who: int, found: dict[Id, tuple[str, int]], *, verify: bool = True
    ) -> Offer | None:
        """Withdraw if this page is a copy of one that is claimed or committed."""
        verified = {other: said for other, said in found.items() if self.is_copy(who, other) or not verify}
        for other, (state, _) in verified.items():
            if state == COMMITTED:
                return self.withdraw(offer, who, "withdraw", "dropped", other // ATTEMPTS)
        opened = frozenset((other, owner) for other, (state, owner) in verified.items() if state == OPEN)
        return self.withdraw(offer._replace(waits=opened), who, "leave") if opened else None

    def decide(self, offer: Offer, who: int, id: Id) -> Offer:
        if offer.waits:
            return _round(offer, "wait", [])
        if self.rules.rejoin and (rest := frozenset(self.keys[who]) - offer.joined):
            return _round(offer, "join", [("join", id, key) for key in rest])
        return _round(offer, "claim", [("claim", id)]) if offer.pends else self.claimed(offer)

    def blocked(self, offer: Offer, who: int, id: Id, found: dict[Id, tuple[str, int]]) -> Offer:
        """A wounded page gives way to blockers that are claimed, and waits for those that are pending."""
        if (end := self.first_claim(offer, who, found, verify=self.rules.verify_blockers)) is not None:
            return end
        pending = {
            (other, owner) for other, (state, owner) in found.items() if state == PENDING and self.is_copy(who, other)
        }
        gone = offer.gone | (found.keys() - {other for other, _ in pending})
        return self.decide(offer._replace(gone=gone, waits=frozenset(pending)), who, id)

    # -- transitions -------------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[tuple[str, int, State]]:
        """All that can happen next: what, by whom, and the state after it.

        Everybody who can act acts at some time: a client, its patience, a failover. A fault (-1) need not happen.
        """
        for who, offer in enumerate(state.offers):
            for command in offer.todo | offer.adopting:
                yield f"{who} {command}", who, self.executed(state, who, command)
                if state.budget[REPEATS] and command in offer.todo:
                    repeated = self.executed(state, who, command, again=True)
                    yield f"{who} {command}, reply lost", -1, _spent(repeated, REPEATS)
            if not offer.is_alive:
                if offer.has_lease:
                    yield f"the lease of {who} ends", who, _with(state, who, offer._replace(has_lease=False))
                continue
            if not offer.todo:
                for what, after in self.steps(state, who, offer):
                    yield f"{who} {what}", who, after
            if offer.step != "done":
                yield from self.faults(state, who, offer)
            if offer.step in {"wait", "away"} and state.forgot:  # after DEDUP_WAIT; others go on meanwhile
                unchecked = self.withdraw(offer, who, "withdraw", "unchecked")
                yield f"{who} is kept unchecked", len(state.offers) + who, _with(state, who, unchecked)
        yield from self.failovers(state)

    def executed(self, state: State, who: int, command: Command, *, again: bool = False) -> State:
        at, offer = self.shard_of(command), state.offers[who]
        before = state.shards[at]
        shard, reply = execute(self.rules, before, command)
        if not again:
            heard = offer.heard | {(command, reply)} if command in offer.todo else offer.heard
            offer = offer._replace(todo=offer.todo - {command}, adopting=offer.adopting - {command}, heard=heard)
        if self.must_be_acknowledged(command, before != shard, reply) and state.replicas[at] is not None:
            offer = offer._replace(wrote=offer.wrote | {at})
        if not offer.todo and offer.is_alive and not offer.wrote and not again and offer.step not in WAITING:
            offer = self.advance(offer, who)
        shards = (*state.shards[:at], shard, *state.shards[at + 1 :])
        return _with(state._replace(shards=shards), who, offer)

    def must_be_acknowledged(self, command: Command, has_written: bool, reply: object) -> bool:
        if not self.rules.strict:
            return False
        if reply in ((GONE, 0), GONE):
            return self.rules.strict_tombstones
        return has_written and (self.rules.strict_everywhere or command[0] in {"file", "claim", "settle", "commit"})

    def steps(self, state: State, who: int, offer: Offer) -> Iterator[tuple[str, State]]:
        """What a living client may do when its round is over."""
        id = ATTEMPTS * who + offer.attempt
        if offer.wrote and offer.step != "done":
            return  # replies are held back
        match offer.step:
            case "done":
                return
            case "sure":
                if offer.has_lease and not offer.adopting:
                    stored = _round(offer, "commit", [("commit", id)])._replace(is_stored=True, result="kept")
                    yield "stores its item", _with(state, who, stored)
            case "unsure":
                if offer.has_lease and not offer.adopting:
                    yield "looks at its claim", _with(state, who, _round(offer, "confirm", [("look", id)]))
            case "wait" | "away":
                yield from self.polls(state, who, offer, id)
            case _:
                yield "goes on", _with(state, who, self.advance(offer, who))

    def polls(self, state: State, who: int, offer: Offer, id: Id) -> Iterator[tuple[str, State]]:
        """Bury what dead workers have left, else look again. A lease that ended is not renewed: this stays true."""
        is_away = offer.step == "away"
        for other, owner in offer.waits:
            holder = state.offers[other // ATTEMPTS]
            if owner < holder.owner or not holder.has_lease:
                bury = _round(offer, "gone" if is_away else "bury", [("bury", other, owner, PENDING + OPEN)])
                yield f"buries {other}", _with(state, who, bury)
                return
            if state.budget[LATE] and not is_away:
                late = _round(offer, "bury", [("bury", other, owner, PENDING)])
                yield f"buries the late {other}", _spent(_with(state, who, late), LATE)
        for other, _ in offer.waits if is_away else ():
            yield f"looks at {other}", _with(state, who, _round(offer, "look", [("look", other)]))
        if not is_away:
            yield "asks again", _with(state, who, self.contest(offer, who, id))

    def faults(self, state: State, who: int, offer: Offer) -> Iterator[tuple[str, int, State]]:
        id = ATTEMPTS * who + offer.attempt
        if state.budget[KILLS]:
            yield f"{who} is killed", -1, _spent(_with(state, who, offer._replace(is_alive=False)), KILLS)
        if state.budget[REFUSALS] and offer.step == "sure":
            refused = self.withdraw(offer, who, "withdraw", "refused")
            yield f"the item of {who} is refused", -1, _spent(_with(state, who, refused), REFUSALS)
        if state.budget[STOPS] and offer.has_lease and not offer.is_stored:
            yield f"the lease of {who} ends", -1, _spent(_with(state, who, offer._replace(has_lease=False)), STOPS)
        if not offer.has_lease:
            new = offer._replace(has_lease=True, owner=offer.owner + 1, has_changed=True)
            if offer.step == "sure" and self.rules.confirm:
                new = new._replace(step="unsure")
            yield (
                f"{who} takes a new lease",
                who,
                _with(state, who, new._replace(adopting=frozenset({("adopt", id, new.owner)}))),
            )

    def failovers(self, state: State) -> Iterator[tuple[str, int, State]]:
        for at, replica in enumerate(state.replicas):
            if replica is None:
                if state.budget[FAILOVERS]:
                    replicas = (*state.replicas[:at], state.shards[at], *state.replicas[at + 1 :])
                    yield f"replication of {at} stops", -1, _spent(state._replace(replicas=replicas), FAILOVERS)
                continue
            shards = (*state.shards[:at], replica, *state.shards[at + 1 :])
            replicas = (*state.replicas[:at], None, *state.replicas[at + 1 :])
            forgot = state.forgot or (replica != state.shards[at] and not self.rules.strict)
            offers = tuple(self.resent(offer, at) for offer in state.offers)
            yield f"failover of {at}", 2 * len(offers) + at, State(offers, shards, replicas, state.budget, forgot)

    def resent(self, offer: Offer, at: int) -> Offer:
        if at not in offer.wrote:
            return offer
        lost = {each for each in offer.heard if self.shard_of(each[0]) == at}
        todo = offer.todo | {command for command, _ in lost}
        return offer._replace(todo=todo, heard=offer.heard - lost, wrote=offer.wrote - {at})

    # -- what must hold ----------------------------------------------------------------------------

    def broken_rule(self, state: State) -> str:
        """The rule that this state breaks; "" if it breaks none."""
        keepers = [n for n, offer in enumerate(state.offers) if offer.is_stored and offer.is_alive]
        matches = self.scenario.matches
        if not state.forgot:
            for n, one in enumerate(keepers):
                for other in keepers[:n]:
                    if {(one, other), (other, one)} <= matches:
                        return f"{other} and {one} both keep the story"
        for n, offer in enumerate(state.offers):
            if offer.result == "dropped" and not state.offers[offer.of].is_stored:
                return f"{n} is lost: it was dropped as a copy of {offer.of}, which is not stored"
            if offer.result == "dropped" and (n, offer.of) not in matches:
                return f"{n} was dropped as a copy of {offer.of}, and is none"
        return ""

    def is_final(self, state: State) -> bool:
        return all((offer.step == "done" and not offer.todo) or not offer.is_alive for offer in state.offers)


def _round(offer: Offer, step: str, todo: Iterable[Command], **more: Any) -> Offer:
    return offer._replace(step=step, todo=frozenset(todo), heard=frozenset(), **more)


def _with(state: State, who: int, offer: Offer) -> State:
    return state._replace(offers=(*state.offers[:who], offer, *state.offers[who + 1 :]))


def _spent(state: State, fault: int) -> State:
    budget = (*state.budget[:fault], state.budget[fault] - 1, *state.budget[fault + 1 :])
    return state._replace(budget=budget)
