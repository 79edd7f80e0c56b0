"""The labelling page, and the local HTTP server behind it.

The result of the run on a pair is sent only after the answer: a figure seen before would bias it (anchoring:
Tversky and Kahneman, Science 185, 1974).

The server listens on the loopback address, under a path with a random token. The Host header must name the
server, so that no other site can reach it under a domain name that resolves to this machine (DNS rebinding).
Requests that change something must be JSON and come from the page itself, which pages of other sites cannot
send.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.labels import AnswerKind, StaleAnswerError
from dedupcrawl.tools.report.diff import compare_texts
from dedupcrawl.tools.report.html_bundle import (
    LanguageCode,
    assemble_page,
    content_security_policy,
    page_languages,
    read_asset,
)

if TYPE_CHECKING:
    from dedupcrawl.tools.label.labels import LabelSession
    from dedupcrawl.tools.label.pairs import OfferedPage, OfferedPair


_PACKAGE = "dedupcrawl.tools.label"
_STYLES, _SCRIPTS = ("label.css",), ("differences.js", "label.js")
_ALLOW = {"connect-src": "'self'"}
HOST = "127.0.0.1"
MORE = 50  #: pairs added by the button "more"
_MAX_BODY_BYTES = 1 << 12  #: of a request
_IDLE_TIMEOUT = 30  #: seconds after which an idle connection is closed
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class LabelPage:
    """The served page."""

    html: bytes
    policy: str  #: the header Content-Security-Policy: that of the page, and no framing

    @classmethod
    def of(cls, name: str, file: str, language: LanguageCode = LanguageCode.AUTO) -> LabelPage:
        """Build the page for the run ``name``, whose labels are written to ``file``."""
        html = assemble_page(
            "label.html",
            package=_PACKAGE,
            styles=_STYLES,
            scripts=_SCRIPTS,
            allow=_ALLOW,
            languages=page_languages(language, _PACKAGE),
            title=f"Same article? · {name}",
            run=name,
            file=file,
        )
        css = [read_asset(_PACKAGE, each) for each in ("base.css", *_STYLES)]
        js = [read_asset(_PACKAGE, each) for each in ("base.js", *_SCRIPTS)]
        return cls(html.encode(), f"{content_security_policy(css, js, _ALLOW)}; frame-ancestors 'none'")


def session_state(session: LabelSession) -> dict[str, object]:
    """Return the state of a session as plain JSON values."""
    with session.locked():
        current, last, progress = session.current, session.last, session.progress
    return {
        "question": None if current is None else _question(current),
        "last": None if last is None else _revealed(*last),
        "progress": asdict(progress),
    }


def _question(pair: OfferedPair) -> dict[str, object]:
    compared = compare_texts(pair.old.text, pair.new.text)
    return {
        "id": pair.id,
        "new": _named(pair.new),
        "old": _named(pair.old),
        "changes": [[each.old] if each.is_equal else [each.old, each.new] for each in compared.changes],
        "is_cut": compared.is_cut or pair.new.is_cut or pair.old.is_cut,
    }


def _named(side: OfferedPage) -> dict[str, object]:
    return {"url": side.url, "title": side.title, "length": len(side.text)}


def _revealed(pair: OfferedPair, answer: AnswerKind) -> dict[str, object]:
    return {
        "answer": str(answer),
        "relation": pair.relation,
        "similarity": pair.similarity,
        "detector": pair.detector,
        "is_dropped": pair.is_dropped,
    }


class HttpResponse(NamedTuple):
    """A response."""

    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


class RequestError(Exception):
    """A request that is refused."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.reply = HttpResponse(f"{status.phrase}\n".encode(), status=status)


class _LabelHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_TIMEOUT
    server: LabelServer
    _is_last = False  #: whether the server stops after this request

    def do_GET(self) -> None:
        self._respond(changes=False)

    def do_POST(self) -> None:
        self._respond(changes=True)

    def _respond(self, *, changes: bool) -> None:
        try:
            self._check_host()
            action = self._action()
            reply = self._change(action) if changes else self._show(action)
        except RequestError as refused:
            self.close_connection = True  # its body was not read
            reply = refused.reply
        except DedupError as error:
            reply = HttpResponse(orjson.dumps({"error": str(error)}), _JSON, HTTPStatus.INSUFFICIENT_STORAGE)
        try:
            self._send(reply)
        finally:
            if self._is_last:  # only now: with the server, the process ends
                self.server.stop()

    def _show(self, action: str) -> HttpResponse:
        if action == "":
            return HttpResponse(self.server.page.html, "text/html; charset=utf-8")
        if action == "state":
            return self._state()
        raise RequestError(HTTPStatus.NOT_FOUND)

    def _change(self, action: str) -> HttpResponse:
        sent, session = self._body(), self.server.session
        if action == "answer":
            try:
                session.answer(str(sent.get("id")), AnswerKind(str(sent.get("answer"))))
            except StaleAnswerError:
                return self._state(HTTPStatus.CONFLICT)
            except ValueError:
                raise RequestError(HTTPStatus.BAD_REQUEST) from None
        elif action == "undo":
            session.undo()
        elif action == "more":
            session.extend(MORE)
        elif action == "done":
            self._is_last = True
        else:
            raise RequestError(HTTPStatus.NOT_FOUND)
        return self._state()

    def _state(self, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
        return HttpResponse(orjson.dumps(session_state(self.server.session)), _JSON, status)

    def _action(self) -> str:
        token, found, action = self.path.removeprefix("/").partition("/")
        if not found or not compare_digest(token.encode(), self.server.token.encode()):
            raise RequestError(HTTPStatus.NOT_FOUND)
        return action

    def _check_host(self) -> None:
        if self.headers.get("Host") not in self.server.names:
            raise RequestError(HTTPStatus.MISDIRECTED_REQUEST)

    def _body(self) -> dict[str, Any]:
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            raise RequestError(HTTPStatus.FORBIDDEN)
        if self.headers.get_content_type() != _JSON:
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MAX_BODY_BYTES:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            found = orjson.loads(self.rfile.read(int(length)))
        except orjson.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            raise RequestError(HTTPStatus.BAD_REQUEST)
        return found

    def _send(self, reply: HttpResponse) -> None:
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
        """Return a name without versions."""
        return "dedupcrawl"

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests to the terminal."""


class LabelServer(ThreadingHTTPServer):
    """The server of one session.

    Args:
        session: the session.
        page: the page.
        port: TCP port; 0: any free one.

    Raises:
        DedupError: the port cannot be used.
    """

    daemon_threads = True

    def __init__(self, session: LabelSession, page: LabelPage, port: int = 0) -> None:
        self.session, self.page, self.token = session, page, token_urlsafe(24)
        try:
            super().__init__((HOST, port), _LabelHandler)
        except (OSError, OverflowError) as error:
            raise DedupError(f"port {port} cannot be used: {error}") from None
        self.names = frozenset(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    @property
    def url(self) -> str:
        """The URL of the page, with the token."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def stop(self) -> None:
        """Stop after the current request."""
        Thread(target=self.shutdown, daemon=True).start()

    def handle_error(self, *connection: Any) -> None:
        """Ignore closed connections."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(*connection)
