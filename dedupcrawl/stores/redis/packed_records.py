"""Records as a server keeps them, in as few bytes as possible: memory is what a server is short of.

==========  =====  ======================================================================
field       bytes  meaning
==========  =====  ======================================================================
head            1  from the highest bit: ``VERSION`` (3 bits), whether there is an identity,
                   whether there is a cluster, number of sketches (3 bits; 7: see below)
crc             4  CRC-32 of all bytes that follow, beginning with the head
seen            3  the time seen in units of 1 / 2^22 s, modulo 4 s
keys         1, …  number of keys, then the keys
sketches     0, …  number of sketches, if the head says 7
sizes           …  of each sketch, of the identity, and of the cluster
parts           …  sketches, identity and cluster
URL             …  the URL, packed by :mod:`~dedupcrawl.stores.redis.packed_urls`
==========  =====  ======================================================================

Numbers and sizes take one byte; from 255 on this byte is 255, and four bytes follow, big-endian. A script puts the
time in milliseconds of the server's clock in front (6 bytes); only both together give the time seen. Keys stay in the
record: they cannot be computed from the sketches, and a removal needs them to find the buckets. ``lua/removal.lua``
and ``lua/helpers.lua`` read keys and URL.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import IDENTITY_BYTES, KEY_BYTES, Record
from dedupcrawl.stores.redis.packed_urls import pack_url_by_reference, packing, unpack_url_by_reference, url_packer

VERSION = 5
MIN_BYTES = 10  #: of a record: head, crc, seen, number of keys, and an empty URL
MAX_SIZE = (1 << 28) - 1  #: of a part
#: Seconds. If the worker's time of a record differs more from the server's, the worker's clock is wrong, and
#: the server's time is used.
MAX_CLOCK_SKEW = 1.0

_PREFIX = Struct(">BI")
_SECOND = 1 << 22  # a double of this century has a resolution of 2^-22 s, so that nothing is lost
_SEEN_BYTES = 3
_SEEN_RANGE = 1 << 24
_TEXT = ("utf-8", "surrogatepass")
_IDENTITY, _CLUSTER, _SKETCHES = 16, 8, 7  # bits of the head
_MANY = 255  # larger numbers take more bytes
record_packer = packing and packing.RecordCodec(
    url_packer,
    version=VERSION,
    key_bytes=KEY_BYTES,
    identity_bytes=IDENTITY_BYTES,
    max_size=MAX_SIZE,
    second=_SECOND,
    max_skew=int(MAX_CLOCK_SKEW * _SECOND),
)


def pack_record(record: Record) -> bytes:
    """Return a record as bytes; raise ``StoreError`` if it does not fit."""
    packed: bytes | None = None if record_packer is None else record_packer.pack_record(record)
    return pack_record_by_reference(record) if packed is None else packed


def pack_record_by_reference(record: Record) -> bytes:
    """Pack a record in Python: the reference of ``_packing.pyx``, and for records that it does not take."""
    if not {*map(len, record.keys)} <= {KEY_BYTES}:
        raise StoreError(f"The record of {record.url!r} has a key that is not {KEY_BYTES} bytes long.")
    if len(record.identity) > IDENTITY_BYTES:
        raise StoreError(f"The record of {record.url!r} has an identity of more than {IDENTITY_BYTES} bytes.")
    head, parts = VERSION << 5 | min(len(record.sketches), _SKETCHES), [*record.sketches]
    if record.identity:
        head |= _IDENTITY
        parts.append(record.identity)
    if record.cluster:
        head |= _CLUSTER
        parts.append(record.cluster.encode(*_TEXT))
    sizes = _numbers([len(part) for part in parts])
    if len(record.sketches) >= _SKETCHES:
        sizes = _number(len(record.sketches)) + sizes
    seen = low_bits(record.seen)
    body = b"".join((seen, _number(len(record.keys)), *record.keys, sizes, *parts, pack_url_by_reference(record.url)))
    return _PREFIX.pack(head, crc32(body, head)) + body


def unpack_record(value: bytes, milliseconds: int, key: object) -> Record:
    """Return the record that :func:`pack_record` wrote.

    Args:
        value: the bytes.
        milliseconds: the Unix time at which the record was seen, by the server's clock.
        key: where it is stored, for messages.

    Raises:
        DamageError: the value is damaged or has another version.
    """
    record: Record | None = None if record_packer is None else record_packer.unpack_record(value, milliseconds)
    return unpack_record_by_reference(value, milliseconds, key) if record is None else record


def unpack_record_by_reference(value: bytes, milliseconds: int, key: object) -> Record:
    """Unpack a record in Python: the reference of the compiled code, which leaves damaged records to it."""
    if len(value) < MIN_BYTES:
        raise DamageError(f"The record under {key!r} is damaged: only {len(value)} bytes are left of it.")
    head, crc = _PREFIX.unpack_from(value)
    if head >> 5 != VERSION:
        raise DamageError(f"The record under {key!r} is damaged or has layout {head >> 5}, not {VERSION}.")
    if crc != crc32(memoryview(value)[_PREFIX.size :], head):
        raise DamageError(f"The record under {key!r} is damaged: its checksum is wrong.")
    at = _PREFIX.size + _SEEN_BYTES
    low = int.from_bytes(value[_PREFIX.size : at], "big")
    count, at = _read_number(value, at)
    keys = tuple([value[start : start + KEY_BYTES] for start in range(at, at + KEY_BYTES * count, KEY_BYTES)])
    at += KEY_BYTES * count
    sketches = head & _SKETCHES
    if sketches == _SKETCHES:
        sketches, at = _read_number(value, at)
    sizes = []
    for _ in range(sketches + bool(head & _IDENTITY) + bool(head & _CLUSTER)):
        size, at = _read_number(value, at)
        sizes.append(size)
    parts = []
    for size in sizes:
        parts.append(value[at : at + size])
        at += size
    return Record(
        url=unpack_url_by_reference(value[at:]),
        keys=keys,
        sketches=tuple(parts[:sketches]),
        seen=time_seen(low, milliseconds),
        cluster=parts[-1].decode(*_TEXT) if head & _CLUSTER else "",
        identity=parts[sketches] if head & _IDENTITY else b"",
    )


def low_bits(seen: float) -> bytes:
    """Return the part of a time that the milliseconds of a server lack."""
    return (round(seen * _SECOND) % _SEEN_RANGE).to_bytes(_SEEN_BYTES, "big")


def time_seen(low: int, milliseconds: int) -> float:
    """Return the time nearest to the server's that has these low bits; the server's if that is too far from it."""
    near = round(milliseconds * _SECOND / 1000)
    skew = (low - near + _SEEN_RANGE // 2) % _SEEN_RANGE - _SEEN_RANGE // 2
    return (near + skew) / _SECOND if abs(skew) <= MAX_CLOCK_SKEW * _SECOND else milliseconds / 1000


def _numbers(numbers: list[int]) -> bytes:
    return bytes(numbers) if not numbers or max(numbers) < _MANY else b"".join(map(_number, numbers))


def _number(number: int) -> bytes:
    if number > MAX_SIZE:
        raise StoreError(f"A part of a record is too long to be filed: {number} bytes, at most {MAX_SIZE}.")
    return b"%c" % number if number < _MANY else b"%c%b" % (_MANY, number.to_bytes(4, "big"))


def _read_number(value: bytes, at: int) -> tuple[int, int]:
    """Return the number at this place, and where it ends."""
    if value[at] < _MANY:
        return value[at], at + 1
    return int.from_bytes(value[at + 1 : at + 5], "big"), at + 5
