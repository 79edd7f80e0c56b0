"""How files are packed, and writing them: gzip, Zstandard, or plain."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

PACKINGS = (".gz", ".zst")
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


def packing_of(path: Path) -> str:
    """Return the suffix of a packing, or "" for a plain file."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKINGS else ""


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


def write_frame(file: BinaryIO, packing: str, pieces: Iterable[bytes]) -> None:
    """Write pieces as one frame that can be unpacked by itself."""
    packer = _packer(packing)
    file.writelines(packer.compress(piece) if packer else piece for piece in pieces)
    if packer:
        file.write(packer.flush())


def _packer(packing: str) -> Any:
    if packing == ".gz":
        return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)
    if packing == ".zst":
        return zstandard().ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
    return None


def zstandard() -> Any:
    """Import zstandard, or raise :class:`~dedupcrawl.errors.DedupError`."""
    try:
        import zstandard as module  # noqa: PLC0415  # an extra
    except ImportError:
        raise DedupError("files that end in .zst need zstandard: pip install 'dedupcrawl[batch]'") from None
    return module
