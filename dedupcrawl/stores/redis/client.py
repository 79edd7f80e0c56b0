"""The scripts: which operation is in which, and what each is put together from.

Ways to a server. The way to a single one is redis-py's connections without its commands.

What redis-py does around a command, for each of them, takes longer than the server takes for a check. Its
connections, which know TLS, users, timeouts and Sentinels, are used as they are.

Calls of the scripts: each is one round trip, and says in one sentence what went wrong.

One store object's dealings with its server: connected once, asked many times, ended once.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from hashlib import sha1
from importlib.resources import files
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from redis import Redis
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.redis.connection import connect, store_error
from dedupcrawl.stores.redis.namespace import milliseconds
from dedupcrawl.stores.transactional import OWNER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from redis import RedisCluster

    from dedupcrawl.stores.redis.address import Address
    from dedupcrawl.stores.redis.namespace import KeyNames


_OPERATIONS = {
    "look": ("find", "get", "lookup", "walk", "edge", "stand"),
    "offer": ("offer",),
    "settle": ("scraped", "commit", "release", "disown", "mine", "admit"),
    "workers": ("renew", "leave", "bury"),
    "keep": ("forget", "comb", "prune", "retract"),
}
_FILES = {operation: name for name, operations in _OPERATIONS.items() for operation in operations}

_ALL_PARTS = "claims search fetch change rest remove"
#: What a script has beside ``base``: what is built at each call, and what when it is first asked for.
_PARTS = {
    "look": ("claims search fetch", "rest"),
    "offer": ("fetch", f"{_ALL_PARTS} known"),
    "settle": ("claims change", "fetch rest remove"),
    "workers": ("claims change", "rest"),
    "keep": (_ALL_PARTS, ""),
}


@dataclass(frozen=True, slots=True)
class Script:
    """A text in Lua, and the digest by which a server knows it."""

    text: str
    digest: str


@cache
def script_of(operation: str) -> Script:
    """Return the script that knows an operation."""
    name = _FILES[operation]
    always, rarely = _PARTS[name]
    parts = (
        *_read("base"),
        "if M.compact then",
        *_read("shelves"),
        "end",
        *_read(always),
        "function M.build_rest()",
        *_read(rarely),
        "end",
        *_read(name),
        "return M[ARGV[1]]()",
    )
    text = "\n".join(parts)
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _read(names: str) -> list[str]:
    folder = files(__package__) / "lua"
    return [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in names.split()]


Argument = str | bytes | int | float
T = TypeVar("T")


class NotConnectedError(Exception):
    """There was no connection, so that nothing was asked; its cause says why."""


class Transport(Protocol):
    """How scripts are called."""

    def call(self, script: Script, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        """Call a script with ``count`` keys and what it is asked, in two parts; the first comes often.

        Raises what redis-py does, and :class:`NoWayError`.
        """

    def call_many(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        """Call a script that the server knows many times in one round trip; errors are among the answers."""

    def rest(self) -> None:
        """Let go of what is kept ready between calls."""


def transport_for(client: Redis | RedisCluster, *, keeps: bool) -> Transport:
    """Return the way to a server, or to the servers of a cluster.

    keeps: whether connections may be kept ready, for there are as many as are wanted.
    """
    return PipelinedConnection(client, keeps=keeps) if isinstance(client, Redis) else ClusterTransport(client)


class ClusterTransport:
    """Leaves it to redis-py to find the node."""

    def __init__(self, client: RedisCluster) -> None:
        self._client = client

    def call(self, script: Script, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        """Call a script."""
        parts = cast("tuple[str, ...]", (*common, *rest))
        try:
            return self._client.evalsha(script.digest, count, *parts)
        except NoScriptError:
            return self._client.eval(script.text, count, *parts)

    def call_many(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        """Call a script many times, one after the other: all goes to one node, and redis-py knows which."""
        return [self.call(script, count, common, rest) for rest in rests]

    def rest(self) -> None:
        """Nothing is kept."""


class PipelinedConnection:
    """Packs calls itself, and keeps connections ready.

    A connection on which anything went wrong is given up, and those that were kept ready with it: what ended
    one has mostly ended all.
    """

    def __init__(self, client: Redis, *, keeps: bool) -> None:
        self._give_back = self._keep if keeps else client.connection_pool.release
        self._pool = client.connection_pool
        self._ready: list[Any] = []  # redis-py's connections have few types

    def call(self, script: Script, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        """Call a script."""
        size = b"*%d\r\n" % (3 + len(common) + len(rest))
        arguments = pack_command(rest)
        try:
            return self._exchange(
                b"%b%b%b" % (size, _packed_head("EVALSHA", script.digest, count, common), arguments)
            )
        except NoScriptError:
            return self._exchange(
                b"%b%b%b" % (size, _packed_head("EVAL", script.text, count, common), arguments)
            )

    def call_many(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        """Call a script that the server knows many times in one round trip; errors are among the answers."""
        head = _packed_head("EVALSHA", script.digest, count, common)
        sizes = (b"*%d\r\n" % (3 + len(common) + len(rest)) for rest in rests)
        commands = [
            b"%b%b%b" % (size, head, pack_command(rest)) for size, rest in zip(sizes, rests, strict=True)
        ]
        data = b"".join(commands)

        def work(connection: Any) -> list[Any]:
            connection.send_packed_command([data])
            return [_read_reply(connection) for _ in rests]

        return self._over(work)

    def _exchange(self, command: bytes) -> Any:
        def work(connection: Any) -> Any:
            connection.send_packed_command([command])
            return connection.read_response()

        return self._over(work)

    def _over(self, work: Callable[[Any], T]) -> T:
        connection = self._take()
        try:
            answer = work(connection)
        except ResponseError:
            self._give_back(connection)
            raise
        except BaseException:
            connection.disconnect()
            self._pool.release(connection)
            self.rest()
            raise
        self._give_back(connection)
        return answer

    def _keep(self, connection: Any) -> None:
        self._ready.append(connection)

    def _take(self) -> Any:
        if self._ready:
            try:
                return self._ready.pop()
            except IndexError:
                pass  # another thread was faster
        try:
            return self._pool.get_connection()
        except (RedisError, OSError) as error:
            raise NotConnectedError from error

    def rest(self) -> None:
        """Give all connections back; those that are broken are mended when they are wanted."""
        while self._ready:
            try:
                self._pool.release(self._ready.pop())
            except IndexError:
                return


def _read_reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


@lru_cache(64)
def _packed_head(command: str, script: str, count: int, common: tuple[Argument, ...]) -> bytes:
    return pack_command((command, script, count, *common))


def pack_command(parts: Iterable[Argument]) -> bytes:
    """Return the parts of a command as they are sent: each behind its length."""
    sent = [part if type(part) is bytes else str(part).encode() for part in parts]
    return b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in sent])


A = TypeVar("A")

_SCRIPT_ERROR = re.compile(r"DEDUPCRAWL (emptied|damaged (\w+) <(.*?)>)")
_TABLES = {
    "record": "records",
    "bucket": "buckets",
    "claim": "claims",
    "owner": "owners",
    "meta": "meta",
    "hot": "hot",
}


class NamespaceLostError(StoreError):
    """The namespace is not the one that was opened: its server was emptied, or has lost its data."""


class RequestNotSentError(StoreUnreachableError):
    """There was no connection: whatever was to be done has not been done."""


class ScriptCaller:
    """The scripts of one namespace, called by one store object."""

    def __init__(
        self, client: Redis | RedisCluster, shown: str, names: KeyNames, me: bytes, *, keeps: bool
    ) -> None:
        self.way = transport_for(client, keeps=keeps)
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
        except NotConnectedError as error:
            raise self._unasked(error) from error.__cause__
        except (RedisError, OSError) as error:
            raise self._error(error) from error

    def telling(self, work: Callable[[], T]) -> T:
        """Run a piece of work with the client; an error of it becomes one of ours."""
        try:
            return work()
        except (RedisError, OSError) as error:
            raise self._error(error) from error

    def _unasked(self, error: NotConnectedError) -> StoreError:
        assert isinstance(error.__cause__, Exception)
        said = store_error(self._shown, error.__cause__)
        return RequestNotSentError(str(said)) if isinstance(said, StoreUnreachableError) else said

    def _error(self, error: Exception) -> StoreError:
        ours = _SCRIPT_ERROR.search(str(error))
        if ours is None and "WRONGTYPE" in str(error):
            return StoreError(self._wrong_type())
        if ours is None:
            return store_error(self._shown, error)
        if ours[1] == "emptied":
            return NamespaceLostError(
                f"The store {self._shown} has lost namespace {self._names.namespace!r}."
            )
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


class RedisSession:
    """Connections, and the token by which the server knows this store object.

    A thread for which there is no connection left waits for one: redis-py would take that for an error.

    Raises what :func:`~dedupcrawl.stores.redis.connection.connect` does, as errors of ours.
    """

    def __init__(
        self, address: Address, names: KeyNames, server_clock: Callable[[], float] | None = None
    ) -> None:
        self.ended = False
        self._shown = address.shown
        self._server_clock = server_clock
        self._process = os.getpid()
        try:
            self.client: Redis | RedisCluster = connect(address)
        except (RedisError, OSError) as error:
            raise store_error(address.shown, error) from error
        most = address.options.get("max_connections")
        self._connections = BoundedSemaphore(most) if most else nullcontext()
        me = secrets.token_bytes(OWNER_BYTES)
        self.calls = ScriptCaller(self.client, address.shown, names, me, keeps=not most)

    @property
    def is_anothers(self) -> bool:
        """Whether this is the session of a process from which ours was forked."""
        return self._process != os.getpid()

    def ask(self, operation: str, *arguments: Argument, again: tuple[Argument, ...] | None = None) -> Any:
        """Call a script; once more where the connection broke, as after a restart of the server.

        again: what it is asked then.
        """
        retry = arguments if again is None else again
        return self._twice(partial(self.calls, operation, *arguments), partial(self.calls, operation, *retry))

    def ask_many(
        self,
        operation: str,
        requests: Sequence[Sequence[Argument]],
        again: Sequence[Sequence[Argument]] | None = None,
    ) -> list[Any]:
        """The same for many calls in one round trip."""
        retry = requests if again is None else again
        many = self.calls.many
        return self._twice(partial(many, operation, requests), partial(many, operation, retry))

    def _twice(self, first: Callable[..., T], second: Callable[..., T]) -> T:
        self._check()
        now = "" if self._server_clock is None else str(milliseconds(self._server_clock()))
        with self._connections:
            try:
                return first(now=now)
            except RequestNotSentError:
                raise
            except StoreUnreachableError as error:
                if not isinstance(error.__cause__, NoConnection):
                    raise
            try:
                return second(now=now)
            except RequestNotSentError as error:
                raise StoreUnreachableError(str(error)) from error  # the first time it was asked

    def look(self, work: Callable[[Redis | RedisCluster], T]) -> T:
        """Do with the client what needs no script."""
        self._check()
        return self.calls.telling(lambda: work(self.client))

    def _check(self) -> None:
        if self.is_anothers:
            raise StoreError(
                f"The store {self._shown} was opened before this process forked: open it anew in the child."
            )
        if self.ended:
            raise StoreError(f"The store {self._shown} has been closed.")

    def end(self) -> None:
        """Let the connections go."""
        self.ended = True
        self.calls.way.rest()
        self.client.close()
        if isinstance(self.client, Redis):
            self.client.connection_pool.disconnect()
