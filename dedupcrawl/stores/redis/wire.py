"""Ways to a server. The way to a single one is redis-py's connections without its commands.

What redis-py does around a command, for each of them, takes longer than the server takes for a check. Its
connections, which know TLS, users, timeouts and Sentinels, are used as they are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from redis import Redis
from redis.exceptions import NoScriptError, RedisError, ResponseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from redis import RedisCluster

    from dedupcrawl.stores.redis.scripts import Script

Argument = str | bytes | int | float
T = TypeVar("T")


class NoWayError(Exception):
    """There was no connection, so that nothing was asked; its cause says why."""


class Way(Protocol):
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


def way_to(client: Redis | RedisCluster, *, keeps: bool) -> Way:
    """Return the way to a server, or to the servers of a cluster.

    keeps: whether connections may be kept ready, for there are as many as are wanted.
    """
    return Wire(client, keeps=keeps) if isinstance(client, Redis) else Routed(client)


class Routed:
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


class Wire:
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
        arguments = packed(rest)
        try:
            return self._exchange(
                b"%b%b%b" % (size, _head("EVALSHA", script.digest, count, common), arguments)
            )
        except NoScriptError:
            return self._exchange(b"%b%b%b" % (size, _head("EVAL", script.text, count, common), arguments))

    def call_many(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        """Call a script that the server knows many times in one round trip; errors are among the answers."""
        head = _head("EVALSHA", script.digest, count, common)
        sizes = (b"*%d\r\n" % (3 + len(common) + len(rest)) for rest in rests)
        commands = [b"%b%b%b" % (size, head, packed(rest)) for size, rest in zip(sizes, rests, strict=True)]
        data = b"".join(commands)

        def work(connection: Any) -> list[Any]:
            connection.send_packed_command([data])
            return [_answer(connection) for _ in rests]

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
            raise NoWayError from error

    def rest(self) -> None:
        """Give all connections back; those that are broken are mended when they are wanted."""
        while self._ready:
            try:
                self._pool.release(self._ready.pop())
            except IndexError:
                return


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


@lru_cache(64)
def _head(command: str, script: str, count: int, common: tuple[Argument, ...]) -> bytes:
    return packed((command, script, count, *common))


def packed(parts: Iterable[Argument]) -> bytes:
    """Return the parts of a command as they are sent: each behind its length."""
    sent = [part if type(part) is bytes else str(part).encode() for part in parts]
    return b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in sent])
