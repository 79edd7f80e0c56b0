"""Calls of Lua scripts: how they are sent and retried."""

from __future__ import annotations

import os
import re
import secrets
from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from threading import BoundedSemaphore, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from redis import Redis
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import InvalidResponse, NoScriptError

from dedupcrawl.errors import DamageError, DedupError, StoreError, StoreUnreachableError
from dedupcrawl.stores.base import Store
from dedupcrawl.stores.records import OWNER_BYTES
from dedupcrawl.stores.redis.connection import FAILURES, SERVER_ERRORS, connect, store_error
from dedupcrawl.stores.redis.namespace import KeyNames, milliseconds
from dedupcrawl.stores.redis.note_hashes import RedisNoteTables
from dedupcrawl.stores.redis.replies import UNUSABLE, InvalidReplyError, is_reply
from dedupcrawl.stores.redis.scripts import script_of
from dedupcrawl.stores.redis.site_hash import RedisSiteTables
from dedupcrawl.stores.redis.transports import ClusterTransport, NotConnectedError, PipelinedConnection, PreparedScript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from redis import RedisCluster

    from dedupcrawl.stores.base import StoreInfo
    from dedupcrawl.stores.redis.address import ConnectionOptions
    from dedupcrawl.stores.redis.namespace import OpenOptions
    from dedupcrawl.stores.redis.transports import Argument
    from dedupcrawl.stores.workers import WorkerStats

Arguments = tuple["Argument", ...]

A = TypeVar("A")
T = TypeVar("T")
E = TypeVar("E", bound=StoreError)

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

    def __init__(
        self, address: ConnectionOptions, names: KeyNames, server_clock: Callable[[], float] | None = None
    ) -> None:
        self.ended = False
        self.layout = ""
        self._shown = address.shown
        self._secrets = address.secrets
        self._names = names
        self._keys = tuple(name.encode("utf-8") for name in names.all)
        self._server_clock = server_clock
        self._process = os.getpid()
        self.token = secrets.token_bytes(OWNER_BYTES)  #: of the worker
        self._operations: dict[tuple[str, bytes, str], PreparedScript] = {}
        self._loaded: set[str] = set()  # operations of call_many that the server has a script for
        try:
            self.client: Redis | RedisCluster = connect(address)
        except FAILURES as error:
            raise store_error(address.shown, error, address.secrets) from error
        most = address.options.get("max_connections")
        self._connections = BoundedSemaphore(most) if most else None
        self.transport: PipelinedConnection | ClusterTransport = (
            PipelinedConnection(self.client, keep_connections=not most, functions=True)
            if isinstance(self.client, Redis)
            else ClusterTransport(self.client)
        )

    @property
    def is_forked(self) -> bool:
        """Whether the session belongs to the process from which this one was forked."""
        return self._process != os.getpid()

    def call(self, operation: str, *arguments: Argument, again: str | None = None) -> Any:
        """Call an operation; call it again if the connection broke, as after a restart of the server.

        ``again`` is the operation of the second call; None: ``operation``.

        Raises:
            NamespaceLostError: the namespace is not the one that was opened.
            RequestNotSentError: no connection could be made.
            StoreUnreachableError: there was no reply, or an invalid one; the operation may have been executed.
            StoreError: the server refused, a value is damaged, or the session is closed or forked.
        """
        return self.call_with(operation, arguments, again)

    def call_with(self, operation: str, arguments: Arguments, again: str | None = None) -> Any:
        """Call an operation with a tuple of arguments; see :meth:`call`."""
        return self._twice(self._call_once, operation, arguments, again)

    def call_many(self, operation: str, requests: Sequence[Arguments], again: str | None = None) -> list[Any]:
        """Call an operation for many requests in one round trip; return the results in order.

        Raises the error of the first request that fails; the others may have been executed.
        """
        return self._twice(self._call_many_once, operation, requests, again)

    def _twice(self, call: Callable[[str, A], T], operation: str, request: A, again: str | None) -> T:
        self.check()
        try:
            if self._connections is None:
                return call(operation, request)
            with self._connections:
                return call(operation, request)
        except RequestNotSentError:
            raise
        except StoreUnreachableError as error:
            if not isinstance(error.__cause__, NoConnection):
                raise
        try:
            with self._connections or nullcontext():
                return call(again or operation, request)
        except RequestNotSentError as error:
            raise StoreUnreachableError(str(error)) from error  # the first request was sent

    def _call_once(self, operation: str, arguments: Arguments) -> Any:
        return self._checked(operation, self._send(self.transport.call, operation, arguments))

    def _checked(self, operation: str, reply: Any) -> Any:
        if not is_reply(operation, reply):
            raise self.invalid_reply(operation)
        return reply

    def invalid_reply(self, operation: str) -> InvalidReplyError:
        """Return the error of an operation with an invalid reply. Other replies may be mixed up as well."""
        self._drop_connections()
        return InvalidReplyError(
            f"The store {self._shown} cannot be used now: its server sends an invalid reply to {operation}."
        )

    def check_progress(self, operation: str, start: int, following: int) -> None:
        """Raise ``InvalidReplyError`` if a long operation would not go on beyond the present place; -1 is the end."""
        if -1 < following <= start:
            raise self.invalid_reply(operation)

    def _drop_connections(self) -> None:
        self.transport.release()
        if isinstance(self.client, Redis):
            self.client.connection_pool.disconnect(inuse_connections=False)

    def _call_many_once(self, operation: str, requests: Sequence[Arguments]) -> list[Any]:
        replies: list[Any] = [None] * len(requests)
        pending = [*range(len(requests))]
        while pending:
            if operation not in self._loaded:
                first = pending.pop(0)
                replies[first] = self._call_once(operation, requests[first])
                self._loaded.add(operation)
                continue
            try:
                answers = self._send(self.transport.call_many, operation, [requests[n] for n in pending])
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
        return [self._checked(operation, reply) for reply in replies]

    def _send(self, send: Callable[[PreparedScript, A], T], operation: str, rest: A) -> T:
        prepared = self._operations.get((operation, self.token, self.layout))
        try:
            return send(prepared or self._prepare(operation), rest)
        except NotConnectedError as error:
            raise self._not_sent(error) from error.__cause__
        except SERVER_ERRORS as error:
            raise self._error(error) from error

    def _prepare(self, name: str) -> PreparedScript:
        """Return an operation with the arguments that all calls share, and keep it if they stay the same."""
        now = "" if self._server_clock is None else str(milliseconds(self._server_clock()))
        operation = PreparedScript(script_of(name), len(self._keys), (*self._keys, name, self.token, now, self.layout))
        if self._server_clock is None:
            self._operations[name, self.token, self.layout] = operation
        return operation

    def with_client(self, work: Callable[[Redis | RedisCluster], T]) -> T:
        """Call ``work`` with the client of redis-py, for what needs no script; translate its errors."""
        self.check()
        try:
            return work(self.client)
        except SERVER_ERRORS as error:
            raise self._error(error) from error
        except DedupError:
            raise
        except UNUSABLE as error:  # redis-py cannot use the reply to one of its commands
            raise self.invalid_reply("a command") from error

    def check(self) -> None:
        """Raise ``StoreError`` if the session is closed or forked."""
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
        if isinstance(error, InvalidResponse):
            return InvalidReplyError(str(store_error(self._shown, error, self._secrets)))
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
        wrong = [name for name, kind in kinds.items() if kind not in (b"hash", b"none", "hash", "none")]
        shown = ", ".join(map(repr, wrong)) or f"one below {self._names.key('buckets')!r}"
        return f"The store {self._shown} is damaged: key {shown} is another program's, not a hash of ours."

    def end(self) -> None:
        """Close the connections."""
        self.ended = True
        self.transport.release()
        self.client.close()
        if isinstance(self.client, Redis):
            self.client.connection_pool.disconnect()


class ServerStore(Store):
    """Base class of the stores on servers: opens and closes them. Arguments are those of ``RedisStore``."""

    remote = True

    def __init__(self, address: ConnectionOptions, namespace: str, scheme: str | None, options: OpenOptions) -> None:
        self.url = address.shown
        self.namespace = namespace
        self.secret = options.secret
        self._scheme = scheme
        self._lease = round(options.lease * 1000)
        self._ttl = None if options.ttl is None else round(options.ttl * 1000)
        self._clock = options.clock
        self._names = KeyNames(namespace)
        self._lock = RLock()
        self._stats = b""
        self._session = RedisSession(address, self._names, options.server_clock)
        self._sites = RedisSiteTables(self._session, self._names)
        self._notes = self.notes = RedisNoteTables(self._session, self._names, self._clock)

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:
        return self._sites.load_sites(sites)

    def merge_sites(self, added: Mapping[str, bytes]) -> dict[str, bytes]:
        return self._sites.merge_sites(added)

    def sites(self) -> Iterator[tuple[str, bytes]]:
        return self._sites.sites()

    def forget_sites(self, sites: Iterable[str]) -> int:
        return self._sites.forget_sites(sites)

    def _with_tables(self, about: StoreInfo) -> StoreInfo:
        """Return the size of the namespace with that of the tables of sites and the notes."""
        sites, size = self._sites.size()
        notes = self.notes.size()
        total = about.bytes + size + notes.bytes
        return replace(about, bytes=total, sites=sites, site_bytes=size, notes=notes.notes, note_bytes=notes.bytes)

    def publish(self, stats: WorkerStats) -> None:
        self._stats = stats.to_json()

    def close(self) -> None:
        if self._session.is_forked:
            return  # claims and connections belong to the parent
        with self._lock:
            if not self._session.ended:
                try:
                    self._leave()
                finally:
                    self._end()

    def _leave(self) -> None:
        """Withdraw own claims, and publish the last statistics.

        A step that the server refuses does not prevent the next. A server that does not answer is asked no more.
        """
        refused: StoreError | None = None
        for step in (*self._withdrawals(), self._publish_end):
            try:
                step()
            except StoreUnreachableError:
                raise
            except StoreError as error:
                refused = refused or error
        if refused is not None:
            raise refused

    @abstractmethod
    def _withdrawals(self) -> Sequence[Callable[[], object]]:
        """Return the steps that withdraw own claims, including those of offers that got no reply."""

    def _publish_end(self) -> None:
        if self._scheme is not None:  # otherwise it was opened to read, and is no owner
            self._session.call("leave", self._stats)

    def _end(self) -> None:
        self._session.end()
