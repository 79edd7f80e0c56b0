"""Numbers as a stream of bits: the highest bit of each number and of each byte comes first.

Sorted numbers are stored as the differences of neighbours in the code of R. F. Rice, "Some Practical Universal
Noiseless Coding Techniques", 1979: the quotient by a power of two in unary, and the remainder. For random numbers this
takes 0.03 bits more each than the best code of differences (S. W. Golomb, "Run-length encodings", 1966).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NUMBER_BITS = 16  #: of a sorted number, at most
_PARAMETER_BITS = 4


class BitWriter:
    """Appends numbers to a stream of bits."""

    def __init__(self) -> None:
        self._bits = 1  # the leading 1 keeps zeros behind it

    def write(self, number: int, bits: int) -> None:
        """Append a number of so many bits."""
        self._bits = self._bits << bits | number

    def write_all(self, numbers: Iterable[int], bits: int) -> None:
        """Append numbers of so many bits each."""
        for number in numbers:
            self.write(number, bits)

    def write_sorted(self, numbers: Sequence[int]) -> None:
        """Append ascending numbers below 2 ** ``NUMBER_BITS``, which differ."""
        if not numbers:
            return
        parameter = max((numbers[-1] // len(numbers)).bit_length() - 1, 0)
        self.write(parameter, _PARAMETER_BITS)
        before = -1
        for number in numbers:
            difference, before = number - before - 1, number
            quotient = difference >> parameter
            self.write((1 << quotient + 1) - 2, quotient + 1)
            self.write(difference & (1 << parameter) - 1, parameter)

    def to_bytes(self) -> bytes:
        """Return the stream; zeros fill the last byte."""
        size = self._bits.bit_length() - 1
        stream = self._bits ^ 1 << size
        return (stream << -size % 8).to_bytes((size + 7) // 8, "big")


class BitReader:
    """Reads a stream of bits. ``ValueError`` is raised where it ends too early, or no writer made it."""

    def __init__(self, stream: bytes) -> None:
        self._bits = int.from_bytes(stream, "big")
        self._left = 8 * len(stream)

    def read(self, bits: int) -> int:
        """Return the next number of so many bits."""
        self._left -= bits
        if self._left < 0:
            raise ValueError
        return self._bits >> self._left & (1 << bits) - 1

    def read_all(self, count: int, bits: int) -> list[int]:
        """Return the next numbers of so many bits each."""
        return [self.read(bits) for _ in range(count)]

    def read_sorted(self, count: int) -> list[int]:
        """Return the next ascending numbers."""
        found: list[int] = []
        parameter, number = self.read(_PARAMETER_BITS) if count else 0, -1
        for _ in range(count):
            while self.read(1):
                number += 1 << parameter
            number += 1 + self.read(parameter)
            found.append(number)
        if number >> NUMBER_BITS > 0:
            raise ValueError
        return found

    def end(self) -> None:
        """Check that nothing is left but the zeros that fill the last byte."""
        if self._left >= 8 or self._bits & (1 << self._left) - 1:
            raise ValueError
