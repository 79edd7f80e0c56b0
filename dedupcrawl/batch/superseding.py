"""Which page takes the place of which, where the latest one wins.

The list is what the reduce step of the patent's MapReduce mode gives: a new page, and all older ones that it
repeats.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from dedupcrawl.atomic import whole
from dedupcrawl.batch.corpus import read_batches, read_table
from dedupcrawl.batch.solving import NOBODY, RELATIONS
from dedupcrawl.batch.work import SUPERSEDED
from dedupcrawl.detectors.base import Relation
from dedupcrawl.judging import DUPLICATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solving import Solution
    from dedupcrawl.batch.work import Work

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Pairs = tuple[Numbers, Numbers]

#: Relations by which an older page loses its place to a newer one.
REPLACED = tuple(RELATIONS.index(each) for each in sorted(DUPLICATE | {Relation.UPDATED}))


def write_superseded(job: Job, work: Work, corpus: Corpus, found: Solution) -> int:
    """List the pages of this corpus that take the place of older, or given, ones; return how many."""
    if not job.latest:
        for path in (work.superseded, work.out / SUPERSEDED):
            path.unlink(missing_ok=True)
        return 0
    new, old = _pairs(corpus, found)
    with whole(work.superseded) as path:
        batch = pa.record_batch({"new": pa.array(new, pa.int64()), "old": pa.array(old, pa.int64())})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as out:
            out.write_batch(batch)
    with whole(work.out / SUPERSEDED) as path, path.open("wb") as lines:
        for row, olds in groupby(zip(new.tolist(), old.tolist(), strict=True), key=lambda pair: pair[0]):
            urls = [corpus.prints.url(each) for _, each in olds]
            lines.write(_line({"url": corpus.prints.url(row), "old": urls}))
    return len(np.unique(new))


def superseded(work: Work) -> Iterator[tuple[int, int]]:
    """Give the rows of the corpus that took another's place, each with the row that lost it."""
    if work.superseded.exists():
        for batch in read_batches(work.superseded):
            yield from zip(batch.column("new").to_pylist(), batch.column("old").to_pylist(), strict=True)


def given_that_lost(work: Work) -> set[tuple[str, str, int]]:
    """Return the source, part and row of the given pages that lost their place."""
    if not work.superseded.exists() or not work.given.exists():
        return set()
    given = read_table(work.given).select(["source", "part", "row"])
    lost = sorted({old for _, old in superseded(work) if old < len(given)})
    rows = given.take(lost).to_pylist()
    return {(row["source"], row["part"], row["row"]) for row in rows}


def _pairs(corpus: Corpus, found: Solution) -> Pairs:
    """Return the new and the old rows, by the new ones' place in the corpus."""
    lost = ~found.keep & np.isin(found.relation, REPLACED) & (found.of != NOBODY)
    old = np.flatnonzero(lost & (found.of >= corpus.given))
    new = found.of[old]
    order = np.lexsort((old, new))
    return new[order], old[order]


def _line(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair
        return json.dumps(value).encode() + b"\n"
