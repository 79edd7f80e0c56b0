"""How files are packed, and writing them: gzip, Zstandard, or plain.

Packed files, unpacked as they are read, and on behind damage where that is possible.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from _typeshed import WriteableBuffer


COMPRESSION_SUFFIXES = (".gz", ".zst")
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


def compression_of(path: Path) -> str:
    """Return the suffix of a packing, or "" for a plain file."""
    suffix = path.suffix.lower()
    return suffix if suffix in COMPRESSION_SUFFIXES else ""


@contextmanager
def open_compressed(path: Path, packing: str) -> Iterator[BinaryIO]:
    """Write a file, packed in one piece; the same bytes give the same file."""
    with path.open("wb") as file:
        if packing == ".gz":
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                yield packed  # type: ignore[misc]  # it writes bytes
        elif packing == ".zst":
            compressor = import_zstandard().ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True)
            with compressor.stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


def write_frame(file: BinaryIO, packing: str, pieces: Iterable[bytes]) -> None:
    """Write pieces as one frame that can be unpacked by itself."""
    packer = _compressor(packing)
    file.writelines(packer.compress(piece) if packer else piece for piece in pieces)
    if packer:
        file.write(packer.flush())


def _compressor(packing: str) -> Any:
    if packing == ".gz":
        return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)
    if packing == ".zst":
        return import_zstandard().ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
    return None


def import_zstandard() -> Any:
    """Import zstandard, or raise :class:`~dedupcrawl.errors.DedupError`."""
    try:
        import zstandard as module  # noqa: PLC0415  # an extra
    except ImportError:
        raise DedupError("files that end in .zst need zstandard: pip install 'dedupcrawl[batch]'") from None
    return module


_READ_BYTES = 1 << 16
#: So much is unpacked at a time. Zstandard can make 32,000 times as many bytes of it, gzip 1,000 times.
_STEP_BYTES = 1 << 13
_MAGIC = {".gz": b"\x1f\x8b\x08", ".zst": b"\x28\xb5\x2f\xfd"}  #: how frames begin
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"  # how the frame begins that holds one
_DICTIONARY_HEAD_BYTES = 8
_MAX_DICTIONARY_BYTES = 100 << 20
GAP_MARK = b"\r\n\r\n"  #: what stands for bytes that could not be unpacked


class CompressionError(ValueError):
    """A packed file is damaged, or cut off."""


class _Decompressor(Protocol):
    """One member of gzip, or one frame of Zstandard, that is being unpacked."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class DecompressedFile(io.RawIOBase):
    """The bytes in a file. Raises :class:`PackedError` behind the last that can be unpacked.

    Args:
        path: the file; its name tells how it is packed.
        frame_start: how the bytes in each frame begin, where every frame can be read by itself. Then
            ``starts`` is filled, and a damaged frame is no end: line ends and the next frame follow, and
            ``breaks`` tells where.
    """

    def __init__(self, path: Path, frame_start: bytes = b"") -> None:
        self._file: BinaryIO = path.open("rb", buffering=0)
        self._packing = compression_of(path)
        self._frame_start = frame_start
        preface = warc_dictionary_frame(path)
        self._file.seek(len(preface))
        self._begin = _decompressor_factory(self._packing, preface)
        self._frame: _Decompressor | None = None
        self._packed = b""  # read, and not unpacked
        self._unpacked = memoryview(b"")  # unpacked, and not asked for
        self._made = 0  # bytes that were unpacked
        self._began = self._frame_made = 0  # where the frame begins, in the file and in the bytes
        self.taken = len(preface)  #: bytes of the file that were unpacked
        self.starts: deque[tuple[int, int]] = (
            deque()
        )  #: of each frame: its place in the bytes, and in the file
        self.breaks: list[int] = []  #: places in the bytes where some are missing

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
            self._made += len(more)
            self._unpacked = memoryview(more)
        count = min(len(space), len(self._unpacked))
        space[:count] = self._unpacked[:count]
        self._unpacked = self._unpacked[count:]
        return count

    def frame_at(self, place: int) -> int | None:
        """Return where in the file the frame begins whose bytes begin at this place; places only rise."""
        if not self._packing:
            return place
        while self.starts and self.starts[0][0] < place:
            self.starts.popleft()
        return self.starts[0][1] if self.starts and self.starts[0][0] == place else None

    def _more(self) -> bytes | None:
        """Unpack a step; None at the end."""
        if not self._packed:
            self._packed = self._file.read(_READ_BYTES)
        if not self._packing:
            data, self._packed = self._packed, b""
            self.taken += len(data)
            return data or None
        if self._frame is None and not self._next_frame():
            return None
        try:
            return self._unpack()
        except CompressionError:
            if not self._frame_start or not self._skip():
                self._packed = b""  # asked again, it fails again
                raise
            return self._mend()

    def _next_frame(self) -> bool:
        """Begin a frame, if there is one. Zeros behind the last are there to fill a block."""
        while self._packing == ".gz" and self.taken and self._packed.startswith(b"\0"):
            padding = len(self._packed) - len(self._packed.lstrip(b"\0"))
            self.taken += padding
            self._packed = self._packed[padding:] or self._file.read(_READ_BYTES)
        if not self._packed:
            if not self.taken:
                raise CompressionError("it is cut off: a packed file has some bytes, and this has none")
            return False
        self._frame = self._begin()
        self._began, self._frame_made = self.taken, self._made
        if self._frame_start:
            self.starts.append((self._made, self.taken))
        return True

    def _unpack(self) -> bytes:
        step, rest = self._packed[:_STEP_BYTES], self._packed[_STEP_BYTES:]
        if not step:
            raise CompressionError("it is cut off: the packed data has no end")
        assert self._frame is not None
        data = _decompress(self._frame, step)
        unused = self._frame.unused_data if self._frame.eof else b""
        if self._frame.eof:
            self._frame = None
        self._packed = unused + rest
        self.taken += len(step) - len(unused)
        return data

    def _mend(self) -> bytes:
        """Return what stands for a damaged frame: a line of its own, if nothing of it was given."""
        empty = self._made == self._frame_made
        place = self._made + len(GAP_MARK) * empty
        self.breaks.append(place)
        if empty:
            self.starts.append((place, self._began))
        return GAP_MARK + b"damaged\r\n" * empty

    def _skip(self) -> bool:
        """Go to the next place where a frame begins as it should; False if there is none."""
        sign, searched = _MAGIC[self._packing], self._began + 1
        self._file.seek(searched)
        window = b""
        while more := self._file.read(_READ_BYTES):
            window += more
            while (place := window.find(sign)) >= 0:
                if self._begins_at(searched + place):
                    return self._go(searched + place)
                window, searched = window[place + 1 :], searched + place + 1
            searched += len(window) - min(len(window), len(sign) - 1)
            window = window[-(len(sign) - 1) :]
        return False

    def _begins_at(self, place: int) -> bool:
        """Whether a frame can be unpacked from there, and begins as it should."""
        behind, start = self._file.tell(), b""
        frame = self._begin()
        self._file.seek(place)
        try:
            while len(start) < len(self._frame_start) and not frame.eof:
                step = self._file.read(_STEP_BYTES)
                if not step:
                    return False
                start += _decompress(frame, step)
            return start.startswith(self._frame_start)
        except CompressionError:
            return False
        finally:
            self._file.seek(behind)

    def _go(self, place: int) -> bool:
        self._file.seek(place)
        self._packed, self._frame, self.taken = b"", None, place
        return True


def _decompress(frame: _Decompressor, step: bytes) -> bytes:
    try:
        return frame.decompress(step)
    except Exception as error:
        if not isinstance(error, zlib.error) and type(error).__name__ != "ZstdError":
            raise
        raise CompressionError(f"the packed data is damaged: {error}") from error


def _decompressor_factory(packing: str, preface: bytes) -> Callable[[], _Decompressor]:
    if packing != ".zst":
        return lambda: zlib.decompressobj(31)  # one that knows the head and the check of gzip
    module = import_zstandard()
    dictionary = preface[_DICTIONARY_HEAD_BYTES:]
    try:
        if dictionary.startswith(_MAGIC[".zst"]):
            dictionary = module.ZstdDecompressor().decompress(
                dictionary, max_output_size=_MAX_DICTIONARY_BYTES
            )
        data = module.ZstdCompressionDict(dictionary) if dictionary else None
    except module.ZstdError as error:
        raise CompressionError(f"its dictionary is damaged: {error}") from error
    begin: Callable[[], _Decompressor] = module.ZstdDecompressor(dict_data=data).decompressobj
    return begin


def warc_dictionary_frame(path: Path) -> bytes:
    """Return the dictionary with which a WARC file packed by Zstandard begins, as it stands there; else b"".

    Source: "Zstandard Compression for WARC Files" 1.0, IIPC.
    """
    if compression_of(path) != ".zst":
        return b""
    with path.open("rb") as file:
        head = file.read(_DICTIONARY_HEAD_BYTES)
        size = int.from_bytes(head[4:], "little")
        return (
            head + file.read(size) if head[:4] == _DICTIONARY_MAGIC and size <= _MAX_DICTIONARY_BYTES else b""
        )
