"""Whom a page meets in a bucket: a walk along sorted rows, in a task."""

from __future__ import annotations

from array import array
from collections import deque
from typing import TYPE_CHECKING

import pyarrow as pa

from dedupcrawl.batch.spark.columns import MEETINGS
from dedupcrawl.stores.base import BUCKET_CAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def meet(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give each page that looks into a bucket the newest ``BUCKET_CAP`` kept pages before it there.

    The rows have the columns of :func:`~dedupcrawl.batch.spark.buckets.with_kept`, sorted by bucket and page;
    those of a bucket may go on in the next batch. A bucket in which nobody stands before a page gives no row.
    """
    current = None
    newest: deque[int] = deque(maxlen=BUCKET_CAP)
    for batch in batches:
        found = _Found()
        for bucket, page, filed, sought, kept in _rows(batch):
            if bucket != current:
                current = bucket
                newest.clear()
            if sought and newest:
                found.add(page, newest)
            if filed and kept:
                newest.append(page)
        yield found.batch()


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[int, int, bool, bool, bool]]:
    names = ("bucket", "page", "filed", "sought", "kept")
    columns = (batch.column(name).to_numpy(zero_copy_only=False).tolist() for name in names)
    return zip(*columns, strict=True)


class _Found:
    """Collects lists without making an object of each."""

    def __init__(self) -> None:
        self._pages = array("q")
        self._met = array("q")
        self._ends = array("i", [0])

    def add(self, page: int, met: Iterable[int]) -> None:
        self._pages.append(page)
        self._met.extend(met)
        self._ends.append(len(self._met))

    def batch(self) -> pa.RecordBatch:
        met = pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), pa.array(self._met, pa.int64()))
        return pa.RecordBatch.from_arrays([pa.array(self._pages, pa.int64()), met], schema=MEETINGS)
