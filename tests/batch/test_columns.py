"""The table of fingerprints returns the records that were added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.batch.columns import (
    FingerprintTable,
    FingerprintTableBuilder,
    arrow_array,
    arrow_bytes,
    arrow_labels,
    arrow_lists,
    arrow_strings,
    is_valid,
    numpy_array,
)
from dedupcrawl.batch.prior_sources import _without_seen
from tests.stores.factories import record


def test_records_come_back_with_their_identities() -> None:
    builder = FingerprintTableBuilder(2)
    pages = [record("http://a/1", "a"), record("http://a/2", "b"), record("", "c")]
    pages[1] = replace(pages[1], identity=b"\0names")
    for row, page in enumerate(pages):
        builder.add(row, page)
    builder.add_unchecked(3, "http://a/4", "empty")
    table = FingerprintTable([builder.batch()])
    assert [table.record(row) for row in range(3)] == [replace(page, seen=0.0) for page in pages]
    assert table.sketch_record(1).identity == b"\0names"


def test_prior_pages_of_two_identities_are_two() -> None:
    builder = FingerprintTableBuilder(2)
    page = record("http://a/1", "a")
    for row, identity in enumerate((b"", b"one", b"two", b"one")):
        builder.add(row, replace(page, identity=identity))
    new = _without_seen(builder.batch(), set())
    assert new.column("row").to_pylist() == [0, 1, 2]


TYPES = [pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float64()]


def column_of(values: list[int | None], type: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(type):
        return pa.array([None if each is None else each > 50 for each in values], type)
    return pa.array(values, type)


@pytest.mark.parametrize("type", TYPES, ids=str)
@given(values=st.lists(st.none() | st.integers(0, 100), max_size=40), start=st.integers(0, 12))
def test_numbers_come_back(type: pa.DataType, values: list[int | None], start: int) -> None:
    column = column_of(values, type)[start:]
    null = None if pa.types.is_floating(type) else 0
    plain = [0 if each is None else each for each in column.to_pylist()]
    found = numpy_array(column, null)
    assert np.nan_to_num(found).tolist() == plain
    assert numpy_array(pa.chunked_array([column, column], type), null).dtype == found.dtype
    assert is_valid(column).tolist() == [each is not None for each in column.to_pylist()]
    again = arrow_array(found, ~is_valid(column))
    again.validate(full=True)
    assert again.equals(column)


def test_a_column_without_chunks_is_empty() -> None:
    assert numpy_array(pa.chunked_array([], pa.int64())).tolist() == []
    assert numpy_array(pa.chunked_array([], pa.bool_())).dtype == np.bool_


@given(st.lists(st.none() | st.binary(max_size=5), max_size=20))
def test_byte_strings_are_those_of_pyarrow(values: list[bytes | None]) -> None:
    made = arrow_bytes(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.binary()))


def test_strings_and_labels() -> None:
    assert arrow_strings(["a", None, "", "沪"]).to_pylist() == ["a", None, "", "沪"]
    labels = arrow_labels(["one", "two", None], np.array([1, -1, 0, 2], np.int8))
    assert labels.equals(pa.array(["two", None, "one", None], pa.string()))


def test_two_gibibytes_are_refused_and_do_not_wrap_around() -> None:
    class Long(bytes):
        def __len__(self) -> int:
            return 1 << 30

    values: list[Any] = [Long(b"a"), Long(b"b")]
    with pytest.raises(OverflowError, match="2 GiB"):
        arrow_bytes(values)


def test_lists() -> None:
    made = arrow_lists(np.array([0, 2, 2, 3]), np.array([7, 8, 9], np.uint64))
    made.validate(full=True)
    assert made.equals(pa.array([[7, 8], [], [9]], pa.list_(pa.uint64())))
