"""Claims that are sharded over a cluster, while nodes fail, slots move, replies are lost, and leases end."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from redis.crc import key_slot
from redis.exceptions import ResponseError

from dedupcrawl import Deduplicator, Status
from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores.base import ClaimState, JudgedOffer, Record
from dedupcrawl.stores.redis.sharded import wire
from dedupcrawl.stores.redis.sharded.layout import TAGS, Command, ShardLayout
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from tests.stores.factories import Clock, ShardedOpener
from tests.stores.sharding import (
    SameSketch,
    claim_of,
    finished,
    is_waiting,
    keep,
    keep_ids,
    leftovers,
    run_together,
    sharded,
    story,
    unreachable,
)

if TYPE_CHECKING:
    from dedupcrawl.stores.base import Offer
    from tests.stores.servers import Cluster


# -- nodes that fail, slots that move --------------------------------------------------------------


def test_a_failover_and_new_scripts_lose_nothing(nodes: Cluster) -> None:
    """A promoted replica does not know the scripts."""
    stop = threading.Event()
    kept: list[Record] = []

    def work(worker: int) -> None:
        with sharded(nodes.url) as store:
            n = 0
            while not stop.is_set() or n < 200:
                pages = [story(each, f"http://{worker}/{each}") for each in range(n, n + 10)]
                kept.extend(keep(store, pages, 10))
                n += 10
            reached.append(n)

    reached: list[int] = []

    def fail_over(_: int) -> None:
        try:
            for replica in [node for node in nodes.nodes if nodes.role(node) == "slave"]:
                nodes.fail_over(replica)
                nodes.wait(nodes.is_whole)
        finally:
            stop.set()

    run_together(lambda n: work(n) if n < 2 else fail_over(n), 3)
    count = Counter(page.sketches[0] for page in kept)
    assert {*count} == {n.to_bytes(16, "big") for n in range(max(reached))}
    assert {*count.values()} == {1}


def test_slots_move_while_pages_are_claimed(nodes: Cluster) -> None:
    kept: list[Record] = []
    stop = threading.Event()

    def work(worker: int) -> None:
        with sharded(nodes.url, "moving") as store:
            for n in range(0, 400, 10):
                kept.extend(keep(store, [story(each, f"http://{worker}/{each}") for each in range(n, n + 10)], 10))
        stop.set()

    def move(_: int) -> None:
        tags = [key_slot(f"{{moving:{n:x}}}".encode()) for n in range(0, TAGS, 40)]
        for n, slot in enumerate(tags):
            if not stop.is_set():
                nodes.move_slot(slot, n)

    run_together(lambda n: work(n) if n < 2 else move(n), 3)
    assert sorted(page.sketches[0] for page in kept) == [n.to_bytes(16, "big") for n in range(400)]


def test_a_worker_that_is_killed_as_it_commits_while_a_slot_moves_leaves_its_claim(
    clocked: ShardedOpener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch, nodes: Cluster
) -> None:
    """The record has moved, its stage has not: the commit is redirected, and not sent again."""
    killed, other = clocked(), clocked()
    id = claim_of(killed, story(1, "http://a"))
    slot, records, *_ = killed._layout.record_place(killed._layout.short_id(id))
    send = wire.ShardTransport._round

    def once(self: Any, commands: Any, replies: Any, todo: Any) -> Any:
        if todo is not None:
            raise KeyboardInterrupt
        return send(self, commands, replies, todo)

    with nodes.moving_slot(slot, 0, records), monkeypatch.context() as patched:
        patched.setattr(wire.ShardTransport, "_round", once)
        with pytest.raises(KeyboardInterrupt):
            killed.commit([id])
    assert [each.state for each in other.records()] == [ClaimState.OPEN]
    clock_of.now += 1000
    other.renew()
    assert list(other.records()) == []
    copy = story(1, "http://b")
    assert other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0].id is not None


def test_what_is_committed_while_it_is_pruned_stays(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim without owner is what a failover has left of a commit, if the stage has ended."""
    with sharded(nodes.url) as one, sharded(nodes.url) as other:
        id = claim_of(one, story(1, "http://a"))
        short = one._layout.short_id(id)
        seal, end = one._layout.seal(short)
        one._wire.flush()
        assert one._wire.ask([end]) == [1]
        only_live: Any = other._protocol.only_live
        sealed: list[Any] = []

        def beaten(found: Any) -> Any:
            live = yield from only_live(found)
            if short in found and not sealed:
                sealed.extend(one._wire.ask([seal]))
            return live

        monkeypatch.setattr(other._protocol, "only_live", beaten)
        assert other.prune(0.0) == 0
        assert sealed == [1]
        assert [each.id for each in other.records()] == [id]


def test_a_claim_without_owner_blocks_for_a_lease(clocked: ShardedOpener, clock_of: Clock) -> None:
    """A failover has lost the commit, and then the end of its stage arrives."""
    one, other = clocked(), clocked()
    id = claim_of(one, story(1, "http://a"))
    one._wire.ask(one._layout.seal(one._layout.short_id(id))[1:])
    one._own.clear()
    copy = story(1, "http://b")
    assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    clock_of.now += 1000
    other.renew()
    (end,) = other.offer_judged([JudgedOffer(copy, SameSketch(copy))])
    assert end.id is not None
    assert [each.id for each in other.records()] == [end.id]


@pytest.mark.parametrize("how", ["offer", "renew", "close", "prune"])
def test_the_stage_of_a_committed_page_ends_with_the_next_call(nodes: Cluster, how: str) -> None:
    plan = "" if how == "offer" else "?pages=0"  # then the record is in pieces
    with sharded(f"{nodes.url}{plan}") as store, sharded(nodes.url) as other:
        id = claim_of(store, story(1, "http://a"))
        trips = store._wire.trips
        assert store.commit([id]) == 1
        assert store._wire.trips == trips + 1
        assert (other.info().pages, other.info().open) == (1, 0)
        if how == "offer":
            assert keep(store, [story(2, "http://b")], 1) != []
            store._wire.flush()
        else:
            getattr(store, how)(*[0.0] * (how == "prune"))
        stages = [Command(slot, (b"HLEN", name)) for slot, name in map(other._layout.stages, range(TAGS))]
        assert {*other._wire.ask(stages)} == {0}


def test_what_a_replica_lacks_is_stored_twice_and_nothing_else(nodes: Cluster) -> None:
    """A failover with the replication cut; no page is lost."""
    pages, copies = ([story(n, f"http://{site}/{n}") for n in range(90)] for site in "ab")
    with sharded(nodes.url) as one, sharded(nodes.url) as other:
        assert len(keep(one, pages[:30], 10)) == 30
        with nodes.cut_off(nodes.primaries()[0]) as replica:
            assert len(keep(one, pages[30:], 10)) == 60
            nodes.take_over(replica)
        nodes.wait(nodes.is_whole)
        twice = {page.sketches[0] for page in keep(other, copies, 10)}
        assert 0 < len(twice) <= 60
        assert twice <= {page.sketches[0] for page in pages[30:]}
        assert keep(one, [story(n, f"http://c/{n}") for n in range(90)], 10) == []


def test_strict_claims_are_stored_once_though_a_replica_lacks_what_was_tried(nodes: Cluster) -> None:
    pages, copies = ([story(n, f"http://{site}/{n}") for n in range(60)] for site in "ab")
    with sharded(f"{nodes.url}?wait_replicas=1&socket_timeout=120") as one, sharded(nodes.url) as other:
        nodes.wait(lambda: names_replicas(one))
        assert len(keep(one, pages[:30], 10)) == 30
        with nodes.cut_off(nodes.primaries()[0]) as replica:
            patience, one._wire._wait_ms = one._wire._wait_ms, 100
            for n in range(30, 60, 10):
                with pytest.raises(StoreUnreachableError, match="0 replicas have acknowledged"):
                    keep(one, pages[n : n + 10], 10)
            nodes.take_over(replica)
        nodes.wait(nodes.is_whole)
        one._wire._wait_ms = patience
        assert {page.url for page in keep(one, pages, 10)} == {page.url for page in pages[30:]}
        assert keep(other, copies, 10) == []
        assert leftovers(one) == []


@pytest.mark.parametrize("written", ["home", "bucket"])
@pytest.mark.parametrize("knows_map", [True, False])
def test_strict_claims_need_a_replica_of_each_node(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch, written: str, knows_map: bool
) -> None:
    with sharded(f"{nodes.url}?wait_replicas=1&socket_timeout=120") as store:
        keep(store, [story(n, f"http://warm/{n}") for n in range(20)], 20)
        nodes.wait(lambda: names_replicas(store))
        page, place = next(places for n in range(99) if (places := apart(store, story(100 + n, "http://a"), written)))
        replica = nodes.replica_of(next(node for node in nodes.nodes if node.port == place[1]))
        assert replica.process is not None
        monkeypatch.setattr(store._wire, "_wait_ms", 100)
        replica.process.send_signal(signal.SIGSTOP)
        if not knows_map:  # as after a slot has moved to a node that is new
            replicas, known = store._wire.map.replicas, dict(store._wire.map.replicas)
            replicas.clear()
            monkeypatch.setattr(store._wire, "_look_up_map", lambda: replicas.update(known))
        try:
            with pytest.raises(StoreUnreachableError, match="0 replicas have acknowledged a claim"):
                store.offer_judged([JudgedOffer(page, SameSketch(page))])
        finally:
            replica.process.send_signal(signal.SIGCONT)
        monkeypatch.setattr(store._wire, "_wait_ms", 60_000)
        nodes.wait(nodes.is_whole)
        # What it left is withdrawn: the page is no copy of itself.
        assert len(keep(store, [page], 1)) == 1
        assert leftovers(store) == []


def test_a_strict_worker_begins_when_a_replica_knows_its_lease(nodes: Cluster) -> None:
    """A failover could forget it otherwise, and others would remove its claims."""
    url = f"{nodes.url}?wait_replicas=1&socket_timeout=120"
    with sharded(url) as store:
        nodes.wait(lambda: names_replicas(store))
        owner = store._wire.map.owners[store._layout.keep_lease(b"").slot]
        replica = nodes.replica_of(next(node for node in nodes.nodes if node.port == owner[1]))  # type: ignore[index]
        assert replica.process is not None
        replica.process.send_signal(signal.SIGSTOP)
        store._wire._wait_ms = 100
        try:
            with pytest.raises(StoreUnreachableError, match="0 replicas have acknowledged"):
                store.renew()
            with pytest.raises(StoreUnreachableError, match="0 replicas have acknowledged"):
                sharded(f"{nodes.url}?wait_replicas=1&socket_timeout=1")
        finally:
            replica.process.send_signal(signal.SIGCONT)
        store._wire._wait_ms = 60_000
        nodes.wait(nodes.is_whole)
        assert store.renew() == 0


def test_a_lease_that_a_failover_has_lost_makes_claims_unsure(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with sharded(f"{nodes.url}?wait_replicas=1&socket_timeout=120") as store:
        id = store.offer(story(1, "http://a")).id
        monkeypatch.setattr(store._layout, "keep_lease", lost_once(store))
        assert store.renew() == 1
        assert store.lost_leases == 1
        assert store.commit([id or 0]) == 1


def lost_once(store: ShardedStore) -> Any:
    """Let the lease be lost between its renewal and the write that replicas acknowledge."""
    lost: list[bytes] = []
    keep_lease = store._layout.keep_lease

    def losing(token: bytes) -> Command:
        command = keep_lease(token)
        if not lost:
            lost.append(token)
            store._wire.ask([Command(command.slot, (b"HDEL", command.words[3], token))])
        return command

    return losing


def names_replicas(store: ShardedStore) -> bool:
    """Whether the cluster names a replica of each node; it does not until the nodes have told each other."""
    store._wire._look_up_map()
    return {*store._wire.map.replicas.values()} == {1}


def apart(store: ShardedStore, page: Record, written: str) -> tuple[Record, Any] | None:
    """The page, and the node of its home or of one of its buckets, if these are on different nodes."""
    owners = store._wire.map.owners
    home = owners[store._layout._home(store._layout.new_id(page.own_keys[0], 100)).slot]
    others = [place for each in page.keys if (place := owners[store._layout._shelf(each)[0]]) != home]
    return (page, home if written == "home" else others[0]) if others else None


def test_a_node_that_leaves_its_role_while_it_waits_is_asked_again(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer to WAIT is an error then, and the promoted replica may lack what it has written."""
    read, failures = wire._NodeConnection.read, [ResponseError("UNBLOCKED force unblock from blocking operation")]

    def failing(link: Any, count: int) -> list[Any]:
        replies = read(link, count)
        return [*replies[:-1], failures.pop()] if count > 1 and failures else replies

    with sharded(f"{nodes.url}?wait_replicas=1&socket_timeout=120") as store:
        monkeypatch.setattr(wire._NodeConnection, "read", failing)
        assert len(keep(store, [story(n, f"http://a/{n}") for n in range(9)], 9)) == 9
        assert failures == []
        assert len(list(store.records())) == 9


# -- leases ---------------------------------------------------------------------------------------


def test_the_claims_of_a_dead_worker_are_buried(clocked: ShardedOpener, clock_of: Clock) -> None:
    dead, living = clocked(), clocked()
    page = story(1, "http://a")
    assert dead.offer(page).id is not None
    clock_of.now += 61
    other = story(1, "http://b")
    assert len(keep(living, [other], 1)) == 1
    assert [each.record.url for each in living.records()] == ["http://b"]
    # The worker was only slow: it learns that its claim is gone, and has another token now.
    assert dead.renew() == 0


def test_a_pending_page_of_a_dead_worker_does_not_block(clocked: ShardedOpener, clock_of: Clock) -> None:
    dead, living = clocked(), clocked()
    page = story(1, "http://a")
    rounds = dead._protocol.claim(JudgedOffer(page, SameSketch(page)), [])
    dead._wire.ask(next(rounds))  # the worker dies in between
    waiting = living.offer_judged([JudgedOffer(story(1, "http://b"), SameSketch(story(1, "http://b")))])
    assert waiting[0].id is None
    clock_of.now += 61
    assert len(keep(living, [story(1, "http://b")], 1)) == 1
    assert [each.record.url for each in living.records()] == ["http://b"]


def claimed_and_lost(store: ShardedStore, page: Record, stage: bytes) -> int:
    """Claim a page, and let it be pending again, as after a failover to a replica that lacks the claim."""
    id = store.offer_judged([JudgedOffer(page, SameSketch(page))])[0].id
    assert id is not None
    short = store._layout.short_id(id)
    slot, _, stages, field = store._layout.record_place(short)
    store._wire.flush()
    store._wire.ask([Command(slot, (b"HSET", stages, stage + field, b"" if stage == b"p" else short))])
    return id


@pytest.mark.parametrize("stage", [b"p", b"w"])
def test_a_page_of_a_living_worker_is_not_pending_for_ever(
    clocked: ShardedOpener, clock_of: Clock, stage: bytes
) -> None:
    living, other = clocked(), clocked()
    lost = claimed_and_lost(living, story(1, "http://a"), stage)
    clock_of.now += 40
    living.renew()
    copy = story(1, "http://b")
    assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    assert other.get(lost) is not None
    clock_of.now += 40
    assert living.get(lost) is not None  # it can still commit its own claim
    assert other.get(lost) is None  # who waits for it offers again
    assert keep(other, [copy], 1) == [copy]
    assert living.commit([lost]) == 0
    assert [each.record.url for each in living.records()] == ["http://b"]


def test_what_a_failover_made_pending_can_be_committed(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        ids = [claimed_and_lost(store, story(n, f"http://a/{n}"), stage) for n, stage in enumerate((b"p", b"w"))]
        assert store.commit(ids) == 2
        assert {each.state for each in store.records()} == {ClaimState.COMMITTED}
        home = [store._layout._home(store._layout.short_id(id)) for id in ids]
        assert [store._wire.ask([Command(each.slot, (b"HLEN", each.stages))]) for each in home] == [[0], [0]]
        copies = [story(n, f"http://b/{n}") for n in range(2)]
        assert keep(store, copies, 2) == []


def test_a_page_that_is_being_committed_cannot_be_wounded(nodes: Cluster) -> None:
    """Its stage is removed by a second command."""
    with sharded(nodes.url) as store:
        id = claimed_and_lost(store, story(1, "http://a"), b"p")
        short, other = store._layout.short_id(id), store._layout.new_id(b"", 100)
        assert store._wire.ask(store._layout.seal(short)[:1]) == [1]
        assert store._wire.ask([store._layout.wound(short, other, 1)]) == [b"c"]
        assert keep(store, [story(1, "http://b")], 1) == []
        assert store.commit([id]) == 1
        assert [each.state for each in store.records()] == [ClaimState.COMMITTED]


@pytest.mark.parametrize("how", ["offer", "prune"])
def test_a_late_page_that_is_claimed_meanwhile_is_not_buried(
    clocked: ShardedOpener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    late, other = clocked(), clocked()
    page, copy = story(1, "http://a"), story(1, "http://b")
    late._protocol._leave(page)  # so it is filed as pending
    rounds = late._protocol.claim(JudgedOffer(page, SameSketch(page)), [])
    replies = late._wire.ask(next(rounds))
    clock_of.now += 40
    late.renew()
    clock_of.now += 40
    ends: list[Offer] = []
    bury = ShardLayout.bury

    def beaten(layout: ShardLayout, id: bytes, token: bytes, now: int, *, pending: bool = False) -> Command:
        ends.extend([finished(late, rounds, replies)] if not ends else [])
        return bury(layout, id, token, now, pending=pending)

    monkeypatch.setattr(ShardLayout, "bury", beaten)
    if how == "prune":
        assert other.prune(0.0) == 0
    else:
        assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    assert [end.id is None for end in ends] == [False]
    assert [each.record.url for each in other.records()] == ["http://a"]


def test_a_page_whose_id_was_condemned_is_filed_under_another(nodes: Cluster) -> None:
    with sharded(nodes.url) as one, sharded(nodes.url) as other:
        page, copy = story(1, "http://a"), story(1, "http://b")
        rounds = one._protocol.claim(JudgedOffer(page, SameSketch(page)), [])
        filing, *placing = next(rounds)
        placed = one._wire.ask(placing)  # its record is still on the way
        assert len(keep(other, [copy], 1)) == 1  # meets an id without a record
        late = one._wire.ask([filing])
        assert late == [None]
        replies: list[Any] = [*late, *placed]
        assert finished(one, rounds, replies).id is None
        assert [each.record.url for each in one.records()] == ["http://b"]


# -- replies that are lost --------------------------------------------------------------------------


def test_a_commit_whose_reply_was_lost_removes_the_replaced_page(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wire sends the commit again, and finds that it was executed."""
    with sharded(nodes.url) as store:
        old = keep_ids(store, [story(1, "http://a")])
        new = store.offer(story(2, "http://b")).id
        assert new is not None
        lost = lose_reply(monkeypatch, b"HDEL")
        assert store.commit([new], old) == 1
        assert lost
        assert [each.record.url for each in store.records()] == ["http://b"]


def test_a_replaced_page_is_removed_later_if_a_node_fails_after_the_commit(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sharded(nodes.url) as store:
        old = keep_ids(store, [story(1, "http://a")])
        new = store.offer(story(2, "http://b")).id
        assert new is not None
        with monkeypatch.context() as patched:
            patched.setattr(store._protocol, "states", unreachable)
            with pytest.raises(StoreUnreachableError):
                store.commit([new], old)
        assert len(list(store.records())) == 2
        assert store.offer(story(3, "http://c")).id is not None
        assert {each.record.url for each in store.records()} == {"http://b", "http://c"}


def test_an_added_page_that_cannot_be_committed_is_withdrawn(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The council met in the old hall, and voted on the new road, the bridge and the tram. " * 3
    with sharded(nodes.url) as store:
        dedup = Deduplicator(store, keep="latest", wait=0.01)
        with monkeypatch.context() as patched:
            patched.setattr(store._layout, "seal", unreachable)
            with pytest.raises(StoreUnreachableError):
                dedup.add(text=text, url="http://a/")
        assert list(store.records()) == []
        assert dedup.add(text=text, url="http://a/").status is Status.UNIQUE


def lose_reply(monkeypatch: pytest.MonkeyPatch, name: bytes) -> list[Any]:
    """Let the connection break after the first of these commands has been executed; return the replies then."""
    receive = wire.ShardTransport._receive
    lost: list[Any] = []

    def losing(self: Any, sending: Any) -> Any:
        replies = receive(self, sending)
        if not lost and any(name in part for part in sending.parts):
            lost.append(replies)
            raise ConnectionResetError("reset by the test")
        return replies

    monkeypatch.setattr(wire.ShardTransport, "_receive", losing)
    return lost
