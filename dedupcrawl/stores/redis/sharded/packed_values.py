"""Values of a sharded namespace: a record with its times, in few bytes.

==========  =====  ======================================================================
field       bytes  meaning
==========  =====  ======================================================================
filed           6  milliseconds of the servers' clock
ago          2, 8  milliseconds from ``seen`` to ``filed``; from ``_FAR`` on, ``seen`` follows
head            1  from the highest bit: ``_LEAN`` (3 bits), whether there is an identity, whether there
                   is a cluster, and of each sketch, from the lowest bit, whether it is empty
crc             4  CRC-32 of all other bytes
low             3  the time seen in units of 1 / 2^22 s, modulo 4 s
identity     0, …  its size in one byte, and the identity
cluster      0, …  its size in one byte, and the name
sketches        …  as the scheme says; of ``minhash`` length and shingles have seven bits a byte, and another
                   byte follows if the highest bit is set
URL             …  the URL, packed by :mod:`~dedupcrawl.stores.redis.packed_urls`
==========  =====  ======================================================================

There are no keys: they are computed from URL and sketches. Whether this is possible is checked for every record when
it is packed. If it is not, the record follows its times as :mod:`~dedupcrawl.stores.redis.packed_records` packs it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

from dedupcrawl.detectors.exact import HASH_BYTES
from dedupcrawl.detectors.minhash import TAG
from dedupcrawl.stores.base import IDENTITY_BYTES, Record, url_key
from dedupcrawl.stores.records import is_time, record_damage
from dedupcrawl.stores.redis.packed_records import low_bits, pack_record, time_seen, unpack_record
from dedupcrawl.stores.redis.packed_urls import decode_text, pack_url, unpack_url
from dedupcrawl.stores.redis.sharded.stored_sketches import stored_sketches
from dedupcrawl.stores.redis.value_reader import ValueReader
from dedupcrawl.stores.validation import parse_scheme
from dedupcrawl.utils.optional import load_extension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dedupcrawl.utils.redaction import SecretSeed

TIME_BYTES = 6  #: milliseconds; a value begins with the time at which it was filed
AHEAD = 1000  #: maximum milliseconds from the filing of a page to the time it was seen: clocks differ
_FAR = 0xFFFF
_AGO = TIME_BYTES + 2
_LEAN = 7 << 5  # no version of packed_records.py
_IDENTITY, _CLUSTER = 16, 8  # bits of the head
_LOW_BYTES = 3
_FIXED = 1 + 4 + _LOW_BYTES
_TEXT = ("utf-8", "surrogatepass")


recent_url_key = lru_cache(maxsize=16)(url_key)  #: key of a page's home, and of its URL when it is packed
compiled: Any  #: packs values, and makes commands and requests; without it Python does
compiled, _why_not = load_extension("dedupcrawl.stores.redis.sharded._commands", 4)


def description() -> str:
    """Return in a few words which code makes commands for a cluster, and why."""
    return f"Python ({_why_not})" if compiled is None else "compiled"


class ValueCodec:
    """Packs and unpacks the values of a namespace.

    Args:
        scheme: of the namespace, as JSON.
        secret: the secret seed that it keeps, if it does.
    """

    def __init__(self, scheme: str, secret: SecretSeed | None = None) -> None:
        self.is_compiled = compiled is not None  #: whether compiled code packs and unpacks
        self._sketches = stored_sketches(parse_scheme(scheme) or {}, secret)

    def pack(self, record: Record, filed: int, seen: int) -> bytes:
        """Return a record as a value; the times are milliseconds of the servers' clock.

        Raises:
            StoreError: the record does not fit.
        """
        cluster = record.cluster.encode(*_TEXT)
        if self._sketches is None or not self._is_lean(record, cluster):
            return _times(filed, seen) + pack_record(record)
        if self.is_compiled:
            url, minhash = pack_url(record.url), self._sketches.minhash
            value: bytes | None = compiled.pack_value(filed, seen, record, cluster, minhash, url)
            if value is not None:
                return value
        return self._pack_lean(record, cluster, _times(filed, seen))

    def _is_lean(self, record: Record, cluster: bytes) -> bool:
        """Whether the keys of a record can be computed, and its parts fit."""
        fits = len(record.identity) <= IDENTITY_BYTES and len(cluster) <= IDENTITY_BYTES
        return fits and self._keys(record.url, record.sketches) == record.keys

    def _pack_lean(self, record: Record, cluster: bytes, times: bytes) -> bytes:
        """Return a record without its keys, as compiled code does."""
        assert self._sketches is not None
        head, parts = _LEAN, [low_bits(record.seen)]
        for part, bit in ((record.identity, _IDENTITY), (cluster, _CLUSTER)):
            if part:
                head |= bit
                parts += (b"%c" % len(part), part)
        for index, sketch in enumerate(record.sketches):
            head |= (not sketch) << index
        body = b"".join((*parts, self._sketches.pack(record.sketches), pack_url(record.url)))
        return times + b"%c%b%b" % (head, _checksum(times, head, body), body)

    def _keys(self, url: str, sketches: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
        """Return the keys of a record; None if not all of its sketches are those of the detectors."""
        assert self._sketches is not None
        keys = self._sketches.keys(sketches)
        return keys if keys is None or not url else (recent_url_key(url), *keys)

    def unpack(self, value: bytes, key: Callable[[], str]) -> Record:
        """Return the record of a value; ``key`` returns where it is stored, for messages.

        Raises:
            DamageError: the value is damaged or has another version.
        """
        seen = seen_in(value)
        if self.is_compiled and self._sketches is not None and is_time(seen / 1000):
            stored = self._sketches
            found = compiled.unpack_value(value, stored.count, stored.minhash, stored.slots, HASH_BYTES, TAG)
            if found is not None:
                low, identity, cluster, sketches, packed = found
                with _record_damage(key):
                    return self._record(unpack_url(packed), sketches, time_seen(low, seen), cluster, identity)
        return self._unpack(value, seen, key)

    def _unpack(self, value: bytes, seen: int, key: Callable[[], str]) -> Record:
        """Unpack a value in Python; the error of a damaged value says what is wrong."""
        start = _start_of(value)
        if self._sketches is None or start + _FIXED >= len(value) or value[start] & _LEAN != _LEAN:
            return unpack_record(value[start:], seen, key())
        head, body = value[start], value[start + 5 :]
        if value[start + 1 : start + 5] != _checksum(value[:start], head, body):
            raise record_damage(key(), "its checksum is wrong")
        if not is_time(seen / 1000):
            raise record_damage(key(), "its time is no date")
        with _record_damage(key):
            parts = ValueReader(body)
            low = int.from_bytes(parts.take(_LOW_BYTES), "big")
            identity, cluster = (parts.take(parts.byte()) if head & bit else b"" for bit in (_IDENTITY, _CLUSTER))
            sketches = self._sketches.unpack(parts, head)
            return self._record(unpack_url(parts.rest()), sketches, time_seen(low, seen), cluster, identity)

    def _record(self, url: str, sketches: tuple[bytes, ...], seen: float, cluster: bytes, identity: bytes) -> Record:
        """Return the record of these parts; raise ``ValueError`` if they are not those of a record."""
        keys = self._keys(url, sketches)
        if keys is None:
            raise ValueError("sketches that the detectors of this store do not make")
        return Record(url, keys, sketches, seen, decode_text(cluster), None, identity)


@contextmanager
def _record_damage(key: Callable[[], str]) -> Iterator[None]:
    """Raise ``DamageError`` for the parts of a record that cannot be read."""
    try:
        yield
    except ValueError as error:
        raise record_damage(key(), f"it has {error}") from None


def _times(filed: int, seen: int) -> bytes:
    ago = filed - seen + AHEAD
    packed = filed.to_bytes(TIME_BYTES, "big")
    return packed + (ago.to_bytes(2, "big") if 0 <= ago < _FAR else b"\xff\xff" + seen.to_bytes(TIME_BYTES, "big"))


def _checksum(times: bytes, head: int, body: bytes) -> bytes:
    return crc32(body, crc32(times, head)).to_bytes(4, "big")


def filed_in(value: bytes) -> int:
    """Return the time at which a value was filed, in milliseconds of the servers' clock."""
    return int.from_bytes(value[:TIME_BYTES], "big")


def seen_in(value: bytes) -> int:
    """Return the time at which a record was seen, in milliseconds of the servers' clock."""
    ago = int.from_bytes(value[TIME_BYTES:_AGO], "big")
    return int.from_bytes(value[_AGO : _AGO + TIME_BYTES], "big") if ago == _FAR else filed_in(value) + AHEAD - ago


def _start_of(value: bytes) -> int:
    return _AGO + TIME_BYTES if value[TIME_BYTES:_AGO] == b"\xff\xff" else _AGO
