"""A web site on loopback, made for a test."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message

WORDS = """
harbour winter ferry council tunnel lamp orchard river bridge engine baker museum letter garden
signal mountain village painter archive station market island glacier teacher violin printer copper
weather library factory railway captain meadow concert kitchen lantern journey village forest window
captain measured carried reported opened closed repaired counted painted found returned promised
delayed quietly slowly again before after behind under without against between northern southern
broken golden hollow
""".split()  # noqa: SIM905  # a list of literals would fill the page


@dataclass(frozen=True)
class Answer:
    """The response to one path."""

    body: bytes
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    delay: float = 0.0  #: seconds
    etag: str = ""  #: a request that names it gets 304
    modified: str = ""  #: Last-Modified, likewise

    def to(self, headers: Message) -> tuple[int, bytes]:
        """Return status and body for a request with these headers."""
        named = headers["If-None-Match"] or headers["If-Modified-Since"]
        is_known = named is not None and named in (self.etag, self.modified)
        return (304, b"") if is_known else (self.status, self.body)


class Site:
    """Serves the added pages, in threads, until closed."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.statuses: list[tuple[str, int]] = []  #: paths and statuses of the answers
        self.sent = 0  #: bytes of all bodies
        self.cookie = ""  #: that all answers set
        self.on_request: Callable[[int], object] | None = None  #: called with the number of the request
        self.on_path: Callable[[str], object] | None = None  #: called with the path of the request
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def do_GET(self) -> None:
                site.asked.append(self.path)
                if site.on_request:
                    site.on_request(len(site.asked))
                if site.on_path:
                    site.on_path(self.path)
                answer = site.answers.get(self.path, Answer(b"no such page", 404))
                time.sleep(answer.delay)
                status, body = answer.to(self.headers)
                site.statuses.append((self.path, status))
                site.sent += len(body)
                self.send_response(status)
                self.send_header("Content-Type", answer.kind)
                validators = {"ETag": answer.etag, "Last-Modified": answer.modified}
                for name, value in {**validators, "Set-Cookie": site.cookie}.items():
                    if value:
                        self.send_header(name, value)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *connection: object) -> None:
                """Ignore connections closed by killed crawls."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def put(self, path: str, body: str | bytes, *, status: int = 200, kind: str = "", delay: float = 0.0) -> str:
        """Serve ``body`` under ``path``; return its URL."""
        data = body.encode() if isinstance(body, str) else body
        self.answers[path] = Answer(data, status, kind or "text/html; charset=utf-8", delay)
        return self.base + path

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def text(seed: int, words: int = 150) -> str:
    """Write an article that shares no run of words with one of another seed."""
    chance = random.Random(seed)
    sentences = []
    while words > 0:
        length = chance.randint(8, 16)
        words -= length
        sentences.append(" ".join(chance.choices(WORDS, k=length)).capitalize() + ".")
    half = len(sentences) // 2
    return " ".join(sentences[:half]) + "\n" + " ".join(sentences[half:])


def plain(title: str, body: str, *links: str) -> str:
    """Lay out an article as one site does."""
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in body.split("\n"))
    return (
        f"<html><head><title>{title}</title></head><body><ul class=nav><li><a href=/>Home</a>"
        f"<li><a href=/news>News</a></ul><article><h1>{title}</h1>{paragraphs}</article>"
        f"{_anchors(links)}</body></html>"
    )


def fancy(title: str, body: str, *links: str) -> str:
    """Lay the same article out as another site does."""
    paragraphs = "".join(f"<p class=t>{paragraph}</p>" for paragraph in body.split("\n"))
    return (
        f"<html><head><title>The Fancy Times</title></head><body><div id=top><a href=/>Fancy</a> "
        f"<a href=/sport>Sport</a> <a href=/money>Money</a> <a href=/about>About us</a></div><main><header>"
        f"<h1>{title}</h1></header><article><div class=body>{paragraphs}</div></article></main>"
        f"<footer><a href=/imprint>Imprint</a> <a href=/privacy>Privacy</a></footer>"
        f"{_anchors(links)}</body></html>"
    )


def index(*links: str) -> str:
    """Lay out a page of nothing but links."""
    return f"<html><body>{_anchors(links)}</body></html>"


def _anchors(links: tuple[str, ...]) -> str:
    return "".join(f'<li><a class=follow href="{link}">Read more</a></li>' for link in links)
