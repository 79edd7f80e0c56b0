from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dedupcrawl.cli import app
from dedupcrawl.cli.inspect import default_name
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.page import read_page
from dedupcrawl.text.features import compared_text
from tests.cli.errors import complaint
from tests.page.samples import CHINESE, PARAGRAPH, article, links
from tests.sites.kinds import build
from tests.sites.words import Writer

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PAGE = article(f"<nav>{' '.join(links(5))}</nav><p>{CHINESE}</p>", "<meta charset=utf-8>")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flood.html").write_text(PAGE, "utf-8")
    return tmp_path


def run(*args: str) -> Result:
    result = CliRunner().invoke(app, ["inspect", *args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_default_file_name(here: Path) -> None:
    said = run("flood.html").output
    assert "Flood: article, 3 of 4 blocks kept" in said
    assert "written to flood.inspect.html" in said
    html = (here / "flood.inspect.html").read_text("utf-8")
    assert PARAGRAPH in html
    assert "Content-Security-Policy" in html
    assert str(here) not in html


@pytest.mark.parametrize("reader", ["topic", "text", "tests.page.user_readers:echo"])
def test_each_reader(reader: str, here: Path) -> None:
    (here / "flood.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    run("flood.html.gz", "--reader", reader, "-o", "out.html")
    assert f"reader <b>{reader}</b>" in (here / "out.html").read_text("utf-8")


def test_a_constant_can_be_changed(here: Path) -> None:
    some = article(f"<p>{PARAGRAPH[:50]} {links(1)[0]}</p><p>{CHINESE}</p>")
    (here / "flood.html").write_text(some, "utf-8")
    assert "4 of 4 blocks kept" in run("flood.html").output
    assert (
        "3 of 4 blocks kept"
        in run("flood.html", "--set", "link_density_content=0.1", "--set", "link_density_noise=0.1").output
    )


def test_matches_in_a_store_and_with_another_page(here: Path) -> None:
    with Deduplicator("lmdb://store", threshold=0.7) as dedup:
        dedup.add(read_page(PAGE, "https://a.example/first"))
    (here / "other.html").write_text(PAGE.replace("river", "brook"), "utf-8")
    said = run("flood.html", "--against", "lmdb://store", "--other", "other.html").output
    assert "Against the store: Dropped: the same text as https://a.example/first" in said
    assert "Against the other page, which came first: " in said
    with Deduplicator("lmdb://store", threshold=0.7) as dedup:
        assert dedup.info().pages == 1  # nothing was added


def test_the_url_of_a_saved_page(here: Path) -> None:
    with Deduplicator("lmdb://store") as dedup:
        dedup.add(read_page(PAGE, "https://a.example/first"))
    said = run("flood.html", "--against", "lmdb://store", "--url", "https://a.example/first").output
    assert "unchanged since https://a.example/first" in said
    assert (here / "a.example-first.inspect.html").exists()


def test_the_page_is_opened_on_request(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", open_)
    run("flood.html", "--open")
    assert opened == [(here / "flood.inspect.html").as_uri()]


def test_control_characters_of_a_page_are_removed(here: Path) -> None:
    title = "Fl\x1b[31m\x9b2J\u202eood"
    (here / "flood.html").write_text(PAGE.replace("Flood", title), "utf-8")
    with Deduplicator("lmdb://store") as dedup:
        dedup.add(read_page(PAGE, "https://a.example/\x1b[31m"))
    said = run("flood.html", "--against", "lmdb://store").output
    assert "ood: article" in said
    assert "https://a.example/" in said
    assert not {"\x1b", "\x9b", "\u202e"} & set(said)


def test_a_missing_browser_is_reported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    assert "no browser can be opened here; the page is flood.inspect.html" in run("flood.html", "--open").output
    assert (here / "flood.inspect.html").exists()


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("https://a.example/", "a.example.inspect.html"),
        ("https://user:word@a.example:8080/x/新闻.shtml?id=1#top", "a.example-新闻.shtml.inspect.html"),
        ("../pages/a b.htm", "a-b.inspect.html"),
        ("https://a.example/..%2f..%2fetc", "a.example-..-2f..-2fetc.inspect.html"),
        ("/", "page.inspect.html"),
        ("x" * 300, "x" * 80 + ".inspect.html"),
    ],
)
def test_names_are_plain(where: str, name: str) -> None:
    assert default_name(where) == name


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("none.html",), "neither an http(s) URL nor a readable file"),
        (("deep.html",), "unchecked(too-deep)"),
        (("image.html",), "unchecked(binary)"),
        (("flood.html", "--reader", "none"), '"blocks", "topic", "text"'),
        (("flood.html", "--against", "lmdb://none"), "There is no store"),
        (("flood.html", "--against", "lmdb://store", "--namespace", "x"), "has no namespace 'x'"),
        (("flood.html", "--against", "lmdb://two"), "--namespace = None is not accepted: one of 'a', 'b'"),
        (("flood.html", "--against", "lmdb://store", "--reader", "topic"), "with which the store was filled"),
        (("flood.html", "--against", "lmdb://store", "--set", "threshold=0.7"), "minhash.bands is 6 there"),
        (("flood.html", "--against", "lmdb://store", "--set", "minhash.slots=64"), "another configuration"),
        (("flood.html", "--against", "lmdb://store", "--set", "reader=text"), "another configuration"),
        (("flood.html", "--namespace", "a"), "only with --against"),
        (("flood.html", "-o", "no/such/folder.html"), "cannot be written"),
        (("flood.html", "--set", "threshold"), "NAME=VALUE"),
        (("flood.html", "--project"), "scrapy.cfg"),
    ],
)
def test_an_error_is_one_sentence(
    args: tuple[str, ...], said: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "deep.html").write_text("<div>" * 5000)
    (here / "image.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    for url, namespace in (("lmdb://store", "default"), ("lmdb://two", "a"), ("lmdb://two", "b")):
        with Deduplicator(url, namespace) as dedup:
            dedup.add(read_page(PAGE, "https://a.example/first"))
    assert said in complaint(monkeypatch, capsys, "inspect", *args)
    assert not (here / "flood.inspect.html").exists()


# -- the text that is compared ----------------------------------------------------------------------


def test_the_compared_text_can_be_printed(tmp_path: Path) -> None:
    found = next(each for each in build("phpbb").pages if read_page(each.html, each.url).compared is not None)
    file = tmp_path / "thread.html"
    file.write_text(found.html, "utf-8")
    both = read_page(found.html, found.url)
    assert printed("read", str(file)) == flat(both.text)
    assert printed("read", str(file), "--compared") == flat(compared_text(both))
    shown = printed("inspect", str(file), "-o", str(tmp_path / "out.html"))
    assert f"the block model found {len(both.text):,}" in shown


def test_lines_that_the_site_repeats_are_named(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/store"
    life = "<p>The author lives in a mill and keeps five geese.</p>"
    pages = [f"<h1>Story {n}</h1>{Writer('story', 2 * n).story(4)}{life}" for n in range(5)]
    with Deduplicator(url) as dedup:
        for number, html in enumerate(pages):
            assert dedup.add(html=html, url=f"https://blog.example/{number}").keep
    file = tmp_path / "page.html"
    file.write_text(pages[0], "utf-8")
    command = ("inspect", str(file), "--url", "https://blog.example/9", "-o", str(tmp_path / "out.html"))
    shown = printed(*command, "--against", url)
    assert "Not compared, as it is on 5 pages of this site: The author lives in a mill" in shown
    assert "Not compared" not in printed(*command, "--against", url, "--set", "site_memory=False")


def printed(*args: str) -> str:
    result = CliRunner().invoke(app, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return flat(result.output)


def flat(text: str) -> str:
    return " ".join(text.split())
