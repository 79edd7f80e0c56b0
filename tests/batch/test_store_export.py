"""``--update``: a crawl continues from the store that a batch has filled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.batch import output
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError, SettingError, StoreMismatchError
from tests.batch.corpus import Batch, page, reprinted_texts, story, write_lines
from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site, index, plain, text
from tests.stores.servers import Server, started


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def server() -> Iterator[Server]:
    with started() as server:
        yield server


def records(url: str, config: Config | None = None) -> list[dict[str, Any]]:
    with Deduplicator(url, "news", config=config) as dedup:
        found = [each.record for each in dedup.store.records()]
        assert dedup.info().open == 0
    return [{"url": each.url, "sketches": each.sketches, "keys": each.keys, "cluster": each.cluster} for each in found]


@pytest.mark.parametrize("detectors", [("exact", "minhash"), ("simhash",)])
def test_a_store_is_left_as_a_crawl_would_have_left_it(batch: Batch, detectors: tuple[str, ...]) -> None:
    """Clusters included; some pages come back with an addition, in the cluster of their first version."""
    rows = reprinted_texts(100)
    rows += [row | {"text": row["text"] + story(1, words=6)} for row in rows[:10]]
    config = Config(detectors=detectors)
    crawled, given = (f"lmdb://{batch.folder}/{name}" for name in ("crawled", "given"))
    with Deduplicator(crawled, "news", config=config) as dedup:
        for row in rows:
            dedup.add(**row)
    path = write_lines(batch.folder / "in" / "a.jsonl", rows)
    summary = batch.run(path, config=config, update=given, namespace="news")
    assert records(given, config) == records(crawled, config)
    assert any(each["cluster"] for each in records(given, config))
    assert summary["handed"]["new"] == summary["kept"] - sum(summary["unchecked"].values())


def test_a_crawl_drops_what_the_batch_has(batch: Batch, site: Site) -> None:
    urls = [site.put(f"/{n}", plain("News", text(n))) for n in (1, 2)]
    rows = [{"url": "https://elsewhere.example/", "html": plain("Other", text(1))}]
    store = f"lmdb://{batch.folder}/store"
    batch.run(write_lines(batch.folder / "in" / "a.jsonl", rows), update=store, namespace="reader")
    start = site.put("/", index(*urls))
    crawled = crawl(batch.folder, urls=[start], settings={"DEDUP_STORE": store, **IN_TURN})
    assert [item["url"] for item in crawled.items] == [urls[1]]
    assert crawled.dedup["dropped"] == 1


def test_a_crawl_s_pages_are_against_a_batch_and_the_other_way_round_on_a_server(batch: Batch, server: Server) -> None:
    with Deduplicator(server.url, "news") as dedup:
        dedup.add(**page(1, "a"))
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "b"), page(2, "b"), page(3, "b")])
    summary = batch.run(path, against=(server.url,), update=server.url)
    assert batch.kept() == ["https://sb.example/2", "https://sb.example/3"]
    assert (summary["given"], summary["handed"]["new"]) == (1, 2)
    with Deduplicator(server.url, "news") as dedup:
        assert dedup.add(**page(2, "c")).of == "https://sb.example/2"


def test_the_time_of_a_page_is_when_it_was_seen(batch: Batch) -> None:
    store = f"lmdb://{batch.folder}/store"
    rows = [page(1, "a", time=1000), page(2, "a"), page(3, "a", time=9e12)]
    batch.run(write_lines(batch.folder / "in" / "a.jsonl", rows), update=store, namespace="news")
    with Deduplicator(store, "news") as dedup:
        seen = [each.record.seen for each in dedup.store.records()]
    assert seen[0] == 1000
    assert 1.7e9 < seen[1] == seen[2] < 9e12


def test_an_interrupted_export_is_completed(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"lmdb://{batch.folder}/store"
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(n, "a") for n in range(250)])
    how = {"update": store, "namespace": "news"}

    def broken(filings: Any, progress: Any) -> Any:
        for number, filing in enumerate(filings):
            if number == 230:
                raise KeyboardInterrupt
            yield filing

    monkeypatch.setattr(output, "_with_progress", broken)
    with pytest.raises(KeyboardInterrupt):
        batch.run(path, **how)
    monkeypatch.undo()
    assert 0 < len(records(store)) < 250
    filed = len(records(store))
    summary = batch.run(path, **how)
    assert (summary["handed"]["new"], summary["handed"]["known"]) == (250 - filed, filed)
    assert len(records(store)) == 250
    assert batch.run(path, **how)["already"]


def test_pages_that_a_store_has_are_not_judged_anew(batch: Batch) -> None:
    store = f"lmdb://{batch.folder}/store"
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    how: dict[str, Any] = {"update": store, "namespace": "news"}
    batch.run(path, **how)
    write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a"), page(2, "a")])
    with pytest.raises(DedupError, match=r"were added to .*--against"):
        batch.run(path, **how)


def test_what_cannot_be_exported_is_reported_before_the_work(batch: Batch) -> None:
    store = f"lmdb://{batch.folder}/store"
    path = write_lines(batch.folder / "in" / "a.jsonl", [page(1, "a")])
    with pytest.raises(SettingError, match="the crawl's spider"):
        batch.run(path, update=store)
    with Deduplicator(store, "news", detectors=("simhash",)) as dedup:
        dedup.add(**page(2, "a"))
    with pytest.raises(StoreMismatchError, match="simhash"):
        batch.run(path, update=store)
    with pytest.raises(SettingError, match="outlives"):
        batch.run(path, update="memory://")
    assert not (batch.folder / "out" / "a.jsonl").exists()
