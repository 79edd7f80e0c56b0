from __future__ import annotations

import datetime as dt
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.formats import ANNOTATION_COLUMNS, BadRow, Fields, PartError
from dedupcrawl.errors import DedupError
from tests.batch.formats.helpers import annotate, copy, read, rows_of

TABLE = pa.table({"url": [f"https://a.example/{n}" for n in range(7)], "text": [f"page {n}" for n in range(7)]})


def file_in(folder: Path, table: pa.Table, name: str = "in.parquet", **options: Any) -> Path:
    pq.write_table(table, folder / name, **options)
    return folder / name


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
)
def test_columns_of_all_kinds_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"url": pa.array(["ü", None, "c"]).cast(kind), "text": pa.array(["A", "ü", None]).cast(kind)})
    try:
        path = file_in(tmp_path, table)
    except pa.ArrowNotImplementedError:
        assert kind == pa.string_view()
        pytest.skip("this pyarrow cannot write such a file")
    rows = rows_of(path)
    assert [(row.url, row.text, row.size) for row in rows] == [("ü", "A", 1), ("", "ü", 2), ("c", "", 0)]


def test_html_may_be_bytes_or_text_and_counts_first(tmp_path: Path) -> None:
    for kind in (pa.binary(), pa.large_binary(), pa.string()):
        html = pa.array([b"<p>\xc3\xbc", None, b""], pa.binary()).cast(kind)
        rows = rows_of(file_in(tmp_path, pa.table({"html": html, "text": ["A", "B", "C"]})))
        wanted = "<p>ü" if kind == pa.string() else b"<p>\xc3\xbc"
        assert [(row.html, row.text) for row in rows] == [(wanted, None), (None, "B"), (None, "C")]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1767225600, pa.timestamp("s")),
        (1767225600_000, pa.timestamp("ms", "Asia/Shanghai")),
        (1767225600_000_000, pa.timestamp("us", "UTC")),
        (1767225600_000_000_001, pa.timestamp("ns")),
        (dt.date(2026, 1, 1), pa.date32()),
        (1767225600, pa.int64()),
        (1767225600.0, pa.float32()),
        ("2026-01-01", pa.string()),
    ],
)
def test_times_of_all_kinds(tmp_path: Path, value: Any, kind: pa.DataType) -> None:
    table = pa.table({"text": ["A", "B"], "date": pa.array([value, None], kind)})
    first, second = rows_of(file_in(tmp_path, table))
    assert first.time == pytest.approx(1767225600, abs=64)
    assert second.time is None


def test_a_column_that_is_missing_is_reported(tmp_path: Path) -> None:
    path = file_in(tmp_path, TABLE)
    with pytest.raises(DedupError, match=r"no column 'markup', named as that of the html; it has text, url"):
        rows_of(path, Fields(html="markup"))
    with pytest.raises(DedupError, match=r"HTML or text; it has url"):
        rows_of(file_in(tmp_path, TABLE.select(["url"])))


def test_text_that_is_not_utf_8_is_a_bad_row(tmp_path: Path) -> None:
    broken = pa.array([b"A", b"\xff", b"C"], pa.binary()).view(pa.string())
    rows = rows_of(file_in(tmp_path, pa.table({"text": broken})))
    assert [isinstance(row, BadRow) for row in rows] == [False, True, False]
    assert rows[1].why == "column 'text' is not UTF-8 at its byte 0"


def test_kept_rows_are_written_as_the_file_has_them(tmp_path: Path) -> None:
    table = TABLE.append_column("n", pa.array([[n] for n in range(7)])).append_column(
        "word", pa.array(["a", "b"] * 3 + [None]).dictionary_encode()
    )
    table = table.replace_schema_metadata({"pandas": "{}", "mine": "note"})
    codecs = {"url": "zstd", "text": "gzip", "n.list.element": "snappy", "word": "none"}
    path = file_in(tmp_path, table, compression=codecs, row_group_size=3)
    target = tmp_path / "out.parquet"
    assert copy(path, [True, False, True, False, False, False, True], target) == 3
    found = pq.read_table(target)
    assert found.to_pylist() == table.take([0, 2, 6]).to_pylist()
    assert found.schema.equals(pq.read_schema(path), check_metadata=True)
    one, two = pq.ParquetFile(path).metadata, pq.ParquetFile(target).metadata
    assert two.num_row_groups == 2
    codec = [[each.row_group(0).column(n).compression for n in range(4)] for each in (one, two)]
    assert codec[0] == codec[1] == ["ZSTD", "GZIP", "SNAPPY", "UNCOMPRESSED"]


def test_old_time_stamps_and_plain_schemas_stay(tmp_path: Path) -> None:
    table = TABLE.append_column("at", pa.array(range(7), pa.timestamp("ns")))
    path = file_in(tmp_path, table, use_deprecated_int96_timestamps=True, store_schema=False)
    copy(path, [True] * 7, tmp_path / "out.parquet")
    found = pq.ParquetFile(tmp_path / "out.parquet")
    assert found.metadata.row_group(0).column(2).physical_type == "INT96"
    assert not found.metadata.metadata
    assert found.read().equals(pq.read_table(path))


def test_lists_of_old_files_keep_their_names(tmp_path: Path) -> None:
    table = TABLE.append_column("n", pa.array([[n] for n in range(7)]))
    path = file_in(tmp_path, table, use_compliant_nested_type=False)
    copy(path, [True] * 7, tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").equals(table.schema)


def test_no_row_kept_leaves_a_table_without_rows(tmp_path: Path) -> None:
    assert copy(file_in(tmp_path, TABLE), [False] * 7, tmp_path / "out.parquet") == 0
    assert pq.read_table(tmp_path / "out.parquet").schema == TABLE.schema
    assert rows_of(tmp_path / "out.parquet") == []
    assert copy(tmp_path / "out.parquet", [], tmp_path / "again.parquet") == 0


def test_columns_are_added_and_replaced(tmp_path: Path) -> None:
    spark = {"org.apache.spark.sql.parquet.row.metadata": "{}", "mine": "note"}
    table = TABLE.append_column("dedup_status", pa.array(range(7))).replace_schema_metadata(spark)
    path, target = file_in(tmp_path, table, row_group_size=2), tmp_path / "out.parquet"
    statuses = ["unique", "duplicate", None, *["unique"] * 4]
    assert annotate(path, statuses, target) == 6
    found = pq.read_table(target)
    assert found.column_names == ["url", "text", *ANNOTATION_COLUMNS]
    assert found["text"].to_pylist() == [f"page {n}" for n in (0, 1, 3, 4, 5, 6)]
    assert found["dedup_of"].to_pylist()[:3] == [None, "https://a.example/1", "https://a.example/3"]
    assert found.schema.metadata == {b"mine": b"note"}


def test_a_broken_footer_and_a_broken_page(tmp_path: Path) -> None:
    table = pa.table({"text": [Random(n).randbytes(3000).hex() for n in range(600)]})
    path = file_in(tmp_path, table, row_group_size=300, use_dictionary=False, write_page_checksum=True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-6])
    rows, error = read(path)
    assert (rows, error and error.row) == ([], 0)
    broken = bytearray(whole)
    broken[len(broken) * 3 // 4] ^= 0xFF
    path.write_bytes(broken)
    rows, error = read(path)
    assert error is not None
    assert 300 <= error.row == len(rows) < 600
    target = tmp_path / "out.parquet"
    with pytest.raises(PartError):
        copy(path, [True] * 600, target)
    assert copy(path, [True] * len(rows), target, truncated=True) == len(rows)
    assert pq.read_table(target).equals(table[: len(rows)])
    assert annotate(path, ["unique"] * len(rows), target, truncated=True) == len(rows)


def test_damage_in_a_column_that_is_not_judged_ends_the_rows_too(tmp_path: Path) -> None:
    """They could be judged, and never be copied."""
    other = pa.array([Random(n).randbytes(500) for n in range(7)])
    path = file_in(
        tmp_path,
        TABLE.append_column("other", other),
        row_group_size=3,
        use_dictionary=False,
        compression="none",
        write_page_checksum=True,
    )
    whole = path.read_bytes()
    place = whole.index(other[4].as_py())
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    rows, error = read(path)
    assert error is not None
    assert error.row == len(rows) == 3
    assert {row.url for row in rows if not isinstance(row, BadRow)} == set(TABLE["url"].to_pylist()[:3])
    assert copy(path, [True] * 3, tmp_path / "out.parquet", truncated=True) == 3
    assert annotate(path, ["unique"] * 3, tmp_path / "out.parquet", truncated=True) == 3


def test_no_parquet_and_a_file_that_has_changed(tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_bytes(b"plain text")
    assert read(tmp_path / "no.parquet")[1] is not None
    path = file_in(tmp_path, TABLE)
    for count in (6, 8):
        with pytest.raises(PartError, match="the file has changed: it had"):
            copy(path, [True] * count, tmp_path / "out.parquet")
    assert copy(path, [True] * 6, tmp_path / "out.parquet", truncated=True) == 6


@given(st.integers(0, 700), st.integers(60, 700), st.integers(1, 900), st.randoms(use_true_random=False))
@settings(max_examples=12, deadline=None)
def test_all_four_count_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, count: int, group: int, length: int, random: Random
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    path = file_in(folder, pa.table({"text": [f"{n} " * (length // 4) for n in range(count)]}), row_group_size=group)
    rows = rows_of(path)
    assert len(rows) == count
    keep = [random.random() < 0.5 for _ in rows]
    target = folder / "out.parquet"
    assert copy(path, keep, target) == sum(keep)
    assert [row.text for row in rows_of(target)] == [row.text for row, kept in zip(rows, keep, strict=True) if kept]
    assert annotate(path, ["unique"] * count, target) == count == len(rows_of(target))
