"""Bucket keys: a hash of what a copy would be filed under."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.text.hashing import mix

if TYPE_CHECKING:
    from dedupcrawl.text.hashing import Hashes


def bucket_keys(hashes: Hashes) -> tuple[bytes, ...]:
    """Return 64-bit hashes as distinct keys of 8 bytes, little-endian, in the order of first appearance."""
    packed = mix(hashes.copy()).astype("<u8", copy=False).tobytes()
    return tuple(dict.fromkeys(packed[at : at + 8] for at in range(0, len(packed), 8)))
