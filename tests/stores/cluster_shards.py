"""What a shard of the model does: its records, one bucket, and the commands that it executes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Id: TypeAlias = int  #: ATTEMPTS * offer + attempt: an id is used once
Command: TypeAlias = tuple[object, ...]  #: name, id, and what it needs
NEW, PENDING, OPEN, COMMITTED, GONE = "npoc-"  #: states of a record; a tombstone is GONE


@dataclass(frozen=True)
class Rules:
    """The protocol; each switch turns one of its rules off."""

    tombstones: bool = True  #: an id that is fetched before it was filed can never be filed
    marks: bool = True  #: only a pending page that knows of others can be wounded: the first one claims without asking
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


class Stage(NamedTuple):
    """What a home knows of an id."""

    state: str = GONE
    owner: int = 0  #: 0: the first lease of the worker, 1: the next
    is_wounded: bool = False
    wounds: tuple[Id, ...] = ()
    contends: bool = False  #: it is pending, and knows of others

    def shown(self, rules: Rules) -> str:
        """The state as others read it."""
        return NEW if self.state == PENDING and not self.contends and rules.marks else self.state


class Shard(NamedTuple):
    """The records whose home it is, and one bucket."""

    homes: tuple[tuple[Id, Stage], ...] = ()
    bucket: tuple[Id, ...] = ()


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
    return _execute_in_bucket(shard, "join", id) if name in {"file", "record"} and reply else (shard, reply)


def _execute_in_bucket(shard: Shard, name: str, id: Id) -> tuple[Shard, object]:
    """The reply is what stands there then."""
    bucket = shard.bucket
    if name == "leave":
        bucket = tuple(each for each in bucket if each != id)
    elif name == "put":
        return shard._replace(bucket=bucket or (id,)), not bucket
    elif name == "join" and id not in bucket:
        bucket = (*bucket, id)
    return shard._replace(bucket=bucket), None if name == "leave" else frozenset(bucket)


def _execute_at_home(  # noqa: C901  # a case for each command
    rules: Rules, stage: Stage | None, name: str, rest: list[object]
) -> tuple[Stage | None, object]:
    known = stage or Stage()
    is_claim = known.state in {PENDING, OPEN}
    match name, *rest:
        case "file", owner:
            may = stage is None or (is_claim and known.owner == owner)  # or it was sent again
            return stage or Stage(PENDING, owner), may or None  # type: ignore[arg-type]
        case "record", _:  # without a stage it looks committed
            return stage or Stage(COMMITTED), True
        case "stage", owner:
            return Stage(PENDING, owner), None  # type: ignore[arg-type]
        case ("unstage",):
            return (known._replace(state=COMMITTED) if is_claim else stage), None
        case ("drop",):
            return (stage if known.state == GONE else None), None
        case ("look",):
            return stage, (known.shown(rules), known.owner)
        case ("fetch",):
            return (stage or (Stage() if rules.tombstones else None)), (known.shown(rules), known.owner)
        case ("contend",):
            return (known._replace(contends=True) if known.state == PENDING else stage), None
        case "wound", blocker:
            if known.shown(rules) == PENDING:
                wounds = tuple(sorted({*known.wounds, blocker}))  # type: ignore[type-var]
                return known._replace(is_wounded=True, wounds=wounds), PENDING  # type: ignore[arg-type]
            return stage, known.shown(rules)
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
