"""A proxy before a server: it delays and loses requests and replies, holds them back, and cuts connections.

A request is recognised by bytes that it contains; :func:`operation` returns those of an operation of ours.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 16  #: bytes that are read at once; a request of the tests is shorter


def operation(name: str) -> bytes:
    """Return what only requests of this operation contain."""
    return b"\r\n%b\r\n" % name.encode()


class Proxy:
    """Listens on a port of its own, and passes everything on to a port of a server.

    Args:
        target: port of the server.
        delay: seconds that each direction takes.
    """

    def __init__(self, target: int, delay: float = 0.0) -> None:
        self._target = target
        self._delay = delay
        self._links: set[_Link] = set()
        self._losing: dict[bytes, int] = {}  # by what a request contains: how many replies are still to be lost
        self._dropping: dict[bytes, int] = {}  # likewise for requests
        self._holding: dict[bytes, asyncio.Event] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._listener = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port: int = self._listener.sockets[0].getsockname()[1]
        self.held = threading.Event()  #: a request is held back
        self.lost = 0  #: requests and replies

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            further, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        link = _Link(writer, back)
        self._links.add(link)
        with suppress(asyncio.CancelledError):  # asyncio logs it for the tasks of a listener
            await asyncio.gather(self._requests(reader, link), self._replies(further, link))
        self._links.discard(link)

    async def _requests(self, reader: asyncio.StreamReader, link: _Link) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if _counts(self._losing, data):
                    link.is_mute = True
                if _counts(self._dropping, data):
                    self.lost += 1
                    continue
                for needle in [each for each in self._holding if each in data]:
                    self.held.set()
                    await self._holding.pop(needle).wait()
                self._later(link.server, data)
        self._later(link.server, b"")

    async def _replies(self, reader: asyncio.StreamReader, link: _Link) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if link.is_mute:
                    self.lost += 1
                else:
                    self._later(link.client, data)
        self._later(link.client, b"")

    def _later(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        self._loop.call_later(self._delay, _send, writer, data)

    def _do(self, work: Callable[[], object]) -> None:
        """Call a function in the thread of the proxy, and wait for its end."""

        async def call() -> None:
            work()

        asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def lose(self, needle: bytes, times: int) -> None:
        """Pass the next requests on that contain these bytes, but lose their replies."""
        self._do(lambda: self._losing.update({needle: times}))

    def drop(self, needle: bytes, times: int) -> None:
        """Lose the next requests that contain these bytes."""
        self._do(lambda: self._dropping.update({needle: times}))

    def hold(self, needle: bytes) -> None:
        """Hold back the next request that contains these bytes, until :meth:`release`."""
        self.held.clear()
        self._released = asyncio.Event()
        self._do(lambda: self._holding.update({needle: self._released}))

    def release(self) -> None:
        """Pass on the request that is held back."""
        self._do(self._released.set)

    def cut(self) -> None:
        """Cut all connections."""
        self._do(self._abort_all)

    def _abort_all(self) -> None:
        for link in self._links:
            link.abort()

    def close(self) -> None:
        """Cut all connections, and listen no more."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._listener.close()
        self._abort_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _counts(left: dict[bytes, int], data: bytes) -> bool:
    """Whether a request is one of those that are counted; count it."""
    found = [needle for needle, times in left.items() if times and needle in data]
    left.update({needle: left[needle] - 1 for needle in found})
    return bool(found)


class _Link:
    """A connection of a client, and the one to the server that belongs to it."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.is_mute = False  # replies are lost from now on

    def abort(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()


def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    if data and not writer.transport.is_closing():
        writer.write(data)
    else:
        writer.close()
