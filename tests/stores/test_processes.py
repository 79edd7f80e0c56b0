"""Several real processes on one folder: races, kills, forks, growth."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import lmdb
import lmdb.verify
import pytest

from dedupcrawl.stores.base import ClaimState
from tests.stores import subprocesses
from tests.stores.factories import Opener, key, lmdb_url, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def fresh() -> multiprocessing.context.ForkServerContext:
    """A context for processes that have opened nothing, without starting Python for each."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.stores.subprocesses"])
    return context


@pytest.fixture
def url(tmp_path: Path) -> str:
    return lmdb_url(tmp_path / "store")


class Victim:
    """A process that is going to be killed."""

    def __init__(self, context: Any, work: Callable[..., None], *args: object) -> None:
        self.ready, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(*args, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def test_eight_processes_keep_each_page_once(fresh: multiprocessing.context.ForkServerContext, url: str) -> None:
    pages = 200
    with ProcessPoolExecutor(8, mp_context=fresh) as pool:
        kept = list(pool.map(subprocesses.offer_all, [url] * 8, range(8), [pages] * 8))
    assert sorted(n for each in kept for n in each) == list(range(pages))
    with subprocesses.open_here(url) as store:
        info = store.info()
    assert (info.pages, info.open, info.scraped) == (pages, 0, 0)


def test_a_killed_process_loses_its_claims_at_once_and_nothing_else(
    fresh: multiprocessing.context.ForkServerContext, url: str
) -> None:
    victim = Victim(fresh, subprocesses.claim_and_hang, url, 700)
    ids = victim.ready.recv()
    with subprocesses.open_here(url) as living:
        assert living.offer(record("http://b", "story 5")).id is None
        held = living.get(ids[5])
        assert held is not None
        assert (held.state, held.mine) == (ClaimState.OPEN, False)
        victim.kill()
        assert living.get(ids[5]) is None
        taken = living.offer(record("http://b", "story 5")).id
        assert taken is not None
        living.commit([taken])
    with subprocesses.open_here(url) as reopened:
        info = reopened.info()
        assert (info.pages, info.open, info.scraped) == (2, 0, 0)
        assert [hit.id for hit in reopened.find([key(f"story {n}") for n in range(700)])] == [ids[0], taken]


def test_prune_removes_what_a_killed_process_left_and_no_other(
    fresh: multiprocessing.context.ForkServerContext, url: str, tmp_path: Path
) -> None:
    with subprocesses.open_here(url) as living:
        before = living.offer(record("http://living/before", "before")).id
        victim = Victim(fresh, subprocesses.claim_and_hang, url, 300)
        victim.ready.recv()
        after = living.offer(record("http://living/after", "after")).id
        assert before is not None
        assert after is not None
        assert living.prune(0.0) == 0
        victim.kill()
        assert living.info().pages == 302
        assert living.prune(0.0) == 299
        assert living.info().pages == 3
        assert living.renew() == 2
        assert living.commit([before, after]) == 2
    with lmdb.open(str(tmp_path / "store"), max_dbs=9) as environment:
        owners = environment.open_db(b"news/owners")
        with environment.begin(owners) as transaction:
            assert transaction.stat(owners)["entries"] == 0


def test_a_killed_reader_does_not_keep_freed_pages(
    fresh: multiprocessing.context.ForkServerContext, url: str, tmp_path: Path
) -> None:
    with subprocesses.open_here(url) as living:
        folder = str(tmp_path / "store")
        victim = Victim(fresh, subprocesses.read_and_hang, folder)
        victim.ready.recv()
        victim.kill()
        with ProcessPoolExecutor(1, mp_context=fresh) as elsewhere:  # a process opens a folder once
            assert str(victim.process.pid) in elsewhere.submit(subprocesses.readers, folder).result()
            living.renew()
            assert str(victim.process.pid) not in elsewhere.submit(subprocesses.readers, folder).result()


def test_lock_files_of_the_dead_are_cleared_away(
    fresh: multiprocessing.context.ForkServerContext, url: str, tmp_path: Path
) -> None:
    victim = Victim(fresh, subprocesses.claim_and_hang, url, 1)
    victim.ready.recv()
    victim.kill()
    owners = tmp_path / "store" / "owners"
    assert len(list(owners.iterdir())) == 1
    with subprocesses.open_here(url, namespace="another"):
        assert len(list(owners.iterdir())) == 1
    assert list(owners.iterdir()) == []
    with subprocesses.open_here(url) as store:
        assert store.info().open == 0


def test_processes_killed_while_they_write_leave_a_sound_file(
    fresh: multiprocessing.context.ForkServerContext, url: str, tmp_path: Path
) -> None:
    committed: dict[int, set[int]] = {}
    with subprocesses.open_here(url) as living:
        for worker in range(6):
            victim = Victim(fresh, subprocesses.write_until_killed, url, worker)
            victim.ready.recv()
            time.sleep(0.03 + 0.01 * worker)
            victim.kill()
            committed[worker] = _told(victim)
        assert living.prune(0.0) <= 6
        for worker, pages in committed.items():
            assert pages
            for n in pages:
                assert living.lookup(f"http://site-{worker}/{n}") is not None
        assert living.info().open == 0
    assert lmdb.verify.verify(str(tmp_path / "store")) == []  # type: ignore[no-untyped-call]


def _told(victim: Victim) -> set[int]:
    """What a killed process reported before its end."""
    pages = {1}
    try:
        while victim.ready.poll(0):
            pages.add(victim.ready.recv()[0])
    except EOFError:
        pass
    return pages


def test_the_map_grows_under_all_processes(
    fresh: multiprocessing.context.ForkServerContext, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupcrawl.stores.lmdb_environment.MAP_SIZE", 1 << 20)
    with subprocesses.open_here(url) as store:
        with ProcessPoolExecutor(3, mp_context=fresh) as pool:
            filled = list(pool.map(subprocesses.fill, [url] * 3, range(3), [300] * 3))
        # 3.6 MB were written by others; this process has mapped one.
        assert store.info().pages == sum(filled)
        assert store.lookup("http://site-2/299/" + "x" * 4000) is not None
        id = store.offer(record("http://own", "own")).id
        assert id is not None
        assert store.commit([id]) == 1


# -- forks --------------------------------------------------------------------------------------


@pytest.fixture
def forked() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        yield pool


_PARENTS: dict[str, Any] = {}  # what a forked child finds of its parent


def _child_uses_parents() -> str:
    return subprocesses.use_parents(_PARENTS["store"])


def _child_closes_parents_and_opens_own(url: str) -> int:
    _PARENTS["store"].close()
    return subprocesses.open_own(url)


def test_a_forked_child_must_open_its_own_store(shared: Opener, forked: ProcessPoolExecutor) -> None:
    store = _PARENTS["store"] = shared()
    id = store.offer(record("http://a", "story")).id
    assert id is not None
    said = forked.submit(_child_uses_parents).result(timeout=600)
    assert said.startswith("StoreError: The store lmdb://")
    assert said.endswith("was opened before this process forked: open it anew in the child.")
    child = forked.submit(_child_closes_parents_and_opens_own, shared.url).result(timeout=600)
    assert store.get(child) is not None
    assert store.commit([id]) == 1


def test_a_fork_waits_for_the_transactions_of_other_threads(shared: Opener) -> None:
    store = shared()
    stop = Event()

    def write() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            store.release([store.offer(record(f"http://a/{n}", n)).id or 0])

    thread = Thread(target=write)
    thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(20):
            child = context.Process(target=partial(subprocesses.open_own, shared.url))
            child.start()
            child.join(timeout=600)
            assert child.exitcode == 0
    finally:
        stop.set()
        thread.join()
