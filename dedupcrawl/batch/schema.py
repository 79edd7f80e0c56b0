"""Fingerprints as Arrow columns: a row for each page, in the order of the corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dedupcrawl.stores.base import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.stores.base import Record

VERSION = 1  #: of the layout
PART = pa.field("part", pa.string())  #: behind the others, where pages of several corpora stand together
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
    place = batch.schema.get_field_index("probes")
    return batch.set_column(place, batch.schema.field(place), pc.coalesce(probes, batch.column("keys")))


def pack_keys(keys: Iterable[bytes]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return keys as numbers, big-endian, so that they are ordered alike."""
    joined = b"".join(b"\0\0" + key for key in keys)
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


class Filing:
    """Collects rows, and makes a batch of them."""

    def __init__(self, sketches: int) -> None:
        self._schema = schema(sketches)
        self._sketches = sketches
        self._differ = False
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}

    def __len__(self) -> int:
        return len(self._columns["row"])

    def add(
        self, row: int, record: Record, *, time: float | None = None, length: int = 0, size: int = 0
    ) -> None:
        """Add a page that was fingerprinted."""
        self._differ |= set(record.looks_under) != set(record.keys)
        self._add(
            row=row,
            url=to_bytes(record.url),
            reason=None,
            keys=pack_keys(record.keys),
            probes=pack_keys(record.looks_under),
            cluster=to_bytes(record.cluster) if record.cluster else None,
            time=time,
            length=length,
            size=size,
            sketches=record.sketches,
        )

    def add_unfit(
        self, row: int, url: str, reason: str, *, time: float | None = None, length: int = 0, size: int = 0
    ) -> None:
        """Add a page that no detector can judge."""
        self._add(
            row=row,
            url=to_bytes(url),
            reason=reason,
            keys=(),
            probes=(),
            cluster=None,
            time=time,
            length=length,
            size=size,
            sketches=(b"",) * self._sketches,
        )

    def _add(self, *, sketches: Sequence[bytes], **values: Any) -> None:
        for name, value in values.items():
            self._columns[name].append(value)
        for place, sketch in enumerate(sketches):
            self._columns[sketch_name(place)].append(sketch)

    def batch(self) -> pa.RecordBatch:
        """Return the rows, and begin anew."""
        if not self._differ:
            self._columns["probes"] = [None] * len(self)
        self._differ = False
        arrays = [pa.array(self._columns[field.name], field.type) for field in self._schema]
        self._columns = {name: [] for name in self._schema.names}
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
