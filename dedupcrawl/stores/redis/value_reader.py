"""Reads the parts of a stored value one after the other."""

from __future__ import annotations

MANY = 255  #: a number from which on it takes five bytes, see :mod:`~dedupcrawl.stores.redis.packed_records`
_MORE = 0x80  #: of a byte of a short number: another byte follows
_MAX_SHORT_BYTES, _MAX_SHORT = 5, (1 << 32) - 1  #: of a short number


class ValueReader:
    """Reads the parts of a value. Its methods raise ``ValueError`` where the value ends before the part.

    Args:
        value: the bytes.
        at: where the first part begins.
    """

    def __init__(self, value: bytes, at: int = 0) -> None:
        self._value = value
        self._at = at

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._value) - self._at

    def take(self, size: int) -> bytes:
        """Read a part of this size."""
        if size > self.left:
            raise ValueError(f"a part of {size} bytes where {self.left} are left")
        self._at += size
        return self._value[self._at - size : self._at]

    def byte(self) -> int:
        """Read a byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """Read a number of one byte, or of five."""
        number = self.byte()
        return number if number < MANY else int.from_bytes(self.take(4), "big")

    def count(self, size: int) -> int:
        """Read the number of parts that follow; each has at least ``size`` bytes."""
        count = self.number()
        if count * size > self.left:
            raise ValueError(f"{count} parts where {self.left} bytes are left")
        return count

    def short_number(self) -> int:
        """Read a number below 2^32: seven bits a byte, the lowest first; the highest bit tells that a byte follows."""
        number = 0
        for place in range(_MAX_SHORT_BYTES):
            byte = self.byte()
            number |= (byte & ~_MORE) << 7 * place
            if byte < _MORE and number <= _MAX_SHORT:
                return number
        raise ValueError("a number of more than 32 bits")

    def rest(self) -> bytes:
        """Read all that is left, at least one byte."""
        return self.take(max(1, self.left))
