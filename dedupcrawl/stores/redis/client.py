"""Calls of Lua scripts: how scripts are composed, sent and retried."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha1
from importlib.resources import files
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redis import Redis
from redis.exceptions import AskError, MovedError, NoScriptError, RedisError, ResponseError, SlotNotCoveredError
from redis.exceptions import ConnectionError as NoConnection

from dedupcrawl.errors import DamageError, StoreError, StoreUnreachableError
from dedupcrawl.stores.live_records import OWNER_BYTES
from dedupcrawl.stores.redis.connection import SERVER_ERRORS, connect, store_error
from dedupcrawl.stores.redis.namespace import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from redis import RedisCluster

    from dedupcrawl.stores.redis.address import Address
    from dedupcrawl.stores.redis.namespace import KeyNames

Argument = str | bytes | int | float
A = TypeVar("A")
T = TypeVar("T")
E = TypeVar("E", bound=StoreError)

#: The operations of each script. It is named after its file in ``lua/``.
_OPERATIONS = {
    "lookups": ("find", "get", "lookup", "list_records", "edge_time", "count_claims"),
    "offer": ("offer",),
    "claims": ("scraped", "commit", "release", "withdraw_offers", "own_claims", "open_namespace"),
    "workers": ("renew", "leave", "remove_owners"),
    "housekeeping": ("forget", "forget_scan", "prune", "retract"),
}
_SCRIPTS = {operation: name for name, operations in _OPERATIONS.items() for operation in operations}

_ALL_PARTS = "tables search buckets writes helpers removal"
#: The parts of a script beside ``base``: those that are built at each call, and those that are built on first
#: use.
_PARTS = {
    "lookups": ("tables search buckets", "helpers"),
    "offer": ("buckets", f"{_ALL_PARTS} existing"),
    "claims": ("tables writes", "buckets helpers removal"),
    "workers": ("tables writes", "helpers"),
    "housekeeping": (_ALL_PARTS, ""),
}

#: Round trips of calls to a cluster that are redirected. One follows a slot to its new node, two a slot that is moved
#: again.
MAX_REDIRECTED_PIPELINES = 3

_SCRIPT_ERROR = re.compile(r"DEDUPCRAWL (emptied|damaged (\w+) <(.*?)>)")
_TABLES = {"record": "records", "bucket": "buckets", "claim": "claims", "owner": "owners"}


class NamespaceLostError(StoreError):
    """The namespace is not the one that was opened: the server was emptied, or has lost its data."""


class RequestNotSentError(StoreUnreachableError):
    """There was no connection: the operation was not executed."""


class RedisSession:
    """The connections of one store object, its token, and calls of scripts. Each call is one round trip.

    A thread that finds no free connection waits for one; redis-py would raise an error. ``server_clock``
    returns the Unix time in seconds in place of the server's clock, for tests.
    """

    def __init__(self, address: Address, names: KeyNames, server_clock: Callable[[], float] | None = None) -> None:
        self.ended = False
        self.layout = ""
        self._shown = address.shown
        self._secrets = address.secrets
        self._names = names
        self._keys = tuple(name.encode("utf-8") for name in names.all)
        self._server_clock = server_clock
        self._process = os.getpid()
        self._token = secrets.token_bytes(OWNER_BYTES)
        self._loaded: set[str] = set()  # operations of call_many whose script the server knows
        try:
            self.client: Redis | RedisCluster = connect(address)
        except SERVER_ERRORS as error:
            raise store_error(address.shown, error, address.secrets) from error
        most = address.options.get("max_connections")
        self._connections = BoundedSemaphore(most) if most else nullcontext()
        self.transport: PipelinedConnection | ClusterTransport = (
            PipelinedConnection(self.client, keep_connections=not most)
            if isinstance(self.client, Redis)
            else ClusterTransport(self.client)
        )

    @property
    def is_forked(self) -> bool:
        """Whether the session belongs to the process from which this one was forked."""
        return self._process != os.getpid()

    def call(self, operation: str, *arguments: Argument, again: tuple[Argument, ...] | None = None) -> Any:
        """Call an operation; call it again if the connection broke, as after a restart of the server.

        ``again`` are the arguments of the second call; None: the same.

        Raises:
            NamespaceLostError: the namespace is not the one that was opened.
            RequestNotSentError: no connection could be made.
            StoreUnreachableError: there was no reply; the operation may have been executed.
            StoreError: the server refused, a value is damaged, or the session is closed or forked.
        """
        return self._twice(self._call_once, operation, arguments, again)

    def call_many(
        self, operation: str, requests: Sequence[Sequence[Argument]], again: Sequence[Sequence[Argument]] | None = None
    ) -> list[Any]:
        """Do the same as :meth:`call` for many requests in one round trip; return the results in order.

        Raises the error of the first request that fails; the others may have been executed.
        """
        return self._twice(self._call_many_once, operation, requests, again)

    def _twice(self, call: Callable[[str, A, str], T], operation: str, first: A, again: A | None) -> T:
        self._check()
        now = "" if self._server_clock is None else str(milliseconds(self._server_clock()))
        with self._connections:
            try:
                return call(operation, first, now)
            except RequestNotSentError:
                raise
            except StoreUnreachableError as error:
                if not isinstance(error.__cause__, NoConnection):
                    raise
            try:
                return call(operation, first if again is None else again, now)
            except RequestNotSentError as error:
                raise StoreUnreachableError(str(error)) from error  # the first request was sent

    def _call_once(self, operation: str, arguments: tuple[Argument, ...], now: str) -> Any:
        return self._send(self.transport.call, operation, arguments, now)

    def _call_many_once(self, operation: str, requests: Sequence[Sequence[Argument]], now: str) -> list[Any]:
        replies: list[Any] = [None] * len(requests)
        pending = [*range(len(requests))]
        while pending:
            if operation not in self._loaded:
                first = pending.pop(0)
                replies[first] = self._call_once(operation, tuple(requests[first]), now)
                self._loaded.add(operation)
                continue
            try:
                answers = self._send(self.transport.call_many, operation, [requests[n] for n in pending], now)
            except RequestNotSentError as error:
                if len(pending) == len(requests):
                    raise
                raise StoreUnreachableError(str(error)) from error.__cause__  # others have been executed
            for n, answer in zip(pending, answers, strict=True):
                replies[n] = answer
            pending = [n for n in pending if isinstance(replies[n], NoScriptError)]
            if pending:  # the server was restarted, or another node has the slot now
                self._loaded.discard(operation)
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._error(reply) from reply
        return replies

    def _send(self, send: Callable[[Script, int, tuple[Argument, ...], A], T], operation: str, rest: A, now: str) -> T:
        common: tuple[Argument, ...] = (*self._keys, operation, self._token, now, self.layout)
        try:
            return send(script_of(operation), len(self._keys), common, rest)
        except NotConnectedError as error:
            raise self._not_sent(error) from error.__cause__
        except SERVER_ERRORS as error:
            raise self._error(error) from error

    def with_client(self, work: Callable[[Redis | RedisCluster], T]) -> T:
        """Call ``work`` with the client of redis-py, for what needs no script; translate its errors."""
        self._check()
        try:
            return work(self.client)
        except SERVER_ERRORS as error:
            raise self._error(error) from error

    def _check(self) -> None:
        if self.is_forked:
            raise StoreError(
                f"The store {self._shown} was opened before this process forked: open it anew in the child."
            )
        if self.ended:
            raise StoreError(f"The store {self._shown} has been closed.")

    def _not_sent(self, error: NotConnectedError) -> StoreError:
        assert isinstance(error.__cause__, Exception)
        translated = store_error(self._shown, error.__cause__, self._secrets)
        if isinstance(translated, StoreUnreachableError):
            return RequestNotSentError(str(translated))
        return translated

    def _error(self, error: Exception) -> StoreError:
        ours = _SCRIPT_ERROR.search(str(error))
        if ours is None and "WRONGTYPE" in str(error):
            return StoreError(self._wrong_type())
        if ours is None:
            return store_error(self._shown, error, self._secrets)
        if ours[1] == "emptied":
            return NamespaceLostError(f"The store {self._shown} has lost namespace {self._names.namespace!r}.")
        return self._damage(ours, StoreError if ours[2] == "meta" else DamageError)

    def damage(self, text: str) -> DamageError:
        """Return the error for a damaged value that a script has skipped."""
        found = _SCRIPT_ERROR.search(text)
        assert found is not None
        return self._damage(found, DamageError)

    def _damage(self, found: re.Match[str], kind: type[E]) -> E:
        key = self._names.key(_TABLES.get(found[2], found[2]))
        return kind(
            f"The store {self._shown} is damaged: key {key!r} has a value at {found[3]} that is not one of ours."
        )

    def _wrong_type(self) -> str:
        kinds = self.with_client(lambda client: {name: client.type(name) for name in self._names.all})
        wrong = [name for name, kind in kinds.items() if kind not in {b"hash", b"none", "hash", "none"}]
        shown = ", ".join(map(repr, wrong)) or f"one below {self._names.key('buckets')!r}"
        return f"The store {self._shown} is damaged: key {shown} is another program's, not a hash of ours."

    def end(self) -> None:
        """Close the connections."""
        self.ended = True
        self.transport.release()
        self.client.close()
        if isinstance(self.client, Redis):
            self.client.connection_pool.disconnect()


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, and the SHA-1 digest by which a server knows it."""

    text: str
    digest: str


@cache
def script_of(operation: str) -> Script:
    """Return the script that implements an operation."""
    name = _SCRIPTS[operation]
    always, on_use = _PARTS[name]
    parts = (
        *_read("base"),
        "if M.compact then",
        *_read("partitions"),
        "end",
        *_read(always),
        "function M.build_rest()",
        *_read(on_use),
        "end",
        *_read(name),
        "return M[ARGV[1]]()",
    )
    text = "\n".join(parts)
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _read(names: str) -> list[str]:
    folder = files(__package__) / "lua"
    return [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in names.split()]


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
            connection = PipelinedConnection(node.redis_connection, keep_connections=False)
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

    It uses the connections of redis-py, which implement TLS, users, timeouts and Sentinel, but not its
    commands: their overhead is larger than the time the server takes for a lookup.

    After an error, the connection and all that were kept are given back to the pool, which reconnects them:
    the cause usually affects all of them.
    """

    def __init__(self, client: Redis, *, keep_connections: bool) -> None:
        self._give_back = self._keep if keep_connections else client.connection_pool.release
        self._pool = client.connection_pool
        self._kept: list[Any] = []  # redis-py's connections have few types

    def call(self, script: Script, count: int, common: tuple[Argument, ...], rest: Sequence[Argument]) -> Any:
        """Call a script."""
        size = b"*%d\r\n" % (3 + len(common) + len(rest))
        arguments = pack_command(rest)
        try:
            return self._exchange(b"%b%b%b" % (size, _packed_head("EVALSHA", script.digest, count, common), arguments))
        except NoScriptError:
            return self._exchange(b"%b%b%b" % (size, _packed_head("EVAL", script.text, count, common), arguments))

    def call_many(
        self, script: Script, count: int, common: tuple[Argument, ...], rests: Sequence[Sequence[Argument]]
    ) -> list[Any]:
        """Call a script that the server knows many times in one round trip; errors are returned."""
        head = _packed_head("EVALSHA", script.digest, count, common)
        sizes = (b"*%d\r\n" % (3 + len(common) + len(rest)) for rest in rests)
        data = b"".join(b"%b%b%b" % (size, head, pack_command(rest)) for size, rest in zip(sizes, rests, strict=True))

        def work(connection: Any) -> list[Any]:
            connection.send_packed_command([data])
            return [_read_reply(connection) for _ in rests]

        return self._with_connection(work)

    def _exchange(self, command: bytes) -> Any:
        def work(connection: Any) -> Any:
            connection.send_packed_command([command])
            return connection.read_response()

        return self._with_connection(work)

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


def _read_reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


@lru_cache(64)
def _packed_head(command: str, script: str, count: int, common: tuple[Argument, ...]) -> bytes:
    return pack_command((command, script, count, *common))


def pack_command(parts: Iterable[Argument]) -> bytes:
    """Return the parts of a command in the Redis protocol, each after its length."""
    packed = [part if type(part) is bytes else str(part).encode() for part in parts]
    return b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in packed])
