"""The documentation as a site: it builds without a warning, makes no requests to other hosts, and is readable."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from docs.making.site import broken_links, chinese, english
from tests.browser import DESKTOP, PHONE, browsing
from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser import Tab

PAGES = (
    "index.html",
    "tutorial.html",
    "how-it-decides.html",
    "your-site.html",
    "settings.html",
    "methods.html",
    "troubleshooting.html",
    "claims.html",
)
SCHEMES = "[data-md-component=palette] label"  #: the button for the other colour scheme
#: Words that a reader types, and the pages that must be among the first results.
FOUND = {
    "": {
        "csv": "crawling.html",
        "reset": "developing.html",
        "overwrite": "developing.html",
        "pagination": "your-site.html",
        "javascript": "your-site.html",
        "scrapyd": "shared.html",
        "DEDUP_TTL": "settings-state.html#dedup_ttl",
    },
    "zh/": {
        "近似重复": "methods-minhash.html",
        "特征码": "methods-chinese.html",
        "布隆过滤器": "your-site.html",
        "链接密度": "methods-reading.html",
        "覆盖": "developing.html",
        "重置": "developing.html",
        "命名空间": "settings-state.html#dedup_namespace",
        "翻页": "your-site.html",
        "csv": "crawling.html",
        "DEDUP_TTL": "settings-state.html#dedup_ttl",
    },
}


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "docs" / "making" / "site.py"), "--site-dir", str(site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


@pytest.fixture(scope="module")
def origin(built: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(built)))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_every_page_of_the_documentation_is_there_in_both_languages(built: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    for site in (built, built / "zh"):
        assert {path.stem for path in site.glob("*.html")} - {"404"} == pages
    assert [path for path in built.rglob("*") if path.suffix in {".py", ".yml"} or path.name == "making"] == []


def test_every_page_is_in_the_navigation_of_both_languages_once() -> None:
    for config in (english(), chinese()):
        pages = re.findall(r"[\w-]+\.md", str(config["nav"]))
        assert sorted(pages) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    titles = re.findall(r"'([^']+)': ", str(chinese()["nav"]))
    assert [title for title in titles if not re.search("[\u4e00-\u9fff]", title)] == []


@pytest.mark.parametrize(("here", "there", "name"), [("", "zh", "中文"), ("zh", "", "English")])
def test_every_page_links_to_itself_in_the_other_language(built: Path, here: str, there: str, name: str) -> None:
    for path in (built / here).glob("*.html"):
        tree = html.parse(str(path), html.HTMLParser(encoding="utf-8"))
        (link,) = tree.xpath("//a[contains(@class, 'other-language')]")
        assert tree.getroot().get("lang") == (here or "en")
        assert (link.text, link.get("hreflang")) == (name, there or "en")
        if path.name != "404.html":
            assert (path.parent / link.get("href")).resolve() == (built / there / path.name).resolve()


@pytest.mark.parametrize(
    ("site", "header", "search", "missing"),
    [("", "Header", "Search", "404: there is no such page"), ("zh", "页眉", "搜索", "404：没有这个页面")],
)
def test_words_of_the_templates_are_in_the_language_of_the_site(
    built: Path, site: str, header: str, search: str, missing: str
) -> None:
    tree = html.parse(str(built / site / "404.html"), html.HTMLParser(encoding="utf-8"))
    assert tree.xpath("//h1/text()") == [missing]
    assert tree.xpath("//*[@data-md-component='search']/@aria-label") == [search]
    assert [each.strip() for each in tree.xpath("//button[@class='md-search__button']/text()")] == [search]
    assert tree.xpath("//header/nav/@aria-label") == [header], "other words are those of Zensical"


@pytest.mark.parametrize("link", ["gone.html", "index.html#gone", "#gone", "pictures/gone.webp"])
def test_a_broken_link_is_reported(tmp_path: Path, link: str) -> None:
    (tmp_path / "index.html").write_text(
        '<a href="https://a.example/">a</a><p id="here"><a href="#here">b</a>', "utf-8"
    )
    assert list(broken_links(tmp_path)) == []
    (tmp_path / "other.html").write_text(f'<a href="index.html#here">a</a><a href="{link}">b</a>', "utf-8")
    assert list(broken_links(tmp_path)) == [f"other.html: {link}"]


@pytest.mark.parametrize("language", FOUND)
def test_pages_ask_nothing_of_other_hosts_fit_the_screen_and_can_be_read_by_all(origin: str, language: str) -> None:
    with browsing() as tab:
        for page in PAGES:
            tab.resize(DESKTOP)
            tab.open(f"{origin}/{language}{page}")
            for size in (DESKTOP, PHONE):  # a page is loaded once: that takes as long as its checks
                tab.resize(size)
                assert not tab.is_wider_than_screen(), (page, size)
                assert (scheme_of(tab), tab.grave()) == ("default", []), (page, size)
                switch(tab, "slate")
                assert tab.unreadable() == [], (page, size)
                assert not tab.is_wider_than_screen(), (page, size)
                switch(tab, "default")
        assert [url for url in tab.requests if not url.startswith(f"{origin}/")] == []
        assert tab.errors == []


@pytest.mark.parametrize("language", FOUND)
def test_axe_finds_nothing_of_any_impact(origin: str, language: str) -> None:
    """Colours are checked above, in both schemes."""
    with browsing() as tab:
        for page in (*PAGES, "batch.html", "report.html"):  # cells without text, pictures
            tab.open(f"{origin}/{language}{page}")
            for size in (DESKTOP, PHONE):
                tab.resize(size)
                assert tab.violations() == [], (page, size)


@pytest.mark.parametrize("language", FOUND)
def test_a_page_that_is_opened_in_the_dark_is_dark(origin: str, language: str) -> None:
    with browsing(dark=True) as tab:
        tab.open(f"{origin}/{language}{PAGES[0]}")
        assert (scheme_of(tab), tab.grave()) == ("slate", [])
        assert [url for url in tab.requests if not url.startswith(f"{origin}/")] == []
        assert tab.errors == []


@pytest.mark.parametrize("language", FOUND)
def test_a_link_to_an_entry_of_an_overview_opens_its_section(origin: str, language: str) -> None:
    with browsing() as tab:
        for entry, section in [("settings.html#dedup_ttl", "settings-state.html#dedup_ttl"),
                               ("methods.html#detectors", "methods-measured.html#detectors-compared")]:  # fmt: skip
            tab.page.goto(f"{origin}/{language}{entry}")
            tab.page.wait_for_url(f"{origin}/{language}{section}")
        tab.page.goto(f"{origin}/{language}settings.html#requests")
        assert tab.page.url.endswith("/settings.html#requests")
        assert tab.errors == []


def scheme_of(tab: Tab) -> Any:
    return tab.page.evaluate("document.body.dataset.mdColorScheme")


def switch(tab: Tab, scheme: str) -> None:
    """Press the button for the other colour scheme, which is this one; return when the page has it."""
    tab.page.locator(SCHEMES).filter(visible=True).first.click()
    tab.page.wait_for_function("scheme => document.body.dataset.mdColorScheme === scheme", arg=scheme)
    tab.rest()


@pytest.fixture(scope="module")
def search_of(origin: str) -> Iterator[Callable[[str], Tab]]:
    """Return a function that returns the open, empty search of a language; loading its index takes longest."""
    opened: dict[str, Tab] = {}

    def empty(language: str) -> Tab:
        if language not in opened:
            opened[language] = stack.enter_context(browsing())
            opened[language].open(f"{origin}/{language}index.html")
            opened[language].page.keyboard.press("/")
        tab = opened[language]
        tab.page.get_by_role("combobox").fill("")
        tab.page.wait_for_function("!document.querySelector('[role=listbox] a')")
        return tab

    with ExitStack() as stack:
        yield empty


@pytest.mark.parametrize(
    ("language", "word", "page"), [(site, *each) for site, words in FOUND.items() for each in words.items()]
)
def test_words_are_found(search_of: Callable[[str], Tab], language: str, word: str, page: str) -> None:
    tab = search_of(language)
    tab.page.get_by_role("combobox").fill(word)
    name, _, anchor = page.partition("#")
    css = f"[role=listbox] a[href*='/{language}{name}?']" + (f"[href$='#{anchor}']" if anchor else "")
    tab.page.locator(css).first.wait_for()
    assert tab.errors == []


def test_the_search_of_the_chinese_site_speaks_chinese(search_of: Callable[[str], Tab]) -> None:
    tab = search_of("zh/")
    field = tab.page.get_by_role("combobox")
    assert field.get_attribute("placeholder") == "搜索"
    field.fill("qqqqqqqq")
    tab.page.get_by_text("没有找到相关内容").wait_for()
