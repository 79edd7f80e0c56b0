"""What is too large for one page is made to fit, and the page says what is left out."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.report.columns import page_columns, plain
from dedupcrawl.report.fitting import fit
from dedupcrawl.report.page import render
from tests.report.large import large_report
from tests.report.reports import demo_report

if TYPE_CHECKING:
    from markupsafe import Markup


def unpacked(element: Markup) -> Any:
    inside = re.fullmatch(r"<script [^>]*>(.*)</script>", str(element))
    assert inside is not None
    return json.loads(zlib.decompress(base64.b64decode(inside[1])))


def test_what_fits_is_whole_and_needs_no_note() -> None:
    report = demo_report()
    fitted = fit(report, 10**7)
    pages, pairs = map(unpacked, fitted.data)
    assert fitted.notes == ()
    assert pages["pages"]["count"] == len(report.pages)
    assert all(pair["changes"] for pair in pairs["pairs"])


@pytest.mark.parametrize("most", [100_000, 300_000])
def test_less_room_takes_texts_and_rows_and_says_how_many(most: int) -> None:
    report = large_report(3_000, 200)
    fitted = fit(report, most)
    assert sum(map(len, fitted.data)) <= most
    pages, pairs = map(unpacked, fitted.data)
    rows, texts = pages["pages"]["count"], sum(bool(pair["changes"]) for pair in pairs["pairs"])
    whole = f"{texts} of 200 pairs are shown with their texts and all evidence"
    assert any(note.startswith(whole) for note in fitted.notes) == (texts < 200)
    assert any(note.startswith(f"{rows:,} of 3,000 noted pages") for note in fitted.notes) == (rows < 3_000)
    assert len(pairs["pairs"]) == 200
    assert all(place < rows for cluster in pages["clusters"] for place in cluster["pages"])
    assert [cluster["size"] for cluster in pages["clusters"]] == [each.size for each in report.clusters]


def test_near_misses_keep_their_texts_longest() -> None:
    report = large_report(3_000, 200)
    _, pairs = map(unpacked, fit(report, 400_000).data)
    kept = [place for place, pair in enumerate(pairs["pairs"]) if pair["changes"]]
    assert 0 < len(kept) < 200
    assert set(report.misses) <= set(kept) or set(kept) <= set(report.misses)


def test_the_page_names_what_is_left_out() -> None:
    html = render(large_report(3_000, 200), most_bytes=400_000)
    assert len(html.encode()) <= 400_000
    assert "noted pages are in the table: more would make this file too large." in html


def test_pages_without_times_and_an_empty_report_are_shown() -> None:
    report = demo_report()
    bare = tuple(replace(page, time=None) for page in report.pages)
    assert page_columns(bare)["time"] == [None] * len(bare)
    empty = replace(report, slices=(), hosts=(), flows=(), pages=(), clusters=(), pairs=(), misses=())
    assert 'id="time"' not in render(empty)


def test_evidence_is_made_plain() -> None:
    odd = {"big": 2**60, "bad": float("nan"), 3: [1.23456789, True, None, {1}], "deep": object()}
    made = plain(odd)
    assert isinstance(made, dict)
    assert made["big"] == str(2**60)
    assert made["bad"] == "nan"
    assert made["3"] == [1.234568, True, None, [1]]
    json.dumps(made, allow_nan=False)
    nested: object = "x"
    for _ in range(5_000):
        nested = [nested]
    json.dumps(plain(nested))
