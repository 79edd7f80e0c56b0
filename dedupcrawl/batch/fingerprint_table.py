"""Fingerprints as Arrow columns: a row for each page, in the order of the corpus.

The fingerprints of a corpus, read where they lie: batches of Arrow, in memory or mapped from files.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dedupcrawl.stores.base import KEY_BYTES, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


LAYOUT_VERSION = 1  #: of the layout
PART_FIELD = pa.field(
    "part", pa.string()
)  #: behind the others, where pages of several corpora stand together
_PAD = bytes(8 - KEY_BYTES)
_TEXT = ("utf-8", "surrogatepass")


def fingerprint_schema(sketches: int) -> pa.Schema:
    """Return the columns of a corpus of which every record has so many sketches.

    ``url`` and ``cluster`` are UTF-8 that may hold lone surrogates, hence bytes; ``cluster`` is null unless
    the record joined one before. ``keys`` are the six bytes of a key as a number; ``probes`` are null in all
    rows of a batch in which every page looks where it is filed. A page that no detector can judge has a
    ``reason``, and neither keys nor sketches.
    """
    return pa.schema(
        [
            pa.field("row", pa.int64(), nullable=False),  # number in its part
            pa.field("url", pa.binary(), nullable=False),
            pa.field("reason", pa.string()),
            pa.field("keys", pa.list_(pa.uint64()), nullable=False),
            pa.field("probes", pa.list_(pa.uint64())),
            *(pa.field(sketch_name(place), pa.binary(), nullable=False) for place in range(sketches)),
            pa.field("cluster", pa.binary()),
            pa.field("time", pa.float64()),  # Unix time in seconds, null where the corpus does not tell
            pa.field("length", pa.int32(), nullable=False),  # characters of the main text
            pa.field("size", pa.int64(), nullable=False),  # bytes of the page
        ]
    )


def sketch_name(place: int) -> str:
    """Name the column of a detector's sketches."""
    return f"sketch_{place}"


def fill_probes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Say of every page where it looks, if it is said of any: of batches that are joined all have to."""
    probes = batch.column("probes")
    if not 0 < probes.null_count < len(batch):
        return batch
    import pyarrow.compute as pc  # noqa: PLC0415  # few need it, and it takes long to load

    place = batch.schema.get_field_index("probes")
    return batch.set_column(place, batch.schema.field(place), pc.coalesce(probes, batch.column("keys")))


def pack_keys(keys: Iterable[bytes]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return keys as numbers, big-endian, so that they are ordered alike."""
    joined = _PAD.join((b"", *keys))
    return np.frombuffer(joined, ">u8").astype(np.uint64)


def unpack_keys(numbers: Iterable[int]) -> tuple[bytes, ...]:
    """Return the keys that these numbers stand for."""
    return tuple(int(number).to_bytes(KEY_BYTES, "big") for number in numbers)


def to_bytes(text: str) -> bytes:
    """Pack a URL or the name of a cluster."""
    return text.encode(*_TEXT)


def to_text(data: bytes) -> str:
    """Unpack what :func:`to_bytes` packed."""
    return data.decode(*_TEXT)


_SCALAR_COLUMNS = ("row", "url", "reason", "cluster", "time", "length", "size")


class FingerprintTableBuilder:
    """Collects rows, and makes a batch of them."""

    def __init__(self, sketches: int) -> None:
        self._schema = fingerprint_schema(sketches)
        self._none = (b"",) * sketches
        self._begin()

    def _begin(self) -> None:
        self._differ = False
        self._rows: list[tuple[Any, ...]] = []  # row, url, reason, cluster, time, length, size
        self._keys: list[tuple[bytes, ...]] = []
        self._probes: list[tuple[bytes, ...]] = []
        self._sketches: list[tuple[bytes, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self, row: int, record: Record, *, time: float | None = None, length: int = 0, size: int = 0
    ) -> None:
        """Add a page that was fingerprinted."""
        probes, cluster = record.lookup_keys, to_bytes(record.cluster) if record.cluster else None
        self._differ |= probes != record.keys and set(probes) != set(record.keys)
        self._rows.append((row, to_bytes(record.url), None, cluster, time, length, size))
        self._keys.append(record.keys)
        self._probes.append(probes)
        self._sketches.append(record.sketches)

    def add_unfit(
        self, row: int, url: str, reason: str, *, time: float | None = None, length: int = 0, size: int = 0
    ) -> None:
        """Add a page that no detector can judge."""
        self._rows.append((row, to_bytes(url), reason, None, time, length, size))
        self._keys.append(())
        self._probes.append(())
        self._sketches.append(self._none)

    def batch(self) -> pa.RecordBatch:
        """Return the rows, and begin anew."""
        plain = dict(zip(_SCALAR_COLUMNS, zip(*self._rows, strict=True), strict=True)) if self._rows else {}
        sketches = enumerate(zip(*self._sketches, strict=True))
        columns: dict[str, Any] = plain | {sketch_name(place): column for place, column in sketches}
        lists = {"keys": _key_column(self._keys)}
        if self._differ:
            lists["probes"] = _key_column(self._probes)
        arrays = [
            lists[field.name]
            if field.name in lists
            else pa.array(columns.get(field.name, (None,) * len(self)), field.type)
            for field in self._schema
        ]
        self._begin()
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _key_column(keys: Sequence[tuple[bytes, ...]]) -> pa.ListArray:
    ends = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, pack_keys(chain.from_iterable(keys)))


RECORD_CACHE_SIZE = 4096  #: unpacked records that are held ready


class FingerprintTable:
    """All rows of some batches of :func:`fingerprint_schema`, numbered through from 0."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self.batches = [batch for batch in batches if batch.num_rows]
        self._batches = [_BatchColumns(batch) for batch in self.batches]
        self._starts = [0, *accumulate(len(batch) for batch in self._batches)]
        self.judged = lru_cache(RECORD_CACHE_SIZE)(self._judged)

    def __len__(self) -> int:
        return self._starts[-1]

    def url(self, row: int) -> str:
        """Return the URL of a row."""
        batch, at = self._find(row)
        return to_text(batch.urls[at])

    def record(self, row: int) -> Record:
        """Return what was filed of a row, its time left out."""
        batch, at = self._find(row)
        return replace(
            self._judged(row),
            keys=unpack_keys(batch.keys.of(at)),
            probes=unpack_keys(batch.probes.of(at)) if batch.looks_elsewhere else None,
        )

    def _judged(self, row: int) -> Record:
        """Return what a row is judged by, which is its record without keys."""
        batch, at = self._find(row)
        cluster = batch.clusters[at]
        return Record(
            url=to_text(batch.urls[at]),
            keys=(),
            sketches=tuple([column[at] for column in batch.sketches]),
            seen=0.0,
            cluster=to_text(cluster) if cluster else "",
        )

    def fit(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return of each row whether a detector can judge it."""
        return np.asarray(
            self._all("reason", lambda column: column.is_null().to_numpy(zero_copy_only=False)), bool
        )

    def reasons(self) -> Iterator[tuple[int, str]]:
        """Return the rows that no detector can judge, and why."""
        for start, batch in zip(self._starts, self._batches, strict=False):
            reasons = batch.batch.column("reason")
            if reasons.null_count < len(reasons):
                yield from (
                    (start + at, why) for at, why in enumerate(reasons.to_pylist()) if why is not None
                )

    def numbers(self, name: str) -> Numbers:
        """Return a column of numbers; NaN where a float is null."""
        return np.asarray(self._all(name, lambda column: column.to_numpy(zero_copy_only=False)))

    def filed(self) -> list[ListColumn]:
        """Return the keys under which the rows of each batch are filed."""
        return [batch.keys for batch in self._batches]

    def sought(self) -> list[ListColumn]:
        """Return those under which they look."""
        return [batch.probes if batch.looks_elsewhere else batch.keys for batch in self._batches]

    @property
    def look_elsewhere(self) -> bool:
        """Whether any page looks where it is not filed."""
        return any(batch.looks_elsewhere for batch in self._batches)

    def _all(self, name: str, read: Any) -> Any:
        parts = [read(batch.batch.column(name)) for batch in self._batches]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _find(self, row: int) -> tuple[_BatchColumns, int]:
        batch = bisect_right(self._starts, row) - 1
        return self._batches[batch], row - self._starts[batch]


class _BatchColumns:
    """One batch, its columns at hand."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.urls = _BytesColumn(batch.column("url"))
        self.clusters = _BytesColumn(batch.column("cluster"))
        count = sum(name.startswith("sketch_") for name in batch.schema.names)
        self.sketches = [_BytesColumn(batch.column(sketch_name(place))) for place in range(count)]
        self.keys = ListColumn(batch.column("keys"))
        self.probes = ListColumn(batch.column("probes"))
        self.looks_elsewhere = batch.column("probes").null_count < batch.num_rows

    def __len__(self) -> int:
        return int(self.batch.num_rows)


class _BytesColumn:
    """A column of byte strings; b"" where one is null."""

    def __init__(self, column: pa.BinaryArray) -> None:
        _, offsets, data = column.buffers()
        self._offsets = _offsets(column, offsets)
        self._data = memoryview(b"" if data is None else data)

    def __getitem__(self, at: int) -> bytes:
        return bytes(self._data[self._offsets[at] : self._offsets[at + 1]])


class ListColumn:
    """A column of lists of numbers; an empty one where one is null."""

    def __init__(self, column: pa.ListArray) -> None:
        self._offsets = _offsets(column, column.buffers()[1])
        self._values = column.values.to_numpy()

    def of(self, at: int) -> Numbers:
        """Return one list."""
        values: Numbers = self._values[self._offsets[at] : self._offsets[at + 1]]
        return values

    @property
    def counts(self) -> Numbers:
        """How long each list is."""
        return np.diff(self._offsets)

    @property
    def values(self) -> Numbers:
        """All numbers, list by list."""
        values: Numbers = self._values[self._offsets[0] : self._offsets[-1]]
        return values


def _offsets(column: pa.Array, offsets: pa.Buffer | None) -> Numbers:
    if offsets is None or not len(column):
        return np.zeros(len(column) + 1, np.int32)
    whole = np.frombuffer(offsets, np.int32)
    return whole[column.offset : column.offset + len(column) + 1]
