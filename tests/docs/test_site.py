"""The documentation as a site: it builds without a warning, makes no requests to other hosts, and is readable."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.browser import DESKTOP, PHONE, browsing
from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = ("index.html", "tutorial.html", "how-it-decides.html", "settings.html", "troubleshooting.html")


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return site


@pytest.fixture(scope="module")
def origin(built: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(built)))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_every_page_of_the_documentation_is_there(built: Path) -> None:
    made = {path.stem for path in built.glob("*.html")} - {"404"}
    assert made == {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert list(built.rglob("*.py")) == []


@pytest.mark.parametrize(("size", "dark"), [(DESKTOP, False), (DESKTOP, True), (PHONE, False), (PHONE, True)])
def test_pages_ask_nothing_of_other_hosts_fit_the_screen_and_can_be_read_by_all(
    origin: str, size: tuple[int, int], dark: bool
) -> None:
    with browsing(size, dark=dark) as tab:
        for page in PAGES:
            tab.open(f"{origin}/{page}")
            assert not tab.is_wider_than_screen(), page
            assert tab.grave() == [], page
        assert [url for url in tab.requests if not url.startswith(f"{origin}/")] == []
        assert tab.errors == []


def test_a_setting_is_found_by_its_name(origin: str) -> None:
    with browsing() as tab:
        tab.open(f"{origin}/index.html")
        tab.page.keyboard.press("/")
        tab.page.keyboard.type("DEDUP_TTL", delay=20)
        tab.page.locator(".md-search-result__link[href*='settings.html'][href$='#dedup_ttl']").first.wait_for()
        assert tab.errors == []
