"""Export a namespace to a file, and import it into another store.

The file is a gzip stream of: the line ``MAGIC`` with the version; a line of JSON with namespace and scheme; the
secret seed of the store after its length in 1 byte, which is 0 if there is none;
each committed record as :mod:`dedupcrawl.stores.records` encodes it, after its length in 4 bytes; a length of
0; the number of records in 8 bytes; each table of a site (:mod:`dedupcrawl.stores.site_tables`), after the lengths of
name and table in 4 bytes each, and two lengths of 0; each note (:mod:`dedupcrawl.stores.notes`), after the lengths of
table, site, key and value in 4 bytes each, and four lengths of 0; the BLAKE2b-128 checksum of all bytes before. Numbers
are big-endian. A file of version 5 has no notes, one of version 4 no tables either; both can be imported.
"""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import IO, TYPE_CHECKING, Any, cast

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import FILE_ANYWAY, ClaimState, check_scheme, check_secret, log_damage, scheme_json
from dedupcrawl.stores.notes import MAX_NOTE_BYTES, MAX_NOTE_KEY_BYTES, MAX_SITE_BYTES, MAX_TABLE_NAME, checked_table
from dedupcrawl.stores.records import decode, encode, record_damage
from dedupcrawl.stores.site_tables import MAX_SITE_CHARS, MAX_TABLE_BYTES, unpack_site
from dedupcrawl.stores.validation import MAX_SCHEME_DEPTH, is_namespace, parse_scheme
from dedupcrawl.utils.iteration import chunked
from dedupcrawl.utils.redaction import SECRET_BYTES, SecretSeed
from dedupcrawl.utils.resources import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.base import Candidate, OnDamage, Record, Store
    from dedupcrawl.stores.notes import NoteTables

    RecordCheck = Callable[[Record], None]  # raises ``DamageError`` for a record that does not belong into a store

MAGIC = b"dedupcrawl export "
VERSION = b"6"
WITHOUT_NOTES = b"5"  #: the version before there were notes
WITHOUT_TABLES = b"4"  #: the version before there were tables of sites
_VERSIONS = {MAGIC + version for version in (VERSION, WITHOUT_NOTES, WITHOUT_TABLES)}
MAX_LINE_BYTES = 1 << 20
MAX_RECORD_BYTES = 1 << 25  #: of a record; the largest sketches of a page of 10 MB have a quarter of it
MAX_NAME_BYTES = 4 * MAX_SITE_CHARS
CHUNK = 200  #: records, tables or notes that are filed together
_NO_LIMIT = 1 << 40
_NOTE_SIZES = Struct(">IIII")
_MOST_OF_NOTE = (MAX_TABLE_NAME, MAX_SITE_BYTES, MAX_NOTE_KEY_BYTES, MAX_NOTE_BYTES)


@dataclass(frozen=True, slots=True)
class ExportHeader:
    """The header of an export."""

    namespace: str
    scheme: str  #: JSON
    records: int  #: number of records in the file
    has_tables: bool = True  #: whether it is of a version that has tables of sites
    has_notes: bool = True  #: whether it is of a version that has notes
    secret: SecretSeed | None = field(default=None, repr=False)  #: the secret seed of its store


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """The result of an import, in numbers of records."""

    new: int  #: filed
    known: int  #: stored already, and not filed twice
    removed: int = 0  #: replaced by others
    sites: int = 0  #: tables of sites that were imported

    def __add__(self, other: ImportCounts) -> ImportCounts:
        mine, others = (self.new, self.known, self.removed, self.sites), astuple(other)
        return ImportCounts(*map(sum, zip(mine, others, strict=True)))


@dataclass(frozen=True, slots=True)
class UpsertRecord:
    """A record to file, and the records that it replaces."""

    record: Record
    replaces: tuple[Record, ...] = ()


def accept_any(_: Record) -> None:
    """Accept any record that can be read."""


def export_records(
    store: Store,
    path: Path,
    advance: Callable[[], object] = lambda: None,
    on_damage: OnDamage = log_damage,
    check: RecordCheck = accept_any,
) -> int:
    """Write the committed records of a store to a file, atomically; return how many.

    Args:
        store: the store.
        path: the file.
        advance: is called after each record of the store, committed or not.
        on_damage: is called with the error of each damaged record, which is skipped. What it raises ends the
            export, and no file is written.
        check: raises ``DamageError`` for a record that does not belong into the store.

    Raises:
        StoreError: the store cannot be read, or the file cannot be written.
    """
    with _file_errors(path, "written"), atomic_write(path) as part, gzip.open(part, "wb") as stream:
        return _write(store, _ChecksumFile(cast("IO[bytes]", stream)), advance, on_damage, check)


def read_header(
    path: Path,
    advance: Callable[[], object] = lambda: None,
    checking: Callable[[ExportHeader], RecordCheck] = lambda _: accept_any,
) -> ExportHeader:
    """Read a whole export and check it.

    Args:
        path: the file.
        advance: is called after each record.
        checking: is called with the header, before the number of records is known. Returns a function that raises
            ``DamageError`` for a record that does not belong into this export.

    Raises:
        StoreError: the file is no export, is damaged, truncated or of another version.
    """
    with _open_export(path) as stream:
        header = _read_header(path, stream)
        check, count = checking(header), 0
        for count, record in enumerate(_read_records(path, stream), 1):
            _check_record(path, count - 1, record, check)
            advance()
        for _ in _read_tables(path, stream, header):
            pass
        for _ in _read_notes(path, stream, header):
            pass
        _read_checksum(path, stream)
        return replace(header, records=count)


def _check_record(path: Path, number: int, record: Record, check: RecordCheck) -> None:
    try:
        check(record)
    except DamageError as error:
        reason = str(error).rstrip(".")
        raise StoreError(f"The file {path} is damaged: record {number} cannot be imported: {reason}.") from None


def import_records(
    path: Path,
    store: Store,
    track: Callable[[Iterable[Record]], Iterable[Record]] = lambda records: records,
    header: ExportHeader | None = None,
) -> ImportCounts:
    """File the records of an export, the oldest first; records that are stored already are skipped.

    The table of a site is imported if the store has none of it: pages of both may be the same. A note is imported if
    the store has none with its key.

    Args:
        path: the file.
        store: the store.
        track: wraps the iterator over the records, to show progress.
        header: of the file, if :func:`read_header` has just checked it. None: the whole file is checked first.

    Raises:
        StoreMismatchError: the store was filled under another configuration or secret seed than the export.
        StoreError: the file is damaged, and nothing was filed; or the store failed.
    """
    about, header = store.info(), header or read_header(path)
    check_scheme(about.url, about.namespace, about.scheme, header.scheme)
    check_secret(about.url, about.namespace, store.secret, header.secret)
    with _open_export(path) as stream:
        _read_header(path, stream)
        counts = file_records(map(UpsertRecord, track(_read_records(path, stream))), store)
        sites = _import_tables(_read_tables(path, stream, header), store)
        _import_notes(_read_notes(path, stream, header), store.notes)
        _read_checksum(path, stream)
        return replace(counts, sites=sites)


def _import_tables(tables: Iterable[tuple[str, bytes]], store: Store) -> int:
    """Store the tables of sites that the store does not know; return how many."""
    known = {site for site, _ in store.sites()}
    sites = 0
    for some in chunked(tables, CHUNK):
        new = {site: value for site, value in some if site not in known}
        store.merge_sites(new)
        sites += len(new)
    return sites


def _import_notes(rows: Iterable[tuple[str, str, bytes, bytes]], notes: NoteTables) -> None:
    """Store the notes whose keys are not there yet."""
    for (table, site), of_site in groupby(rows, itemgetter(0, 1)):
        for some in chunked(of_site, CHUNK):
            values = {key: value for _, _, key, value in some}
            known = notes.read(table, site, [*values])
            new = {key: values[key] for key, present in zip(values, known, strict=True) if present is None}
            notes.write(table, site, dict(new), _NO_LIMIT)


def file_records(upserts: Iterable[UpsertRecord], store: Store) -> ImportCounts:
    """File records as committed, in this order; records that are stored already are skipped.

    A record that replaces others is filed again even if it is stored, since the others are removed in that
    step.
    """
    counts = ImportCounts(0, 0)
    for chunk in chunked(upserts, CHUNK):
        for replaces, some in groupby(chunk, lambda upsert: bool(upsert.replaces)):
            file = _replace if replaces else _insert
            counts += file(list(some), store)
    return counts


def _insert(upserts: Sequence[UpsertRecord], store: Store) -> ImportCounts:
    filed = store.restore([upsert.record for upsert in upserts])
    return ImportCounts(filed, len(upserts) - filed)


def _replace(upserts: Sequence[UpsertRecord], store: Store) -> ImportCounts:
    counts = ImportCounts(0, 0)
    for upsert in upserts:
        same = _stored_ids(store, upsert.record)
        old = {id for record in upsert.replaces for id in _stored_ids(store, record)} - same
        if same and not old:
            counts += ImportCounts(0, 1)
        else:
            store.add(upsert.record, FILE_ANYWAY, old | same)
            counts += ImportCounts(1, 0, len(old))
    return counts


def _stored_ids(store: Store, record: Record) -> set[int]:
    """Return the ids of exactly this record."""
    return {hit.id for hit in store.find(record.own_keys) if record.is_among([hit])}


def _write(
    store: Store, out: _ChecksumFile, advance: Callable[[], object], on_damage: OnDamage, check: RecordCheck
) -> int:
    about = store.info()
    out.write(MAGIC + VERSION + b"\n")
    header = {"namespace": about.namespace, "scheme": json.loads(about.scheme)}
    out.write(json.dumps(header, ensure_ascii=True).encode() + b"\n")
    secret = b"" if store.secret is None else store.secret.stored()
    out.write(bytes([len(secret)]) + secret)
    count = 0
    for each in store.records(on_damage):
        if each.state is ClaimState.COMMITTED:
            try:
                value = _exported(each, check)
            except DamageError as error:
                on_damage(error)
            else:
                out.write(len(value).to_bytes(4, "big") + value)
                count += 1
        advance()
    out.write(bytes(4) + count.to_bytes(8, "big"))
    _write_tables(store, out)
    _write_notes(store.notes, out)
    out.stream.write(out.checksum.digest())
    return count


def _write_tables(store: Store, out: _ChecksumFile) -> None:
    for site, table in store.sites():
        name = site.encode("utf-8", "surrogatepass")
        if 0 < len(name) <= MAX_NAME_BYTES and unpack_site(table).lines:  # damaged tables stay behind: they cost copies
            out.write(len(name).to_bytes(4, "big") + len(table).to_bytes(4, "big") + name + table)
    out.write(bytes(8))


def _write_notes(notes: NoteTables, out: _ChecksumFile) -> None:
    for table, site in notes.tables():
        for key, value in notes.read_all(table, site).items():
            parts = table.encode(), site.encode("utf-8", "surrogatepass"), key, value
            if all(len(part) <= most for part, most in zip(parts, _MOST_OF_NOTE, strict=True)):
                out.write(_NOTE_SIZES.pack(*map(len, parts)) + b"".join(parts))
    out.write(bytes(_NOTE_SIZES.size))


def _exported(candidate: Candidate, check: RecordCheck) -> bytes:
    """Return a record as it is exported; raise ``DamageError`` for one that no import accepts."""
    check(candidate.record)
    try:
        value = encode(candidate.record)
    except StoreError as error:  # another kind of store has room for more parts
        raise DamageError(str(error)) from error
    if len(value) > MAX_RECORD_BYTES:
        raise record_damage(candidate.id, f"it has {len(value)} bytes")
    return value


def _read_header(path: Path, stream: _ChecksumFile) -> ExportHeader:
    """Return the header, with 0 records."""
    first = stream.read_line()
    if not first.startswith(MAGIC):
        raise StoreError(f"The file {path} is not an export of a store.")
    if first not in _VERSIONS:
        version = first.removeprefix(MAGIC).decode("ascii", "replace")
        raise StoreError(f"The file {path} has version {version}, and this release reads version {VERSION.decode()}.")
    about = parse_scheme(stream.read_line(), MAX_SCHEME_DEPTH + 1) or {}
    namespace, scheme = about.get("namespace"), about.get("scheme")
    if not is_namespace(namespace) or not isinstance(scheme, dict):
        raise StoreError(f"The file {path} is damaged: its header cannot be read.")
    size = stream.read(1)[0]
    if size not in {0, SECRET_BYTES}:
        raise StoreError(f"The file {path} is damaged: its header cannot be read.")
    secret = SecretSeed.from_stored(stream.read(size))
    has_tables, has_notes = first != MAGIC + WITHOUT_TABLES, first == MAGIC + VERSION
    return ExportHeader(str(namespace), scheme_json(scheme), 0, has_tables, has_notes, secret)


def _read_records(path: Path, stream: _ChecksumFile) -> Iterator[Record]:
    count = 0
    while size := int.from_bytes(stream.read(4), "big"):
        if size > MAX_RECORD_BYTES:
            raise StoreError(f"The file {path} is damaged: record {count} claims to have {size} bytes.")
        yield decode(stream.read(size), f"{path} {count}")
        count += 1
    if int.from_bytes(stream.read(8), "big") != count:
        raise _checksum_error(path)


def _read_checksum(path: Path, stream: _ChecksumFile) -> None:
    """Read the end of the file."""
    checksum = stream.checksum.digest()
    if stream.stream.read(len(checksum) + 1) != checksum:
        raise _checksum_error(path)


def _read_tables(path: Path, stream: _ChecksumFile, header: ExportHeader) -> Iterator[tuple[str, bytes]]:
    while header.has_tables and any(lengths := stream.read(8)):
        name, size = int.from_bytes(lengths[:4], "big"), int.from_bytes(lengths[4:], "big")
        if not 0 < name <= MAX_NAME_BYTES or size > MAX_TABLE_BYTES:
            raise StoreError(f"The file {path} is damaged: the table of a site claims to have {name} and {size} bytes.")
        yield _site_name(path, stream.read(name)), stream.read(size)


def _read_notes(path: Path, stream: _ChecksumFile, header: ExportHeader) -> Iterator[tuple[str, str, bytes, bytes]]:
    """Yield table, site, key and value of each note."""
    while header.has_notes and any(lengths := stream.read(_NOTE_SIZES.size)):
        sizes = _NOTE_SIZES.unpack(lengths)
        if any(size > most for size, most in zip(sizes, _MOST_OF_NOTE, strict=True)) or not all(sizes[:2]):
            raise StoreError(f"The file {path} is damaged: a note claims to have {', '.join(map(str, sizes))} bytes.")
        table, site, key, value = map(stream.read, sizes)
        yield _table_name(path, table), _site_name(path, site), key, value


def _table_name(path: Path, value: bytes) -> str:
    try:
        return checked_table(value.decode("ascii", "replace"))
    except ValueError:
        raise StoreError(f"The file {path} is damaged: the name of a table of notes cannot be read.") from None


def _site_name(path: Path, value: bytes) -> str:
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise StoreError(f"The file {path} is damaged: the name of a site cannot be read.") from None


def _checksum_error(path: Path) -> StoreError:
    return StoreError(f"The file {path} is damaged: its checksum is wrong.")


@dataclass
class _ChecksumFile:
    """A stream that updates a checksum with every byte read or written."""

    stream: IO[bytes]
    checksum: Any = field(default_factory=partial(blake2b, digest_size=16))

    def write(self, data: bytes) -> None:
        self.checksum.update(data)
        self.stream.write(data)

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)
        if len(data) != size:
            raise EOFError
        self.checksum.update(data)
        return data

    def read_line(self) -> bytes:
        data = self.stream.readline(MAX_LINE_BYTES)
        if not data.endswith(b"\n"):
            raise EOFError
        self.checksum.update(data)
        return data[:-1]


@contextmanager
def _open_export(path: Path) -> Iterator[_ChecksumFile]:
    with _file_errors(path, "read"), gzip.open(path, "rb") as stream:
        yield _ChecksumFile(cast("IO[bytes]", stream))


@contextmanager
def _file_errors(path: Path, what: str) -> Iterator[None]:
    """Translate errors of the file to ``StoreError``."""
    try:
        yield
    except gzip.BadGzipFile:
        raise StoreError(f"The file {path} is not an export of a store, or is damaged.") from None
    except (EOFError, zlib.error):
        raise StoreError(f"The file {path} is damaged: it has been cut short or overwritten.") from None
    except OSError as error:
        raise StoreError(f"The file {path} cannot be {what}: {error.strerror or error}.") from error
