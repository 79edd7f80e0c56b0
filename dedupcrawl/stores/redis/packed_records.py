"""Records as a server keeps them, in as few bytes as possible: memory is what a server is short of.

=========  =====  ======================================================================
field      bytes  meaning
=========  =====  ======================================================================
version        1  ``VERSION``
crc            4  CRC-32 of all bytes that follow
seen           3  the time seen in units of 1 / 2^22 s, modulo 4 s
keys        1, …  number of keys
URL         1, …  size of the URL
keys         6·n  the keys
sketches    1, …  number of sketches, then size and bytes of each
identity    1, …  size and bytes of the identity
cluster     1, …  size and bytes of the cluster
URL         1, …  the URL, packed by :func:`pack_url`
=========  =====  ======================================================================

Numbers and sizes are in LEB128: 7 bits a byte, the lowest first. A script puts the time in milliseconds of the
server's clock in front (6 bytes); only both together give the time seen. Keys stay in the record: they cannot be
computed from the sketches, and a removal needs them to find the buckets. ``lua/removal.lua`` and ``lua/helpers.lua``
read keys and URL.
"""

from __future__ import annotations

import re
from binascii import unhexlify
from struct import Struct
from zlib import crc32

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import IDENTITY_BYTES, KEY_BYTES, Record

VERSION = 4
MIN_BYTES = 14  #: of a record: version, crc, seen, and five numbers with an empty URL
MAX_SIZE = (1 << 28) - 1  #: that four bytes can count
#: Seconds. If the worker's time of a record differs more from the server's, the worker's clock is wrong, and
#: the server's time is used.
MAX_CLOCK_SKEW = 1.0

_PREFIX = Struct(">BI")
_SECOND = 1 << 22  # a double of this century has a resolution of 2^-22 s, so that nothing is lost
_SEEN_BYTES = 3
_SEEN_RANGE = 1 << 24
_TEXT = ("utf-8", "surrogatepass")
_STARTS = (b"", b"https://www.", b"https://", b"http://www.", b"http://")  # the index is stored; never change it
_AS_IT_IS = len(_STARTS)
_RUN = b"\x01"  # in front of a run of hexadecimal digits: how many bytes, then the bytes
_DIGITS = re.compile(rb"[0-9a-f]{8,510}")


def pack_record(record: Record) -> bytes:
    """Return a record as bytes; raise ``StoreError`` if it does not fit."""
    if not {*map(len, record.keys)} <= {KEY_BYTES}:
        raise StoreError(f"The record of {record.url!r} has a key that is not {KEY_BYTES} bytes long.")
    if len(record.identity) > IDENTITY_BYTES:
        raise StoreError(f"The record of {record.url!r} has an identity of more than {IDENTITY_BYTES} bytes.")
    url, cluster = pack_url(record.url), record.cluster.encode(*_TEXT)
    parts = [(round(record.seen * _SECOND) % _SEEN_RANGE).to_bytes(_SEEN_BYTES, "big")]
    parts += (_size(len(record.keys)), _size(len(url)), *record.keys, _size(len(record.sketches)))
    for part in (*record.sketches, record.identity, cluster):
        parts += (_size(len(part)), part)
    parts.append(url)
    body = b"".join(parts)
    return _PREFIX.pack(VERSION, crc32(body)) + body


def unpack_record(value: bytes, milliseconds: int, key: object) -> Record:
    """Return the record that :func:`pack_record` wrote.

    Args:
        value: the bytes.
        milliseconds: the Unix time at which the record was seen, by the server's clock.
        key: where it is stored, for messages.

    Raises:
        DamageError: the value is damaged or has another version.
    """
    if len(value) < MIN_BYTES:
        raise DamageError(f"The record under {key!r} is damaged: only {len(value)} bytes are left of it.")
    version, crc = _PREFIX.unpack_from(value)
    if version != VERSION:
        raise DamageError(f"The record under {key!r} is damaged or has layout {version}, not {VERSION}.")
    if crc != crc32(memoryview(value)[_PREFIX.size :]):
        raise DamageError(f"The record under {key!r} is damaged: its checksum is wrong.")
    at = _PREFIX.size + _SEEN_BYTES
    low = int.from_bytes(value[_PREFIX.size : at], "big")
    count, at = _read_size(value, at)
    url_size, at = _read_size(value, at)
    keys = tuple([value[start : start + KEY_BYTES] for start in range(at, at + KEY_BYTES * count, KEY_BYTES)])
    count, at = _read_size(value, at + KEY_BYTES * count)
    sketches = []
    for _ in range(count):
        sketch, at = _read_part(value, at)
        sketches.append(sketch)
    identity, at = _read_part(value, at)
    cluster, at = _read_part(value, at)
    return Record(
        url=unpack_url(value[at : at + url_size]),
        keys=keys,
        sketches=tuple(sketches),
        seen=_time_seen(low, milliseconds),
        cluster=cluster.decode(*_TEXT),
        identity=identity,
    )


def _time_seen(low: int, milliseconds: int) -> float:
    """Return the time nearest to the server's that has these low bits; the server's if that is too far from it."""
    near = round(milliseconds * _SECOND / 1000)
    skew = (low - near + _SEEN_RANGE // 2) % _SEEN_RANGE - _SEEN_RANGE // 2
    return (near + skew) / _SECOND if abs(skew) <= MAX_CLOCK_SKEW * _SECOND else milliseconds / 1000


def pack_url(url: str) -> bytes:
    """Return a URL in fewer bytes: a number for its scheme, and hexadecimal and decimal numbers as bytes."""
    data = url.encode(*_TEXT)
    if _RUN in data:
        return bytes((_AS_IT_IS,)) + data
    if data.startswith(b"https://"):
        start = 1 if data.startswith(b"www.", 8) else 2
    else:
        start = 0 if not data.startswith(b"http://") else 3 if data.startswith(b"www.", 7) else 4
    data = data[len(_STARTS[start]) :]
    return _SIZES[start] + _DIGITS.sub(_pack_run, data)


def _pack_run(found: re.Match[bytes]) -> bytes:
    digits = found[0]
    size = len(digits) // 2
    return b"%b%c%b%b" % (_RUN, size, unhexlify(digits[: 2 * size]), digits[2 * size :])


def unpack_url(packed: bytes) -> str:
    """Return the URL that :func:`pack_url` has packed."""
    if packed[0] == _AS_IT_IS:
        return packed[1:].decode(*_TEXT)
    parts, at = [_STARTS[packed[0]]], 1
    while (run := packed.find(_RUN, at)) >= 0:
        end = run + 2 + packed[run + 1]
        parts += (packed[at:run], packed[run + 2 : end].hex().encode("ascii"))
        at = end
    return b"".join((*parts, packed[at:])).decode(*_TEXT)


def _size(number: int) -> bytes:
    return _SIZES[number] if number < len(_SIZES) else _leb128(number)


def _leb128(number: int) -> bytes:
    if number > MAX_SIZE:
        raise StoreError(f"A part of a record is too long to be filed: {number} bytes, at most {MAX_SIZE}.")
    return bytes((number,)) if number < 128 else bytes((number & 127 | 128,)) + _leb128(number >> 7)


_SIZES = tuple(map(_leb128, range(512)))  # of nearly all parts


def _read_size(value: bytes, at: int) -> tuple[int, int]:
    """Return the number at this place, and where it ends."""
    number = shift = 0
    while value[at] > 127:
        number |= (value[at] & 127) << shift
        shift, at = shift + 7, at + 1
    return number | value[at] << shift, at + 1


def _read_part(value: bytes, at: int) -> tuple[bytes, int]:
    size, at = _read_size(value, at)
    return value[at : at + size], at + size
