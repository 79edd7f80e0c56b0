"""Claims that are sharded over a cluster: interleavings, races, failovers, moving slots, and what differs."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from redis.crc import key_slot
from redis.exceptions import ResponseError

from dedupcrawl import Deduplicator, Page
from dedupcrawl.decision import Matcher, PageJudge, Policy
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import DamageError, SettingError, StoreError, StoreUnreachableError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import FILE_ANYWAY, ClaimState, JudgedOffer, Judgement, Record, scheme_json
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.sharded import wire
from dedupcrawl.stores.redis.sharded.layout import TAGS, Command, ShardLayout, short_id
from dedupcrawl.stores.redis.sharded.scan import TAGS_AT_ONCE
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.verdict import Pending
from tests.stores.factories import Clock, Opener, file, key, record

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.stores.base import Candidate, Offer
    from tests.stores.servers import Cluster, Server


def sharded(url: str, namespace: str = "news", **options: Any) -> ShardedStore:
    store = open_store(url, namespace=namespace, scheme={}, **options)
    assert isinstance(store, ShardedStore)
    return store


@pytest.fixture
def clocked(nodes: Cluster) -> Iterator[Opener]:
    opener = Opener(nodes.url)
    yield opener
    opener.close()


class SameSketch:
    """A judge for whom pages with the same first sketch are copies."""

    def __init__(self, page: Record) -> None:
        self.page = page

    def __call__(self, candidates: Sequence[Candidate]) -> Judgement:
        same = [each for each in candidates if each.record.sketches[0] == self.page.sketches[0]]
        if any(each.state is ClaimState.COMMITTED for each in same):
            return Judgement(None)
        return Judgement(self.page, tuple(each.id for each in same))


def story(number: int, url: str) -> Record:
    """A page whose copies share half of its keys."""
    page = record(url, f"{number} a", f"{number} b", f"{number} {url}")
    return replace(page, sketches=(number.to_bytes(16, "big"), b""))


def keep(store: ShardedStore, pages: Sequence[Record], at_once: int) -> list[Record]:
    """Offer pages, commit those that are kept, and offer again those that wait; return the kept ones."""
    kept: list[Record] = []
    waiting = list(pages)
    while waiting:
        some, waiting = waiting[:at_once], waiting[at_once:]
        ends = store.offer_judged([JudgedOffer(page, SameSketch(page)) for page in some])
        claims = {end.id: page for end, page in zip(ends, some, strict=True) if end.id is not None}
        assert store.commit(claims) == len(claims)
        kept += claims.values()
        waiting += [page for end, page in zip(ends, some, strict=True) if is_waiting(end, page)]
    return kept


def is_waiting(end: Offer, page: Record) -> bool:
    judgement = SameSketch(page)(end.candidates)
    return end.id is None and bool(judgement.blockers)


# -- interleavings of the real scripts -----------------------------------------------------------


@dataclass
class Walker:
    """A page that goes its way one command at a time, in an order that messages to several nodes may arrive in."""

    store: ShardedStore
    judge: PageJudge | SameSketch
    page: Record
    random: Random
    todo: list[tuple[int, Command]] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)
    state: str = "going"  # kept, dropped
    claimed: int | None = None
    rounds: Generator[Sequence[Command], list[Any], Offer] | None = None

    def step(self) -> None:
        """Execute one command, or go on to the next round; or commit what was claimed."""
        if self.claimed is not None:
            assert self.store.commit([self.claimed]) == 1
            self.state = "kept"
        elif self.todo:
            n, command = self.todo.pop(self.random.randrange(len(self.todo)))
            self.replies[n] = self.store._wire.ask([command])[0]
        else:
            self._next_round()

    def _next_round(self) -> None:
        protocol = self.store._protocol
        fresh = self.rounds is None
        if self.rounds is None:
            self.rounds = protocol.claim(JudgedOffer(self.page, self.judge), [], looks=self.random.random() < 0.3)
        try:
            wants = next(self.rounds) if fresh else self.rounds.send(self.replies)
        except StopIteration as stop:
            self._end(stop.value)
            return
        self.todo = list(enumerate(wants))
        self.replies = [None] * len(wants)

    def _end(self, end: Offer) -> None:
        self.rounds = None
        if end.id is not None:
            self.claimed = end.id
            filings = self.store._own
            filings[end.id] = _filing(self.store, end.id, self.page)
        elif not self.judge(end.candidates).blockers:
            self.state = "dropped"


def _filing(store: ShardedStore, id: int, page: Record) -> Any:
    from dedupcrawl.stores.redis.sharded.protocol import Filing

    return Filing(short_id(id), id >> 48, page, store._protocol.token, set(page.keys))


def walk(walkers: list[Walker], random: Random) -> None:
    steps = 0
    while going := [each for each in walkers if each.state == "going"]:
        random.choice(going).step()
        steps += 1
        assert steps < 20_000, "nobody comes to an end"


def leftovers(store: ShardedStore) -> list[Candidate]:
    """What is filed beside committed pages."""
    return [each for each in store.records() if each.state is not ClaimState.COMMITTED]


@pytest.mark.parametrize("seed", range(20))
def test_in_any_interleaving_one_copy_is_kept(nodes: Cluster, seed: int) -> None:
    random = Random(seed)
    with sharded(nodes.url) as one, sharded(nodes.url) as other:
        for n in range(4):
            pages = [story(n, f"http://{each}/{random.randrange(2)}") for each in range(random.randint(2, 4))]
            walkers = [Walker(random.choice([one, other]), SameSketch(page), page, random) for page in pages]
            walk(walkers, random)
            assert Counter(each.state for each in walkers)["kept"] == 1
        assert (leftovers(one), one.info().open) == ([], 0)
        assert len(list(one.records())) == 4


#: Sentences of which texts are made, so that some are excerpts of others.
SENTENCES = [
    f"On day {n} the council of the town met in hall {n * 7} and voted on proposal {n * 13} about road {n * 31}."
    for n in range(40)
]


def texts(random: Random) -> list[str]:
    """Three texts: copies, excerpts and expansions of each other."""
    start = random.randrange(4)
    sizes = [random.choice([18, 18, 22, 26, 30, 36]) for _ in range(3)]
    return [" ".join(SENTENCES[start : start + size]) for size in sizes]


@pytest.mark.parametrize("seed", range(8))
def test_every_outcome_is_one_that_an_order_of_arrival_gives_on_one_server(nodes: Cluster, seed: int) -> None:
    """Also where only one of two pages drops the other: an excerpt is dropped, and an expansion is not."""
    random = Random(seed)
    config = changed_config(random)
    pages = [(f"http://{n}.example/", text) for n, text in enumerate(texts(random))]
    possible = {tuple(sorted(kept_in_order(order, config))) for order in permutations(pages)}
    with sharded(nodes.url) as one, sharded(nodes.url) as other, Deduplicator(config=config) as dedup:
        detectors = build_detectors(config)
        terms = Matcher(detectors, config.scope), Policy(config.drop, config.keep)
        walkers = []
        for url, text in pages:
            found = filed(dedup, text, url)
            judge = PageJudge(*terms, found, url, versions=True, give_up=False)
            walkers.append(Walker(random.choice([one, other]), judge, found, random))
        walk(walkers, random)
        kept = tuple(sorted(each.page.url for each in walkers if each.state == "kept"))
        assert kept in possible
        assert leftovers(one) == []


def filed(dedup: Deduplicator, text: str, url: str) -> Record:
    page = dedup.read(text=text, url=url)
    assert isinstance(page, Page)
    found = dedup.file(page)
    assert isinstance(found, Record)
    return found


def changed_config(random: Random) -> Config:
    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Relation

    drop = {Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED}
    drop |= {Relation.EXCERPT} if random.random() < 0.7 else set()
    drop |= {Relation.EXPANSION} if random.random() < 0.3 else set()
    return Config(drop=frozenset(drop), detectors=("exact", "minhash"))


def kept_in_order(pages: Sequence[tuple[str, str]], config: Config) -> list[str]:
    with Deduplicator(config=config) as dedup:
        return [url for url, text in pages if dedup.add(text=text, url=url).keep]


# -- races ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 25])
def test_workers_keep_each_story_once(nodes: Cluster, at_once: int) -> None:
    pages = [story(n % 60, f"http://a/{n}") for n in range(90)]
    kept: list[Record] = []

    def work(worker: int) -> None:
        order = list(pages)
        Random(worker).shuffle(order)
        with sharded(nodes.url) as store:
            barrier.wait()
            kept.extend(keep(store, order, at_once))

    barrier = threading.Barrier(4)
    run_together(work, 4)
    assert sorted(page.sketches[0] for page in kept) == sorted({page.sketches[0] for page in pages})


def run_together(work: Any, count: int) -> None:
    failures: list[BaseException] = []

    def guarded(n: int) -> None:
        try:
            work(n)
        except BaseException as error:  # noqa: BLE001  # shown below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures, failures


def test_one_page_or_fifty_need_two_round_trips(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        keep(store, [story(n, f"http://warm/{n}") for n in range(20)], 20)  # loads the scripts
        store._protocol._duplicates = 0.0
        pages = [story(100 + n, f"http://a/{n}") for n in range(50)]
        before = store._wire.trips
        offers = store.offer_judged([JudgedOffer(each, SameSketch(each)) for each in pages])
        assert None not in [offer.id for offer in offers]
        assert store._wire.trips - before == 2
        page = story(1000, "http://new")
        before = store._wire.trips
        assert store.offer_judged([JudgedOffer(page, SameSketch(page))])[0].id is not None
        assert store._wire.trips - before == 2
        store._protocol._duplicates = 1.0
        copy = story(1, "http://copy")
        before = store._wire.trips
        assert store.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0].id is None
        assert store._wire.trips - before == 2


# -- nodes that fail, slots that move --------------------------------------------------------------


def test_a_failover_and_new_scripts_lose_nothing(nodes: Cluster) -> None:
    """A promoted replica does not know the scripts."""
    stop = threading.Event()
    kept: list[Record] = []

    def work(worker: int) -> None:
        with sharded(nodes.url, lease=60.0) as store:
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


@pytest.mark.parametrize("written", ["home", "bucket"])
@pytest.mark.parametrize("knows_map", [True, False])
def test_strict_claims_need_a_replica_of_each_node(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch, written: str, knows_map: bool
) -> None:
    with sharded(f"{nodes.url}?wait_replicas=1&socket_timeout=2") as store:
        keep(store, [story(n, f"http://warm/{n}") for n in range(20)], 20)
        nodes.wait(lambda: names_replicas(store))
        page, place = next(places for n in range(99) if (places := apart(store, story(100 + n, "http://a"), written)))
        replica = replica_of(nodes, place)
        assert replica.process is not None
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
        nodes.wait(nodes.is_whole)
        # What it left is withdrawn: the page is no copy of itself.
        assert len(keep(store, [page], 1)) == 1
        assert leftovers(store) == []


def names_replicas(store: ShardedStore) -> bool:
    """Whether the cluster names a replica of each node; it does not until the nodes have told each other."""
    store._wire._look_up_map()
    return {*store._wire.map.replicas.values()} == {1}


def apart(store: ShardedStore, page: Record, written: str) -> tuple[Record, Any] | None:
    """The page, and the node of its home or of one of its buckets, if these are on different nodes."""
    owners = store._wire.map.owners
    home = owners[store._layout._home(store._layout.new_id(page)).slot]
    others = [place for each in page.keys if (place := owners[store._layout._shelf(each).slot]) != home]
    return (page, home if written == "home" else others[0]) if others else None


def replica_of(nodes: Cluster, place: Any) -> Server:
    for node in nodes.nodes:
        with node.client() as client:
            role = client.info("replication")
        if role["role"] == "slave" and role["master_port"] == place[1]:
            return node
    raise AssertionError("no replica")


def test_a_node_that_leaves_its_role_while_it_waits_is_asked_again(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer to WAIT is an error then, and the promoted replica may lack what it has written."""
    read, failures = wire._read, [ResponseError("UNBLOCKED force unblock from blocking operation")]

    def failing(connection: Any, count: int) -> list[Any]:
        replies = read(connection, count)
        return [*replies[:-1], failures.pop()] if count > 1 and failures else replies

    with sharded(f"{nodes.url}?wait_replicas=1") as store:
        monkeypatch.setattr(wire, "_read", failing)
        assert len(keep(store, [story(n, f"http://a/{n}") for n in range(9)], 9)) == 9
        assert failures == []
        assert len(list(store.records())) == 9


# -- leases ---------------------------------------------------------------------------------------


def test_the_claims_of_a_dead_worker_are_buried(clocked: Opener, clock_of: Clock) -> None:
    dead, living = clocked(), clocked()
    page = story(1, "http://a")
    assert dead.offer(page).id is not None
    clock_of.now += 61
    other = story(1, "http://b")
    assert isinstance(living, ShardedStore)
    assert len(keep(living, [other], 1)) == 1
    assert [each.record.url for each in living.records()] == ["http://b"]
    # The worker was only slow: it learns that its claim is gone, and has another token now.
    assert dead.renew() == 0


@pytest.fixture
def clock_of(clocked: Opener) -> Clock:
    return clocked.clock


def test_a_pending_page_of_a_dead_worker_does_not_block(clocked: Opener, clock_of: Clock) -> None:
    dead, living = clocked(), clocked()
    assert isinstance(dead, ShardedStore)
    assert isinstance(living, ShardedStore)
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
    home, wounds = store._layout._home(short_id(id)), b"" if stage == b"p" else short_id(id)
    store._wire.ask([Command(home.slot, (b"HSET", home.stages, stage + short_id(id)[1:], wounds))])
    return id


@pytest.mark.parametrize("stage", [b"p", b"w"])
def test_a_page_of_a_living_worker_is_not_pending_for_ever(clocked: Opener, clock_of: Clock, stage: bytes) -> None:
    living, other = clocked(), clocked()
    assert isinstance(living, ShardedStore)
    assert isinstance(other, ShardedStore)
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
        home = [store._layout._home(short_id(id)) for id in ids]
        assert [store._wire.ask([Command(each.slot, (b"HLEN", each.stages))]) for each in home] == [[0], [0]]
        copies = [story(n, f"http://b/{n}") for n in range(2)]
        assert keep(store, copies, 2) == []


@pytest.mark.parametrize("how", ["offer", "prune"])
def test_a_late_page_that_is_claimed_meanwhile_is_not_buried(
    clocked: Opener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    late, other = clocked(), clocked()
    assert isinstance(late, ShardedStore)
    assert isinstance(other, ShardedStore)
    page, copy = story(1, "http://a"), story(1, "http://b")
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


def finished(store: ShardedStore, rounds: Generator[Any, Any, Offer], replies: list[Any]) -> Offer:
    while True:
        try:
            replies = store._wire.ask(rounds.send(replies))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


# -- what differs from one server -------------------------------------------------------------------


def test_expired_records_are_removed_as_pages_are_offered(
    clocked: Opener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupcrawl.stores.redis.sharded.store.PAGES_PER_VISIT", 1)
    store = clocked(ttl=100.0)
    store.restore([record(f"http://old/{n}", n, seen=clock_of.now) for n in range(100)])
    clock_of.now += 200
    assert store.find([key(7)]) == ()
    for n in range(TAGS // TAGS_AT_ONCE + 1):
        assert store.add(record(f"http://a/{n}", ("new", n), seen=clock_of.now)).id is not None
    assert store.info().pages == TAGS // TAGS_AT_ONCE + 1


def test_a_damaged_record_stops_no_maintenance(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        ids = [file(store, f"http://a/{n}", n) for n in range(20)]
        home = store._layout._home(short_id(ids[3]))
        store._wire.ask([Command(home.slot, (b"HSET", home.records, short_id(ids[3])[1:], b"junk of another program"))])
        errors: list[DamageError] = []
        assert len(list(store.records(errors.append))) == 19
        assert "is damaged" in str(errors[0])
        with pytest.raises(DamageError):
            store.offer(record("http://b", 3))
        assert store.offer(record("http://c", 33)).id is not None
        assert store.forget("http://a/4") == 1
        assert store.prune(0.0, errors.append) == 0
        assert leftovers_but(store, "http://c") == []


def leftovers_but(store: ShardedStore, url: str) -> list[Candidate]:
    return [each for each in store.records(lambda _: None) if each.state is ClaimState.OPEN and each.record.url != url]


def test_kinds_of_url_do_not_open_each_others_namespaces(nodes: Cluster) -> None:
    ports = ",".join(f"127.0.0.1:{node.port}" for node in nodes.nodes)
    with sharded(nodes.url, "here"), open_store(f"redis+cluster://{ports}/0", namespace="there", scheme={}):
        with pytest.raises(StoreError, match=r"is on all nodes of its cluster: write redis-cluster://"):
            open_store(f"redis+cluster://{ports}/0", namespace="here", scheme={})
        with pytest.raises(StoreError, match=r"is on one node of its cluster: write redis\+cluster://"):
            sharded(nodes.url, "there")
        assert list_namespaces(nodes.url) == ["here", "there"]


def test_a_namespace_is_reset_and_opened_to_read(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        store.restore([record(f"http://a/{n}", n) for n in range(30)])
        with pytest.raises(StoreError, match="cannot be reset"):
            sharded(nodes.url, reset=True)
    with open_existing(nodes.url, "news") as store_to_read:
        assert store_to_read.info().pages == 30
        workers = store_to_read.workers()
        assert workers is not None
        assert workers.memory is not None
        assert (workers.memory.used > 3e6, workers.memory.limit) == (True, 0)  # of three servers
    with sharded(nodes.url, reset=True) as store:
        assert (store.info().pages, list(store.records())) == (0, [])


def test_urls_of_clusters_are_read() -> None:
    address = read_address("rediss-cluster://me:pw@a:1,[::1]:2,b/0?wait_replicas=2")
    assert address.seeds == (("a", 1), ("::1", 2), ("b", 6379))
    assert (address.tls, address.layout, address.wait_replicas) == (True, "sharded", 2)
    assert "pw" not in address.shown
    for url in ("redis-cluster://a/3", "redis-cluster://a?layout=hash", "redis://a?wait_replicas=1"):
        with pytest.raises(SettingError):
            read_address(url)


def test_a_user_of_its_own_can_use_a_cluster(nodes: Cluster) -> None:
    rights = ["~dedupcrawl:*", "+@hash", "+@connection", "+time", "+eval", "+evalsha", "+script|load"]
    for node in nodes.nodes:
        with node.client() as client:
            client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">hunter2", *rights, "+cluster", "+command")
    with sharded(nodes.url.replace("//", "//few:hunter2@"), "user") as store:
        assert len(keep(store, [story(n, f"http://a/{n}") for n in range(10)], 10)) == 10
        assert "hunter2" not in store.url
        assert store.info().bytes == 0  # without +memory
    with pytest.raises(StoreError, match="refuses this user or password") as caught:
        sharded(nodes.url.replace("//", "//few:wrong@"), "user")
    assert "wrong" not in str(caught.value)


def test_the_keys_are_spread_evenly(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        store.restore([record(f"http://a/{n}", *(f"{n} {band}" for band in range(6))) for n in range(1500)])
        owners = store._wire.map.owners
        places = Counter(
            owners[store._layout._shelf(key(f"{n} {band}")).slot] for n in range(1500) for band in range(6)
        )
    assert len(places) == 3
    assert all(abs(count / places.total() - 1 / 3) < 0.05 for count in places.values())


def test_the_latest_copy_replaces_the_first(nodes: Cluster) -> None:
    text = " ".join(SENTENCES[:12])
    with Deduplicator(nodes.url, keep="latest") as dedup:
        assert dedup.add(text=text, url="http://a/").keep
        verdict = dedup.add(text=text, url="http://b/")
        assert (verdict.keep, verdict.supersedes) == (True, "http://a/")
        assert [each.record.url for each in dedup.store.records()] == ["http://b/"]
        assert {each.record.cluster for each in dedup.store.records()} == {verdict.cluster}


def test_a_batch_waits_for_its_own_claims(nodes: Cluster) -> None:
    pages = [" ".join(SENTENCES[:12]), " ".join(SENTENCES[20:32]), " ".join(SENTENCES[:12])]
    with Deduplicator(nodes.url) as dedup:
        records = [(filed(dedup, text, f"http://{n}/"), f"http://{n}/") for n, text in enumerate(pages)]
        first, second, copy = dedup.claim_records(records)
        assert isinstance(copy, Pending) or isinstance(first, Pending)
        claims = [each for each in (first, second, copy) if not isinstance(each, Pending)]
        assert len(claims) == 2
        dedup.commit(claims)
        again = dedup.claim_records(records[2:] if isinstance(copy, Pending) else records[:1])
        assert [each.verdict.keep for each in again if not isinstance(each, Pending)] == [False]


def test_when_a_batch_fails_none_of_it_stays_claimed(nodes: Cluster) -> None:
    def failing(candidates: Sequence[Candidate]) -> Judgement:
        raise ValueError("the judge failed")

    with sharded(nodes.url) as store:
        pages = [story(n, f"http://a/{n}") for n in range(6)]
        offers = [JudgedOffer(page, SameSketch(page) if n != 3 else failing) for n, page in enumerate(pages)]
        with pytest.raises(ValueError, match="the judge failed"):
            store.offer_judged(offers)
        assert len(keep(store, pages, 6)) == 6
        assert len(list(store.records())) == 6
        assert store.offer(record("http://z"), FILE_ANYWAY).id is not None


def test_another_configuration_is_refused(clocked: Opener) -> None:
    clocked(scheme={"exact": {"bits": 128}})
    with pytest.raises(StoreError, match="another configuration"):
        clocked(scheme={"exact": {"bits": 64}})
    assert scheme_json({}) == "{}"
