"""A scraped claim of another worker drops copies, if that worker was seen alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator, Page, Pending, Status
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.stores.redis.seen_workers import MAX_WORKERS, SeenWorkerTable
from tests.stores.conftest import KINDS
from tests.stores.factories import file, key
from tests.texts import ENGLISH

if TYPE_CHECKING:
    from dedupcrawl.stores.base import Candidate, Store
    from tests.stores.factories import Opener
    from tests.stores.servers import Server

SERVERS = [kind for kind in KINDS if kind not in {"memory", "lmdb"}]
ONE_SERVER = [kind for kind in SERVERS if kind != "cluster"]


def scrape(store: Store, url: str = "http://a") -> int:
    id = file(store, url, "story", commit=False)
    assert store.scraped(id)
    return id


def found(store: Store) -> Candidate:
    (hit,) = store.find([key("story")])
    assert hit.state is ClaimState.SCRAPED
    assert store.get(hit.id) == hit
    assert hit in store.records()
    return hit


@pytest.mark.parametrize("opener", KINDS, indirect=True)
def test_an_own_scraped_claim_is_settled(opener: Opener) -> None:
    one = opener()
    scrape(one)
    assert (found(one).mine, found(one).witnessed, found(one).is_settled) == (True, False, True)


@pytest.mark.parametrize("opener", ["lmdb", *SERVERS], indirect=True)
def test_an_open_claim_of_another_worker_is_not_settled(opener: Opener) -> None:
    one, other = opener(), opener()
    file(one, "http://a", "story", commit=False)
    opener.clock.now += 1
    one.renew()
    (hit,) = other.find([key("story")])
    assert (hit.state, hit.is_settled) == (ClaimState.OPEN, False)


@pytest.mark.parametrize("opener", ["lmdb"], indirect=True)
def test_on_one_machine_every_claim_is_that_of_a_living_process(opener: Opener) -> None:
    one = opener()
    scrape(one)
    assert found(opener()).is_settled


@pytest.mark.parametrize("opener", SERVERS, indirect=True)
def test_a_worker_that_renews_its_claims_is_alive(opener: Opener) -> None:
    one = opener()
    scrape(one)
    other = opener()
    assert not found(other).is_settled
    opener.clock.now += 20
    assert not found(other).is_settled
    one.renew()
    assert found(other).is_settled
    opener.clock.now += 59
    assert found(other).is_settled
    opener.clock.now += 1  # killed meanwhile
    assert other.find([key("story")]) == ()


@pytest.mark.parametrize("opener", SERVERS, indirect=True)
def test_the_next_crawl_does_not_trust_the_claims_of_a_killed_one(opener: Opener) -> None:
    killed = opener()
    scrape(killed)
    opener.clock.now += 1
    killed.renew()
    following = opener()
    for _ in range(59):
        opener.clock.now += 1
        following.renew()
        assert not found(following).is_settled
    opener.clock.now += 1
    assert following.find([key("story")]) == ()


@pytest.mark.parametrize("opener", ONE_SERVER, indirect=True)
def test_a_worker_that_has_filed_a_claim_meanwhile_is_alive(opener: Opener) -> None:
    one = opener()
    file(one, "http://earlier")
    other = opener()
    scrape(one)
    assert found(other).is_settled


def test_scraped_claim_of_a_worker_that_was_not_seen_alive_is_waited_for(server: Server) -> None:
    with Deduplicator(server.url, wait=0.05) as mine:
        mine.claim(text=ENGLISH, url="https://a.example/1").scraped()
        with Deduplicator(server.url, wait=0.05) as theirs:
            assert isinstance(theirs.try_claim(Page.from_text(ENGLISH, "https://b.example/2")), Pending)
            kept = theirs.claim(text=ENGLISH, url="https://b.example/2")
            assert (kept.verdict.status, kept.verdict.reason) == (Status.UNCHECKED, "claimed")
            assert kept.verdict.of == "https://a.example/1"
            kept.release()
            mine.renew()
            assert theirs.claim(text=ENGLISH, url="https://b.example/2").verdict.is_duplicate


def test_workers_that_are_remembered_are_bounded() -> None:
    seen = SeenWorkerTable()
    for n in range(3 * MAX_WORKERS):
        assert not seen.sees(b"%d" % n, 1)
    assert seen.sees(b"%d" % n, 2)
    assert not seen.sees(b"0", 2)  # forgotten, and noted again
    assert seen.sees(b"0", 3)
