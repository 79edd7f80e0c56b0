"""Measured figures within the sentences and tables of the documentation, and a search for those that are not measured.

A page names a figure in a comment, which readers do not see: ``<!--lmdb-->570<!--/--> bytes``. ``figures.toml`` has an
expression for each name, over the results in ``benchmarks/measured``; :mod:`docs.making.measured` writes the value
between the comments. The file also lists, with a reason, the figures with a unit that no benchmark measures, such as
limits and constants. So :func:`hand_written` finds the others, and a test lets no page have any.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name("figures.toml")
_marked = re.compile(r"<!--([a-z][\w-]*)-->([^<>\n]*)<!--/-->")
_blocks = re.compile(r"^( *)```.*?^\1```|<!-- measured: .*?<!-- end of measured -->", re.DOTALL | re.MULTILINE)
_code = re.compile(r"`[^`\n]*`")
_link_target = re.compile(r"\]\([^)\s]*\)|<https?:[^>]*>")
#: Units by what pages call them, in both languages.
UNITS = {
    "µs": "µs", "微秒": "µs", "ms": "ms", "毫秒": "ms", "milliseconds": "ms",
    "s": "s", "second": "s", "seconds": "s", "秒": "s", "秒钟": "s",
    "minute": "min", "minutes": "min", "分钟": "min", "hours": "h", "core hours": "h", "小时": "h",
    "bytes": "bytes", "byte": "bytes", "字节": "bytes", "kB": "kB", "MB": "MB", "GB": "GB", "TB": "TB",
    "KiB": "KiB", "MiB": "MiB", "GiB": "GiB", "Mbit/s": "Mbit/s",
    "%": "%", "×": "times", "times": "times", "倍": "times",
}  # fmt: skip
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_JOINED = r"\s*(?:to|and|or|–|-|,|到|和|或|、|至)\s*"
_units = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_figure = re.compile(rf"(?<![\w.^])({_NUMBER}(?:{_JOINED}{_NUMBER})*)\s*({_units})(?![A-Za-z])")


@dataclass(frozen=True)
class Figure:
    """A figure with a unit, as a page has it."""

    number: str  #: without commas
    unit: str  #: a value of :data:`UNITS`
    line: int  #: of the page, from 1

    def __str__(self) -> str:
        return f"{self.number} {self.unit}"


@dataclass(frozen=True)
class Stated:
    """Figures of a page that no benchmark measures."""

    pages: frozenset[str]  #: paths below the root, those of English pages; a translation counts as its original
    figures: frozenset[str]
    reason: str


@cache
def listed() -> tuple[Mapping[str, str], tuple[Stated, ...]]:
    """Return the expressions of measured figures by name, and the figures that are not measured."""
    found = tomllib.loads(LISTED.read_text("utf-8"))
    stated = [Stated(frozenset(each["pages"]), frozenset(each["figures"]), each["reason"]) for each in found["stated"]]
    return found["measured"], tuple(stated)


def pages() -> list[Path]:
    """Return the pages whose figures are measured: both READMEs and the documentation."""
    return [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md"))]


def original(page: Path) -> str:
    """Return the path of an English page, or of that which a page translates."""
    path = page.relative_to(ROOT).as_posix()
    return path.replace("docs/zh/", "docs/").replace(".zh-CN.md", ".md")


def names(text: str) -> list[str]:
    """Return the names of the measured figures of a page."""
    return [found[1] for found in _marked.finditer(text)]


def filled(text: str, values: Callable[[str], str]) -> str:
    """Return a page with the present value of each figure that it names.

    Args:
        text: of the page.
        values: the name of a figure → its value.
    """
    return _marked.sub(lambda found: f"<!--{found[1]}-->{values(found[1])}<!--/-->", text)


def figures(text: str) -> Iterator[Figure]:
    """Yield the figures with a unit in a page, except those in code, in measured blocks and between comments."""
    for pattern in (_blocks, _marked, _code, _link_target):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n") + "…", text)
    for number, line in enumerate(text.replace("**", "").split("\n"), 1):
        for found in _figure.finditer(line):
            for each in re.findall(_NUMBER, found[1]):
                yield Figure(each.replace(",", ""), UNITS[found[2]], number)


def hand_written(page: Path) -> list[Figure]:
    """Return the figures of a page that are neither measured nor listed."""
    path = original(page)
    known = {figure for each in listed()[1] if path in each.pages for figure in each.figures}
    return [each for each in figures(page.read_text("utf-8")) if str(each) not in known]


def used(stated: Stated) -> set[str]:
    """Return those of the listed figures that a page has."""
    return {
        str(each)
        for page in pages()
        if original(page) in stated.pages
        for each in figures(page.read_text("utf-8"))
        if str(each) in stated.figures
    }
