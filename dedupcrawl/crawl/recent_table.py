"""A table that forgets the keys that were not used for longest."""

from __future__ import annotations

from typing import Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")


class RecentTable(Generic[K, V]):
    """A dict that forgets the keys that were not used for longest.

    There are two dicts. A key that is used moves to the young dict. When the young dict is full it becomes the old one,
    and the former old one is forgotten: this costs less than an order of all keys.

    Args:
        most: keys of each of the two dicts, so that ``most`` to twice as many are kept.

    >>> recent = RecentTable[str, int](most=2)
    >>> for number, letter in enumerate("abcd"):
    ...     recent[letter] = number
    >>> recent.get("a"), recent.get("d"), recent.has_forgotten
    (None, 3, True)
    """

    __slots__ = ("_most", "_old", "_young", "has_forgotten")

    def __init__(self, most: int) -> None:
        self._most = most
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self.has_forgotten = False  #: whether any key was forgotten

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def __setitem__(self, key: K, value: V) -> None:
        self._young[key] = value
        if len(self._young) >= self._most:
            self.has_forgotten |= bool(self._old)
            self._young, self._old = {}, self._young

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: V) -> V: ...
    def get(self, key: K, default: V | None = None) -> V | None:
        """Return the value of a key, and count that as use; ``default`` if there is none."""
        young = self._young
        if key in young:
            return young[key]
        if key not in self._old:
            return default
        self[key] = value = self._old[key]
        return value
