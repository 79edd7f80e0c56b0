"""The spool: its records, and files that are truncated, damaged, foreign or another process's."""

from __future__ import annotations

import asyncio
import multiprocessing
import secrets
import sqlite3
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Spider
from scrapy.utils.test import get_crawler

from dedupcrawl import Deduplicator, Page
from dedupcrawl.config import Config
from dedupcrawl.crawl.backlog import Backlog, SpoolFile, SpoolFolder, spool_name
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.stores.base import KEY_BYTES, Record
from tests.databases import noted_connections
from tests.forking import processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

KEYS = st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), unique=True, max_size=4).map(tuple)
RECORDS = st.builds(
    Record,
    url=st.text(max_size=20),
    keys=KEYS,
    sketches=st.lists(st.binary(max_size=30), max_size=3).map(tuple),
    seen=st.floats(0, 2e9),
    cluster=st.text(max_size=5),
    probes=st.none() | KEYS,
)


def record(number: int) -> Record:
    return Record(f"https://a.example/{number}", (number.to_bytes(KEY_BYTES, "big"),), (b"sketch",), 1.0)


def entries(file: SpoolFile) -> Iterator[Record]:
    """One by one."""
    return (page.record for page in chain.from_iterable(file.batches(1)))


def replay(file: SpoolFile, *refused: int) -> list[Record]:
    """File all pages of a file, except the refused ones."""
    found = []
    for batch in file.batches(16):
        found += [page.record for page in batch]
        file.remove(page.id for page in batch if page.record not in map(record, refused))
    return found


def read(spool: SpoolFolder) -> list[Record]:
    return [each for file in spool.files() for each in replay(file)]


@given(st.lists(RECORDS, max_size=5))
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = SpoolFolder(folder)
    assert spool.append(records) == len(records)
    spool.close()
    found = read(SpoolFolder(folder))
    assert [(each.url, each.keys, each.lookup_keys, each.sketches, each.seen) for each in found] == [
        (each.url, each.keys, each.lookup_keys, each.sketches, each.seen) for each in records
    ]


def test_nothing_is_written_before_there_is_something(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path / "spool")
    assert read(spool) == []
    assert not spool.has_files
    spool.close()
    assert not (tmp_path / "spool").exists()


def test_a_file_is_its_owners_while_the_owner_runs(tmp_path: Path) -> None:
    first, second = SpoolFolder(tmp_path), SpoolFolder(tmp_path)
    first.append([record(1)])
    second.append([record(2)])
    assert read(second) == [record(2)]
    first.close()
    assert read(second) == [record(1)]
    second.close()
    assert list(tmp_path.iterdir()) == []


def named(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the next new files have these names."""
    given = iter(names)
    draw = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: next(given, None) or draw(size))


def test_a_new_file_that_another_process_has_locked_first_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch, "taken")
    other = SpoolFile(tmp_path / "taken.sqlite")
    assert other.acquire(new=True)
    spool = SpoolFolder(tmp_path)
    assert spool.append([record(1)]) == 1
    assert not other.release()
    assert spool.append([record(2)]) == 1
    assert read(spool) == [record(1), record(2)]
    assert spool.close() is None
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_that_another_process_has_removed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch, "removed")
    connect, opened = sqlite3.connect, list[str]()

    def connect_late(where: str, **how: Any) -> sqlite3.Connection:
        """Let another process lock, find empty and remove the file that was opened."""
        database: sqlite3.Connection = connect(where, **how)
        opened.append(where)
        if len(opened) == 1:
            other = SpoolFile(tmp_path / "removed.sqlite")
            assert other.acquire()
            assert not other.release()
        return database

    monkeypatch.setattr(sqlite3, "connect", connect_late)
    spool = SpoolFolder(tmp_path)
    assert spool.append([record(1)]) == 1
    left = spool.close()
    assert left is not None
    assert (list(tmp_path.glob("*")), left[1]) == ([left[0]], 1)
    assert read(SpoolFolder(tmp_path)) == [record(1)]


def test_an_empty_file_is_removed_before_it_is_unlocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, there = SpoolFile(tmp_path / "a.sqlite"), list[bool]()

    class Watched(sqlite3.Connection):
        def close(self) -> None:
            there.append(file.path.exists())
            super().close()

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    assert file.acquire(new=True)
    assert not file.release()
    assert there == [False]
    assert list(tmp_path.iterdir()) == []


def test_a_spool_without_a_file_fails_as_a_full_disk_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawler = get_crawler(Spider)
    backlog = Backlog(Options("memory://", "news", Config(), spool=tmp_path), "scheme", CrawlStats(crawler))
    with monkeypatch.context() as patched:
        patched.setattr(SpoolFile, "acquire", lambda *_, **__: False)
        backlog.add_records([record(1)])
    assert crawler.stats is not None
    assert crawler.stats.get_value("dedup/spool/full") == 1
    assert not backlog.is_pending
    backlog.add_records([record(2)])
    assert [page.record for file in backlog.spool_files() for page in chain.from_iterable(file.batches(9))] == [
        record(2)
    ]
    backlog.close()
    assert len(list(tmp_path.glob("*/*"))) == 1


def test_a_replay_that_is_interrupted_is_begun_anew_by_others(tmp_path: Path) -> None:
    first = SpoolFolder(tmp_path)
    first.append(map(record, range(3)))
    first.close()
    for file in SpoolFolder(tmp_path).files():
        assert next(entries(file)) == record(0)
        file.release()
    assert read(SpoolFolder(tmp_path)) == [record(0), record(1), record(2)]


def test_an_own_file_continues_where_it_stopped(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    spool.append(map(record, range(3)))
    for file in spool.files():
        found = entries(file)
        assert [next(found), next(found)] == [record(0), record(1)]
    spool.append([record(3)])
    assert spool.has_pending
    assert read(spool) == [record(1), record(2), record(3)]
    assert not spool.has_pending


def test_records_that_come_while_the_last_batch_is_filed_are_replayed_too(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    spool.append(map(record, range(3)))
    (file,) = spool.files()
    found: list[Record] = []
    for batch in file.batches(16):
        if not found:
            spool.append([record(3)])
        found += [page.record for page in batch]
        file.remove(page.id for page in batch)
    assert found == [record(n) for n in range(4)]
    assert spool.close() is None


def test_what_the_store_refuses_stays_for_another_process(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    spool.append(map(record, range(3)))
    for refused in (1, 4):  # more is refused later on
        for file in spool.files():
            assert len(replay(file, refused)) == 3
        assert not spool.has_pending
        spool.append(map(record, range(3, 6)))
    for file in spool.files():
        assert len(replay(file)) == 3
    for file in spool.files():  # nothing has come since
        assert replay(file) == []
    assert spool.close() is not None
    assert read(SpoolFolder(tmp_path)) == [record(1), record(4)]


def test_what_was_filed_before_a_kill_is_not_replayed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = noted_connections(monkeypatch)
    first = SpoolFolder(tmp_path)
    first.append(map(record, range(5)))
    (file,) = first.files()
    batches = file.batches(2)
    file.remove(page.id for page in next(batches))
    next(batches)
    for database in opened:
        database.close()  # as the end of the process does
    assert read(SpoolFolder(tmp_path)) == [record(2), record(3), record(4)]


def test_records_that_share_a_key_are_replayed_one_after_the_other(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    numbers = [0, 1, 2, 1, 3, 4, 5, 5]
    spool.append(map(record, numbers))
    (file,) = spool.files()
    batches = [[page.record for page in batch] for batch in file.batches(3)]
    assert batches == [[record(n) for n in batch] for batch in ([0, 1, 2], [1, 3, 4], [5], [5])]


def test_a_batch_that_was_not_replayed_comes_again(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    spool.append(map(record, range(5)))
    (file,) = spool.files()
    batches = file.batches(2)
    assert [page.record for page in (*next(batches), *next(batches))] == [record(n) for n in range(4)]
    assert spool.has_pending
    assert [page.record for page in next(file.batches(9))] == [record(2), record(3), record(4)]


def test_what_cannot_be_taken_up_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.sqlite").mkdir()  # as what another user owns
    spool = SpoolFolder(tmp_path)
    spool.append([record(1)])
    assert read(spool) == [record(1)]
    spool.append([record(2)])
    assert read(spool) == [record(2)]
    assert spool.close() is None
    assert caplog.text.count("a.sqlite cannot be filed: ") == 1


def left_behind(folder: Path, *numbers: int) -> Path:
    """Return the file of a process that has ended."""
    spool = SpoolFolder(folder)
    spool.append(map(record, numbers))
    spool.close()
    (path,) = folder.glob("*.sqlite")
    return path


@pytest.mark.parametrize("cut", [1, 60, 4096, 5000])
def test_a_file_that_is_cut_off_costs_no_page_of_others(tmp_path: Path, cut: int) -> None:
    path = left_behind(tmp_path, 0, 1, 2)
    path.write_bytes(path.read_bytes()[:-cut])
    spool = SpoolFolder(tmp_path)
    spool.append([record(9)])
    found: list[Record] = []
    for file in spool.files():
        try:
            found += replay(file)
        except OSError as error:
            assert str(path) in str(error)  # noqa: PT017  # not every cut is found
    assert found[-1] == record(9)
    assert path.exists() or found == [*map(record, range(3)), record(9)]
    assert spool.close() is None


def test_a_damaged_page_costs_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = left_behind(tmp_path, 0, 1, 2)
    with sqlite3.connect(path) as database:
        (value,) = database.execute("SELECT record FROM pages WHERE id = 2").fetchone()
        damaged = bytes([*value[:-1], value[-1] ^ 1])
        database.execute("UPDATE pages SET record = ? WHERE id = 2", (damaged,))
    database.close()
    assert read(SpoolFolder(tmp_path)) == [record(0), record(2)]
    assert f"A page in {path} is damaged, it is removed: " in caplog.text
    assert not path.exists()


def test_foreign_bytes_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"this is no spool" * 900)
    assert read(SpoolFolder(tmp_path)) == []
    assert f"The pages in {path} cannot be filed: {path}: file is not a database" in caplog.text
    assert path.stat().st_size == 16 * 900


def test_a_spool_is_bounded(tmp_path: Path) -> None:
    most = 60_000
    spool = SpoolFolder(tmp_path, most=most)
    room = spool.append(map(record, range(2000)))
    assert 100 <= room < 2000
    assert spool.append([record(room)]) == 0
    found = read(spool)
    assert found == [record(n) for n in range(room)]
    assert spool.append([record(11)]) == 1  # removed pages make room
    assert spool.close() is not None
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= most + 4096


@contextmanager
def full_disk() -> Iterator[None]:
    """Limit the size of files: this process can write no more, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_whole_pages(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    spool.append([record(0)])
    with full_disk(), pytest.raises(OSError, match=str(tmp_path)):
        spool.append([record(1)])
    spool.append([record(2)])
    assert read(spool) == [record(0), record(2)]


def test_every_page_of_a_killed_process_is_there(tmp_path: Path) -> None:
    """The process is killed at a random moment while it adds pages and reports each."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = processes().Process(target=add_pages, args=(tmp_path, writer))
    process.start()
    for _ in range(40):
        last = reader.recv()
    assert read(SpoolFolder(tmp_path)) == []  # a living process has it
    process.kill()
    process.join()
    writer.close()
    with suppress(EOFError):
        while True:
            last = reader.recv()
    found = read(SpoolFolder(tmp_path))
    assert found[: last + 1] == [record(n) for n in range(last + 1)]
    assert len(found) <= last + 2
    assert not list(tmp_path.iterdir())


def add_pages(folder: Path, reports: Connection) -> None:
    spool = SpoolFolder(folder)
    for number in range(100_000):
        spool.append([record(number)])
        reports.send(number)


def test_a_file_that_cannot_be_written_ends_the_replay(tmp_path: Path) -> None:
    """Else the crawl would file its pages again and again. The next crawl finds that they are filed."""
    crawler = get_crawler(Spider)
    options = Options("memory://", "news", Config(), spool=tmp_path)
    client = StoreClient(crawler, options, CrawlStats(crawler))
    dedup = Deduplicator()
    client.connect(dedup)
    page = dedup.fingerprint(Page.from_text("The ferries stayed at their piers. " * 9, "https://a.example/1"))
    assert isinstance(page, Record)
    client.backlog.add_records([page])
    with full_disk():
        asyncio.run(asyncio.wait_for(client.deliver_backlog(), 20))
    assert dedup.lookup("https://a.example/1") is not None
    assert not client.backlog.is_pending
    client.backlog.close()
    (folder,) = tmp_path.iterdir()
    assert [each.url for each in read(SpoolFolder(folder))] == ["https://a.example/1"]


def test_a_spool_is_for_one_store_for_any_user() -> None:
    named = spool_name("redis://h:1/0", "n", "{}")
    for store in ("redis://user:secret@h:1/0", "redis://h:1/0?password=secret&timeout=3"):
        assert named == spool_name(store, "n", "{}")
    others = [
        ("redis://h:1/1", "n", "{}"),
        ("redis://h:1/0?db=3", "n", "{}"),
        ("redis://h:1/0", "m", "{}"),
        ("redis://h:1/0", "n", "{1}"),
    ]
    assert len({named, *(spool_name(*other) for other in others)}) == 5
