"""Small signatures of a page, and their comparison: of its layout, of the text that was not read, and of its files.

Similar pages fall into four classes (patent CN101645082): the same or part of the content, in the same or another
layout. The relation of a verdict gives the content, and the signatures of two layouts the rest.

The layout is four bytes: which elements are at the beginning of the page and around its main text. Each byte is the
hash of some start tags: of the first containers of the page, of the next ones, of the outer containers of the main
text, and of the inner ones. Of a start tag count the tag, the class and the id, without digits. The content of the page
does not matter.

The text that a reader removed has a signature if less than half of the page was read. The main text of such a page may
be a common introduction, and the text that tells the page from others was removed: entries of a guestbook, cells of a
table, a side column. The first byte is the length of the removed text, relative to the compared text, in sixteenths.
The others have one bit for each of 40 partitions of the removed text's shingles, a bit of the lowest hash in it (Li,
König: *b-Bit Minwise Hashing*, 2010; one permutation, Li, Owen, Zhang 2012). Links do not count: nearly all are
navigation. If most of the removed text of two pages differs, the matching text may be the beginning of all pages of the
site. Then the new page is kept as ``unchecked(little-read)``.

A page that lists files, such as the tracks of an album, has a signature of the words in that list: the lowest hashes
(Broder 1997) and their number. A long introduction hides the list from the sketches of the text.

``Record.identity`` begins with the signature of the layout (4 bytes, 0 if it is unknown), followed by the sketch of
:mod:`dedupcrawl.identity.identity_sketch`. The signature of files comes next, with its size at its end; the highest bit
of the second byte is set then. If less than half of the page was read, the signature of the removed text is at the end;
the highest bit of the first byte is set then.
"""

from __future__ import annotations

import math
import re
import unicodedata
from struct import pack, unpack
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from dedupcrawl.page.rules import FILE_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAYOUT_BYTES = 4  #: of a signature

# Chosen on pairs of pages of wcxb (docs/methods-reading.md, "Layout").
FIRST = 4  #: number of the first containers of a page
NEXT = 8  #: number of these and the next ones
INNER = 3  #: containers around the main text that are inner ones

_MAX_AROUND = 64  #: containers around the main text that are used, the innermost ones
_DIGITS = b"0123456789"
_ELEMENT, _PART = "\0", "\1"  #: separators: a parsed page does not contain them


def layout_signature(elements: Sequence[str], parents: Sequence[int], main: int) -> bytes:
    """Return the signature of a page, 4 bytes.

    Args:
        elements: for each container its start tag as ``tag class id``, see :mod:`dedupcrawl.page.blocks`.
        parents: for each container the index of its parent, -1 for the first.
        main: index of the container of the main text, -1 if there is none.
    """
    around: list[str] = []
    while main >= 0 and len(around) < _MAX_AROUND:
        around.append(elements[main])
        main = parents[main]
    # Where a part is empty, the whole takes its place: two empty parts would be equal.
    parts = (
        elements[:FIRST],
        elements[FIRST:NEXT] or elements,
        around[INNER:] or around or elements,
        around[:INNER] or elements,
    )
    joined = _PART.join(map(_ELEMENT.join, parts)).encode("utf-8", "replace").translate(None, _DIGITS)
    first, second, *others = [crc32(part) & 0xFF for part in joined.split(_PART.encode())]
    return bytes([first & 0x7F, second & 0x7F, *others])  # the highest bits are left for :func:`with_layout`


REMOVED_BYTES = 6  #: of a signature
PARTS = 8 * (REMOVED_BYTES - 1)  #: partitions, a bit each
UNIT = 16  #: of the first byte
#: A longer text that was read is no small part: the comments on a long article may be longer
#: (docs/methods-reading.md, "Little read").
MAX_READ_BYTES = 6000

_SHINGLE = 16  #: bytes: about three words, or five Chinese characters
_MANY = 4096  #: of more shingles only the lowest hashes are sorted
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def removed_signature(texts: list[str], read: int) -> bytes:
    """Return the signature of removed texts; b"" if they are shorter than the text that was read, or if that is long.

    Args:
        texts: the removed texts, in reading order.
        read: bytes of the text of the page that is compared.
    """
    if not texts or read > MAX_READ_BYTES:
        return b""
    joined, least = " ".join(texts), max(read, _SHINGLE)
    if joined.isascii() and len(joined) < least:
        return b""  # its length is known without another string
    text = joined.lower().encode("utf-8", "replace")
    if len(text) < least:
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


MAX_FILE_WORDS = 8  #: hashes of words in a signature of files
_file_words = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


#: The size, the length or the format of a file.
_file_facts = re.compile(
    rf"(?<![^\W_])(?:\d+(?:[.,]\d+)? ?(?:[kmg]i?b|bytes?)|\d+:\d\d(?: ?min)?|{'|'.join(sorted(FILE_TYPES))})(?![^\W_])"
)


def files_signature(texts: Sequence[str]) -> bytes:
    """Return the signature of the lists of files of a page; b"" without a word.

    It is the number of different words, at most 255, and the lowest hashes, two bytes each. A character of a script
    without spaces is a word.

    Sizes and formats do not count.

    Args:
        texts: labels of the files, and what describes them.
    """
    labels = unicodedata.normalize("NFKC", "\n".join(texts)).casefold()
    words = {*_file_words.findall(_file_facts.sub(" ", labels))}
    hashes = sorted({crc32(word.encode("utf-8", "replace")) & 0xFFFF for word in words})
    return bytes((min(len(hashes), 255),)) + pack(f">{len(kept)}H", *kept) if (kept := hashes[:MAX_FILE_WORDS]) else b""


# -- comparison of signatures -------------------------------------------------------------------

EVIDENCE = "layout"  #: key of the evidence of a verdict
SAME, OTHER = "same", "other"
MIN_EQUAL_PARTS = 2  #: of four, measured on pairs of pages of wcxb (docs/methods-reading.md, "Layout")

_UNKNOWN = bytes(LAYOUT_BYTES)
_FLAG = 0x80  #: bit that no layout has: of its first byte with removed text, of its second byte with files
_REMOVED_AT, _FILES_AT = 0, 1


def with_layout(layout: bytes, sketch: bytes, removed: bytes = b"", files: bytes = b"") -> bytes:
    """Return the identity to store: the signatures of layout, files and removed text around a sketch.

    Each may be b"". Without a sketch there are neither files nor removed text.
    """
    if not sketch:
        return layout
    head, behind = bytearray(layout or _UNKNOWN), removed
    if removed:
        head[_REMOVED_AT] |= _FLAG
    if files:
        head[_FILES_AT] |= _FLAG
        behind = files + bytes((len(files),)) + removed
    return bytes(head) + sketch + behind


def without_layout(identity: bytes) -> bytes:
    """Return the sketch in a stored identity, b"" if there is none."""
    sketch, files = _sketch_and_files(identity), files_part(identity)
    return sketch[: -1 - len(files)] if files else sketch


def _sketch_and_files(identity: bytes) -> bytes:
    return identity[LAYOUT_BYTES:-REMOVED_BYTES] if _has_removed(identity) else identity[LAYOUT_BYTES:]


def removed_part(identity: bytes) -> bytes:
    """Return the signature of removed text in a stored identity, b"" if there is none."""
    return identity[-REMOVED_BYTES:] if _has_removed(identity) else b""


def files_part(identity: bytes) -> bytes:
    """Return the signature of files in a stored identity, b"" if there is none, or it is damaged."""
    if len(identity) <= LAYOUT_BYTES or identity[_FILES_AT] < _FLAG:
        return b""
    found = _sketch_and_files(identity)
    size = found[-1]
    is_sound = size % 2 == 1 and 1 < size <= 1 + 2 * MAX_FILE_WORDS and len(found) > size + 1
    return found[-1 - size : -1] if is_sound else b""


def has_sound_layout(identity: bytes) -> bool:
    """Return whether a stored identity is empty or begins with a whole layout; removed text follows only a sketch."""
    if len(identity) < LAYOUT_BYTES:
        return not identity
    is_sound = identity[_REMOVED_AT] < _FLAG or _has_removed(identity)
    return is_sound and (identity[_FILES_AT] < _FLAG or bool(files_part(identity)))


def _has_removed(identity: bytes) -> bool:
    return len(identity) > LAYOUT_BYTES + REMOVED_BYTES and identity[_REMOVED_AT] >= _FLAG


#: Share of the words in its list of files that each page must have for itself.
MIN_OTHER_FILES = 0.5


def have_other_files(new: bytes, old: bytes) -> bool:
    """Return whether two pages list other files: most words of each list are certainly not in the other.

    Args:
        new: stored identity of one page, see :func:`with_layout`.
        old: that of the other.
    """
    mine, others = files_part(new), files_part(old)
    return bool(mine and others) and min(_own_share(mine, others), _own_share(others, mine)) >= MIN_OTHER_FILES


def _own_share(mine: bytes, other: bytes) -> float:
    """Return the share of the words of one list that the other certainly lacks, 0…1, of those that can be compared."""
    words, others = (unpack(f">{len(part) // 2}H", part[1:]) for part in (mine, other))
    end = 1 << 16 if other[0] == len(others) else others[-1]
    seen = [word for word in words if word <= end]
    return sum(word not in others for word in seen) / len(seen) if seen else 0.0


def compare_layouts(new: bytes, old: bytes) -> str:
    """Return "same" or "other" for two stored identities, "" if the layout of a page is unknown."""
    if new[:LAYOUT_BYTES] == old[:LAYOUT_BYTES] and len(new) >= LAYOUT_BYTES and new[0] & ~_FLAG:
        return SAME  # as nearly all pages of a template
    first, second = _layout_of(new), _layout_of(old)
    if _UNKNOWN in (first, second) or not (first and second):
        return ""
    equal = sum(mine == other for mine, other in zip(first, second, strict=True))
    return SAME if equal >= MIN_EQUAL_PARTS else OTHER


def _layout_of(identity: bytes) -> bytes:
    layout = identity[:LAYOUT_BYTES]
    return bytes((layout[0] & ~_FLAG, layout[1] & ~_FLAG)) + layout[2:] if len(layout) == LAYOUT_BYTES else b""


def evidence_with_layout(evidence: Mapping[str, object], new: bytes, old: bytes) -> Mapping[str, object]:
    """Return the evidence of a match, with the comparison of the layouts in two stored identities."""
    layout = compare_layouts(new, old)
    return {**evidence, EVIDENCE: layout} if layout else evidence


LITTLE_READ = "little-read"  #: reason of an unchecked page
#: Minimum removed text that only one page has, as a share of what was read of it. The page may then be another one.
MIN_OWN = 0.5


def is_little_read(new: bytes, old: bytes) -> bool:
    """Return whether most of the text that was removed from two pages differs.

    Args:
        new: stored identity of one page, see :func:`with_layout`.
        old: that of the other.
    """
    mine, other = removed_part(new), removed_part(old)
    if not mine or not other:
        return False
    shared = (mine[0] + other[0]) / UNIT * _resemblance(mine[1:], other[1:])
    return min(mine[0], other[0]) / UNIT - shared >= MIN_OWN


def _resemblance(mine: bytes, other: bytes) -> float:
    """Return the shared part of two texts, 0…0.5 of the length of both together.

    Of unlike texts half of the bits agree. For the resemblance J, the share of both is J / (1 + J). In doubt it is
    lower: J less one standard error, which is 0 for equal texts.
    """
    equal = PARTS - (int.from_bytes(mine, "big") ^ int.from_bytes(other, "big")).bit_count()
    estimate = 2 * equal / PARTS - 1
    resemblance = max(0.0, estimate - math.sqrt((1 - estimate * estimate) / PARTS))
    return resemblance / (1 + resemblance)
