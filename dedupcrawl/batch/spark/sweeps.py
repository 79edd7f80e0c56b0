"""Which pages stand in which buckets.

After whom a cluster is named: the page that is found by going from page to page.

What is said of a page that met others: a walk along sorted rows, in a task.

Whom a page meets in a bucket: a walk along sorted rows, in a task.

What the driver solves by itself: pages that share a key with another, brought to it.

The verdicts on a corpus, by sweeps over all pages at once.

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

from array import array
from collections import deque
from dataclasses import dataclass, fields
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.fingerprint_table import FingerprintTable, fingerprint_schema, to_text
from dedupcrawl.batch.solver import NONE, RELATIONS, Crowding, solve
from dedupcrawl.batch.spark.checkpoints import (
    CANDIDATE_SCHEMA,
    JUDGED_SCHEMA,
    VERDICT_SCHEMA,
    ddl,
    sketch_columns,
)
from dedupcrawl.errors import SettingError
from dedupcrawl.stores.base import BUCKET_CAP, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.solver import Rules, Solution
    from dedupcrawl.batch.spark.checkpoints import Checkpoints

    CandidateRow = tuple[int, int, list[int] | None, Record]
    JudgedRow = tuple[Any, ...]
    Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


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


def pages_behind_leaders(buckets: DataFrame) -> DataFrame:
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


def with_founders(tables: Checkpoints, verdicts: DataFrame) -> DataFrame:
    """Add the ``founder`` of the cluster that each page joined; null where it joined none.

    Nearly always that is the page it relates to. Where that one was kept and joined another itself, the way
    is made half as long with each join, so a chain of a million takes twenty.
    """
    links = verdicts.where("keep and joins").select("page", F.col("of").alias("founder"))
    if links.isEmpty():
        return verdicts.withColumn("founder", F.when(F.col("joins"), F.col("of")))
    number = 0
    while not (moved := _shorten_links(links)).isEmpty():
        stays = links.join(moved.select("page"), "page", "left_anti")
        links = tables.save(stays.unionByName(moved), f"links-{number}")
        number += 1
    ends = links.select(F.col("page").alias("of"), F.col("founder").alias("end"))
    founder = F.when(F.col("joins"), F.coalesce("end", "of"))
    return verdicts.join(ends, "of", "left").withColumn("founder", founder).drop("end")


def _shorten_links(links: DataFrame) -> DataFrame:
    """Return those links that lead to a page which joined another, led on to that."""
    on = links.select(F.col("page").alias("founder"), F.col("founder").alias("further"))
    return links.join(on, "founder").select("page", F.col("further").alias("founder"))


_ROWS_PER_BATCH = 5000  #: in a batch of verdicts


@dataclass(frozen=True, slots=True)
class PageJudge:
    """Judges pages; it travels to the workers.

    Args:
        make_rules: makes what decides, once in each task.
    """

    make_rules: Callable[[], Rules]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judge each page by those it met.

        The rows are ``page``, ``other``, ``met`` and the URL and sketches of the other, sorted by the first
        two. The last of a page is itself, for all others stand before it in the order; it alone has ``met``,
        which is handed on. The rows of a page may go on in the next batch.
        """
        rules = self.make_rules()
        rows = (row for batch in batches for row in _candidate_rows(batch))
        said = (_judge_page(rules, page, list(run)) for page, run in groupby(rows, itemgetter(0)))
        yield from _to_batches(said)


def _candidate_rows(batch: pa.RecordBatch) -> Iterator[CandidateRow]:
    sketches = [batch.column(name).to_pylist() for name in sketch_columns(batch.schema.names)]
    columns = (batch.column(name).to_pylist() for name in ("page", "other", "met", "url"))
    for page, other, met, url, *own in zip(*columns, *sketches, strict=True):
        yield page, other, met, Record(to_text(url), (), tuple(own), seen=0.0)


def _judge_page(rules: Rules, page: int, run: list[CandidateRow]) -> JudgedRow:
    _, itself, met, record = run.pop()
    assert itself == page, f"page {page} is not the last of those it met"
    decision = rules.decide(record, ((other, old) for _, other, _, old in run))
    because, verdict = decision.because, decision.verdict
    if because is None:
        return page, True, None, None, None, None, False, met
    relation, detector = RELATIONS.index(because.relation), rules.detectors.index(because.detector)
    joins = bool(decision.cluster)
    return page, verdict.keep, because.candidate.id, relation, verdict.similarity, detector, joins, met


def _to_batches(said: Iterable[JudgedRow]) -> Iterator[pa.RecordBatch]:
    rows: list[JudgedRow] = []
    for row in said:
        rows.append(row)
        if len(rows) == _ROWS_PER_BATCH:
            yield _batch(rows)
            rows = []
    yield _batch(rows)


def _batch(rows: list[JudgedRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(JUDGED_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, JUDGED_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=JUDGED_SCHEMA)


def find_candidates(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give each page that looks into a bucket the newest ``BUCKET_CAP`` kept pages before it there.

    The rows have the columns of :func:`~dedupcrawl.batch.spark.sweeps.with_kept`, sorted by bucket and page;
    those of a bucket may go on in the next batch. A bucket in which nobody stands before a page gives no row.
    """
    current = None
    newest: deque[int] = deque(maxlen=BUCKET_CAP)
    for batch in batches:
        found = _CandidateBuilder()
        for bucket, page, filed, sought, kept in _bucket_rows(batch):
            if bucket != current:
                current = bucket
                newest.clear()
            if sought and newest:
                found.add(page, newest)
            if filed and kept:
                newest.append(page)
        yield found.batch()


def _bucket_rows(batch: pa.RecordBatch) -> Iterator[tuple[int, int, bool, bool, bool]]:
    names = ("bucket", "page", "filed", "sought", "kept")
    columns = (batch.column(name).to_numpy(zero_copy_only=False).tolist() for name in names)
    return zip(*columns, strict=True)


class _CandidateBuilder:
    """Collects lists without making an object of each."""

    def __init__(self) -> None:
        self._pages = array("q")
        self._met = array("q")
        self._ends = array("i", [0])

    def add(self, page: int, met: Iterable[int]) -> None:
        self._pages.append(page)
        self._met.extend(met)
        self._ends.append(len(self._met))

    def batch(self) -> pa.RecordBatch:
        met = pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), pa.array(self._met, pa.int64()))
        return pa.RecordBatch.from_arrays([pa.array(self._pages, pa.int64()), met], schema=CANDIDATE_SCHEMA)


def solve_on_driver(prints: DataFrame, rules: Rules, given: int) -> tuple[pa.Table, Crowding]:
    """Solve these pages, page after page; return ``columns.VERDICTS`` of those that relate to another."""
    table = prints.selectExpr("*", "coalesce(probes, keys) as sought").drop("probes").toArrow()
    pages = table.column("page").to_numpy().astype(np.int64)
    order = np.argsort(pages)
    corpus = FingerprintTable([_to_fingerprint_batch(batch) for batch in table.to_batches()])
    found = solve(corpus, rules, order, given=int(np.count_nonzero(pages < given)))
    return _verdict_table(found, pages), found.crowding


def _to_fingerprint_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch of fingerprints all columns of ``batch.schema``."""
    sketches = sketch_columns(batch.schema.names)
    keys = pa.list_(pa.uint64())
    there = {
        "row": batch.column("page"),
        "url": batch.column("url"),
        "keys": batch.column("keys").cast(keys),
        "probes": batch.column("sought").cast(keys),
        **{name: batch.column(name) for name in sketches},
        "length": pa.array(np.zeros(batch.num_rows, np.int32)),
        "size": pa.array(np.zeros(batch.num_rows, np.int64)),
    }
    layout = fingerprint_schema(len(sketches))
    arrays = [there.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in layout]
    return pa.RecordBatch.from_arrays(arrays, schema=layout)


def _verdict_table(found: Solution, pages: Numbers) -> pa.Table:
    rows = np.flatnonzero(found.of != NONE)
    of = found.of[rows]
    joins = found.founder[rows] == found.founder[of]
    similarity = found.similarity[rows]
    columns = [
        pa.array(pages[rows]),
        pa.array(found.keep[rows]),
        pa.array(pages[of]),
        pa.array(found.relation[rows], pa.int8()),
        pa.array(similarity, mask=np.isnan(similarity)),
        pa.array(found.detector[rows], pa.int8()),
        pa.array(joins),
    ]
    return pa.Table.from_arrays(columns, schema=VERDICT_SCHEMA)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where sweeps end: ``spark.dedupcrawl.sweeps`` and ``spark.dedupcrawl.tail`` of a session's settings."""

    sweeps: int = 12  #: at most so many
    tail: int = 20_000  #: pages that share a key with another which the driver solves by itself

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        """Read what a session is told. Raises :class:`~dedupcrawl.errors.SettingError` for no number."""
        told = {
            each.name: _number_setting(spark, f"spark.dedupcrawl.{each.name}", each.default)
            for each in fields(cls)
        }
        return cls(**told)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a corpus came to."""

    verdicts: DataFrame  #: ``columns.VERDICTS``, of pages that met any; all others are kept
    crowding: Crowding
    sweeps: int = 0  #: that were made
    here: int = 0  #: pages that the driver solved


@dataclass(frozen=True, slots=True)
class SweepSolver:
    """One corpus.

    Args:
        tables: where to keep what is between.
        prints: ``columns.prints_schema``, without the pages that no detector can judge.
        make_rules: makes what decides, once in each task.
        given: how many pages, the first in the order, are kept already.
        bounds: where sweeps end.
        tell: is called with a sweep's number and how many verdicts it changed.
    """

    tables: Checkpoints
    prints: DataFrame
    make_rules: Callable[[], Rules]
    given: int = 0
    bounds: Bounds = Bounds()
    tell: Callable[[int, int], object] = lambda *_: None

    def run(self) -> SweepResult:
        """Come to the verdicts."""
        buckets = self.tables.save(buckets_of(self.prints, self.given), "buckets")
        sharing = buckets.select("page").distinct().count()
        if sharing <= self.bounds.tail:
            return self._here(buckets, sharing, 0)
        dropped = self.tables.save(pages_behind_leaders(buckets), "sweep-0")
        said = self.tables.spark.createDataFrame([], ddl(JUDGED_SCHEMA))
        for number in range(1, self.bounds.sweeps + 1):
            said = self._sweep(number, buckets, said, dropped)
            now = said.where("not keep").select("page")
            changed = _count_differences(now, dropped)
            self.tell(number, changed)
            if not changed:
                return SweepResult(said.select(*VERDICT_SCHEMA.names), crowding_of(buckets, now), number)
            dropped = now
            self.tables.remove(f"sweep-{number - 1}")
        return self._here(buckets, sharing, self.bounds.sweeps)

    def _sweep(self, number: int, buckets: DataFrame, before: DataFrame, dropped: DataFrame) -> DataFrame:
        """Return what is said of each page that meets any, as far as it met others than before anew."""
        met = self.tables.save(_candidates_by_page(with_kept(buckets, dropped)), "meetings")
        old = before.select("page", "met")
        new = self._judge(met.join(old, ["page", "met"], "left_anti"))
        same = before.join(met, ["page", "met"], "left_semi")
        return self.tables.save(new.unionByName(same), f"sweep-{number}")

    def _judge(self, meetings: DataFrame) -> DataFrame:
        each = meetings.select("page", "met", F.explode(F.array_append("met", F.col("page"))).alias("other"))
        named = self.prints.select(F.col("page").alias("other"), "url", *sketch_columns(self.prints.columns))
        own = F.when(F.col("page") == F.col("other"), F.col("met")).alias("met")
        rows = each.select("page", "other", own).join(named, "other")
        in_order = rows.repartition("page").sortWithinPartitions("page", "other")
        return in_order.mapInArrow(PageJudge(self.make_rules), ddl(JUDGED_SCHEMA))

    def _here(self, buckets: DataFrame, sharing: int, sweeps: int) -> SweepResult:
        prints = self.prints.join(buckets, "page", "left_semi")
        said, crowding = solve_on_driver(prints, self.make_rules(), self.given)
        verdicts = self.tables.spark.createDataFrame(said, ddl(VERDICT_SCHEMA))
        return SweepResult(self.tables.save(verdicts, "solved"), crowding, sweeps, sharing)


def _number_setting(spark: SparkSession, name: str, default: Any) -> int:
    value = spark.conf.get(name, str(default))
    if value is None or not value.isdecimal():
        raise SettingError(name, value, "a whole number of at least 0")
    return int(value)


def _candidates_by_page(buckets: DataFrame) -> DataFrame:
    """Return whom each page meets, in all of its buckets together, in order."""
    rows = buckets.repartition("bucket").sortWithinPartitions("bucket", "page")
    met = rows.mapInArrow(find_candidates, ddl(CANDIDATE_SCHEMA))
    everybody = F.array_sort(F.array_distinct(F.flatten(F.collect_list("met"))))
    return met.groupBy("page").agg(everybody.alias("met"))


def _count_differences(one: DataFrame, two: DataFrame) -> int:
    """Count the pages that stand in only one of two tables."""
    marked = one.select("page", F.lit(1).alias("here")).join(
        two.select("page", F.lit(1).alias("there")), "page", "full"
    )
    return marked.where("here is null or there is null").count()
