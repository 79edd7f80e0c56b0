"""Leases are renewed while the reactor is blocked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.crawl import lease_renewer
from dedupcrawl.crawl.lease_renewer import LeaseRenewer, RenewalResult
from dedupcrawl.errors import StoreError
from tests.crawl.running import REACTORS, finish, start
from tests.crawl.site import fancy, plain, text
from tests.stores.servers import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crawl.site import Site

LEASE = 8.0  #: seconds; a busy machine must not stop a worker for as long


@pytest.fixture(params=["lmdb", "valkey"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "lmdb":
        yield f"lmdb://{tmp_path}/shared"
        return
    with started() as server:
        yield server.url


class Pair:
    """Two workers of a namespace: the reactor of one is blocked with a page, and the other has a copy of it."""

    def __init__(self, site: Site, folder: Path, store: str, reactor: str) -> None:
        self.urls = [site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))]
        self.beside = Deduplicator(store, reactor, lease=LEASE)
        block = {"ITEM_PIPELINES": {"tests.crawl.components.Block": 300}, "BLOCK": 1.5 * LEASE}
        shared = {"DEDUP_STORE": store, "DEDUP_NAMESPACE": reactor, "DEDUP_LEASE": LEASE, "DEDUP_WAIT": 600}
        begin = partial(start, folder, reactor=reactor)
        self.blocked = begin(("Reader", {"urls": self.urls[:1]}), settings=shared | block)
        while self.beside.info().pages == 0:
            assert self.blocked.process.is_alive()
            time.sleep(0.01)
        self.other = begin(("Reader", {"urls": self.urls[1:]}), settings=shared)


def test_a_blocked_worker_keeps_its_claims(site: Site, tmp_path: Path, store: str) -> None:
    pairs = [Pair(site, tmp_path, store, reactor) for reactor in REACTORS]
    ended = 0
    while any(pair.blocked.process.is_alive() for pair in pairs):
        ended += sum(pair.beside.info().ended for pair in pairs)
        time.sleep(0.02)
    for pair in pairs:
        pair.beside.close()
        first, second = finish(pair.blocked)[0], finish(pair.other)[0]
        assert [item["url"] for item in first.items + second.items] == pair.urls[:1]
        assert (first.dedup["kept"], second.dedup["dropped"]) == (1, 1)
    assert ended == 0


@dataclass
class Owner:
    """Records the calls, and in which thread they were made."""

    error: Exception | None = None
    log: list[str] = field(default_factory=list)
    renewals: list[RenewalResult] = field(default_factory=list)

    def publish(self) -> None:
        asyncio.get_running_loop()
        self.log.append("publish")

    def renew(self) -> None:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        self.log.append("renew")
        if self.error is not None:
            raise self.error

    def renewed(self, renewal: RenewalResult) -> None:
        asyncio.get_running_loop()
        self.log.append("renewed")
        self.renewals.append(renewal)


def test_a_renewal_sends_fresh_figures_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_renewer, "PUBLISH_PATIENCE", 600.0)  # for figures that come late on a busy machine

    async def work() -> Owner:
        owner = Owner()
        renewer = LeaseRenewer(owner, 0.02)
        renewer.start()
        while len(owner.renewals) < 2:
            await asyncio.sleep(0.001)
        renewer.stop()
        return owner

    owner = asyncio.run(work())
    assert owner.log[:6] == ["publish", "renew", "renewed"] * 2
    assert {renewal.error for renewal in owner.renewals} == {None}


@pytest.mark.parametrize("error", [None, StoreError("away"), ValueError("ours")])
def test_a_blocked_reactor_hears_of_the_latest_renewal_only(error: Exception | None) -> None:
    async def work() -> Owner:
        owner = Owner(error)
        renewer = LeaseRenewer(owner, 0.02)
        renewer.start()
        while owner.log.count("renew") < 3:  # blocks the loop
            time.sleep(0.01)
        assert set(owner.log) == {"renew"}
        owner.log.clear()
        while not owner.renewals:
            await asyncio.sleep(0.001)
        renewer.stop()
        return owner

    owner = asyncio.run(work())
    assert owner.log.count("renewed") <= 1 + owner.log.count("renew")
    assert owner.renewals[0].error is error


def test_a_result_that_is_handled_during_the_next_renewal_does_not_end_the_reports() -> None:
    under_way, handled = Event(), Event()

    class Waiting(Owner):
        def renew(self) -> None:
            super().renew()
            if self.log.count("renew") == 2:
                under_way.set()
                assert handled.wait(600)

    async def work() -> Owner:
        owner = Waiting()
        renewer = LeaseRenewer(owner, 0.02)
        renewer.start()
        assert under_way.wait(600)  # blocks the loop
        while not owner.renewals:
            await asyncio.sleep(0.001)
        handled.set()
        while len(owner.renewals) < 4:
            await asyncio.sleep(0.001)
        renewer.stop()
        return owner

    assert len(asyncio.run(asyncio.wait_for(work(), 600)).renewals) >= 4


def test_a_stopped_renewer_renews_no_more() -> None:
    async def work() -> Owner:
        owner = Owner()
        idle, running = LeaseRenewer(owner, 0.01), LeaseRenewer(owner, 0.01)
        idle.stop()
        running.start()
        running.stop()
        owner.log.clear()
        await asyncio.sleep(0.1)
        return owner

    assert asyncio.run(work()).log == []
