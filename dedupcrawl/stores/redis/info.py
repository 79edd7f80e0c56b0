"""What a namespace says of itself: its format, its layout, and under which configuration it was filled.

How much a namespace holds, counted without keeping the server busy for long.

The workers of a namespace, read from its server.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, cast

from redis import RedisCluster
from redis.exceptions import NoPermissionError, ResponseError

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import HotBucket, StoreInfo, check_scheme
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.namespace import TIMESTAMP_BYTES
from dedupcrawl.stores.transactional import OWNER_BYTES
from dedupcrawl.stores.workers import InvalidStatsError, ServerMemory, Worker, WorkersInfo, WorkerStats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis

    from dedupcrawl.stores.redis.client import ScriptCaller
    from dedupcrawl.stores.redis.namespace import KeyNames


FORMAT = "1"  #: of the values, and of how they hang together


@dataclass(frozen=True, slots=True)
class NamespaceMeta:
    """A namespace as a store object found or made it."""

    mark: bytes  #: format, layout and random digits, for a namespace that was made anew is another one
    layout: str
    scheme: str


def open_namespace(
    calls: ScriptCaller, shown: str, namespace: str, key: str, *, scheme: str | None, layout: str | None
) -> NamespaceMeta:
    """Let a configuration into a namespace, making it if it is new.

    Args:
        calls: the script.
        shown: how the user calls the store.
        namespace: which part of it.
        key: under which key it says so, for messages.
        scheme: JSON of the configuration; None: whichever the namespace has, and it must exist.
        layout: how it is laid out; None: as it is, ``hash`` for a new one.

    Raises:
        StoreMismatchError: the namespace was filled under another configuration.
        StoreError: another version filled it, in another layout, or it is not there.
    """
    new = f"{FORMAT} {layout or LAYOUTS[0]} {secrets.token_hex(6)}"
    mark, there = calls("admit", new, scheme or "")
    if mark is None and there is None:
        raise StoreError(f"The store {shown} has no namespace {namespace!r}.")
    found = _parse_meta(mark, there, shown, key)
    if layout not in {None, found.layout}:
        raise StoreError(
            f"The store {shown} cannot be opened: namespace {namespace!r} has layout {found.layout!r}, and "
            f"its URL says {layout!r}; export it, and import it into another namespace, to change that."
        )
    check_scheme(shown, namespace, found.scheme, scheme or found.scheme)
    return found


def _parse_meta(mark: bytes | None, scheme: bytes | None, shown: str, key: str) -> NamespaceMeta:
    """Refuse what we have not written."""
    parts = (mark or b"").decode("ascii", "replace").split(" ")
    if len(parts) == 3 and parts[0] != FORMAT and parts[0].isdigit():
        raise StoreError(
            f"The store {shown} cannot be opened: it has format {parts[0]}, "
            f"and this version reads format {FORMAT}."
        )
    if len(parts) != 3 or parts[1] not in LAYOUTS or not _is_json_object(scheme or b""):
        raise StoreError(f"The store {shown} is damaged: key {key!r} has a value that is not one of ours.")
    return NamespaceMeta(mark or b"", parts[1], (scheme or b"").decode())


def _is_json_object(scheme: bytes) -> bool:
    try:
        return isinstance(json.loads(scheme), dict)
    except ValueError:
        return False


_INTEGER = re.compile(rb"-?\d{1,15}")
MAX_HOTTEST = 5  #: fullest buckets that are named
MEMORY_SAMPLES = 200  #: entries of a hash, and small hashes, that stand for the others when bytes are counted


def namespace_info(
    client: Redis | RedisCluster,
    ask: Callable[..., Any],
    shown: str,
    names: KeyNames,
    admission: NamespaceMeta,
) -> StoreInfo:
    """Count what is filed, whether live or not."""
    meta, records, *_ = names.all
    counts = cast("list[bytes | None]", client.hmget(meta, ["keys", "shelves"]))
    keys, shelves = (_checked_number(b"0" if each is None else each, shown, meta) for each in counts)
    claims = _count_claims(ask)
    return StoreInfo(
        url=shown,
        namespace=names.namespace,
        pages=client.hlen(records),
        open=claims["open"],
        scraped=claims["scraped"],
        ended=claims["ended"],
        keys=keys,
        bytes=_memory_bytes(client, names, max(shelves, 0) or (admission.layout == "compact")),
        oldest=_edge_time(ask, 1),
        newest=_edge_time(ask, -1),
        scheme=admission.scheme,
        layout=admission.layout,
        **_hot_buckets(client, shown, names),
    )


def _count_claims(ask: Callable[..., Any]) -> Counter[str]:
    """Count claims, a slice at a time; the server's clock tells whose lease has ended."""
    counts: Counter[str] = Counter()
    cursor = b"0"
    while True:
        cursor, opened, scraped, ended = ask("stand", cursor)
        counts.update(open=opened, scraped=scraped, ended=ended)
        if cursor == b"0":
            return counts


def _checked_number(value: bytes, shown: str, key: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise StoreError(f"The store {shown} is damaged: key {key!r} has a value that is not one of ours.")
    return int(value)


def _hot_buckets(client: Redis | RedisCluster, shown: str, names: KeyNames) -> dict[str, Any]:
    hot = names.key("hot")
    entries = client.hscan_iter(hot, count=1000)
    found = [(_checked_number(times, shown, hot), key) for key, times in entries]
    fullest = sorted(found, reverse=True)[:MAX_HOTTEST]
    return {"hot": len(found), "hottest": tuple(HotBucket(key.hex(), times) for times, key in fullest)}


def _edge_time(ask: Callable[..., Any], step: int) -> float | None:
    """Return when the record filed first (last, with a step of -1) was seen."""
    start, moment = ask("edge", step, 0)
    while start > 0:
        start, moment = ask("edge", step, start)
    return None if start < 0 else moment / 1000


def _memory_bytes(client: Redis | RedisCluster, names: KeyNames, shelves: int) -> int:
    """Return the server's memory that these keys take; 0 where it does not tell."""
    try:
        whole = sum(_memory_usages(client, names.all))
        some = Random(0).sample(range(shelves), min(shelves, MEMORY_SAMPLES))  # noqa: S311  # no secret
        each = sum(_memory_usages(client, [f"{names.key('buckets')}:{n}" for n in some])) / max(len(some), 1)
    except ResponseError:
        return 0
    return whole + round(each * shelves)


def _memory_usages(client: Redis | RedisCluster, names: Sequence[str]) -> list[int]:
    """Return the bytes that each key takes, asked in one round trip; a cluster takes several."""
    if isinstance(client, RedisCluster):
        return [int(client.memory_usage(name, samples=MEMORY_SAMPLES) or 0) for name in names]
    with client.pipeline(transaction=False) as several:
        for name in names:
            several.memory_usage(name, samples=MEMORY_SAMPLES)
        return [int(each or 0) for each in several.execute()]


SHOWN_AFTER_END = 3600.0  #: seconds after a worker's end; lua/workers.lua lets go of it then
MAX_WORKERS = 1000  #: workers that are read; ours are fewer
OWNER_VALUE_BYTES = 12  #: bytes: end of the lease, claims lost


def workers_info(client: Redis | RedisCluster, names: KeyNames) -> WorkersInfo:
    """Read what the workers said of themselves, and how much memory the server has.

    Values that are not ours are told, not raised: nothing depends on them.
    """
    key = names.key("workers")
    try:
        said = dict(islice(client.hscan_iter(key, count=MAX_WORKERS), MAX_WORKERS))
    except NoPermissionError:
        raise
    except ResponseError as error:
        if "WRONGTYPE" not in str(error):
            raise
        return WorkersInfo(
            (), _server_memory(client, names), f"key {key!r} is another program's, not a hash of ours"
        )
    workers = _workers(client, names, said)
    strange = [each.token for each in workers if each.figures is None]
    problem = f"key {key!r} has values at {', '.join(strange[:3])} that are not ours" if strange else ""
    return WorkersInfo(workers, _server_memory(client, names), problem)


def _workers(client: Redis | RedisCluster, names: KeyNames, said: dict[bytes, bytes]) -> tuple[Worker, ...]:
    tokens = [token for token in said if len(token) == OWNER_BYTES]
    owners: list[Any] = client.hmget(names.key("owners"), tokens) if tokens else []
    seconds, micros = client.time()
    now = seconds + micros / 1e6
    known = dict(zip(tokens, owners, strict=True))
    found = [_worker(token, value, known.get(token), now) for token, value in said.items()]
    return tuple(sorted((each for each in found if _is_shown(each)), key=_sort_key))


def _worker(token: bytes, value: bytes, owner: bytes | None, now: float) -> Worker:
    age = max(0.0, now - int.from_bytes(value[:TIMESTAMP_BYTES], "big") / 1000)
    try:
        figures = WorkerStats.unpack(value[TIMESTAMP_BYTES:])
    except InvalidStatsError:
        figures = None
    return Worker(token[:OWNER_BYTES].hex(), _state(owner, now), age, figures)


def _state(owner: bytes | None, now: float) -> str:
    if owner is None:
        return "done"
    lives = len(owner) == OWNER_VALUE_BYTES and int.from_bytes(owner[:TIMESTAMP_BYTES], "big") / 1000 > now
    return "here" if lives else "gone"


def _is_shown(worker: Worker) -> bool:
    return worker.state == "here" or worker.age < SHOWN_AFTER_END or worker.figures is None


def _sort_key(worker: Worker) -> tuple[bool, str, int, str, str]:
    told = worker.figures
    if told is None:
        return (True, "", 0, "", worker.token)
    return (False, told.host, told.process, told.spider, worker.token)


def _server_memory(client: Redis | RedisCluster, names: KeyNames) -> ServerMemory | None:
    try:
        if isinstance(client, RedisCluster):
            node = client.get_node_from_key(names.key("meta"))  # type: ignore[no-untyped-call]
            about: dict[str, Any] = client.info("memory", target_nodes=node)
        else:
            about = client.info("memory")
    except ResponseError:
        return None
    used, limit = about.get("used_memory"), about.get("maxmemory")
    return ServerMemory(used, limit) if isinstance(used, int) and isinstance(limit, int) else None
