"""What each site of a DataFrame repeats, counted by a group of its pages, and left out of their fingerprints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from dedupcrawl.batch.columns import FingerprintTable, to_text
from dedupcrawl.batch.repeated_text import (
    MAX_SITE_PAGES,
    CountedPage,
    OwnTextFingerprinter,
    count_site,
    decompressed,
    with_records,
)
from dedupcrawl.batch.spark.checkpoints import ddl, sketch_columns, spark_fingerprints
from dedupcrawl.batch.spark.sweeps import to_fingerprint_batch
from dedupcrawl.decision import cluster_of
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.sites.site_memory import KNOWN_PAGES
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.site_tables import MAX_SITES, unpack_site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solver import RowJudge
    from dedupcrawl.batch.spark.checkpoints import CheckpointFolder

_NUMBERS = pa.list_(pa.int64())
#: Columns of ``TEXT_SCHEMA`` beside the fingerprints, in types of Spark.
LINE_COLUMNS = [
    pa.field("site", pa.int64()),
    pa.field("lists", pa.bool_()),
    pa.field("hashes", _NUMBERS),
    pa.field("sizes", _NUMBERS),
    pa.field("beside", _NUMBERS),
    pa.field("text", pa.binary()),
    pa.field("bytes", pa.int64()),
]
_COUNTED = ("hashes", "sizes", "beside")  #: of them, the lines of a page
_TABLE_SCHEMA = pa.schema([("site", pa.int64()), ("name", pa.string()), ("repeated", pa.binary())])


def line_columns(texts: pa.RecordBatch, rows: int) -> dict[str, pa.Array]:
    """Return :data:`LINE_COLUMNS` of a batch of texts; nulls for a batch that has none."""
    if not len(texts):
        return {field.name: pa.nulls(rows, field.type) for field in LINE_COLUMNS}
    return {field.name: texts.column(field.name).cast(field.type) for field in LINE_COLUMNS}


def own_clusters(batch: pa.RecordBatch) -> Iterator[str | None]:
    """Yield the name of the cluster that each page would found."""
    columns = ["reason", "url", *sketch_columns(batch.schema.names)]
    values: list[list[Any]] = [batch.column(name).to_pylist() for name in columns]
    for reason, url, *sketches in zip(*values, strict=True):
        yield None if reason else cluster_of(Record(to_text(url), (), tuple(sketches), seen=0.0))


def leave_out_repeated(checkpoints: CheckpointFolder, fingerprints: DataFrame, job: Job) -> DataFrame:
    """Return fingerprints without what the sites of the pages repeat, and without :data:`LINE_COLUMNS`.

    Args:
        checkpoints: for the tables of sites, and for the result.
        fingerprints: of the whole texts, with ``page``, ``number``, ``reason``, ``outline`` and ``founds``.
        job: the configuration.
    """
    lines = [field.name for field in LINE_COLUMNS]
    tables = checkpoints.save(_site_tables(fingerprints, job), "sites")
    if tables.isEmpty():
        return fingerprints.drop(*lines)
    joined = fingerprints.join(tables.select("site", "repeated"), "site", "left")
    changed = joined.where("repeated is not null").withColumn("filled", F.coalesce("probes", "keys"))
    names = [name for name in fingerprints.columns if name not in lines]
    schema = ddl(pa.schema([_field(fingerprints, name) for name in names]))
    other = joined.where("repeated is null").select(*names)
    return checkpoints.save(other.unionByName(changed.mapInArrow(LeaveOutTask(job, tuple(names)), schema)), "compared")


def _field(frame: DataFrame, name: str) -> pa.Field:
    types = {"bigint": pa.int64(), "binary": pa.binary(), "string": pa.string(), "array<bigint>": _NUMBERS}
    return pa.field(name, types[dict(frame.dtypes)[name]])


def _site_tables(fingerprints: DataFrame, job: Job) -> DataFrame:
    """Return the packed table of each site that repeats anything, as a local batch makes it."""
    columns = ["site", "page", "url", "keys", "filled", "identity", "context", "lists", *_COUNTED]
    columns += sketch_columns(fingerprints.columns)
    of_site = Window.partitionBy("site")
    place = F.row_number().over(of_site.orderBy(F.crc32("url"), "page"))
    filled = fingerprints.where("site > 0").withColumn("filled", F.coalesce("probes", "keys")).select(*columns)
    pages = filled.withColumn("pages", F.count("*").over(of_site)).withColumn("place", place)
    some = pages.where((F.col("pages") >= KNOWN_PAGES) & (F.col("place") <= MAX_SITE_PAGES)).drop("pages", "place")
    in_order = some.repartition("site").sortWithinPartitions("site", "page")
    found = in_order.mapInArrow(CountTask(job), ddl(_TABLE_SCHEMA))
    most: DataFrame = found.orderBy(F.length("repeated").desc(), "name").limit(MAX_SITES)
    return most


@dataclass(frozen=True, slots=True)
class CountTask:
    """Counts what sites repeat; it is pickled to the workers."""

    job: Job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``_TABLE_SCHEMA``; the rows are sorted by site and page, and a site may continue in the next batch."""
        rules, pages = self.job.rules(), list[pa.RecordBatch]()
        for piece in _pieces_of_sites(batches):
            if pages and _site_of(pages[0]) != _site_of(piece):
                yield from _counted(pages, rules)
                pages = []
            pages.append(piece)
        if pages:
            yield from _counted(pages, rules)


def _pieces_of_sites(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut batches where the site changes."""
    for batch in batches:
        sites = batch.column("site").to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(sites)) + 1).tolist(), len(batch)]
        yield from (batch.slice(start, stop - start) for start, stop in pairwise(cuts) if stop > start)


def _site_of(batch: pa.RecordBatch) -> int:
    return int(batch.column("site")[0].as_py())


def _counted(batches: list[pa.RecordBatch], rules: RowJudge) -> Iterator[pa.RecordBatch]:
    """Yield the table of a site if it repeats anything."""
    rows = pa.Table.from_batches(batches).combine_chunks()
    table = FingerprintTable([to_fingerprint_batch(batch) for batch in rows.to_batches()])
    lines = [rows.column(name).to_pylist() for name in (*_COUNTED, "lists")]
    records = [partial(table.record, row) for row in range(len(table))]
    found = count_site(map(CountedPage, *lines, records), rules)
    if found.lines:
        values = [_site_of(batches[0])], [site_of(table.url(0))], [found.pack(0.0)]
        arrays = [pa.array(value, field.type) for value, field in zip(values, _TABLE_SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_TABLE_SCHEMA)


@dataclass(frozen=True, slots=True)
class LeaveOutTask:
    """Makes fingerprints without what the site of each page repeats; it is pickled to the workers."""

    job: Job
    names: tuple[str, ...]  #: of the columns of the result

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with other fingerprints. They have ``filled``, ``text``, ``bytes`` and ``repeated`` too."""
        repeated = OwnTextFingerprinter(self.job.config, {})
        for batch in batches:
            if len(batch):
                yield self._changed(batch, repeated)

    def _changed(self, batch: pa.RecordBatch, repeated: OwnTextFingerprinter) -> pa.RecordBatch:
        table = FingerprintTable([to_fingerprint_batch(batch)])
        columns = (batch.column(name).to_pylist() for name in ("text", "bytes", "repeated"))
        records = {
            row: repeated.left_out(table.record(row), _lines(value), decompressed(text, size))
            for row, (text, size, value) in enumerate(zip(*columns, strict=True))
        }
        found = with_records(table, records, self.job.sketches)
        given = {name: batch.column(name) for name in ("page", "number", "reason", "outline")}
        schema = pa.schema([batch.schema.field(name) for name in self.names])
        given["founds"] = pa.array(own_clusters(found), pa.string())
        return spark_fingerprints(found, schema, **given)


@lru_cache(256)
def _lines(value: bytes) -> dict[int, int]:
    return unpack_site(value).lines
