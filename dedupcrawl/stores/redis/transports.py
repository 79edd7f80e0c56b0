"""How calls of scripts reach a server: over one connection, or to the node of a cluster that has the keys."""

from __future__ import annotations

import socket as sockets
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from redis.connection import Connection, UnixDomainSocketConnection
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

from dedupcrawl.stores.redis.connection import FAILURES
from dedupcrawl.stores.redis.packed_urls import packing
from dedupcrawl.stores.redis.replies import UNUSABLE, ReplyFilter, may_be_refused, reply_error
from dedupcrawl.stores.redis.scripts import library_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import Redis, RedisCluster
    from redis.connection import ConnectionPool

    from dedupcrawl.stores.redis.scripts import Script

Argument = str | bytes | int | float

#: Round trips of calls to a cluster that are redirected. One follows a slot to its new node, two a slot that is moved
#: again.
MAX_REDIRECTED_PIPELINES = 3
_REFUSALS = (OutOfMemoryError, ReadOnlyError, NoPermissionError)
_REFUSED = ("MISCONF", "NOREPLICAS", "Function not found", "unknown command")
CHUNK = 1 << 16  #: bytes that are read from a socket at once


def _import_hiredis() -> Any:
    """Return hiredis; None if it is not installed."""
    try:
        return import_module("hiredis")
    except ImportError:
        return None


hiredis = _import_hiredis()  #: packs requests and parses replies; without it redis-py and Python do
#: Sends and receives like a blocking socket, in less time; None where it is not compiled.
exchange_in_c: Callable[[sockets.socket, bytes], int | bytes] | None = (
    packing.exchange if packing is not None and packing.CAN_EXCHANGE else None
)


class NotConnectedError(Exception):
    """There was no connection, so nothing was sent. ``__cause__`` is the error of redis-py."""


@dataclass(frozen=True, eq=False)
class PreparedScript:
    """A script with the arguments that all its calls share."""

    script: Script
    count: int  #: of keys, with which the arguments begin
    common: tuple[Argument, ...]

    @cached_property
    def function_head(self) -> CallHeader:
        """The beginning of a call of its function.

        It names the first key only: a function derives the others, which takes a server less time than to read them. No
        functions are called on a cluster, which has to know all keys.
        """
        return _head("FCALL", self.script.function, 1, self.common[0], *self.common[self.count :])

    @cached_property
    def script_head(self) -> CallHeader:
        """The beginning of a call of its script."""
        return _head("EVALSHA", self.script.digest, self.count, *self.common)

    @property
    def text_head(self) -> CallHeader:
        """The beginning of a call of its script for a server that may not know it."""
        return _head("EVAL", self.script.text, self.count, *self.common)


@dataclass(frozen=True, eq=False, slots=True)
class CallHeader:
    """The beginning of a call."""

    count: int  #: of its parts
    packed: bytes

    def request(self, rest: Sequence[Argument]) -> bytes:
        """Return a whole call."""
        return pack_request(self.count + len(rest), self.packed, rest)


def _head(*parts: Argument) -> CallHeader:
    return CallHeader(len(parts), pack_command(parts))


class ClusterTransport:
    """Sends calls of scripts to a cluster.

    redis-py finds the node, and follows ``MOVED`` and ``ASK``. All keys of a call have one hash tag, so that many
    calls go to one node in one round trip.
    """

    def __init__(self, client: RedisCluster) -> None:
        self._client = client

    def call(self, operation: PreparedScript, rest: Sequence[Argument]) -> Any:
        """Call a script."""
        parts = cast("tuple[str, ...]", (*operation.common, *rest))
        try:
            try:
                return self._client.evalsha(operation.script.digest, operation.count, *parts)
            except NoScriptError:
                return self._client.eval(operation.script.text, operation.count, *parts)
        except UNUSABLE as error:
            raise InvalidResponse(str(error)) from error

    def call_many(self, operation: PreparedScript, rests: Sequence[Sequence[Argument]]) -> list[Any]:
        """Call a script that the node knows many times in one round trip; errors are returned.

        A node that redirects a call has not executed it. The first of such calls is sent again through
        redis-py, which then knows the new node, and the others follow in one more round trip. A slot that is moving
        may redirect again and again: the calls that are left then are sent one by one.
        """
        replies: list[Any] = [None] * len(rests)
        pending = [*range(len(rests))]
        for _ in range(MAX_REDIRECTED_PIPELINES):
            try:
                answers = self._pipeline(operation, [rests[n] for n in pending])
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
            replies[first] = self._call_or_error(operation, rests[first])
        for n in pending:
            replies[n] = self._call_or_error(operation, rests[n])
        return replies

    def _pipeline(self, operation: PreparedScript, rests: Sequence[Sequence[Argument]]) -> list[Any]:
        key = _text(operation.common[0])
        node: Any = self._client.get_node_from_key(key)  # type: ignore[no-untyped-call]
        if node is None or node.redis_connection is None:
            raise SlotNotCoveredError(f"No node of the cluster has the slot of {key!r}.")
        try:
            connection = PipelinedConnection(node.redis_connection, keep_connections=False, functions=False)
            return connection.call_many(operation, rests)
        except (NotConnectedError, RedisError, OSError):
            self._ask_for_nodes()
            raise

    def _ask_for_nodes(self) -> None:
        """Ask the cluster which nodes it has: after a failover, the next call must go to another one."""
        with suppress(*FAILURES):
            self._client.nodes_manager.initialize()

    def _call_or_error(self, operation: PreparedScript, rest: Sequence[Argument]) -> Any:
        try:
            return self.call(operation, rest)
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
        self._pool = client.connection_pool
        self._kept: list[Any] = []  # redis-py's connections have few types
        self._give_back: Callable[[Any], None] = self._kept.append if keep_connections else self._pool.release
        self._has_functions = functions
        self._is_direct = keep_connections and can_exchange_directly(self._pool)

    def call(self, operation: PreparedScript, rest: Sequence[Argument]) -> Any:
        """Call a script or its function."""
        for _ in range(2):  # the library may have to be loaded first
            if not (self._has_functions and operation.script.function):
                break
            reply = self._send(operation.function_head.request(rest), 1)[0]
            if not isinstance(reply, ResponseError):
                return reply
            if not was_refused(reply):
                raise reply
            if not self._is_worth_repeating(reply):
                break
        reply = self._send(operation.script_head.request(rest), 1)[0]
        if isinstance(reply, NoScriptError):
            reply = self._send(operation.text_head.request(rest), 1)[0]
        if isinstance(reply, ResponseError):
            raise reply
        return reply

    def call_many(self, operation: PreparedScript, rests: Sequence[Sequence[Argument]]) -> list[Any]:
        """Call a script that the server knows many times in one round trip; errors are returned.

        Calls of its function that the server refused are repeated in one more round trip.
        """
        if not (self._has_functions and operation.script.function):
            return self._run_many(operation.script_head, rests)
        replies = self._run_many(operation.function_head, rests)
        refused = [n for n, reply in enumerate(replies) if isinstance(reply, ResponseError) and was_refused(reply)]
        if refused:
            again = [rests[n] for n in refused]
            is_known = self._is_worth_repeating(replies[refused[0]])
            repeated = self._run_many(operation.function_head if is_known else operation.script_head, again)
            for n, reply in zip(refused, repeated, strict=True):
                replies[n] = reply
        return replies

    def _run_many(self, head: CallHeader, rests: Sequence[Sequence[Argument]]) -> list[Any]:
        return self._send(b"".join([head.request(rest) for rest in rests]), len(rests))

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
        """Send requests, and return the replies; errors of the server are returned."""
        try:
            connection = self._kept.pop()
        except IndexError:
            connection = self._connect()
        send = exchange_directly if self._is_direct else exchange
        try:
            replies = send(connection, data, count)
        except ResponseError:
            self._give_back(connection)
            raise
        except BaseException:
            connection.disconnect()
            self._pool.release(connection)
            self.release()
            raise
        self._give_back(connection)
        return replies

    def _connect(self) -> Any:
        try:
            connection: Any = self._pool.get_connection()
        except FAILURES as error:
            raise NotConnectedError from error
        if self._is_direct:
            with suppress(OSError):  # of a connection that is broken already: the next call finds it
                let_kernel_time_out(connection._sock)
        return connection

    def release(self) -> None:
        """Give all kept connections back to the pool, as redis-py expects them."""
        while self._kept:
            try:
                connection = self._kept.pop()
            except IndexError:
                return
            with suppress(OSError, AttributeError):  # it may have no socket any more
                connection._sock.settimeout(connection.socket_timeout)
            self._pool.release(connection)


def _text(key: Argument) -> str:
    return key.decode("utf-8") if isinstance(key, bytes) else str(key)


def was_refused(error: ResponseError) -> bool:
    """Whether the server has not begun to run a function; the same operation may succeed as a script.

    A server that accepts no writes refuses a function at once, and a script only when it writes.
    """
    if "@user_function" in str(error):
        return False
    return isinstance(error, _REFUSALS) or str(error).startswith(_REFUSED)


def exchange(connection: Any, data: bytes, count: int) -> list[Any]:
    """Send requests, and return the replies as redis-py reads them; errors of the server are returned."""
    connection.send_packed_command([data])
    return [read_reply(connection) for _ in range(count)]


def read_reply(connection: Any) -> Any:
    """Return a reply as redis-py reads it; an error of the server is returned."""
    try:
        return connection.read_response()
    except ResponseError as error:
        return error
    except UNUSABLE as error:
        raise InvalidResponse(str(error)) from error


def can_exchange_directly(pool: ConnectionPool) -> bool:
    """Whether compiled code may send and receive on the sockets of a pool, in place of redis-py.

    It is not possible if the connections of redis-py check their health, or belong to Sentinel: these take a read-only
    server for a primary that was replaced. With TLS it would save nothing.
    """
    is_plain = pool.connection_class in {Connection, UnixDomainSocketConnection}
    is_possible = exchange_in_c is not None and hiredis is not None
    return is_possible and is_plain and not pool.connection_kwargs.get("health_check_interval")


def exchange_directly(connection: Any, data: bytes, count: int) -> list[Any]:
    """Send requests on the socket of a connection, and return the replies; errors of the server are returned.

    redis-py sends them if the socket does not leave its time limit to the kernel.
    """
    socket = connection._sock  # redis-py has no public name for it
    if socket is None or socket.gettimeout() is not None:
        return exchange(connection, data, count)
    try:
        received = _send_and_receive(socket, data, count)
        return [received] if type(received) is int else read_replies(socket, cast("bytes", received), count)
    except BlockingIOError as error:  # the time limit of the kernel
        raise NoReply("Timeout of the socket: timed out") from error
    except OSError as error:
        raise NoConnection(f"Error of the socket: {error}") from error


def _send_and_receive(socket: sockets.socket, data: bytes, count: int) -> int | bytes:
    """Send requests, and return the first bytes of the replies; a single reply that is a number needs no reader."""
    if count == 1 and exchange_in_c is not None:
        return exchange_in_c(socket, data)
    socket.sendall(data)
    return socket.recv(CHUNK)


def let_kernel_time_out(socket: Any) -> None:
    """Leave the time limit of a socket to the kernel of Linux, which saves two calls of ``poll`` for each request.

    A call that takes too long raises ``BlockingIOError`` then. A TLS socket stays as it is: the limit of the kernel
    would end a read of OpenSSL halfway.
    """
    if type(socket) is not sockets.socket or not (seconds := socket.gettimeout()) or sys.platform != "linux":
        return
    limit = struct.pack("@ll", int(seconds), max(1, int(seconds % 1 * 1e6)))
    for option in (sockets.SO_RCVTIMEO, sockets.SO_SNDTIMEO):
        socket.setsockopt(sockets.SOL_SOCKET, option, limit)
    socket.settimeout(None)


def new_reader() -> Any:
    """Return a parser of replies; None without hiredis."""
    if hiredis is None:
        return None
    return hiredis.Reader(protocolError=InvalidResponse, replyError=reply_error, errors="replace")


def read_replies(socket: Any, received: bytes, count: int, reader: Any = None) -> list[Any]:
    """Return this number of replies, which begin with what was received already.

    ``reader``: the parser of this connection, which takes a while to make; None: a new one.

    Raises:
        InvalidResponse: the bytes are no replies, or more replies than requested.
    """
    reader = new_reader() if reader is None else reader
    filtered: ReplyFilter | None = None
    replies: list[Any] = []
    while True:
        if not received:
            raise NoConnection("Connection closed by server.")
        if filtered is not None or may_be_refused(received):
            filtered = filtered or ReplyFilter()
            filtered.add(received)
        reader.feed(received)
        _take_replies(reader, replies)
        if len(replies) > count or (len(replies) == count and reader.has_data()):
            raise InvalidResponse("more replies than requests")
        if len(replies) == count:
            return replies
        if filtered is None:
            filtered = ReplyFilter()
            filtered.add(received)
        received = socket.recv(CHUNK)


def _take_replies(reader: Any, replies: list[Any]) -> None:
    """Append the replies that have come as a whole."""
    try:
        while (reply := reader.gets()) is not False:
            if isinstance(reply, NoConnection):  # an error after which the server closes the connection
                raise reply
            replies.append(reply)
    except UNUSABLE as error:
        raise InvalidResponse(str(error)) from error


def pack_command(parts: Sequence[Argument]) -> bytes:
    """Return the parts of a command in the Redis protocol, each after its length."""
    if hiredis is not None:
        command: bytes = hiredis.pack_command(tuple(parts))
        return command[command.index(b"\n") + 1 :]  # without the number of parts
    packed = [part if type(part) is bytes else str(part).encode() for part in parts]
    return b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in packed])


def request_by_reference(count: int, head: bytes, rest: Sequence[Argument]) -> bytes:
    """Return a request of this number of parts; ``head``: the first of them, packed."""
    return b"*%d\r\n%b%b" % (count, head, pack_command(rest))


pack_request: Callable[[int, bytes, Sequence[Argument]], bytes] = (
    request_by_reference if packing is None else packing.pack_request
)
