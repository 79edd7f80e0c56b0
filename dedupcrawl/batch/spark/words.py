"""Verdicts as the columns that a user reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.formats.base import COLUMNS
from dedupcrawl.batch.solving import RELATIONS
from dedupcrawl.batch.spark.clusters import with_founders
from dedupcrawl.judging import DUPLICATE
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from dedupcrawl.batch.spark.tables import Tables


def in_words(tables: Tables, filed: DataFrame, verdicts: DataFrame, detectors: Sequence[str]) -> DataFrame:
    """Say of each row of ``filed``, by its ``number``, what is said in ``COLUMNS``."""
    said = with_founders(tables, verdicts)
    old = filed.select(F.col("page").alias("of"), F.col("url").cast("string").alias("dedup_of"))
    founders = filed.select(F.col("page").alias("founder"), F.col("founds").alias("joined"))
    related = said.join(old, "of", "left").join(founders, "founder", "left")
    whole = filed.select("page", "number", "reason", "founds").join(related, "page", "left")
    return whole.select(
        "number",
        _status().alias("dedup_status"),
        _named(RELATIONS, "relation").alias("dedup_relation"),
        "dedup_of",
        F.col("similarity").alias("dedup_similarity"),
        F.coalesce("joined", "founds").alias("dedup_cluster"),
        _named(detectors, "detector").alias("dedup_detector"),
    ).select("number", *COLUMNS)


def _status() -> Column:
    duplicate = F.col("relation").isin([RELATIONS.index(each) for each in DUPLICATE])
    unchecked = F.when(F.col("reason").isNotNull(), str(Status.UNCHECKED))
    return unchecked.when(duplicate, str(Status.DUPLICATE)).otherwise(str(Status.UNIQUE))


def _named(names: Sequence[str], column: str) -> Column:
    """Return the name at a place; null where there is none."""
    return F.get(F.array(*(F.lit(str(name)) for name in names)), F.col(column).cast("int"))
