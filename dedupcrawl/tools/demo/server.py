"""HTTP servers of the five sites on the loopback address."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dedupcrawl.tools.demo.corpus import Content


HOST = "127.0.0.1"
FIRST_PORT = 28401  #: of the first site; with fixed ports, URLs stay the same from run to run

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PICTURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="480" height="320">'
    b'<rect width="480" height="320" fill="#b8c4c2"/><path d="M0 250 150 120 260 220 350 150 480 260V320H0z" '
    b'fill="#7d8f8b"/></svg>'
)


class CannedResponse(NamedTuple):
    """A prepared response."""

    body: bytes
    content_type: str


class _SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SiteServer

    def do_GET(self) -> None:
        reply = self.server.replies.get(self.path)
        self.send_response(HTTPStatus.OK if reply else HTTPStatus.NOT_FOUND)
        reply = reply or CannedResponse(b"<h1>404</h1>", "text/html")
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log: the crawler has a log."""


class SiteServer(ThreadingHTTPServer):
    """One site."""

    daemon_threads = True
    request_queue_size = 64
    replies: Mapping[str, CannedResponse]
    fixed: ClassVar[Mapping[str, CannedResponse]] = {
        "/robots.txt": CannedResponse(b"User-agent: *\nDisallow: /comments\n", "text/plain"),
        "/img/photo.svg": CannedResponse(_PICTURE, "image/svg+xml"),
        "/img/logo.svg": CannedResponse(_PICTURE, "image/svg+xml"),
    }

    @property
    def origin(self) -> str:
        """Scheme and host of the site."""
        return f"http://{HOST}:{self.server_port}"

    def handle_error(self, *connection: Any) -> None:
        """Ignore connections closed by a crawler that was stopped."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*connection)

    def publish(self, layout: Layout) -> None:
        """Prepare the responses."""
        charset = layout.site.header
        content_type = f"text/html; charset={charset}" if charset else "text/html"
        pages = {path: CannedResponse(body, content_type) for path, body in layout.documents().items()}
        self.replies = {**self.fixed, **pages}


@contextmanager
def serve(content: Content, first_port: int = FIRST_PORT) -> Iterator[dict[str, str]]:
    """Serve all sites within the context; yields the origin of each site by its key.

    The first site has ``first_port``, the others follow. A port in use, or 0, is replaced by a free one.
    """
    servers = {key: _bind(first_port and first_port + i) for i, key in enumerate(content.sites)}
    origins = {key: server.origin for key, server in servers.items()}
    for key, server in servers.items():
        server.publish(Layout(content, content.sites[key], origins))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield origins
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()


def _bind(port: int) -> SiteServer:
    try:
        return SiteServer((HOST, port), _SiteHandler)
    except OSError:
        return SiteServer((HOST, 0), _SiteHandler)


def serve_alone(say: Callable[[str], None], first_port: int = FIRST_PORT) -> None:
    """Serve the five sites until SIGINT or SIGTERM; ``say`` is called with the URL of each front page."""
    over = threading.Event()
    earlier = {number: signal.signal(number, lambda *_: over.set()) for number in _STOP_SIGNALS}
    try:
        with serve(load_content(), first_port) as origins:
            for origin in origins.values():
                say(f"{origin}/")
            over.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
