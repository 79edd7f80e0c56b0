"""Records as servers keep them, and the way over from the format before this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import IDENTITY_BYTES, KEY_BYTES, Record
from dedupcrawl.stores.redis.namespace import KeyNames
from dedupcrawl.stores.redis.packed_records import pack_record, pack_url, unpack_record, unpack_url
from tests.stores.factories import START, record

if TYPE_CHECKING:
    pass

KEYS = KeyNames("news")
URLS = st.text(max_size=80) | st.from_regex(r"(https?://(www\.)?)?[a-z0-9/\x01-]{0,60}", fullmatch=True)
TIMES = st.floats(2**30, 2**32)  # from 2004 on

#: Written by the first version with this layout: stored bytes must not change.
GOLDEN = (
    "04924e4aca000000021a"
    "0102030405061122334455660210000102030405060708090a0b0c0d0e0f00"
    "00"
    "0163"
    "02612e6578616d706c652f01080123456789abcdef2e68746d6c"
)


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


@given(
    URLS,
    st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), max_size=200),
    st.lists(st.binary(max_size=600), max_size=5),
    TIMES,
    st.text(max_size=20),
    st.binary(max_size=IDENTITY_BYTES),
)
def test_a_record_is_read_as_it_was_written(
    url: str, keys: list[bytes], sketches: list[bytes], seen: float, cluster: str, identity: bytes
) -> None:
    there = Record(url, tuple(keys), tuple(sketches), seen, cluster, identity=identity)
    read = unpack_record(pack_record(there), milliseconds(seen), "a")
    assert read == there


@given(URLS)
def test_no_url_is_packed_to_nothing_and_each_is_read_as_it_was_written(url: str) -> None:
    packed = pack_url(url)
    assert packed
    assert unpack_url(packed) == url


def test_numbers_in_a_url_take_half_their_bytes() -> None:
    assert len(pack_url("https://www.a.example/0123456789abcdef.html")) == len("a.example/.html") + 1 + 2 + 8


@given(TIMES, st.floats(-1.0, 1.0))
def test_the_time_of_a_worker_is_kept_if_it_is_near_that_of_the_server(seen: float, skew: float) -> None:
    there = Record("http://a", (), (), seen)
    assert unpack_record(pack_record(there), milliseconds(seen + 0.99 * skew), "a").seen == seen


def test_the_time_of_the_server_counts_if_the_clock_of_the_worker_is_wrong() -> None:
    there = Record("http://a", (), (), START)
    assert unpack_record(pack_record(there), milliseconds(START + 101.5), "a").seen == START + 101.5


@given(st.data())
def test_a_damaged_record_is_noticed(data: st.DataObject) -> None:
    value = pack_record(record("https://a.example/1", "one", "two"))
    at = data.draw(st.integers(0, len(value) - 1))
    changed = value[:at] + bytes((value[at] ^ data.draw(st.integers(1, 255)),)) + value[at + 1 :]
    for damaged in (changed, value[:at]):
        with pytest.raises(DamageError, match=r"^The record under 'a' is damaged"):
            unpack_record(damaged, 0, "a")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(StoreError, match="has a key that is not 6 bytes long"):
        pack_record(Record("http://a", (b"short",), (), START))
    with pytest.raises(StoreError, match="has an identity of more than 255 bytes"):
        pack_record(Record("http://a", (), (), START, identity=bytes(IDENTITY_BYTES + 1)))
    with pytest.raises(StoreError, match="is too long to be filed: 268435456 bytes"):
        pack_record(Record("http://a", (), (bytes(1 << 28),), START))


def test_stored_bytes_do_not_change() -> None:
    keys = (bytes(range(1, 7)), bytes.fromhex("112233445566"))
    there = Record("https://a.example/0123456789abcdef.html", keys, (bytes(range(16)), b""), START, "c", identity=b"")
    value = pack_record(there)
    assert unpack_record(value, milliseconds(START), "a") == there
    assert value.hex() == GOLDEN
