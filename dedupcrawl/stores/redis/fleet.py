"""The workers of a namespace, read from its server."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from redis import RedisCluster
from redis.exceptions import NoPermissionError, ResponseError

from dedupcrawl.stores.fleet import Figures, Fleet, Memory, UnreadableError, Worker
from dedupcrawl.stores.redis.values import STAMP
from dedupcrawl.stores.tables import OWNER_BYTES

if TYPE_CHECKING:
    from redis import Redis

    from dedupcrawl.stores.redis.names import Names

SHOWN_FOR = 3600.0  #: seconds after a worker's end; lua/workers.lua lets go of it then
MOST = 1000  #: workers that are read; ours are fewer
OWNER_VALUE = 12  #: bytes: end of the lease, claims lost


def muster(client: Redis | RedisCluster, names: Names) -> Fleet:
    """Read what the workers said of themselves, and how much memory the server has.

    Values that are not ours are told, not raised: nothing depends on them.
    """
    key = names.key("workers")
    try:
        said = dict(islice(client.hscan_iter(key, count=MOST), MOST))
    except NoPermissionError:
        raise
    except ResponseError as error:
        if "WRONGTYPE" not in str(error):
            raise
        return Fleet((), _memory(client, names), f"key {key!r} is another program's, not a hash of ours")
    workers = _workers(client, names, said)
    strange = [each.token for each in workers if each.figures is None]
    problem = f"key {key!r} has values at {', '.join(strange[:3])} that are not ours" if strange else ""
    return Fleet(workers, _memory(client, names), problem)


def _workers(client: Redis | RedisCluster, names: Names, said: dict[bytes, bytes]) -> tuple[Worker, ...]:
    tokens = [token for token in said if len(token) == OWNER_BYTES]
    owners: list[Any] = client.hmget(names.key("owners"), tokens) if tokens else []
    seconds, micros = client.time()
    now = seconds + micros / 1e6
    known = dict(zip(tokens, owners, strict=True))
    found = [_worker(token, value, known.get(token), now) for token, value in said.items()]
    return tuple(sorted((each for each in found if _is_shown(each)), key=_place))


def _worker(token: bytes, value: bytes, owner: bytes | None, now: float) -> Worker:
    age = max(0.0, now - int.from_bytes(value[:STAMP], "big") / 1000)
    try:
        figures = Figures.unpack(value[STAMP:])
    except UnreadableError:
        figures = None
    return Worker(token[:OWNER_BYTES].hex(), _state(owner, now), age, figures)


def _state(owner: bytes | None, now: float) -> str:
    if owner is None:
        return "done"
    lives = len(owner) == OWNER_VALUE and int.from_bytes(owner[:STAMP], "big") / 1000 > now
    return "here" if lives else "gone"


def _is_shown(worker: Worker) -> bool:
    return worker.state == "here" or worker.age < SHOWN_FOR or worker.figures is None


def _place(worker: Worker) -> tuple[bool, str, int, str, str]:
    told = worker.figures
    if told is None:
        return (True, "", 0, "", worker.token)
    return (False, told.host, told.process, told.spider, worker.token)


def _memory(client: Redis | RedisCluster, names: Names) -> Memory | None:
    try:
        if isinstance(client, RedisCluster):
            node = client.get_node_from_key(names.key("meta"))  # type: ignore[no-untyped-call]
            about: dict[str, Any] = client.info("memory", target_nodes=node)
        else:
            about = client.info("memory")
    except ResponseError:
        return None
    used, limit = about.get("used_memory"), about.get("maxmemory")
    return Memory(used, limit) if isinstance(used, int) and isinstance(limit, int) else None
