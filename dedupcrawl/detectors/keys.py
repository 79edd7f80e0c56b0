"""Bucket keys: a hash of what a copy would be filed under."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.text.hashing import mix

if TYPE_CHECKING:
    from dedupcrawl.text.hashing import Hashes


_BYTES = 8


def bucket_keys(hashes: Hashes) -> tuple[bytes, ...]:
    """Return 64-bit hashes as distinct keys of 8 bytes, little-endian, in the order of first appearance."""
    return bucket_keys_of_many(hashes[None])[0]


def bucket_keys_of_many(hashes: Hashes) -> list[tuple[bytes, ...]]:
    """Return such keys for each row of 64-bit hashes."""
    packed = mix(hashes.copy()).astype("<u8", copy=False).tobytes()
    step = _BYTES * hashes.shape[1]
    return [
        tuple(dict.fromkeys([packed[at : at + _BYTES] for at in range(row, row + step, _BYTES)]))
        for row in range(0, len(packed), step)
    ]
