"""After whom a cluster is named: the page that is found by going from page to page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dedupcrawl.batch.spark.tables import Tables


def with_founders(tables: Tables, verdicts: DataFrame) -> DataFrame:
    """Add the ``founder`` of the cluster that each page joined; null where it joined none.

    Nearly always that is the page it relates to. Where that one was kept and joined another itself, the way
    is made half as long with each join, so a chain of a million takes twenty.
    """
    links = verdicts.where("keep and joins").select("page", F.col("of").alias("founder"))
    if links.isEmpty():
        return verdicts.withColumn("founder", F.when(F.col("joins"), F.col("of")))
    number = 0
    while not (moved := _shortened(links)).isEmpty():
        stays = links.join(moved.select("page"), "page", "left_anti")
        links = tables.save(stays.unionByName(moved), f"links-{number}")
        number += 1
    ends = links.select(F.col("page").alias("of"), F.col("founder").alias("end"))
    founder = F.when(F.col("joins"), F.coalesce("end", "of"))
    return verdicts.join(ends, "of", "left").withColumn("founder", founder).drop("end")


def _shortened(links: DataFrame) -> DataFrame:
    """Return those links that lead to a page which joined another, led on to that."""
    on = links.select(F.col("page").alias("founder"), F.col("founder").alias("further"))
    return links.join(on, "founder").select("page", F.col("further").alias("founder"))
