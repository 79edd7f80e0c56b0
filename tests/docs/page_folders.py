"""The files in the folder of a page before its blocks run."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from tests.crawl.site import fancy, plain, text
from tests.docs.newspapers import ICE, PAGES, REPRINT
from tests.page.samples import CHINESE, CHINESE_TWO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EMPTY = ("tutorial.md",)  #: pages that start in an empty folder

_FILES = {
    "scrapy.cfg": "[settings]\ndefault = news.settings\n",
    "news/__init__.py": "",
    "news/settings.py": (
        'BOT_NAME = "news"\n'
        'SPIDER_MODULES = ["news.spiders", "dedupcrawl.spiders"]\n'
        "TELNETCONSOLE_ENABLED = False\n"
        "CONCURRENT_REQUESTS = 1\n"
        'SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"\n'
        'ADDONS = {"dedupcrawl.Addon": 500}\n'
    ),
    "news/spiders/__init__.py": "",
    "news/spiders/news.py": (
        "import scrapy\n\n\n"
        "class NewsSpider(scrapy.Spider):\n"
        '    name = "news"\n'
        "    start_urls = [\n"
        '        "https://a.example/1",\n'
        '        "https://a.example/page",\n'
        '        "https://b.example/2",\n'
        '        "https://c.example/3",\n'
        "    ]\n\n"
        "    def parse(self, response):\n"
        '        yield {"url": response.url, "dedup": None}\n'
    ),
    "myproject/__init__.py": "",
    "myproject/readers.py": "def read(html, url):\n    return html\n",
    "pythainlp.py": "def word_tokenize(text):\n    return list(text)\n",
    "texts/one.txt": "ฝนตกหนักมาก น้ำท่วมถนนสายหลัก\n",
    "texts/two.txt": "น้ำท่วมถนนสายหลัก รถติดทั้งเมือง\n",
    "page.html": PAGES["a.example/1"],
    "other.html": PAGES["b.example/2"],
}


def write_files(folder: Path, here: Callable[[str], str]) -> None:
    """Create a project that crawls the newspapers, and some of their pages.

    here: replaces the addresses of the newspapers with the real ones.
    """
    for name, content in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(here(content) if path.suffix == ".py" else content, "utf-8")
    _lines(folder / "crawl-1.jsonl", [_row("a.example/1"), _row("a.example/page"), _row("b.example/2")])
    _lines(folder / "crawl-2.jsonl", [_row("c.example/3"), _row("example.com")])
    _lines(folder / "feed.jsonl", [{"url": f"https://th.example/{n}", "text": "ฝนตกหนักมาก " * n} for n in range(1, 5)])
    (folder / "pages.jsonl.gz").write_bytes(gzip.compress(_json(_labelled()).encode()))
    _marked(folder / "labelled")


def _row(address: str) -> dict[str, object]:
    return {"url": f"https://{address}", "html": PAGES[address], "time": "2026-05-01T08:00:00Z"}


def _labelled() -> list[dict[str, object]]:
    """Label a few pages in the format of ``dedupcrawl eval duplicates``."""
    chinese = CHINESE + CHINESE_TWO
    rows = [
        ("ice", plain("Ice", ICE), "original"),
        ("ice", fancy("Ice", REPRINT), "typos"),
        ("ice", fancy("Ice", ICE), "layout"),
        ("ice-2", plain("Ice", ICE[: len(ICE) // 2]), "excerpt"),
        ("river", plain("河", chinese), "original"),
        ("river", fancy("河", chinese), "layout"),
    ]
    return [
        {"id": str(n), "url": f"https://x.example/{n}", "html": html, "cluster": cluster, "edit": edit}
        for n, (cluster, html, edit) in enumerate(rows)
    ]


def _marked(folder: Path) -> None:
    """Mark the main text of pages in the format of ``dedupcrawl eval pages``."""
    (folder / "html").mkdir(parents=True)
    rows: list[dict[str, object]] = []
    for n in range(3):
        (folder / "html" / f"{n}.html.gz").write_bytes(gzip.compress(plain("Ice", text(n)).encode()))
        rows.append({"id": str(n), "url": f"https://x.example/{n}", "text": text(n)})
    _lines(folder / "truth.jsonl", rows)


def _lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text(_json(rows), "utf-8")


def _json(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
