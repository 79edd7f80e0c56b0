"""Calls of the script: each is one round trip, and says in one sentence what went wrong."""

from __future__ import annotations

import re
from functools import cache, partial
from hashlib import sha1
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis, RedisCluster

    from dedupcrawl.stores.redis.names import Names

T = TypeVar("T")
Argument = str | bytes | int | float

_OURS = re.compile(r"DEDUPCRAWL (emptied|damaged (\w+) <(.*?)>)")
_TABLES = {"record": "records", "bucket": "buckets", "claim": "claims", "owner": "owners"}


class EmptiedError(StoreError):
    """The namespace is not the one that was opened: its server was emptied, or has lost its data."""


_OPERATIONS = {
    "look": ("find", "get", "lookup", "walk", "edge"),
    "offer": ("offer",),
    "settle": ("scraped", "commit", "release", "disown", "mine", "admit"),
    "workers": ("renew", "leave", "bury"),
    "keep": ("forget", "comb", "prune"),
}
_FILES = {operation: name for name, operations in _OPERATIONS.items() for operation in operations}


@cache
def script(operation: str) -> tuple[str, str]:
    """Return the script that knows an operation, and its digest."""
    name = _FILES[operation]
    rare = "rest" if name == "look" else "rest remove"
    text = "\n".join(
        (
            *_read("base"),
            "if M.compact then",
            *_read("shelves"),
            "end",
            *_read("" if name == "look" else "change"),
            "function M.build_rest()",
            *_read(rare),
            "end",
            *_read(name),
            "return M[ARGV[1]]()",
        )
    )
    return text, sha1(text.encode(), usedforsecurity=False).hexdigest()


def _read(names: str) -> list[str]:
    folder = files(__package__) / "lua"
    return [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in names.split()]


class Calls:
    """The script of one namespace, called by one store object."""

    def __init__(self, client: Redis | RedisCluster, shown: str, names: Names, me: bytes) -> None:
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
            StoreUnreachableError: no answer came; the operation may have been done nevertheless.
            StoreError: the server refused, or a value is not one of ours.
        """
        parts = (*self._keys, operation, self._me, now, self.layout, *arguments)
        return self.telling(lambda: self._run(operation, parts))

    def _run(self, operation: str, parts: Sequence[Argument]) -> Any:
        text, digest = script(operation)
        count = len(self._keys)
        try:
            return self._client.evalsha(digest, count, *cast("tuple[str, ...]", parts))
        except NoScriptError:
            return self._client.eval(text, count, *cast("tuple[str, ...]", parts))

    def telling(self, work: Callable[[], T]) -> T:
        """Run a piece of work with the client; an error of it becomes one of ours."""
        try:
            return work()
        except (RedisError, OSError) as error:
            raise self._error(error) from error

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


def told(shown: str, error: Exception) -> StoreError:
    """Say in one sentence what a server, or the way to it, was short of."""
    reason = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, OutOfMemoryError):
        return StoreFullError(
            f"The store {shown} is full: its server has reached maxmemory; raise it, or prune the store."
        )
    for kinds, sentence in _SENTENCES:
        if isinstance(error, kinds):
            return StoreError(f"The store {shown} {sentence.format(reason=reason)}.")
    if isinstance(error, NoConnection | NoAnswer | OSError):
        return _unreachable(shown, reason)
    if reason.startswith(("MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "LOADING", "BUSY")):
        return StoreUnreachableError(f"The store {shown} cannot be used now: {reason}.")
    if reason.startswith("MISCONF"):
        return StoreUnreachableError(
            f"The store {shown} takes no writes, for its server cannot save: {reason}."
        )
    return StoreError(f"The store {shown} cannot be used: {reason}.")


def _unreachable(shown: str, reason: str) -> StoreError:
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        return StoreError(f"The store {shown} cannot be reached over TLS: {reason}.")
    return StoreUnreachableError(f"The store {shown} cannot be reached: {reason}.")


_SENTENCES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((AuthenticationError, AuthorizationError), "refuses this user or password: {reason}"),
    (NoPermissionError, "does not allow this user what is needed: {reason}"),
    (ReadOnlyError, "cannot be written: its server is a read-only replica; name the primary"),
)
