"""Stands on loopback for the services that some packages use: Zyte API, and Splash."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Service:
    """Answers POST requests with JSON, in threads, until closed.

    Args:
        answer: returns the content type and the body for a path and the JSON of a request; None: there is no such path.
    """

    def __init__(self, answer: Callable[[str, Mapping[str, Any]], tuple[str, bytes] | None]) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append((self.path, asked))
                kind, body = answer(self.path, asked) or ("", b"")
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def zyte_api(pages: Mapping[str, str], products: Mapping[str, Mapping[str, Any]]) -> Service:
    """Start an API that extracts what a request asks for, from pages and products by their URLs."""

    def extract(path: str, asked: Mapping[str, Any]) -> tuple[str, bytes] | None:
        url = asked["url"]
        answer: dict[str, Any] = {"url": url, "statusCode": 200}
        if asked.get("browserHtml"):
            answer["browserHtml"] = pages[url]
        if asked.get("httpResponseBody"):
            answer["httpResponseBody"] = b64encode(pages[url].encode()).decode()
        if asked.get("httpResponseHeaders"):
            answer["httpResponseHeaders"] = [{"name": "Content-Type", "value": "text/html; charset=utf-8"}]
        if asked.get("product"):
            answer["product"] = {"url": url, "metadata": {"probability": 0.9}, **products[url]}
        return ("application/json", json.dumps(answer).encode()) if path == "/v1/extract" else None

    return Service(extract)


def splash(pages: Mapping[str, str]) -> Service:
    """Start a Splash that "renders" pages by their URLs: ``render.html`` and ``render.json``."""

    def render(path: str, asked: Mapping[str, Any]) -> tuple[str, bytes] | None:
        html = pages[asked["url"]]
        if path == "/render.html":
            return "text/html; charset=utf-8", html.encode()
        body = {"html": html, "url": asked["url"], "title": "", "geometry": [0, 0, 1024, 768]}
        return ("application/json", json.dumps(body).encode()) if path == "/render.json" else None

    return Service(render)
