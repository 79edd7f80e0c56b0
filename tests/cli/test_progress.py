"""Progress bars of long commands: on a terminal only."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import sys
import termios
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.cli.console import ConsoleProgress
from tests.batch.corpus import story
from tests.cli.test_suggest import GIVEN, written
from tests.stores.factories import lmdb_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLEARED, CURSOR = "\x1b[2K", "\x1b[?25h"  #: escape sequences: erase the line, show the cursor
PAGES = 6


class Terminal:
    """Collects the output to a terminal."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.written = b""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        while True:
            try:
                read = os.read(self.end, 65536)
            except OSError:  # the other end is closed
                return
            if not read:
                return
            self.written += read

    def text(self) -> str:
        self.reader.join(600)
        return self.written.decode()


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Make standard error a pseudo-terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 110))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "110")
    end = Terminal(ours)
    try:
        with io.TextIOWrapper(os.fdopen(theirs, "wb", 0), write_through=True) as error:
            monkeypatch.setattr(sys, "stderr", error)
            yield end
            monkeypatch.undo()
    finally:
        end.text()
        os.close(ours)


def command(*arguments: object) -> None:
    app([str(each) for each in arguments], standalone_mode=False)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Any]:
    """A page set, a labelled file, a corpus, labels, and a store and its export."""
    (tmp_path / "set" / "html").mkdir(parents=True)
    texts = [story(number, words=80) for number in range(PAGES)]
    for number, text in enumerate(texts):
        (tmp_path / "set" / "html" / f"{number}.html.gz").write_bytes(
            gzip.compress(f"<article><p>{text}</p></article>".encode())
        )
    truth = [json.dumps({"id": str(number), "url": "", "text": text}) for number, text in enumerate(texts)]
    (tmp_path / "set" / "truth.jsonl").write_text("\n".join(truth))
    rows = [
        {"id": f"{place}{number}", "url": f"https://{place}.example/{number}", "text": text, "cluster": number}
        for number, text in enumerate(texts)
        for place in "ab"
    ]
    (tmp_path / "labelled.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    url = lmdb_url(tmp_path / "store")
    with Deduplicator(url, "news") as dedup:
        for row in rows:
            dedup.add(text=str(row["text"]), url=str(row["url"]))
    command("store", "export", url, tmp_path / "exported")
    return {
        "set": tmp_path / "set",
        "labelled": tmp_path / "labelled.jsonl",
        "labels": written(tmp_path / "labels.jsonl", GIVEN),
        "store": url,
        "exported": tmp_path / "exported",
        "new": lmdb_url(tmp_path / "new"),
        "out": tmp_path / "out",
    }


@pytest.mark.parametrize(
    ("arguments", "steps", "last"),
    [
        ("eval pages {set}", ["reading"], f"{PAGES} pages"),
        ("eval duplicates {labelled}", ["loading", "reading", "exact + minhash"], f"{2 * PAGES} pages"),
        (
            "eval duplicates {labelled} --detector exact --sweep min_chars=10:30:10",
            ["loading", "reading", "min_chars=10 1/3", "min_chars=30 3/3"],
            f"{2 * PAGES} pages",
        ),
        ("eval duplicates {labelled} --suggest", ["loading", "reading", "judging"], f"{2 * PAGES} pages"),
        ("eval pairs {labels} --detector exact --detector minhash", ["exact + minhash"], "80 pairs"),
        ("eval pairs {labels} --suggest", ["judging"], "80 pairs"),
        ("lexicon build {labelled} -o {out}", ["counting"], f"{2 * PAGES} documents"),
        ("store export {store} {out}", ["exporting"], f"{PAGES} records"),
        ("store import {exported} {new}", ["checking", "importing"], f"{PAGES} records"),
    ],
)
def test_a_terminal_sees_bars_until_it_is_done(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    places: dict[str, Any],
    arguments: str,
    steps: list[str],
    last: str,
) -> None:
    words = arguments.format_map(places).split()
    capsys.readouterr()
    with terminal(monkeypatch) as end:
        command(*words)
    seen, result = end.text(), capsys.readouterr()
    for step in steps:
        assert step in seen
    assert last in seen
    after = seen.rpartition(last)[2]
    assert CLEARED in after, "what stands there is taken back"
    assert CURSOR in after
    assert result.out
    assert "\x1b" not in result.out
    assert not any(step in result.out for step in ("reading", "loading", "counting", "exporting", "checking"))


@pytest.mark.parametrize("arguments", ["eval pages {set} --json", "store export {store} {out}"])
def test_where_there_is_no_terminal_nothing_is_shown(
    capsys: pytest.CaptureFixture[str], places: dict[str, Any], arguments: str
) -> None:
    capsys.readouterr()
    command(*arguments.format_map(places).split())
    result = capsys.readouterr()
    assert result.out
    assert result.err == ""


def test_stacked_bars_and_single_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    for stacked in (True, False):
        with terminal(monkeypatch) as end, ConsoleProgress("files", stacked=stacked) as bars:
            bars.begin("first", 3)
            bars.advance(2, 2000)
            bars.begin("second", None)
            assert list(bars.track("third", "abc", 3)) == ["a", "b", "c"]
        last = end.text().rpartition("third")[0].rpartition("\r")[2] + end.text().rpartition("third")[2]
        assert "3 files" in last
        assert ("2,000 files" in end.text().rpartition("first")[2]) is stacked


def test_an_error_restores_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        with ConsoleProgress() as bars:
            for _ in bars.track("reading", range(3), 3):
                raise OSError("gone")

    with terminal(monkeypatch) as end, pytest.raises(OSError, match="gone"):
        fail()
    assert CURSOR in end.text().rpartition("reading")[2]


def test_without_a_terminal_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("dedupcrawl.cli.console.time.monotonic", lambda: now[0])
    with ConsoleProgress("documents") as bars:
        bars.begin("reading", 1000)
        for _ in range(10):
            now[0] += 7.0
            bars.advance(100, 50)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 250 documents, 7/s, 50%, 35 s left",
        "reading: 500 documents, 7/s, 100%, 0.0 s left",
    ]
