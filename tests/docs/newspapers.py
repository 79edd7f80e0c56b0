"""Newspapers that reprint each other: the pages at a.example, b.example … in the documentation."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ICE = text(1, 400)
#: The same story as another paper prints it.
REPRINT = ICE.replace("quietly", "silently").replace(". ", ", it was said. ", 1)

HOSTS = ("a.example", "b.example", "c.example", "example.com")
PAGES = {
    "a.example/1": plain("Ice on the river", ICE),
    "a.example/page": plain("The orchard", text(2)),
    "b.example/2": fancy("Ice on the river", REPRINT),
    "c.example/3": fancy("Ice on the river", ICE),
    "example.com": plain("A paper", text(3), "/more"),
    "example.com/more": plain("More of it", text(4)),
}


class _Newspaper(ThreadingHTTPServer):
    """The server of one host. Its port makes it a site of its own, like the host in the documentation."""

    def __init__(self, host: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.host = host


class _Handler(BaseHTTPRequestHandler):
    server: _Newspaper

    def do_GET(self) -> None:
        body = PAGES.get(f"{self.server.host}{self.path}".rstrip("/"), "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def printed() -> Iterator[Mapping[str, str]]:
    """Serve every newspaper at a local address of its own; yield the addresses by host."""
    with ExitStack() as stack:
        yield {host: stack.enter_context(_serving(host)) for host in HOSTS}


@contextmanager
def _serving(host: str) -> Iterator[str]:
    server = _Newspaper(host)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
