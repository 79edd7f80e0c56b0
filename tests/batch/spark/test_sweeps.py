"""Whatever the corpus, the sweeps come to what the solver comes to."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.batch.solving import Crowding, solve
from dedupcrawl.batch.spark.sweeps import Bounds
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.stores.base import BUCKET_CAP, Record
from tests.batch.agreeing import prints_of
from tests.batch.spark.solving import columns, on_spark, rules

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CONFIG = Config(detectors=("simhash",), min_chars=1)


def page(number: int, bits: int, *keys: int) -> Record:
    """A page with so many words, as simhash sees it, in these buckets."""
    sketch = b"\x48" + bits.to_bytes(8, "little")
    folded = tuple(key.to_bytes(6, "big") for key in keys)
    return Record(f"https://a.example/{number}", folded, (sketch, sketch), float(number))


def copies(count: int) -> list[Record]:
    """One text again and again."""
    return [page(number, 7, 1, 2) for number in range(count)]


def strangers(count: int) -> list[Record]:
    """Texts that share a bucket and nothing else."""
    random = Random(1)
    return [page(number, random.getrandbits(64), 10) for number in range(count)]


def crowd(count: int) -> list[Record]:
    """Texts of which copies come again when more others stand between than are read of a bucket."""
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
    assert found.crowding == Crowding(buckets=1, pages=3_000 - BUCKET_CAP - 1, fullest=3_000)
    assert (settled.sweeps, settled.here) == (2, 0)


def test_copies_behind_more_than_are_read_of_a_bucket(spark: SparkSession, tmp_path: Path) -> None:
    prints = prints_of(crowd(150), 2)
    found, settled = on_spark(spark, tmp_path, prints, CONFIG)
    assert columns(found) == columns(solve(prints, rules(CONFIG)))
    assert found.crowding.pages > 0
    assert settled.here == 0


@pytest.mark.parametrize("bounds", [Bounds(sweeps=2, tail=0), Bounds(tail=100)])
def test_a_chain_is_left_to_the_driver(spark: SparkSession, tmp_path: Path, bounds: Bounds) -> None:
    prints = prints_of(chain(21), 2)
    found, settled = on_spark(spark, tmp_path, prints, CONFIG, bounds=bounds)
    assert found.keep.tolist() == [number % 2 == 0 for number in range(21)]
    assert columns(found) == columns(solve(prints, rules(CONFIG)))
    assert settled.here == 21


def test_what_is_given_is_kept_and_clusters_are_named_after_the_first(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Nothing is dropped here, so a page joins the cluster of one that joined another's."""
    config = Config(detectors=("simhash",), min_chars=1, drop=frozenset())
    prints = prints_of([*copies(3), *chain(6), *crowd(60)], 2)
    found, settled = on_spark(spark, tmp_path, prints, config, given=2)
    assert columns(found) == columns(solve(prints, rules(config), given=2))
    assert set(found.founder[3:9].tolist()) == {3}
    assert settled.here == 0


def test_a_session_says_where_sweeps_end(spark: SparkSession) -> None:
    own = spark.newSession()
    assert Bounds.of(own) == Bounds()
    own.conf.set("spark.dedupcrawl.tail", "7")
    assert Bounds.of(own) == Bounds(tail=7)
    own.conf.set("spark.dedupcrawl.sweeps", "many")
    with pytest.raises(SettingError, match=r"spark\.dedupcrawl\.sweeps = 'many'"):
        Bounds.of(own)
