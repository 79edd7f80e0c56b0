"""Calls of the scripts: each is one round trip, and says in one sentence what went wrong."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from redis.exceptions import NoScriptError, RedisError

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.redis.scripts import script_of
from dedupcrawl.stores.redis.sentences import told
from dedupcrawl.stores.redis.wire import NoWayError, way_to

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis, RedisCluster

    from dedupcrawl.stores.redis.names import Names
    from dedupcrawl.stores.redis.scripts import Script
    from dedupcrawl.stores.redis.wire import Argument

A = TypeVar("A")
T = TypeVar("T")

_OURS = re.compile(r"DEDUPCRAWL (emptied|damaged (\w+) <(.*?)>)")
_TABLES = {
    "record": "records",
    "bucket": "buckets",
    "claim": "claims",
    "owner": "owners",
    "meta": "meta",
    "hot": "hot",
}


class EmptiedError(StoreError):
    """The namespace is not the one that was opened: its server was emptied, or has lost its data."""


class UnaskedError(StoreUnreachableError):
    """There was no connection: whatever was to be done has not been done."""


class Calls:
    """The scripts of one namespace, called by one store object."""

    def __init__(
        self, client: Redis | RedisCluster, shown: str, names: Names, me: bytes, *, keeps: bool
    ) -> None:
        self.way = way_to(client, keeps=keeps)
        self._client = client
        self._shown = shown
        self._names = names
        self._me = me
        self._keys = tuple(name.encode("utf-8") for name in names.all)
        self.layout = ""

    def __call__(self, operation: str, *arguments: Argument, now: str = "") -> Any:
        """Run an operation at the server's time, or at ``now`` (milliseconds).

        Raises:
            EmptiedError: the namespace is not the one that was opened.
            UnaskedError: no connection came about.
            StoreUnreachableError: no answer came; the operation may have been done nevertheless.
            StoreError: the server refused, or a value is not one of ours.
        """
        return self._asking(self.way.call, operation, now, arguments)

    def many(self, operation: str, requests: Sequence[Sequence[Argument]], now: str = "") -> list[Any]:
        """Run an operation many times in one round trip.

        Raises as a single call does, for the first that fails; the others may have been done.
        """
        if not requests:
            return []
        first = self(operation, *requests[0], now=now)  # the server knows the script then
        answers = self._asking(self.way.call_many, operation, now, requests[1:])
        for n, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                answers[n] = self(operation, *requests[n + 1], now=now)
            elif isinstance(answer, Exception):
                raise self._error(answer) from answer
        return [first, *answers]

    def _asking(
        self, work: Callable[[Script, int, tuple[Argument, ...], A], T], operation: str, now: str, what: A
    ) -> T:
        common: tuple[Argument, ...] = (*self._keys, operation, self._me, now, self.layout)
        try:
            return work(script_of(operation), len(self._keys), common, what)
        except NoWayError as error:
            raise self._unasked(error) from error.__cause__
        except (RedisError, OSError) as error:
            raise self._error(error) from error

    def telling(self, work: Callable[[], T]) -> T:
        """Run a piece of work with the client; an error of it becomes one of ours."""
        try:
            return work()
        except (RedisError, OSError) as error:
            raise self._error(error) from error

    def _unasked(self, error: NoWayError) -> StoreError:
        assert isinstance(error.__cause__, Exception)
        said = told(self._shown, error.__cause__)
        return UnaskedError(str(said)) if isinstance(said, StoreUnreachableError) else said

    def _error(self, error: Exception) -> StoreError:
        ours = _OURS.search(str(error))
        if ours is None and "WRONGTYPE" in str(error):
            return StoreError(self._wrong_type())
        if ours is None:
            return told(self._shown, error)
        if ours[1] == "emptied":
            return EmptiedError(f"The store {self._shown} has lost namespace {self._names.namespace!r}.")
        key = self._names.key(_TABLES[ours[2]])
        return StoreError(
            f"The store {self._shown} is damaged: key {key!r} has a value at {ours[3]} "
            "that is not one of ours."
        )

    def _wrong_type(self) -> str:
        kinds = {name: self.telling(partial(self._client.type, name)) for name in self._names.all}
        wrong = [name for name, kind in kinds.items() if kind not in {b"hash", b"none", "hash", "none"}]
        said = ", ".join(map(repr, wrong)) or f"one below {self._names.key('buckets')!r}"
        return f"The store {self._shown} is damaged: key {said} is another program's, not a hash of ours."
