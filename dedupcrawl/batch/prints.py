"""The fingerprints of a corpus, read where they lie: batches of Arrow, in memory or mapped from files."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.batch.schema import sketch_name, to_text, unpack_keys
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import pyarrow as pa

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

KEPT_RECORDS = 4096  #: unpacked records that are held ready


class Prints:
    """All rows of some batches of :func:`~dedupcrawl.batch.schema.schema`, numbered through from 0."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self.batches = [batch for batch in batches if batch.num_rows]
        self._batches = [_Columns(batch) for batch in self.batches]
        self._starts = [0, *accumulate(len(batch) for batch in self._batches)]
        self.judged = lru_cache(KEPT_RECORDS)(self._judged)

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

    def filed(self) -> list[Lists]:
        """Return the keys under which the rows of each batch are filed."""
        return [batch.keys for batch in self._batches]

    def sought(self) -> list[Lists]:
        """Return those under which they look."""
        return [batch.probes if batch.looks_elsewhere else batch.keys for batch in self._batches]

    @property
    def look_elsewhere(self) -> bool:
        """Whether any page looks where it is not filed."""
        return any(batch.looks_elsewhere for batch in self._batches)

    def _all(self, name: str, read: Any) -> Any:
        parts = [read(batch.batch.column(name)) for batch in self._batches]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _find(self, row: int) -> tuple[_Columns, int]:
        batch = bisect_right(self._starts, row) - 1
        return self._batches[batch], row - self._starts[batch]


class _Columns:
    """One batch, its columns at hand."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.urls = _Bytes(batch.column("url"))
        self.clusters = _Bytes(batch.column("cluster"))
        count = sum(name.startswith("sketch_") for name in batch.schema.names)
        self.sketches = [_Bytes(batch.column(sketch_name(place))) for place in range(count)]
        self.keys = Lists(batch.column("keys"))
        self.probes = Lists(batch.column("probes"))
        self.looks_elsewhere = batch.column("probes").null_count < batch.num_rows

    def __len__(self) -> int:
        return int(self.batch.num_rows)


class _Bytes:
    """A column of byte strings; b"" where one is null."""

    def __init__(self, column: pa.BinaryArray) -> None:
        _, offsets, data = column.buffers()
        self._offsets = _offsets(column, offsets)
        self._data = memoryview(b"" if data is None else data)

    def __getitem__(self, at: int) -> bytes:
        return bytes(self._data[self._offsets[at] : self._offsets[at + 1]])


class Lists:
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
