"""The server answers only its own page, and sends nothing that biases the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from socket import create_connection
from threading import Thread
from typing import Any

import pytest

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.label.labels import LabelFile, LabelSession
from dedupcrawl.tools.label.server import HOST, LabelPage, LabelServer
from tests.tools.label.offers import pair, sampler_of
from tests.tools.label.serving import serving

PAGE = LabelPage(b"the page", "default-src 'none'")


@dataclass
class Client:
    server: LabelServer

    def ask(self, path: str = "", body: object = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Request a path after the token; a body is sent as JSON, as the page does."""
        connection = HTTPConnection(HOST, self.server.server_port, timeout=600)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named = {"Content-Type": "application/json", **named}
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        where = path if path.startswith("/") else f"/{self.server.token}/{path}"
        try:
            connection.request("GET" if body is None else "POST", where, sent, named)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        is_json = answer.getheader("Content-Type") == "application/json"
        return answer.status, json.loads(data) if is_json else data, dict(answer.getheaders())

    @property
    def asked(self) -> str:
        return str(self.ask("state")[1]["question"]["id"])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    pairs = [pair(number, 0.8) for number in range(3)]
    with LabelFile(tmp_path / "labels.jsonl") as file:
        session = LabelSession(sampler_of(pairs), file, 100)
        with serving(LabelServer(session, PAGE)) as server:
            yield Client(server)


def test_the_page_is_given_to_requests_with_its_address(client: Client) -> None:
    status, body, headers = client.ask()
    assert (status, body) == (200, b"the page")
    assert headers["Content-Security-Policy"] == "default-src 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"


def test_it_listens_on_this_machine_alone(client: Client) -> None:
    assert client.server.server_address[0] == "127.0.0.1"
    assert client.server.url.startswith(f"http://127.0.0.1:{client.server.server_port}/")
    assert len(client.server.token) >= 32


@pytest.mark.parametrize("path", ["/", "/state", "/wrong/state", "/wrong/", "//state", "/" + "x" * 32 + "/"])
def test_without_the_token_there_is_nothing(client: Client, path: str) -> None:
    assert client.ask(path)[0] == 404
    assert client.ask(path, {})[0] == 404


@pytest.mark.parametrize("path", ["*", "x", "%00", "state"])
def test_what_is_no_path_is_refused_in_silence(client: Client, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with create_connection((HOST, client.server.server_port), timeout=600) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}:{client.server.server_port}\r\n\r\n".encode())
        assert b" 404 " in connection.recv(64)
    assert capsys.readouterr().err == ""


def test_a_token_is_good_for_one_server(client: Client) -> None:
    other = LabelServer(client.server.session, PAGE)
    other.server_close()
    assert other.token != client.server.token
    assert client.ask(f"/{other.token}/state")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}"])
def test_another_name_for_this_machine_is_refused(client: Client, host: str) -> None:
    named = host.format(port=client.server.server_port)
    assert client.ask("state", Host=named)[0] == 421
    assert client.ask("answer", {"id": client.asked, "answer": "same"}, Host=named)[0] == 421


def test_localhost_is_a_name_of_its_own(client: Client) -> None:
    assert client.ask("state", Host=f"localhost:{client.server.server_port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "file://"])
def test_other_pages_can_change_nothing(client: Client, origin: str) -> None:
    said = {"id": client.asked, "answer": "same"}
    named = origin.format(port=client.server.server_port)
    assert client.ask("answer", said, Origin=named)[0] == 403
    assert client.ask("answer", said, Content_Type="text/plain")[0] == 415  # what a foreign form can send
    assert client.server.session.progress.done == 0
    own = f"http://127.0.0.1:{client.server.server_port}"
    assert client.ask("answer", said, Origin=own)[0] == 200
    assert client.server.session.progress.done == 1


@pytest.mark.parametrize(
    ("what", "body", "status"),
    [
        ("answer", b"{", 400),
        ("answer", b"[]", 400),
        ("answer", b'{"id": "x", "answer": "same"}', 409),
        ("answer", b"{}", 400),
        ("answer", b" " * 5_000, 413),
        ("nothing", b"{}", 404),
        ("", b"{}", 404),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, what: str, body: bytes, status: int) -> None:
    assert client.ask(what, body)[0] == status
    assert client.server.session.progress.done == 0
    assert client.ask("state")[0] == 200


def test_an_answer_is_one_of_three(client: Client) -> None:
    assert client.ask("answer", {"id": client.asked, "answer": "maybe"})[0] == 400


def test_nothing_that_sways_is_reported_before_the_answer(client: Client) -> None:
    _, state, _ = client.ask("state")
    assert set(state) == {"question", "last", "progress"}
    assert set(state["question"]) == {"id", "new", "old", "changes", "is_cut"}
    assert set(state["question"]["new"]) == {"url", "title", "length"}
    told = json.dumps(state)
    for hidden in ("near-duplicate", "minhash", "0.8", "dropped", "stratum"):
        assert hidden not in told
    _, after, _ = client.ask("answer", {"id": client.asked, "answer": "different"})
    assert after["last"] == {
        "answer": "different",
        "relation": "near-duplicate",
        "similarity": 0.8,
        "detector": "minhash",
        "is_dropped": True,
    }


def test_the_pieces_of_a_question_are_both_texts(client: Client) -> None:
    question = client.ask("state")[1]["question"]
    current = client.server.session.current
    assert current is not None
    assert "".join(change[0] for change in question["changes"]) == current.old.text
    assert "".join(change[-1] for change in question["changes"]) == current.new.text


def test_two_windows_cannot_answer_the_same_question_twice(client: Client) -> None:
    said = {"id": client.asked, "answer": "same"}
    assert client.ask("answer", said)[0] == 200
    status, state, _ = client.ask("answer", said)
    assert status == 409
    assert state["progress"]["done"] == 1
    assert state["question"]["id"] == client.asked


def test_undo_and_more_are_served(client: Client) -> None:
    first = client.asked
    client.ask("answer", {"id": first, "answer": "skip"})
    assert client.ask("undo", {})[1]["question"]["id"] == first
    assert client.ask("more", {})[1]["progress"]["goal"] == 3


def test_a_label_that_cannot_be_written_is_reported(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise DedupError("labels.jsonl cannot be written: No space left on device")

    monkeypatch.setattr(LabelFile, "add", full)
    status, told, _ = client.ask("answer", {"id": client.asked, "answer": "same"})
    assert (status, told) == (507, {"error": "labels.jsonl cannot be written: No space left on device"})
    assert client.server.session.progress.done == 0


def test_done_ends_it(tmp_path: Path) -> None:
    with LabelFile(tmp_path / "labels.jsonl") as file:
        server = LabelServer(LabelSession(sampler_of([pair(1)]), file, 1), PAGE)
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        assert Client(server).ask("done", {})[0] == 200
        thread.join(600)
        assert not thread.is_alive()
        server.server_close()


def test_a_port_that_is_taken_is_reported(client: Client) -> None:
    with pytest.raises(DedupError, match=f"port {client.server.server_port} cannot be used"):
        LabelServer(client.server.session, PAGE, client.server.server_port)
    with pytest.raises(DedupError, match="port 70000 cannot be used"):
        LabelServer(client.server.session, PAGE, 70_000)
