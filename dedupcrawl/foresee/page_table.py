"""The pages of a site in little memory: a table of hashes in two arrays, and the URLs of the latest pages.

A dict of integers needs eight times the memory.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_SLOTS = 256  #: of a new table, 16 bytes each
MAX_SLOTS = 1 << 15  #: 512 kB; beyond that new entries replace others
_PROBES = 16  #: slots in which an entry may be
_LOAD = 0.7  #: share of used slots at which a table grows
_MASK = (1 << 64) - 1
_CONTENT_BITS = 32
_FORM_MASK = (1 << 31) - 1
_COUNTED = 1 << 31


class TableEntry(NamedTuple):
    """A page in the table."""

    content: int  #: 32 bits of a hash of its content
    form: int  #: 31 bits of a hash of the form of its URL
    counted: bool = False  #: whether its group is evidence already


class PageTable:
    """Maps hashes to pages. It is bounded: an entry may be lost when the table is full, and is never wrong.

    A hash has 64 bits, so that two of a million entries are confused once in 10^7 crawls.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all entries."""
        self._keys, self._values = (array("Q", bytes(8 * FIRST_SLOTS)) for _ in range(2))
        self._used = 0

    def __len__(self) -> int:
        """The number of entries."""
        return self._used

    @property
    def bytes(self) -> int:
        """The memory of the table."""
        return 16 * len(self._keys)

    def get(self, key: int) -> TableEntry | None:
        """Return the page with this hash."""
        slot = self._slot(key & _MASK or 1)
        if slot < 0 or not self._keys[slot]:
            return None
        value = self._values[slot]
        return TableEntry(value >> _CONTENT_BITS, value & _FORM_MASK, bool(value & _COUNTED))

    def put(self, key: int, entry: TableEntry) -> None:
        """Store a page; it replaces another one of this hash."""
        key = key & _MASK or 1
        slot = self._slot(key)
        while (slot < 0 or self._used > _LOAD * len(self._keys)) and len(self._keys) < MAX_SLOTS:
            self._grow()
            slot = self._slot(key)
        slot = slot if slot >= 0 else self._home(key)
        self._used += not self._keys[slot]
        self._keys[slot] = key
        counted = _COUNTED if entry.counted else 0
        self._values[slot] = (entry.content & 0xFFFFFFFF) << _CONTENT_BITS | counted | entry.form & _FORM_MASK

    def _home(self, key: int) -> int:
        return (key ^ key >> 32) & (len(self._keys) - 1)

    def _slot(self, key: int) -> int:
        """Return the slot of a key, or the free one where it would be; -1 if others are in all of its slots."""
        keys, slot, last = self._keys, self._home(key), len(self._keys) - 1
        for _ in range(_PROBES):
            if keys[slot] == key or not keys[slot]:
                return slot
            slot = (slot + 1) & last
        return -1

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._keys, self._values = (array("Q", bytes(16 * len(keys))) for _ in range(2))
        for key, value in zip(keys, values, strict=True):
            if key:
                slot = self._slot(key)
                slot = slot if slot >= 0 else self._home(key)
                self._keys[slot], self._values[slot] = key, value
        self._used = sum(map(bool, self._keys))


class LatestPage(NamedTuple):
    """A page that was learnt last."""

    url: str
    purpose: str
    content: int  #: 32 bits of a hash of its content


class LatestPages:
    """The pages that were learnt last, with their URLs.

    Args:
        size: number of pages; a new one replaces the oldest.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._contents = array("I")
        self._pages: list[bytes] = []  # purpose and URL: one object takes half the memory of a tuple with both
        self._next = 0

    def __iter__(self) -> Iterator[LatestPage]:
        """Yield the pages, the oldest first."""
        for index in (*range(self._next, len(self._pages)), *range(self._next)):
            yield self._page(index)

    def add(self, page: LatestPage) -> None:
        """Add a page."""
        packed = f"{page.purpose}\0{page.url}".encode("utf-8", "surrogatepass")
        if len(self._pages) < self._size:
            self._pages.append(packed)
            self._contents.append(page.content)
            return
        self._pages[self._next], self._contents[self._next] = packed, page.content
        self._next = (self._next + 1) % self._size

    def with_content(self, content: int) -> list[LatestPage]:
        """Return the pages with this content, the oldest first."""
        if content not in self._contents:
            return []
        return [page for page in self if page.content == content]

    def _page(self, index: int) -> LatestPage:
        purpose, _, url = self._pages[index].decode("utf-8", "surrogatepass").partition("\0")
        return LatestPage(url, purpose, self._contents[index])
