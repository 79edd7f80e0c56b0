"""The small server behind the page: on this machine alone, for whoever holds its address alone.

It listens on the loopback address. Its address has a random token, without which it gives and takes nothing.
The Host of a request must be its own, so that no other site can reach it under a name of its own that leads
here (DNS rebinding). What changes something must be JSON of its own page, which no other page can send.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from dedupcrawl.errors import DedupError
from dedupcrawl.labelling.labels import Answer
from dedupcrawl.labelling.showing import state_of
from dedupcrawl.labelling.sitting import OutOfTurnError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.labelling.page import LabelPage
    from dedupcrawl.labelling.sitting import Sitting

HOST = "127.0.0.1"
MORE = 50  #: pairs that a person asks for with one press
_MOST_BYTES = 1 << 12  #: of what is sent to the server
_PATIENCE = 30  #: seconds after which a connection that says nothing is closed
_JSON = "application/json"


class Reply(NamedTuple):
    """An answer."""

    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


class RefusedError(Exception):
    """A request that gets nothing."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.reply = Reply(f"{status.phrase}\n".encode(), status=status)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE
    server: LabelServer
    _is_last = False  #: whether the server ends with this request

    def do_GET(self) -> None:
        self._answer(changes=False)

    def do_POST(self) -> None:
        self._answer(changes=True)

    def _answer(self, *, changes: bool) -> None:
        try:
            self._check_host()
            what = self._asked()
            reply = self._changed(what) if changes else self._shown(what)
        except RefusedError as refused:
            self.close_connection = True  # what it sent along was not read
            reply = refused.reply
        except DedupError as error:
            reply = Reply(orjson.dumps({"error": str(error)}), _JSON, HTTPStatus.INSUFFICIENT_STORAGE)
        try:
            self._send(reply)
        finally:
            if self._is_last:  # only now: the process ends with the server, and the reply with the process
                self.server.stop()

    def _shown(self, what: str) -> Reply:
        if what == "":
            return Reply(self.server.page.html, "text/html; charset=utf-8")
        if what == "state":
            return self._state()
        raise RefusedError(HTTPStatus.NOT_FOUND)

    def _changed(self, what: str) -> Reply:
        sent, sitting = self._sent(), self.server.sitting
        if what == "answer":
            try:
                sitting.answer(str(sent.get("id")), Answer(str(sent.get("answer"))))
            except OutOfTurnError:
                return self._state(HTTPStatus.CONFLICT)
            except ValueError:
                raise RefusedError(HTTPStatus.BAD_REQUEST) from None
        elif what == "undo":
            sitting.undo()
        elif what == "more":
            sitting.extend(MORE)
        elif what == "done":
            self._is_last = True
        else:
            raise RefusedError(HTTPStatus.NOT_FOUND)
        return self._state()

    def _state(self, status: HTTPStatus = HTTPStatus.OK) -> Reply:
        return Reply(orjson.dumps(state_of(self.server.sitting)), _JSON, status)

    def _asked(self) -> str:
        """Return what stands behind the token."""
        token, found, what = self.path.removeprefix("/").partition("/")
        if not found or not compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedError(HTTPStatus.NOT_FOUND)
        return what

    def _check_host(self) -> None:
        if self.headers.get("Host") not in self.server.names:
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST)

    def _sent(self) -> dict[str, Any]:
        """Return the JSON object that came along, of our own page."""
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            raise RefusedError(HTTPStatus.FORBIDDEN)
        if self.headers.get_content_type() != _JSON:
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            found = orjson.loads(self.rfile.read(int(length)))
        except orjson.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST)
        return found

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {
            "Content-Type": reply.content_type,
            "Content-Length": str(len(reply.body)),
            "Content-Security-Policy": self.server.page.policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def version_string(self) -> str:
        """Name nothing of what runs here."""
        return "dedupcrawl"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of every request: the terminal is the person's."""


class LabelServer(ThreadingHTTPServer):
    """The server of one sitting.

    Raises:
        DedupError: the port cannot be had.
    """

    daemon_threads = True

    def __init__(self, sitting: Sitting, page: LabelPage, port: int = 0) -> None:
        self.sitting, self.page, self.token = sitting, page, token_urlsafe(24)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise DedupError(f"port {port} cannot be had: {error}") from None
        self.names = frozenset(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def stop(self) -> None:
        """Serve nothing more, as soon as what is being served has been."""
        Thread(target=self.shutdown, daemon=True).start()

    def handle_error(self, *connection: Any) -> None:
        """Say nothing of a browser that hung up."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(*connection)


@contextmanager
def serving(server: LabelServer) -> Iterator[LabelServer]:
    """Serve in a thread as long as the context lasts."""
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
