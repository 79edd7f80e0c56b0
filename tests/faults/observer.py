"""What the server holds while workers crawl: looked at from outside, value by value.

The formats are those of ``docs/shared.md``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from dedupcrawl.stores.redis.namespace import KeyNames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis import Redis

    from tests.stores.servers import Server


@dataclass(frozen=True)
class Held:
    """A claim as the server has it."""

    token: str  #: of the store object that made it
    till: float  #: Unix time at which its lease ends, by itself or by its owner's


class Observer:
    """Looks at one namespace, as often as it is asked to."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._server = server
        self._names = KeyNames(namespace)
        self._seen: dict[bytes, tuple[float, float]] = {}
        self.claims: Mapping[bytes, Held] = {}  #: at the last look
        self.committed = 0  #: records without a claim at the last look
        self.leases: dict[str, float] = {}  #: the latest end of a claim's lease that was ever seen, by token
        self.most = 0  #: claims at once

    def look(self) -> bool:
        """Look again; False: the server is away."""
        try:
            with self._server.client() as client:
                records, claims, owners = _ask(client, self._names)
        except RedisError:
            return False
        leases = {token.hex(): _moment(value[:6]) for token, value in owners.items()}
        self.claims = {id: _held(value, leases) for id, value in claims.items()}
        self.committed = records - len(claims)
        self.most = max(self.most, len(claims))
        for held in self.claims.values():
            self.leases[held.token] = max(held.till, self.leases.get(held.token, 0.0))
        self._follow()
        return True

    def _follow(self) -> None:
        now = time.time()
        for id, held in self.claims.items():
            if held.till > now:
                self._seen[id] = (self._seen.get(id, (now, now))[0], now)

    @property
    def longest(self) -> float:
        """Seconds for which the claim was open that was so for the longest time."""
        return max((last - first for first, last in self._seen.values()), default=0.0)


def _ask(client: Redis, names: KeyNames) -> tuple[int, dict[bytes, bytes], dict[bytes, bytes]]:
    """Read all at one moment."""
    with client.pipeline(transaction=True) as at_once:
        at_once.hlen(names.key("records"))
        at_once.hgetall(names.key("claims"))
        at_once.hgetall(names.key("owners"))
        answers: Any = at_once.execute()
    records, claims, owners = answers
    return records, claims, owners


def _held(value: bytes, leases: Mapping[str, float]) -> Held:
    token = value[:8].hex()
    return Held(token, max(_moment(value[15:21]), leases.get(token, 0.0)))


def _moment(value: bytes) -> float:
    return int.from_bytes(value, "big") / 1000
