"""``dedupcrawl read``, ``compare``, ``eval pages`` and ``store`` on the command line."""

from __future__ import annotations

import gzip
import http.server
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import orjson
import pytest
import typer
from lxml.etree import LIBXML_VERSION
from typer.main import get_command
from typer.testing import CliRunner

import dedupcrawl
from dedupcrawl import Deduplicator
from dedupcrawl.cli import app, main
from dedupcrawl.cli.commands import COMMANDS
from dedupcrawl.page import compiled
from dedupcrawl.stores.redis import packed_urls
from dedupcrawl.stores.redis.sharded import packed_values
from dedupcrawl.text.features import kernel_description
from tests.texts import CHINESE, ENGLISH, OTHER_ENGLISH

runner = CliRunner()


def html(text: str, title: str = "News") -> str:
    paragraphs = "".join(f"<p>{sentence}.</p>" for sentence in text.split(". "))
    menu = "<ul>" + "".join(f'<li><a href="/{n}">Section {n}</a></li>' for n in range(8)) + "</ul>"
    return f"<html><head><title>{title}</title></head><body>{menu}<div>{paragraphs}</div></body></html>"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "first": ENGLISH,
        "copy": ENGLISH.replace("Nobody was hurt", "No one was hurt") + " It is closed.",
        "other": OTHER_ENGLISH,
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.html").write_text(html(text, " ".join(text.split()[:8])), encoding="utf-8")
    return {name: str(tmp_path / f"{name}.html") for name in texts}


@pytest.fixture
def served(files: dict[str, str]) -> Iterator[str]:
    folder = str(Path(files["first"]).parent)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, directory=folder)  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def run(*args: str) -> str:
    result = runner.invoke(app, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    monkeypatch.setattr("sys.argv", ["dedupcrawl", *args])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    return capsys.readouterr().err


def test_the_version_names_the_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, reading = f"text kernel: {kernel_description()}", f"page reading: {compiled.description()}"
    servers = (
        f"requests to servers: {packed_urls.description()}",
        f"commands for a cluster: {packed_values.description()}",
    )
    assert run("--version").splitlines() == [f"dedupcrawl {version('dedupcrawl')}", kernel, reading, *servers]
    monkeypatch.setattr("dedupcrawl.text.features.kernel", None)
    assert "text kernel: numpy (" in run("--version")
    assert dedupcrawl.__version__ == version("dedupcrawl")


def test_the_list_of_commands_is_printed_without_importing_them() -> None:
    program = (
        "import sys; from dedupcrawl.cli import main; sys.argv = ['dedupcrawl', '--help']\n"
        "try: main()\n"
        "finally: print(sorted({'numpy', 'scrapy', 'lxml', 'redis'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    *listing, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert all(re.search(rf"^│ {name} ", "\n".join(listing), re.MULTILINE) for name in COMMANDS)


def test_the_list_shows_the_first_sentence_of_each_command() -> None:
    group = get_command(app)
    context = typer.Context(group)
    for name, entry in COMMANDS.items():
        text = group.get_command(context, name).help  # type: ignore[attr-defined]
        assert " ".join(text.partition("\n\n")[0].split()) == entry.summary


def test_read_prints_the_main_text(files: dict[str, str], served: str) -> None:
    for where in (files["first"], f"{served}/first.html"):
        text = run("read", where)
        assert "thermos flasks" in text
        assert "Section" not in text


def test_read_takes_packed_files_and_bytes_in_gbk(tmp_path: Path) -> None:
    path = tmp_path / "page.html.gz"
    page = f"<meta charset=gb2312><title>港口</title><p>{CHINESE}</p>"
    path.write_bytes(gzip.compress(page.encode("gb18030")))
    assert "港口在夜里结了冰" in run("read", str(path))


@pytest.mark.parametrize("command", [["read"], ["read", "--blocks"], ["compare"]])
def test_control_characters_of_a_page_are_removed(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<title>\x1b]0;Mine\x07</title><p>Gone: \x1b[2J\x9b31m\u202e{ENGLISH}", "utf-8")
    places = [str(path)] * (2 if command == ["compare"] else 1)
    shown = runner.invoke(app, [*command, *places], env={"FORCE_COLOR": "1", "COLUMNS": "120"}).output
    assert "Gone: [2J" in shown
    assert [each for each in ("\x1b[2J", "\x1b]0;", "\x9b", "\x07", "\u202e") if each in shown] == []


def test_read_gives_a_program_the_text_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<p>Gone: \x1b[2J\x9b31m\u202e{ENGLISH}", "utf-8")
    escape = "\x1b" if LIBXML_VERSION >= (2, 14) else ""  # the parser of libxml2 2.13 removes it
    assert f"Gone: {escape}[2J\x9b31m\u202e" in run("read", str(path))


def test_decompression_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "page.html.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20) * 65, 1))
    assert f"a page of {64 << 20} bytes is larger" in complaint(monkeypatch, capsys, "read", str(path))


def test_read_shows_every_block_with_its_reason(files: dict[str, str]) -> None:
    table = run("read", "--blocks", files["first"])
    assert "Section" in table
    assert "article" in table
    blocks = orjson.loads(run("read", "--json", files["first"]))["blocks"]
    assert {block["kept"] for block in blocks} == {True, False}
    assert all(block["reason"] for block in blocks)


def test_compare_shows_common_passages(files: dict[str, str]) -> None:
    said = orjson.loads(run("compare", "--json", files["first"], files["copy"]))
    assert said["verdict"]["relation"] == "near-duplicate"
    assert said["verdict"]["evidence"]
    where = {passage["text"]: passage["in"] for passage in said["passages"]}
    assert where["Nobody was hurt."] == "first"
    assert where["No one was hurt."] == "second"
    assert "both" in where.values()
    shown = run("compare", files["first"], files["copy"])
    assert "near-duplicate" in shown
    assert "Nobody was hurt." in shown


def test_compare_of_different_pages(files: dict[str, str]) -> None:
    said = orjson.loads(run("compare", "--json", files["first"], files["other"]))
    assert said["verdict"]["status"] == "unique"
    assert {passage["in"] for passage in said["passages"]} == {"first", "second"}
    assert "similarity" not in said["measured"]["exact"]
    assert said["measured"]["minhash"]["similarity"] < 0.1
    assert "minhash: similarity 0.0" in run("compare", files["first"], files["other"])


def test_compare_shows_when_there_is_nothing_to_measure(tmp_path: Path) -> None:
    for name, text in (("whole", ENGLISH), ("part", "Ice. " * 30)):
        (tmp_path / f"{name}.txt").write_text(text)
    where = [str(tmp_path / f"{name}.txt") for name in ("whole", "part")]
    said = orjson.loads(run("compare", "--json", *where, "--detector=keywords"))
    assert said["measured"] == {"keywords": None}
    assert "keywords: one of the pages is too short for it" in run("compare", *where, "--detector=keywords")


def test_compare_measures_what_is_no_copy(tmp_path: Path) -> None:
    for name, text in (("whole", ENGLISH + OTHER_ENGLISH), ("part", ENGLISH)):
        (tmp_path / f"{name}.txt").write_text(text)
    where = [str(tmp_path / f"{name}.txt") for name in ("whole", "part")]
    every = ("minhash", "feature_code", "feature_codes", "datasketch", "spotsigs", "combined", "segments")
    said = orjson.loads(run("compare", "--json", *where, *(f"--detector={name}" for name in every)))
    assert set(said["measured"]) == set(every)
    assert 0.2 < said["measured"]["minhash"]["similarity"] < 0.8
    assert said["measured"]["minhash"]["new_in_old"] > 0.7
    assert 0.2 < said["measured"]["spotsigs"]["similarity"] < 0.8
    assert "random_projection" in said["measured"]["combined"]
    assert said["measured"]["segments"]["similarity"] == 0  # no segment is equal
    said = run("compare", *where)
    assert "relation" not in said
    assert "minhash: similarity 0." in said


def test_compare_of_long_pages_full_of_repetitions_ends(tmp_path: Path) -> None:
    """Without a limit for repeated sentences this takes many minutes."""
    for name in ("first", "second"):
        posts = (f"Post {n} of the {name} page.\nReply.\nShare." for n in range(2000))
        (tmp_path / f"{name}.txt").write_text("\n".join(("A shared beginning.", *posts)))
    started = time.process_time()
    said = orjson.loads(run("compare", "--json", *(str(tmp_path / f"{n}.txt") for n in ("first", "second"))))
    assert time.process_time() - started < 60
    assert said["passages"][0]["in"] == "both"


def test_compare_shows_that_the_earlier_page_is_unchecked(files: dict[str, str], tmp_path: Path) -> None:
    index = tmp_path / "index.html"
    index.write_text("".join(f'<p><a href="/{n}">Section {n} of all</a></p>' for n in range(40)))
    said = orjson.loads(run("compare", "--json", str(index), files["first"]))
    assert said["earlier"]["reason"] == "index"
    assert "unchecked(index)" in run("compare", str(index), files["first"])
    assert "unchecked" not in run("compare", files["first"], files["other"])


def test_a_terminal_that_knows_ascii_only_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text(CHINESE, encoding="utf-8")
    program = [sys.executable, "-c", "from dedupcrawl.cli import main; main()", "read", str(path)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(program, env=ascii_only, capture_output=True, check=True).stdout
    assert shown.isascii()
    written = subprocess.run([*program, "--json"], env=ascii_only, capture_output=True, check=True).stdout
    assert orjson.loads(written)["text"] == CHINESE


def test_damaged_packed_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = bytearray(gzip.compress(ENGLISH.encode()))
    packed[10:14] = b"zzzz"
    path = tmp_path / "page.html.gz"
    path.write_bytes(packed)
    assert "page.html.gz" in complaint(monkeypatch, capsys, "read", str(path))


def test_eval_pages(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "a.html.gz").write_bytes(gzip.compress(html(ENGLISH).encode()))
    truth = {"id": "a", "url": "https://a.example/", "text": ENGLISH}
    (tmp_path / "truth.jsonl").write_bytes(orjson.dumps(truth))
    figures = orjson.loads(run("eval", "pages", str(tmp_path), "--json"))
    assert set(figures) == {"pages", "f1", "precision", "recall", "ms_per_page", "ratio_to_parse"}
    assert figures["f1"] > 0.9
    assert "precision" in run("eval", "pages", str(tmp_path))


def test_eval_duplicates(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "url": "https://a.example/1", "html": html(ENGLISH), "cluster": "a", "edit": "original"},
        {"id": "2", "url": "https://b.example/2", "text": ENGLISH, "cluster": "a", "edit": "layout"},
        {"id": "3", "url": f"https://b.example/{'3' * 60}", "text": ENGLISH, "cluster": "b", "edit": "other"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    figures = orjson.loads(run("eval", "duplicates", str(path), "--json"))
    assert {"name", "detectors", "pages", "drops", "pairs", "by_edit", "us_per_page"} <= set(figures)
    assert figures["drops"]["wrongly_dropped"] == 1
    assert figures["by_edit"]["layout"]["dropped"] == 1
    shown = run("eval", "duplicates", str(path), "--detector", "exact", "--mistakes")
    assert "wrongly dropped" in shown
    assert "exact" in shown
    assert "…" not in shown


def test_store_commands(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/seen"
    with Deduplicator(url, "news", clock=lambda: time.time() - 3600) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        dedup.add(text=CHINESE, url="https://a.example/2")
        dedup.store.notes.write("rules", "noted.example", {b"rule": b"1"}, 9)
    with Deduplicator(url, "blogs") as dedup:
        dedup.add(text=OTHER_ENGLISH, url="https://a.example/3")
    infos = {info["namespace"]: info for info in orjson.loads(run("store", "info", url, "--json"))}
    assert {name: info["pages"] for name, info in infos.items()} == {"news": 2, "blogs": 1}
    shown = run("store", "info", url, "--namespace", "news")
    assert "minhash" in shown
    assert "…" not in shown
    assert "1 record" in run("store", "forget", url, "https://a.example/1#top")
    assert "1 with what they repeat" in shown
    assert "2 sites forgotten" in run("store", "forget", url, "a.example")
    assert "with what they repeat" not in run("store", "info", url)
    assert "1 on URLs of sites" in run("store", "info", url)
    assert "1 sites forgotten" in run("store", "forget", url, "noted.example")
    assert "on URLs of sites" not in run("store", "info", url)
    assert "1 record" in run("store", "prune", url, "--older-than", "30m")
    infos = {info["namespace"]: info for info in orjson.loads(run("store", "info", url, "--json"))}
    assert {name: info["pages"] for name, info in infos.items()} == {"news": 0, "blogs": 1}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("read", "absent.html"), "absent.html"),
        (("read", "http://127.0.0.1:9/"), "cannot be fetched"),
        (("read", "http://[::1"), "cannot be fetched"),
        (("eval", "pages", "absent"), "absent"),
        (("eval", "duplicates", "absent.jsonl"), "absent.jsonl"),
        (("store", "info", "lmdb:///absent/store"), "absent"),
        (("store", "info", "mysql://x"), "mysql"),
        (("store", "prune", "lmdb:///absent", "--older-than", "soon"), "soon"),
    ],
)
def test_an_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    text = complaint(monkeypatch, capsys, *args)
    assert said in text
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) == 1


def test_unknown_detector_is_named(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = complaint(monkeypatch, capsys, "compare", files["first"], files["copy"], "--detector", "minhahs")
    assert "minhahs" in text
    assert "minhash" in text
