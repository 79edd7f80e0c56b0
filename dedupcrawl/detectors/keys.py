"""Bucket keys: a hash of what a copy would be filed under, in the space of one detector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.text.hashing import mix

if TYPE_CHECKING:
    from dedupcrawl.text.hashing import Hashes

KEY_BYTES = 6  #: 2^48 buckets; what :data:`dedupcrawl.stores.base.KEY_BYTES` asks for


def bucket_keys(hashes: Hashes) -> tuple[bytes, ...]:
    """Cut 64-bit hashes down to distinct keys; the order of first appearance is kept.

    The caller has mixed in the detector's own constants, so that detectors do not share buckets.
    """
    packed = mix(hashes.copy()).astype("<u8", copy=False).tobytes()
    return tuple(dict.fromkeys(packed[at : at + KEY_BYTES] for at in range(0, len(packed), 8)))
