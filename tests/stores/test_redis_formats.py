"""Records as servers keep them, and the way over from the format before this one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import IDENTITY_BYTES, KEY_BYTES, Record
from dedupcrawl.stores.records import LAST_TIME
from dedupcrawl.stores.redis import packed_records
from dedupcrawl.stores.redis.namespace import KeyNames
from dedupcrawl.stores.redis.offers import pack_offer, pack_offer_by_reference
from dedupcrawl.stores.redis.packed_records import (
    VERSION,
    pack_record,
    pack_record_by_reference,
    unpack_record,
    unpack_record_by_reference,
)
from dedupcrawl.stores.redis.packed_urls import pack_url, pack_url_by_reference, unpack_url, unpack_url_by_reference
from dedupcrawl.stores.redis.transports import pack_request, request_by_reference
from dedupcrawl.utils.optional import NO_EXTENSIONS
from tests.stores.factories import START, record

if TYPE_CHECKING:
    pass

KEYS = KeyNames("news")
URLS = (
    st.text(max_size=80)
    | st.from_regex(r"(https?://(www\.)?)?[a-z0-9/\x00-\x0b-]{0,60}", fullmatch=True)
    | st.from_regex(
        r"(https?://(www\.)?)?([A-Za-z]{0,9}|[0-9a-f]{0,300}|tion|in|\.com/|\.html|/20|[%?=&_.,;:@()+~-]){0,8}",
        fullmatch=True,
    )
)
TIMES = st.floats(2**30, 2**32)  # from 2004 on
MOST = int(1000 * LAST_TIME)  #: milliseconds that are a date

#: Written by the first version with this layout: stored bytes must not change.
GOLDEN = (
    "aa67361c58000000"
    "02010203040506112233445566"
    "100001"
    "000102030405060708090a0b0c0d0e0f"
    "63"
    "013314233186d743208810000123456789abcdef"
)
GOLDEN_URLS = {
    "https://www.a.example/station/0123456789abcdef.html": "003314233186d743279f307c822040000123456789abcdef",
    "http://www.a.example/2024/Index.html?q=1&r=%C3%A4": "023314233186d7406a2ac815193d08c4d5cd27d9dd3704ea7704ca80",
    "http://a.example": "033314233186d740",
    "https://a.example/ä": "06612e6578616d706c652fc3a4",
    "ftp://a.example/b;c(d)@e~f": "0445f6facb23314233186d743237c3be3fff50e510",
}


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


@pytest.mark.parametrize(
    ("url", "size"),
    [
        ("https://www.a.example/b-c", 1 + 10),  # six bits a character: 13 characters
        ("https://www.a.example/Bc", 1 + 10),  # a capital is two symbols
        ("http://example.com/station.html", 1 + 10),  # "example", ".com/", "sta", "tion", ".html"
        # A run of digits takes half its bytes, and two symbols; an end is needed.
        ("https://www.a.example/0123456789abcdef.html", 1 + 11 + 8),
        ("https://a.example/0123456789ab", 1 + 10 + 6),
        ("https://a.example/0123456789a", 1 + 16),  # too short for a run
        ("https://a.example/ä", 1 + 12),  # plain
        ("HTTPS://A.EXAMPLE", 1 + 17),
        ("", 1),
    ],
)
def test_a_url_takes_few_bytes(url: str, size: int) -> None:
    packed = pack_url(url)
    assert len(packed) == size
    assert unpack_url(packed) == url


def test_no_packed_url_is_longer_than_plain() -> None:
    assert len(pack_url("https://www." + "A1" * 50)) == 1 + 100  # three symbols would take 18 bits
    assert len(pack_url("https://www." + "x" * 1000)) == 1 + 750


def test_packed_urls_do_not_change() -> None:
    """They are stored, and compared as bytes."""
    packed = [pack_url(url).hex() for url in GOLDEN_URLS]
    assert packed == [*GOLDEN_URLS.values()]
    assert packed == [pack_url_by_reference(url).hex() for url in GOLDEN_URLS]
    assert [unpack_url(bytes.fromhex(each)) for each in packed] == [*GOLDEN_URLS]


@given(URLS, st.sampled_from([1, 1, 30]))
@example("https://a.example/" + "0123456789abcdef" * 8 + "e" * 13 + "r", 1)
@example("".join(map(chr, range(0x180))), 1)
@example("\ud800.com/20.html", 1)
def test_compiled_code_packs_urls_like_the_reference(url: str, times: int) -> None:
    packed = pack_url(url * times)
    assert packed == pack_url_by_reference(url * times)
    assert unpack_url(packed) == unpack_url_by_reference(packed) == url * times


@given(
    URLS,
    st.integers(0, 300),
    st.lists(st.binary(max_size=20) | st.integers(200, 3000).map(bytes), max_size=9),
    st.floats(-1e12, 1e16) | st.integers(-5, 2**40),
    st.text(max_size=9) | st.integers(200, 3000).map("ü".__mul__),
    st.binary(max_size=IDENTITY_BYTES),
)
@example("", 255, [b""] * 254, 0.5 / 2**22, "", b"")
@example("", 0, [b"a"] * 7, 1.5 / 2**22, "\ud800", b"a")
@example("https://a.example", 254, [b"a"] * 300, -1e-7, "a" * 70_000, bytes(255))
def test_compiled_code_packs_records_like_the_reference(
    url: str, keys: int, sketches: list[bytes], seen: float, cluster: str, identity: bytes
) -> None:
    there = Record(
        url, tuple(n.to_bytes(KEY_BYTES, "big") for n in range(keys)), tuple(sketches), seen, cluster, None, identity
    )
    value = pack_record(there)
    assert value == pack_record_by_reference(there)
    for time in (round(seen * 1000), round(seen * 1000) + 999, 0, 2**41 - 1, 2**41, MOST):
        if time > MOST:
            continue
        read = unpack_record(value, max(time, 0), "a")
        assert read == unpack_record_by_reference(value, max(time, 0), "a")
    assert replace(read, seen=seen) == there


@given(st.binary(min_size=1, max_size=60), st.integers(0, 255))
def test_compiled_code_reads_no_record_that_the_reference_reads_otherwise(body: bytes, head: int) -> None:
    """Not even damaged ones whose checksum is right: compiled code returns None where the reference finds damage."""
    head = VERSION << 5 | head & 31
    value = bytes((head,)) + crc32(bytes(3) + body, head).to_bytes(4, "big") + bytes(3) + body
    packer = packed_records.record_packer
    read = packer and packer.unpack_record(value, 0)
    try:
        found = unpack_record_by_reference(value, 0, "a")
    except DamageError:
        found = None
    assert read == found or packer is None


@given(
    st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), max_size=4),
    st.none() | st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), max_size=4),
    st.floats(-1e12, 1e12),
    st.sampled_from([1, 100]),
)
@example([b"twice."] * 2, [b"twice."] * 2, 0.0005, 1)
def test_compiled_code_packs_offers_like_the_reference(
    keys: list[bytes], probes: list[bytes] | None, now: float, times: int
) -> None:
    searched = None if probes is None else tuple(probes)
    there = Record("http://a", tuple(keys) * times, (), START, probes=searched)
    assert pack_offer(there, now) == pack_offer_by_reference(there, now)
    with pytest.raises(StoreError, match="A key is not 6 bytes long"):
        pack_offer(replace(there, probes=(b"short",)), now)


@given(st.lists(st.binary() | st.text() | st.integers() | st.floats() | st.integers(90, 5000).map(bytes), max_size=30))
@example([0, 255, 256, -1, 2**64, "ä", 1.5])
def test_compiled_code_packs_requests_like_the_reference(rest: list[str | bytes | int | float]) -> None:
    assert pack_request(len(rest) + 2, b"head", rest) == request_by_reference(len(rest) + 2, b"head", rest)


SCRIPT = """
from dedupcrawl.stores.redis import packed_records, packed_urls, transports
from tests.stores.factories import record
packed = packed_records.pack_record(record("https://www.a.example/station/0123456789abcdef.html", "one", "two"))
print(packed_urls.description(), packed.hex(), transports.pack_request is transports.request_by_reference)
"""


def test_without_compiled_code_python_packs_the_same() -> None:
    environment = {**os.environ, NO_EXTENSIONS: "1"}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    there = record("https://www.a.example/station/0123456789abcdef.html", "one", "two")
    assert run.stdout == f"Python ({NO_EXTENSIONS} is set) {pack_record(there).hex()} True\n"


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
    with pytest.raises(StoreError, match="has a key that is not 6 bytes long"):
        pack_record(Record("http://a", (bytes(KEY_BYTES), b"longer than six"), (), START))
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


@pytest.mark.parametrize(
    ("identity", "cluster", "size"), [(b"", "", 0), (b"ab", "", 3), (b"", "c", 2), (b"ab", "c", 5)]
)
def test_what_a_record_does_not_have_takes_no_bytes(identity: bytes, cluster: str, size: int) -> None:
    there = Record("http://a", (bytes(6),), (b"one", b"two"), START, cluster, identity=identity)
    value = pack_record(there)
    # Head, checksum and time; the keys; the sketches; the URL.
    assert len(value) == 8 + (1 + 6) + 2 * (1 + 3) + 2 + size
    assert unpack_record(value, milliseconds(START), "a") == there


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 254, 255, 300])
def test_records_of_many_parts_are_read_as_they_were_written(count: int) -> None:
    keys = tuple(number.to_bytes(6, "big") for number in range(count))
    there = Record(
        "http://a", keys, (bytes(count),) * count, START, "c" * count, identity=b"i" * min(count, IDENTITY_BYTES)
    )
    assert unpack_record(pack_record(there), milliseconds(START), "a") == there
