"""Arrow arrays from Python and numpy and back, by their buffers.

``pyarrow.array`` and ``to_numpy`` import pandas where it is installed, and ``is_null`` imports ``pyarrow.compute``.
That takes half a second of processor time in each process. Here the bytes are handed over as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.utils.arrays import Flags, Numbers

#: numpy types by Arrow types; a boolean is one bit in Arrow.
_NUMPY_TYPES = {pa.int8(): np.int8, pa.int32(): np.int32, pa.int64(): np.int64}
_NUMPY_TYPES |= {pa.uint64(): np.uint64, pa.float64(): np.float64}


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
        null: what stands for a null; None: NaN, and the column has none if it is not one of floats.
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
