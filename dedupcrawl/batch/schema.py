"""Fingerprints as Arrow columns: a row for each page, in the order of the corpus."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dedupcrawl.stores.base import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.stores.base import Record

VERSION = 1  #: of the layout
PART = pa.field("part", pa.string())  #: behind the others, where pages of several corpora stand together
_PAD = bytes(8 - KEY_BYTES)
_TEXT = ("utf-8", "surrogatepass")


def schema(sketches: int) -> pa.Schema:
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


def with_probes(batch: pa.RecordBatch) -> pa.RecordBatch:
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


_PLAIN = ("row", "url", "reason", "cluster", "time", "length", "size")


class Filing:
    """Collects rows, and makes a batch of them."""

    def __init__(self, sketches: int) -> None:
        self._schema = schema(sketches)
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
        probes, cluster = record.looks_under, to_bytes(record.cluster) if record.cluster else None
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
        plain = dict(zip(_PLAIN, zip(*self._rows, strict=True), strict=True)) if self._rows else {}
        sketches = enumerate(zip(*self._sketches, strict=True))
        columns: dict[str, Any] = plain | {sketch_name(place): column for place, column in sketches}
        lists = {"keys": _lists(self._keys)}
        if self._differ:
            lists["probes"] = _lists(self._probes)
        arrays = [
            lists[field.name]
            if field.name in lists
            else pa.array(columns.get(field.name, (None,) * len(self)), field.type)
            for field in self._schema
        ]
        self._begin()
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _lists(keys: Sequence[tuple[bytes, ...]]) -> pa.ListArray:
    ends = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, pack_keys(chain.from_iterable(keys)))
