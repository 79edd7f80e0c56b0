"""Information about a namespace: its size, its hot buckets, its workers, the memory of its server; and its removal."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, cast

from redis import Redis, RedisCluster
from redis.exceptions import NoPermissionError, ResponseError

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import MAX_DAMAGED, MAX_HOTTEST, HotBucketInfo, StoreInfo, check_unused
from dedupcrawl.stores.records import OWNER_BYTES, is_time
from dedupcrawl.stores.redis.namespace import TIMESTAMP_BYTES
from dedupcrawl.stores.redis.note_hashes import stored_note_keys
from dedupcrawl.stores.redis.site_hash import SITES
from dedupcrawl.stores.workers import InvalidStatsError, MemoryInfo, WorkerRecord, WorkersInfo, WorkerStats
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from redis.client import Pipeline
    from redis.cluster import ClusterNode

    from dedupcrawl.stores.redis.namespace import KeyNames, NamespaceMetadata

MEMORY_SAMPLES = 200  #: entries of a hash, and small hashes, from which the memory of all is estimated
SHOWN_AFTER_END = 3600.0  #: seconds for which an ended worker is shown; lua/workers.lua removes it then
UNLINKED_AT_ONCE = 1000  #: keys in one command
MAX_WORKERS = 1000  #: workers that are read; lua/workers.lua keeps fewer
OWNER_VALUE_BYTES = 12  #: end of the lease, claims lost
_INTEGER = re.compile(rb"-?\d{1,15}")


def namespace_info(
    client: Redis | RedisCluster, call: Callable[..., Any], shown: str, names: KeyNames, meta: NamespaceMetadata
) -> StoreInfo:
    """Count what is filed, live or not, without occupying the server for long; ``call`` calls a script."""
    meta_key, records, *_ = names.all
    counts = cast("list[bytes | None]", client.hmget(meta_key, ["keys", "shelves"]))
    keys, partitions = (_checked_number(b"0" if each is None else each, shown, meta_key) for each in counts)
    claims, damaged = _count_claims(call)
    return StoreInfo(
        url=shown,
        namespace=names.namespace,
        pages=max(0, client.hlen(records) - claims["open"] - claims["scraped"]),  # every claim has a mark there
        open=claims["open"],
        scraped=claims["scraped"],
        ended=claims["ended"],
        damaged_claims=damaged,
        keys=keys,
        bytes=_memory_bytes(client, names, max(partitions, 0) or (meta.layout == "compact")),
        oldest=_edge_time(call, 1),
        newest=_edge_time(call, -1),
        scheme=meta.scheme,
        layout=meta.layout,
        **_hot_buckets(client, shown, names),
    )


def _count_claims(call: Callable[..., Any]) -> tuple[Counter[str], tuple[str, ...]]:
    """Count the claims in batches, by the server's clock; return the ids of damaged ones as well."""
    counts: Counter[str] = Counter()
    damaged: set[str] = set()  # a claim may be in two batches
    cursor = b"0"
    while True:
        cursor, opened, scraped, ended, unreadable = call("count_claims", cursor)
        damaged.update(id.decode("ascii", "backslashreplace") for id in unreadable)
        counts.update(open=opened, scraped=scraped, ended=ended)
        if cursor == b"0":
            return counts, tuple(sorted(damaged)[:MAX_DAMAGED])


def _checked_number(value: bytes, shown: str, key: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise StoreError(f"The store {shown} is damaged: key {key!r} has a value that is not one of ours.")
    return int(value)


def _hot_buckets(client: Redis | RedisCluster, shown: str, names: KeyNames) -> dict[str, Any]:
    hot = names.key("hot")
    entries = client.hscan_iter(hot, count=1000)
    found = [(_checked_number(count, shown, hot), key) for key, count in entries]
    hottest = sorted(found, reverse=True)[:MAX_HOTTEST]
    return {"hot": len(found), "hottest": tuple(HotBucketInfo(key.hex(), count) for count, key in hottest)}


def _edge_time(call: Callable[..., Any], step: int) -> float | None:
    """Return when the record filed first (``step`` 1) or last (-1) was seen; None if it was never, or at no time."""
    start, time = call("edge_time", step, 0)
    while start > 0:
        start, time = call("edge_time", step, start)
    return time / 1000 if start == 0 and is_time(time / 1000) else None


def _memory_bytes(client: Redis | RedisCluster, names: KeyNames, partitions: int) -> int:
    """Return the memory of these keys; 0 if the user may not read it."""
    try:
        total = sum(_memory_usages(client, names.all))
        some = Random(0).sample(range(partitions), min(partitions, MEMORY_SAMPLES))  # noqa: S311  # no secret
        mean = sum(_memory_usages(client, [f"{names.key('buckets')}:{n}" for n in some])) / max(len(some), 1)
    except ResponseError:
        return 0
    return total + round(mean * partitions)


def _memory_usages(client: Redis | RedisCluster, names: Sequence[str]) -> list[int]:
    """Return the bytes of each key, in one round trip; in a cluster in several."""
    if isinstance(client, RedisCluster):
        return [int(client.memory_usage(name, samples=MEMORY_SAMPLES) or 0) for name in names]
    with client.pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.memory_usage(name, samples=MEMORY_SAMPLES)
        return [int(each or 0) for each in pipeline.execute()]


def workers_info(client: Redis | RedisCluster, names: KeyNames, *, is_sharded: bool = False) -> WorkersInfo:
    """Read the statistics that workers published, and the memory of the server.

    Invalid values are reported in the result, not raised: nothing depends on them.
    """
    key = names.key("workers")
    try:
        published = dict(islice(client.hscan_iter(key, count=MAX_WORKERS), MAX_WORKERS))
    except NoPermissionError:
        raise
    except ResponseError as error:
        if "WRONGTYPE" not in str(error):
            raise
        problem = f"key {key!r} is another program's, not a hash of ours"
        return WorkersInfo((), _server_memory(client, names, is_sharded=is_sharded), problem)
    workers = _workers(client, names, published)
    invalid = [each.token for each in workers if each.stats is None]
    problem = f"key {key!r} has values at {', '.join(invalid[:3])} that are not ours" if invalid else ""
    return WorkersInfo(workers, _server_memory(client, names, is_sharded=is_sharded), problem)


def _workers(client: Redis | RedisCluster, names: KeyNames, published: dict[bytes, bytes]) -> tuple[WorkerRecord, ...]:
    tokens = [token for token in published if len(token) == OWNER_BYTES]
    owners: list[Any] = client.hmget(names.key("owners"), tokens) if tokens else []
    seconds, micros = client.time()
    now = seconds + micros / 1e6
    known = dict(zip(tokens, owners, strict=True))
    found = [_worker(token, value, known.get(token), now) for token, value in published.items()]
    return tuple(sorted((each for each in found if _is_shown(each)), key=_sort_key))


def _worker(token: bytes, value: bytes, owner: bytes | None, now: float) -> WorkerRecord:
    age = max(0.0, now - int.from_bytes(value[:TIMESTAMP_BYTES], "big") / 1000)
    try:
        stats = WorkerStats.from_json(value[TIMESTAMP_BYTES:])
    except InvalidStatsError:
        stats = None
    return WorkerRecord(token[:OWNER_BYTES].hex(), _state(owner, now), age, stats)


def _state(owner: bytes | None, now: float) -> str:
    if owner is None:
        return "done"
    lease_end = int.from_bytes(owner[:TIMESTAMP_BYTES], "big") / 1000
    return "here" if len(owner) == OWNER_VALUE_BYTES and lease_end > now else "gone"


def _is_shown(worker: WorkerRecord) -> bool:
    return worker.state == "here" or worker.age < SHOWN_AFTER_END or worker.stats is None


def _sort_key(worker: WorkerRecord) -> tuple[bool, str, int, str, str]:
    stats = worker.stats
    if stats is None:
        return (True, "", 0, "", worker.token)
    return (False, stats.host, stats.process, stats.spider, worker.token)


def _all_memory(abouts: Sequence[Mapping[str, Any]]) -> MemoryInfo:
    """Return the memory of several servers together, and their limit, if each has one."""
    limits = [int(about["maxmemory"]) for about in abouts]
    return MemoryInfo(sum(int(about["used_memory"]) for about in abouts), sum(limits) if all(limits) else 0)


def _server_memory(client: Redis | RedisCluster, names: KeyNames, *, is_sharded: bool) -> MemoryInfo | None:
    try:
        if isinstance(client, RedisCluster) and is_sharded:
            return _all_memory([*client.info("memory", target_nodes=RedisCluster.PRIMARIES).values()])
        if isinstance(client, RedisCluster):
            node = client.get_node_from_key(names.key("meta"))  # type: ignore[no-untyped-call]
            about: dict[str, Any] = client.info("memory", target_nodes=node)
        else:
            about = client.info("memory")
    except ResponseError:
        return None
    used, limit = about.get("used_memory"), about.get("maxmemory")
    return MemoryInfo(used, limit) if isinstance(used, int) and isinstance(limit, int) else None


def owners_here(client: Redis | RedisCluster, names: KeyNames) -> int:
    """Return how many workers have a namespace open."""
    seconds, micros = client.time()
    owners = cast("dict[bytes, bytes]", client.hgetall(names.key("owners")))
    return sum(_state(owner, seconds + micros / 1e6) == "here" for owner in owners.values())


def remove_namespace(client: Redis | RedisCluster, shown: str, names: KeyNames) -> int:
    """Remove all keys of a namespace, unless a worker has it open; return how many pages it had.

    The server removes all keys in one step, and only if nobody has entered since the workers were looked up. It frees
    their memory in the background.

    Raises:
        StoreInUseError: a worker has it open.
    """
    meta, records, _, _, owners, _ = names.all
    node = client if isinstance(client, Redis) else client.get_redis_connection(_node_of(client, meta))
    pages = 0

    def remove(pipeline: Pipeline) -> None:
        nonlocal pages
        seconds, micros = pipeline.time()
        found = cast("dict[bytes, bytes]", pipeline.hgetall(owners))
        now = seconds + micros / 1e6
        check_unused(shown, names.namespace, sum(_state(owner, now) == "here" for owner in found.values()))
        pages = pipeline.hlen(records)
        partitions = _checked_number(cast("bytes | None", pipeline.hget(meta, "shelves")) or b"0", shown, meta)
        notes = stored_note_keys(pipeline, names)
        pipeline.multi()
        small = (f"{names.key('buckets')}:{number}" for number in range(max(partitions, 1)))
        for keys in chunked([*names.all, names.key("workers"), names.key(SITES), *notes, *small], UNLINKED_AT_ONCE):
            pipeline.unlink(*keys)

    node.transaction(remove, meta, owners)
    return pages


def _node_of(client: RedisCluster, key: str) -> ClusterNode:
    return client.get_node_from_key(key)  # type: ignore[no-untyped-call, no-any-return]
