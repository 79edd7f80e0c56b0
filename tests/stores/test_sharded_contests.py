"""Pages that compete for a claim on a cluster: who has claimed, who contends, and what others do then."""

from __future__ import annotations

from dataclasses import replace

from dedupcrawl.stores.base import JudgedOffer, Record
from dedupcrawl.stores.redis.sharded.layout import Found
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from tests.stores.factories import Clock, ShardedOpener
from tests.stores.sharding import SameSketch, claim_of, finished, is_waiting, keep, story


def test_the_first_page_has_claimed_before_its_home_knows(clocked: ShardedOpener, clock_of: Clock) -> None:
    one, other = clocked(), clocked()
    page, copy = story(1, "http://a"), story(1, "http://b")
    id = claim_of(one, page)
    short = one._layout.short_id(id)
    assert state_of(other, short) == b"n"
    assert other._wire.ask([other._layout.wound(short, other._layout.new_id(b"", 100))]) == [b"n"]
    clock_of.now += 1
    trips = other._wire.trips
    assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    assert other._wire.trips - trips < 16  # it does not wait for the page to contend
    clock_of.now += 20
    one.renew()
    assert state_of(other, short) == b"o"
    for _ in range(5):
        clock_of.now += 20
        one.renew()
        other.renew()
    assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    assert one.commit([id]) == 1
    assert keep(other, [copy], 1) == []


def test_a_page_that_meets_others_contends(clocked: ShardedOpener, clock_of: Clock) -> None:
    """It can be wounded by the next one, whose ticket is lower, and gives way."""
    one, two, three = clocked(), clocked(), clocked()
    other = replace(story(1, "http://c"), sketches=(b"another text of 1", b""))
    assert keep(one, [other], 1) == [other]
    page, copy = story(1, "http://a"), story(1, "http://b")
    clock_of.now += 1
    rounds = two._protocol.claim(JudgedOffer(page, SameSketch(page)), [])
    replies = two._wire.ask(next(rounds))  # filed
    replies = two._wire.ask(rounds.send(replies))  # has read the buckets
    replies = two._wire.ask(rounds.send(replies))  # contends
    [short] = [id for id, found in found_by(three, page) if found.value and found.state == b"p"]
    clock_of.now -= 0.5
    [end] = three.offer_judged([JudgedOffer(copy, SameSketch(copy))])
    assert end.id is not None
    assert three._wire.ask([three._layout.wound(short, short)]) == [b"p"]
    assert is_waiting(finished(two, rounds, replies), page)
    assert three.commit([end.id]) == 1
    assert keep(two, [page], 1) == []


def state_of(store: ShardedStore, short: bytes) -> bytes:
    return store._run(store._protocol.states([short]))[short].state


def found_by(store: ShardedStore, page: Record) -> list[tuple[bytes, Found]]:
    buckets = store._wire.ask(store._layout.read_buckets(page.keys))
    ids = {id for packed in buckets for id in store._layout.ids_in(packed or b"")}
    return list(store._run(store._protocol.states(sorted(ids))).items())
