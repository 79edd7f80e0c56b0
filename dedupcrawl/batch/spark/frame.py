"""Near-duplicates of a DataFrame's pages dropped, for users who own a session."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.formats.fields import missing, names_of
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.spark.columns import ddl
from dedupcrawl.batch.spark.failing import in_one_sentence, persistently
from dedupcrawl.batch.spark.fingerprints import NUMBER, Fingerprinting, filed_schema
from dedupcrawl.batch.spark.sweeps import Bounds, Sweeping
from dedupcrawl.batch.spark.tables import Tables
from dedupcrawl.batch.spark.words import in_words
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    OrderBy = str | Column | Sequence[str | Column]

_RANK = "dedup_rank"


@dataclass(frozen=True, slots=True)
class Frame:
    """A DataFrame to be deduplicated: the arguments of :func:`dedupcrawl.batch.deduplicate`."""

    pages: DataFrame
    job: Job
    order_by: OrderBy | None
    annotate: bool
    bounds: Bounds

    def deduplicated(self, folder: str) -> DataFrame:
        """Return the rows that are kept, or all of them with what is said of them."""
        tables = Tables(self.pages.sparkSession, folder)
        numbered = self.pages.select("*", F.monotonically_increasing_id().alias(NUMBER))
        pages = tables.save(numbered, "pages")
        filed = self._filed(tables, pages)
        fit = filed.where("reason is null").drop("number", "reason", "founds")
        found = Sweeping(tables, fit, self.job.rules, bounds=self.bounds).run()
        if not self.annotate:
            dropped = found.verdicts.where("not keep").join(filed.select("page", "number"), "page")
            gone = tables.save(dropped.select(F.col("number").alias(NUMBER)), "dropped")
            return pages.join(gone, NUMBER, "left_anti").drop(NUMBER)
        said = tables.save(in_words(tables, filed, found.verdicts, self.job.rules().detectors), "words")
        old = [name for name in pages.columns if name in said.columns]
        said = said.withColumnRenamed("number", NUMBER)
        return pages.drop(*old).join(said, NUMBER, "left").drop(NUMBER)

    def _filed(self, tables: Tables, pages: DataFrame) -> DataFrame:
        """Return the fingerprints: ``number`` of the row, and as ``page`` its place in the order."""
        asked = [name for name in names_of(self.job.fields).all if name in pages.columns]
        schema = ddl(filed_schema(self.job.sketches))
        rows = pages.select(NUMBER, *asked).mapInArrow(Fingerprinting(self.job), schema)
        filed = rows.withColumnRenamed("page", "number")
        if self.order_by is None:
            ranked = filed.withColumn("page", F.col("number"))
        else:
            ranked = filed.join(self._ranks(tables, pages), "number")
        if self.job.latest:
            ranked = ranked.withColumn("page", -F.col("page"))
        return tables.save(ranked, "filed")

    def _ranks(self, tables: Tables, pages: DataFrame) -> DataFrame:
        """Return the place of each row in the order; what is equal comes in the order of the DataFrame."""
        given: Any = self.order_by
        by = list(given) if isinstance(given, list | tuple) else [given]
        in_order = pages.orderBy(*by, NUMBER).select(F.col(NUMBER).alias("number"))
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
    lacking = missing(fields, df.columns)
    if lacking:
        raise SettingError("df", df.columns, f"a DataFrame with the columns that hold the pages; {lacking}")
    place = _folder(df.sparkSession, folder)
    frame = Frame(
        df,
        Job((), Path(), config or Config(), fields),
        order_by,
        annotate,
        bounds or Bounds.of(df.sparkSession),
    )
    with in_one_sentence("deduplicate the DataFrame"):
        return persistently(lambda: frame.deduplicated(place))


def _folder(spark: SparkSession, folder: str | None) -> str:
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
