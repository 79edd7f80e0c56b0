"""Newspapers that reprint each other: the pages at a.example, b.example … in the documentation."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Iterator

ICE = text(1, 400)
#: The same story as another paper prints it.
REPRINT = ICE.replace("quietly", "silently").replace(". ", ", it was said. ", 1)

HOSTS = ("a.example", "b.example", "c.example", "example.com")
PAGES = {
    "a.example/1": plain("Ice on the river", ICE),
    "a.example/page": plain("The orchard", text(2)),
    "b.example/2": fancy("Ice on the river", REPRINT),
    "c.example/3": fancy("Ice on the river", ICE),
    "example.com": plain("A paper", text(3), "/example.com/more"),
    "example.com/more": plain("More of it", text(4)),
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGES.get(self.path.strip("/"), "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def printed() -> Iterator[str]:
    """Serve all newspapers from one local address; yield it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
