"""The spider ``site`` on a small real server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.http import HtmlResponse, TextResponse

import dedupcrawl
from dedupcrawl.errors import SettingError
from dedupcrawl.page import ReadOptions
from dedupcrawl.spiders.site import SitePage, SiteSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

STORY = (
    "The lamplighter of Cray retired on Friday after thirty-three years in which, by his own count, he had "
    "climbed the distance to the moon and a little further, mostly in the rain."
)
FRONT = """<title>Front</title><ul>
<li><a href='/a.html#top'>A story about a lamplighter</a>
<li><a href='/b.html'>Another story</a>
<li><a href='http://elsewhere.invalid/'>Elsewhere</a>
<li><a href='/paper.pdf'>Paper</a></ul>"""
PAGES = {
    "/": FRONT,
    "/a.html": "<title>A story</title><link rel=author href='/x.html'>"
    f"<html lang=en><h1>A story</h1><p>{STORY}</p><a href='/'>Home</a>",
    "/b.html": "<title>Another</title><link rel=author href='/gone.html'>"
    f"<h1>Another</h1><p>{STORY[::-1]}</p><a href='/a.html'>A story</a>",
}

AUTHOR = f"<title>X</title><h1>X</h1><p>The author of this paper is nobody. {STORY}</p>"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = {**PAGES, "/x.html": AUTHOR}.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write((body or "").encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def crawl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = dedupcrawl.settings\n")
    hurry = ("-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=0")
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", "site", *arguments, *hurry],
        cwd=folder,
        env={"no_proxy": "127.0.0.1", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(dedupcrawl.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def items(file: Path) -> dict[str, dict[str, Any]]:
    return {row["url"]: row for row in map(json.loads, file.read_text().splitlines())}


def test_a_crawl_yields_every_page_of_the_host_once(origin: str, tmp_path: Path) -> None:
    done = crawl(tmp_path, "-a", f"url={origin}/", "-O", "out.jsonl")
    assert done.returncode == 0, done.stderr
    found = items(tmp_path / "out.jsonl")
    assert found.keys() == {origin + path for path in PAGES}
    story = found[origin + "/a.html"]
    assert STORY in story["text"]
    assert story["title"] == "A story"
    assert story["site"] == origin.removeprefix("http://")
    assert story["kind"] == "article"
    assert found[origin + "/"]["kind"] == "index"
    assert [page["dedup"] for page in found.values()] == [None] * len(PAGES)
    assert "'dedup/unchecked/index': 1" in done.stderr
    assert "'offsite/filtered': 1" in done.stderr
    assert f"'downloader/request_count': {len(PAGES) + 1}" in done.stderr  # and robots.txt
    assert "WARNING" not in done.stderr
    assert "ERROR" not in done.stderr


def test_items_are_completed_on_the_page_of_their_author_if_there_is_one(origin: str, tmp_path: Path) -> None:
    done = crawl(tmp_path, "-a", f"url={origin}/", "-a", "authors=1", "-O", "out.jsonl")
    found = items(tmp_path / "out.jsonl")
    assert found.keys() == {origin + path for path in PAGES}, done.stderr
    assert found[origin + "/a.html"]["author"].startswith("The author of this paper is nobody.")
    assert [found[origin + path]["author"] for path in ("/", "/b.html")] == ["", ""]
    assert all(STORY in found[origin + "/a.html"][name] for name in ("text", "author"))
    assert "'dedup/items_of_other_pages': 2" in done.stderr
    assert "'dedup/checked': 2" in done.stderr


def test_whether_authors_are_followed_is_one_or_zero() -> None:
    with pytest.raises(SettingError, match=r"authors = 'yes' is not accepted"):
        SiteSpider(url="https://example.com", authors="yes")


def test_a_missing_url_is_reported_in_one_sentence(tmp_path: Path) -> None:
    done = crawl(tmp_path)
    assert done.returncode != 0
    assert "url = '' is not accepted: one or more addresses" in done.stderr


@pytest.mark.parametrize("url", ["", " , ", "example.com", "ftp://example.com", "http://", "http://[::1", "https:///x"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SettingError, match=r"url = .* is not accepted: one or more addresses"):
        SiteSpider(url=url)


def test_hosts_come_from_the_addresses() -> None:
    spider = SiteSpider(url="https://www.example.com/news, http://127.0.0.1:8080/")
    assert spider.starts == ("https://www.example.com/news", "http://127.0.0.1:8080/")
    assert spider.allowed_domains == ["127.0.0.1", "example.com"]


def parsed(response: TextResponse) -> tuple[list[SitePage], list[str]]:
    results = list(SiteSpider(url="https://example.com").parse(response))
    pages = [result for result in results if isinstance(result, SitePage)]
    return pages, [result.url for result in results if not isinstance(result, SitePage)]


def test_links_to_pages_are_followed_and_others_are_not() -> None:
    body = (
        b"<a href='/x'>x</a><a href='https://m.example.com/y'>y</a><a href='tel:1'>z</a>"
        b"<a href='mailto:a@example.com'>m</a><a href='/song.mp3'>s</a>"
    )
    _, links = parsed(HtmlResponse("https://www.example.com/", body=body, encoding="utf-8"))
    assert links == ["https://www.example.com/x", "https://m.example.com/y"]


def test_a_page_that_is_too_large_to_be_read_is_an_item_all_the_same() -> None:
    body = b"<title>Spaces</title><a href='/x'>x</a>" + b" " * ReadOptions().max_bytes
    pages, links = parsed(HtmlResponse("https://example.com/", body=body, encoding="utf-8"))
    assert [(page.url, page.text, page.kind) for page in pages] == [("https://example.com/", "", "")]
    assert links == ["https://example.com/x"]


def test_what_is_no_html_yields_nothing() -> None:
    assert parsed(TextResponse("https://example.com/data.json", body=b"{}")) == ([], [])
