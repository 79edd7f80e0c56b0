"""Bytes that can be put back: behind damage, what was read in vain is read once more."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.unpacking import PackedError

if TYPE_CHECKING:
    from dedupcrawl.batch.formats.unpacking import Unpacked

NEWLINES = (b"\r\n", b"\n")
_LINE = 1 << 16
_BUFFER = 1 << 20


class Source:
    """Bytes that can be put back."""

    def __init__(self, raw: Unpacked) -> None:
        self._raw = raw
        self._file = io.BufferedReader(raw, _BUFFER)
        self._back = b""  # put back
        self._at = 0  # bytes of it that were read again
        self.place = 0  #: bytes that were read, and not put back

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, count: int) -> bytes:
        """Return so many bytes, or what there is."""
        data = self._back[self._at : self._at + count]
        self._at += len(data)
        if len(data) < count:
            data += self._file.read(count - len(data))
        self.place += len(data)
        return data

    def readline(self, most: int) -> bytes:
        """Return a line with its end, or the first bytes of one that is longer; nothing at the end."""
        end = self._back.find(b"\n", self._at, self._at + most) + 1
        line = self._back[self._at : end or self._at + most]
        self._at += len(line)
        if not end and len(line) < most:
            line += self._file.readline(most - len(line))
        self.place += len(line)
        return line

    def push(self, data: bytes) -> None:
        """Put bytes back that were the last to be read."""
        self.place -= len(data)
        if self._back.endswith(data, 0, self._at):  # no copy of what may be large
            self._at -= len(data)
        else:
            self._back, self._at = data + self._back[self._at :], 0

    def skip_newlines(self) -> None:
        """Go on to the next record. That it cannot be read is its own trouble: asked again, it tells."""
        try:
            while (line := self.readline(_LINE)) in NEWLINES:
                continue
        except PackedError:
            return
        self.push(line)

    def ends(self) -> bool:
        """Read two line ends, or the end of the file; anything else is put back."""
        first, second = self.readline(_LINE), self.readline(_LINE)
        ended = first in (*NEWLINES, b"") and second in (*NEWLINES, b"")
        if not ended:
            self.push(first + second)
        return ended

    def start_at(self, place: int) -> int | None:
        """Return where in the file a frame, or a plain byte, of this place in the bytes is."""
        return self._raw.frame_at(place)

    def is_broken(self, since: int) -> bool:
        """Whether bytes are missing from this place on, as far as it was read."""
        return any(since <= each < self.place for each in self._raw.breaks)
