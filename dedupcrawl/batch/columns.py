"""The Arrow columns of a batch: arrays by their buffers, and the table of fingerprints with its builder and reader.

``pyarrow.array`` and ``to_numpy`` import pandas where it is installed, and ``is_null`` imports ``pyarrow.compute``.
That takes half a second of processor time in each process. Here the bytes are handed over as they are.

A table of fingerprints has one row for each page. It consists of record batches, in memory or mapped from files.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dedupcrawl.fingerprinting import TEMPLATE
from dedupcrawl.identity.identity_codec import UNREAD_BYTES
from dedupcrawl.identity.identity_sketch import unread_reason
from dedupcrawl.stores.base import KEY_BYTES, Record, RecordContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]  #: integers or floats
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


#: numpy types by Arrow types; a boolean is one bit in Arrow.
_NUMPY_TYPES = {pa.int8(): np.int8, pa.int32(): np.int32, pa.int64(): np.int64}
_NUMPY_TYPES |= {pa.uint32(): np.uint32, pa.uint64(): np.uint64, pa.float64(): np.float64}


def arrow_array(values: Numbers | Flags, null: Flags | None = None) -> pa.Array:
    """Return an Arrow array of the same type.

    Args:
        values: numbers or booleans; they are not copied, and must not change.
        null: which of them are null; None: none of them.
    """
    is_bool = values.dtype == np.bool_
    data = _pack(values) if is_bool else pa.py_buffer(np.ascontiguousarray(values))
    valid = None if null is None or not null.any() else _pack(~null)
    return pa.Array.from_buffers(
        pa.bool_() if is_bool else pa.from_numpy_dtype(values.dtype), len(values), [valid, data]
    )


def arrow_lists(ends: Numbers, values: Numbers) -> pa.ListArray:
    """Return a column of lists: list i is ``values[ends[i]:ends[i + 1]]``."""
    items = arrow_array(values)
    offsets = pa.py_buffer(np.ascontiguousarray(ends, np.int32))
    return pa.Array.from_buffers(pa.list_(items.type), len(ends) - 1, [None, offsets], children=[items])


def arrow_bytes(values: Sequence[bytes | None], type: pa.DataType | None = None) -> pa.Array:
    """Return a column of byte strings; None becomes null.

    ``type``: of the column, ``binary`` (default) or ``string``. Raises OverflowError for 2 GiB or more.
    """
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value or b"") for value in values], out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{len(values)} values of {ends[-1]} bytes in all; a column holds less than 2 GiB")
    valid = _pack(np.array([value is not None for value in values], bool)) if None in values else None
    buffers = [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(filter(None, values)))]
    return pa.Array.from_buffers(type or pa.binary(), len(values), buffers)


def arrow_strings(values: Sequence[str | None]) -> pa.Array:
    """Return a column of strings; None becomes null. Raises UnicodeEncodeError for lone surrogates."""
    return arrow_bytes([None if value is None else value.encode() for value in values], pa.string())


def arrow_labels(labels: Sequence[str | None], places: Numbers) -> pa.Array:
    """Return a column of strings: the label at each place."""
    encoded = np.array([None if label is None else label.encode() for label in labels], object)
    return arrow_bytes(encoded[places].tolist(), pa.string())


def numpy_array(column: pa.Array | pa.ChunkedArray, null: float | None = None) -> Any:
    """Return the values of a column of numbers or booleans.

    Args:
        column: the column.
        null: the value for a null; None: NaN, and a column without floats has no nulls.
    """
    if isinstance(column, pa.ChunkedArray):
        chunks = [numpy_array(chunk, null) for chunk in column.chunks]
        return np.concatenate(chunks) if chunks else np.zeros(0, _dtype(column.type))
    data, span = column.buffers()[1], slice(column.offset, column.offset + len(column))
    if not len(column) or data is None:  # without a value there may be no buffer
        values = np.zeros(len(column), _dtype(column.type))
    elif pa.types.is_boolean(column.type):
        values = _unpack(data, span)
    else:
        values = np.frombuffer(data, _dtype(column.type))[span]
    if column.null_count:
        values = np.where(is_valid(column), values, np.nan if null is None else null).astype(values.dtype)
    return values


def is_valid(column: pa.Array) -> Flags:
    """Return which values of a column are not null."""
    valid = column.buffers()[0]
    if valid is None or not column.null_count:
        return np.full(len(column), column.null_count == 0)
    return _unpack(valid, slice(column.offset, column.offset + len(column)))


def _dtype(type: pa.DataType) -> Any:
    return np.bool_ if pa.types.is_boolean(type) else _NUMPY_TYPES[type]


def _pack(flags: Flags) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _unpack(bits: pa.Buffer, span: slice) -> Flags:
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=span.stop, bitorder="little")[span].view(np.bool_)


# -- fingerprints -------------------------------------------------------------------------------

LAYOUT_VERSION = 6  #: of the columns below, and of those of the texts (:mod:`dedupcrawl.batch.repeated_text`)
#: Last column of tables that hold pages of several corpora: the part that a page comes from.
PART_FIELD = pa.field("part", pa.string())
RECORD_CACHE_SIZE = 4096  #: decoded records that a table keeps in memory
_PAD = bytes(8 - KEY_BYTES)
_ENCODING = ("utf-8", "surrogatepass")
_SCALARS = 12  #: columns with one value for each row, except sketches


def fingerprint_schema(sketches: int) -> pa.Schema:
    """Return the columns of a table of fingerprints.

    ``url`` and ``cluster`` are UTF-8 that may hold lone surrogates, hence binary. ``cluster`` is null unless
    the page joined the cluster of another, ``identity`` if the record has none. ``keys`` are 6-byte keys as
    integers. ``probes`` is null in a whole batch if the probes of all its pages equal their keys. A page that
    no detector can judge has a ``reason``, no keys, and empty sketches. ``context`` is null unless the site of the page
    is known and repeats some of its text (:func:`_pack_context`).
    """
    return pa.schema(
        [
            pa.field("row", pa.int64(), nullable=False),  # number in its part, from 0
            pa.field("url", pa.binary(), nullable=False),
            pa.field("reason", pa.string()),
            pa.field("keys", pa.list_(pa.uint64()), nullable=False),
            pa.field("probes", pa.list_(pa.uint64())),
            *(pa.field(sketch_name(place), pa.binary(), nullable=False) for place in range(sketches)),
            pa.field("identity", pa.binary()),  # of the record; null if it is empty
            pa.field("context", pa.binary()),
            pa.field("cluster", pa.binary()),
            pa.field("time", pa.float64()),  # Unix time in seconds; null if unknown
            pa.field("length", pa.int32(), nullable=False),  # characters of the main text
            pa.field("size", pa.int64(), nullable=False),  # bytes of the page
            pa.field("score", pa.float64()),  # the number by which it is preferred; null if there is none
            pa.field("capture", pa.binary()),  # of its WARC record, if revisit records are written; else null
            pa.field("outline", pa.binary()),  # where the parts of its text are, if rows are annotated; else null
        ]
    )


def _pack_context(context: RecordContext | None) -> bytes | None:
    """Return the sketches of the whole text, each after its length in 4 bytes; b"" if the site repeats all of it."""
    if context is None or not (context.reason or context.whole):
        return None
    return b"".join([len(each).to_bytes(4, "big") + each for each in context.whole])


def unpack_context(value: bytes) -> RecordContext:
    """Return the context of a page by its value in the column."""
    whole, at = [], 0
    while at < len(value):
        end = at + 4 + int.from_bytes(value[at : at + 4], "big")
        whole.append(value[at + 4 : end])
        at = end
    return RecordContext(tuple(whole), reason="" if whole else TEMPLATE)


def sketch_name(place: int) -> str:
    """Return the name of the column with the sketches at this place of a record."""
    return f"sketch_{place}"


def fill_probes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with ``probes`` null in all rows or in none.

    Batches with and without probes can be joined; then missing probes are copied from the keys.
    """
    probes = batch.column("probes")
    if not 0 < probes.null_count < len(batch):
        return batch
    import pyarrow.compute as pc  # noqa: PLC0415  # rarely needed and slow to import

    place = batch.schema.get_field_index("probes")
    return batch.set_column(place, batch.schema.field(place), pc.coalesce(probes, batch.column("keys")))


def pack_keys(keys: Iterable[bytes]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return keys as integers, big-endian so that both sort alike."""
    joined = _PAD.join((b"", *keys))
    return np.frombuffer(joined, ">u8").astype(np.uint64)


def unpack_keys(numbers: Iterable[int]) -> tuple[bytes, ...]:
    """Return the keys that :func:`pack_keys` turned into integers."""
    return tuple(int(number).to_bytes(KEY_BYTES, "big") for number in numbers)


def to_bytes(text: str) -> bytes:
    """Encode a URL or the name of a cluster; lone surrogates are kept."""
    return text.encode(*_ENCODING)


def to_text(data: bytes) -> str:
    """Decode what :func:`to_bytes` encoded."""
    return data.decode(*_ENCODING)


class RowValues(NamedTuple):
    """What a table of fingerprints has of a page beside its record."""

    time: float | None = None  #: Unix time in seconds
    length: int = 0  #: characters of the main text
    size: int = 0  #: bytes of the page
    score: float | None = None  #: the number by which copies are preferred
    capture: bytes | None = None  #: as in :class:`~dedupcrawl.batch.formats.base.Row`
    outline: bytes | None = None  #: :func:`dedupcrawl.text.positions.outline` of the main text


class FingerprintTableBuilder:
    """Collects rows and makes record batches of them."""

    def __init__(self, sketches: int) -> None:
        self._schema = fingerprint_schema(sketches)
        self._no_sketches = (b"",) * sketches
        self._clear()

    def _clear(self) -> None:
        self._has_probes = False
        self._rows: list[tuple[Any, ...]] = []  # see batch()
        self._keys: list[tuple[bytes, ...]] = []
        self._probes: list[tuple[bytes, ...]] = []
        self._sketches: list[tuple[bytes, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, record: Record, about: RowValues | None = None) -> None:
        """Add a fingerprinted page; ``about``: what else is known of it."""
        about = about or RowValues()
        probes, cluster = record.lookup_keys, to_bytes(record.cluster) if record.cluster else None
        self._has_probes |= probes != record.keys and set(probes) != set(record.keys)
        context = _pack_context(record.context)
        self._rows.append((row, to_bytes(record.url), None, record.identity or None, context, cluster, *about))
        self._keys.append(record.keys)
        self._probes.append(probes)
        self._sketches.append(record.sketches)

    def add_unchecked(self, row: int, url: str, reason: str, about: RowValues | None = None) -> None:
        """Add a page that no detector can judge, and the reason; the rest as in :meth:`add`."""
        self._rows.append((row, to_bytes(url), reason, None, None, None, *(about or RowValues())))
        self._keys.append(())
        self._probes.append(())
        self._sketches.append(self._no_sketches)

    def batch(self) -> pa.RecordBatch:
        """Return the rows that were added since the last call."""
        rows: Iterable[Any] = zip(*self._rows, strict=True) if self._rows else ((),) * _SCALARS
        sketches = zip(*self._sketches, strict=True) if self._rows else ((),) * len(self._no_sketches)
        number, url, reason, identity, context, cluster, times, length, size, scores, capture, outline = rows
        time, score = (np.array(each, np.float64) for each in (times, scores))  # NaN for None
        arrays = [
            arrow_array(np.array(number, np.int64)),
            arrow_bytes(url),
            arrow_strings(reason),
            _key_column(self._keys),
            _key_column(self._probes) if self._has_probes else pa.nulls(len(self), self._schema.field("probes").type),
            *map(arrow_bytes, sketches),
            arrow_bytes(identity),
            arrow_bytes(context),
            arrow_bytes(cluster),
            arrow_array(time, np.isnan(time)),
            arrow_array(np.array(length, np.int32)),
            arrow_array(np.array(size, np.int64)),
            arrow_array(score, np.isnan(score)),
            arrow_bytes(capture),
            arrow_bytes(outline),
        ]
        self._clear()
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _key_column(keys: Sequence[tuple[bytes, ...]]) -> pa.ListArray:
    ends = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    return arrow_lists(ends, pack_keys(chain.from_iterable(keys)))


class FingerprintTable:
    """The rows of some record batches, numbered from 0 across all batches."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self.batches = [batch for batch in batches if batch.num_rows]
        self._batches = [_ColumnBatch(batch) for batch in self.batches]
        self._starts = [0, *accumulate(len(batch) for batch in self._batches)]
        #: Returns the record of a row without keys and probes: all that detectors compare.
        self.sketch_record = lru_cache(RECORD_CACHE_SIZE)(self._sketch_record)

    def __len__(self) -> int:
        return self._starts[-1]

    def url(self, row: int) -> str:
        """Return the URL of a row."""
        return to_text(self.encoded_url(row))

    def encoded_url(self, row: int) -> bytes:
        """Return the URL of a row in the encoding of :func:`to_bytes`."""
        batch, at = self._find(row)
        return batch.urls[at]

    def value(self, row: int, name: str) -> bytes:
        """Return the value of a column of byte strings; b"" for null."""
        batch, at = self._find(row)
        return batch.batch.column(name)[at].as_py() or b""

    def record(self, row: int) -> Record:
        """Return the full record of a row; ``seen`` is 0."""
        batch, at = self._find(row)
        return replace(
            self.sketch_record(row),
            keys=unpack_keys(batch.keys.of(at)),
            probes=unpack_keys(batch.probes.of(at)) if batch.has_probes else None,
        )

    def _sketch_record(self, row: int) -> Record:
        batch, at = self._find(row)
        cluster = batch.clusters[at]
        return Record(
            url=to_text(batch.urls[at]),
            keys=(),
            sketches=tuple([column[at] for column in batch.sketches]),
            seen=0.0,
            cluster=to_text(cluster) if cluster else "",
            identity=batch.identities[at],
            context=unpack_context(batch.contexts[at]) if batch.has_context[at] else None,
        )

    def judgeable(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return for each row whether a detector can judge it."""
        return np.asarray(self._concatenate("reason", lambda column: ~is_valid(column)), bool)

    def reasons(self) -> Iterator[tuple[int, str]]:
        """Yield the rows that no detector can judge, each with the reason."""
        for start, batch in zip(self._starts, self._batches, strict=False):
            reasons = batch.batch.column("reason")
            if reasons.null_count < len(reasons):
                yield from ((start + at, why) for at, why in enumerate(reasons.to_pylist()) if why is not None)

    def unread(self) -> Iterator[tuple[int, str]]:
        """Yield the rows that are compared, and unchecked if unrelated, each with the reason for that."""
        for start, batch in zip(self._starts, self._batches, strict=False):
            for at in np.flatnonzero(batch.identities.sizes == UNREAD_BYTES).tolist():
                yield start + at, unread_reason(batch.identities[at])
            for at in np.flatnonzero(batch.has_context & (batch.contexts.sizes == 0)).tolist():
                yield start + at, TEMPLATE

    def numbers(self, name: str) -> Numbers:
        """Return a numeric column, one value for each row; NaN for nulls of a float column."""
        return np.asarray(self._concatenate(name, numpy_array))

    def keys(self) -> list[ListColumn]:
        """Return the keys of the rows, one column for each batch."""
        return [batch.keys for batch in self._batches]

    def probes(self) -> list[ListColumn]:
        """Return the probes of the rows, one column for each batch."""
        return [batch.probes if batch.has_probes else batch.keys for batch in self._batches]

    @property
    def has_probes(self) -> bool:
        """Whether the probes of any page differ from its keys."""
        return any(batch.has_probes for batch in self._batches)

    def _concatenate(self, name: str, read: Any) -> Any:
        arrays = [read(batch.batch.column(name)) for batch in self._batches]
        return np.concatenate(arrays) if arrays else np.zeros(0)

    def _find(self, row: int) -> tuple[_ColumnBatch, int]:
        batch = bisect_right(self._starts, row) - 1
        return self._batches[batch], row - self._starts[batch]


class _ColumnBatch:
    """The columns of one batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.urls = _BytesColumn(batch.column("url"))
        self.clusters = _BytesColumn(batch.column("cluster"))
        self.identities = _BytesColumn(batch.column("identity"))
        self.contexts = _BytesColumn(batch.column("context"))
        self.has_context = is_valid(batch.column("context"))
        count = sum(name.startswith("sketch_") for name in batch.schema.names)
        self.sketches = [_BytesColumn(batch.column(sketch_name(place))) for place in range(count)]
        self.keys = ListColumn(batch.column("keys"))
        self.probes = ListColumn(batch.column("probes"))
        self.has_probes = batch.column("probes").null_count < batch.num_rows

    def __len__(self) -> int:
        return int(self.batch.num_rows)


class _BytesColumn:
    """A column of byte strings; b"" for a null."""

    def __init__(self, column: pa.BinaryArray) -> None:
        _, offsets, data = column.buffers()
        # An item of a memory view is a Python integer, in half the time that a number of numpy takes.
        self._offsets: memoryview = _offsets(column, offsets).data
        self._data = memoryview(b"" if data is None else data)

    @property
    def sizes(self) -> Numbers:
        """The size of each byte string."""
        return np.diff(np.asarray(self._offsets))

    def __getitem__(self, at: int) -> bytes:
        return self._data[self._offsets[at] : self._offsets[at + 1]].tobytes()


class ListColumn:
    """A column of lists of integers; an empty list for a null."""

    def __init__(self, column: pa.ListArray) -> None:
        self._offsets = _offsets(column, column.buffers()[1])
        self._values = numpy_array(column.values)

    def of(self, at: int) -> Numbers:
        """Return the list at a place of the column."""
        values: Numbers = self._values[self._offsets[at] : self._offsets[at + 1]]
        return values

    @property
    def counts(self) -> Numbers:
        """The length of each list."""
        return np.diff(self._offsets)

    @property
    def values(self) -> Numbers:
        """The values of all lists, concatenated."""
        values: Numbers = self._values[self._offsets[0] : self._offsets[-1]]
        return values


def _offsets(column: pa.Array, offsets: pa.Buffer | None) -> Numbers:
    if offsets is None or not len(column):
        return np.zeros(len(column) + 1, np.int32)
    whole = np.frombuffer(offsets, np.int32)
    return whole[column.offset : column.offset + len(column) + 1]


def read_table(path: Path) -> pa.Table:
    """Return the rows of an Arrow file, mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def read_batches(path: Path) -> list[pa.RecordBatch]:
    """Return the batches of an Arrow file, mapped into memory."""
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]
