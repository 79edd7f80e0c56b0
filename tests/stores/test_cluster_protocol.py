"""Claims on a cluster keep each story once, in every order of messages: a model, visited exhaustively and at random."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from redis.exceptions import NoScriptError

from dedupcrawl.stores.redis.namespace import KeyNames
from dedupcrawl.stores.redis.sharded.layout import OPENED, ClaimEntry, ShardLayout, packed_time
from dedupcrawl.stores.redis.sharded.shard_scripts import scripts
from tests.stores.cluster_model import (
    COMMITTED,
    GONE,
    OPEN,
    PENDING,
    Model,
    Rules,
    Scenario,
    Shard,
    Stage,
    State,
    execute,
)
from tests.stores.factories import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dedupcrawl.stores.redis.sharded.layout import Command
    from tests.stores.servers import Server

#: Keys of two offers: one home; two homes and one common bucket; two homes and two common buckets.
HOME, ONE, TWO = ((0,), (0,)), ((0,), (1, 0)), ((0, 1), (1, 0))


def offers(keys: tuple[tuple[int, ...], ...], *tickets: int, **more: Any) -> Scenario:
    all_alike = frozenset((a, b) for a in range(len(keys)) for b in range(len(keys)) if a != b)
    return Scenario(keys, more.pop("matches", all_alike), tickets, **more)


FAULTS = ("kills", "refusals", "late", "repeats")
SCENARIOS = {
    "two buckets": offers(TWO, 1, 2),
    "equal tickets": offers(TWO, 1, 1),
    "excerpt": offers(TWO, 1, 2, matches=frozenset({(1, 0)})),
    "expansion": offers(TWO, 1, 2, matches=frozenset({(0, 1)})),
    "two buckets, refusals": offers(TWO, 1, 2, again=(1,), refusals=1),
    "two buckets, both again": offers(TWO, 1, 2, again=(0, 1), refusals=1),
    "three offers": offers(((0,), (0,), (0,)), 1, 2, 3, again=(0, 1)),
    "chain": offers(((0,), (0,), (0,)), 2, 1, 3, again=(1, 2), matches=frozenset({(0, 1), (1, 0), (1, 2), (2, 1)})),
    "one home, two faults": offers(HOME, 1, 2, kills=1, refusals=1),
    "one home, stops": offers(HOME, 1, 2, stops=1),
    "one home, failovers": offers(HOME, 1, 2, failovers=1),
    "strict": offers(ONE, 1, 2, failovers=1, rules=Rules(strict=True)),
    "strict, other tickets": offers(ONE, 2, 1, failovers=1, rules=Rules(strict=True)),
    **{f"{fault} {tickets}": offers(ONE, *tickets, **{fault: 1}) for fault in FAULTS for tickets in ((1, 2), (2, 1))},
}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=list(SCENARIOS))
def test_each_story_is_kept_once(scenario: Scenario) -> None:
    assert explore(scenario) > 100


TWICE, LOST, ENDLESS = "both keep the story", "is lost", "it goes on for ever"
BROKEN = {
    "absence means gone": (offers(ONE, 1, 2), {"tombstones"}, TWICE),
    "no wounds": (offers(TWO, 1, 2), {"wounds"}, TWICE),
    "a wounded page claims": (offers(TWO, 1, 2), {"subset"}, TWICE),
    "tickets are times alone": (offers(TWO, 1, 1), {"ids_decide"}, ENDLESS),
    "record and stage are filed in two steps": (offers(ONE, 1, 2), {"atomic_file"}, LOST),
    "record and stage are removed in two steps": (offers(TWO, 1, 2, refusals=1), {"atomic_withdraw"}, LOST),
    "placed without reading": (offers(ONE, 1, 2), {"read_back"}, TWICE),
    "buckets of others are not joined": (offers(TWO, 1, 2), {"rejoin"}, TWICE),
    "a late page is buried by its owner alone": (offers(TWO, 1, 2, late=1), {"bury_stage"}, TWICE),
    "a page with a new owner is buried": (offers(HOME, 1, 2, stops=1), {"bury_owner"}, TWICE),
    "a new lease takes claims for granted": (offers(ONE, 2, 1, stops=1), {"confirm"}, TWICE),
    "blockers are believed": (offers(TWO, 1, 2, matches=frozenset({(0, 1)})), {"verify_blockers"}, "is none"),
}
UNSAFE = {
    "a lost id is wounded without a tombstone": "wound_condemns",
    "replicas of the home alone": "strict_everywhere",
    "tombstones that no replica has": "strict_tombstones",
}
BROKEN |= {name: (offers(ONE, 1, 2, failovers=1), {"strict", switch}, TWICE) for name, switch in UNSAFE.items()}


@pytest.mark.parametrize(("scenario", "switched", "broken"), BROKEN.values(), ids=list(BROKEN))
def test_each_rule_is_needed(scenario: Scenario, switched: set[str], broken: str) -> None:
    """The model can fail: with one rule less it finds the run that this rule prevents."""
    rules = Rules(**{name: name == "strict" for name in switched})
    changed = Scenario(**{**vars(scenario), "rules": rules})
    with pytest.raises(ViolationError, match=broken):
        explore(changed)


class Runs(RuleBasedStateMachine):
    """Random runs of up to five offers over three shards, with all faults; at the end everybody who lives finishes."""

    @initialize(data=st.data(), strict=st.booleans(), seed=st.integers(0, 2**32))
    def begin(self, data: st.DataObject, strict: bool, seed: int) -> None:
        keys = st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True).map(tuple)
        filed = tuple(data.draw(st.lists(keys, min_size=2, max_size=5)))
        tickets = tuple(data.draw(st.integers(0, 2)) for _ in filed)
        pairs = {(a, b) for a in range(len(filed)) for b in range(a) if {*filed[a]} & {*filed[b]}}
        alike = frozenset(pair for pair in sorted(pairs) if data.draw(st.integers(0, 3)))
        faults: dict[str, Any] = dict.fromkeys(("kills", "stops", "refusals", "late", "repeats", "failovers"), 1)
        again = tuple(n for n in range(len(filed)) if data.draw(st.booleans()))
        scenario = Scenario(filed, alike | {(b, a) for a, b in alike}, tickets, Rules(strict=strict), again, **faults)
        self.model = Model(scenario)
        self.state = self.model.start()
        self.chance = Random(seed)

    @rule(choice=st.integers(0, 2**16))
    def happens(self, choice: int) -> None:
        moves = sorted(self.model.moves(self.state), key=lambda move: move[0])
        if moves:
            self.state = moves[choice % len(moves)][2]

    @invariant()
    def no_rule_is_broken(self) -> None:
        if hasattr(self, "state"):
            assert not self.model.broken_rule(self.state)

    def teardown(self) -> None:
        if not hasattr(self, "state"):
            return
        for _ in range(5000):
            if self.model.is_final(self.state):
                return
            moves = sorted((move for move in self.model.moves(self.state) if move[1] >= 0), key=lambda move: move[0])
            self.state = self.chance.choice(moves)[2]
            assert not self.model.broken_rule(self.state)
        raise AssertionError(ENDLESS)


TestRuns = Runs.TestCase
TestRuns.settings = settings(
    max_examples=40, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
)


# -- the model and the scripts --------------------------------------------------------------------

IDS, OWNERS = range(4), range(2)
NUMBER = st.sampled_from(IDS)
COMMANDS = st.one_of(
    st.tuples(st.just("file"), NUMBER, st.sampled_from(OWNERS), st.booleans()),
    st.tuples(st.sampled_from(["put", "read", "join", "leave"]), NUMBER, st.just(0)),
    st.tuples(st.sampled_from(["fetch", "look", "claim", "commit", "drop"]), NUMBER),
    st.tuples(st.sampled_from(["wound", "settle"]), NUMBER, NUMBER),
    st.tuples(st.just("adopt"), NUMBER, st.sampled_from(OWNERS)),
    st.tuples(st.just("bury"), NUMBER, st.sampled_from(OWNERS), st.sampled_from([PENDING, PENDING + OPEN])),
)


class Scripts:
    """The commands of the model, executed by the real scripts under one tag."""

    key = b"\0\0key!"

    def __init__(self, client: Any, pages: int = 0, pieces: int = 0) -> None:
        self.client = client
        self.layout = ShardLayout(KeyNames("news"), "", pages)
        self.value = self.layout.codec.pack(record(f"http://a/{'x' * 90}", 1), 1, 1)
        self.pieces = pieces

    def send(self, command: Command) -> Any:
        try:
            return self.client.execute_command(*command.words)
        except NoScriptError:
            self.client.script_load(scripts()[command.words[1]])
            return self.client.execute_command(*command.words)

    def command(self, name: str, number: int, rest: list[Any], owner: int) -> Command:
        layout, id, now = self.layout, self.id_of(number), 5
        commands: dict[str, Callable[[], Command]] = {
            "file": lambda: layout.file(id, self.value, token_of(rest[0]) + OPENED, self.key, pends=rest[1]),
            "put": lambda: layout.place(self.key, id),
            "read": lambda: layout.bucket(self.key),
            "join": lambda: layout.join(self.key, id),
            "leave": lambda: layout.leave(self.key, id),
            "fetch": lambda: layout.fetch(id, now),
            "look": lambda: layout.look(id),
            "claim": lambda: layout.claim(id),
            "wound": lambda: layout.wound(id, self.id_of(rest[0]), now),
            "settle": lambda: layout.settle(id, token_of(owner) + OPENED, self.id_of(rest[0]), b"", commit=False),
            "commit": lambda: layout.seal(id)[0],  # its stage is removed after it, or never
            "adopt": lambda: layout.adopt(id, token_of(owner), token_of(rest[0])),
            "bury": lambda: layout.bury(id, token_of(rest[0]), now, pending=rest[1] == PENDING),
            "drop": lambda: layout.remove(id, packed_time(1)),
        }
        return commands[name]()

    def execute(self, command: tuple[Any, ...], owner: int = 0) -> object:
        """Return the reply as the model has it; ``owner`` is that of the record now."""
        name, number, *rest = command
        said = self.send(self.command(name, number, rest, owner))
        match name:
            case "file":
                return None if said is None else self.numbers_in(said) | {number}
            case "read":
                return self.numbers_in(said or b"")
            case "join":
                return self.numbers_in(said) | {number}
            case "fetch" | "look":
                found = ClaimEntry(*said)
                state = GONE if found.state == b"X" else found.state.decode()
                return state, found.token[0] if state in {PENDING, OPEN} else 0
            case "claim":
                return said == 1
            case "wound":
                return GONE if said == b"X" else said.decode()
            case "settle":
                return {b"X": GONE, b"c": OPEN}.get(said) or tuple(sorted(self.numbers_in(said)))
        return None

    def id_of(self, number: int) -> bytes:
        return bytes((0, self.pieces << 4, *bytes(self.layout.id_bytes - 3), number))

    def numbers_in(self, packed: bytes) -> frozenset[int]:
        return frozenset(id[-1] for id in self.layout.ids_in(packed))


def token_of(owner: int) -> bytes:
    return bytes((owner,)) * 8


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(commands=st.lists(COMMANDS, max_size=40), pages=st.sampled_from([0, 30_000, 10**7]), pieces=st.integers(0, 3))
def test_the_scripts_do_what_the_model_says(
    server: Server, commands: list[tuple[Any, ...]], pages: int, pieces: int
) -> None:
    """Each command has the same reply on a real server, and leaves the same state."""
    shard = Shard()
    with server.client() as client:
        client.flushall()
        real = Scripts(client, pages, pieces)
        for command in commands:
            owner = dict(shard.homes).get(command[1], Stage()).owner
            shard, said = execute(Rules(), shard, command)
            claimed = command[0] == "settle" and said == COMMITTED  # for the script one reply
            reply = real.execute(command, owner)
            if command[0] != "claim" or dict(shard.homes).get(command[1], Stage()).state != COMMITTED:
                assert reply == (OPEN if claimed else said), command  # no worker claims a page that it has committed
            assert real.execute(("read", 0)) == frozenset(shard.bucket), command
            for number in IDS:
                stage = dict(shard.homes).get(number, Stage())
                assert real.execute(("look", number)) == (stage.state, stage.owner), command


# -- visiting all states --------------------------------------------------------------------------


class ViolationError(AssertionError):
    """A state that no run may reach, with the steps to it."""


def explore(scenario: Scenario, limit: int = 40_000) -> int:
    """Visit all states; return how many there are.

    Raises:
        ViolationError: a state breaks a rule, or living clients can go on for ever without an end.
    """
    model = Model(scenario)
    start = model.start()
    came: dict[State, tuple[State, str] | None] = {start: None}
    steps: dict[State, list[tuple[int, State]]] = {}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if broken := model.broken_rule(state):
            raise ViolationError(_story(came, state, broken))
        steps[state] = []
        for what, who, after in model.moves(state):
            steps[state].append((who, after))
            if after not in came:
                came[after] = state, what
                queue.append(after)
        assert len(came) <= limit, "too large a scenario"
    for states in _components(steps):
        if not model.is_final(states[0]) and _is_endless(states, steps):
            raise ViolationError(_story(came, states[-1], "it goes on for ever"))
    return len(came)


def _is_endless(states: list[State], steps: dict[State, list[tuple[int, State]]]) -> bool:
    """Whether all that must happen at some time can happen without leaving this component.

    A component without a step is a deadlock. Faults (-1) need not happen.
    """
    inside = set(states)
    able = {who for state in states for who, _ in steps[state] if who >= 0}
    staying = {who for state in states for who, after in steps[state] if who >= 0 and after in inside}
    return able == staying


def _components(steps: dict[State, list[tuple[int, State]]]) -> Iterator[list[State]]:
    """The strongly connected components (Tarjan 1972, without recursion)."""
    number: dict[State, int] = {}
    low: dict[State, int] = {}
    path: list[State] = []
    done: set[State] = set()
    for root, first in steps.items():
        if root in number:
            continue
        number[root] = low[root] = len(number)
        path.append(root)
        work = [(root, iter(first))]
        while work:
            state, rest = work[-1]
            for _, after in rest:
                if after not in number:
                    number[after] = low[after] = len(number)
                    path.append(after)
                    work.append((after, iter(steps[after])))
                    break
                if after not in done:
                    low[state] = min(low[state], number[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == number[state]:
                    at = next(n for n in range(len(path) - 1, -1, -1) if path[n] == state)
                    yield path[at:]
                    done.update(path[at:])
                    del path[at:]


def _story(came: dict[State, tuple[State, str] | None], state: State, broken: str) -> str:
    steps = [broken]
    while (found := came[state]) is not None:
        state, what = found
        steps.append(what)
    return "\n".join(reversed(steps))
