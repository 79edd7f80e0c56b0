"""What a run on Spark comes to on its way: tables in a folder that the driver and all workers see.

The columns of the tables that go between tasks, as Spark and as Arrow call them.

The fingerprints of a run as a table, and the table of verdicts as a solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.corpus import read_batches
from dedupcrawl.batch.fingerprint_table import sketch_name
from dedupcrawl.batch.solver import NONE, Solution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solver import Crowding
    from dedupcrawl.batch.workdir import Workdir

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Parquet in one folder. A task that is lost is done again from there, whoever else was lost with it."""

    spark: SparkSession
    folder: str  #: a path or a URL that Spark can write to

    def save(self, table: DataFrame, name: str) -> DataFrame:
        """Write a table, and return it as it is read from there."""
        place = self._place(name)
        table.write.mode("overwrite").parquet(place)
        return self.spark.read.schema(table.schema).parquet(place)

    def remove(self, name: str = "") -> None:
        """Remove a table, or all of them."""
        context: Any = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(self._place(name))
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)

    def _place(self, name: str) -> str:
        return f"{self.folder}/{name}" if name else self.folder


_SPARK_NAMES = {
    pa.int64(): "long",
    pa.int8(): "byte",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.string(): "string",
    pa.list_(pa.int64()): "array<long>",
}

#: Whom a page met: those that were kept before it in its buckets, by their places in the order.
CANDIDATE_SCHEMA = pa.schema([("page", pa.int64()), ("met", pa.list_(pa.int64()))])

#: What is said of a page that met any; relation and detector are places in ``RELATIONS`` and the detectors.
VERDICT_SCHEMA = pa.schema(
    [
        ("page", pa.int64()),
        ("keep", pa.bool_()),
        ("of", pa.int64()),
        ("relation", pa.int8()),
        ("similarity", pa.float64()),
        ("detector", pa.int8()),
        ("joins", pa.bool_()),  # whether it joins the cluster of ``of``
    ]
)

#: The same, with those it met.
JUDGED_SCHEMA = pa.schema([*VERDICT_SCHEMA, *CANDIDATE_SCHEMA.remove(0)])


def spark_fingerprint_schema(sketches: int) -> pa.Schema:
    """Return the columns of fingerprints: as in ``batch.schema``, but ``page`` is the place in the order."""
    return pa.schema(
        [
            ("page", pa.int64()),
            ("url", pa.binary()),
            ("keys", pa.list_(pa.int64())),
            ("probes", pa.list_(pa.int64())),
            *((sketch_name(place), pa.binary()) for place in range(sketches)),
        ]
    )


def ddl(schema: pa.Schema) -> str:
    """Write a schema as Spark reads it."""
    return ", ".join(f"{field.name} {_SPARK_NAMES[field.type]}" for field in schema)


def sketch_columns(names: Sequence[str]) -> list[str]:
    """Return the columns of sketches among these, in order."""
    return [sketch_name(place) for place in range(sum(name.startswith("sketch_") for name in names))]


def fingerprints_of(  # noqa: PLR0917
    spark: SparkSession, job: Job, work: Workdir, corpus: Corpus, order: Numbers, folder: Path
) -> DataFrame:
    """Return the pages of a corpus that can be judged: ``columns.prints_schema``.

    The workers read them from the files that the driver maps; ``folder`` gets the places in the order.
    """
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    np.save(folder / "ranks.npy", ranks)
    paths = [work.prints(part.name) for part, _, _ in corpus.spans]
    pieces = list(_batch_locations([work.given, *paths] if corpus.given else paths))
    table = spark.createDataFrame(pieces, "path string, number int, first long")
    schema = spark_fingerprint_schema(job.sketches)
    return table.mapInArrow(_FingerprintReader(str(folder / "ranks.npy"), job.sketches), ddl(schema))


def _batch_locations(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    """Give the batches of files: path, number in it, and number of its first row in the corpus."""
    first = 0
    for path in paths:
        for number, batch in enumerate(read_batches(path)):
            yield str(path), number, first
            first += batch.num_rows


@dataclass(frozen=True, slots=True)
class _FingerprintReader:
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
        layout = spark_fingerprint_schema(self.sketches)
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
    joined = ~np.isnan(_float_column(said, "founder"))
    founder[page[joined]] = order[_float_column(said, "founder")[joined].astype(np.int64)]
    keep = np.ones(rows, bool)
    keep[page] = said.column("keep").to_numpy()
    similarity = np.full(rows, np.nan)
    similarity[page] = _float_column(said, "similarity")
    of = _float_column(said, "of")
    return Solution(
        keep=keep,
        of=_scatter(rows, page[~np.isnan(of)], order[of[~np.isnan(of)].astype(np.int64)], np.int64),
        relation=_scatter(rows, page, np.nan_to_num(_float_column(said, "relation"), nan=NONE), np.int8),
        similarity=similarity,
        detector=_scatter(rows, page, np.nan_to_num(_float_column(said, "detector"), nan=NONE), np.int8),
        founder=founder,
        detectors=detectors,
        crowding=crowding,
    )


def _float_column(said: pa.Table, name: str) -> Numbers:
    """Return a column; NaN where it is null."""
    return np.asarray(said.column(name).to_numpy(), np.float64)


def _scatter(rows: int, at: Numbers, values: Numbers, kind: type[np.generic]) -> Numbers:
    """Return the values at their rows, and nobody elsewhere."""
    placed = np.full(rows, NONE, kind)
    placed[at] = values.astype(kind)
    return placed
