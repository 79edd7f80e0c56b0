"""Packed files as streams: gzip of several members, Zstandard of several frames, or plain."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from _typeshed import WriteableBuffer

PACKINGS = (".gz", ".zst")
_READ_BYTES = 1 << 16
#: A frame of Zstandard can unpack to 32,000 times its size: so much is unpacked at a time at most, of it.
_FRAME_BYTES = 1 << 13
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


class PackedError(ValueError):
    """A packed file is damaged, or cut off."""


def packing_of(path: Path) -> str:
    """Return the suffix of a packing, or "" for a plain file."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKINGS else ""


class _Frame(Protocol):
    """One member of gzip, or one frame of Zstandard, that is being unpacked."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, /) -> bytes: ...


class Unpacked(io.RawIOBase):
    """The bytes in a file. Raises :class:`PackedError` behind the last that can be unpacked."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb", buffering=0)
        self._packing = packing_of(path)
        self._start, self._step = _unpacker(self._packing)
        self._frame: _Frame | None = None
        self._packed = b""  # read, and not unpacked
        self._unpacked = memoryview(b"")  # unpacked, and not asked for
        self._frames = 0
        self.given = 0  #: bytes that were asked for
        self.taken = 0  #: bytes of the file that were unpacked
        self._made = 0  # bytes that were unpacked
        self.starts: list[
            tuple[int, int]
        ] = []  #: of each frame: where it starts when unpacked, and in the file

    def readable(self) -> bool:
        """It can be read."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a part of the buffer; 0 is the end."""
        space = memoryview(buffer).cast("B")
        while not self._unpacked:
            more = self._more()
            if more is None:
                return 0
            self._unpacked = memoryview(more)
        count = min(len(space), len(self._unpacked))
        space[:count] = self._unpacked[:count]
        self._unpacked = self._unpacked[count:]
        self.given += count
        return count

    def _more(self) -> bytes | None:
        """Unpack a step; None at the end."""
        if not self._packed:
            self._packed = self._file.read(_READ_BYTES)
        if not self._packing:
            data, self._packed = self._packed, b""
            self.taken += len(data)
            return data or None
        if self._frame is None and not self._begin():
            return None
        if not self._packed:
            raise PackedError("it is cut off: the packed data has no end")
        return self._unpack()

    def _begin(self) -> bool:
        """Begin the next frame, if there is one. What is filled up with zeros has ended."""
        while self._frames and self._packing == ".gz" and self._packed:
            padding = len(self._packed) - len(self._packed.lstrip(b"\0"))
            if not padding:
                break
            self.taken += padding
            self._packed = self._packed[padding:] or self._file.read(_READ_BYTES)
        if not self._packed:
            return False
        self._frame = self._start()
        self._frames += 1
        self.starts.append((self._made, self.taken))
        return True

    def _unpack(self) -> bytes:
        frame = self._frame
        assert frame is not None
        step, rest = self._packed[: self._step], self._packed[self._step :]
        try:
            data = frame.decompress(step)
        except Exception as error:
            if not isinstance(error, zlib.error | ValueError) and "Zstd" not in type(error).__name__:
                raise
            raise PackedError(f"the packed data is damaged: {error}") from error
        self._packed = rest
        unused = frame.unused_data if frame.eof else b""
        if frame.eof:
            self._packed = unused + rest
            self._frame = None
        self.taken += len(step) - len(unused)
        self._made += len(data)
        return data


def _unpacker(packing: str) -> tuple[Any, int]:
    if packing == ".zst":
        return zstandard().ZstdDecompressor().decompressobj, _FRAME_BYTES
    # One that knows gzip's head and check. 8 kB unpack to 8 MB at most.
    return lambda: zlib.decompressobj(31), _FRAME_BYTES


@contextmanager
def packed_to(path: Path, packing: str) -> Iterator[BinaryIO]:
    """Write a file, packed in one piece; the same bytes give the same file."""
    with path.open("wb") as file:
        if packing == ".gz":
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                yield packed  # type: ignore[misc]  # it writes bytes
        elif packing == ".zst":
            compressor = zstandard().ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True)
            with compressor.stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


def zstandard() -> Any:
    """Import zstandard, or raise :class:`~dedupcrawl.errors.DedupError`."""
    try:
        import zstandard as module  # noqa: PLC0415  # an extra
    except ImportError:
        raise DedupError("files that end in .zst need zstandard: pip install 'dedupcrawl[batch]'") from None
    return module
