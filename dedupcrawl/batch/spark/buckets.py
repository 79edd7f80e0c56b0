"""Which pages stand in which buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.solving import Crowding
from dedupcrawl.stores.base import BUCKET_CAP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def buckets_of(prints: DataFrame, given: int) -> DataFrame:
    """Return a row for each page in each bucket that more than one page is in, or looks into.

    Columns: ``bucket``, ``page``, whether it is ``filed`` there, whether it is ``sought`` there: never for
    the first ``given`` pages, which are kept already.
    """
    either = F.when(F.col("probes").isNull(), F.col("keys")).otherwise(F.array_union("keys", "probes"))
    each = prints.select(
        "page", "keys", F.coalesce("probes", "keys").alias("probes"), F.explode(either).alias("bucket")
    )
    rows = each.select(
        "bucket",
        "page",
        F.array_contains("keys", F.col("bucket")).alias("filed"),
        (F.array_contains("probes", F.col("bucket")) & (F.col("page") >= given)).alias("sought"),
    )
    shared = rows.groupBy("bucket").agg(F.count("*").alias("pages")).where("pages > 1").select("bucket")
    return rows.join(shared, "bucket", "left_semi")


def followers_of(buckets: DataFrame) -> DataFrame:
    """Return the pages that are not the first in all of their buckets: column ``page``.

    Each task sums up its own rows first, so that a bucket of 10,000 pages is a few rows when it travels.
    """
    leaders = buckets.where("filed").groupBy("bucket").agg(F.min("page").alias("leader"))
    behind = buckets.where("sought").join(leaders, "bucket").where("leader < page")
    return behind.select("page").distinct()


def with_kept(buckets: DataFrame, dropped: DataFrame) -> DataFrame:
    """Add whether each page is ``kept``, if these are dropped."""
    gone = dropped.select("page", F.lit(True).alias("gone"))
    marked = buckets.join(gone, "page", "left")
    return marked.select("bucket", "page", "filed", "sought", F.col("gone").isNull().alias("kept"))


def crowding_of(buckets: DataFrame, dropped: DataFrame) -> Crowding:
    """Count the buckets with more kept pages in them than are read."""
    there = (F.col("filed") & F.col("kept")).cast("long")
    before = Window.partitionBy("bucket").orderBy("page").rowsBetween(Window.unboundedPreceding, -1)
    rows = with_kept(buckets, dropped).select(
        "bucket", "page", "sought", there.alias("there"), F.sum(there).over(before).alias("before")
    )
    crowded = F.col("sought") & (F.col("before") > BUCKET_CAP)
    found = rows.agg(
        F.count_distinct(F.when(crowded, F.col("bucket"))).alias("buckets"),
        F.count_distinct(F.when(crowded, F.col("page"))).alias("pages"),
        F.max(F.coalesce("before", F.lit(0)) + F.col("there")).alias("fullest"),
    ).first()
    assert found is not None
    return Crowding(found["buckets"], found["pages"], found["fullest"] or 0)
