"""The spool: its records, and truncated, damaged and foreign files."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.crawl.backlog import Spool, SpoolFile, spool_name
from dedupcrawl.stores.base import KEY_BYTES, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    return chain.from_iterable(file.batches(1))


def read(spool: Spool) -> list[Record]:
    found = []
    for file in spool.files():
        found += list(entries(file))
        file.compact()
    return found


@given(st.lists(RECORDS, max_size=5))
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    assert spool.append(records) == len(records)
    spool.close()
    found = read(Spool(folder))
    assert [(each.url, each.keys, each.lookup_keys, each.sketches, each.seen) for each in found] == [
        (each.url, each.keys, each.lookup_keys, each.sketches, each.seen) for each in records
    ]


def test_nothing_is_written_before_there_is_something(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    assert read(spool) == []
    assert not spool.has_files
    spool.close()
    assert not (tmp_path / "spool").exists()


def test_a_file_is_its_owners_while_the_owner_runs(tmp_path: Path) -> None:
    first, second = Spool(tmp_path), Spool(tmp_path)
    first.append([record(1)])
    second.append([record(2)])
    assert read(second) == [record(2)]
    first.close()
    assert read(second) == [record(1)]
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_a_replay_that_is_interrupted_is_begun_anew_by_others(tmp_path: Path) -> None:
    first = Spool(tmp_path)
    first.append(map(record, range(3)))
    first.close()
    for file in Spool(tmp_path).files():
        assert next(entries(file)) == record(0)
        file.release()
    assert read(Spool(tmp_path)) == [record(0), record(1), record(2)]


def test_an_own_file_continues_where_it_stopped(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(map(record, range(3)))
    for file in spool.files():
        found = entries(file)
        assert [next(found), next(found)] == [record(0), record(1)]
    spool.append([record(3)])
    assert spool.has_pending
    assert read(spool) == [record(1), record(2), record(3)]
    assert not spool.has_pending


def test_records_that_come_while_the_last_batch_is_filed_are_replayed_too(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(map(record, range(3)))
    (file,) = spool.files()
    found: list[Record] = []
    for batch in file.batches(16):
        if not found:
            spool.append([record(3)])
        found += batch
    file.compact()
    assert found == [record(n) for n in range(4)]


def test_what_the_store_refuses_stays_for_another_process(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(map(record, range(3)))
    for refused in (1, 4):  # more is refused later on
        for file in spool.files():
            assert len(list(entries(file))) == 3
            file.retain(record(refused))
            file.compact()
        assert not spool.has_pending
        spool.append(map(record, range(3, 6)))
    for file in spool.files():
        assert len(list(entries(file))) == 3
        file.compact()
    for file in spool.files():  # nothing has come since
        file.compact()
    assert spool.close() is not None
    assert read(Spool(tmp_path)) == [record(1), record(4)]


def test_records_that_share_a_key_are_replayed_one_after_the_other(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    numbers = [0, 1, 2, 1, 3, 4, 5, 5]
    spool.append(map(record, numbers))
    (file,) = spool.files()
    batches = list(file.batches(3))
    assert batches == [[record(n) for n in batch] for batch in ([0, 1, 2], [1, 3, 4], [5], [5])]


def test_a_batch_that_was_not_replayed_comes_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(map(record, range(5)))
    (file,) = spool.files()
    batches = file.batches(2)
    assert (next(batches), next(batches)) == ([record(0), record(1)], [record(2), record(3)])
    assert spool.has_pending
    assert next(file.batches(9)) == [record(2), record(3), record(4)]


def test_what_cannot_be_taken_up_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.records").mkdir()  # as what another user owns
    spool = Spool(tmp_path)
    spool.append([record(1)])
    assert read(spool) == [record(1)]
    spool.append([record(2)])
    assert read(spool) == [record(2)]
    assert spool.close() is None
    assert caplog.text.count("a.records cannot be filed: ") == 1


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_end_costs_one_entry(tmp_path: Path, cut: int) -> None:
    spool = Spool(tmp_path)
    spool.append(map(record, range(3)))
    spool.close()
    (path,) = tmp_path.glob("*.records")
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(Spool(tmp_path)) == [record(0), record(1)]


def test_a_damaged_entry_costs_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(tmp_path)
    spool.append(map(record, range(3)))
    spool.close()
    (path,) = tmp_path.glob("*.records")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert read(Spool(tmp_path)) == [record(0), record(2)]
    assert f"{path} is damaged from byte {len(data) // 3} on" in caplog.text


def test_foreign_bytes_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x.records").write_bytes(b"this is no spool" * 9)
    assert read(Spool(tmp_path)) == []


def test_a_spool_is_bounded(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most=250)
    room = spool.append(map(record, range(10)))
    assert 1 <= room < 10
    assert sum(path.stat().st_size for path in tmp_path.glob("*.records")) <= 250
    assert read(spool) == [record(n) for n in range(room)]
    assert spool.append([record(11)]) == 1


def test_a_full_disk_leaves_whole_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path)
    spool.append([record(0)])
    (file,) = spool.files()
    assert isinstance(file, SpoolFile)

    class Full:
        def __init__(self, inner: object) -> None:
            self.inner = inner

        def write(self, data: bytes) -> int:
            return int(self.inner.write(data[:10]))  # type: ignore[attr-defined]

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    inner = file._file
    monkeypatch.setattr(file, "_file", Full(inner))
    with pytest.raises(OSError, match="there is no room for"):
        spool.append([record(1)])
    monkeypatch.setattr(file, "_file", inner)
    spool.append([record(2)])
    assert read(spool) == [record(0), record(2)]


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
