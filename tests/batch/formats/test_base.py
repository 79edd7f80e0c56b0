from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.formats import BadRow, Fields, Row, find_parts, format_named
from dedupcrawl.batch.formats.base import column_names, missing_column, row_from_columns, unix_time
from dedupcrawl.errors import DedupError


def row(values: dict[str, Any], **fields: Any) -> Any:
    return row_from_columns(3, values.get, column_names(Fields(**fields)))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1767225600, 1767225600),
        (1.5, 1.5),
        ("1767225600.25", 1767225600.25),
        ("2026-01-01", 1767225600),
        (" 2026-01-01T00:00:00Z ", 1767225600),
        ("2026-01-01 08:00:00+08:00", 1767225600),
        ("2026-01-01T00:00:00.5", 1767225600.5),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 1767225600),
        ("Thu, 1 Jan 2026 01:00:00 +0100", 1767225600),
        ("20260101000000", 1767225600),
        (True, None),
        (None, None),
        ("", None),
        ("soon", None),
        (float("nan"), None),
        (10**400, None),
        (["2026"], None),
        ("99999999999999", None),
    ],
)
def test_times(value: object, seconds: float | None) -> None:
    assert unix_time(value) == seconds


ODD = st.text("0123456789-+:TZ. ")


@given(st.one_of(ODD, st.floats(), st.integers(), st.datetimes(), st.dates(), st.binary()))
@settings(max_examples=60, deadline=None)
def test_no_value_is_too_odd_for_a_time(value: object) -> None:
    assert isinstance(unix_time(value), float | int | None)


def test_html_counts_before_text_unless_one_of_them_is_named() -> None:
    values = {"html": "<p>A", "text": "B", "url": "u"}
    assert row(values) == Row(3, "u", "<p>A", None, None, 4)
    assert row(values, text="text").text == "B"
    assert row(values, text="text", html="html").html == "<p>A"
    assert row(values | {"html": ""}).text == "B"
    assert row({"url": "u"}) == Row(3, "u", None, "", None, 0)


def test_values_of_several_kinds() -> None:
    assert row({"text": ["A", None, "B"], "url": ["u"], "time": 5}) == Row(3, "u", None, "A\nB", 5, 3)
    assert row({"text": 12, "link": b"u"}) == Row(3, "u", None, "12", None, 2)
    assert row({"html": b"\xff"}).html == b"\xff"
    assert row({"text": {"a": 1}}) == BadRow(3, "column 'text' holds dict, which is neither text nor HTML")


def test_a_time_without_value_is_skipped() -> None:
    assert row({"text": "A", "time": "", "published_at": "2026-01-01"}).time == 1767225600


def test_what_is_missing() -> None:
    assert missing_column(Fields(), {"url", "content"}) is None
    assert missing_column(Fields(text="mine"), {"mine"}) is None
    assert missing_column(Fields(), {"url"}) == "no column of the usual names of HTML or text"
    assert missing_column(Fields(time="at"), {"text"}) == "no column 'at', named as that of the time"


@pytest.mark.parametrize(
    ("package", "name"),
    [("pyarrow", "a.parquet"), ("fastwarc", "a.warc"), ("zstandard", "a.jsonl.zst"), ("zstandard", "a.warc.zst")],
)
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    part = find_parts([tmp_path / name])[0]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DedupError, match=rf"needs the package {package}: pip install 'dedupcrawl\[batch\]'"):
        list(format_named(part.format).chunks(part, Fields()))
