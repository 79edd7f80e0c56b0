"""Deduplicate the pages of a DataFrame in a Spark session of the user."""

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

from dedupcrawl.batch.columns import FingerprintTableBuilder
from dedupcrawl.batch.fingerprinting import RowFingerprinter
from dedupcrawl.batch.formats import BadRow
from dedupcrawl.batch.formats.base import ANNOTATION_COLUMNS, Fields, column_names, missing_column, row_from_columns
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.repeated_text import TextTableBuilder
from dedupcrawl.batch.solver import FIRST_DOUBT, RELATIONS
from dedupcrawl.batch.spark.checkpoints import CheckpointFolder, ddl, spark_fingerprint_schema, spark_fingerprints
from dedupcrawl.batch.spark.repeated_frame import LINE_COLUMNS, leave_out_repeated, line_columns, own_clusters
from dedupcrawl.batch.spark.session import retry_lost_workers, translate_errors
from dedupcrawl.batch.spark.sweeps import SweepLimits, SweepSolver, with_founders, without_clusters
from dedupcrawl.config import Config
from dedupcrawl.decision import Status
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.identity.identity_codec import UNREAD_BYTES
from dedupcrawl.page.signatures import compare_layouts
from dedupcrawl.text.positions import common_position
from dedupcrawl.utils.redaction import SECRET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from dedupcrawl.batch.formats import Row

    OrderBy = str | Column | Sequence[str | Column]

ROW_NUMBER = "dedup_number"  #: the column that numbers the rows of a DataFrame
_LAST_PAGE = 1 << 62  #: above the numbers that Spark gives to rows; places in the order are not negative
_ROWS_PER_BATCH = 1000  #: rows that are fingerprinted together


def deduplicate(
    df: DataFrame,
    *,
    config: Config | None = None,
    order_by: OrderBy | None = None,
    url: str = "",
    html: str = "",
    text: str = "",
    annotate: bool = False,
    drop_clusters: bool = False,
    folder: str | None = None,
    bounds: SweepLimits | None = None,
) -> DataFrame:
    """Remove near-duplicate pages from a DataFrame, or annotate all rows with their verdicts.

    Args:
        df: one page in each row.
        config: detectors and policy; default: ``Config()``.
        order_by: columns that give the order of arrival; default: the order of ``df``, which also breaks
            ties.
        url: column with the URL; "": look for the usual names, as with ``html`` and ``text``.
        html: column with the HTML.
        text: column with the main text.
        annotate: return all rows, with the columns ``dedup_*``, instead of the kept rows.
        drop_clusters: drop all copies of a page, also the one that would be kept.
        folder: path or URL of a folder for intermediate tables, which driver and workers can write to.
            Default: the checkpoint folder of the session; with a local master, a temporary folder. The result
            is read from it.
        bounds: when to end sweeps; default: the settings of the session.

    Raises:
        SettingError: a named column is missing, no column holds pages, a folder has to be named, or the seed is
            "secret", which only a store keeps.
        DedupError: a page or a row cannot be read, or Spark fails.
    """
    if config is not None and config.seed == SECRET:
        raise SettingError("seed", SECRET, "a whole number: a DataFrame has no store that keeps a secret")
    fields = Fields(url=url, html=html, text=text)
    error = missing_column(fields, df.columns)
    if error:
        raise SettingError("df", df.columns, f"a DataFrame with the columns that hold the pages; {error}")
    place = _shared_folder(df.sparkSession, folder)
    job = Job((), Path(), config or Config(), fields, annotate=annotate, drop_clusters=drop_clusters)
    frame = _FrameOptions(df, job, order_by, bounds or SweepLimits.of(df.sparkSession))
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


@dataclass(frozen=True, slots=True)
class _FrameOptions:
    """The arguments of :func:`deduplicate`."""

    pages: DataFrame
    job: Job
    order_by: OrderBy | None
    bounds: SweepLimits

    def deduplicated(self, folder: str) -> DataFrame:
        checkpoints = CheckpointFolder(self.pages.sparkSession, folder)
        numbered = self.pages.select("*", F.monotonically_increasing_id().alias(ROW_NUMBER))
        pages = checkpoints.save(numbered, "pages")
        fingerprints = self._fingerprints(checkpoints, pages)
        if self.job.config.site_memory:
            fingerprints = leave_out_repeated(checkpoints, fingerprints, self.job)
        judgeable = fingerprints.where("reason is null").select(*spark_fingerprint_schema(self.job.sketches).names)
        verdicts = SweepSolver(checkpoints, judgeable, self.job.rules, bounds=self.bounds).run().verdicts
        founded = None
        if self.job.drop_clusters or self.job.annotate:
            founded = with_founders(checkpoints, verdicts)
        if founded is not None and self.job.drop_clusters:
            founded = verdicts = checkpoints.save(without_clusters(founded), "clusters")
        if founded is None or not self.job.annotate:
            dropped = verdicts.where("not keep").join(fingerprints.select("page", "number"), "page")
            dropped = checkpoints.save(dropped.select(F.col("number").alias(ROW_NUMBER)), "dropped")
            return pages.join(dropped, ROW_NUMBER, "left_anti").drop(ROW_NUMBER)
        detectors = self.job.rules().detectors
        annotations = annotations_of(fingerprints, founded, detectors)
        annotations = checkpoints.save(annotations, "words").withColumnRenamed("number", ROW_NUMBER)
        replaced = [name for name in pages.columns if name in ANNOTATION_COLUMNS]
        return pages.drop(*replaced).join(annotations, ROW_NUMBER, "left").drop(ROW_NUMBER)

    def _fingerprints(self, checkpoints: CheckpointFolder, pages: DataFrame) -> DataFrame:
        """Return fingerprints with ``number``, that of the row, and ``page``, its place in the order."""
        used = [name for name in column_names(self.job.fields).all if name in pages.columns]
        schema = ddl(row_fingerprint_schema(self.job.sketches))
        rows = pages.select(ROW_NUMBER, *used).mapInArrow(FrameFingerprinter(self.job), schema)
        fingerprints = rows.withColumnRenamed("page", "number")
        if self.order_by is None:
            ranked = fingerprints.withColumn("page", F.col("number"))
        else:
            ranked = fingerprints.join(self._ranks(checkpoints, pages), "number")
        if self.job.latest:
            ranked = ranked.withColumn("page", _LAST_PAGE - F.col("page"))
        return checkpoints.save(ranked, "filed")

    def _ranks(self, checkpoints: CheckpointFolder, pages: DataFrame) -> DataFrame:
        """Return the place of each row in the order."""
        order_by: Any = self.order_by
        columns = list(order_by) if isinstance(order_by, list | tuple) else [order_by]
        in_order = pages.orderBy(*columns, ROW_NUMBER).select(F.col(ROW_NUMBER).alias("number"))
        return checkpoints.save(in_order.withColumn("page", F.monotonically_increasing_id()), "ranks")


def row_fingerprint_schema(sketches: int) -> pa.Schema:
    """Return the columns of :class:`FrameFingerprinter`; ``page`` is the number of the row.

    ``reason`` is null for a judgeable page; then ``founds`` is the name of a cluster that it would found.
    """
    own = [("reason", pa.string()), ("outline", pa.binary()), ("founds", pa.string())]
    return pa.schema([*spark_fingerprint_schema(sketches), *own, *LINE_COLUMNS])


@dataclass(frozen=True, slots=True)
class FrameFingerprinter:
    """Fingerprints the rows of a DataFrame with a :data:`ROW_NUMBER`; it is pickled to the workers."""

    job: Job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the fingerprints of each row."""
        fingerprinter = RowFingerprinter(self.job)
        schema = row_fingerprint_schema(self.job.sketches)
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS_PER_BATCH):
                builder, texts = FingerprintTableBuilder(self.job.sketches), TextTableBuilder()
                fingerprinter.add(builder, self._rows(batch.slice(start, _ROWS_PER_BATCH)), texts)
                found = builder.batch()
                clusters = pa.array(own_clusters(found), pa.string())
                lines = line_columns(texts.batch(), len(found))
                yield spark_fingerprints(found, schema, page=found.column("row"), founds=clusters, **lines)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        names = column_names(self.job.fields).among(batch.schema.names)
        for values in batch.to_pylist():
            row = row_from_columns(values[ROW_NUMBER], values.get, names)
            if isinstance(row, BadRow):
                raise DedupError(f"a row of the DataFrame cannot be read: {row.why}")
            yield row


def annotations_of(fingerprints: DataFrame, founded: DataFrame, detectors: Sequence[str]) -> DataFrame:
    """Return ``ANNOTATION_COLUMNS`` for each ``number`` of the fingerprints; the verdicts have founders."""
    old = fingerprints.select(
        F.col("page").alias("of"),
        F.col("url").cast("string").alias("dedup_of"),
        F.col("identity").alias("old_identity"),
        F.col("outline").alias("old_outline"),
    )
    founders = fingerprints.select(F.col("page").alias("founder"), F.col("founds").alias("joined"))
    related = founded.join(old, "of", "left").join(founders, "founder", "left")
    own = fingerprints.select("page", "number", "reason", "identity", "context", "outline", "founds")
    rows = own.join(related, "page", "left")
    return rows.select(
        "number",
        _status().alias("dedup_status"),
        _name_at(RELATIONS, "relation").alias("dedup_relation"),
        "dedup_of",
        F.col("similarity").alias("dedup_similarity"),
        F.when(~_is_unread(), F.coalesce("joined", "founds")).alias("dedup_cluster"),
        _name_at(detectors, "detector").alias("dedup_detector"),
        _compared(common_position, "outline", "old_outline").alias("dedup_position"),
        _compared(compare_layouts, "identity", "old_identity").alias("dedup_layout"),
    ).select("number", *ANNOTATION_COLUMNS)


def _compared(compare: Callable[[bytes, bytes], str], new: str, old: str) -> Column:
    """Return what a comparison of two columns of bytes says; null for a page that relates to no other."""
    # A lambda, since Spark would look for pandas in the type hints of a function.
    result = lambda of, mine, other: None if of is None else compare(mine or b"", other or b"") or None  # noqa: E731
    return F.udf(result, "string")("of", new, old)


def _status() -> Column:
    duplicate = F.col("relation").isin([RELATIONS.index(each) for each in DUPLICATE_RELATIONS])
    unchecked = F.when(F.col("reason").isNotNull() | _is_unread(), str(Status.UNCHECKED))
    return unchecked.when(duplicate, str(Status.DUPLICATE)).otherwise(str(Status.UNIQUE))


def _is_unread() -> Column:
    """Return whether a page without main text was compared and has no copy, or whether it is a copy is not known."""
    is_template = F.coalesce(F.length("context"), F.lit(1)) == 0  # the site repeats all of its text
    has_no_text = (F.coalesce(F.length("identity"), F.lit(0)) == UNREAD_BYTES) | is_template
    return (F.col("relation").isNull() & has_no_text) | F.coalesce(F.col("relation") >= FIRST_DOUBT, F.lit(False))


def _name_at(names: Sequence[str], column: str) -> Column:
    """Return the name at the place in a column; null for null."""
    return F.get(F.array(*(F.lit(str(name)) for name in names)), F.col(column).cast("int"))
