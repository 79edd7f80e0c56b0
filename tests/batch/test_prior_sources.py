"""``--against``: pages of earlier batches and stores are dropped, as in one crawl over all pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.batch.prior_sources import StoreSource
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError, SettingError, StoreError, StoreMismatchError
from tests.batch.corpus import (
    Batch,
    Rows,
    annotated_verdicts,
    crawled,
    lines,
    page,
    reprinted_texts,
    split,
    story,
    verdict_tuples,
    write_lines,
)

DETECTORS = [("exact", "minhash"), ("simhash",)]


def annotated(folder: Path) -> Rows:
    return [row for path in sorted(folder.glob("*.jsonl")) for row in lines(path) if "dedup_status" in row]


@pytest.mark.parametrize("detectors", DETECTORS)
def test_two_batches_come_to_what_one_crawl_does(batch: Batch, detectors: tuple[str, ...]) -> None:
    rows = reprinted_texts(200)
    config, cut = Config(detectors=detectors), len(rows) * 2 // 5
    split(rows[:cut], batch.folder / "in1")
    split(rows[cut:], batch.folder / "in2")
    batch.run(batch.folder / "in1", out="one", config=config)
    batch.run(batch.folder / "in2", out="two", annotate=True, config=config, against=(str(batch.folder / "one"),))
    assert annotated_verdicts(annotated(batch.folder / "two")) == verdict_tuples(crawled(config, rows)[cut:])


@pytest.mark.parametrize("detectors", DETECTORS)
@pytest.mark.parametrize("store", ["smaller", "larger"])
def test_a_batch_behind_a_crawl_comes_to_what_the_crawl_would(
    batch: Batch, detectors: tuple[str, ...], store: str
) -> None:
    rows = reprinted_texts(200)
    config, cut = Config(detectors=detectors), 60 if store == "smaller" else len(rows) - 30
    url = f"lmdb://{batch.folder}/store"
    with Deduplicator(url, "spider", config=config) as dedup:
        for row in rows[:cut]:
            dedup.add(**row)
    split(rows[cut:], batch.folder / "in")
    summary = batch.run(batch.folder / "in", annotate=True, config=config, against=(url,))
    assert annotated_verdicts(annotated(batch.folder / "out")) == verdict_tuples(crawled(config, rows)[cut:])
    assert summary["given"] <= cut


def chain(batch: Batch, rows: Rows, *, stand: dict[str, list[str]], **how: Any) -> Rows:
    """Run batches of a few rows each, one after the other; return the verdicts of the last one."""
    step = -(-len(rows) // len(stand))
    for number, (name, before) in enumerate(stand.items()):
        where = batch.folder / f"in-{name}"
        split(rows[number * step : (number + 1) * step], where, 2)
        against = tuple(str(batch.folder / each) for each in before)
        batch.run(where, out=name, annotate=True, against=against, **how)
    return annotated(batch.folder / name)


@pytest.mark.parametrize("named", [["b"], ["a", "b"], ["b", "a"]])
def test_a_folder_remembers_what_it_was_compared_with(batch: Batch, named: list[str]) -> None:
    """The last batch repeats a story of the first one that is not in the second."""
    rows = [page(1, "a"), page(2, "a"), page(1, "b"), page(3, "b"), page(2, "c"), page(4, "c")]
    found = chain(batch, rows, stand={"a": [], "b": ["a"], "c": named})
    assert annotated_verdicts(found) == verdict_tuples(crawled(Config(), rows)[4:])
    assert [row["dedup_of"] for row in found] == ["https://sa.example/2", None]


def test_a_page_joins_the_cluster_of_the_page_that_its_old_version_joined(batch: Batch) -> None:
    """A later version of a page is of its cluster, and so is, in the next batch, a copy of that."""
    newer = story(1, more=" addendum of a sentence that is not there before")
    rows = [
        page(1, "a"),
        page(7, "a"),
        {"url": "https://sa.example/1", "text": newer},
        page(8, "b"),
        {"url": "https://sc.example/", "text": newer},
        page(9, "c"),
    ]
    found = chain(batch, rows, stand={"a": [], "b": ["a"], "c": ["b"]})
    assert annotated_verdicts(found) == verdict_tuples(crawled(Config(), rows)[4:])


def test_only_pages_that_share_a_key_are_read(batch: Batch) -> None:
    batch.run(split([page(n, "a") for n in range(50)], batch.folder / "in1"), out="one")
    rows = [page(7, "b"), page(99, "b")]
    summary = batch.run(split(rows, batch.folder / "in2"), out="two", against=(str(batch.folder / "one"),))
    assert summary["given"] == 1
    assert batch.kept("two") == ["https://sb.example/99"]


def test_a_store_counts_as_far_as_it_is_committed(batch: Batch) -> None:
    url = f"lmdb://{batch.folder}/store"
    with Deduplicator(url, "spider") as dedup:
        dedup.add(**page(1, "a"))
        claim = dedup.claim(**page(2, "a"))
        path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "b"), page(2, "b")])
        batch.run(path, against=(url,))
        claim.release()
    assert batch.kept() == ["https://sb.example/2"]


def test_what_an_old_batch_preferred_comes_first_in_it(batch: Batch) -> None:
    """Forty texts at one address: the last 32 to be judged are met, and these are the shortest here."""
    rows = [page(n, 0, url="https://a.example/", text=story(n, words=30 + n)) for n in range(40)]
    again = page(0, 0, url="https://a.example/", text=story(0, words=30))
    batch.run(split(rows, batch.folder / "in1"), out="one", prefer=("longest",))
    path = write_lines(batch.folder / "in2" / "a.jsonl", [again])
    batch.run(path, out="two", annotate=True, against=(str(batch.folder / "one"),))
    expected = crawled(Config(), [*reversed(rows), again])[-1:]
    assert annotated_verdicts(annotated(batch.folder / "two")) == verdict_tuples(expected)


@pytest.mark.parametrize("walked", [True, False])
def test_a_store_is_walked_or_asked_and_both_find_the_same(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, walked: bool
) -> None:
    url = f"lmdb://{batch.folder}/store"
    job = batch.job("nothing")
    with Deduplicator(url, "spider") as dedup:
        for number in range(30):
            dedup.add(**page(number, "a"))
        record = dedup.lookup("https://sa.example/7")
    assert record is not None
    from dedupcrawl.batch.columns import pack_keys

    sought = pack_keys(
        sorted(record.keys[:2] if not walked else [*record.keys, *(bytes([0, 0, 0, 0, 0, n]) for n in range(99))])
    )
    found = list(StoreSource(url, "spider").batches(job, sought, set()))
    assert [batch.column("url").to_pylist() for batch in found] == [[b"https://sa.example/7"]]


def test_what_does_not_fit_is_refused(batch: Batch) -> None:
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    batch.run(path, out="one")
    url = f"lmdb://{batch.folder}/store"
    with Deduplicator(url, "spider", detectors=("simhash",)) as dedup:
        dedup.add(**page(1, "b"))
    with pytest.raises(StoreMismatchError, match=r"simhash is \{.*\} there, nothing here|simhash.bits is 64 there"):
        batch.run(path, out="two", against=(url,))
    with pytest.raises(StoreMismatchError, match=r"one was made under another configuration: .*minhash"):
        batch.run(path, out="two", against=(str(batch.folder / "one"),), config=Config(detectors=("simhash",)))
    with pytest.raises(StoreMismatchError, match=r"min_chars is 100 there, 20 here"):
        batch.run(path, out="two", against=(str(batch.folder / "one"),), config=Config(min_chars=20))
    with pytest.raises(DedupError, match="no folder of a batch"):
        batch.run(path, out="two", against=(str(batch.folder / "in"),))
    with pytest.raises(StoreError):
        batch.run(path, out="two", against=(f"lmdb://{batch.folder}/nowhere",))
    with pytest.raises(SettingError, match="a store that outlives its process"):
        batch.run(path, out="two", against=("memory://",))
    with pytest.raises(SettingError, match="another batch than --out"):
        batch.run(path, out="two", against=(str(batch.folder / "two"),))


def test_a_batch_that_has_not_come_to_its_end_is_no_base(batch: Batch) -> None:
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    batch.run(path, out="one")
    (batch.folder / "one" / "summary.json").unlink()
    with pytest.raises(DedupError, match="has not come to its end"):
        batch.run(path, out="two", against=(str(batch.folder / "one"),))


def test_one_of_several_namespaces_has_to_be_named(batch: Batch) -> None:
    url = f"lmdb://{batch.folder}/store"
    for name in ("news", "blogs"):
        with Deduplicator(url, name) as dedup:
            dedup.add(**page(1 if name == "news" else 2, "a"))
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "b"), page(2, "b")])
    with pytest.raises(SettingError, match="'blogs', 'news'"):
        batch.run(path, against=(url,))
    batch.run(path, against=(url,), namespace="blogs")
    assert batch.kept() == ["https://sb.example/1"]


def test_two_namespaces_of_a_store_are_two_sources(batch: Batch) -> None:
    url = f"lmdb://{batch.folder}/store"
    for number, name in enumerate(("news", "blogs")):
        with Deduplicator(url, name) as dedup:
            dedup.add(**page(number, "a"))
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(number, "b") for number in range(3)])
    batch.run(path, out="one", against=(url,), namespace="news")
    assert batch.kept("one") == ["https://sb.example/1", "https://sb.example/2"]
    again = write_lines(batch.folder / "in2" / "a.jsonl", [page(number, "c") for number in range(4)])
    batch.run(again, out="two", against=(str(batch.folder / "one"), url), namespace="blogs")
    assert batch.kept("two") == ["https://sc.example/3"]


def test_a_password_is_kept_nowhere(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password of a store that a batch was compared with must be given again."""
    opened: list[str] = []

    def there(url: str, namespace: str, job: object) -> StoreSource:
        opened.append(url)
        return StoreSource(url, namespace)

    monkeypatch.setattr(StoreSource, "open", there)
    monkeypatch.setattr(StoreSource, "batches", lambda *_: iter(()))
    monkeypatch.setattr(StoreSource, "site_tables", lambda *_: {})
    server = "redis://:secret@127.0.0.1:1/0"
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    batch.run(path, out="one", against=(server,), namespace="news")
    files = [file.read_bytes() for file in (batch.folder / "one").rglob("*") if file.is_file()]
    assert not any(b"secret" in each for each in files)
    one = str(batch.folder / "one")
    with pytest.raises(DedupError, match="whose password is not stored"):
        batch.run(path, out="two", against=(one,))
    batch.run(path, out="two", against=(one, server), namespace="news")
    assert {*opened} == {server}


def test_a_chain_whose_first_folder_is_gone_is_refused(batch: Batch) -> None:
    rows = [page(1, "a"), page(2, "a")]
    chain(batch, rows, stand={"a": [], "b": ["a"]})
    (batch.folder / "a").rename(batch.folder / "moved")
    with pytest.raises(DedupError, match=r"/a: no folder of a batch \(.*/b was compared with it\)"):
        batch.run(batch.folder / "in-a", out="c", against=(str(batch.folder / "b"),))


def test_the_pages_of_a_batch_that_a_store_was_given_are_not_compared_twice(batch: Batch) -> None:
    url = f"lmdb://{batch.folder}/store"
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    batch.run(path, out="one", update=url, namespace="news")
    again = write_lines(batch.folder / "in2" / "a.jsonl", [page(1, "b")])
    summary = batch.run(again, out="two", against=(str(batch.folder / "one"), url))
    assert summary["given"] == 1
    assert summary["kept"] == 0


def test_a_batch_has_the_secret_seed_of_its_store(batch: Batch) -> None:
    url = f"lmdb://{batch.folder}/store"
    config = Config(seed="secret")
    with Deduplicator(url, "news", config=config) as dedup:
        dedup.add(**page(1, "a"))
        assert dedup.store.secret is not None
        secret = int(dedup.store.secret)
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(number, "b") for number in (1, 2)])
    batch.run(path, config=config, against=(url,), namespace="news")
    assert batch.kept() == ["https://sb.example/2"]
    files = [file.read_bytes() for file in (batch.folder / "out").rglob("*") if file.is_file()]
    assert not any(str(secret).encode() in each for each in files)


def test_a_batch_fills_a_new_store_with_a_secret_of_its_own(batch: Batch) -> None:
    url = f"lmdb://{batch.folder}/store"
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    batch.run(path, config=Config(seed="secret"), update=url, namespace="news")
    with Deduplicator(url, "news", config=Config(seed="secret")) as dedup:
        assert dedup.store.secret is not None
        assert not dedup.add(**page(1, "b")).keep


def test_a_secret_seed_without_a_store_is_refused(batch: Batch) -> None:
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    with pytest.raises(SettingError, match="--against or --update with a store that keeps the secret"):
        batch.run(path, config=Config(seed="secret"))
    assert not (batch.folder / "out" / "a.jsonl").exists()
