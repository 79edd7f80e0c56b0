"""Records as a server keeps them, in as few bytes as possible, because a server keeps all of them in memory.

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
from dedupcrawl.stores.records import is_time, record_damage
from dedupcrawl.stores.redis.packed_urls import (
    decode_text,
    pack_url_by_reference,
    packing,
    unpack_url_by_reference,
    url_packer,
)
from dedupcrawl.stores.redis.value_reader import MANY, ValueReader

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
    record: Record | None = None
    if record_packer is not None and is_time(milliseconds / 1000):
        record = record_packer.unpack_record(value, milliseconds)
    return unpack_record_by_reference(value, milliseconds, key) if record is None else record


def unpack_record_by_reference(value: bytes, milliseconds: int, key: object) -> Record:
    """Unpack a record in Python: the reference of the compiled code, which leaves damaged records to it."""
    if len(value) < MIN_BYTES:
        raise record_damage(key, f"only {len(value)} bytes are left of it")
    head, crc = _PREFIX.unpack_from(value)
    if head >> 5 != VERSION:
        raise DamageError(f"The record under {key!r} is damaged or has layout {head >> 5}, not {VERSION}.")
    if crc != crc32(memoryview(value)[_PREFIX.size :], head):
        raise record_damage(key, "its checksum is wrong")
    if not is_time(milliseconds / 1000):
        raise record_damage(key, "its time is no date")
    try:
        return _parsed(ValueReader(value, _PREFIX.size), head, milliseconds)
    except ValueError as error:
        raise record_damage(key, f"it has {error}") from None


def _parsed(parts: ValueReader, head: int, milliseconds: int) -> Record:
    """Return the record whose parts these are; raise ``ValueError`` if they are not those of a record."""
    low = int.from_bytes(parts.take(_SEEN_BYTES), "big")
    keys = tuple([parts.take(KEY_BYTES) for _ in range(parts.count(KEY_BYTES))])
    sketches = head & _SKETCHES
    if sketches == _SKETCHES:
        sketches = parts.count(1)
    sizes = [parts.number() for _ in range(sketches + bool(head & _IDENTITY) + bool(head & _CLUSTER))]
    found = [parts.take(size) for size in sizes]
    cluster = found.pop() if head & _CLUSTER else b""
    identity = found.pop() if head & _IDENTITY else b""
    if len(identity) > IDENTITY_BYTES:
        raise ValueError(f"an identity of {len(identity)} bytes")
    return Record(
        url=unpack_url_by_reference(parts.rest()),
        keys=keys,
        sketches=tuple(found),
        seen=time_seen(low, milliseconds),
        cluster=decode_text(cluster),
        identity=identity,
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
    return bytes(numbers) if not numbers or max(numbers) < MANY else b"".join(map(_number, numbers))


def _number(number: int) -> bytes:
    if number > MAX_SIZE:
        raise StoreError(f"A part of a record is too long to be filed: {number} bytes, at most {MAX_SIZE}.")
    return b"%c" % number if number < MANY else b"%c%b" % (MANY, number.to_bytes(4, "big"))
