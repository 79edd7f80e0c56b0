"""``deduplicate`` on DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.batch import deduplicate
from dedupcrawl.batch.spark import dataframe
from dedupcrawl.batch.spark.sweeps import SweepLimits
from dedupcrawl.config import Config
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import DedupError, SettingError
from tests.batch.corpus import (
    Batch,
    annotated_verdicts,
    crawled,
    lines,
    listing,
    page,
    reprinted_texts,
    story,
    verdict_tuples,
    write_lines,
)
from tests.batch.test_site_tables import site
from tests.page.test_signatures import guestbook
from tests.sites.kinds import build

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    """Rows that do not lie in the order of their numbers."""
    numbered = [(row["url"], row["text"], number) for number, row in enumerate(rows)]
    return spark.createDataFrame(numbered[::-1], "url string, text string, n int")


def test_all_rows_come_with_the_verdicts_of_a_crawl(spark: SparkSession, tmp_path: Path) -> None:
    rows = reprinted_texts(250)
    found = deduplicate(
        frame(spark, rows),
        config=Config(site_memory=False),
        order_by="n",
        annotate=True,
        folder=tmp_path.as_uri(),
        bounds=SweepLimits(tail=0),
    )
    told = sorted((row.asDict() for row in found.collect()), key=lambda row: row["n"])
    assert [row["text"] for row in told] == [row["text"] for row in rows]
    assert annotated_verdicts(told) == verdict_tuples(crawled(Config(), rows))


def compared_parts(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get("dedup_position"), row.get("dedup_layout")


@pytest.mark.parametrize("tail", [0, 1000])
def test_what_sites_repeat_is_left_out_as_by_a_local_batch(spark: SparkSession, tmp_path: Path, tail: int) -> None:
    rows = site()
    given = [(row["url"], row["html"], number) for number, row in enumerate(rows)]
    pages = spark.createDataFrame(given[::-1], "url string, html string, n int").repartition(3)
    found = deduplicate(
        pages, order_by="n", annotate=True, folder=(tmp_path / "frame").as_uri(), bounds=SweepLimits(tail=tail)
    )
    told = sorted((row.asDict() for row in found.collect()), key=lambda row: row["n"])
    Batch(tmp_path).run(write_lines(tmp_path / "in.jsonl", rows), annotate=True)
    local = lines(tmp_path / "out" / "in.jsonl")
    assert annotated_verdicts(told) == annotated_verdicts(local)
    assert [compared_parts(row) for row in told] == [compared_parts(row) for row in local]
    assert sum(row["dedup_position"] is not None for row in told) == sum(row["dedup_of"] is not None for row in local)
    kept = deduplicate(pages, order_by="n", config=Config(keep="latest"))
    assert kept.columns == pages.columns
    latest = Batch(tmp_path, Config(keep="latest"))
    latest.run(write_lines(tmp_path / "in.jsonl", rows), out="latest")
    assert sorted(row["url"] for row in kept.collect()) == sorted(latest.kept("latest"))


def test_a_secret_seed_is_refused_before_anything_runs() -> None:
    unread: Any = None
    with pytest.raises(SettingError, match="a DataFrame has no store that keeps a secret"):
        dataframe.deduplicate(unread, config=Config(seed="secret"))


def test_the_first_copy_stays_or_the_latest(spark: SparkSession) -> None:
    rows = [page(1, "a"), page(2, "a"), page(1, "b"), {"url": "https://c.example", "text": ""}]
    pages = frame(spark, rows)
    first = deduplicate(pages, order_by="n", config=Config(detectors=("exact",)))
    assert first.columns == pages.columns
    assert sorted(row["n"] for row in first.collect()) == [0, 1, 3]
    latest = deduplicate(pages, order_by="n", config=Config(detectors=("exact",), keep="latest"))
    assert sorted(row["n"] for row in latest.collect()) == [1, 2, 3]


def test_the_frame_itself_has_an_order(spark: SparkSession) -> None:
    pages = frame(spark, [page(1, "a"), page(1, "b")]).coalesce(1)
    assert [row["n"] for row in deduplicate(pages, config=Config(detectors=("exact",))).collect()] == [1]


def test_columns_are_looked_for_and_missed(spark: SparkSession) -> None:
    pages = frame(spark, [page(1, "a")])
    with pytest.raises(SettingError, match="no column of the usual names of HTML or text"):
        deduplicate(pages.select("url", "n"))
    with pytest.raises(SettingError, match="no column 'story'"):
        deduplicate(pages, text="story")
    named = pages.withColumnRenamed("text", "story")
    assert deduplicate(named, text="story").count() == 1


def test_a_failure_in_a_task_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    lexicon = str(tmp_path / "none.lexicon")
    pages = spark.createDataFrame([("https://a.example", {"a": 1})], "url string, text map<string, int>")
    with pytest.raises(DedupError, match=r"^Spark could not deduplicate the DataFrame: a row .*neither"):
        deduplicate(pages)
    with pytest.raises(DedupError, match="lexicon"):
        deduplicate(frame(spark, [page(1, "a")]), config=Config(lexicon=lexicon))


def test_siblings_and_refreshed_pages_are_told_as_in_a_crawl(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        {"url": page.url, "html": page.html}
        for kind in ("parts", "views", "notices", "events")
        for page in build(kind, 1).pages
    ]
    rows += [row | {"html": row["html"].replace("</main>", "<p>3 comments so far.</p></main>")} for row in rows[:20]]
    rows += guestbook(4)
    rows += [{"url": f"https://a.example/{n}", "html": listing(n % 2)} for n in range(4)]
    numbered = [(row["url"], row["html"], number) for number, row in enumerate(rows)]
    pages = spark.createDataFrame(numbered[::-1], "url string, html string, n int")
    found = deduplicate(pages, order_by="n", annotate=True, folder=tmp_path.as_uri(), bounds=SweepLimits(tail=0))
    told = sorted((row.asDict() for row in found.collect()), key=lambda row: row["n"])
    verdicts = crawled(Config(), rows)
    assert annotated_verdicts(told) == verdict_tuples(verdicts)
    assert {verdict.relation for verdict in verdicts} >= {Relation.SIBLING, Relation.IDENTICAL}
    assert [(verdict.reason, verdict.keep) for verdict in verdicts[-8:-4]] == [(None, True)] + [
        ("little-read", True)
    ] * 3
    assert [(verdict.reason, verdict.keep) for verdict in verdicts[-4:]] == [("index", True)] * 2 + [(None, False)] * 2


def test_none_of_several_copies_stays(spark: SparkSession) -> None:
    rows = [page(1, "a"), page(2, "a"), page(1, "b"), page(3, "a"), page(1, "c")]
    pages = frame(spark, rows)
    left = deduplicate(pages, order_by="n", drop_clusters=True, bounds=SweepLimits(tail=0))
    assert sorted(row["n"] for row in left.collect()) == [1, 3]
    told = deduplicate(pages, order_by="n", drop_clusters=True, annotate=True).collect()
    assert [(row["n"], row["dedup_status"], row["dedup_of"]) for row in sorted(told, key=lambda row: row["n"])] == [
        (0, "duplicate", "https://sb.example/1"),
        (1, "unique", None),
        (2, "duplicate", "https://sa.example/1"),
        (3, "unique", None),
        (4, "duplicate", "https://sa.example/1"),
    ]


def test_annotations_say_where_the_common_part_is(spark: SparkSession) -> None:
    end = " ".join(story(1, words=200).split()[-190:])
    rows = [page(1, "a") | {"text": story(1, words=200)}, page(1, "b") | {"text": end}, page(2, "a"), page(2, "b")]
    told = deduplicate(frame(spark, rows), order_by="n", annotate=True).collect()
    found = {row["n"]: (row["dedup_status"], row["dedup_position"], row["dedup_layout"]) for row in told}
    assert found == {
        0: ("unique", None, None),
        1: ("duplicate", "whole", None),  # texts have no layout
        2: ("unique", None, None),
        3: ("duplicate", "whole", None),
    }
