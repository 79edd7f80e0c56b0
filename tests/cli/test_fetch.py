"""Commands that fetch a page have a deadline for all of it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dedupcrawl.cli.commands import app
from dedupcrawl.cli.fetch import fetch_page
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"


class Dripping:
    """Answers every request with ``start`` at once, then with a byte every 50 ms, for ever."""

    def __init__(self, start: bytes) -> None:
        self.start = start
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.stopped = threading.Event()
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with suppress(OSError):
            while not self.stopped.is_set():
                connection, _ = self.socket.accept()
                threading.Thread(target=self.drip, args=(connection,), daemon=True).start()

    def drip(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(self.start)
            while not self.stopped.wait(0.05):
                connection.sendall(b"x")

    def close(self) -> None:
        self.stopped.set()
        self.socket.close()


@pytest.fixture(params=[HEAD + b"\r\n<p>It rained", HEAD + b"X-Slow: ", b""], ids=["body", "header", "status"])
def dripping(request: pytest.FixtureRequest) -> Iterator[Dripping]:
    server = Dripping(request.param)
    yield server
    server.close()


@pytest.mark.parametrize("command", ["read", "inspect", "compare", "explain"])
def test_a_server_that_drips_does_not_hold_a_command(command: str, dripping: Dripping, tmp_path: Path) -> None:
    store = f"lmdb://{tmp_path}/seen"
    with Deduplicator(store, "pages"):
        pass
    more = {"compare": [dripping.url], "explain": ["--store", store]}.get(command, [])
    start = time.monotonic()
    result = CliRunner().invoke(app, [command, dripping.url, *more, "--timeout", "0.3"])
    assert isinstance(result.exception, DedupError)
    assert "not fetched within 0.3 seconds; --timeout changes this limit" in str(result.exception)
    assert time.monotonic() - start < 120  # without a deadline it never returns


def test_a_page_that_arrives_in_time_is_read() -> None:
    body = b"<p>It rained in the hills all night."
    server = Dripping(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    try:
        assert fetch_page(server.url, seconds=30).text == "It rained in the hills all night."
    finally:
        server.close()


@pytest.mark.parametrize("where", ["example.com", "www.example.co.uk/a/b.html?c=1", "localhost:8000", "例子.测试/新闻"])
def test_an_address_without_its_scheme_is_suggested_with_it(where: str) -> None:
    with pytest.raises(DedupError) as caught:
        fetch_page(where)
    assert str(caught.value) == f"{where}: there is no such file; for a page of the web, type https://{where}"


@pytest.mark.parametrize("where", ["page.html", "pages/example.com", "a page.com", "page.HTM", "page", "dump.html.gz"])
def test_a_file_that_is_missing_is_no_address(where: str) -> None:
    with pytest.raises(DedupError, match=r"neither an http\(s\) URL nor a readable file: .*No such file"):
        fetch_page(where)


def test_a_file_with_the_name_of_a_host_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.com").write_text("<title>Frost</title><p>The harbour froze over.")
    assert fetch_page("example.com").title == "Frost"
