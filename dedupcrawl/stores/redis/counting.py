"""How much a namespace holds, counted without keeping the server busy for long."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, cast

from redis import RedisCluster
from redis.exceptions import ResponseError

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import HotBucket, StoreInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis

    from dedupcrawl.stores.redis.admission import Admission
    from dedupcrawl.stores.redis.names import Names

_WHOLE = re.compile(rb"-?\d{1,15}")
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
    counts = cast("list[bytes | None]", client.hmget(meta, ["keys", "shelves"]))
    keys, shelves = (_number(b"0" if each is None else each, shown, meta) for each in counts)
    claims = _claims(ask)
    return StoreInfo(
        url=shown,
        namespace=names.namespace,
        pages=client.hlen(records),
        open=claims["open"],
        scraped=claims["scraped"],
        ended=claims["ended"],
        keys=keys,
        bytes=_bytes(client, names, max(shelves, 0) or (admission.layout == "compact")),
        oldest=_edge(ask, 1),
        newest=_edge(ask, -1),
        scheme=admission.scheme,
        layout=admission.layout,
        **_hot(client, shown, names),
    )


def _claims(ask: Callable[..., Any]) -> Counter[str]:
    """Count claims, a slice at a time; the server's clock tells whose lease has ended."""
    counts: Counter[str] = Counter()
    cursor = b"0"
    while True:
        cursor, opened, scraped, ended = ask("stand", cursor)
        counts.update(open=opened, scraped=scraped, ended=ended)
        if cursor == b"0":
            return counts


def _number(value: bytes, shown: str, key: str) -> int:
    if not _WHOLE.fullmatch(value):
        raise StoreError(f"The store {shown} is damaged: key {key!r} has a value that is not one of ours.")
    return int(value)


def _hot(client: Redis | RedisCluster, shown: str, names: Names) -> dict[str, Any]:
    hot = names.key("hot")
    entries = client.hscan_iter(hot, count=1000)
    found = [(_number(times, shown, hot), key) for key, times in entries]
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
