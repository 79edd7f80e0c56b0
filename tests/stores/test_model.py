"""All stores behave like a simple model of the contract, for any sequence of calls."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from dedupcrawl.stores.base import Candidate, ClaimState, Record, Store
from dedupcrawl.stores.redis.address import LAYOUTS
from tests.stores.conftest import emptied
from tests.stores.factories import Clock, Opener, key, lmdb_url, record
from tests.stores.servers import Server, binaries

LEASE, TTL = 60.0, 400.0
NAMES = st.sets(st.sampled_from("abcde"), max_size=3).map(sorted)
SINCE = st.just(0) | st.integers(0, 12) | st.just(2**63 - 1)
URLS = st.sampled_from(["http://a/1", "http://a/2", "http://b/1"])


@dataclass
class Filed:
    """A record of the model."""

    record: Record
    state: ClaimState


class Model:
    """The contract as a dict and plain loops, without buckets, bytes or transactions."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.last = 0
        self.pages: dict[int, Filed] = {}

    def live(self, id: int) -> bool:
        """All claims are of the very object that asks, which is alive."""
        return not self.expired(id)

    def expired(self, id: int) -> bool:
        return self.pages[id].record.seen < self.clock.now - TTL

    def under(self, probes: tuple[bytes, ...], since: int) -> list[int]:
        return [id for id, page in self.pages.items() if id > since and {*probes} & {*page.record.keys}]

    def offer(self, page: Record, since: int) -> tuple[int | None, list[int]]:
        met = self.under(page.lookup_keys, since)
        found = [id for id in met if self.live(id)]
        for id in met:
            if not self.live(id):
                del self.pages[id]
        if found:
            return None, found
        for id in list(takewhile(self.expired, list(self.pages)[:2])):
            del self.pages[id]
        self.last += 1
        self.pages[self.last] = Filed(page, ClaimState.OPEN)
        return self.last, []

    def add(self, page: Record, since: int, supersede: list[int]) -> tuple[int | None, list[int]]:
        id, found = self.offer(page, since)
        if id:
            self.commit([id], supersede)
        return id, found

    def claims(self) -> list[int]:
        return [id for id, page in self.pages.items() if page.state is not ClaimState.COMMITTED]

    def commit(self, ids: list[int], supersede: list[int]) -> int:
        mine = {*ids} & {*self.claims()}
        for id in mine:
            self.pages[id].state = ClaimState.COMMITTED
        for id in supersede if mine else ():
            self.pages.pop(id, None)
        return len(mine)

    def release(self, ids: list[int]) -> int:
        mine = {*ids} & {*self.claims()}
        for id in mine:
            del self.pages[id]
        return len(mine)

    def prune(self, older_than: float) -> int:
        old = max(older_than, self.clock.now - TTL)
        doomed = [
            id for id, page in self.pages.items() if page.record.seen < old and page.state is ClaimState.COMMITTED
        ]
        for id in doomed:
            del self.pages[id]
        return len(doomed)


class Stores(RuleBasedStateMachine):
    """Makes the same calls to the model and to all stores, and compares the results."""

    servers: ClassVar[list[Server]] = []
    ids: Bundle[int] = Bundle("ids")

    @initialize()
    def open(self) -> None:
        # In memory where there is such a folder: what is flushed to a disk is not the matter here.
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.clock = Clock()
        self.model = Model(self.clock)
        urls = ["memory://", lmdb_url(Path(self.folder.name, "store"))]
        urls += [emptied(server).laid_out(layout) for server in self.servers for layout in LAYOUTS]
        self.openers = [Opener(url, self.clock) for url in urls]
        self.stores = [opener(lease=LEASE, ttl=TTL) for opener in self.openers]

    def teardown(self) -> None:
        for opener in getattr(self, "openers", []):
            opener.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def expect(self, id: int, candidate: Candidate | None) -> None:
        if id not in self.model.pages or not self.model.live(id):
            assert candidate is None
            return
        page = self.model.pages[id]
        assert candidate == Candidate(id, page.record, page.state, mine=page.state is not ClaimState.COMMITTED)

    @rule(target=ids, url=URLS, names=NAMES, since=SINCE, back=st.integers(0, 500))
    def offer(self, url: str, names: list[str], since: int, back: int) -> int:
        page = record(url, *names, seen=self.clock.now - back)
        id, found = self.model.offer(page, since)
        for store in self.stores:
            offer = store.offer(page, since)
            assert offer.id == id
            assert [candidate.id for candidate in offer.candidates] == found
            for candidate in offer.candidates:
                self.expect(candidate.id, candidate)
        return multiple(*([id] if id else []))  # type: ignore[return-value]  # hypothesis' way to add none

    @rule(target=ids, url=URLS, names=NAMES, since=SINCE, back=st.integers(0, 500), supersede=st.lists(ids, max_size=2))
    def add(self, url: str, names: list[str], since: int, back: int, supersede: list[int]) -> int:
        page = record(url, *names, seen=self.clock.now - back)
        id, found = self.model.add(page, since, supersede)
        for store in self.stores:
            offer = store.add(page, since, supersede)
            assert offer.id == id
            assert [candidate.id for candidate in offer.candidates] == found
        return multiple(*([id] if id else []))  # type: ignore[return-value]  # the same

    @rule(url=URLS, names=st.lists(NAMES, max_size=3), back=st.integers(0, 500))
    def restore(self, url: str, names: list[list[str]], back: int) -> None:
        pages = [record(url, *each, seen=self.clock.now - back) for each in names]
        there = [page.record for id, page in self.model.pages.items() if self.model.live(id)]
        same = [(each.url, each.keys) for each in there]
        fresh = [page for page in pages if (page.url, page.keys) not in same]
        for page in fresh:
            self.model.add(page, 2**63 - 1, [])
        assert [store.restore(pages) for store in self.stores] == [len(fresh)] * len(self.stores)

    @rule(ids=st.lists(ids, max_size=4), supersede=st.lists(ids, max_size=2))
    def commit(self, ids: list[int], supersede: list[int]) -> None:
        # What a commit supersedes is older than it, never among what is being committed.
        supersede = [id for id in supersede if id not in ids]
        committed = self.model.commit(ids, supersede)
        assert [store.commit(ids, supersede) for store in self.stores] == [committed] * len(self.stores)

    @rule(ids=st.lists(ids, max_size=3))
    def release(self, ids: list[int]) -> None:
        released = self.model.release(ids)
        assert [store.release(ids) for store in self.stores] == [released] * len(self.stores)

    @rule(id=ids)
    def scraped(self, id: int) -> None:
        claimed = id in self.model.claims()
        if claimed:
            self.model.pages[id].state = ClaimState.SCRAPED
        assert [store.scraped(id) for store in self.stores] == [claimed] * len(self.stores)

    @rule()
    def renew(self) -> None:
        claims = self.model.claims()
        assert [store.renew() for store in self.stores] == [len(claims)] * len(self.stores)

    @rule(seconds=st.sampled_from([1.0, 30.0, 60.0, 200.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(url=URLS)
    def forget(self, url: str) -> None:
        doomed = [id for id, page in self.model.pages.items() if page.record.url == url]
        for id in doomed:
            del self.model.pages[id]
        assert [store.forget(url) for store in self.stores] == [len(doomed)] * len(self.stores)

    @rule(age=st.sampled_from([0.0, 50.0, 300.0, 10_000.0]))
    def prune(self, age: float) -> None:
        older_than = self.clock.now - age
        pruned = self.model.prune(older_than)
        assert [store.prune(older_than) for store in self.stores] == [pruned] * len(self.stores)

    @rule(names=NAMES)
    def find(self, names: list[str]) -> None:
        probes = tuple(map(key, names))
        found = [id for id in self.model.under(probes, 0) if self.model.live(id)]
        for store in self.stores:
            assert [candidate.id for candidate in store.find(probes)] == found

    @rule(url=URLS)
    def lookup(self, url: str) -> None:
        pages = self.model.pages.items()
        ids = [id for id, page in pages if page.record.url == url and self.model.live(id)]
        for store in self.stores:
            found = store.lookup(url)
            assert (found and found.id) == (ids[-1] if ids else None)

    @rule(id=ids)
    def get(self, id: int) -> None:
        for store in self.stores:
            self.expect(id, store.get(id))

    @rule()
    def reopen(self) -> None:
        """Close the stores that outlive it, which withdraws their claims, and open them again."""
        for store in self.stores:
            store.release(self.model.claims())
        self.model.release(self.model.claims())
        for n, opener in enumerate(self.openers[1:], 1):
            self.stores[n].close()
            self.stores[n] = opener(lease=LEASE, ttl=TTL)

    @invariant()
    def counts(self) -> None:
        for store in getattr(self, "stores", []):
            self.compare_counts(store)

    def compare_counts(self, store: Store) -> None:
        info = store.info()
        pages = list(self.model.pages.values())
        states = [page.state for page in pages]
        assert info.pages == len(pages)
        assert info.keys == sum(len(page.record.keys) for page in pages)
        assert info.open == states.count(ClaimState.OPEN)
        assert info.scraped == states.count(ClaimState.SCRAPED)
        assert info.oldest == (pages[0].record.seen if pages else None)
        assert info.newest == (pages[-1].record.seen if pages else None)


@pytest.fixture(scope="module", autouse=True)
def _servers(servers: dict[str, Server]) -> None:
    Stores.servers = [servers[make] for make in binaries()]


Stores.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
test_stores = Stores.TestCase
