from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.spark.meeting import meet
from dedupcrawl.stores.base import BUCKET_CAP

Row = tuple[int, int, bool, bool, bool]

rows_of_buckets = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 99), st.booleans(), st.booleans(), st.booleans()),
    max_size=200,
    unique_by=lambda row: row[:2],
).map(sorted)


def batches(rows: list[Row], size: int) -> list[pa.RecordBatch]:
    names = ["bucket", "page", "filed", "sought", "kept"]
    cut = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in each]) for each in cut]


def met(rows: list[Row], size: int = 1000) -> list[tuple[int, list[int]]]:
    found = (pair for batch in meet(batches(rows, size)) for pair in batch.to_pylist())
    return [(each["page"], each["met"]) for each in found]


@given(rows_of_buckets, st.integers(1, 20))
@settings(deadline=None)
def test_a_page_meets_the_newest_kept_pages_before_it(rows: list[Row], size: int) -> None:
    expected = []
    for bucket, page, _, sought, _ in rows:
        before = [old for b, old, filed, _, kept in rows if b == bucket and old < page and filed and kept]
        if sought and before:
            expected.append((page, before[-BUCKET_CAP:]))
    assert met(rows, size) == expected


def test_a_full_bucket_is_read_from_its_new_end() -> None:
    rows = [(7, page, True, True, True) for page in range(BUCKET_CAP + 3)]
    assert met(rows)[-1] == (BUCKET_CAP + 2, list(range(2, BUCKET_CAP + 2)))
