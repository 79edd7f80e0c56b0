"""The backlog: calls that must be made again when the store is back.

States of claims are kept in memory, since a claim ends with its process. Pages to file are kept in the spool:
if this crawl cannot file them, the next one does. A spool is a folder for one store, namespace and
configuration. Each process appends to a file of its own and locks it. A file without a lock was left by a
process that has ended; any process may replay it.

An entry of a file is two lengths (4 bytes each, big-endian) and two records as packed by
:mod:`~dedupcrawl.stores.codec`, with checksums. The keys of the second record are the probes of the first;
its length is 0 if the probes equal the keys.
"""

from __future__ import annotations

import json
import logging
import secrets
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from filelock import FileLock, Timeout

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from io import FileIO
    from pathlib import Path

    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.verdict import Claim

logger = logging.getLogger(__name__)

MAX_BYTES = 64 << 20  #: highest number of bytes of one file: about 50,000 pages
_LENGTHS = Struct(">II")
_SUFFIX = ".records"


class Backlog:
    """Undelivered states of claims, and undelivered records.

    Args:
        options: name the store and the folder of the spool; without a folder no record is kept.
        scheme: of the deduplicator, which identifies its configuration.
        stats: count the spooled pages.
    """

    def __init__(self, options: Options, scheme: str, stats: CrawlStats) -> None:
        self._stats = stats
        self._claims: dict[int, tuple[Claim, PageState]] = {}
        self._spool = None
        if options.spool is not None:
            self._spool = Spool(options.spool / spool_name(options.store, options.namespace, scheme))

    @property
    def has_files(self) -> bool:
        """Whether the spool has files, also of earlier crawls."""
        return self._spool is not None and self._spool.has_files

    @property
    def is_pending(self) -> bool:
        """Whether this process has anything to deliver."""
        return bool(self._claims) or (self._spool is not None and self._spool.has_pending)

    def add_claims(self, claims: Iterable[Claim], state: PageState) -> None:
        """Add the state of claims; it replaces an earlier state of the same claim."""
        self._claims.update((claim.id, (claim, state)) for claim in claims if claim.id is not None)

    def claims(self, most: int) -> Mapping[int, tuple[Claim, PageState]]:
        """Return the next claims to deliver, up to ``most``, and their states by id."""
        return dict(islice(self._claims.items(), most))

    def remove_claims(self, delivered: Mapping[int, tuple[Claim, PageState]]) -> None:
        """Remove claims, except those whose state has changed meanwhile."""
        for key, entry in delivered.items():
            if self._claims.get(key) == entry:
                del self._claims[key]

    def add_records(self, records: Sequence[Record]) -> None:
        """Spool pages that are not filed and whose items are durable."""
        if self._spool is None:
            return
        try:
            count = self._spool.append(records)
        except (OSError, StoreError) as error:
            self._stats.spool_failed(error, len(records))
        else:
            self._stats.spooled(count, len(records) - count)

    def spool_files(self) -> Generator[SpoolFile, None, None]:
        """Yield the files of the spool; each is locked until the next one is requested."""
        if self._spool is not None:
            yield from self._spool.files()

    def close(self) -> None:
        """Leave the spool to the next crawl."""
        left = None if self._spool is None else self._spool.close()
        if left is not None:
            self._stats.spool_left(left)


def spool_name(store: str, namespace: str, scheme: str) -> str:
    """Return the name of a store's spool. It does not depend on the login, but on the configuration."""
    address = urlsplit(store)
    host = address.netloc.rpartition("@")[2]
    database = parse_qs(address.query).get("db", [])
    place = [address.scheme, host, address.path, *database, namespace, scheme]
    return blake2b(json.dumps(place).encode(), digest_size=8).hexdigest()


class Spool:
    """The file of this process, and the files that others have left.

    Args:
        folder: of the spool; created by the first record.
        most: highest number of bytes of the file of this process.
    """

    def __init__(self, folder: Path, most: int = MAX_BYTES) -> None:
        self._folder = folder
        self._most = most
        self._own: SpoolFile | None = None
        self._passed: set[Path] = set()  # other processes' files that are replayed or cannot be read

    def append(self, records: Iterable[Record]) -> int:
        """Append records as long as there is room; return how many.

        Raises :class:`OSError` when the file cannot be written.
        """
        if self._own is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            own = SpoolFile(self._folder / f"{secrets.token_hex(8)}{_SUFFIX}")
            own.acquire(new=True)
            self._own = own
        return self._own.append(records, self._most)

    @property
    def has_files(self) -> bool:
        """Whether the folder contains a file."""
        return any(self._folder.glob(f"*{_SUFFIX}"))

    @property
    def has_pending(self) -> bool:
        """Whether the file of this process contains records to replay."""
        return self._own is not None and self._own.has_pending

    def files(self) -> Generator[SpoolFile, None, None]:
        """Yield each file that an ended process has left, once; then the file of this process."""
        own = self._own.path if self._own else None
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            file = SpoolFile(path)
            if path != own and path not in self._passed and self._acquires(file):
                try:
                    yield file
                    if not file.has_pending:
                        self._passed.add(path)
                finally:
                    file.release()
        if self._own is not None:
            yield self._own

    def close(self) -> Path | None:
        """Release the file of this process; return its path if it contains records, else remove it."""
        own, self._own = self._own, None
        return own.path if own is not None and own.release() else None

    def _acquires(self, file: SpoolFile) -> bool:
        try:
            return file.acquire()
        except OSError as error:
            # Another user's file, or a folder: this process's own records must be filed nevertheless.
            logger.warning("The pages in %(path)s cannot be filed: %(error)s", {"path": file.path, "error": error})
            self._passed.add(file.path)
            return False


class SpoolFile:
    """A file of entries; it may be read and written only between :meth:`acquire` and :meth:`release`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(f"{path}.lock", thread_local=False)
        self._file: FileIO
        self._size = 0
        self._done = 0  # bytes that were replayed
        self._refused: list[Record] = []  # replayed records that the store refused

    def acquire(self, *, new: bool = False) -> bool:
        """Lock and open the file; return False if another process has it or has removed it.

        Raises :class:`OSError` when the file cannot be opened.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        if not new and not self.path.exists():
            self._lock.release()
            return False
        try:
            self._file = self.path.open("a+b", buffering=0)
            self._size = self.path.stat().st_size
        except OSError:
            self._lock.release()
            raise
        return True

    @property
    def has_pending(self) -> bool:
        """Whether the file contains entries that were not replayed."""
        return self._size > self._done

    def append(self, records: Iterable[Record], most: int = MAX_BYTES) -> int:
        """Append entries that keep the file within ``most`` bytes; return how many."""
        count = 0
        for record in records:
            entry = _pack(record)
            if self._size + len(entry) <= most:
                self._write(entry)
                count += 1
        return count

    def batches(self, most: int) -> Iterator[list[Record]]:
        """Yield the entries that were not replayed, up to ``most`` a batch.

        A batch counts as replayed when the next one is requested. Two records of a batch share no key, so
        they may be filed in any order. Damaged entries are skipped.
        """
        while self._done < self._size:  # entries may be appended while a batch is filed
            batch, at = self._batch(most)
            if batch:
                yield batch
            self._done = at

    def _batch(self, most: int) -> tuple[list[Record], int]:
        """Return the next batch and the position after it."""
        at, batch, seen = self._done, list[Record](), set[bytes]()
        while at < self._size and len(batch) < most:
            record, following = self._entry(at)
            if record is not None:
                keys = {*record.keys, *record.lookup_keys}
                if not seen.isdisjoint(keys):
                    break
                batch.append(record)
                seen |= keys
            at = following
        return batch, at

    def retain(self, record: Record) -> None:
        """Keep a replayed record, which the store refused, for another process."""
        self._refused.append(record)

    def compact(self) -> None:
        """Remove all entries, which must be replayed, except the refused ones."""
        self._file.truncate(0)
        self._size = 0
        self.append(self._refused)
        self._done = self._size

    def release(self) -> bool:
        """Close and unlock the file; remove it if it is empty, else return True."""
        self._file.close()
        with suppress(OSError):  # some systems cannot remove a file that another process has open
            if not self._size:
                self.path.unlink()
        self._lock.release()
        with suppress(OSError):
            if not self._size:
                self.path.with_name(f"{self.path.name}.lock").unlink()
        return bool(self._size)

    def _write(self, entry: bytes) -> None:
        try:
            written = self._file.write(entry)
        except OSError:
            written = 0
        if written < len(entry):
            self._file.truncate(self._size)  # the next entry must follow a complete one
            raise OSError(f"there is no room for {self.path}")
        self._size += len(entry)

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)

    def _entry(self, at: int) -> tuple[Record | None, int]:
        """Return the entry at a position, None if it is damaged, and the position of the next one."""
        frame = self._read(at, _LENGTHS.size)
        sizes = _LENGTHS.unpack(frame) if len(frame) == _LENGTHS.size else (self._size, 0)
        following = at + _LENGTHS.size + sum(sizes)
        record = None if following > self._size else self._record(at + _LENGTHS.size, *sizes)
        if record is None:
            logger.warning(
                "%(path)s is damaged from byte %(at)d on: what stands there is passed over",
                {"path": self.path, "at": at},
            )
        return record, min(following, self._size)

    def _record(self, at: int, size: int, probes: int) -> Record | None:
        with suppress(StoreError):
            record = decode(self._read(at, size), at)
            if probes:
                record = replace(record, probes=decode(self._read(at + size, probes), at).keys)
            return record
        return None


def _pack(record: Record) -> bytes:
    value = encode(record)
    differ = record.lookup_keys != record.keys
    probes = encode(Record("", record.lookup_keys, (), record.seen)) if differ else b""
    return _LENGTHS.pack(len(value), len(probes)) + value + probes
