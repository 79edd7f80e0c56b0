"""The verdicts of a corpus, by sweeps over all pages at once.

The rule has exactly one solution: a page is kept if and only if none of its candidates drops it, and its
candidates are the newest ``BUCKET_CAP`` *kept* pages before it in each of its buckets. A sweep takes the kept
pages of the sweep before, finds the candidates of every page, and judges the pages whose candidates have
changed. When a sweep keeps the same pages as the one before, they are the solution. The sweeps converge:
after n of them, all verdicts are right that depend on a chain of fewer than n other verdicts.

The first sweep takes as kept only the pages that are first in all of their buckets, so copies are compared
with one page each. Few corpora need more than four sweeps. After ``SweepLimits.sweeps`` of them, or if few pages
share a key, the driver solves these pages one after the other.
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

from dedupcrawl.batch.columns import FingerprintTable, fingerprint_schema, to_text, unpack_context
from dedupcrawl.batch.solver import NONE, HotBucketCounts, solve
from dedupcrawl.batch.spark.checkpoints import CANDIDATE_SCHEMA, JUDGED_SCHEMA, VERDICT_SCHEMA, ddl, sketch_columns
from dedupcrawl.errors import SettingError
from dedupcrawl.stores.base import BUCKET_CAP, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.solver import RowJudge, SolverResult
    from dedupcrawl.batch.spark.checkpoints import CheckpointFolder

    CandidateRow = tuple[int, int, list[int] | None, Record]  # page, other, candidates, record of the other
    JudgedRow = tuple[Any, ...]  # values of JUDGED_SCHEMA
    Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

_ROWS_PER_BATCH = 5000  #: rows of a batch of verdicts


@dataclass(frozen=True, slots=True)
class SweepLimits:
    """When to end sweeps; in a session ``spark.dedupcrawl.sweeps`` and ``spark.dedupcrawl.tail``."""

    sweeps: int = 12  #: maximal number of sweeps
    tail: int = 20_000  #: if so many pages or fewer share a key with another, the driver solves them

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        """Read the settings of a session; raises SettingError if one is not a number."""
        settings = ((each.name, f"spark.dedupcrawl.{each.name}", each.default) for each in fields(cls))
        return cls(**{field: _number_setting(spark, name, default) for field, name, default in settings})


def _number_setting(spark: SparkSession, name: str, default: Any) -> int:
    value = spark.conf.get(name, str(default))
    if value is None or not value.isdecimal():
        raise SettingError(name, value, "a whole number of at least 0")
    return int(value)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The verdicts of a corpus, and how they were found."""

    verdicts: DataFrame  #: ``VERDICT_SCHEMA``; pages that are not in it are kept
    hot_buckets: HotBucketCounts
    sweeps: int = 0  #: number of sweeps
    on_driver: int = 0  #: pages that the driver solved


@dataclass(frozen=True, slots=True)
class SweepSolver:
    """Solves one corpus."""

    checkpoints: CheckpointFolder
    fingerprints: DataFrame  #: of the judgeable pages (:func:`spark_fingerprint_schema`)
    make_rules: Callable[[], RowJudge]  #: creates the rules, once in each task
    prior: int = 0  #: how many pages at the front of the order are kept without being judged
    bounds: SweepLimits = SweepLimits()
    on_sweep: Callable[[int, int], object] = lambda *_: None  #: gets number and changed verdicts of a sweep

    def run(self) -> SweepResult:
        """Find the verdicts."""
        buckets = self.checkpoints.save(buckets_of(self.fingerprints, self.prior), "buckets")
        sharing = buckets.select("page").distinct().count()
        if sharing <= self.bounds.tail:
            return self._solve_on_driver(buckets, sharing, 0)
        dropped = self.checkpoints.save(pages_behind_leaders(buckets), "sweep-0")
        judged = self.checkpoints.spark.createDataFrame([], ddl(JUDGED_SCHEMA))
        for number in range(1, self.bounds.sweeps + 1):
            judged = self._sweep(number, buckets, judged, dropped)
            now = judged.where("not keep").select("page")
            changed = _count_differences(now, dropped)
            self.on_sweep(number, changed)
            if not changed:
                return SweepResult(judged.select(*VERDICT_SCHEMA.names), hot_buckets_of(buckets, now), number)
            dropped = now
            self.checkpoints.remove(f"sweep-{number - 1}")
        return self._solve_on_driver(buckets, sharing, self.bounds.sweeps)

    def _sweep(self, number: int, buckets: DataFrame, before: DataFrame, dropped: DataFrame) -> DataFrame:
        """Return the verdicts of pages with candidates; unchanged candidates keep the verdict ``before``."""
        found = self.checkpoints.save(_candidates_by_page(with_kept(buckets, dropped)), "meetings")
        old = before.select("page", "candidates")
        new = self._judge(found.join(old, ["page", "candidates"], "left_anti"))
        same = before.join(found, ["page", "candidates"], "left_semi")
        return self.checkpoints.save(new.unionByName(same), f"sweep-{number}")

    def _judge(self, found: DataFrame) -> DataFrame:
        other = F.explode(F.array_append("candidates", F.col("page"))).alias("other")
        sketches = sketch_columns(self.fingerprints.columns)
        records = self.fingerprints.select(F.col("page").alias("other"), "url", "identity", "context", *sketches)
        own = F.when(F.col("page") == F.col("other"), F.col("candidates")).alias("candidates")
        pairs = found.select("page", "candidates", other).select("page", "other", own).join(records, "other")
        in_order = pairs.repartition("page").sortWithinPartitions("page", "other")
        return in_order.mapInArrow(JudgeTask(self.make_rules), ddl(JUDGED_SCHEMA))

    def _solve_on_driver(self, buckets: DataFrame, sharing: int, sweeps: int) -> SweepResult:
        fingerprints = self.fingerprints.join(buckets, "page", "left_semi")
        table, hot_buckets = solve_on_driver(fingerprints, self.make_rules(), self.prior)
        verdicts = self.checkpoints.spark.createDataFrame(table, ddl(VERDICT_SCHEMA))
        return SweepResult(self.checkpoints.save(verdicts, "solved"), hot_buckets, sweeps, sharing)


def _count_differences(one: DataFrame, two: DataFrame) -> int:
    """Count the pages that are in only one of two tables."""
    marked = one.select("page", F.lit(1).alias("here")).join(
        two.select("page", F.lit(1).alias("there")), "page", "full"
    )
    return marked.where("here is null or there is null").count()


def buckets_of(fingerprints: DataFrame, prior: int) -> DataFrame:
    """Return a row for each page in each bucket of two or more pages that have the key or probe it.

    Columns: ``bucket``, ``page``, ``filed`` (has the key), ``probed`` (probes it; false for prior pages).
    """
    either = F.when(F.col("probes").isNull(), F.col("keys")).otherwise(F.array_union("keys", "probes"))
    each = fingerprints.select(
        "page", "keys", F.coalesce("probes", "keys").alias("probes"), F.explode(either).alias("bucket")
    )
    rows = each.select(
        "bucket",
        "page",
        F.array_contains("keys", F.col("bucket")).alias("filed"),
        (F.array_contains("probes", F.col("bucket")) & (F.col("page") >= prior)).alias("probed"),
    )
    shared = rows.groupBy("bucket").agg(F.count("*").alias("pages")).where("pages > 1").select("bucket")
    return rows.join(shared, "bucket", "left_semi")


def pages_behind_leaders(buckets: DataFrame) -> DataFrame:
    """Return each ``page`` that is not the first in all of its buckets."""
    leaders = buckets.where("filed").groupBy("bucket").agg(F.min("page").alias("leader"))
    behind = buckets.where("probed").join(leaders, "bucket").where("leader < page")
    return behind.select("page").distinct()


def with_kept(buckets: DataFrame, dropped: DataFrame) -> DataFrame:
    """Add the column ``kept``: whether the page is not among the dropped ones."""
    gone = dropped.select("page", F.lit(True).alias("gone"))
    marked = buckets.join(gone, "page", "left")
    return marked.select("bucket", "page", "filed", "probed", F.col("gone").isNull().alias("kept"))


def hot_buckets_of(buckets: DataFrame, dropped: DataFrame) -> HotBucketCounts:
    """Count the buckets with more kept pages than a page is compared with."""
    there = (F.col("filed") & F.col("kept")).cast("long")
    before = Window.partitionBy("bucket").orderBy("page").rowsBetween(Window.unboundedPreceding, -1)
    rows = with_kept(buckets, dropped).select(
        "bucket", "page", "probed", there.alias("there"), F.sum(there).over(before).alias("before")
    )
    crowded = F.col("probed") & (F.col("before") > BUCKET_CAP)
    found = rows.agg(
        F.count_distinct(F.when(crowded, F.col("bucket"))).alias("buckets"),
        F.count_distinct(F.when(crowded, F.col("page"))).alias("pages"),
        F.max(F.coalesce("before", F.lit(0)) + F.col("there")).alias("fullest"),
    ).first()
    assert found is not None
    return HotBucketCounts(found["buckets"], found["pages"], found["fullest"] or 0)


def _candidates_by_page(buckets: DataFrame) -> DataFrame:
    """Return the candidates of each page, in all of its buckets together, in order."""
    rows = buckets.repartition("bucket").sortWithinPartitions("bucket", "page")
    found = rows.mapInArrow(find_candidates, ddl(CANDIDATE_SCHEMA))
    everything = F.array_sort(F.array_distinct(F.flatten(F.collect_list("candidates"))))
    return found.groupBy("page").agg(everything.alias("candidates"))


def find_candidates(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield ``CANDIDATE_SCHEMA``: for each probe of a page the newest ``BUCKET_CAP`` kept pages before it.

    The rows have the columns of :func:`with_kept` and are sorted by bucket and page. A bucket may continue in
    the next batch.
    """
    current = None
    newest: deque[int] = deque(maxlen=BUCKET_CAP)
    for batch in batches:
        found = _CandidateBuilder()
        for bucket, page, filed, probed, kept in _bucket_rows(batch):
            if bucket != current:
                current = bucket
                newest.clear()
            if probed and newest:
                found.add(page, newest)
            if filed and kept:
                newest.append(page)
        yield found.batch()


def _bucket_rows(batch: pa.RecordBatch) -> Iterator[tuple[int, int, bool, bool, bool]]:
    names = ("bucket", "page", "filed", "probed", "kept")
    columns = (batch.column(name).to_numpy(zero_copy_only=False).tolist() for name in names)
    return zip(*columns, strict=True)


class _CandidateBuilder:
    """Collects lists of numbers without a Python object for each list."""

    def __init__(self) -> None:
        self._pages = array("q")
        self._candidates = array("q")
        self._ends = array("i", [0])

    def add(self, page: int, candidates: Iterable[int]) -> None:
        self._pages.append(page)
        self._candidates.extend(candidates)
        self._ends.append(len(self._candidates))

    def batch(self) -> pa.RecordBatch:
        values = pa.array(self._candidates, pa.int64())
        lists = pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), values)
        return pa.RecordBatch.from_arrays([pa.array(self._pages, pa.int64()), lists], schema=CANDIDATE_SCHEMA)


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """Judges pages by their candidates; it is pickled to the workers."""

    make_rules: Callable[[], RowJudge]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``JUDGED_SCHEMA``.

        The rows have ``page``, ``other``, ``candidates``, and URL and sketches of the other; they are sorted
        by the first two. The last row of a page is the page itself; only it has ``candidates``. A page may
        continue in the next batch.
        """
        rules = self.make_rules()
        rows = (row for batch in batches for row in _candidate_rows(batch))
        judged: list[JudgedRow] = []
        for page, run in groupby(rows, itemgetter(0)):
            judged.append(_judge_page(rules, page, list(run)))
            if len(judged) == _ROWS_PER_BATCH:
                yield _judged_batch(judged)
                judged = []
        yield _judged_batch(judged)


def _candidate_rows(batch: pa.RecordBatch) -> Iterator[CandidateRow]:
    sketches = [batch.column(name).to_pylist() for name in sketch_columns(batch.schema.names)]
    names = ("page", "other", "candidates", "url", "identity", "context")
    columns = (batch.column(name).to_pylist() for name in names)
    for page, other, candidates, url, identity, context, *own in zip(*columns, *sketches, strict=True):
        about = None if context is None else unpack_context(context)
        record = Record(to_text(url), (), tuple(own), seen=0.0, identity=identity or b"", context=about)
        yield page, other, candidates, record


def _judge_page(rules: RowJudge, page: int, run: list[CandidateRow]) -> JudgedRow:
    _, itself, candidates, record = run.pop()
    assert itself == page, f"page {page} does not come after its candidates"
    outcome = rules.decide(record, ((other, old) for _, other, _, old in run))
    if outcome is None:
        return page, True, None, None, None, None, False, candidates
    relation, detector = rules.places(outcome.because)
    old = outcome.because.candidate.id
    return page, outcome.keep, old, relation, outcome.similarity, detector, outcome.joins, candidates


def _judged_batch(rows: list[JudgedRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(JUDGED_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, JUDGED_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=JUDGED_SCHEMA)


def with_founders(checkpoints: CheckpointFolder, verdicts: DataFrame) -> DataFrame:
    """Add the ``founder`` of the cluster that each page joined; null if it joined none.

    The founder is the page that a page relates to, unless that page joined another one itself. Each join halves
    the length of such chains (pointer jumping), so a chain of a million pages takes twenty joins.
    """
    links = verdicts.where("keep and joins").select("page", F.col("of").alias("founder"))
    if links.isEmpty():
        return verdicts.withColumn("founder", F.when(F.col("joins"), F.col("of")))
    number = 0
    while not (moved := _shorten_links(links)).isEmpty():
        unmoved = links.join(moved.select("page"), "page", "left_anti")
        links = checkpoints.save(unmoved.unionByName(moved), f"links-{number}")
        number += 1
    ends = links.select(F.col("page").alias("of"), F.col("founder").alias("end"))
    founder = F.when(F.col("joins"), F.coalesce("end", "of"))
    return verdicts.join(ends, "of", "left").withColumn("founder", founder).drop("end")


def without_clusters(founded: DataFrame) -> DataFrame:
    """Drop the kept pages of each cluster of which a page was dropped; see the solver's ``without_clusters``.

    ``founded`` is from :func:`with_founders`.
    """
    hit = founded.where("not keep and joins").select("founder").distinct()
    members = founded.where("joins").join(hit, "founder", "left_semi").select("page", F.lit(False).alias("stays"))
    stays = F.coalesce(F.col("stays"), F.col("keep"))
    rest = founded.join(members, "page", "left").withColumn("keep", stays).drop("stays")
    first = F.min_by(F.struct("page", "relation", "similarity", "detector"), F.struct("keep", "page"))
    firsts = (
        founded.where("joins and of = founder")
        .join(hit, "founder", "left_semi")
        .groupBy("founder")
        .agg(first.alias("first"))
    )
    founders = firsts.select(
        F.col("founder").alias("page"),
        F.lit(False).alias("keep"),
        F.col("first.page").alias("of"),
        *(F.col(f"first.{name}").alias(name) for name in ("relation", "similarity", "detector")),
        F.lit(False).alias("joins"),
        F.lit(None).cast("long").alias("founder"),
    )
    return rest.join(founders.select("page"), "page", "left_anti").unionByName(founders)


def _shorten_links(links: DataFrame) -> DataFrame:
    """Return the links to a page that has a link itself, moved to the end of that one."""
    on = links.select(F.col("page").alias("founder"), F.col("founder").alias("further"))
    return links.join(on, "founder").select("page", F.col("further").alias("founder"))


def solve_on_driver(fingerprints: DataFrame, rules: RowJudge, prior: int) -> tuple[pa.Table, HotBucketCounts]:
    """Solve pages one after the other; return ``VERDICT_SCHEMA`` of those that relate to another."""
    rows = fingerprints.selectExpr("*", "coalesce(probes, keys) as filled").drop("probes").toArrow()
    pages = rows.column("page").to_numpy().astype(np.int64)
    order = np.argsort(pages)
    table = FingerprintTable([to_fingerprint_batch(batch) for batch in rows.to_batches()])
    solution = solve(table, rules, order, prior=int(np.count_nonzero(pages < prior)))
    return _verdict_table(solution, pages), solution.hot_buckets


def to_fingerprint_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with all columns of :func:`fingerprint_schema`; ``filled`` are its probes, or else its keys."""
    sketches = sketch_columns(batch.schema.names)
    unsigned = pa.list_(pa.uint64())
    columns = {
        "row": batch.column("page"),
        "url": batch.column("url"),
        "keys": batch.column("keys").cast(unsigned),
        "probes": batch.column("filled").cast(unsigned),
        "identity": batch.column("identity"),
        "context": batch.column("context"),
        **{name: batch.column(name) for name in sketches},
        "length": pa.array(np.zeros(batch.num_rows, np.int32)),
        "size": pa.array(np.zeros(batch.num_rows, np.int64)),
    }
    schema = fingerprint_schema(len(sketches))
    arrays = [columns.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _verdict_table(solution: SolverResult, pages: Numbers) -> pa.Table:
    rows = np.flatnonzero(solution.of != NONE)
    of = solution.of[rows]
    similarity = solution.similarity[rows]
    columns = [
        pa.array(pages[rows]),
        pa.array(solution.keep[rows]),
        pa.array(pages[of]),
        pa.array(solution.relation[rows], pa.int8()),
        pa.array(similarity, mask=np.isnan(similarity)),
        pa.array(solution.detector[rows], pa.int8()),
        pa.array(solution.founder[rows] == solution.founder[of]),
    ]
    return pa.Table.from_arrays(columns, schema=VERDICT_SCHEMA)
