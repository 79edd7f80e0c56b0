"""The sweeps find the same verdicts as the solver."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.columns import FingerprintTable
from dedupcrawl.batch.solver import HotBucketCounts, solve
from dedupcrawl.batch.spark.checkpoints import spark_fingerprint_schema
from dedupcrawl.batch.spark.sweeps import SweepLimits, _candidate_rows, find_candidates, to_fingerprint_batch
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.stores.base import BUCKET_CAP, Record
from tests.batch.spark.solvers import columns, on_spark, rules
from tests.batch.verdict_rows import prints_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


CONFIG = Config(detectors=("simhash",), min_chars=1)


def page(number: int, bits: int, *keys: int) -> Record:
    """A page with this number of words, as simhash sees it, in these buckets."""
    sketch = b"\x48" + bits.to_bytes(8, "little")
    folded = tuple(key.to_bytes(6, "big") for key in keys)
    return Record(f"https://a.example/{number}", folded, (sketch, sketch), float(number))


def copies(count: int) -> list[Record]:
    """One text, repeated."""
    return [page(number, 7, 1, 2) for number in range(count)]


def strangers(count: int) -> list[Record]:
    """Texts that share a bucket and nothing else."""
    random = Random(1)
    return [page(number, random.getrandbits(64), 10) for number in range(count)]


def crowd(count: int) -> list[Record]:
    """Copies that follow after more other pages than are read of a bucket."""
    random = Random(2)
    texts = [random.getrandbits(64) for _ in range(2 * BUCKET_CAP)]
    return [page(n, random.choice(texts), 20, random.randrange(21, 23)) for n in range(count)]


def chain(count: int) -> list[Record]:
    """Each page is like the one before it alone."""
    return [page(n, (1 << 3 * n) - 1, 30 + n, 31 + n) for n in range(count)]


def test_ten_thousand_copies_and_three_thousand_strangers(spark: SparkSession, tmp_path: Path) -> None:
    prints = prints_of([*copies(10_000), *strangers(3_000)], 2)
    found, settled = on_spark(spark, tmp_path, prints, CONFIG)
    assert columns(found) == columns(solve(prints, rules(CONFIG)))
    assert found.keep[:10_000].sum() == 1
    assert found.keep[10_000:].all()
    assert found.hot_buckets == HotBucketCounts(buckets=1, pages=3_000 - BUCKET_CAP - 1, fullest=3_000)
    assert (settled.sweeps, settled.on_driver) == (2, 0)


def test_copies_behind_more_than_are_read_of_a_bucket(spark: SparkSession, tmp_path: Path) -> None:
    prints = prints_of(crowd(150), 2)
    found, settled = on_spark(spark, tmp_path, prints, CONFIG)
    assert columns(found) == columns(solve(prints, rules(CONFIG)))
    assert found.hot_buckets.pages > 0
    assert settled.on_driver == 0


@pytest.mark.parametrize("bounds", [SweepLimits(sweeps=2, tail=0), SweepLimits(tail=100)])
def test_a_chain_is_left_to_the_driver(spark: SparkSession, tmp_path: Path, bounds: SweepLimits) -> None:
    prints = prints_of(chain(21), 2)
    found, settled = on_spark(spark, tmp_path, prints, CONFIG, bounds=bounds)
    assert found.keep.tolist() == [number % 2 == 0 for number in range(21)]
    assert columns(found) == columns(solve(prints, rules(CONFIG)))
    assert settled.on_driver == 21


def test_what_is_given_is_kept_and_clusters_are_named_after_the_first(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is dropped here, so a page joins the cluster of a page that joined another cluster."""
    config = Config(detectors=("simhash",), min_chars=1, drop=frozenset())
    prints = prints_of([*copies(3), *chain(6), *crowd(60)], 2)
    found, settled = on_spark(spark, tmp_path, prints, config, prior=2)
    assert columns(found) == columns(solve(prints, rules(config), prior=2))
    assert set(found.founder[3:9].tolist()) == {3}
    assert settled.on_driver == 0


def test_a_session_configures_where_sweeps_end(spark: SparkSession) -> None:
    own = spark.newSession()
    assert SweepLimits.of(own) == SweepLimits()
    own.conf.set("spark.dedupcrawl.tail", "7")
    assert SweepLimits.of(own) == SweepLimits(tail=7)
    own.conf.set("spark.dedupcrawl.sweeps", "many")
    with pytest.raises(SettingError, match=r"spark\.dedupcrawl\.sweeps = 'many'"):
        SweepLimits.of(own)


Row = tuple[int, int, bool, bool, bool]

rows_of_buckets = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 99), st.booleans(), st.booleans(), st.booleans()),
    max_size=200,
    unique_by=lambda row: row[:2],
).map(sorted)


def batches(rows: list[Row], size: int) -> list[pa.RecordBatch]:
    names = ["bucket", "page", "filed", "probed", "kept"]
    cut = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in each]) for each in cut]


def met(rows: list[Row], size: int = 1000) -> list[tuple[int, list[int]]]:
    found = (pair for batch in find_candidates(batches(rows, size)) for pair in batch.to_pylist())
    return [(each["page"], each["candidates"]) for each in found]


@given(rows_of_buckets, st.integers(1, 20))
@settings(deadline=None)
def test_a_page_is_compared_with_the_newest_kept_pages_before_it(rows: list[Row], size: int) -> None:
    expected = []
    for bucket, page, _, sought, _ in rows:
        before = [old for b, old, filed, _, kept in rows if b == bucket and old < page and filed and kept]
        if sought and before:
            expected.append((page, before[-BUCKET_CAP:]))
    assert met(rows, size) == expected


def test_a_full_bucket_is_read_from_its_new_end() -> None:
    rows = [(7, page, True, True, True) for page in range(BUCKET_CAP + 3)]
    assert met(rows)[-1] == (BUCKET_CAP + 2, list(range(2, BUCKET_CAP + 2)))


def test_identities_reach_the_rules_on_workers_and_on_the_driver() -> None:
    identities = [b"", b"names"]
    layout = spark_fingerprint_schema(1)
    values = {
        "page": [4, 5],
        "url": [b"http://a/1", b"http://a/2"],
        "keys": [[1], [1]],
        "probes": [[1], [1]],
        "identity": [None, b"names"],
        "context": [None, None],
        "sketch_0": [b"s", b"t"],
    }
    batch = pa.RecordBatch.from_pydict(values, schema=layout)
    judged = batch.append_column("other", batch.column("page"))
    judged = judged.append_column("candidates", pa.array([[4], None], pa.list_(pa.int64())))
    assert [record.identity for *_, record in _candidate_rows(judged)] == identities
    filled = batch.append_column("filled", batch.column("probes"))
    table = FingerprintTable([to_fingerprint_batch(filled)])
    assert [table.record(row).identity for row in range(2)] == identities
