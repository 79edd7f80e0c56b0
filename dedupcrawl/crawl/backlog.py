"""Records that no store could take yet: a file that outlives the process.

A spool is a folder for one store, namespace and configuration. Every process appends to a file of its own
in it, and holds a lock on it while it lives; what a process leaves is taken up by the next one that looks.

An entry is two lengths of four bytes (big-endian) and two packed records of
:mod:`~dedupcrawl.stores.codec`, checksums and all. The second has the probes as its keys where they differ
from the keys; else its length is 0.

What could not be delivered to a store that was away: states of claims, and pages to file.

The rule: an item that is stored is filed as soon as the store is back, if need be by the next crawl. The
claim of an item that is not stored is released, or it ends with its lease.
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

MAX_BYTES = 64 << 20  #: most bytes of one file: some 50,000 pages
_LENGTHS = Struct(">II")
_SUFFIX = ".records"


class Spool:
    """What this process remembers on behalf of a store, and what others before it have left."""

    def __init__(self, folder: Path, most: int = MAX_BYTES) -> None:
        self._folder = folder
        self._most = most
        self._own: SpoolFile | None = None
        self._passed: set[Path] = set()  # files of others that cannot be read, or that the store refuses

    def append(self, records: Iterable[Record]) -> int:
        """Remember records; return how many found room.

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
        """Whether anything lies in the folder."""
        return any(self._folder.glob(f"*{_SUFFIX}"))

    @property
    def has_pending(self) -> bool:
        """Whether this process has something in its own file."""
        return self._own is not None and self._own.has_pending

    def files(self) -> Generator[SpoolFile, None, None]:
        """Take up the files that dead processes have left, one by one and each once, and our own at last."""
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
        """Let our own file go; it stays if there is something in it, and is returned then."""
        own, self._own = self._own, None
        if own is None:
            return None
        is_empty = own.is_empty
        own.release()
        return None if is_empty else own.path

    def _acquires(self, file: SpoolFile) -> bool:
        try:
            return file.acquire()
        except OSError as error:
            # It is another user's, or no file: what is ours must be filed nevertheless.
            logger.warning(
                "The pages in %(path)s cannot be filed: %(error)s", {"path": file.path, "error": error}
            )
            self._passed.add(file.path)
            return False


class SpoolFile:
    """Entries one after the other; only who has taken it may touch it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(f"{path}.lock", thread_local=False)
        self._file: FileIO | None = None
        self._size = 0
        self._done = 0  #: bytes at the front that were replayed
        self._refused: list[Record] = []  #: of those

    def acquire(self, *, new: bool = False) -> bool:
        """Lock and open it; False: another process has it, or has just done with it.

        Raises :class:`OSError` when it cannot be opened.
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
        """Whether it holds entries that were not replayed."""
        return self._size > self._done

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        return self._size == 0

    def append(self, records: Iterable[Record], most: int = MAX_BYTES) -> int:
        """Write entries at the end, as long as the file stays within ``most`` bytes; return how many."""
        count = 0
        for record in records:
            entry = _pack(record)
            if self._size + len(entry) <= most:
                self._write(entry)
                count += 1
        return count

    def batches(self, most: int) -> Iterator[list[Record]]:
        """Read the entries that were not replayed; a batch counts as replayed when the next is asked for.

        No two records of a batch share a key, so that their order among each other does not matter. What was
        torn by a kill, or damaged, is passed over.
        """
        at = self._done
        batch: list[Record] = []
        met: set[bytes] = set()
        while at < self._size:
            record, following = self._entry(at)
            under = {*record.keys, *record.lookup_keys} if record is not None else set()
            if len(batch) == most or not met.isdisjoint(under):
                yield batch
                self._done = at
                batch, met = [], set()
            if record is not None:
                batch.append(record)
                met |= under
            at = following
        if batch:
            yield batch
        self._done = max(self._done, at)

    def retain(self, record: Record) -> None:
        """Note that the store refuses a record: it is to stay for another process."""
        self._refused.append(record)

    def compact(self) -> None:
        """Empty it, all being replayed, but for what the store refuses."""
        self._opened.truncate(0)
        self._size = 0
        self.append(self._refused)
        self._done = self._size

    def release(self) -> None:
        """Let it go, and remove it if it is empty."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        empty = self._size == 0
        with suppress(OSError):  # where an open file cannot be removed, an empty one stays
            if empty:
                self.path.unlink()
        self._lock.release()
        with suppress(OSError):
            if empty:
                self.path.with_name(f"{self.path.name}.lock").unlink()

    @property
    def _opened(self) -> FileIO:
        assert self._file is not None
        return self._file

    def _write(self, entry: bytes) -> None:
        try:
            written = self._opened.write(entry)
        except OSError:
            written = 0
        if written < len(entry):
            self._opened.truncate(self._size)  # what follows must stand behind a whole entry
            raise OSError(f"there is no room for {self.path}")
        self._size += len(entry)

    def _read(self, at: int, size: int) -> bytes:
        self._opened.seek(at)
        return self._opened.read(size)

    def _entry(self, at: int) -> tuple[Record | None, int]:
        """Read the entry at a place, None for one that is damaged; and say where the next one stands."""
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
        try:
            record = decode(self._read(at, size), at)
            return (
                replace(record, probes=decode(self._read(at + size, probes), at).keys) if probes else record
            )
        except StoreError:
            return None


def _pack(record: Record) -> bytes:
    value = encode(record)
    differ = record.lookup_keys != record.keys
    probes = encode(Record("", record.lookup_keys, (), record.seen)) if differ else b""
    return _LENGTHS.pack(len(value), len(probes)) + value + probes


class Backlog:
    """Undelivered states of claims (in memory: claims end with the process) and records (in the spool).

    Args:
        options: name the store and the folder of the spool; without a folder records are not kept.
        scheme: of the deduplicator.
        stats: counts what is spooled.
    """

    def __init__(self, options: Options, scheme: str, stats: CrawlStats) -> None:
        self._stats = stats
        self._claims: dict[int, tuple[Claim, PageState]] = {}
        self._spool = None
        if options.spool is not None:
            self._spool = Spool(options.spool / spool_name(options.store, options.namespace, scheme))

    @property
    def has_files(self) -> bool:
        """Whether the spool of this store has files; earlier crawls may have left some."""
        return self._spool is not None and self._spool.has_files

    @property
    def is_pending(self) -> bool:
        """Whether this process has anything to deliver."""
        return bool(self._claims) or (self._spool is not None and self._spool.has_pending)

    def add_claims(self, claims: Iterable[Claim], state: PageState) -> None:
        """Note a state that the store must get to know; it replaces an earlier one of the same claim."""
        self._claims.update((claim.id, (claim, state)) for claim in claims if claim.id is not None)

    def claims(self, most: int) -> Mapping[int, tuple[Claim, PageState]]:
        """Return the next claims to deliver, with their states, by id."""
        return dict(islice(self._claims.items(), most))

    def remove_claims(self, delivered: Mapping[int, tuple[Claim, PageState]]) -> None:
        """Remove claims, except those whose state has changed meanwhile."""
        for key, entry in delivered.items():
            if self._claims.get(key) == entry:
                del self._claims[key]

    def add_records(self, records: Sequence[Record]) -> None:
        """Spool pages whose items are stored and that are not filed."""
        if self._spool is None:
            return
        try:
            room = self._spool.append(records)
        except (OSError, StoreError) as error:
            self._stats.spool_failed(error, len(records))
        else:
            self._stats.spooled(room, len(records) - room)

    def spool_files(self) -> Generator[SpoolFile, None, None]:
        """Return the files of the spool that can be replayed now, each locked until the next is asked for."""
        if self._spool is not None:
            yield from self._spool.files()

    def close(self) -> None:
        """Leave the spool to the next crawl."""
        if self._spool is not None:
            left = self._spool.close()
            if left is not None:
                self._stats.spool_left(left)


def spool_name(store: str, namespace: str, scheme: str) -> str:
    """Name the spool of a store, whatever the login: records of two configurations must never meet."""
    address = urlsplit(store)
    host = address.netloc.rpartition("@")[2]
    database = parse_qs(address.query).get("db", [])
    place = [address.scheme, host, address.path, *database, namespace, scheme]
    return blake2b(json.dumps(place).encode(), digest_size=8).hexdigest()
