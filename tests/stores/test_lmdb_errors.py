"""Folders that cannot be used, damaged files, full disks: each gives a one-sentence error."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

from dedupcrawl.errors import StoreError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import raise_damage
from tests.stores.factories import START, Opener, file, lmdb_url, record


def refused(url: str, match: str, namespace: str = "news") -> None:
    """Opening must fail with one sentence that names the store."""
    with pytest.raises(StoreError, match=match) as caught:
        open_store(url, namespace=namespace, scheme={"exact": {"bits": 128}})
    assert "\n" not in str(caught.value)
    assert url.removeprefix("lmdb://") in str(caught.value)


# -- folders that cannot be used ----------------------------------------------------------------


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(lmdb_url(tmp_path / "file"), "cannot be opened: .*(File exists|Not a directory)")
    refused(lmdb_url(tmp_path / "file" / "below"), "cannot be opened: .*Not a directory")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_an_unwritable_folder_is_refused() -> None:
    refused("lmdb:///proc/dedupcrawl", "cannot be opened: ")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        refused(lmdb_url(tmp_path / "store"), "cannot be opened: .*Permission denied")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"not what it seems " * 1000)
    refused(lmdb_url(tmp_path), "cannot be opened: .*(MDB_INVALID|not an LMDB file)")
    assert list((tmp_path / "owners").iterdir()) == []


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), max_dbs=2) as environment:
        table = environment.open_db(b"theirs")
        with environment.begin(write=True) as transaction:
            transaction.put(b"a", b"b", db=table)
    refused(lmdb_url(tmp_path), "another program's LMDB database is there")
    with lmdb.open(str(tmp_path), max_dbs=2) as environment:
        assert environment.dbs() == [b"theirs"]


@pytest.mark.parametrize("version", ["5", "9"])
def test_another_format_is_refused(shared: Opener, tmp_path: Path, version: str) -> None:
    shared().close()
    with lmdb.open(str(tmp_path / "store"), max_dbs=9) as environment:
        about = environment.open_db(b"dedupcrawl")
        with environment.begin(write=True) as transaction:
            transaction.put(b"format", version.encode(), db=about)
    refused(shared.url, f"has format {version}, and this version reads format 6; use another folder and crawl again")


# -- damage -------------------------------------------------------------------------------------


def filled(opener: Opener, pages: int = 300) -> None:
    with opener() as store:
        for n in range(pages):
            file(store, f"http://a/{n}", n)


def test_a_file_cut_short_is_refused(shared: Opener, tmp_path: Path) -> None:
    filled(shared)
    data = tmp_path / "store" / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)
    refused(shared.url, "is shorter than its header says and is damaged .*remove the folder")


def test_a_free_page_missing_at_the_end_is_no_damage(shared: Opener, tmp_path: Path) -> None:
    filled(shared)
    with shared() as store:
        store.prune(START + 1)
        file(store, "http://b", "b")
    data = tmp_path / "store" / "data.mdb"
    os.truncate(data, data.stat().st_size - 4096)
    with shared() as store:
        assert store.lookup("http://b") is not None


def test_after_the_machine_went_down_the_file_is_checked(
    shared: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(shared)
    folder = tmp_path / "store"
    (folder / "running").write_text("another boot")
    with caplog.at_level(logging.WARNING):
        shared().close()
    assert "was open when the machine went down: verifying it" in caplog.text
    caplog.clear()
    shared().close()
    assert caplog.text == ""

    (folder / "running").write_text("another boot")
    pages = bytearray((folder / "data.mdb").read_bytes())
    pages[4096 * 20 : 4096 * 30] = bytes(4096 * 10)  # pages that never reached the disk
    (folder / "data.mdb").write_bytes(pages)
    refused(shared.url, "was open when the machine went down and is damaged .*remove the folder")
    refused(shared.url, "was open when the machine went down and is damaged .*remove the folder")


def test_a_machine_that_went_down_at_the_very_first_moment_did_no_damage(tmp_path: Path) -> None:
    (tmp_path / "running").write_bytes(b"\xff another boot")
    for data in (None, b""):
        if data is not None:
            (tmp_path / "data.mdb").write_bytes(data)
        with open_store(lmdb_url(tmp_path), namespace="news", scheme={}) as store:
            assert store.info().pages == 0
        (tmp_path / "data.mdb").unlink()
        (tmp_path / "lock.mdb").unlink()


def test_a_damaged_record_is_named(shared: Opener, tmp_path: Path) -> None:
    filled(shared, 3)
    with lmdb.open(str(tmp_path / "store"), max_dbs=9) as environment:
        table = environment.open_db(b"news/records")
        with environment.begin(write=True) as transaction:
            transaction.put((2).to_bytes(6, "big"), b"\x01nonsense", db=table)
    store = shared()
    assert store.get(1) is not None
    for look in (
        lambda: store.get(2),
        lambda: store.offer(record("http://b", 1)),
        lambda: store.prune(2e9, raise_damage),
    ):
        with pytest.raises(StoreError, match="record under 2 is damaged"):
            look()


def run(script: str, url: str) -> list[str]:
    """Run a script in another process, with limited resources; return its output."""
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_FULL_DISK = """
import resource, sys
from dedupcrawl.errors import StoreError
from dedupcrawl.stores import open_store
from tests.stores.factories import record
with open_store(sys.argv[1], namespace="news", scheme={}) as store:
    kept = []
    for n in range(50):
        kept.append(store.offer(record(f"http://a/{n}", n)).id)
        store.commit(kept[-1:])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, resource.RLIM_INFINITY))
    try:
        for n in range(50, 5000):
            kept.append(store.offer(record(f"http://a/{n}/" + "x" * 3000, n)).id)
            store.commit(kept[-1:])
    except StoreError as error:
        print(error)
    assert all(store.get(id) for id in kept), "what was filed is there still"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert store.offer(record("http://a/last", "last")).id, "with room again, it goes on"
"""


def test_a_full_disk_is_reported_and_survived(tmp_path: Path) -> None:
    url = lmdb_url(tmp_path / "store")
    (line,) = run(_FULL_DISK, url)
    assert line.startswith(f"The store {url} cannot be written: ")


_NO_MEMORY = """
import resource, sys
from pathlib import Path
from dedupcrawl.errors import StoreError
from dedupcrawl.stores import lmdb_environment, open_store
from tests.stores.factories import record
lmdb_environment.MAP_SIZE = 1 << 16
with open_store(sys.argv[1], namespace="news", scheme={}) as store:
    filed = [store.offer(record("http://a/0", 0)).id]
    store.commit(filed)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), resource.RLIM_INFINITY))
    for _ in range(2):
        try:
            while True:
                filed.append(store.offer(record(f"http://a/{len(filed)}/" + "x" * 3000, len(filed))).id)
                store.commit(filed[-1:])
        except StoreError as error:
            print(error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    other = open_store(sys.argv[1], namespace="news", scheme={})
with other as store:
    assert store.info().pages in (len(filed), len(filed) - 1), "only what was in flight may be gone"
    assert store.offer(record("http://a/last", "last")).id
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_map_that_cannot_grow_is_reported(tmp_path: Path) -> None:
    url = lmdb_url(tmp_path / "store")
    first, second = run(_NO_MEMORY, url)
    assert first.startswith(f"The store {url} cannot be written: ")
    assert second.startswith(f"The store {url} has no memory to map its file: ")
