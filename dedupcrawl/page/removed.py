"""A signature of the text that a reader removed from a page of which it read less than half.

The main text of such a page may be a common introduction, and what tells the page from others was removed: entries of
a guestbook, cells of a table, a side column. :mod:`dedupcrawl.little_read` compares two signatures.

The first byte is how many times longer than the compared text the removed one is, in sixteenths. The others have one
bit for each of 40 partitions of the removed text's shingles, of the lowest hash in it (Li, König: *b-Bit Minwise
Hashing*, 2010; one permutation, Li, Owen, Zhang 2012). Links do not count: nearly all of them are navigation.
"""

from __future__ import annotations

import numpy as np

REMOVED_BYTES = 6  #: of a signature
PARTS = 8 * (REMOVED_BYTES - 1)  #: partitions, a bit each
UNIT = 16  #: of the first byte
#: If more was read, it is no small part: the comments on a long article may be longer (docs/methods.md, "Little read").
MAX_READ_BYTES = 6000

_SHINGLE = 16  #: bytes: about three words, or five Chinese characters
_MANY = 4096  #: of more shingles only the lowest hashes are sorted
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def removed_signature(texts: list[str], read: int) -> bytes:
    """Return the signature of removed texts; b"" if they are shorter than what was read, or if that is long.

    Args:
        texts: the removed texts, in reading order.
        read: bytes of the text of the page that is compared.
    """
    if not texts or read > MAX_READ_BYTES:
        return b""
    text = " ".join(texts).lower().encode("utf-8", "replace")
    if len(text) < max(read, _SHINGLE):
        return b""
    ratio = min(255, UNIT * len(text) // max(1, read))
    return bytes((ratio,)) + _lowest_bits(text)


def _lowest_bits(text: bytes) -> bytes:
    words = [np.frombuffer(text, "<u8", (len(text) - at) // 8, at) for at in range(8)]
    hashes = np.concatenate([(each[:-1] * _MULTIPLIERS[0] ^ each[1:]) * _MULTIPLIERS[1] for each in words])
    hashes = (hashes ^ hashes >> _HALF) * _MULTIPLIERS[0]
    parts, values = (hashes >> _HALF) * np.uint64(PARTS) >> _HALF, hashes & _LOW
    if len(hashes) > _MANY:
        low = values < np.uint64((_MANY << 32) // len(hashes))
        parts, values = parts[low], values[low]
    order = np.sort(parts << _HALF | values)
    first = np.searchsorted(order, np.arange(PARTS, dtype=np.uint64) << _HALF)
    found = order[np.minimum(first, len(order) - 1)]
    bits = (found >> _HALF == np.arange(PARTS, dtype=np.uint64)) & (found & np.uint64(1) == 1)
    return np.packbits(bits).tobytes()
