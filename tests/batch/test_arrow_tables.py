"""``deduplicate`` on tables: Arrow, and what exports it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch import deduplicate
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from tests.batch.corpus import (
    Batch,
    annotated_verdicts,
    crawled,
    lines,
    reprinted_texts,
    story,
    verdict_tuples,
    write_lines,
)
from tests.batch.test_site_tables import site
from tests.data import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ROWS = reprinted_texts(60)
TABLE = pa.Table.from_pylist([{**row, "n": number, "tags": [{"a": 1}]} for number, row in enumerate(ROWS)])
KEPT = [
    url for (url, verdict) in zip((row["url"] for row in ROWS), crawled(Config(), ROWS), strict=True) if verdict.keep
]


def urls(table: Any) -> list[str]:
    column = table["url"]
    return [str(url) for url in (column.to_pylist() if hasattr(column, "to_pylist") else column)]


def test_the_verdicts_are_those_of_a_crawl() -> None:
    found = deduplicate(TABLE, config=Config(site_memory=False), annotate=True)
    assert found.column_names[: len(TABLE.column_names)] == TABLE.column_names
    assert found.select(TABLE.column_names).equals(TABLE)
    assert annotated_verdicts(found.to_pylist()) == verdict_tuples(crawled(Config(), ROWS))


def test_what_sites_repeat_is_left_out_as_by_the_command(tmp_path: Path) -> None:
    rows = site()
    found = deduplicate(pa.Table.from_pylist(rows), annotate=True, workers=2)
    Batch(tmp_path).run(write_lines(tmp_path / "in.jsonl", rows), annotate=True)
    assert annotated_verdicts(found.to_pylist()) == annotated_verdicts(lines(tmp_path / "out" / "in.jsonl"))


def relation() -> duckdb.DuckDBPyRelation:
    return duckdb.from_arrow(TABLE)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (TABLE, pa.Table),
        (TABLE.combine_chunks().to_batches()[0], pa.Table),
        (TABLE.to_reader(), pa.Table),
        (TABLE.to_pandas(), pd.DataFrame),
        (Dataset(TABLE), Dataset),
        (Dataset(TABLE).select(range(len(ROWS))), Dataset),
    ],
    ids=["table", "batch", "reader", "pandas", "datasets", "selected"],
)
def test_the_same_type_comes_back(data: Any, kind: type) -> None:
    found = deduplicate(data)
    assert isinstance(found, kind)
    assert urls(found) == KEPT


#: Polars hangs in a process that was forked after its threads had started, as the processes of the tests are.
POLARS = """
import sys
import polars as pl
import pyarrow as pa
from dedupcrawl.batch import deduplicate
from tests.batch.test_arrow_tables import KEPT, TABLE

pages = pl.from_arrow(TABLE)
kept = deduplicate(pages)
assert isinstance(kept, pl.DataFrame), type(kept)
assert kept["url"].to_list() == KEPT
assert kept.schema == pages.schema
for order_by in (None, "n"):
    found = deduplicate(pages, annotate=True, order_by=order_by)
    assert isinstance(found, pl.DataFrame), type(found)
    assert found.filter(pl.col("dedup_status") != "duplicate")["url"].to_list() == KEPT
    again = deduplicate(found, annotate=True)
    assert again["dedup_status"].to_list() == found["dedup_status"].to_list()
"""


def own_process(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


def test_polars() -> None:
    own_process(POLARS)


def test_the_recipe_of_polars() -> None:
    section = (ROOT / "docs" / "batch.md").read_text("utf-8").partition("## Tables in memory")[2]
    table, polars = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[:2]
    assert "import polars" in polars
    own_process(table + polars)


def test_a_relation_of_duckdb_comes_back() -> None:
    found = deduplicate(relation())
    assert isinstance(found, duckdb.DuckDBPyRelation)
    assert urls(found.to_arrow_table()) == KEPT


def test_the_index_of_pandas_stays() -> None:
    frame = TABLE.to_pandas().set_index(pd.Index([f"row {number}" for number in range(len(ROWS))], name="name"))
    assert deduplicate(frame).index.tolist() == [
        f"row {number}" for number, row in enumerate(ROWS) if row["url"] in KEPT
    ]


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(20)))
def test_rows_keep_their_places_whatever_the_order_of_arrival(order: list[int]) -> None:
    table = TABLE.slice(0, 20)
    shuffled = table.take(pa.array(order))
    found = deduplicate(shuffled, order_by="n")
    assert set(urls(found)) == set(urls(deduplicate(table)))
    assert urls(found) == [url for url in urls(shuffled) if url in set(urls(found))]


def test_only_the_columns_of_the_pages_are_read() -> None:
    table = TABLE.append_column("html", pa.array([story(1)] * len(ROWS)))
    assert urls(deduplicate(table, text="text")) == KEPT
    assert len(urls(deduplicate(table, html="html", url="n"))) == 1


@pytest.mark.parametrize("data", [TABLE.to_pandas().set_index("n"), Dataset(TABLE), TABLE])
def test_verdicts_are_added_to_every_type(data: Any) -> None:
    found = deduplicate(data, annotate=True, order_by=None if isinstance(data, pd.DataFrame) else "n")
    assert type(found) is type(data)
    dropped = [str(status) == "duplicate" for status in found["dedup_status"]]
    assert [url for url, is_dropped in zip(urls(found), dropped, strict=True) if not is_dropped] == KEPT
    again = deduplicate(found, annotate=True)
    assert [*again["dedup_status"]] == [*found["dedup_status"]]


def test_all_copies_can_be_dropped() -> None:
    found = urls(deduplicate(TABLE, drop_clusters=True))
    assert found
    assert set(found) < set(KEPT)


def test_an_empty_table_comes_back_empty() -> None:
    assert deduplicate(TABLE.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize(
    ("data", "options", "error", "said"),
    [
        ([{"text": "…"}], {}, TypeError, "deduplicate takes a pyarrow table, .*, not list"),
        (TABLE, {"text": "body"}, SettingError, "no column 'body', named as that of the text"),
        (TABLE.select(["url"]), {}, SettingError, "no column of the usual names of HTML or text"),
        (TABLE, {"order_by": "fetched"}, SettingError, "order_by = 'fetched' is not accepted: one of the columns url"),
        (TABLE, {"config": Config(seed="secret")}, SettingError, "a table has no store that keeps a secret"),
    ],
)
def test_errors_name_what_is_accepted(data: Any, options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        deduplicate(data, **options)
