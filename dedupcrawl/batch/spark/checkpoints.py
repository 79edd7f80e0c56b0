"""Tables that tasks exchange: their columns, Parquet checkpoints, and conversion from and to Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.columns import read_batches, sketch_name
from dedupcrawl.batch.solver import NONE, SolverResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.job import Corpus, Job
    from dedupcrawl.batch.solver import HotBucketCounts
    from dedupcrawl.batch.workdir import Workdir


#: The candidates that a page is compared with. Pages are numbered by their place in the order.
CANDIDATE_SCHEMA = pa.schema([("page", pa.int64()), ("candidates", pa.list_(pa.int64()))])
#: The verdict of a page with candidates; relation and detector are places in ``RELATIONS`` and the detectors.
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
#: The verdict of a page, and its candidates.
JUDGED_SCHEMA = pa.schema([*VERDICT_SCHEMA, *CANDIDATE_SCHEMA.remove(0)])
_SPARK_NAMES = {
    pa.int64(): "long",
    pa.int8(): "byte",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.string(): "string",
    pa.list_(pa.int64()): "array<long>",
}


def spark_fingerprint_schema(sketches: int) -> pa.Schema:
    """Return columns of :func:`fingerprint_schema`; ``page`` is the place in the order."""
    sketch_fields = ((sketch_name(place), pa.binary()) for place in range(sketches))
    keys = pa.list_(pa.int64())
    own = [("page", pa.int64()), ("url", pa.binary()), ("keys", keys), ("probes", keys)]
    return pa.schema([*own, ("identity", pa.binary()), ("context", pa.binary()), *sketch_fields])


def spark_fingerprints(batch: pa.RecordBatch, schema: pa.Schema, **columns: pa.Array) -> pa.RecordBatch:
    """Convert a batch of fingerprints: signed keys, and further columns."""
    signed = pa.list_(pa.int64())
    columns |= {name: batch.column(name).cast(signed) for name in ("keys", "probes")}
    arrays = [columns[name] if name in columns else batch.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def ddl(schema: pa.Schema) -> str:
    """Return a schema in the notation of Spark."""
    return ", ".join(f"{field.name} {_SPARK_NAMES[field.type]}" for field in schema)


def sketch_columns(names: Sequence[str]) -> list[str]:
    """Return the columns with sketches among these, in order."""
    return [sketch_name(place) for place in range(sum(name.startswith("sketch_") for name in names))]


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """Parquet files in one folder. A lost task is repeated from them, not from the beginning."""

    spark: SparkSession
    folder: str  #: path or URL that driver and workers can write to

    def save(self, table: DataFrame, name: str) -> DataFrame:
        """Write a table, and return it as read from the files."""
        place = f"{self.folder}/{name}"
        table.write.mode("overwrite").parquet(place)
        return self.spark.read.schema(table.schema).parquet(place)

    def remove(self, name: str) -> None:
        """Delete a table."""
        context: Any = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}")
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)


def fingerprints_of(  # noqa: PLR0917
    spark: SparkSession, job: Job, work: Workdir, corpus: Corpus, order: Numbers, folder: Path
) -> DataFrame:
    """Return the judgeable pages of a corpus (:func:`spark_fingerprint_schema`).

    The workers read the files of the work folder. The places in the order are written to ``folder``.
    """
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    np.save(folder / "ranks.npy", ranks)
    paths = [work.compared(part.name) for part, _, _ in corpus.spans]
    batches = list(_batch_locations([work.prior_pages, *paths] if corpus.prior else paths))
    table = spark.createDataFrame(batches, "path string, number int, first long")
    schema = spark_fingerprint_schema(job.sketches)
    return table.mapInArrow(_FingerprintReader(str(folder / "ranks.npy"), job.sketches), ddl(schema))


def _batch_locations(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    """Yield path, number in the file, and first row in the corpus of each batch."""
    first = 0
    for path in paths:
        for number, batch in enumerate(read_batches(path)):
            yield str(path), number, first
            first += batch.num_rows


@dataclass(frozen=True, slots=True)
class _FingerprintReader:
    """Reads batches of fingerprints; it is pickled to the workers."""

    ranks: str  #: file with the place in the order of each row of the corpus
    sketches: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for locations in batches:
            for each in locations.to_pylist():
                yield self._read(Path(each["path"]), each["number"], each["first"])

    def _read(self, path: Path, number: int, first: int) -> pa.RecordBatch:
        batch = read_batches(path)[number]
        ranks = np.load(self.ranks, mmap_mode="r")[first : first + batch.num_rows]
        schema = spark_fingerprint_schema(self.sketches)
        pages = spark_fingerprints(batch, schema, page=pa.array(np.array(ranks)))
        return pages.filter(batch.column("reason").is_null())


def solution_of(
    verdicts: pa.Table, order: Numbers, detectors: tuple[str, ...], hot_buckets: HotBucketCounts
) -> SolverResult:
    """Convert a table of ``VERDICT_SCHEMA`` and founders; pages that are not in it are kept."""
    rows = len(order)
    page = order[verdicts.column("page").to_numpy()]
    founder, founders = np.arange(rows), _float_column(verdicts, "founder")
    joined = ~np.isnan(founders)
    founder[page[joined]] = order[founders[joined].astype(np.int64)]
    keep = np.ones(rows, bool)
    keep[page] = verdicts.column("keep").to_numpy()
    similarity = np.full(rows, np.nan)
    similarity[page] = _float_column(verdicts, "similarity")
    of = _float_column(verdicts, "of")
    related = ~np.isnan(of)
    relation, detector = (np.nan_to_num(_float_column(verdicts, name), nan=NONE) for name in ("relation", "detector"))
    return SolverResult(
        keep=keep,
        of=_scatter(rows, page[related], order[of[related].astype(np.int64)], np.int64),
        relation=_scatter(rows, page, relation, np.int8),
        similarity=similarity,
        detector=_scatter(rows, page, detector, np.int8),
        founder=founder,
        detectors=detectors,
        hot_buckets=hot_buckets,
    )


def _float_column(table: pa.Table, name: str) -> Numbers:
    """Return a column; NaN for nulls."""
    return np.asarray(table.column(name).to_numpy(), np.float64)


def _scatter(rows: int, at: Numbers, values: Numbers, dtype: type[np.generic]) -> Numbers:
    """Return an array with the values at these rows and ``NONE`` elsewhere."""
    scattered = np.full(rows, NONE, dtype)
    scattered[at] = values.astype(dtype)
    return scattered
