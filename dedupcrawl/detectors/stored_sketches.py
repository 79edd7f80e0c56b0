"""What can be computed from stored sketches by the scheme of a store alone: their keys, and fewer bytes for them.

A store knows no detectors: its scheme names the constants that shape keys and sketches, and not those that only
compare. :class:`~dedupcrawl.detectors.exact.Exact` and :class:`~dedupcrawl.detectors.minhash.MinHash` are known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.detectors.exact import HASH_BYTES, Exact
from dedupcrawl.detectors.minhash import HEADER, TAG, MinHash
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.text.secret_seed import SECRET
from dedupcrawl.text.shingles import MASK64, seeded_constants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.text.secret_seed import SecretSeed

_LOW, _MORE = 0x7F, 0x80  # bits of a byte of a number: seven of the number, and whether another byte follows
_M1, _M2 = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53  # of MurmurHash3, as ``mix`` of text/shingles.py


class StoredSketches(Protocol):
    """The sketches of one detector."""

    def keys(self, sketch: bytes) -> tuple[bytes, ...] | None:
        """Return the keys of the detector for this page; None if it did not make this sketch."""

    def pack(self, sketch: bytes) -> bytes:
        """Return a sketch in fewer bytes, if it has keys."""

    def unpack(self, data: bytes, at: int) -> tuple[bytes, int]:
        """Return the sketch that begins here, and where it ends."""


class _ExactSketches:
    def __init__(self, *, is_key: bool = True) -> None:
        self._is_key = is_key  # else the hash only shows whether a text has changed

    def keys(self, sketch: bytes) -> tuple[bytes, ...] | None:
        if len(sketch) != HASH_BYTES:
            return None
        return (sketch,) if self._is_key else ()

    def pack(self, sketch: bytes) -> bytes:
        return sketch

    def unpack(self, data: bytes, at: int) -> tuple[bytes, int]:
        return data[at : at + HASH_BYTES], at + HASH_BYTES


class _MinHashSketches:
    def __init__(self, slots: int, bands: int, rows: int, seed: int) -> None:
        self._slots, self._size = slots, HEADER.size + slots
        factors = [int(each) for each in seeded_constants(seed, "row", rows)]
        self._rows = [[factor * slot for slot in range(256)] for factor in factors]
        self._bands = [int(each) for each in seeded_constants(seed, "band", bands)]

    def keys(self, sketch: bytes) -> tuple[bytes, ...] | None:
        """As ``band_keys`` of lsh.py, in half the time for a single sketch."""
        if len(sketch) != self._size or sketch[0] != TAG:
            return None
        found: dict[bytes, None] = {}
        at = HEADER.size
        for band in self._bands:
            key = band
            for row in self._rows:
                key += row[sketch[at]]
                at += 1
            key &= MASK64
            key = (key ^ key >> 33) * _M1 & MASK64
            key = (key ^ key >> 33) * _M2 & MASK64
            found[(key ^ key >> 33).to_bytes(8, "little")] = None
        return tuple(found)

    def pack(self, sketch: bytes) -> bytes:
        _, length, shingles = HEADER.unpack_from(sketch)
        return _number(length) + _number(shingles) + sketch[HEADER.size :]

    def unpack(self, data: bytes, at: int) -> tuple[bytes, int]:
        length, at = _read_number(data, at)
        shingles, at = _read_number(data, at)
        end = at + self._slots
        return HEADER.pack(TAG, length, shingles) + data[at:end], end


def stored_sketches(scheme: Mapping[str, Any], secret: SecretSeed | None) -> tuple[StoredSketches, ...] | None:
    """Return what reads the sketches of a record, in order; None if a detector is not known here.

    Args:
        scheme: of the store, by name of detector (:func:`~dedupcrawl.detectors.registry.schemes`).
        secret: the secret seed that the store keeps, if it does.
    """
    names = [name for name in DETECTORS if name in scheme]
    if not names or not {*names} <= {Exact.name, MinHash.name}:
        return None
    found: list[StoredSketches] = []
    for name in names:
        constants = scheme[name]
        seed = secret if constants.get("seed") == SECRET else constants.get("seed")
        if constants.get("version") != 1 or seed is None:
            return None
        if name == Exact.name:
            found.append(_ExactSketches())
        else:
            found.append(_MinHashSketches(constants["slots"], constants["bands"], constants["rows"], int(seed)))
    if Exact.name not in names:  # each record has the hash of its text; see ``Fingerprinter``
        found.append(_ExactSketches(is_key=False))
    return tuple(found)


def _number(number: int) -> bytes:
    found = bytearray()
    while number > _LOW:
        found.append(number & _LOW | _MORE)
        number >>= 7
    found.append(number)
    return bytes(found)


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins here, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & _LOW) << shift
        if byte <= _LOW:
            return number, at
        shift += 7
