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
    from collections.abc import Collection, Iterator
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
_ANY = ("minor", "moderate", *_GRAVE)
#: Two frames start what moves after a change; each movement ends, or is replaced by another.
_AT_REST = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  while (document.getAnimations().length) {
    await Promise.allSettled(document.getAnimations().map((each) => each.finished));
  }
}"""
#: Contrast is most of the work of axe, and depends on how a text is painted: on the font, and on tags, classes and
#: computed colours from its element up to the root. Of the elements with equal paint one is checked, on the first page
#: that has them. If axe cannot judge that one, as when it is covered, all of them are checked.
_CONTRAST = """async (passed) => {
  const done = new Set(passed), paints = new Map(), elements = new Map();
  const hash = (text) => {  // 64 bits
    let [a, b] = [0xdeadbeef, 0x41c6ce57];
    for (let i = 0; i < text.length; i++) {
      a = Math.imul(a ^ text.charCodeAt(i), 2654435761);
      b = Math.imul(b ^ text.charCodeAt(i), 1597334677);
    }
    return `${(a ^ (b >>> 15)) >>> 0} ${(b ^ (a >>> 13)) >>> 0}`;
  };
  const filled = (element, part) => {
    const css = getComputedStyle(element, part);
    return css.content === 'none' ? '' : [css.backgroundColor, css.backgroundImage, css.position];
  };
  const paint = (element) => {
    if (!element) return '';
    if (!paints.has(element)) {
      const css = getComputedStyle(element);
      const own = [
        element.nodeName, element.getAttribute('class'), element.getAttribute('type'), element.matches(':disabled'),
        css.color, css.fill, css.backgroundColor, css.backgroundImage, css.opacity, css.filter, css.mixBlendMode,
        css.textShadow, css.fontSize, css.fontWeight, css.position, css.zIndex,
        filled(element, '::before'), filled(element, '::after'),
      ];
      const above = element.assignedSlot || element.parentElement || element.getRootNode().host;
      paints.set(element, hash([...own, paint(above)].join('|')));
    }
    return paints.get(element);
  };
  const visit = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) visit(element.shadowRoot);
      const text = [...element.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
      if ((!text && !element.matches('input, select, textarea')) || !element.checkVisibility()) continue;
      const key = paint(element);
      if (!done.has(key)) elements.set(key, [...(elements.get(key) || []), element]);
    }
  };
  const check = async (include) => {
    if (!include.length) return [];
    const options = {runOnly: ['color-contrast'], resultTypes: ['violations', 'passes'], elementRef: true};
    const {passes, violations} = await axe.run({include}, options);
    for (const {element, any: [{data}]} of passes.flatMap((each) => each.nodes)) {
      if (data.contrastRatio && !data.messageKey) done.add(paint(element));  // with a key it was not judged
    }
    return violations.map((each) => ({...each, nodes: each.nodes.map(({html}) => ({html}))}));
  };
  visit(document);
  const one = await check([...elements.values()].map((each) => each[0]));
  const rest = await check([...elements].flatMap(([key, each]) => done.has(key) ? [] : each.slice(1)));
  return {violations: [...one, ...rest], passed: [...done]};
}"""
#: Costly rules whose violations are moderate or minor to axe, so never grave.
MILD = ("aria-allowed-role", "region")
_OTHER_RULES = """async (without) => {
  const rules = Object.fromEntries(without.map((each) => [each, {enabled: false}]));
  return (await axe.run({resultTypes: ['violations'], rules})).violations;
}"""
#: The other rule that depends on colours.
_LINKS = "axe.run({resultTypes: ['violations'], runOnly: ['link-in-text-block']})"
_closing = ExitStack()
_readable: set[str] = set()  #: paints whose contrast has passed


@dataclass
class Tab:
    """A page in the browser, and what went wrong or over the network while it was open."""

    page: Page
    errors: list[str] = field(default_factory=list)  #: of the console, and exceptions of scripts
    requests: list[str] = field(default_factory=list)  #: all but the documents that were opened by hand
    opened: set[str] = field(default_factory=set)

    def open(self, where: Path | str) -> None:
        """Open a file or a URL, and wait until it is loaded."""
        url = where if isinstance(where, str) else where.resolve().as_uri()
        self.opened.add(url)
        self.page.goto(url)

    def listen(self) -> None:
        """Note what goes wrong from here on."""
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda asked: self.note(asked.url))

    def resize(self, size: tuple[int, int]) -> None:
        """Use this screen size, in CSS pixels, from here on; return when all that moves has come to rest."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.rest()

    def rest(self) -> None:
        """Return when all that moves has come to rest."""
        self.page.evaluate(_AT_REST)

    def grave(self) -> list[str]:
        """Return the violations that axe calls serious or critical.

        The contrast of what is painted as something that passed before is not checked again.
        """
        self.load_axe()
        return [*_shown(self.page.evaluate(_OTHER_RULES, ["color-contrast", *MILD])), *self.contrasts()]

    def violations(self) -> list[str]:
        """Return the violations of any impact, of all rules that axe runs by default; contrast as in :meth:`grave`."""
        self.load_axe()
        found = self.page.evaluate(_OTHER_RULES, ["color-contrast"])
        return [*_shown(found, _ANY), *self.contrasts()]

    def unreadable(self) -> list[str]:
        """Return the grave violations of the rules that depend on colours."""
        self.load_axe()
        return [*_shown(self.page.evaluate(_LINKS)["violations"]), *self.contrasts()]

    def contrasts(self) -> list[str]:
        found = self.page.evaluate(_CONTRAST, list(_readable))
        _readable.update(found["passed"])
        return _shown(found["violations"])

    def load_axe(self) -> None:
        """Load axe into the page, unless it is there."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(Axe().axe_script)

    def is_wider_than_screen(self) -> bool:
        """Whether the page as a whole scrolls sideways."""
        wide = self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return bool(wide)

    def note(self, url: str) -> None:
        if url not in self.opened and not url.startswith(("data:", "blob:", "about:")):
            self.requests.append(url)


def _shown(violations: list[dict[str, Any]], impacts: Collection[str] = _GRAVE) -> list[str]:
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}" for each in violations if each["impact"] in impacts
    ]


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
    """Start the browser, which files share that follow each other: a start takes longer than most of their tests."""
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
