"""A real browser for the pages that we make: Chromium, driven by Playwright.

Without a browser the tests are skipped, with a warning. ``DEDUPCRAWL_CHROMIUM`` is the path of another Chromium.
"""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

DESKTOP = (1280, 900)
PHONE = (390, 844)
PATIENCE = 600_000  #: milliseconds that anything may take on a busy machine

#: The first is Chromium without its windows and menus: a page of it takes half of the processor time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_GRAVE = ("serious", "critical")
#: Two frames start what moves after a change; each movement ends, or is replaced by another.
_AT_REST = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  while (document.getAnimations().length) {
    await Promise.allSettled(document.getAnimations().map((each) => each.finished));
  }
}"""
_closing = ExitStack()


@dataclass
class Tab:
    """A page in the browser, and what went wrong or over the network while it was open."""

    page: Page
    errors: list[str] = field(default_factory=list)  #: of the console, and exceptions of scripts
    requests: list[str] = field(default_factory=list)  #: all but the documents that were opened by hand
    _opened: set[str] = field(default_factory=set)

    def open(self, where: Path | str) -> None:
        """Open a file or a URL, and wait until it is loaded."""
        url = where if isinstance(where, str) else where.resolve().as_uri()
        self._opened.add(url)
        self.page.goto(url)

    def listen(self) -> None:
        """Note what goes wrong from here on."""
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda asked: self._note(asked.url))

    def resize(self, size: tuple[int, int]) -> None:
        """Use this screen size, in CSS pixels, from here on; return when all that moves has come to rest."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.evaluate(_AT_REST)

    def grave(self) -> list[str]:
        """Return the violations that axe calls serious or critical."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(Axe().axe_script)
        found: list[dict[str, Any]] = self.page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        return [
            f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in _GRAVE
        ]

    def is_wider_than_screen(self) -> bool:
        """Whether the page as a whole scrolls sideways."""
        wide = self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return bool(wide)

    def _note(self, url: str) -> None:
        if url not in self._opened and not url.startswith(("data:", "blob:", "about:")):
            self.requests.append(url)


@contextmanager
def browsing(size: tuple[int, int] = DESKTOP, *, dark: bool = False, locale: str = "en-US") -> Iterator[Tab]:
    """Give a tab with a profile of its own; ``size`` in CSS pixels; ``locale`` is the language that it asks for."""
    context = _browser().new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light", locale=locale
    )
    context.set_default_timeout(PATIENCE)
    try:
        tab = Tab(context.new_page())
        tab.listen()
        yield tab
    finally:
        context.close()


@cache
def _browser() -> Browser:
    """Start the browser, which all tests of a file share: a start takes longer than most of them."""
    executable = chromium()
    playwright = _closing.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=executable, args=list(_FLAGS))
    _closing.callback(browser.close)
    return browser


def close_browser() -> None:
    """Close the browser, if one is running. Until then no test may run an asyncio loop of its own."""
    _closing.close()
    _browser.cache_clear()


def chromium() -> str:
    """Return the path of a Chromium, or skip the test."""
    named = os.environ.get("DEDUPCRAWL_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        told = "NO CHROMIUM: what a person sees is not tested (apt install chromium, or DEDUPCRAWL_CHROMIUM)"
        warnings.warn(told, stacklevel=2)
        pytest.skip(told)
    return found
