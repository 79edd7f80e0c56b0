"""Clocks that are set forward or back by a day, with claims open: no page is lost, and none counts twice for long.

With a server its clock counts, and that of a worker only for the age of a page. Stores on one machine use the clock of
the machine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.stores.base import scheme_json
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.namespace import OpenOptions
from dedupcrawl.stores.redis.store import RedisStore
from tests.stores.factories import Clock, Opener, file, record

if TYPE_CHECKING:
    from tests.stores.servers import Server

DAY = 86_400.0
TTL = 3600.0


def worker(server: Server, clock: Clock) -> RedisStore:
    return RedisStore(read_address(server.url), "news", scheme_json({}), OpenOptions(lease=60.0, ttl=TTL, clock=clock))


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_the_clock_of_a_worker_does_not_count(server: Server, jump: float) -> None:
    clock = Clock(time.time())
    with worker(server, clock) as jumping, worker(server, Clock(time.time())) as other:
        file(jumping, "http://before", "before", seen=clock.now)
        held = jumping.offer(record("http://a", "story", seen=clock.now)).id
        assert held is not None
        clock.now += jump
        assert jumping.renew() == 1
        assert [hit.id for hit in other.offer(record("http://b", "story", seen=time.time())).candidates] == [held]
        assert [hit.id for hit in jumping.offer(record("http://b", "story", seen=clock.now)).candidates] == [held]
        assert jumping.commit([held]) == 1
        file(jumping, "http://after", "after", seen=clock.now)
        for store in (jumping, other):
            assert [hit.record.url for hit in store.records()] == ["http://before", "http://a", "http://after"]
        assert all(abs(hit.record.seen - time.time()) < 60 for hit in other.records())
        assert jumping.prune(clock.now - 600) == 0
        assert other.prune(time.time() - 600) == 0


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_between_reading_and_filing_costs_at_most_a_copy(server: Server, jump: float) -> None:
    clock = Clock(time.time())
    with worker(server, clock) as jumping, worker(server, Clock(time.time())) as other:
        seen = clock.now
        clock.now += jump
        held = jumping.offer(record("http://a", "story", seen=seen)).id
        assert held is not None
        assert jumping.commit([held]) == 1
        offer = other.offer(record("http://b", "story", seen=time.time()))
        if jump > 0:  # it seems a day old, past the time to live
            assert offer.id is not None
        else:  # it seems to be from tomorrow, and lives a day longer
            assert [hit.id for hit in offer.candidates] == [held]


def test_the_clock_that_counts_is_set_forward(opener: Opener) -> None:
    """All leases seem to have ended. What was renewed since is held; the others cost a copy too many, and no page."""
    if opener.url == "memory://":
        pytest.skip("only its own object uses a store in memory")
    renewing, late, other = opener(), opener(), opener()
    held = renewing.offer(record("http://a", "story", seen=opener.clock.now)).id
    lapsed = late.offer(record("http://late", "late", seen=opener.clock.now)).id
    assert held is not None
    assert lapsed is not None
    opener.clock.now += DAY
    assert renewing.renew() == 1
    assert [hit.id for hit in other.offer(record("http://b", "story")).candidates] == [held]
    copy = other.offer(record("http://copy", "late", seen=opener.clock.now)).id
    assert copy is not None
    assert other.commit([copy]) == 1
    assert late.commit([lapsed]) == 0  # it knows that another has taken the claim
    assert renewing.commit([held]) == 1
    assert [hit.id for hit in other.find(record("http://c", "story").keys)] == [held]


def test_the_clock_that_counts_is_set_back(opener: Opener) -> None:
    """Leases last longer, until their owners close the store; records live longer."""
    store = opener(ttl=TTL)
    other = store if opener.url == "memory://" else opener(ttl=TTL)
    old = file(store, "http://old", "old", seen=opener.clock.now)
    held = store.offer(record("http://a", "story", seen=opener.clock.now)).id
    assert held is not None
    opener.clock.now -= DAY
    assert store.renew() == 1
    for probe, id in (("story", held), ("old", old)):
        assert [hit.id for hit in other.offer(record("http://b", probe, seen=opener.clock.now)).candidates] == [id]
    assert store.commit([held]) == 1
    file(store, "http://new", "new", seen=opener.clock.now)
    opener.clock.now += DAY + TTL / 2
    assert [hit.id for hit in other.find(record("http://b", "story").keys)] == [held]
    assert [hit.id for hit in other.find(record("http://b", "new").keys)] == []
