"""The fingerprints of a run as a table, and the table of verdicts as a solution."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.corpus import read_batches
from dedupcrawl.batch.solving import NOBODY, Solution
from dedupcrawl.batch.spark.columns import ddl, prints_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solving import Crowding
    from dedupcrawl.batch.work import Work

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


def prints_of(  # noqa: PLR0917
    spark: SparkSession, job: Job, work: Work, corpus: Corpus, order: Numbers, folder: Path
) -> DataFrame:
    """Return the pages of a corpus that can be judged: ``columns.prints_schema``.

    The workers read them from the files that the driver maps; ``folder`` gets the places in the order.
    """
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    np.save(folder / "ranks.npy", ranks)
    paths = [work.prints(part.name) for part, _, _ in corpus.spans]
    pieces = list(_pieces([work.given, *paths] if corpus.given else paths))
    table = spark.createDataFrame(pieces, "path string, number int, first long")
    schema = prints_schema(job.sketches)
    return table.mapInArrow(_Reading(str(folder / "ranks.npy"), job.sketches), ddl(schema))


def _pieces(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    """Give the batches of files: path, number in it, and number of its first row in the corpus."""
    first = 0
    for path in paths:
        for number, batch in enumerate(read_batches(path)):
            yield str(path), number, first
            first += batch.num_rows


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads batches of fingerprints; it travels to the workers."""

    ranks: str  #: file with the place in the order of each row of the corpus
    sketches: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for asked in batches:
            for piece in asked.to_pylist():
                yield self._read(Path(piece["path"]), piece["number"], piece["first"])

    def _read(self, path: Path, number: int, first: int) -> pa.RecordBatch:
        batch = read_batches(path)[number]
        ranks = np.load(self.ranks, mmap_mode="r")[first : first + batch.num_rows]
        layout = prints_schema(self.sketches)
        keys = pa.list_(pa.int64())
        there = {
            "page": pa.array(np.array(ranks)),
            "keys": batch.column("keys").cast(keys),
            "probes": batch.column("probes").cast(keys),
        }
        arrays = [there[name] if name in there else batch.column(name) for name in layout.names]
        fit = batch.column("reason").is_null()
        return pa.RecordBatch.from_arrays(arrays, schema=layout).filter(fit)


def solution_of(said: pa.Table, order: Numbers, detectors: tuple[str, ...], crowding: Crowding) -> Solution:
    """Return the verdicts of a table of ``columns.VERDICTS`` with founders; pages it leaves out are kept."""
    rows = len(order)
    page = order[said.column("page").to_numpy()]
    founder = np.arange(rows)
    joined = ~np.isnan(_numbers(said, "founder"))
    founder[page[joined]] = order[_numbers(said, "founder")[joined].astype(np.int64)]
    keep = np.ones(rows, bool)
    keep[page] = said.column("keep").to_numpy()
    similarity = np.full(rows, np.nan)
    similarity[page] = _numbers(said, "similarity")
    of = _numbers(said, "of")
    return Solution(
        keep=keep,
        of=_placed(rows, page[~np.isnan(of)], order[of[~np.isnan(of)].astype(np.int64)], np.int64),
        relation=_placed(rows, page, np.nan_to_num(_numbers(said, "relation"), nan=NOBODY), np.int8),
        similarity=similarity,
        detector=_placed(rows, page, np.nan_to_num(_numbers(said, "detector"), nan=NOBODY), np.int8),
        founder=founder,
        detectors=detectors,
        crowding=crowding,
    )


def _numbers(said: pa.Table, name: str) -> Numbers:
    """Return a column; NaN where it is null."""
    return np.asarray(said.column(name).to_numpy(), np.float64)


def _placed(rows: int, at: Numbers, values: Numbers, kind: type[np.generic]) -> Numbers:
    """Return the values at their rows, and nobody elsewhere."""
    placed = np.full(rows, NOBODY, kind)
    placed[at] = values.astype(kind)
    return placed
