"""A namespace as one file, to move it from a store to another or to keep it.

A gzip stream of: the line ``MAGIC`` with the version; a line of JSON with namespace and scheme; each
committed record as :mod:`dedupcrawl.stores.codec` packs it, behind its length in 4 bytes; a length of 0; how
many there were in 8 bytes; and the BLAKE2b-128 of all that. Numbers are big-endian.
"""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any, cast

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import FILE_ANYWAY, ClaimState, check_scheme, scheme_json
from dedupcrawl.stores.codec import decode, encode
from dedupcrawl.utils.iteration import chunked
from dedupcrawl.utils.resources import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.base import Record, Store

MAGIC = b"dedupcrawl export "
VERSION = b"1"
MAX_LINE_BYTES = 1 << 20  #: most bytes of a line
MAX_RECORD_BYTES = 1 << 28  #: most bytes of a record
CHUNK = 200  #: records that are filed together


@dataclass(frozen=True, slots=True)
class ExportHeader:
    """What a file says of itself."""

    namespace: str
    scheme: str  #: JSON
    records: int  #: how many follow


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What came of an import."""

    new: int
    known: int  #: records that were there already, and were not filed twice
    removed: int = 0  #: records that others took the place of

    def __add__(self, other: ImportCounts) -> ImportCounts:
        return ImportCounts(self.new + other.new, self.known + other.known, self.removed + other.removed)


@dataclass(frozen=True, slots=True)
class Upsert:
    """A record that is to be filed, and those that go when it is."""

    record: Record
    replaces: tuple[Record, ...] = ()


def export_records(store: Store, path: Path, advance: Callable[[], object] = lambda: None) -> int:
    """Write the committed records of a store to a file, which is there whole or not at all; return how many.

    ``advance`` is called after each record of the store, committed or not.

    Raises :class:`~dedupcrawl.errors.StoreError` when the store cannot be read or the file not written.
    """
    with _file_errors(path, "written"), atomic_write(path) as part, gzip.open(part, "wb") as stream:
        return _write(store, _ChecksumStream(cast("IO[bytes]", stream)), advance)


def read_header(path: Path, advance: Callable[[], object] = lambda: None) -> ExportHeader:
    """Read a file to its end, and return what it holds if it is sound.

    ``advance`` is called after each record.

    Raises :class:`~dedupcrawl.errors.StoreError` for one that is damaged, cut short or of another kind.
    """
    with _open_export(path) as stream:
        namespace, scheme = _read_header(path, stream)
        count = 0
        for count, _ in enumerate(_read_records(path, stream), 1):  # noqa: B007  # the last is how many there are
            advance()
        return ExportHeader(namespace, scheme, count)


def import_records(
    path: Path, store: Store, track: Callable[[Iterable[Record]], Iterable[Record]] = lambda records: records
) -> ImportCounts:
    """File the records of a file, the oldest first; those that are there already are left alone.

    ``track`` sees the records pass that are filed.

    Raises:
        StoreMismatchError: the store was filled under another configuration than the file.
        StoreError: the file is not sound, and nothing was filed; or the store failed.
    """
    about, header = store.info(), read_header(path)
    check_scheme(about.url, about.namespace, about.scheme, header.scheme)
    with _open_export(path) as stream:
        _read_header(path, stream)
        return file_records(map(Upsert, track(_read_records(path, stream))), store)


def file_records(filings: Iterable[Upsert], store: Store) -> ImportCounts:
    """File records for good, in this order; those that are there already are left alone.

    Done twice, it changes nothing the second time. A record that takes the place of others is filed anew even
    where it stands, for the others go with it, in one step.

    Raises :class:`~dedupcrawl.errors.StoreError` when the store fails.
    """
    sums = ImportCounts(0, 0)
    for chunk in chunked(filings, CHUNK):
        for replaces, some in groupby(chunk, lambda filing: bool(filing.replaces)):
            file = _replace if replaces else _insert
            sums += file(list(some), store)
    return sums


def _insert(filings: Sequence[Upsert], store: Store) -> ImportCounts:
    filed = store.restore([filing.record for filing in filings])
    return ImportCounts(filed, len(filings) - filed)


def _replace(filings: Sequence[Upsert], store: Store) -> ImportCounts:
    sums = ImportCounts(0, 0)
    for filing in filings:
        there = _stored_ids(store, filing.record)
        old = {id for record in filing.replaces for id in _stored_ids(store, record)} - there
        if there and not old:
            sums += ImportCounts(0, 1)
        else:
            store.add(filing.record, FILE_ANYWAY, old | there)
            sums += ImportCounts(1, 0, len(old))
    return sums


def _stored_ids(store: Store, record: Record) -> set[int]:
    """Return the ids under which this very record is filed."""
    return {hit.id for hit in store.find(record.home) if record.is_among([hit])}


def _write(store: Store, out: _ChecksumStream, advance: Callable[[], object]) -> int:
    about = store.info()
    out.write(MAGIC + VERSION + b"\n")
    header = {"namespace": about.namespace, "scheme": json.loads(about.scheme)}
    out.write(json.dumps(header, ensure_ascii=True).encode() + b"\n")
    count = 0
    for each in store.records():
        if each.state is ClaimState.COMMITTED:
            value = encode(each.record)
            out.write(len(value).to_bytes(4, "big") + value)
            count += 1
        advance()
    out.write(bytes(4) + count.to_bytes(8, "big"))
    out.stream.write(out.sum.digest())
    return count


def _new_checksum() -> Any:
    return blake2b(digest_size=16)


@dataclass
class _ChecksumStream:
    """A stream whose bytes are summed up as they pass."""

    stream: IO[bytes]
    sum: Any = field(default_factory=_new_checksum)

    def write(self, data: bytes) -> None:
        self.sum.update(data)
        self.stream.write(data)

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)
        if len(data) != size:
            raise EOFError
        self.sum.update(data)
        return data

    def line(self) -> bytes:
        data = self.stream.readline(MAX_LINE_BYTES)
        if not data.endswith(b"\n"):
            raise EOFError
        self.sum.update(data)
        return data[:-1]


def _read_header(path: Path, stream: _ChecksumStream) -> tuple[str, str]:
    """Return namespace and scheme."""
    first = stream.line()
    if not first.startswith(MAGIC):
        raise StoreError(f"The file {path} is not an export of a store.")
    if first != MAGIC + VERSION:
        version = first.removeprefix(MAGIC).decode("ascii", "replace")
        raise StoreError(
            f"The file {path} has version {version}, and this one reads version {VERSION.decode()}."
        )
    try:
        about = json.loads(stream.line())
        namespace, scheme = about["namespace"], about["scheme"]
        if not isinstance(namespace, str) or not isinstance(scheme, dict):
            raise TypeError  # noqa: TRY301  # one place says what is wrong with all of them
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"The file {path} is damaged: its header cannot be read.") from None
    return namespace, scheme_json(scheme)


def _read_records(path: Path, stream: _ChecksumStream) -> Iterator[Record]:
    count = 0
    while size := int.from_bytes(stream.read(4), "big"):
        if size > MAX_RECORD_BYTES:
            raise StoreError(f"The file {path} is damaged: record {count} is said to have {size} bytes.")
        yield decode(stream.read(size), f"{path} {count}")
        count += 1
    said = int.from_bytes(stream.read(8), "big")
    expected = stream.sum.digest()
    if said != count or stream.stream.read(len(expected) + 1) != expected:
        raise StoreError(f"The file {path} is damaged: its checksum is wrong.")


@contextmanager
def _open_export(path: Path) -> Iterator[_ChecksumStream]:
    with _file_errors(path, "read"), gzip.open(path, "rb") as stream:
        yield _ChecksumStream(cast("IO[bytes]", stream))


@contextmanager
def _file_errors(path: Path, what: str) -> Iterator[None]:
    """Say in one sentence what is wrong with the file."""
    try:
        yield
    except gzip.BadGzipFile:
        raise StoreError(f"The file {path} is not an export of a store, or is damaged.") from None
    except (EOFError, zlib.error):
        raise StoreError(f"The file {path} is damaged: it has been cut short or overwritten.") from None
    except OSError as error:
        raise StoreError(f"The file {path} cannot be {what}: {error.strerror or error}.") from error
