"""``dedupcrawl label``: the process, its local page, and errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dedupcrawl.tools.label.labels import read_labels
from tests.cli.errors import complaint
from tests.data import ROOT
from tests.tools.label.runs import ledger, web

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]+/")
_COMMAND = [sys.executable, "-c", "from dedupcrawl.cli import main; main()", "label"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ledger(tmp_path_factory.mktemp("run") / "run.ledger", web(6, 4))


@contextmanager
def labelling(*args: object) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Start the command; yield the process, the URL of its page, and the lines before it."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    with subprocess.Popen(
        [*_COMMAND, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        try:
            for line in process.stdout:
                said.append(line)
                if found := _ADDRESS.search(line):
                    yield process, found.group(), said
                    break
            else:
                pytest.fail("".join(said))
        finally:
            process.kill()


def send(address: str, what: str, sent: object = None) -> Any:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.netloc, timeout=600)
    body = None if sent is None else json.dumps(sent)
    headers = {"Content-Type": "application/json"} if sent is not None else {}
    connection.request("GET" if sent is None else "POST", parts.path + what, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return json.loads(data) if answer.getheader("Content-Type") == "application/json" else data.decode()


def test_a_whole_session(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    with labelling(run, "-o", file, "--pairs", 3) as (process, address, said):
        assert "pairs to ask about, around 0.8" in said[0]
        assert "Same article?" in send(address, "")
        state = send(address, "state")
        for answer in ("same", "different", "skip"):
            state = send(address, "answer", {"id": state["question"]["id"], "answer": answer})
        assert state["question"] is None
        assert len(read_labels(file)) == 3  # before the session ends
        send(address, "done", {})
        rest, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert "1 same, 1 different, 1 skipped in this session; 2 labels in all." in rest
    assert f"dedupcrawl eval pairs {file} --suggest" in rest


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_it_labels_are_kept_and_not_asked_again(run: Path, tmp_path: Path, ends: int) -> None:
    file = tmp_path / "labels.jsonl"
    with labelling(run, "-o", file) as (process, address, _):
        first = send(address, "state")["question"]["id"]
        send(address, "answer", {"id": first, "answer": "same"})
        process.send_signal(ends)
        process.communicate(timeout=600)
    assert process.returncode == (0 if ends == signal.SIGINT else -signal.SIGKILL)
    with labelling(run, "-o", file) as (_, address, said):
        assert "1 are labelled" in said[0]
        assert send(address, "state")["question"]["id"] != first


def test_two_sessions_on_one_file_are_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "labels.jsonl"
    with labelling(run, "-o", file):
        assert "another session" in complaint(monkeypatch, capsys, "label", str(run), "-o", str(file))


def test_a_run_keeps_the_similarity_it_was_begun_with(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "labels.jsonl"
    with labelling(run, "-o", file, "--around", 0.9) as (_, address, _said):
        send(address, "answer", {"id": send(address, "state")["question"]["id"], "answer": "same"})
    with labelling(run, "-o", file) as (_, address, said):
        assert "around 0.9" in said[0]
    told = complaint(monkeypatch, capsys, "label", str(run), "-o", str(file), "--around", "0.8")
    assert "0.9, with which labels of this run were begun" in told


def test_a_run_without_pairs_serves_nothing(tmp_path: Path) -> None:
    path = ledger(tmp_path / "run.ledger", web(1, 0)[:1])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*_COMMAND, str(path), "-o", str(tmp_path / "labels.jsonl")]
    found = subprocess.run(command, capture_output=True, text=True, env=env, check=True, timeout=600)
    assert "There is no pair to ask about" in found.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("absent.ledger",), "absent.ledger: no such file or folder"),
        (("redis://127.0.0.1/0",), "a store has no texts to show"),
        (("{folder}", "{run}"), "ledgers of one crawl"),
        (("{run}", "--around", "1"), "above 0 and below 1"),
        (("{run}", "--port", "70000"), "port 70000 cannot be used"),
        (("{page}",), "this is the HTML page; its ledger is"),
        (("{beside}",), "no folder of a batch; ledgers in it: "),
    ],
)
def test_an_error_is_one_sentence(
    run: Path,
    tmp_path: Path,
    args: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = run.with_suffix(".html")
    page.write_text("<html>")
    named = [each.format(folder=tmp_path, run=run, page=page, beside=run.parent) for each in args]
    complained = complaint(monkeypatch, capsys, "label", *named, "-o", str(tmp_path / "labels.jsonl"))
    assert said in complained
    assert "URL of a store" not in complained
    assert list(tmp_path.iterdir()) == []


def test_ledgers_are_labelled_without_pyarrow() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import dedupcrawl.tools.label.pairs"
    subprocess.run([sys.executable, "-c", code], check=True)
