"""The stored format is pinned: another layout needs another version byte."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import KEY_BYTES, Candidate, ClaimState, Record, url_key
from dedupcrawl.stores.records import FIRST_TIME, LAST_TIME, VERSION, decode, decode_seen, encode

GOLDEN = {
    "full": (
        Record(
            url="http://例/a",
            keys=(b"key--1", b"key--2"),
            sketches=(b"\x01\x02\x03", b"", b"\xff"),
            seen=1_700_000_000.25,
            cluster="c1",
            identity=b"\x07\x08",
        ),
        (
            "050bdf2c8741d954fc401000000002030000000c0000000202"
            "000000030000000000000001"
            "6b65792d2d316b65792d2d32010203ff0708687474703a2f2fe4be8b2f616331"
        ),
    ),
    "empty": (Record("", (), (), 0.0), "050fd59b8d0000000000000000000000000000000000000000"),
}

records = st.builds(
    Record,
    url=st.text(st.characters(), max_size=100),
    keys=st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), unique=True, max_size=20).map(tuple),
    sketches=st.lists(st.binary(max_size=300), max_size=5).map(tuple),
    seen=st.floats(FIRST_TIME, LAST_TIME),
    cluster=st.text(max_size=20),
    identity=st.binary(max_size=255),
)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_layout_is_pinned(name: str) -> None:
    record, golden = GOLDEN[name]
    assert encode(record).hex() == golden
    assert decode(bytes.fromhex(golden), 1) == record


def test_an_empty_identity_costs_one_byte() -> None:
    plain, name = Record("http://a", (), (), 0.0), b"names and values"
    assert len(encode(plain)) == 24 + 1 + len("http://a")
    assert len(encode(replace(plain, identity=name))) == len(encode(plain)) + len(name)


def test_records_that_differ_in_their_identity_are_two() -> None:
    plain = Record("http://a", (), (), 0.0)
    assert plain.is_among([Candidate(1, plain, ClaimState.COMMITTED, mine=False)])
    assert not replace(plain, identity=b"1").is_among([Candidate(1, plain, ClaimState.COMMITTED, mine=False)])


def test_the_key_of_a_url_is_pinned() -> None:
    assert url_key("http://a/").hex() == "8110d43c8766"
    assert url_key("http://a/\udcff") != url_key("http://a/")


@given(records)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    value = encode(record)
    assert decode(value, 1) == record
    assert decode_seen(value, 1) == record.seen


@given(records, st.data())
def test_any_damage_is_noticed(record: Record, data: st.DataObject) -> None:
    value = bytearray(encode(record))
    at = data.draw(st.integers(0, len(value) - 1))
    value[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(StoreError, match="record under 77 is damaged"):
        decode(bytes(value), 77)


@given(records, st.data())
def test_a_value_cut_short_is_noticed(record: Record, data: st.DataObject) -> None:
    value = encode(record)
    cut = data.draw(st.integers(0, len(value) - 1))
    with pytest.raises(StoreError, match="record under 77 is damaged"):
        decode(value[:cut], 77)


def test_another_version_is_named() -> None:
    value = encode(Record("http://a", (), (), 0.0))
    with pytest.raises(StoreError, match=f"has layout {VERSION + 1}, not {VERSION}"):
        decode(bytes([VERSION + 1]) + value[1:], 1)


@pytest.mark.parametrize(
    "record",
    [
        Record("http://a", (b"short",), (), 0.0),
        Record("http://a", (), (b"",) * 256, 0.0),
        Record("http://a", (), (), 0.0, identity=b"x" * 256),
        Record("http://a", (), (), inf),
        Record("http://a", (), (), nan),
        Record("http://a", tuple(n.to_bytes(KEY_BYTES, "big") for n in range(65536)), (), 0.0),
    ],
    ids=["key size", "sketches", "identity", "endless", "no time", "keys"],
)
def test_what_the_layout_cannot_hold_is_refused(record: Record) -> None:
    with pytest.raises(StoreError, match="'http://a'"):
        encode(record)
