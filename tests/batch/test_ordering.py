"""Which copy is kept: ``--prefer`` arrival, longest, newest, oldest, a score, or hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.batch.columns import FingerprintTable, FingerprintTableBuilder, RowValues
from dedupcrawl.batch.job import check_prefer, ranked_rows
from dedupcrawl.errors import DedupError, SettingError
from tests.batch.corpus import Batch, lines, page, story, write_lines

PAGES = st.lists(
    st.tuples(
        st.sampled_from(["https://a.example/", "http://www.a.example:80/x", "https://b.example", "c", "http://["]),
        st.one_of(st.none(), st.integers(-3, 3).map(float)),
        st.integers(0, 3),
    ),
    max_size=12,
)


def prints_of(pages: list[tuple[str, float | None, int]]) -> FingerprintTable:
    filing = FingerprintTableBuilder(1)
    for row, (url, time, length) in enumerate(pages):
        filing.add_unchecked(row, url, "short", RowValues(time, length))
    return FingerprintTable([filing.batch()])


@given(PAGES, st.integers(0, 3), st.sampled_from(["arrival", "longest", "newest", "oldest", "b.example,a.example"]))
def test_given_rows_come_first_and_equal_ones_by_arrival(
    pages: list[tuple[str, float | None, int]], given_rows: int, prefer: str
) -> None:
    given_rows = min(given_rows, len(pages))
    order = ranked_rows(prints_of(pages), prefer.split(","), prior=given_rows).tolist()
    assert sorted(order) == list(range(len(pages)))
    assert order[:given_rows] == list(range(given_rows))
    rest = order[given_rows:]
    times = [-np.inf if time is None else time for _, time, _ in pages]
    keys: dict[str, Callable[[int], float]] = {
        "arrival": lambda row: 0,
        "longest": lambda row: -pages[row][2],
        "newest": lambda row: -times[row],
        "oldest": lambda row: abs(times[row]) if np.isinf(times[row]) else times[row],
        "b.example,a.example": lambda row: 0 if "b.ex" in pages[row][0] else 1 if "a.ex" in pages[row][0] else 2,
    }
    assert rest == sorted(range(given_rows, len(pages)), key=keys[prefer])


@given(PAGES, st.integers(0, 3))
def test_the_latest_is_first_also_among_given_rows(pages: list[tuple[str, float | None, int]], given_rows: int) -> None:
    """Of equally old ones the last that arrived; those without a time behind all others, if some have one."""
    given_rows = min(given_rows, len(pages))
    order = ranked_rows(prints_of(pages), ["arrival"], prior=given_rows, latest=True).tolist()
    timed = any(time is not None for _, time, _ in pages[given_rows:])
    times = [-np.inf if time is None or not timed else time for _, time, _ in pages]
    assert order == sorted(range(len(pages)), key=lambda row: (-times[row], -row))


@pytest.mark.parametrize(
    "prefer",
    [
        *[(), ("",), ("longst",), ("longest", "newest"), ("a.example", "newest"), ("http://a.b",)],
        *[("score:",), ("score:a", "newest"), ("score:a", "a.example")],
    ],
)
def test_what_is_no_preference_is_refused(prefer: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="--prefer"):
        check_prefer(prefer)


@pytest.mark.parametrize(
    ("prefer", "kept"),
    [
        (("arrival",), "https://s0.example/1"),
        (("longest",), "https://s1.example/1"),
        (("newest",), "https://s2.example/1"),
        (("oldest",), "https://s3.example/1"),
        (("nowhere.example", "s4.example"), "https://s4.example/1"),
        (("score:quality",), "https://s2.example/1"),
    ],
)
def test_the_preferred_copy_is_kept(tmp_path: Path, prefer: tuple[str, ...], kept: str) -> None:
    rows = [page(1, place, date=f"2026-01-{10 + place}") for place in range(5)]
    rows[1]["quality"], rows[2]["quality"], rows[3]["quality"] = 0.5, "0.75", "excellent"
    rows[1]["text"] = story(1, more=" and more")
    rows[2]["date"], rows[3]["date"] = "2026-01-20", "2026-01-01"
    batch = Batch(tmp_path)
    summary = batch.run(write_lines(tmp_path / "in" / "a.jsonl", rows), prefer=prefer)
    assert batch.kept() == [kept]
    assert sum(summary["dropped"].values()) == 4


def test_a_misspelt_score_is_an_error_and_another_one_another_batch(tmp_path: Path) -> None:
    batch, source = (
        Batch(tmp_path),
        write_lines(tmp_path / "in" / "a.jsonl", [page(1, "a", rank=1), page(1, "b", rank=2)]),
    )
    with pytest.raises(DedupError, match="no column 'rnk', named as that of the score"):
        batch.run(source, prefer=("score:rnk",))
    batch.run(source, prefer=("score:rank",), out="ranked")
    assert batch.kept("ranked") == ["https://sb.example/1"]
    with pytest.raises(DedupError, match="holds another batch"):
        batch.run(source, out="ranked")


def test_the_best_copy_of_an_earlier_batch_is_the_one_that_is_known(tmp_path: Path) -> None:
    batch = Batch(tmp_path)
    first = write_lines(tmp_path / "one" / "a.jsonl", [page(1, "a", rank=1), page(1, "b", rank=2)])
    second = write_lines(tmp_path / "two" / "a.jsonl", [page(1, "c", rank=9), page(2, "c", rank=1)])
    batch.run(first, prefer=("score:rank",), out="first")
    batch.run(second, prefer=("score:rank",), out="second", against=(str(tmp_path / "first"),), annotate=True)
    rows = lines(tmp_path / "second" / "a.jsonl")
    assert [(row["dedup_status"], row.get("dedup_of")) for row in rows] == [
        ("duplicate", "https://sb.example/1"),
        ("unique", None),
    ]
