"""How much a namespace holds, counted without keeping the server busy for long."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, cast

from redis import RedisCluster
from redis.exceptions import ResponseError

from dedupcrawl.stores.base import ClaimState, HotBucket, StoreInfo
from dedupcrawl.stores.redis.values import CLAIM_BYTES, STATE, claim_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis import Redis

    from dedupcrawl.stores.redis.admission import Admission
    from dedupcrawl.stores.redis.names import Names

SHOWN = 5  #: fullest buckets that are named
SAMPLES = 200  #: entries of a hash, and small hashes, that stand for the others when bytes are counted


def take_stock(
    client: Redis | RedisCluster,
    ask: Callable[..., Any],
    shown: str,
    names: Names,
    admission: Admission,
) -> StoreInfo:
    """Count what is filed, whether live or not."""
    meta, records, *_ = names.all
    keys, shelves = cast("tuple[bytes | None, bytes | None]", client.hmget(meta, ["keys", "shelves"]))
    states = list(_states(client, shown, names))
    return StoreInfo(
        url=shown,
        namespace=names.namespace,
        pages=client.hlen(records),
        open=states.count(ClaimState.OPEN),
        scraped=states.count(ClaimState.SCRAPED),
        keys=int(keys or 0),
        bytes=_bytes(client, names, int(shelves or 0) or (admission.layout == "compact")),
        oldest=_edge(ask, 1),
        newest=_edge(ask, -1),
        scheme=admission.scheme,
        layout=admission.layout,
        **_hot(client, names),
    )


def _states(client: Redis | RedisCluster, shown: str, names: Names) -> Iterator[ClaimState]:
    for id, value in client.hscan_iter(names.key("claims"), count=1000):
        state = value[STATE] if len(value) == CLAIM_BYTES else 0
        yield claim_state(shown, names, id.decode("ascii", "replace"), state)


def _hot(client: Redis | RedisCluster, names: Names) -> dict[str, Any]:
    found = [(int(times), key) for key, times in client.hscan_iter(names.key("hot"), count=1000)]
    fullest = sorted(found, reverse=True)[:SHOWN]
    return {"hot": len(found), "hottest": tuple(HotBucket(key.hex(), times) for times, key in fullest)}


def _edge(ask: Callable[..., Any], step: int) -> float | None:
    """Return when the record filed first (last, with a step of -1) was seen."""
    start, moment = ask("edge", step, 0)
    while start > 0:
        start, moment = ask("edge", step, start)
    return None if start < 0 else moment / 1000


def _bytes(client: Redis | RedisCluster, names: Names, shelves: int) -> int:
    """Return the server's memory that these keys take; 0 where it does not tell."""
    try:
        whole = sum(_usages(client, names.all))
        some = Random(0).sample(range(shelves), min(shelves, SAMPLES))  # noqa: S311  # no secret
        each = sum(_usages(client, [f"{names.key('buckets')}:{n}" for n in some])) / max(len(some), 1)
    except ResponseError:
        return 0
    return whole + round(each * shelves)


def _usages(client: Redis | RedisCluster, names: Sequence[str]) -> list[int]:
    """Return the bytes that each key takes, asked in one round trip; a cluster takes several."""
    if isinstance(client, RedisCluster):
        return [int(client.memory_usage(name, samples=SAMPLES) or 0) for name in names]
    with client.pipeline(transaction=False) as several:
        for name in names:
            several.memory_usage(name, samples=SAMPLES)
        return [int(each or 0) for each in several.execute()]
