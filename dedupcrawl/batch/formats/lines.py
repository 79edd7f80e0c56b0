"""Files of lines: cut into lines of a bounded length."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import MOST_BYTES, PartError
from dedupcrawl.batch.formats.unpacking import PackedError, Unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.batch.formats.base import Part

MARK = b"\xef\xbb\xbf"  #: of UTF-8, which some programs set before the first line
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_BUFFER = 1 << 18


class Lines:
    """The lines of a part, those with nothing in them left out; None stands for one that is too long.

    Iterating raises :class:`~dedupcrawl.batch.formats.base.PartError` where the rest cannot be read; a line
    that was cut off there is part of that rest.
    """

    def __init__(self, part: Part, most: int = MOST_BYTES) -> None:
        self._path = part.path
        self._most = most
        self.count = 0  #: lines that were given
        self.read = 0  #: bytes of the file that were taken for them

    def __iter__(self) -> Iterator[bytes | None]:
        try:
            with Unpacked(self._path) as raw, io.BufferedReader(raw, _BUFFER) as file:
                for line in self._lines(file):
                    self.read = raw.taken
                    yield line
                    self.count += 1
        except (PackedError, OSError) as error:
            raise PartError(str(self._path), self.count, str(error)) from error

    def _lines(self, file: io.BufferedReader[Unpacked]) -> Iterator[bytes | None]:
        if file.peek(2)[:2] in _WIDE:
            raise PackedError("it is UTF-16; lines of JSON are UTF-8")
        first = True
        while line := file.readline(self._most + 1):
            if len(line) > self._most and not line.endswith(b"\n"):
                _skip_line(file)
                yield None
            elif (line.removeprefix(MARK) if first else line).strip():
                yield line
            first = False


def _skip_line(file: io.BufferedReader[Unpacked]) -> None:
    while line := file.readline(_BUFFER):
        if line.endswith(b"\n"):
            return
