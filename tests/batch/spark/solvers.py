"""Solve fingerprints by sweeps on Spark, and by the solver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.job import Job
from dedupcrawl.batch.spark.checkpoints import CheckpointFolder, ddl, solution_of, spark_fingerprint_schema
from dedupcrawl.batch.spark.sweeps import SweepLimits, SweepResult, SweepSolver, with_founders

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dedupcrawl.batch.columns import FingerprintTable
    from dedupcrawl.batch.solver import RowJudge, SolverResult
    from dedupcrawl.config import Config

SWEEPS_ALONE = SweepLimits(tail=0)


def table_of(spark: SparkSession, prints: FingerprintTable, sketches: int) -> DataFrame:
    """Fingerprints as the engine reads them, in order of arrival."""
    layout = spark_fingerprint_schema(sketches)
    batches, first = [], 0
    for batch in prints.batches:
        rows = pa.table(
            {
                "page": np.arange(first, first + batch.num_rows),
                **{name: batch.column(name) for name in ("url", *layout.names[4:])},
                "keys": batch.column("keys").cast(pa.list_(pa.int64())),
                "probes": batch.column("probes").cast(pa.list_(pa.int64())),
            }
        )
        batches.append(rows.select(layout.names).filter(batch.column("reason").is_null()))
        first += batch.num_rows
    return spark.createDataFrame(pa.concat_tables(batches).cast(layout), ddl(layout))


def on_spark(
    spark: SparkSession,
    folder: Path,
    prints: FingerprintTable,
    config: Config,
    *,
    prior: int = 0,
    bounds: SweepLimits = SWEEPS_ALONE,
) -> tuple[SolverResult, SweepResult]:
    """Solve by sweeps, in a folder of its own."""
    job = Job((), folder, config)
    tables = CheckpointFolder(spark, (folder / uuid4().hex).as_uri())
    table = tables.save(table_of(spark, prints, job.sketches), "prints")
    settled = SweepSolver(tables, table, job.rules, prior, bounds).run()
    said = with_founders(tables, settled.verdicts).toArrow()
    return solution_of(said, np.arange(len(prints)), job.rules().detectors, settled.hot_buckets), settled


def rules(config: Config) -> RowJudge:
    return Job((), Path(), config).rules()


def columns(found: SolverResult) -> dict[str, Any]:
    """A solution as plain values."""
    names = ("keep", "of", "relation", "similarity", "detector", "founder")
    plain = {name: [None if x != x else x for x in getattr(found, name).tolist()] for name in names}
    return plain | {"hot_buckets": found.hot_buckets}
