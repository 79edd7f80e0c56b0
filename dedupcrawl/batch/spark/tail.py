"""What the driver solves by itself: pages that share a key with another, brought to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.prints import Prints
from dedupcrawl.batch.schema import schema
from dedupcrawl.batch.solving import NOBODY, solve
from dedupcrawl.batch.spark.columns import VERDICTS, sketch_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dedupcrawl.batch.solving import Crowding, Rules, Solution

    Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def solve_here(prints: DataFrame, rules: Rules, given: int) -> tuple[pa.Table, Crowding]:
    """Solve these pages, page after page; return ``columns.VERDICTS`` of those that relate to another."""
    table = prints.selectExpr("*", "coalesce(probes, keys) as sought").drop("probes").toArrow()
    pages = table.column("page").to_numpy().astype(np.int64)
    order = np.argsort(pages)
    corpus = Prints([_filed(batch) for batch in table.to_batches()])
    found = solve(corpus, rules, order, given=int(np.count_nonzero(pages < given)))
    return _verdicts(found, pages), found.crowding


def _filed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch of fingerprints all columns of ``batch.schema``."""
    sketches = sketch_names(batch.schema.names)
    keys = pa.list_(pa.uint64())
    there = {
        "row": batch.column("page"),
        "url": batch.column("url"),
        "keys": batch.column("keys").cast(keys),
        "probes": batch.column("sought").cast(keys),
        **{name: batch.column(name) for name in sketches},
        "length": pa.array(np.zeros(batch.num_rows, np.int32)),
        "size": pa.array(np.zeros(batch.num_rows, np.int64)),
    }
    layout = schema(len(sketches))
    arrays = [there.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in layout]
    return pa.RecordBatch.from_arrays(arrays, schema=layout)


def _verdicts(found: Solution, pages: Numbers) -> pa.Table:
    rows = np.flatnonzero(found.of != NOBODY)
    of = found.of[rows]
    joins = found.founder[rows] == found.founder[of]
    similarity = found.similarity[rows]
    columns = [
        pa.array(pages[rows]),
        pa.array(found.keep[rows]),
        pa.array(pages[of]),
        pa.array(found.relation[rows], pa.int8()),
        pa.array(similarity, mask=np.isnan(similarity)),
        pa.array(found.detector[rows], pa.int8()),
        pa.array(joins),
    ]
    return pa.Table.from_arrays(columns, schema=VERDICTS)
