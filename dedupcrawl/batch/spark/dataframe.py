"""Step 1 for rows of a DataFrame: fingerprints made in tasks.

Verdicts as the columns that a user reads.

Near-duplicates of a DataFrame's pages dropped, for users who own a session.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.fingerprint_table import FingerprintTableBuilder, to_text
from dedupcrawl.batch.fingerprinting import RowFingerprinter
from dedupcrawl.batch.formats import BadRow
from dedupcrawl.batch.formats.base import (
    ANNOTATION_COLUMNS,
    Fields,
    column_names,
    missing_column,
    row_from_columns,
)
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.solver import RELATIONS
from dedupcrawl.batch.spark.checkpoints import Checkpoints, ddl, sketch_columns, spark_fingerprint_schema
from dedupcrawl.batch.spark.session import retry_lost_workers, translate_errors
from dedupcrawl.batch.spark.sweeps import Bounds, SweepSolver, with_founders
from dedupcrawl.config import Config
from dedupcrawl.decision import DUPLICATE_RELATIONS, cluster_of
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.stores.base import Record
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from dedupcrawl.batch.formats import Row

    OrderBy = str | Column | Sequence[str | Column]


ROW_NUMBER = "dedup_number"  #: the column that numbers the rows of a DataFrame
_ROWS_PER_BATCH = 1000  #: in a batch of fingerprints


def row_fingerprint_schema(sketches: int) -> pa.Schema:
    """Return ``columns.prints_schema``, ``page`` being the row's number, and what else is told of a row.

    ``reason`` is null where a detector can judge the page; then ``founds`` names its own cluster.
    """
    return pa.schema([*spark_fingerprint_schema(sketches), ("reason", pa.string()), ("founds", pa.string())])


@dataclass(frozen=True, slots=True)
class FrameFingerprinter:
    """Fingerprints rows; it travels to the workers."""

    job: Job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give a row of :func:`filed_schema` for each row of a DataFrame that has a :data:`NUMBER`."""
        clerk = RowFingerprinter(self.job)
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS_PER_BATCH):
                yield self._filed(clerk, batch.slice(start, _ROWS_PER_BATCH))

    def _filed(self, clerk: RowFingerprinter, batch: pa.RecordBatch) -> pa.RecordBatch:
        filing = FingerprintTableBuilder(self.job.sketches)
        clerk.add(filing, self._rows(batch))
        return _with_clusters(filing.batch())

    def _rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        names = column_names(self.job.fields)
        for values in batch.to_pylist():
            row = row_from_columns(values[ROW_NUMBER], values.get, names)
            if isinstance(row, BadRow):
                raise DedupError(f"a row of the DataFrame cannot be read: {row.why}")
            yield row


def _with_clusters(batch: pa.RecordBatch) -> pa.RecordBatch:
    layout = row_fingerprint_schema(len(sketch_columns(batch.schema.names)))
    keys = pa.list_(pa.int64())
    there = {
        "page": batch.column("row"),
        "keys": batch.column("keys").cast(keys),
        "probes": batch.column("probes").cast(keys),
        "founds": pa.array(_own_clusters(batch), pa.string()),
    }
    arrays = [there[name] if name in there else batch.column(name) for name in layout.names]
    return pa.RecordBatch.from_arrays(arrays, schema=layout)


def _own_clusters(batch: pa.RecordBatch) -> Iterator[str | None]:
    """Name the cluster that each page founds."""
    columns = ["reason", "url", *sketch_columns(batch.schema.names)]
    values: list[list[Any]] = [batch.column(name).to_pylist() for name in columns]
    for reason, url, *sketches in zip(*values, strict=True):
        yield None if reason else cluster_of(Record(to_text(url), (), tuple(sketches), seen=0.0))


def annotations_of(
    tables: Checkpoints, filed: DataFrame, verdicts: DataFrame, detectors: Sequence[str]
) -> DataFrame:
    """Say of each row of ``filed``, by its ``number``, what is said in ``COLUMNS``."""
    said = with_founders(tables, verdicts)
    old = filed.select(F.col("page").alias("of"), F.col("url").cast("string").alias("dedup_of"))
    founders = filed.select(F.col("page").alias("founder"), F.col("founds").alias("joined"))
    related = said.join(old, "of", "left").join(founders, "founder", "left")
    whole = filed.select("page", "number", "reason", "founds").join(related, "page", "left")
    return whole.select(
        "number",
        _status().alias("dedup_status"),
        _name_at(RELATIONS, "relation").alias("dedup_relation"),
        "dedup_of",
        F.col("similarity").alias("dedup_similarity"),
        F.coalesce("joined", "founds").alias("dedup_cluster"),
        _name_at(detectors, "detector").alias("dedup_detector"),
    ).select("number", *ANNOTATION_COLUMNS)


def _status() -> Column:
    duplicate = F.col("relation").isin([RELATIONS.index(each) for each in DUPLICATE_RELATIONS])
    unchecked = F.when(F.col("reason").isNotNull(), str(Status.UNCHECKED))
    return unchecked.when(duplicate, str(Status.DUPLICATE)).otherwise(str(Status.UNIQUE))


def _name_at(names: Sequence[str], column: str) -> Column:
    """Return the name at a place; null where there is none."""
    return F.get(F.array(*(F.lit(str(name)) for name in names)), F.col(column).cast("int"))


_RANK = "dedup_rank"


@dataclass(frozen=True, slots=True)
class FrameDeduplication:
    """A DataFrame to be deduplicated: the arguments of :func:`dedupcrawl.batch.deduplicate`."""

    pages: DataFrame
    job: Job
    order_by: OrderBy | None
    annotate: bool
    bounds: Bounds

    def deduplicated(self, folder: str) -> DataFrame:
        """Return the rows that are kept, or all of them with what is said of them."""
        tables = Checkpoints(self.pages.sparkSession, folder)
        numbered = self.pages.select("*", F.monotonically_increasing_id().alias(ROW_NUMBER))
        pages = tables.save(numbered, "pages")
        filed = self._filed(tables, pages)
        fit = filed.where("reason is null").drop("number", "reason", "founds")
        found = SweepSolver(tables, fit, self.job.rules, bounds=self.bounds).run()
        if not self.annotate:
            dropped = found.verdicts.where("not keep").join(filed.select("page", "number"), "page")
            gone = tables.save(dropped.select(F.col("number").alias(ROW_NUMBER)), "dropped")
            return pages.join(gone, ROW_NUMBER, "left_anti").drop(ROW_NUMBER)
        said = tables.save(annotations_of(tables, filed, found.verdicts, self.job.rules().detectors), "words")
        old = [name for name in pages.columns if name in said.columns]
        said = said.withColumnRenamed("number", ROW_NUMBER)
        return pages.drop(*old).join(said, ROW_NUMBER, "left").drop(ROW_NUMBER)

    def _filed(self, tables: Checkpoints, pages: DataFrame) -> DataFrame:
        """Return the fingerprints: ``number`` of the row, and as ``page`` its place in the order."""
        asked = [name for name in column_names(self.job.fields).all if name in pages.columns]
        schema = ddl(row_fingerprint_schema(self.job.sketches))
        rows = pages.select(ROW_NUMBER, *asked).mapInArrow(FrameFingerprinter(self.job), schema)
        filed = rows.withColumnRenamed("page", "number")
        if self.order_by is None:
            ranked = filed.withColumn("page", F.col("number"))
        else:
            ranked = filed.join(self._ranks(tables, pages), "number")
        if self.job.latest:
            ranked = ranked.withColumn("page", -F.col("page"))
        return tables.save(ranked, "filed")

    def _ranks(self, tables: Checkpoints, pages: DataFrame) -> DataFrame:
        """Return the place of each row in the order; what is equal comes in the order of the DataFrame."""
        given: Any = self.order_by
        by = list(given) if isinstance(given, list | tuple) else [given]
        in_order = pages.orderBy(*by, ROW_NUMBER).select(F.col(ROW_NUMBER).alias("number"))
        return tables.save(in_order.withColumn("page", F.monotonically_increasing_id()), "ranks")


def deduplicate(
    df: DataFrame,
    *,
    config: Config | None = None,
    order_by: OrderBy | None = None,
    url: str = "",
    html: str = "",
    text: str = "",
    annotate: bool = False,
    folder: str | None = None,
    bounds: Bounds | None = None,
) -> DataFrame:
    """See :func:`dedupcrawl.batch.deduplicate`."""
    fields = Fields(url=url, html=html, text=text)
    lacking = missing_column(fields, df.columns)
    if lacking:
        raise SettingError("df", df.columns, f"a DataFrame with the columns that hold the pages; {lacking}")
    place = _shared_folder(df.sparkSession, folder)
    frame = FrameDeduplication(
        df,
        Job((), Path(), config or Config(), fields),
        order_by,
        annotate,
        bounds or Bounds.of(df.sparkSession),
    )
    with translate_errors("deduplicate the DataFrame"):
        return retry_lost_workers(lambda: frame.deduplicated(place))


def _shared_folder(spark: SparkSession, folder: str | None) -> str:
    """Return a new folder that driver and workers share."""
    context = spark.sparkContext
    shared = folder or context.getCheckpointDir()
    if shared:
        return f"{shared.rstrip('/')}/dedupcrawl-{uuid4().hex}"
    if not str(context.master).startswith("local"):
        raise SettingError("folder", folder, "a folder or URL to which driver and workers can write")
    place = tempfile.mkdtemp(prefix="dedupcrawl-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place).as_uri()
