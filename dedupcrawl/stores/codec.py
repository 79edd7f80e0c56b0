"""Records as bytes: a fixed head, then the parts one after another; no pickle.

===========  =====  ==========================================
field        bytes  meaning
===========  =====  ==========================================
version          1  ``VERSION``
crc              4  CRC-32 of all bytes that follow
seen             8  Unix time, IEEE 754 double
keys             2  number of keys
sketches         1  number of sketches
url              4  bytes of the URL
cluster          4  bytes of the cluster
identity         1  bytes of the identity
lengths        4·n  bytes of each sketch
parts               keys, sketches, identity, URL, cluster
===========  =====  ==========================================

All numbers are big-endian, texts are UTF-8. ``probes`` are not stored.
"""

from __future__ import annotations

import struct
from itertools import accumulate, pairwise
from struct import Struct
from zlib import crc32

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import IDENTITY_BYTES, KEY_BYTES, Record

VERSION = 4
_PREFIX = Struct(">BI")  # version, crc
_HEAD = Struct(">dHBIIB")  # seen to identity
_SEEN = Struct(">d")
_KEY_SIZES = {KEY_BYTES}
_TEXT_ENCODING = ("utf-8", "surrogatepass")


def encode(record: Record) -> bytes:
    """Return a record as bytes.

    Raises:
        StoreError: a key is not ``KEY_BYTES`` long, the identity is longer than ``IDENTITY_BYTES``, or the
            record has more parts than the layout can count.
    """
    if not {*map(len, record.keys)} <= _KEY_SIZES:
        raise StoreError(f"The record of {record.url!r} has a key that is not {KEY_BYTES} bytes long.")
    if len(record.identity) > IDENTITY_BYTES:
        raise StoreError(f"The record of {record.url!r} has an identity of more than {IDENTITY_BYTES} bytes.")
    url, cluster = record.url.encode(*_TEXT_ENCODING), record.cluster.encode(*_TEXT_ENCODING)
    counts = (len(record.keys), len(record.sketches), len(url), len(cluster), len(record.identity))
    try:
        head = _HEAD.pack(record.seen, *counts)
    except struct.error as error:
        raise StoreError(f"The record of {record.url!r} has too many parts to be filed: {error}.") from error
    lengths = struct.pack(f">{len(record.sketches)}I", *map(len, record.sketches))
    body = b"".join((head, lengths, *record.keys, *record.sketches, record.identity, url, cluster))
    return _PREFIX.pack(VERSION, crc32(body)) + body


def decode(value: bytes, key: object) -> Record:
    """Return the record that :func:`encode` wrote; ``key`` is where it is stored, for the message.

    Raises:
        DamageError: the value is damaged or has another version.
    """
    _check(value, key)
    seen, keys, sketches, url, cluster, identity = _HEAD.unpack_from(value, _PREFIX.size)
    start = _PREFIX.size + _HEAD.size
    lengths = [int.from_bytes(value[at : at + 4], "big") for at in range(start, start + 4 * sketches, 4)]
    sizes = (*(KEY_BYTES,) * keys, *lengths, identity, url, cluster)
    cuts = accumulate(sizes, initial=start + 4 * sketches)
    parts = [value[left:right] for left, right in pairwise(cuts)]
    return Record(
        url=parts[-2].decode(*_TEXT_ENCODING),
        keys=tuple(parts[:keys]),
        sketches=tuple(parts[keys:-3]),
        seen=seen,
        cluster=parts[-1].decode(*_TEXT_ENCODING),
        identity=parts[-3],
    )


def decode_seen(value: bytes, key: object) -> float:
    """Return only the Unix time at which an encoded record was seen, without verifying its checksum."""
    _check_length(value, key)
    time: float = _SEEN.unpack_from(value, _PREFIX.size)[0]
    return time


def is_intact(value: bytes) -> bool:
    """Whether :func:`decode` accepts these bytes."""
    try:
        _check(value, "")
    except DamageError:
        return False
    return True


def _check(value: bytes, key: object) -> None:
    _check_length(value, key)
    version, crc = _PREFIX.unpack_from(value)
    if version != VERSION:
        raise DamageError(f"The record under {key!r} is damaged or has layout {version}, not {VERSION}.")
    if crc != crc32(memoryview(value)[_PREFIX.size :]):
        raise DamageError(f"The record under {key!r} is damaged: its checksum is wrong.")


def _check_length(value: bytes, key: object) -> None:
    if len(value) < _PREFIX.size + _HEAD.size:
        raise DamageError(f"The record under {key!r} is damaged: only {len(value)} bytes are left of it.")
