"""Requests that compiled code sends on a socket, in place of the methods of Python's sockets."""

from __future__ import annotations

import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.stores.redis import transports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

if transports.exchange_in_c is None:
    pytest.skip("sockets are used by Python only", allow_module_level=True)
exchange = transports.exchange_in_c

NUMBERS = (b":0\r\n", b":123456789012345\r\n", b":12345678901234567\r\n")


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection; the time limit of the first is kept by the kernel."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.3)
        transports.let_kernel_time_out(ours)
        yield ours, theirs


@pytest.mark.parametrize(
    "reply",
    [
        *NUMBERS,
        *(b":-1\r\n", b":\r\n", b":123456789012345678\r\n", b":1", b":1\r", b":12\r\n:3\r\n"),
        *(b"*1\r\n:1\r\n", b"-ERR\r\n", b"$-1\r\n", b"", b"$5000\r\n" + bytes(5000)),
    ],
)
def test_compiled_code_returns_a_number_or_the_first_bytes(
    pair: tuple[socket.socket, socket.socket], reply: bytes
) -> None:
    ours, theirs = pair
    theirs.sendall(reply) if reply else theirs.shutdown(socket.SHUT_WR)
    received = exchange(ours, b"request")
    is_number = reply in NUMBERS
    assert received == (int(reply[1:]) if is_number else reply[:4096])
    assert theirs.recv(100) == b"request"


def test_compiled_code_raises_what_a_socket_raises(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    with pytest.raises(BlockingIOError):  # no reply
        exchange(ours, b"request")
    with pytest.raises(BlockingIOError):  # nobody reads
        exchange(ours, bytes(10**7))
    theirs.close()
    with pytest.raises(ConnectionError):
        exchange(ours, b"request")
    ours.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        exchange(ours, b"request")


def test_a_long_request_arrives_whole(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    request = bytes(range(256)) * 20_000
    arrived = bytearray()

    def answer() -> None:
        while len(arrived) < len(request):
            arrived.extend(theirs.recv(1 << 16))
        theirs.sendall(b":7\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    assert exchange(ours, request) == 7
    thread.join()
    assert bytes(arrived) == request


def test_signals_are_handled_while_compiled_code_waits(pair: tuple[socket.socket, socket.socket]) -> None:
    """Ctrl-C ends the wait; a handler that returns does not."""
    ours, theirs = pair

    def interrupted(handler: Callable[[int, Any], object]) -> int | bytes:
        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            received: int | bytes = exchange(ours, b"request")
            return received
        finally:
            signal.signal(signal.SIGALRM, before)

    assert interrupted(lambda *_: theirs.sendall(b":7\r\n")) == 7
    with pytest.raises(KeyboardInterrupt):
        interrupted(signal.default_int_handler)


def test_a_socket_that_another_thread_closes_is_not_read_again(pair: tuple[socket.socket, socket.socket]) -> None:
    """Its number may be that of another file by then."""
    ours, _ = pair

    def closed(*_: object) -> None:
        ours.close()

    before = signal.signal(signal.SIGALRM, closed)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(OSError, match="Bad file descriptor"):
            exchange(ours, b"request")
    finally:
        signal.signal(signal.SIGALRM, before)
