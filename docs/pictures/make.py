"""Creates the screenshots of the documentation: ``python docs/pictures/make.py [NAME …]``, with Chromium on the PATH.

The sites of the demo are served and crawled as in the tutorial. The screenshots show the report of that crawl,
and the output of ``dedupcrawl inspect`` for one page.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.sites import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

HERE = Path(__file__).resolve().parent
MOST_BYTES = 150_000
_SIZE = (1280, 900)
_TOP = (1120, 590)  #: what a report says first, for the first screen of the documentation
_BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
_CRAWL = ("DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=0", "DEDUP_REPORT=report.html", "DEDUP_STORE=lmdb://store")


@dataclass(frozen=True)
class Shot:
    """One screenshot."""

    name: str
    file: str  #: in the folder of the crawl
    size: tuple[int, int] = _SIZE
    dark: bool = False
    pair: str = ""  #: text in the pair to open; "": no pair
    press: str = ""  #: label of the button to press
    heading: str = ""  #: heading of the section to scroll to; "": the top
    locale: str = "en-US"  #: language of the browser


SHOTS = (
    Shot("report-top", "report.html", _TOP),
    Shot("report-top-dark", "report.html", _TOP, dark=True),
    Shot("report-top.zh", "report.html", _TOP, locale="zh-CN"),
    Shot("report-top-dark.zh", "report.html", _TOP, dark=True, locale="zh-CN"),
    Shot("report", "report.html"),
    Shot("report-dark", "report.html", dark=True),
    Shot("report-phone", "report.html", size=(390, 844)),
    Shot("report-hosts", "report.html", heading="hosts"),
    Shot("report-pair", "report.html", (1120, 760), pair="Saltmarsh Notes"),
    Shot("report-evidence", "report.html", (1120, 760), pair="Saltmarsh Notes", press="Go to the evidence"),
    Shot("inspect", "inspect.html"),
    Shot("inspect-phone", "inspect.html", size=(390, 844)),
    Shot("report.zh", "report.html", locale="zh-CN"),
    Shot("report-dark.zh", "report.html", dark=True, locale="zh-CN"),
    Shot("report-phone.zh", "report.html", size=(390, 844), locale="zh-CN"),
    Shot("report-pair.zh", "report.html", (1120, 760), pair="斗岳头条", locale="zh-CN"),
    Shot("report-evidence.zh", "report.html", (1120, 760), pair="斗岳头条", press="查看依据", locale="zh-CN"),
    Shot("report-hosts.zh", "report.html", heading="hosts", locale="zh-CN"),
    Shot("inspect.zh", "inspect-zh.html", (1120, 760), locale="zh-CN"),
    Shot("inspect-phone.zh", "inspect-zh.html", size=(390, 844), locale="zh-CN"),
)


def main() -> None:
    """Create the screenshots that are named, or all."""
    asked = _asked()
    with tempfile.TemporaryDirectory() as folder, crawled(Path(folder)), browser() as chromium:
        for shot in asked:
            keep(shot, photograph(chromium, shot, Path(folder) / shot.file))


def _asked() -> list[Shot]:
    """Return the screenshots that the command line names; exit if they cannot be made."""
    parser = argparse.ArgumentParser(description="Create the screenshots of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="screenshots to create; none: all")
    names = set(parser.parse_args().names)
    unknown = names - {shot.name for shot in SHOTS}
    if unknown:
        parser.error(f"there is no screenshot {min(unknown)}")
    if not subprocess.run(["fc-list", ":lang=zh"], check=True, capture_output=True).stdout:  # noqa: S607
        parser.error("there is no font with Chinese characters, such as fonts-noto-cjk of Debian")
    return [shot for shot in SHOTS if not names or shot.name in names]


@contextmanager
def crawled(folder: Path) -> Iterator[None]:
    """Crawl the sites of the demo in a folder."""
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = dedupcrawl.settings\n", "utf-8")
    with serve(load_content()) as origins:
        starts = ",".join(f"{origin}/" for origin in origins.values())
        settings = [part for each in _CRAWL for part in ("-s", each)]
        _run(folder, ["scrapy", "crawl", "site", "-a", f"url={starts}", *settings])
        page = f"{origins['harbour']}/2024/03/12/night-ferry"
        _run(folder, ["dedupcrawl.cli", "inspect", page, "-o", "inspect.html"])
        chinese = f"{origins['shuiyuan']}/NewsShow.aspx?id=315"
        _run(folder, ["dedupcrawl.cli", "inspect", chinese, "-o", "inspect-zh.html"])
        yield


def _run(folder: Path, command: Sequence[str]) -> None:
    module, *rest = command
    start = [sys.executable, "-m", module] if module == "scrapy" else [sys.executable, "-c", _MAIN]
    subprocess.run([*start, *rest], cwd=folder, check=True, capture_output=True)  # noqa: S603  # our own commands


_MAIN = "from dedupcrawl.cli import main; main()"


@contextmanager
def browser() -> Iterator[Browser]:
    """Start the Chromium of this machine."""
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, _BROWSERS)), None)
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield chromium
        finally:
            chromium.close()


def photograph(chromium: Browser, shot: Shot, path: Path) -> bytes:
    """Open a page, and return what is seen of it as PNG."""
    context = chromium.new_context(
        viewport={"width": shot.size[0], "height": shot.size[1]},
        color_scheme="dark" if shot.dark else "light",
        locale=shot.locale,
    )
    page = context.new_page()
    page.goto(path.as_uri())
    if shot.pair:
        _open_pair(page, shot.pair)
    if shot.heading:
        page.goto(f"{path.as_uri()}#{shot.heading}")
    if shot.press:
        page.get_by_role("button", name=shot.press).click()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    taken = page.screenshot()
    context.close()
    return taken


#: Opens a pair in the empty panel, so that its pages are not those of the pair before.
_OPEN = "number => { document.querySelector('dialog').replaceChildren(); location.hash = `pair-${number}` }"


def _open_pair(page: Page, wanted: str) -> None:
    """Go through the pairs to the first in which something stands."""
    for number in range(100):
        page.evaluate(_OPEN, number)
        page.locator("dialog[open] .sides").wait_for()
        if wanted in page.locator("dialog, [role=dialog]").first.inner_text():
            return
    raise ValueError(f"there is no pair with {wanted!r}")


def keep(shot: Shot, taken: bytes) -> None:
    """Write a picture, small enough for a repository."""
    path = HERE / f"{shot.name}.webp"
    Image.open(io.BytesIO(taken)).convert("RGB").save(path, "WEBP", quality=78, method=6)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, more than {MOST_BYTES}")


if __name__ == "__main__":
    main()
