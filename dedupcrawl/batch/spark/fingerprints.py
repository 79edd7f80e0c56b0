"""Step 1 for rows of a DataFrame: fingerprints made in tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dedupcrawl.batch.filing import Clerk
from dedupcrawl.batch.formats import Bad
from dedupcrawl.batch.formats.fields import names_of, row_of
from dedupcrawl.batch.schema import Filing, to_text
from dedupcrawl.batch.spark.columns import prints_schema, sketch_names
from dedupcrawl.errors import DedupError
from dedupcrawl.policy import cluster_of
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.batch.formats import Row
    from dedupcrawl.batch.job import Job

NUMBER = "dedup_number"  #: the column that numbers the rows of a DataFrame
_ROWS = 1000  #: in a batch of fingerprints


def filed_schema(sketches: int) -> pa.Schema:
    """Return ``columns.prints_schema``, ``page`` being the row's number, and what else is told of a row.

    ``reason`` is null where a detector can judge the page; then ``founds`` names its own cluster.
    """
    return pa.schema([*prints_schema(sketches), ("reason", pa.string()), ("founds", pa.string())])


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """Fingerprints rows; it travels to the workers."""

    job: Job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give a row of :func:`filed_schema` for each row of a DataFrame that has a :data:`NUMBER`."""
        clerk = Clerk(self.job)
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS):
                yield self._filed(clerk, batch.slice(start, _ROWS))

    def _filed(self, clerk: Clerk, batch: pa.RecordBatch) -> pa.RecordBatch:
        filing = Filing(self.job.sketches)
        clerk.add(filing, self._rows(batch))
        return _told(filing.batch())

    def _rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        names = names_of(self.job.fields)
        for values in batch.to_pylist():
            row = row_of(values[NUMBER], values.get, names)
            if isinstance(row, Bad):
                raise DedupError(f"a row of the DataFrame cannot be read: {row.why}")
            yield row


def _told(batch: pa.RecordBatch) -> pa.RecordBatch:
    layout = filed_schema(len(sketch_names(batch.schema.names)))
    keys = pa.list_(pa.int64())
    there = {
        "page": batch.column("row"),
        "keys": batch.column("keys").cast(keys),
        "probes": batch.column("probes").cast(keys),
        "founds": pa.array(_names(batch), pa.string()),
    }
    arrays = [there[name] if name in there else batch.column(name) for name in layout.names]
    return pa.RecordBatch.from_arrays(arrays, schema=layout)


def _names(batch: pa.RecordBatch) -> Iterator[str | None]:
    """Name the cluster that each page founds."""
    columns = ["reason", "url", *sketch_names(batch.schema.names)]
    values: list[list[Any]] = [batch.column(name).to_pylist() for name in columns]
    for reason, url, *sketches in zip(*values, strict=True):
        yield None if reason else cluster_of(Record(to_text(url), (), tuple(sketches), seen=0.0))
