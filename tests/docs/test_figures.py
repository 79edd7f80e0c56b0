"""Every figure with a unit in the documentation is measured, or listed with the reason why it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.making import figures, measured

if TYPE_CHECKING:
    from pathlib import Path

PAGES = pytest.mark.parametrize("page", figures.pages(), ids=lambda page: str(page.relative_to(figures.ROOT)))


@PAGES
def test_no_measured_figure_is_written_by_hand(page: Path) -> None:
    found = [f"line {each.line}: {each}" for each in figures.hand_written(page)]
    assert found == [], "name what measures them, or why nothing does, in docs/making/figures.toml"


@PAGES
def test_measured_figures_are_those_of_the_stored_results(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == measured.renewed(text, measured.PAGES.get(page, "")), "python docs/making/measured.py"


def test_a_figure_with_another_value_is_found() -> None:
    stored = measured.value("lmdb")
    page = f"It takes <!--lmdb-->{stored}<!--/--> bytes."
    wrong = page.replace(stored, "1")
    assert measured.renewed(page) == page
    assert measured.renewed(wrong) == page


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError, match="no_such_figure"):
        measured.renewed("<!--no_such_figure-->1<!--/--> ms")


def test_every_name_is_used() -> None:
    named = {name for page in figures.pages() for name in figures.names(page.read_text("utf-8"))}
    assert set(figures.listed()[0]) - named == set()


@pytest.mark.parametrize("stated", figures.listed()[1], ids=lambda stated: stated.reason[:40])
def test_listed_figures_are_on_their_pages(stated: figures.Stated) -> None:
    assert stated.reason
    assert {path for path in stated.pages if not (figures.ROOT / path).exists()} == set()
    assert stated.figures - figures.used(stated) == set()


def test_no_comment_of_a_figure_begins_a_line() -> None:
    """Markdown takes such a line for HTML, and shows its text as it is."""
    for page in figures.pages():
        for line in page.read_text("utf-8").split("\n"):
            assert not (line.lstrip().startswith("<!--") and figures.names(line)), (page, line)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 570 bytes.", ["570 bytes"]),
        ("1,216 bytes, 0.5 to 1.5 ms and 3 or 4 %", ["1216 bytes", "0.5 ms", "1.5 ms", "3 %", "4 %"]),
        ("每页 40 字节，用 3 毫秒，是 1.5 倍，占 2 %", ["40 bytes", "3 ms", "1.5 times", "2 %"]),
        ("with 10 pages, in 3 workers, `5 ms`, [6 %](x.md#a-7-ms) and **8 s**", ["6 %", "8 s"]),
        ("```\n5 ms\n```\n<!--lmdb-->570<!--/--> bytes", []),
        ("<!-- measured: made -->\n5 ms\n<!-- end of measured -->\n7 ms", ["7 ms"]),
    ],
)
def test_figures_with_a_unit_are_found(text: str, found: list[str]) -> None:
    assert [str(each) for each in figures.figures(text)] == found


@given(st.integers(0, 10**7), st.sampled_from(sorted(figures.UNITS)))
def test_a_figure_of_any_unit_is_found_in_its_line(number: int, unit: str) -> None:
    [found] = figures.figures(f"One.\n\nIt takes {number:,} {unit}.")
    assert (found.number, found.unit, found.line) == (str(number), figures.UNITS[unit], 3)
