"""Observes the values on the server while workers crawl.

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
    """A claim on the server."""

    token: str  #: of the store object that created it
    till: float  #: Unix time at which its lease ends, its own or that of its owner


class Observer:
    """Takes snapshots of one namespace."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server = server
        self.names = KeyNames(namespace)
        self.seen: dict[bytes, tuple[float, float]] = {}
        self.claims: Mapping[bytes, Held] = {}  #: in the last snapshot
        self.committed = 0  #: records without a claim in the last snapshot
        self.leases: dict[str, float] = {}  #: the latest end of a lease seen so far, by token
        self.most = 0  #: claims at once

    def look(self) -> bool:
        """Take a snapshot; return False if the server is unreachable."""
        try:
            with self.server.client() as client:
                records, claims, owners = _ask(client, self.names)
        except RedisError:
            return False
        leases = {token.hex(): _moment(value[:6]) for token, value in owners.items()}
        self.claims = {id: _held(value, leases) for id, value in claims.items()}
        self.committed = records - 2 * len(claims)  # a claim has a mark beside its record
        self.most = max(self.most, len(claims))
        for held in self.claims.values():
            self.leases[held.token] = max(held.till, self.leases.get(held.token, 0.0))
        self.follow()
        return True

    def follow(self) -> None:
        now = time.time()
        for id, held in self.claims.items():
            if held.till > now:
                self.seen[id] = (self.seen.get(id, (now, now))[0], now)

    @property
    def longest(self) -> float:
        """The longest time that a claim was open, in seconds."""
        return max((last - first for first, last in self.seen.values()), default=0.0)


def _ask(client: Redis, names: KeyNames) -> tuple[int, dict[bytes, bytes], dict[bytes, bytes]]:
    """Read everything in one transaction."""
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
