"""Pipelines to all nodes of a cluster at once, which follow slots that move and replicas that take over.

redis-py makes the connections, with TLS, users and timeouts. Its own pipelines send to one node after the other, and
cost more time in the client than the server needs for the commands.
"""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any

from redis.connection import Connection, SSLConnection
from redis.exceptions import (
    AskError,
    ClusterDownError,
    InvalidResponse,
    MasterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as NoConnection

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.redis.connection import store_error
from dedupcrawl.stores.redis.replies import UNUSABLE, FilteringParser, InvalidReplyError, is_whole
from dedupcrawl.stores.redis.sharded.answers import are_answers
from dedupcrawl.stores.redis.sharded.packed_values import compiled
from dedupcrawl.stores.redis.transports import CHUNK, hiredis, new_reader, pack_command, read_replies, read_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from dedupcrawl.stores.redis.address import ConnectionOptions
    from dedupcrawl.stores.redis.sharded.layout import Command

    Place = tuple[str, int]  # host and port of a node

SLOTS = 16384
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5  #: seconds before commands are sent again; the pause doubles
REDIRECTS = 8  #: times that a call is redirected at once; after that there is a pause before
MAP_LIFE = 1.0  #: seconds after which a node without replicas is looked up again
MOST_LATER = 4096  #: commands of :meth:`ShardTransport.later` that a call carries
WAIT_SHARE = 0.5  #: of the socket's timeout, for which a node waits for its replicas
_READS = frozenset({b"HGET", b"HMGET", b"CLUSTER", b"SCRIPT", b"MEMORY"})
#: Replies after which the same command may succeed, as slots move and replicas take over.
_TRANSIENT = (TryAgainError, ClusterDownError, MasterDownError, ReadOnlyError)
_TRANSIENT_CODES = ("LOADING", "UNBLOCKED", "MASTERDOWN", "CLUSTERDOWN", "WAIT cannot be used with replica")


class NodeTable:
    """Which node has which slots, and how many replicas it has."""

    def __init__(self, ranges: Sequence[Any], asked: Place) -> None:
        self.owners: list[Place | None] = [None] * SLOTS
        self.replicas: dict[Place, int] = {}
        self.made = time.monotonic()
        for first, last, main, *others in ranges:
            if not 0 <= first <= last < SLOTS:
                raise ValueError(f"slots {first} to {last}")
            host = main[0].decode() if main[0] else asked[0]
            place = (host or asked[0], int(main[1]))
            self.owners[first : last + 1] = [place] * (last - first + 1)
            self.replicas[place] = len(others)


class _NodeConnection:
    """A connection to a node, with its parser of replies."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._reader = new_reader()

    def send(self, parts: Iterable[bytes]) -> None:
        """Send packed commands."""
        self._connection.send_packed_command([b"".join(parts)], check_health=False)

    def read(self, count: int) -> list[Any]:
        """Read replies; errors of the server are returned. After an exception the connection is of no more use."""
        socket = self._connection._sock  # redis-py has no public name for it
        if self._reader is None or socket is None:
            return [read_reply(self._connection) for _ in range(count)]
        return read_replies(socket, socket.recv(CHUNK), count, self._reader)

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()


class _CommandBatch:
    """Commands on their way to one node."""

    def __init__(self, place: Place | None, numbers: list[int] | None = None, parts: list[bytes] | None = None) -> None:
        self.place = place
        self.numbers = numbers or []  # of the commands
        self.parts = parts or []
        self.extra: set[int] = set()  # places of the replies to ASKING
        self.waits = False
        self.link: _NodeConnection | None = None


class ShardTransport:
    """Sends commands to all nodes at once. Threads may call it at the same time.

    A command whose node fails is sent again, to the node that has the slot then. All commands of the protocol may be
    executed twice.

    Args:
        address: the seeds, and how to connect.
        scripts: by digest; a node is taught those that it does not know, as after a failover.
        patience: seconds for which a slot may have no owner before it is an error.
    """

    def __init__(self, address: ConnectionOptions, scripts: Mapping[bytes, bytes], patience: float) -> None:
        self._shown, self._secrets = address.shown, address.secrets
        self._scripts = scripts
        self.patience = patience
        ignored = {"db", "host", "port", "max_connections"}
        self._options = {name: value for name, value in address.options.items() if name not in ignored}
        self._options |= {"protocol": 2, "parser_class": FilteringParser}
        self._kind = SSLConnection if address.tls else Connection
        self._wait = address.wait_replicas
        #: milliseconds for which a node waits for its replicas
        self.wait_ms = max(1, round(1000 * WAIT_SHARE * float(address.options["socket_timeout"])))
        self._seeds: list[Place] = list(address.seeds)
        self._idle: dict[Place, list[_NodeConnection]] = {}
        self._lock = Lock()
        self._later: list[Command] = []
        self.trips = 0  #: round trips that were awaited
        self.map = self._new_map()

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """Return the replies in order: one round trip unless slots move or nodes fail.

        Raises:
            StoreUnreachableError: commands may have been executed.
            StoreError: the server refused a command; the others have been executed.
        """
        if not self._later:
            return self._ask(commands, len(commands))
        owners = self.map.owners
        return self._carry(commands, {owners[command.slot] for command in commands})

    def _carry(self, commands: Sequence[Command], places: Collection[Place | None]) -> list[Any]:
        """Send commands, and with them those that wait for a call of these nodes."""
        owners = self.map.owners
        carried: list[Command] = []
        left: list[Command] = []
        with self._lock:
            for command in self._later:
                is_carried = owners[command.slot] in places and len(carried) < MOST_LATER
                (carried if is_carried else left).append(command)
            self._later = left
        try:
            return self._ask([*commands, *carried], len(commands))
        except BaseException:
            with self._lock:
                self._later += carried
            raise

    def place_of(self, command: Command) -> Place | None:
        """Return the node that has the slot of a command, as far as it is known here."""
        return self.map.owners[command.slot]

    def later(self, commands: Sequence[Command]) -> None:
        """Send commands with the next call of their node. They may be sent twice, or never; replies are ignored."""
        with self._lock:
            self._later += commands

    def flush(self) -> None:
        """Send the commands that wait for a call."""
        while self._later:
            self._carry([], {*self.map.owners})

    def _ask(self, commands: Sequence[Command], wanted: int) -> list[Any]:
        """Return the replies to the first commands, as many as are wanted."""
        replies: list[Any] = [None] * len(commands)
        todo: list[tuple[int, Place | None, bool]] | None = None  # all, to whoever has the slot
        began, pause, is_refused = time.monotonic(), FIRST_PAUSE, False
        for turn in count(1):
            todo, cause, has_errors = self._round(commands, replies, todo)
            is_refused |= has_errors
            if not todo:
                break
            if cause is None and turn > REDIRECTS:
                cause = NoConnection("its nodes redirect a call to each other")
            if cause is not None:
                if time.monotonic() - began > self.patience:
                    raise self._error(cause)
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                self.look_up_map()
        del replies[wanted:]
        refused = next((reply for reply in replies if isinstance(reply, Exception)), None) if is_refused else None
        if refused is not None:
            raise self._error(refused) from refused
        if not are_answers(commands, replies):
            self.close()  # other replies may be mixed up as well
            raise InvalidReplyError(
                f"The store {self._shown} cannot be used now: a node sends an invalid reply to a command."
            )
        return replies

    def _round(
        self, commands: Sequence[Command], replies: list[Any], todo: Sequence[tuple[int, Place | None, bool]] | None
    ) -> tuple[list[tuple[int, Place | None, bool]], Exception | None, bool]:
        """Send commands; return those to send again, the reason to pause before, and whether a reply is an error."""
        self.trips += 1
        again: list[tuple[int, Place | None, bool]] = []
        cause: Exception | None = None
        has_errors = False
        sent = []
        for sending in self._all(commands) if todo is None else self._sendings(commands, todo):
            try:
                self._send(sending, commands)
                sent.append(sending)
            except (RedisError, OSError) as error:
                cause = self._broken(sending, error)
                again += [(n, None, False) for n in sending.numbers]
        lacking: StoreUnreachableError | None = None
        for sending in sent:
            try:
                answers, acknowledged = self._receive(sending)
            except (RedisError, OSError) as error:
                cause = self._broken(sending, error)
                again += [(n, None, False) for n in sending.numbers]
                continue
            if acknowledged < self._wait:
                lacking = StoreUnreachableError(
                    f"The store {self._shown} cannot be used now: {acknowledged} replicas have acknowledged a claim, "
                    f"and wait_replicas is {self._wait}."
                )
            if not place_replies(replies, sending.numbers, answers):
                has_errors = True
                some, reason = self._sort(sending, commands, answers, replies)
                again += some
                cause = reason or cause
        if lacking is not None:  # now that the replies of all nodes have been read
            raise lacking
        return again, cause, has_errors

    def _all(self, commands: Sequence[Command]) -> Iterable[_CommandBatch]:
        """Return what is to be sent to each node if each command goes to the owner of its slot."""
        return [_CommandBatch(place, *found) for place, found in requests(commands, self.map.owners).items()]

    def _sendings(
        self, commands: Sequence[Command], todo: Sequence[tuple[int, Place | None, bool]]
    ) -> Iterable[_CommandBatch]:
        """Return what is to be sent to each node."""
        sendings: dict[Place | None, _CommandBatch] = {}
        owners = self.map.owners
        for n, where, asking in todo:
            slot, words = commands[n]
            place = where or owners[slot]
            sending = sendings.get(place)
            if sending is None:
                sending = sendings[place] = _CommandBatch(place)
            if asking:  # the slot is on the move
                sending.extra.add(len(sending.parts))
                sending.parts.append(b"*1\r\n$6\r\nASKING\r\n")
            sending.parts.append(_packed(words))
            sending.numbers.append(n)
        return sendings.values()

    def _send(self, sending: _CommandBatch, commands: Sequence[Command]) -> None:
        if sending.place is None:
            raise NoConnection("no node of the cluster has the slot")
        writes = self._wait and any(commands[n].words[0] not in _READS for n in sending.numbers)
        if writes and self._has_replicas(sending.place):
            sending.parts.append(_packed((b"WAIT", b"%d" % self._wait, b"%d" % self.wait_ms)))
            sending.waits = True
        sending.link = self._take(sending.place)
        sending.link.send(sending.parts)

    def _has_replicas(self, place: Place) -> bool:
        """Whether a node may have enough replicas; one without costs no timeout until the map is looked up again."""
        known = self.map.replicas.get(place)  # None: a slot has moved to a node that the map does not name yet
        if known is None or (known < self._wait and time.monotonic() - self.map.made > MAP_LIFE):
            self.look_up_map()
        return self.map.replicas.get(place, self._wait) >= self._wait

    def _receive(self, sending: _CommandBatch) -> tuple[list[Any], int]:
        """Return the replies to the commands, and how many replicas have acknowledged them."""
        assert sending.link is not None
        found = sending.link.read(len(sending.parts))
        acknowledged = found.pop() if sending.waits else self._wait
        self._give_back(sending)
        if isinstance(acknowledged, Exception):  # its role has changed while it waited: what it has written may be lost
            is_transient = str(acknowledged).startswith(_TRANSIENT_CODES)
            raise NoConnection(str(acknowledged)) if is_transient else acknowledged
        if not is_whole(acknowledged):
            raise InvalidResponse("no number of replicas")
        commands = [reply for n, reply in enumerate(found) if n not in sending.extra] if sending.extra else found
        return commands, acknowledged

    def _sort(
        self, sending: _CommandBatch, commands: Sequence[Command], answers: Sequence[Any], replies: list[Any]
    ) -> tuple[list[tuple[int, Place | None, bool]], Exception | None]:
        """Put replies into their places; return commands to send again, and the reason to pause before."""
        again: list[tuple[int, Place | None, bool]] = []
        unknown: set[bytes] = set()
        cause: Exception | None = None
        for n, reply in zip(sending.numbers, answers, strict=True):
            if not isinstance(reply, Exception):
                replies[n] = reply
            elif isinstance(reply, MovedError):
                self.map.owners[commands[n].slot] = self._named(reply, sending)
                again.append((n, None, False))
            elif isinstance(reply, AskError):
                again.append((n, self._named(reply, sending), True))
            elif isinstance(reply, NoScriptError) and commands[n].words[1] in self._scripts:
                unknown.add(commands[n].words[1])
                again.append((n, sending.place, bool(sending.extra)))
            elif isinstance(reply, _TRANSIENT) or str(reply).startswith(_TRANSIENT_CODES):
                again.append((n, None, False))
                cause = reply
            else:
                replies[n] = reply
        if unknown:
            self._teach(sending, unknown)
        return again, cause

    @staticmethod
    def _named(error: AskError, sending: _CommandBatch) -> Place:
        """Return the node that an error names; one without a host is on the host that was asked."""
        assert sending.place is not None
        return str(error.host) or sending.place[0], int(error.port)

    def _teach(self, sending: _CommandBatch, digests: set[bytes]) -> None:
        assert sending.place is not None
        loading = _CommandBatch(sending.place)
        link = loading.link = self._take(sending.place)
        data = [_packed((b"SCRIPT", b"LOAD", self._scripts[digest])) for digest in digests]
        try:
            link.send(data)
            found = link.read(len(data))
        except (RedisError, OSError) as error:
            self._broken(loading, error)
            return  # the next round says what is wrong
        self._give_back(loading)
        for reply in found:
            if isinstance(reply, Exception):
                raise self._error(reply)

    # -- nodes ----------------------------------------------------------------------------------

    def _new_map(self) -> NodeTable:
        """Ask any node which node has which slots."""
        cause: Exception = NoConnection("no node is known")
        for place in list(dict.fromkeys([*self._idle, *self._seeds])):
            asking = _CommandBatch(place)
            try:
                link = asking.link = self._take(place)
                link.send([_packed((b"CLUSTER", b"SLOTS"))])
                reply = link.read(1)[0]
            except (RedisError, OSError) as error:
                cause = self._broken(asking, error)
                continue
            self._give_back(asking)
            if isinstance(reply, Exception):
                cause = reply
                continue
            try:
                found = NodeTable(reply, place)
            except UNUSABLE as error:
                cause = InvalidResponse(f"no map of the nodes: {error}")
                continue
            self._seeds = list(dict.fromkeys([*self._seeds, *found.replicas]))
            return found
        raise self._error(cause)

    def look_up_map(self) -> None:
        """Ask again which node has which slots; without an answer, the map stays as it is."""
        with suppress(StoreError):  # the commands are sent again, and say what is wrong
            self.map = self._new_map()

    def _take(self, place: Place) -> _NodeConnection:
        with self._lock:
            idle = self._idle.get(place)
            if idle:
                return idle.pop()
        connection: Any = self._kind(host=place[0], port=place[1], **self._options)
        try:
            connection.connect()
        except UNUSABLE as error:  # what the server says to its first commands, or a port that is none
            raise NoConnection(str(error)) from error
        return _NodeConnection(connection)

    def _give_back(self, sending: _CommandBatch) -> None:
        if sending.place is not None and sending.link is not None:
            with self._lock:
                self._idle.setdefault(sending.place, []).append(sending.link)

    def _broken(self, sending: _CommandBatch, error: Exception) -> Exception:
        """Close the connections to a node that failed: the cause usually affects all of them."""
        if sending.link is not None:
            sending.link.close()
        if sending.place is not None:
            with self._lock:
                idle = self._idle.pop(sending.place, [])
            for each in idle:
                each.close()
        if isinstance(error, ResponseError):  # it refused the user or password
            raise self._error(error) from error
        return error

    def _error(self, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        return store_error(self._shown, error, self._secrets)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for links in idle.values():
            for each in links:
                each.close()


def _pack(words: tuple[bytes, ...]) -> bytes:
    return b"*%d\r\n%b" % (len(words), pack_command(words))


def requests_by_reference(
    commands: Sequence[Command], owners: Sequence[Place | None]
) -> dict[Place | None, tuple[list[int], list[bytes]]]:
    """Return for each node the numbers of its commands, and their requests."""
    found: dict[Place | None, tuple[list[int], list[bytes]]] = {}
    for n, (slot, words) in enumerate(commands):
        numbers, parts = found.setdefault(owners[slot], ([], []))
        numbers.append(n)
        parts.append(_packed(words))
    return found


def place_replies_by_reference(replies: list[Any], numbers: list[int], answers: list[Any]) -> bool:
    """Put answers into their places among the replies; return False if one is an error."""
    if any(isinstance(reply, Exception) for reply in answers):
        return False
    for n, reply in zip(numbers, answers, strict=True):
        replies[n] = reply
    return True


requests = requests_by_reference if compiled is None else compiled.requests
place_replies = place_replies_by_reference if compiled is None else compiled.place_replies
_packed: Callable[[tuple[bytes, ...]], bytes] = _pack if hiredis is None else hiredis.pack_command
