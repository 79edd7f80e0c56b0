"""A proxy before a server that garbles some of its replies."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    Garble = Callable[[Random, bytes, list[bytes]], bytes]

#: Values of any type: of RESP 2, of RESP 3, errors of every kind, and what is none.
VALUES = (
    b":0\r\n", b":1\r\n", b":-1\r\n", b":281474976710656\r\n", b":99999999999999999999\r\n", b":x\r\n", b":\r\n",
    b"$-1\r\n", b"$0\r\n\r\n", b"$3\r\nabc\r\n", b"$3\r\n\xff\xfe\xfd\r\n", b"$-5\r\n", b"+OK\r\n", b"+\r\n",
    b"*0\r\n", b"*-1\r\n", b"*1\r\n*0\r\n", b"*1\r\n*4\r\n:1\r\n$1\r\nx\r\n:3\r\n:0\r\n", b"*2\r\n:1\r\n:2\r\n",
    b"*4\r\n:1\r\n$1\r\nx\r\n:3\r\n:0\r\n", b"*3\r\n:-1\r\n*0\r\n*0\r\n", b"*3\r\n$1\r\n0\r\n*0\r\n:1\r\n",
    b"*3\r\n$-1\r\n$-1\r\n$-1\r\n", b"*2\r\n$1\r\n0\r\n*0\r\n", b"*2\r\n$1\r\n7\r\n*0\r\n", b"*1\r\n-ERR x\r\n",
    b"-\r\n", b"-ERR\r\n", b"-MOVED\r\n", b"-MOVED 1 x\r\n", b"-MOVED 99999 127.0.0.1:1\r\n", b"-ASK 1 :999999\r\n",
    b"-NOSCRIPT x\r\n", b"-LOADING x\r\n", b"-OOM x\r\n", b"-WRONGTYPE x\r\n",
    b"-ERR DEDUPCRAWL damaged record <7>\r\n",
    b"-ERR DEDUPCRAWL damaged x <\xff>\r\n", b"-ERR DEDUPCRAWL emptied\r\n", b"-\xff\xfe\r\n",
    b"#t\r\n", b"_\r\n", b",nan\r\n", b",inf\r\n", b"(123456789012345678901234567890\r\n", b"=5\r\ntxt:a\r\n",
    b"%1\r\n*0\r\n:2\r\n", b"%1\r\n:1\r\n:2\r\n", b"~1\r\n:1\r\n", b">2\r\n+a\r\n+b\r\n", b"|1\r\n+a\r\n+b\r\n:1\r\n",
    b"*1\r\n" * 50 + b":1\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 9, b"\r\n", b"x",
)  # fmt: skip
#: The beginnings of values that never come.
ENDLESS = (
    b"*1000000000\r\n", b"*4294967295\r\n:1\r\n", b"%500000000\r\n", b"*2\r\n*900000000\r\n", b"$99999999999\r\nx",
    b"*99999999999999999999\r\n", b"$99999999999999999999999\r\n", b"~800000000\r\n", b":1", b"*3\r\n:1\r\n",
)  # fmt: skip


def another_value(random: Random, _reply: bytes, _before: list[bytes]) -> bytes:
    return random.choice(VALUES)


def other_bytes(random: Random, reply: bytes, _before: list[bytes]) -> bytes:
    changed = bytearray(reply)
    for _ in range(random.randint(1, 4)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def endless(random: Random, _reply: bytes, _before: list[bytes]) -> bytes:
    return random.choice(ENDLESS)


def mixed_up(random: Random, reply: bytes, before: list[bytes]) -> bytes:
    """Send a former reply in place of this one, or before it, or send this one twice."""
    former = random.choice(before)
    return random.choice((former, former + reply, reply + reply))


WAYS: dict[str, Garble] = {
    "another value": another_value,
    "other bytes": other_bytes,
    "endless": endless,
    "mixed up": mixed_up,
}


class Garbler:
    """Serves at a port of its own, until closed.

    Args:
        upstream: the port of the server.
        way: how replies are garbled.
        seed: of the choice of replies.
        every: one reply in this number is garbled, on average.
        after: so many replies are passed on as they are first.
    """

    def __init__(self, upstream: int, way: str, seed: int, *, every: int = 12, after: int = 0) -> None:
        self._upstream, self._garble, self._random, self._every = upstream, WAYS[way], Random(seed), every
        self._before: list[bytes] = []
        self._left = after
        self.garbled = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def _serve(self) -> None:
        with suppress(OSError):  # when it is closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._upstream))
                self._sockets += [client, server]
                for work in (self._pass_requests, self._pass_replies):
                    threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client, server:
            while data := client.recv(1 << 16):
                server.sendall(data)

    def _pass_replies(self, client: socket.socket, server: socket.socket) -> None:
        received = b""
        with suppress(OSError), client, server:
            while data := server.recv(1 << 16):
                received += data
                at = 0
                while (end := end_of_reply(received, at)) is not None:
                    client.sendall(self._maybe_garbled(received[at:end]))
                    at = end
                received = received[at:]

    def _maybe_garbled(self, reply: bytes) -> bytes:
        self._before = [*self._before[-99:], reply]
        self._left -= 1
        if self._left >= 0 or self._random.randrange(self._every):
            return reply
        self.garbled += 1
        return self._garble(self._random, reply, self._before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._sockets):
            each.close()


def end_of_reply(data: bytes, at: int) -> int | None:
    """Return where the reply ends that begins here; None if its end has not come."""
    left = 1
    while left:
        end = data.find(b"\r\n", at)
        if end < 0:
            return None
        kind, number = data[at : at + 1], data[at + 1 : end]
        at = end + 2
        left -= 1
        if kind == b"$" and number != b"-1":
            at += int(number) + 2
            if at > len(data):
                return None
        elif kind == b"*":
            left += max(0, int(number))
    return at
