"""``keep = "latest"``: older pages are dropped, listed, and removed from stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError, SettingError
from tests.batch.corpus import (
    Batch,
    Rows,
    annotated_verdicts,
    crawled,
    lines,
    page,
    reprinted_texts,
    story,
    verdict_tuples,
    write_lines,
)

LATEST = Config(detectors=("simhash",), keep="latest")


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path, LATEST)


def run(batch: Batch, rows: Rows, out: str, **how: Any) -> dict[str, Any]:
    return batch.run(write_lines(batch.folder / f"in-{out}" / "a.jsonl", rows), out=out, **how)


def listed(batch: Batch, out: str) -> dict[str, list[str]]:
    return {row["url"]: row["old"] for row in lines(batch.folder / out / "superseded.jsonl")}


def url(place: object, number: int) -> str:
    return f"https://s{place}.example/{number}"


def test_the_newest_wins_and_the_old_ones_are_listed(batch: Batch) -> None:
    rows = [page(1, "a", time=10), page(1, "b", time=30), page(1, "c", time=20), page(2, "a", time=5), page(1, "d")]
    summary = run(batch, rows, "out")
    assert batch.kept() == [url("b", 1), url("a", 2)]
    assert listed(batch, "out") == {url("b", 1): [url("a", 1), url("c", 1), url("d", 1)]}
    assert summary["superseded"] == 1


def test_an_input_that_is_named_like_the_list_is_refused(batch: Batch) -> None:
    path = write_lines(batch.folder / "superseded.jsonl", [page(1, "a")])
    with pytest.raises(DedupError, match=r"superseded.jsonl lists the replaced pages; rename the input"):
        batch.run(path)
    assert batch.run(path, config=Config())["kept"] == 1
    assert lines(batch.folder / "out" / "superseded.jsonl") == lines(path)


def test_the_output_of_such_a_batch_is_the_input_of_another(batch: Batch) -> None:
    run(batch, [page(1, "a"), page(1, "b"), page(2, "a")], "out")
    assert batch.run(batch.folder / "out", out="again")["pages"] == 2


def test_without_times_the_last_that_arrived_is_the_newest(batch: Batch) -> None:
    run(batch, [page(1, "a"), page(1, "b"), page(2, "b")], "out")
    assert batch.kept() == [url("b", 1), url("b", 2)]


def test_without_times_a_batch_is_newer_than_what_was_kept_before(batch: Batch) -> None:
    run(batch, [page(1, "a", time=9e9)], "one")
    run(batch, [page(1, "b")], "two", against=(str(batch.folder / "one"),))
    assert listed(batch, "two") == {url("b", 1): [url("a", 1)]}


def test_an_older_text_under_the_address_of_a_page_goes(batch: Batch) -> None:
    rows = [{"url": url("a", 1), "text": story(number)} for number in range(3)]
    summary = run(batch, rows, "out")
    assert [row["text"] for row in lines(batch.folder / "out" / "a.jsonl")] == [story(2)]
    assert listed(batch, "out") == {url("a", 1): [url("a", 1)] * 2}
    assert summary["dropped"] == {"updated": 2}


def test_the_verdicts_are_those_of_a_crawl_from_the_newest_to_the_oldest(batch: Batch) -> None:
    rows = reprinted_texts(120)
    run(batch, rows, "out", annotate=True)
    first = Config(detectors=("simhash",))
    expected = crawled(first, rows[::-1])[::-1]
    assert annotated_verdicts(lines(batch.folder / "out" / "a.jsonl")) == verdict_tuples(expected)
    assert listed(batch, "out").keys() == {each.of for each in expected if not each.keep}


def test_old_pages_of_an_earlier_batch_are_listed_and_do_not_come_back(batch: Batch) -> None:
    """The second batch replaces a page of the first. What is like that page alone is new to the third."""
    run(batch, [page(1, "a", time=1), page(2, "a", time=1)], "one")
    summary = run(batch, [page(1, "b", time=2), page(3, "b", time=2)], "two", against=(str(batch.folder / "one"),))
    assert (summary["given"], summary["kept"]) == (1, 2)
    assert listed(batch, "two") == {url("b", 1): [url("a", 1)]}
    run(batch, [page(1, "c", time=3), page(2, "c", time=3)], "three", against=(str(batch.folder / "two"),))
    assert listed(batch, "three") == {url("c", 1): [url("b", 1)], url("c", 2): [url("a", 2)]}


def test_a_page_that_is_older_than_what_is_known_is_dropped(batch: Batch) -> None:
    run(batch, [page(1, "a", time=9)], "one")
    run(batch, [page(1, "b", time=2)], "two", against=(str(batch.folder / "one"),))
    assert batch.kept("two") == []
    assert listed(batch, "two") == {}


def test_what_was_replaced_is_removed_from_the_store(batch: Batch) -> None:
    store = f"lmdb://{batch.folder}/store"
    with Deduplicator(store, "news", config=LATEST, clock=lambda: 100.0) as dedup:
        for row in (page(1, "a"), page(2, "a"), page(3, "a")):
            dedup.add(**row)
    rows = [page(1, "b", time=200), page(2, "b", time=200), page(9, "b", time=200), page(3, "b", time=50)]
    path = write_lines(batch.folder / "in" / "a.jsonl", rows)
    for repeated in (False, True):
        summary = batch.run(path, against=(store,), update=store)
        assert summary["already"] is repeated
        handed = {name: summary["handed"][name] for name in ("new", "known", "removed")}
        assert handed == {"new": 3, "known": 0, "removed": 2}
        assert filed(store) == [url("a", 3), url("b", 1), url("b", 2), url("b", 9)]
    assert listed(batch, "out") == {url("b", 1): [url("a", 1)], url("b", 2): [url("a", 2)]}


def filed(store: str) -> list[str]:
    with Deduplicator(store, "news", config=LATEST) as dedup:
        return [each.record.url for each in dedup.store.records()]


def test_the_very_page_that_a_store_has_takes_its_own_place(batch: Batch) -> None:
    """A crawl that kept the first copy has two pages; the batch brings the later of them again, newer."""
    store = f"lmdb://{batch.folder}/store"
    with Deduplicator(store, "news", config=Config(detectors=("simhash",), drop=frozenset())) as dedup:
        for row in (page(1, "a"), page(1, "z"), page(5, "a")):
            dedup.add(**row)
    rows = [page(1, "z", time=2e9), page(5, "a", time=2e9)]
    path = write_lines(batch.folder / "in" / "a.jsonl", rows)
    summary = batch.run(path, against=(store,), update=store)
    assert listed(batch, "out") == {url("z", 1): [url("a", 1), url("z", 1)], url("a", 5): [url("a", 5)]}
    handed = {name: summary["handed"][name] for name in ("new", "known", "removed")}
    assert handed == {"new": 1, "known": 1, "removed": 1}
    assert filed(store) == [url("a", 5), url("z", 1)]


def test_a_preference_has_no_say_then(batch: Batch) -> None:
    with pytest.raises(SettingError, match="the newest page is kept"):
        batch.job("a", prefer=("longest",))
