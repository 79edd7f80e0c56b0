"""``dedupcrawl explain`` on the command line."""

from __future__ import annotations

import http.server
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.config import Config
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Entry, Outcome
from tests.cli.errors import complaint
from tests.stores.servers import Server, binaries
from tests.test_site_memory import ABOUT, LIFE, POSTS, crawl
from tests.texts import ENGLISH, OTHER_ENGLISH

runner = CliRunner()
FIRST, SECOND = "https://a.example/1", "https://b.example/2"
COPY = ENGLISH.replace("Nobody was hurt", "No one was hurt")


def html(text: str) -> str:
    paragraphs = "".join(f"<p>{sentence}.</p>" for sentence in text.split(". "))
    menu = "<ul>" + "".join(f'<li><a href="/{n}">Section {n}</a></li>' for n in range(8)) + "</ul>"
    return f"<html><head><title>News</title></head><body>{menu}<div>{paragraphs}</div></body></html>"


def filled(tmp_path: Path, namespace: str = "news", **changes: Any) -> str:
    """Make a store with two pages."""
    url = f"lmdb://{tmp_path}/seen"
    with Deduplicator(url, namespace, config=Config(**changes)) as dedup:
        dedup.add(html=html(ENGLISH), url=FIRST)
        dedup.add(html=html(OTHER_ENGLISH), url="https://a.example/lamps")
    return url


@pytest.fixture
def store(tmp_path: Path) -> str:
    return filled(tmp_path)


@pytest.fixture
def copy(tmp_path: Path) -> str:
    path = tmp_path / "copy.html"
    path.write_text(html(COPY), encoding="utf-8")
    return str(path)


def run(*args: str) -> str:
    result = runner.invoke(app, ["explain", *args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def told(*args: str) -> Any:
    return orjson.loads(run(*args, "--json"))


def widest(said: str, columns: str) -> int:
    """Return how wide the output may be in a pipe: a note may be longer, and a path is not broken."""
    return max(int(columns), 90, 16 + max(map(len, said.split())))


@pytest.mark.parametrize("columns", ["80", "160"])
def test_the_text_output(store: str, copy: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = run(SECOND, "--store", store, "--file", copy)
    assert "duplicate, dropped: near-duplicate" in said
    for part in ("The pair", "Results of the detectors", "What would change the verdict", "Cluster", "threshold"):
        assert part in said
    assert "DEDUP_THRESHOLD" in said
    assert "0.9294, must be ≥ 0.8" in said
    assert max(map(len, said.splitlines())) <= widest(said, columns)


def test_the_json_output(store: str, copy: str) -> None:
    found = told(SECOND, "--store", store, "--file", copy)
    assert found["verdict"]["of"] == FIRST
    assert found["pair"]["met"] is True
    assert [each["detector"] for each in found["pair"]["assessments"]] == ["exact", "minhash"]
    assert {change["name"] for lever in found["levers"] for change in lever["changes"]} >= {"threshold", "drop"}
    assert found["cluster"]["looked_through"] == 2
    assert told(SECOND, "--store", store, "--file", copy, "--quick")["cluster"]["looked_through"] is None
    sources = {each["name"]: each["source"] for each in found["premises"]}
    assert sources["threshold"] == "default"


@pytest.mark.parametrize("columns", ["80", "160"])
def test_names_and_values_of_siblings(tmp_path: Path, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    pages = {}
    for name in ("Carpenter", "Plumber \x1b[31m"):
        terms = f"<h1>{name}</h1><p>{ENGLISH} Pay 12.50.</p>"
        pages[name] = f"<html><title>{name} | Shop</title><main>{terms}</main></html>"
    url = f"lmdb://{tmp_path}/seen"
    first, second = pages.values()
    with Deduplicator(url, "news") as dedup:
        dedup.add(html=first, url=FIRST)
    for name, text in (("new.html", second), ("old.html", first)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    said = run("https://www.a.example/2", "--store", url, "--file", str(tmp_path / "new.html"))
    assert "unique, kept: sibling" in said
    assert "Names and values" in said
    assert "+ plumber (heading, title)" in said
    assert "+ ? × 1" in said  # of the older page the store has hashes only
    assert "12.50" in said
    assert "Siblings: they differ by names over one text that is about neither." in said
    assert f"With equal names and values the new page would be dropped: identical, of {FIRST}." in " ".join(
        said.split()
    )
    assert "\x1b" not in said
    shown = [line for line in said.splitlines() if not line.startswith("!")]  # a remark may be longer in a pipe
    assert max(map(len, shown)) <= widest(said, columns)
    found = told("https://www.a.example/2", "--store", url, "--file", str(tmp_path / "new.html"))
    assert found["pair"]["identities"]["siblings"] == "names over one text that is about neither"
    assert {"text": "12.50", "own": False, "places": []} in found["pair"]["identities"]["new"]["values"]


def test_a_record_of_the_store_and_another_page(store: str) -> None:
    found = told(FIRST, "--store", store, "--other", "https://a.example/lamps")
    assert found["origin"] == "a record of the store"
    assert found["record"]["state"] == "committed"
    assert found["record"]["length"] > 100
    assert found["pair"]["new"]["url"] == "https://a.example/lamps"
    assert found["pair"]["met"] is False
    assert "They were never compared" in " ".join(found["remarks"])


def test_a_page_that_is_fetched(store: str, copy: str) -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, directory=str(Path(copy).parent))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/copy.html"
        found = told(url, "--store", store)
        server.shutdown()
    assert found["verdict"]["of"] == FIRST
    assert "fetched" in found["origin"]


@pytest.mark.parametrize(
    "changes",
    [
        {"detectors": {"simhash": {"distance": 5, "text_weight": 2}}},
        {"detectors": ["minhash", "feature_codes"], "threshold": 0.6},
        {"detectors": {"combined": {"all_of": ["shingling", "minhash"]}}, "seed": 4},
        {"detectors": ["keywords", "exact"], "fold_chinese": True},
    ],
    ids=str,
)
def test_the_configuration_is_read_from_the_store(tmp_path: Path, copy: str, changes: dict[str, Any]) -> None:
    store = filled(tmp_path, **changes)
    found = told(SECOND, "--store", store, "--file", copy)
    with Deduplicator(store, "news", config=Config(**changes)) as dedup:
        names = list(dedup.names)
    assert [each["detector"] for each in found["pair"]["assessments"]] == names


def test_constants_and_where_they_come_from(tmp_path: Path, copy: str) -> None:
    store = filled(tmp_path, detectors={"simhash": {"distance": 12, "blocks": 13}})
    found = told(SECOND, "--store", store, "--file", copy, "--set", "drop=[]")
    sources = {each["name"]: each["source"] for each in found["premises"]}
    assert sources == {"simhash.distance": "store", "min_chars": "default", "drop": "given", "keep": "default"}
    assert found["verdict"]["keep"] is True


def test_the_project_gives_the_other_constants(
    store: str, copy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine.settings\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").touch()
    (tmp_path / "mine" / "settings.py").write_text("DEDUP_NAMESPACE = 'news'\nDEDUP_DROP = ['identical']\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    found = told(SECOND, "--store", store, "--file", copy, "--project")
    assert found["verdict"]["keep"] is True
    assert {each["source"] for each in found["premises"]} == {"project"}


def test_a_store_on_a_server_and_its_password(copy: str) -> None:
    server = Server(next(iter(binaries().values())), password="secret").start()
    try:
        url = f"redis://:secret@127.0.0.1:{server.port}/0"
        with Deduplicator(url, "news") as dedup:
            dedup.add(html=html(ENGLISH), url=FIRST)
        said = run(SECOND, "--store", url, "--file", copy)
        assert "near-duplicate of https://a.example/1" in " ".join(said.split())
        assert "secret" not in said
    finally:
        server.remove()


# -- with a run -------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    path = tmp_path / "report.ledger"
    settings = {"DEDUP_NAMESPACE": '"news"', "DEDUP_THRESHOLD": "0.75", "DEDUP_DETECTORS": '["exact", "minhash"]'}
    about = {"title": "Crawl", "kind": "crawl", "version": "1", "settings": settings}
    with Ledger.create(path, about) as writer:
        copied = Verdict(SECOND, Status.DUPLICATE, keep=False, of=FIRST, cluster="c1")
        writer.add(Entry(SECOND, 5.0, copied, 1000, "Ice", COPY), Outcome.DROPPED)
        first = Verdict(FIRST, Status.UNIQUE, keep=True, cluster="c1")
        writer.add(Entry(FIRST, 4.0, first, 1000, "Ice", ENGLISH), Outcome.KEPT)
        front = Verdict("https://a.example/", Status.UNCHECKED, keep=True, reason="index")
        writer.add(Entry("https://a.example/", 6.0, front, 500), Outcome.KEPT)
    return str(path)


def test_a_page_from_a_ledger(store: str, ledger: str) -> None:
    found = told(SECOND, "--store", store, "--run", ledger)
    assert "the text in the ledger" in found["origin"]
    assert found["verdict"]["relation"] == "near-duplicate"
    assert (found["then"]["outcome"], found["then"]["verdict"]["of"]) == ("dropped", FIRST)
    assert {each["url"]: each["outcome"] for each in found["then"]["cluster"]} == {SECOND: "dropped", FIRST: "kept"}
    assert "2 in the run" in run(SECOND, "--store", store, "--run", ledger)
    sources = {each["name"]: (each["value"], each["source"]) for each in found["premises"]}
    assert sources["threshold"] == (0.75, "run")
    kept = told(FIRST, "--store", store, "--run", ledger)
    assert (kept["origin"], kept["then"]["outcome"]) == ("a record of the store", "kept")


def test_an_unchecked_page_of_a_ledger(store: str, ledger: str) -> None:
    found = told("https://a.example/", "--store", store, "--run", ledger)
    assert (found["verdict"]["reason"], found["record"], found["pair"]) == ("index", None, None)
    assert "unchecked(index), kept" in run("https://a.example/", "--store", store, "--run", ledger)


# -- hostile, and wrong -----------------------------------------------------------------------


def test_control_characters_of_a_page_are_removed(tmp_path: Path) -> None:
    url = "https://a.example/[red]\x1b[2J\u202e"
    store = f"lmdb://{tmp_path}/seen"
    with Deduplicator(store, "news", config=Config(detectors=["feature_code", "keywords"])) as dedup:
        dedup.add(text=ENGLISH.replace("white", "\x1b[31mwhite [bold]"), url=url)
        dedup.add(text=COPY, url="https://b.example/")
    said = run(url, "--store", store)
    assert "\x1b[2J" not in said
    assert "\u202e" not in said
    assert "[red]" in said


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--other", FIRST), "another page than the one"),
        (("--set", "threshold=7"), "threshold = 7"),
        (("--set", "minhash.slots=64"), "minhash.slots is 128 there, 64 here"),
        (("--detector", "simhash"), "another configuration"),
        (("--namespace", "sport"), "no namespace 'sport'"),
        (("--run", "nowhere.ledger"), "nowhere.ledger"),
        (("--file", "nowhere.html"), "nowhere.html"),
    ],
)
def test_an_error_is_one_sentence(
    store: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    expected: str,
) -> None:
    assert expected in complaint(monkeypatch, capsys, "explain", FIRST, "--store", store, *args)


def test_a_page_that_is_nowhere(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(monkeypatch, capsys, "explain", "nowhere.html", "--store", store)
    assert "The store does not hold nowhere.html" in said
    assert "--file gives its HTML" in said


def test_of_several_namespaces_one_is_named(
    tmp_path: Path, copy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path, "sport")
    store = filled(tmp_path, "news")
    assert "'news', 'sport'" in complaint(monkeypatch, capsys, "explain", FIRST, "--store", store)
    found = told(SECOND, "--store", store, "--namespace", "sport", "--file", copy)
    assert found["verdict"]["of"] == FIRST


def test_what_the_site_repeats_is_named_and_the_page_is_judged_without_it(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/blog"
    with Deduplicator(url) as dedup:
        crawl([post.on() for post in POSTS[:10]], dedup)
    file = tmp_path / "page.html"
    address, text = POSTS[12].on()
    file.write_text(text, "utf-8")
    found = told(address, "--store", url, "--file", str(file))
    named = [each for each in found["remarks"] if each.startswith("Not compared, as it is on 10 pages of this site: ")]
    assert len(named) == LIFE.count("<p>")
    about, text = ABOUT
    file.write_text(text, "utf-8")
    assert told(about, "--store", url, "--file", str(file))["verdict"]["reason"] == "template"
    said = told(about, "--store", url, "--file", str(file), "--set", "site_memory=False")
    assert said["verdict"]["status"] == "unique"


def test_that_too_little_would_be_left_is_said(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/blog"
    with Deduplicator(url) as dedup:
        crawl([post.on() for post in POSTS[:10]], dedup)
    file = tmp_path / "page.html"
    address, text = replace(POSTS[12], paragraphs=1).on()
    file.write_text(text, "utf-8")
    remarks = told(address, "--store", url, "--file", str(file))["remarks"]
    assert "All text is compared, as little would be left without what this site repeats." in remarks


@pytest.mark.parametrize(
    ("shared", "position"), [(slice(None, 8), "beginning"), (slice(6, 10), "middle"), (slice(-8, None), "end")]
)
def test_it_says_where_the_common_part_is(store: str, tmp_path: Path, shared: slice, position: str) -> None:
    """From the texts of both pages; a store has no texts, so of its pages only the layout is known."""
    sentences = [f"Sentence {number} tells of the ferry and of its {number * 7} guests" for number in range(16)]
    whole, part = tmp_path / "whole.html", tmp_path / "part.html"
    whole.write_text(html(". ".join(sentences)), "utf-8")
    part.write_text(html(". ".join(sentences[shared])), "utf-8")
    told = run(f"https://c.example/{position}", "--store", store, "--file", str(part), "--other", str(whole))
    assert f"common part    {position}" in told
    pair = orjson.loads(run(FIRST, "--store", store, "--file", str(part), "--other", str(whole), "--json"))["pair"]
    assert (pair["position"], pair["layout"]) == (position, "same")
    assert "common part" not in run(FIRST, "--store", store)
