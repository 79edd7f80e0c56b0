"""Compressed files (gzip, Zstandard): writing them, and reading them, after damage too if possible."""

from __future__ import annotations

import gzip
import io
import zlib
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.utils.optional import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from _typeshed import WriteableBuffer

COMPRESSION_SUFFIXES = (".gz", ".zst")
GAP_MARK = b"\r\n\r\n"  #: replaces bytes that could not be decompressed; ends a record of a WARC file
_GZIP_LEVEL = 6  #: the default of zlib
_ZSTD_LEVEL = 3  #: the default of Zstandard
_GZIP_WBITS = 31  #: of zlib: the largest window, with the header and checksum of gzip
_READ_BYTES = 1 << 16  #: compressed bytes that are read from a file at a time
#: Compressed bytes that are decompressed at a time. Zstandard can make 32,000 times as many bytes of them, gzip
#: 1,000 times.
_STEP_BYTES = 1 << 13
_MAGIC = {".gz": b"\x1f\x8b\x08", ".zst": b"\x28\xb5\x2f\xfd"}  #: first bytes of a frame: RFC 1952, RFC 8878
#: First bytes of a frame that holds a dictionary: "Zstandard Compression for WARC Files" 1.0, IIPC.
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
_DICTIONARY_HEAD_BYTES = 8  #: the magic bytes and a 32-bit size
_MAX_DICTIONARY_BYTES = 100 << 20


def compression_of(path: Path) -> str:
    """Return ".gz", ".zst", or "" for an uncompressed file, by its name."""
    suffix = path.suffix.lower()
    return suffix if suffix in COMPRESSION_SUFFIXES else ""


@contextmanager
def open_compressed(path: Path, compression: str) -> Iterator[BinaryIO]:
    """Open a file to write it as one frame; the same bytes always give the same file."""
    with path.open("wb") as file:
        if compression == ".gz":
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as compressed:
                yield compressed  # type: ignore[misc]  # it writes bytes
        elif compression == ".zst":
            compressor = import_zstandard().ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True)
            with compressor.stream_writer(file, closefd=False) as compressed:
                yield compressed
        else:
            yield file


def write_frame(file: BinaryIO, compression: str, pieces: Iterable[bytes]) -> None:
    """Write pieces as one frame, which can be decompressed by itself."""
    compressor: Any = None
    if compression == ".gz":
        compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WBITS)
    elif compression == ".zst":
        compressor = import_zstandard().ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
    file.writelines(compressor.compress(piece) if compressor else piece for piece in pieces)
    if compressor:
        file.write(compressor.flush())


def import_zstandard() -> Any:
    """Import zstandard, or raise MissingPackageError."""
    return import_extra("zstandard", "A file that ends in .zst", "batch")


class CompressionError(ValueError):
    """A compressed file is damaged or cut off."""


class _MemberReader(Protocol):
    """Decompresses one member of gzip or one frame of Zstandard."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class DecompressedFile(io.RawIOBase):
    """The decompressed bytes of a file. Reading raises :class:`CompressionError` at damage.

    Args:
        path: the file; its name gives the compression.
        frame_start: first decompressed bytes of every frame, if each frame can be read by itself. Then the
            places of frames are recorded (:meth:`frame_at`), and a damaged frame does not end the file:
            ``GAP_MARK`` and the next frame follow, and ``gaps`` records the place.
    """

    def __init__(self, path: Path, frame_start: bytes = b"") -> None:
        self._file: BinaryIO = path.open("rb", buffering=0)
        self._compression = compression_of(path)
        self._frame_start = frame_start
        dictionary_frame = warc_dictionary_frame(path)
        self._file.seek(len(dictionary_frame))
        self._new_decompressor = _decompressor_factory(self._compression, dictionary_frame)
        self._decompressor: _MemberReader | None = None
        self._compressed = b""  # read from the file
        self._decompressed = memoryview(b"")  # not read by the user yet
        self._produced = 0  # decompressed bytes so far
        self._frame_offset = self._frame_place = 0  # start of the frame: in the file, in the decompressed bytes
        self.consumed = len(dictionary_frame)  #: bytes of the file that were decompressed
        self._frames: deque[tuple[int, int]] = deque()  # start of each frame: decompressed, in the file
        self.gaps: list[int] = []  #: places in the decompressed bytes where some are missing

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a part of the buffer and return its size; 0 at the end."""
        space = memoryview(buffer).cast("B")
        while not self._decompressed:
            data = self._next_data()
            if data is None:
                return 0
            self._produced += len(data)
            self._decompressed = memoryview(data)
        count = min(len(space), len(self._decompressed))
        space[:count] = self._decompressed[:count]
        self._decompressed = self._decompressed[count:]
        return count

    def frame_at(self, place: int) -> int | None:
        """Return the offset in the file of the frame that starts at a place of the decompressed bytes.

        None if no frame starts there. ``place`` must not decrease from call to call.
        """
        if not self._compression:
            return place
        while self._frames and self._frames[0][0] < place:
            self._frames.popleft()
        return self._frames[0][1] if self._frames and self._frames[0][0] == place else None

    def _next_data(self) -> bytes | None:
        """Decompress a step; None at the end."""
        if not self._compressed:
            self._compressed = self._file.read(_READ_BYTES)
        if not self._compression:
            data, self._compressed = self._compressed, b""
            self.consumed += len(data)
            return data or None
        if self._decompressor is None and not self._next_frame():
            return None
        try:
            return self._decompress_step()
        except CompressionError:
            if not self._frame_start or not self._skip_to_next_frame():
                self._compressed = b""  # the next call fails too
                raise
            return self._gap()

    def _next_frame(self) -> bool:
        """Start a frame; return whether there is one. Zeros after the last are padding."""
        while self._compression == ".gz" and self.consumed and self._compressed.startswith(b"\0"):
            padding = len(self._compressed) - len(self._compressed.lstrip(b"\0"))
            self.consumed += padding
            self._compressed = self._compressed[padding:] or self._file.read(_READ_BYTES)
        if not self._compressed:
            if not self.consumed:
                raise CompressionError("it is cut off: a packed file has some bytes, and this has none")
            return False
        self._decompressor = self._new_decompressor()
        self._frame_offset, self._frame_place = self.consumed, self._produced
        if self._frame_start:
            self._frames.append((self._produced, self.consumed))
        return True

    def _decompress_step(self) -> bytes:
        step, rest = self._compressed[:_STEP_BYTES], self._compressed[_STEP_BYTES:]
        if not step:
            raise CompressionError("it is cut off: the packed data has no end")
        assert self._decompressor is not None
        data = _decompress(self._decompressor, step)
        unused = self._decompressor.unused_data if self._decompressor.eof else b""
        if self._decompressor.eof:
            self._decompressor = None
        self._compressed = unused + rest
        self.consumed += len(step) - len(unused)
        return data

    def _gap(self) -> bytes:
        """Return the bytes that replace a damaged frame: a line of its own if none of its bytes were returned."""
        is_empty = self._produced == self._frame_place
        place = self._produced + len(GAP_MARK) * is_empty
        self.gaps.append(place)
        if is_empty:
            self._frames.append((place, self._frame_offset))
        return GAP_MARK + b"damaged\r\n" * is_empty

    def _skip_to_next_frame(self) -> bool:
        """Go to the next place where a valid frame starts; return whether there is one."""
        magic, offset = _MAGIC[self._compression], self._frame_offset + 1
        self._file.seek(offset)
        window = b""
        while data := self._file.read(_READ_BYTES):
            window += data
            while (place := window.find(magic)) >= 0:
                if self._starts_frame(offset + place):
                    self._file.seek(offset + place)
                    self._compressed, self._decompressor, self.consumed = b"", None, offset + place
                    return True
                window, offset = window[place + 1 :], offset + place + 1
            offset += len(window) - min(len(window), len(magic) - 1)
            window = window[-(len(magic) - 1) :]
        return False

    def _starts_frame(self, offset: int) -> bool:
        """Return whether a frame with the expected first bytes starts at an offset of the file."""
        end, start = self._file.tell(), b""
        decompressor = self._new_decompressor()
        self._file.seek(offset)
        try:
            while len(start) < len(self._frame_start) and not decompressor.eof:
                step = self._file.read(_STEP_BYTES)
                if not step:
                    return False
                start += _decompress(decompressor, step)
            return start.startswith(self._frame_start)
        except CompressionError:
            return False
        finally:
            self._file.seek(end)


def _decompress(decompressor: _MemberReader, step: bytes) -> bytes:
    try:
        return decompressor.decompress(step)
    except Exception as error:
        if not isinstance(error, zlib.error) and type(error).__name__ != "ZstdError":
            raise
        raise CompressionError(f"the packed data is damaged: {error}") from error


def _decompressor_factory(compression: str, dictionary_frame: bytes) -> Callable[[], _MemberReader]:
    if compression != ".zst":
        return lambda: zlib.decompressobj(_GZIP_WBITS)
    module = import_zstandard()
    dictionary = dictionary_frame[_DICTIONARY_HEAD_BYTES:]
    try:
        if dictionary.startswith(_MAGIC[".zst"]):
            dictionary = module.ZstdDecompressor().decompress(dictionary, max_output_size=_MAX_DICTIONARY_BYTES)
        data = module.ZstdCompressionDict(dictionary) if dictionary else None
    except module.ZstdError as error:
        raise CompressionError(f"its dictionary is damaged: {error}") from error
    new_decompressor: Callable[[], _MemberReader] = module.ZstdDecompressor(dict_data=data).decompressobj
    return new_decompressor


def warc_dictionary_frame(path: Path) -> bytes:
    """Return the frame with the dictionary of a WARC file compressed by Zstandard; b"" if it has none.

    Source: "Zstandard Compression for WARC Files" 1.0, IIPC.
    """
    if compression_of(path) != ".zst":
        return b""
    with path.open("rb") as file:
        head = file.read(_DICTIONARY_HEAD_BYTES)
        size = int.from_bytes(head[4:], "little")
        has_dictionary = head[:4] == _DICTIONARY_MAGIC and size <= _MAX_DICTIONARY_BYTES
        return head + file.read(size) if has_dictionary else b""
