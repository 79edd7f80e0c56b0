"""How calls of scripts reach a server: over one connection, or to the node of a cluster that has the keys."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redis.connection import AbstractConnection, DefaultParser
from redis.exceptions import (
    AskError,
    InvalidResponse,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    SlotNotCoveredError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoReply

from dedupcrawl.stores.redis.connection import SERVER_ERRORS
from dedupcrawl.stores.redis.scripts import library_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis, RedisCluster
    from redis.connection import ConnectionPool

    from dedupcrawl.stores.redis.scripts import Script

Argument = str | bytes | int | float
T = TypeVar("T")

#: Round trips of calls to a cluster that are redirected. One follows a slot to its new node, two a slot that is moved
#: again.
MAX_REDIRECTED_PIPELINES = 3
_REFUSALS = (OutOfMemoryError, ReadOnlyError, NoPermissionError)
_REFUSED = ("MISCONF", "NOREPLICAS", "Function not found", "unknown command")
_CHUNK = 1 << 16  #: bytes that are read from a socket at once


def _import_hiredis() -> Any:
    """Return hiredis; None if it is not installed."""
    try:
        return import_module("hiredis")
    except ImportError:
        return None


hiredis = _import_hiredis()  #: packs requests and parses replies; without it redis-py and Python do


class NotConnectedError(Exception):
    """There was no connection, so nothing was sent. ``__cause__`` is the error of redis-py."""


class ClusterTransport:
    """Sends calls of scripts to a cluster.

    redis-py finds the node, and follows ``MOVED`` and ``ASK``. All keys of a call have one hash tag, so that many
    calls go to one node in one round trip.
    """

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
        """Call a script that the node knows many times in one round trip; errors are returned.

        A node that redirects a call has not executed it. The first of such calls is sent again through
        redis-py, which then knows the new node, and the others follow in one more round trip. A slot that is on
        the move may redirect again and again: what is left then is sent call by call.
        """
        replies: list[Any] = [None] * len(rests)
        pending = [*range(len(rests))]
        for _ in range(MAX_REDIRECTED_PIPELINES):
            try:
                answers = self._pipeline(script, count, common, [rests[n] for n in pending])
            except NotConnectedError as error:
                if len(pending) == len(rests) or error.__cause__ is None:
                    raise
                raise error.__cause__ from None  # others have been executed
            for n, answer in zip(pending, answers, strict=True):
                replies[n] = answer
            pending = [n for n in pending if isinstance(replies[n], MovedError | AskError)]
            if not pending:
                return replies
            first = pending.pop(0)
            replies[first] = self._call_or_error(script, count, common, rests[first])
        for n in pending:
            replies[n] = self._call_or_error(script, count, common, rests[n])
        return replies

    def _pipeline(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        node: Any = self._client.get_node_from_key(_text(common[0]))  # type: ignore[no-untyped-call]
        if node is None or node.redis_connection is None:
            raise SlotNotCoveredError(f"No node of the cluster has the slot of {_text(common[0])!r}.")
        try:
            connection = PipelinedConnection(node.redis_connection, keep_connections=False, functions=False)
            return connection.call_many(script, count, common, rests)
        except (NotConnectedError, RedisError, OSError):
            self._ask_for_nodes()
            raise

    def _ask_for_nodes(self) -> None:
        """Ask the cluster which nodes it has: after a failover, the next call must go to another one."""
        with suppress(*SERVER_ERRORS):
            self._client.nodes_manager.initialize()

    def _call_or_error(self, script: Script, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        try:
            return self.call(script, count, common, rest)
        except ResponseError as error:
            return error

    def release(self) -> None:
        """Do nothing: no connections are kept."""


class PipelinedConnection:
    """Packs commands itself, pipelines them, and keeps connections between calls.

    It uses the connections of redis-py, which implement TLS, users, timeouts and Sentinel, but not its commands,
    and not its reading of replies if there is hiredis: their overhead is larger than the time the server takes
    for a lookup.

    After an error, the connection and all that were kept are given back to the pool, which reconnects them:
    the cause usually affects all of them.

    Args:
        client: the client of redis-py whose pool is used.
        keep_connections: whether connections are kept between calls; otherwise each call takes one from the pool.
        functions: whether the functions of the library are called where the server has them.
    """

    def __init__(self, client: Redis, *, keep_connections: bool, functions: bool) -> None:
        self._give_back = self._keep if keep_connections else client.connection_pool.release
        self._pool = client.connection_pool
        self._kept: list[Any] = []  # redis-py's connections have few types
        self._has_functions = functions
        self._is_direct = _can_exchange_directly(client.connection_pool)

    def call(self, script: Script, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        """Call a script or its function."""
        for _ in range(2):  # the library may have to be loaded first
            if not (self._has_functions and script.function):
                break
            try:
                return self._run("FCALL", script.function, count, common, rest)
            except ResponseError as error:
                if not was_refused(error):
                    raise
                if not self._is_worth_repeating(error):
                    break
        try:
            return self._run("EVALSHA", script.digest, count, common, rest)
        except NoScriptError:
            return self._run("EVAL", script.text, count, common, rest)

    def _run(self, command: str, name: str, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        data = b"*%d\r\n%b%b" % (3 + len(common) + len(rest), _head(command, name, count, common), pack_command(rest))
        reply = self._send(data, 1)[0]
        if isinstance(reply, ResponseError):
            raise reply
        return reply

    def call_many(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        """Call a script that the server knows many times in one round trip; errors are returned.

        Calls of its function that the server refused are repeated in one more round trip.
        """
        if not (self._has_functions and script.function):
            return self._run_many("EVALSHA", script.digest, count, common, rests)
        replies = self._run_many("FCALL", script.function, count, common, rests)
        refused = [n for n, reply in enumerate(replies) if isinstance(reply, ResponseError) and was_refused(reply)]
        if refused:
            again = [rests[n] for n in refused]
            if self._is_worth_repeating(replies[refused[0]]):
                repeated = self._run_many("FCALL", script.function, count, common, again)
            else:
                repeated = self._run_many("EVALSHA", script.digest, count, common, again)
            for n, reply in zip(refused, repeated, strict=True):
                replies[n] = reply
        return replies

    def _run_many(
        self, command: str, name: str, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        head = _head(command, name, count, common)
        fixed = 3 + len(common)
        data = b"".join([b"*%d\r\n%b%b" % (fixed + len(rest), head, pack_command(rest)) for rest in rests])
        return self._send(data, len(rests))

    def _is_worth_repeating(self, error: ResponseError) -> bool:
        """Whether the server has the library now. It is loaded if only that was missing."""
        if "Function not found" not in str(error):
            # With these, functions will never be called. A server that only accepts no writes now may later.
            self._has_functions = not (isinstance(error, NoPermissionError) or "unknown command" in str(error))
            return False
        loading = pack_command(("FUNCTION", "LOAD", "REPLACE", library_text()))
        self._has_functions = not isinstance(self._send(b"*4\r\n" + loading, 1)[0], ResponseError)
        return self._has_functions

    def _send(self, data: bytes, count: int) -> list[Any]:
        exchange = _exchange_directly if self._is_direct else _exchange
        return self._with_connection(lambda connection: exchange(connection, data, count))

    def _with_connection(self, work: Callable[[Any], T]) -> T:
        connection = self._take()
        try:
            reply = work(connection)
        except ResponseError:
            self._give_back(connection)
            raise
        except BaseException:
            connection.disconnect()
            self._pool.release(connection)
            self.release()
            raise
        self._give_back(connection)
        return reply

    def _keep(self, connection: Any) -> None:
        self._kept.append(connection)

    def _take(self) -> Any:
        if self._kept:
            try:
                return self._kept.pop()
            except IndexError:
                pass  # another thread was faster
        try:
            return self._pool.get_connection()
        except SERVER_ERRORS as error:
            raise NotConnectedError from error

    def release(self) -> None:
        """Give all kept connections back to the pool."""
        while self._kept:
            try:
                self._pool.release(self._kept.pop())
            except IndexError:
                return


def _text(key: Argument) -> str:
    return key.decode("utf-8") if isinstance(key, bytes) else str(key)


def was_refused(error: ResponseError) -> bool:
    """Whether the server has not begun to run a function; the same operation may succeed as a script.

    A server that accepts no writes refuses a function at once, and a script only when it writes.
    """
    if "@user_function" in str(error):
        return False
    return isinstance(error, _REFUSALS) or str(error).startswith(_REFUSED)


def _exchange(connection: Any, data: bytes, count: int) -> list[Any]:
    """Send requests, and return the replies as redis-py reads them; errors of the server are returned."""
    connection.send_packed_command([data])
    return [_read_reply(connection) for _ in range(count)]


def _read_reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _can_exchange_directly(pool: ConnectionPool) -> bool:
    """Whether nothing would be lost if replies are not read by redis-py.

    Its connections check their health when they are asked to. Those of Sentinel take a read-only server for a primary
    that was replaced.
    """
    reads_plainly = pool.connection_class.read_response is AbstractConnection.read_response
    return hiredis is not None and reads_plainly and not pool.connection_kwargs.get("health_check_interval")


def _exchange_directly(connection: Any, data: bytes, count: int) -> list[Any]:
    """Do the same on the socket of the connection."""
    socket = connection._sock  # redis-py has no public name for it
    if socket is None:
        return _exchange(connection, data, count)
    reader = hiredis.Reader(protocolError=InvalidResponse, replyError=DefaultParser.parse_error, errors="replace")
    replies: list[Any] = []
    try:
        socket.sendall(data)
        while len(replies) < count:
            received = socket.recv(_CHUNK)
            if not received:
                raise NoConnection("Connection closed by server.")
            reader.feed(received)
            while (reply := reader.gets()) is not False:
                if isinstance(reply, NoConnection):  # an error after which the server closes the connection
                    raise reply
                replies.append(reply)
    except TimeoutError as error:
        raise NoReply(f"Timeout of the socket: {error}") from error
    except OSError as error:
        raise NoConnection(f"Error of the socket: {error}") from error
    return replies


@lru_cache(64)
def _head(command: str, script: str, count: int, common: tuple[Argument, ...]) -> bytes:
    return pack_command((command, script, count, *common))


def pack_command(parts: Sequence[Argument]) -> bytes:
    """Return the parts of a command in the Redis protocol, each after its length."""
    if hiredis is not None:
        command: bytes = hiredis.pack_command(tuple(parts))
        return command[command.index(b"\n") + 1 :]  # without the number of parts
    packed = [part if type(part) is bytes else str(part).encode() for part in parts]
    return b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in packed])
