"""The verdicts on a corpus, by sweeps over all pages at once.

The rule has exactly one solution: a page is kept if and only if none of those it meets drops it, and it meets
the newest ``BUCKET_CAP`` *kept* pages before it in each of its buckets. A sweep takes the kept pages of the
one before for granted, lets every page meet them, and judges those that meet others than before. When it
keeps the same pages as the one before, that is the solution. It comes to it: after n sweeps all pages are
right whose verdict hangs on those of others over less than n steps.

The first sweep takes for kept only the pages that lead all of their buckets, so copies are compared with one
page each. Few corpora need more than four. What is not settled after ``Bounds.sweeps`` the driver solves page
after page, as it does where so few pages share a key that sweeps would cost more.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.spark.buckets import buckets_of, crowding_of, followers_of, with_kept
from dedupcrawl.batch.spark.columns import MEETINGS, SAID, VERDICTS, ddl, sketch_names
from dedupcrawl.batch.spark.judging import Judging
from dedupcrawl.batch.spark.meeting import meet
from dedupcrawl.batch.spark.tail import solve_here
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.solving import Crowding, Rules
    from dedupcrawl.batch.spark.tables import Tables


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where sweeps end: ``spark.dedupcrawl.sweeps`` and ``spark.dedupcrawl.tail`` of a session's settings."""

    sweeps: int = 12  #: at most so many
    tail: int = 20_000  #: pages that share a key with another which the driver solves by itself

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        """Read what a session is told. Raises :class:`~dedupcrawl.errors.SettingError` for no number."""
        told = {
            each.name: _whole(spark, f"spark.dedupcrawl.{each.name}", each.default) for each in fields(cls)
        }
        return cls(**told)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a corpus came to."""

    verdicts: DataFrame  #: ``columns.VERDICTS``, of pages that met any; all others are kept
    crowding: Crowding
    sweeps: int = 0  #: that were made
    here: int = 0  #: pages that the driver solved


@dataclass(frozen=True, slots=True)
class Sweeping:
    """One corpus.

    Args:
        tables: where to keep what is between.
        prints: ``columns.prints_schema``, without the pages that no detector can judge.
        make_rules: makes what decides, once in each task.
        given: how many pages, the first in the order, are kept already.
        bounds: where sweeps end.
        tell: is called with a sweep's number and how many verdicts it changed.
    """

    tables: Tables
    prints: DataFrame
    make_rules: Callable[[], Rules]
    given: int = 0
    bounds: Bounds = Bounds()
    tell: Callable[[int, int], object] = lambda *_: None

    def run(self) -> Settled:
        """Come to the verdicts."""
        buckets = self.tables.save(buckets_of(self.prints, self.given), "buckets")
        sharing = buckets.select("page").distinct().count()
        if sharing <= self.bounds.tail:
            return self._here(buckets, sharing, 0)
        dropped = self.tables.save(followers_of(buckets), "sweep-0")
        said = self.tables.spark.createDataFrame([], ddl(SAID))
        for number in range(1, self.bounds.sweeps + 1):
            said = self._sweep(number, buckets, said, dropped)
            now = said.where("not keep").select("page")
            changed = _difference(now, dropped)
            self.tell(number, changed)
            if not changed:
                return Settled(said.select(*VERDICTS.names), crowding_of(buckets, now), number)
            dropped = now
            self.tables.remove(f"sweep-{number - 1}")
        return self._here(buckets, sharing, self.bounds.sweeps)

    def _sweep(self, number: int, buckets: DataFrame, before: DataFrame, dropped: DataFrame) -> DataFrame:
        """Return what is said of each page that meets any, as far as it met others than before anew."""
        met = self.tables.save(_meetings(with_kept(buckets, dropped)), "meetings")
        old = before.select("page", "met")
        new = self._judge(met.join(old, ["page", "met"], "left_anti"))
        same = before.join(met, ["page", "met"], "left_semi")
        return self.tables.save(new.unionByName(same), f"sweep-{number}")

    def _judge(self, meetings: DataFrame) -> DataFrame:
        each = meetings.select("page", "met", F.explode(F.array_append("met", F.col("page"))).alias("other"))
        named = self.prints.select(F.col("page").alias("other"), "url", *sketch_names(self.prints.columns))
        own = F.when(F.col("page") == F.col("other"), F.col("met")).alias("met")
        rows = each.select("page", "other", own).join(named, "other")
        in_order = rows.repartition("page").sortWithinPartitions("page", "other")
        return in_order.mapInArrow(Judging(self.make_rules), ddl(SAID))

    def _here(self, buckets: DataFrame, sharing: int, sweeps: int) -> Settled:
        prints = self.prints.join(buckets, "page", "left_semi")
        said, crowding = solve_here(prints, self.make_rules(), self.given)
        verdicts = self.tables.spark.createDataFrame(said, ddl(VERDICTS))
        return Settled(self.tables.save(verdicts, "solved"), crowding, sweeps, sharing)


def _whole(spark: SparkSession, name: str, default: Any) -> int:
    value = spark.conf.get(name, str(default))
    if value is None or not value.isdecimal():
        raise SettingError(name, value, "a whole number of at least 0")
    return int(value)


def _meetings(buckets: DataFrame) -> DataFrame:
    """Return whom each page meets, in all of its buckets together, in order."""
    rows = buckets.repartition("bucket").sortWithinPartitions("bucket", "page")
    met = rows.mapInArrow(meet, ddl(MEETINGS))
    everybody = F.array_sort(F.array_distinct(F.flatten(F.collect_list("met"))))
    return met.groupBy("page").agg(everybody.alias("met"))


def _difference(one: DataFrame, two: DataFrame) -> int:
    """Count the pages that stand in only one of two tables."""
    marked = one.select("page", F.lit(1).alias("here")).join(
        two.select("page", F.lit(1).alias("there")), "page", "full"
    )
    return marked.where("here is null or there is null").count()
