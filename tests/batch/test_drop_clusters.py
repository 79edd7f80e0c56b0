"""``--drop-clusters``: of several copies none is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Config, Deduplicator
from dedupcrawl.batch.runner import run
from dedupcrawl.batch.solver import NONE, SolverResult, without_clusters
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.report.from_batch import report_from_batch
from tests.batch.corpus import Batch, lines, page, reprinted_texts, split, write_lines

if TYPE_CHECKING:
    from pathlib import Path


def test_no_copy_is_kept_and_every_page_without_one_is(tmp_path: Path) -> None:
    rows = reprinted_texts()
    batch = Batch(tmp_path)
    split(rows, tmp_path / "in", 3)
    batch.run(tmp_path / "in", out="first", annotate=True)
    summary = batch.run(tmp_path / "in", out="none", drop_clusters=True)
    told = [row for path in sorted((tmp_path / "first").glob("*.jsonl")) for row in lines(path)]
    copied = {row["dedup_cluster"] for row in told if row["dedup_status"] == "duplicate"}
    alone = [row["url"] for row in told if row.get("dedup_cluster") not in copied]
    assert batch.kept("none") == alone
    assert summary["kept"] == len(alone)
    assert sum(summary["dropped"].values()) == len(rows) - len(alone)


def test_the_first_copy_names_another_one(tmp_path: Path) -> None:
    batch, source = Batch(tmp_path), [page(1, "a"), page(2, "a"), page(1, "b"), page(1, "c")]
    batch.run(write_lines(tmp_path / "in.jsonl", source), drop_clusters=True, annotate=True)
    rows = lines(tmp_path / "out" / "in.jsonl")
    assert [(row["dedup_status"], row.get("dedup_of")) for row in rows] == [
        ("duplicate", "https://sb.example/1"),
        ("unique", None),
        ("duplicate", "https://sa.example/1"),
        ("duplicate", "https://sa.example/1"),
    ]
    assert report_from_batch(tmp_path / "out").figures.dropped == 3


def test_further_copies_are_dropped_by_later_batches_and_crawls(tmp_path: Path) -> None:
    batch = Batch(tmp_path)
    first = write_lines(tmp_path / "one.jsonl", [page(1, "a"), page(1, "b"), page(2, "a")])
    store = f"lmdb://{tmp_path / 'store'}"
    batch.run(first, out="first", drop_clusters=True, update=store, namespace="news")
    second = write_lines(tmp_path / "two.jsonl", [page(1, "c"), page(3, "c")])
    batch.run(second, out="second", against=(str(tmp_path / "first"),))
    assert batch.kept("second") == ["https://sc.example/3"]
    with Deduplicator(store, namespace="news") as dedup:
        assert not dedup.add(**page(1, "d")).keep


def test_of_two_sets_the_copies_of_one_are_removed(tmp_path: Path) -> None:
    """A page that repeats one of an earlier batch is dropped; the earlier page stays in that batch's output."""
    batch = Batch(tmp_path)
    batch.run(write_lines(tmp_path / "b.jsonl", [page(1, "b"), page(2, "b")]), out="b")
    source = write_lines(tmp_path / "a.jsonl", [page(1, "a"), page(3, "a"), page(4, "a"), page(4, "c")])
    batch.run(source, out="a", drop_clusters=True, against=(str(tmp_path / "b"),))
    assert batch.kept("a") == ["https://sa.example/3"]
    assert batch.kept("b") == ["https://sb.example/1", "https://sb.example/2"]


@pytest.mark.parametrize("how", [{"config": Config(keep="latest")}, {"revisits": True}])
def test_what_contradicts_it_is_refused(tmp_path: Path, how: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"--(drop-clusters|revisits) = True"):
        run(Batch(tmp_path).job(tmp_path, drop_clusters=True, **how))


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.booleans()), max_size=20), st.integers(0, 3))
def test_a_cluster_is_dropped_as_a_whole_or_not_at_all(rows: list[tuple[int, bool, bool]], prior: int) -> None:
    """Each row relates to an earlier one, joins its cluster or not, and is kept or not if it joins."""
    size, prior = len(rows), min(prior, len(rows))
    founder, of, keep = np.arange(size), np.full(size, NONE), np.ones(size, bool)
    for row, (to, joins, kept) in enumerate(rows):
        if row >= prior and row and keep[to % row]:
            of[row], keep[row] = to % row, kept or not joins
            founder[row] = founder[to % row] if joins else row
    none = np.full(size, NONE, np.int8)
    before = SolverResult(keep, of, none, np.full(size, np.nan), none, founder, ())
    after = without_clusters(before, prior)
    hit = {each for each in founder[~keep].tolist() if each >= prior}
    assert after.keep.tolist() == [bool(keep[row]) and founder[row] not in hit for row in range(size)]
    assert not (after.keep & ~before.keep).any()
    assert after.compared is before.keep
    dropped = np.flatnonzero(~after.keep)
    assert all(after.of[row] not in (row, NONE) for row in dropped)
    assert all(founder[after.of[row]] == founder[row] for row in dropped)
