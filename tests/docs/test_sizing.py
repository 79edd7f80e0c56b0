"""The arithmetic of the sizing page, and of its benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.sizing import CHOICES, DEFAULT, PLANNED, Shape, growth, in_memory, on_disk, record, shapes, total_text
from dedupcrawl.ledger.ledger_schema import LedgerLimits
from dedupcrawl.tools.report.html_report import MAX_PAGE_BYTES
from tests.data import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without its head."""
    text = (ROOT / "docs" / "sizing.md").read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines[1:]]


def test_totals_are_bytes_a_page_times_pages() -> None:
    planned = rows("How much in all")
    assert len(planned) > 4
    for name, a_page, *totals, _ in planned:
        each = int(a_page.replace(",", ""))
        assert totals == [total_text(each, pages) for pages in PLANNED], name


@pytest.mark.parametrize("name", CHOICES)
def test_shapes_are_those_that_the_page_shows(name: str) -> None:
    table = {row[0].replace("`", ""): row for row in rows("Other methods")}
    found = shapes(CHOICES[name], 4)
    assert found
    assert all(each for shape in found for each in shape.sketches), "every detector has a sketch"
    assert float(table[name][1]) == round(sum(each.keys for each in found) / len(found))


def test_bounds_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "sizing.md").read_text("utf-8")
    assert f"{LedgerLimits().pages:,} pages" in text
    assert f"{LedgerLimits().hosts:,} hosts" in text
    assert MAX_PAGE_BYTES < 5_000_000
    assert "5 MB" in text


@given(st.integers(0, 300), st.lists(st.integers(0, 200), max_size=3), st.integers(0, 10**9))
def test_a_record_has_its_shape_and_another_number_is_another_record(
    keys: int, sketches: list[int], number: int
) -> None:
    shape = Shape(keys, tuple(sketches))
    assert Shape.of(record(shape, number)) == shape
    assert record(shape, number) == record(shape, number)
    assert record(shape, number).url != record(shape, number + 1).url


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(0, 10**5), st.integers(1, 10**6))
def test_growth_finds_what_one_more_page_takes(a_page: int, fixed: int, few: int, more: int) -> None:
    small, large = few + 1, few + 1 + more
    found = growth(a_page + fixed / small, small, a_page + fixed / large, large)
    assert found == pytest.approx(a_page, rel=1e-3, abs=1e-3 * (fixed + 1))


@pytest.mark.parametrize(
    ("a_page", "pages", "shown"),
    [(1, 999, "999 B"), (600, 10**6, "600 MB"), (605, 10**8, "60.5 GB"), (2000, 10**9, "2,000 GB")],
)
def test_needed_is_reported_in_the_unit_that_fits(a_page: int, pages: int, shown: str) -> None:
    assert total_text(a_page, pages) == shown


def test_stores_are_filled_and_grow(tmp_path: Path) -> None:
    found = shapes(CHOICES[DEFAULT], 1)
    (small, small_export), (large, large_export) = on_disk(tmp_path, found, (200, 2_000))
    assert 0 < small_export < large_export
    assert 2_000 * sum(found[0].sketches) < large
    assert small < large
    few, many = in_memory(found, (200, 2_000))
    assert 200 * sum(found[0].sketches) < few < many
