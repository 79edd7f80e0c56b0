"""Claims that are sharded over a cluster: interleavings, races, failovers, moving slots, and what differs."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.config import Config
from dedupcrawl.decision import Pending, Policy
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import DamageError, SettingError, StoreError
from dedupcrawl.filing import RecordJudge
from dedupcrawl.matching import Matcher
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY, ClaimState, FilingDecision, JudgedOffer, Record, scheme_json
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.sharded.layout import LISTED, TAGS, Command
from dedupcrawl.stores.redis.sharded.protocol import LookupKind
from dedupcrawl.stores.redis.sharded.scan import TAGS_AT_ONCE
from dedupcrawl.stores.redis.sharded.shard_scripts import DIGESTS
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.stores.transfer import export_records, import_records, read_header
from tests.stores.factories import Clock, ShardedOpener, file, key, record
from tests.stores.sharding import SameSketch, is_waiting, keep, leftovers, run_together, sharded, story

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.base import Candidate, Offer
    from tests.stores.servers import Cluster


# -- interleavings of the real scripts -----------------------------------------------------------


@dataclass
class Walker:
    """A page that goes its way one command at a time, in an order that messages to several nodes may arrive in."""

    store: ShardedStore
    judge: RecordJudge | SameSketch
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
            self.replies[n] = self.store.protocol.wire.ask([command])[0]
        else:
            self.next_round()

    def next_round(self) -> None:
        protocol = self.store.protocol
        fresh = self.rounds is None
        if self.rounds is None:
            self.rounds = protocol.claim(JudgedOffer(self.page, self.judge), [], self.look())
        try:
            wants = next(self.rounds) if fresh else self.rounds.send(self.replies)
        except StopIteration as stop:
            self.end(stop.value)
            return
        self.todo = list(enumerate(wants))
        self.replies = [None] * len(wants)

    def look(self) -> LookupKind:
        (found,) = self.random.choices([LookupKind.NOT, LookupKind.ONE_NODE, LookupKind.ALL_NODES], weights=[6, 2, 2])
        return found

    def end(self, end: Offer) -> None:
        self.rounds = None
        if end.id is not None:
            self.claimed = end.id
            filings = self.store.protocol.own
            filings[end.id] = _filing(self.store, end.id, self.page)
        elif not self.judge(end.candidates).blockers:
            self.state = "dropped"


def _filing(store: ShardedStore, id: int, page: Record) -> Any:
    from dedupcrawl.stores.redis.sharded.reader import UnsettledClaim

    return UnsettledClaim(store.protocol.layout.short_id(id), id >> 48, page, store.protocol.token, set(page.keys))


def walk(walkers: list[Walker], random: Random) -> None:
    steps = 0
    while going := [each for each in walkers if each.state == "going"]:
        random.choice(going).step()
        steps += 1
        assert steps < 20_000, "nobody comes to an end"


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


#: Texts are made of these sentences, so that some are excerpts of others.
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
            judge = RecordJudge(*terms, found, url, versions=True, give_up=False)
            walkers.append(Walker(random.choice([one, other]), judge, found, random))
        walk(walkers, random)
        kept = tuple(sorted(each.page.url for each in walkers if each.state == "kept"))
        assert kept in possible
        assert leftovers(one) == []


def filed(dedup: Deduplicator, text: str, url: str) -> Record:
    page = dedup.read(text=text, url=url)
    assert isinstance(page, Page)
    found = dedup.fingerprint(page)
    assert isinstance(found, Record)
    return found


def changed_config(random: Random) -> Config:
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


def test_one_page_or_fifty_need_one_round_trip_and_copies_two(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        keep(store, [story(n, f"http://warm/{n}") for n in range(20)], 20)  # loads the scripts
        pages = [story(100 + n, f"http://a/{n}") for n in range(50)]
        before = store.protocol.wire.trips
        offers = store.offer_judged([JudgedOffer(each, SameSketch(each)) for each in pages])
        assert None not in [offer.id for offer in offers]
        assert store.protocol.wire.trips - before == 1
        page = story(1000, "http://new")
        before = store.protocol.wire.trips
        assert store.offer_judged([JudgedOffer(page, SameSketch(page))])[0].id is not None
        assert store.protocol.wire.trips - before == 1
        store.protocol.duplicates = 1.0
        copy = story(1, "http://copy")
        before = store.protocol.wire.trips
        assert store.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0].id is None
        assert store.protocol.wire.trips - before == 2


def test_commits_travel_with_the_next_pages(nodes: Cluster) -> None:
    with sharded(nodes.url) as store, sharded(nodes.url) as other:
        keep(store, [story(n, f"http://warm/{n}") for n in range(20)], 20)
        first, second, third = (story(100 + n, f"http://a/{n}") for n in range(3))
        (one,) = store.offer_judged([JudgedOffer(first, SameSketch(first))])
        assert one.id is not None
        before = store.protocol.wire.trips
        count, (two,) = store.commit_and_offer([one.id], [JudgedOffer(second, SameSketch(second))])
        assert (count, store.protocol.wire.trips - before) == (1, 1)
        assert two.id is not None
        states = {each.record.url: each.state for each in other.records()}
        assert (states[first.url], states[second.url]) == (ClaimState.COMMITTED, ClaimState.OPEN)
        assert store.commit([one.id]) == 0  # it is no claim any more
        assert other.forget(second.url) == 1
        assert store.commit_and_offer([two.id], [JudgedOffer(third, SameSketch(third))])[0] == 0
        assert store.commit_and_offer([], []) == (0, [])


def test_claims_to_commit_stay_claims_when_a_page_fails(nodes: Cluster) -> None:
    """They can be committed again, whether or not they were committed."""

    def failing(candidates: Sequence[Candidate]) -> FilingDecision:
        raise ValueError("the judge failed")

    with sharded(nodes.url) as store:
        page = story(1, "http://a")
        (end,) = store.offer_judged([JudgedOffer(page, SameSketch(page))])
        assert end.id is not None
        with pytest.raises(ValueError, match="the judge failed"):
            store.commit_and_offer([end.id], [JudgedOffer(story(2, "http://b"), failing)])
        assert store.commit([end.id]) == 1
        store.renew()  # which withdraws what the failed call has left, as the next offer does
        assert [(each.id, each.state) for each in store.records()] == [(end.id, ClaimState.COMMITTED)]


def test_a_claim_that_was_lost_is_filed_again_with_the_next_pages(nodes: Cluster) -> None:
    first, second = (" ".join(SENTENCES[n : n + 12]) for n in (0, 20))
    with Deduplicator(nodes.url) as dedup, Deduplicator(nodes.url) as beside:
        claim = dedup.claim(text=first, url="http://a/")
        assert beside.store.forget("http://a/") == 1
        (next_claim,) = dedup.claim_records([(filed(dedup, second, "http://b/"), "http://b/")], [claim])
        assert not isinstance(next_claim, Pending)
        assert next_claim.verdict.keep
        assert dedup.check(text=first, url="http://c/").of == "http://a/"
        assert (dedup.info().pages, dedup.info().open) == (2, 1)


def filings(sent: Sequence[Command]) -> list[bytes]:
    """Of each page that is filed, whether it is pending."""
    return [each.words[-1] for each in sent if each.words[1:2] == (DIGESTS["file"],)]


def test_a_page_that_was_blocked_does_not_claim_again_as_it_files_itself(nodes: Cluster) -> None:
    """Two that do could block each other for ever."""
    with sharded(nodes.url) as one, sharded(nodes.url) as other:
        page, copy = story(1, "http://a"), story(1, "http://b")
        (end,) = one.offer_judged([JudgedOffer(page, SameSketch(page))])
        assert end.id is not None
        for expected in ([b"", b"1"], [b"1"], [b"1"]):
            with recorded(other) as sent:
                (blocked,) = other.offer_judged([JudgedOffer(copy, SameSketch(copy))])
            assert is_waiting(blocked, copy)
            assert filings(sent) == expected
        one.release([end.id])
        with recorded(other) as sent:
            (kept,) = other.offer_judged([JudgedOffer(copy, SameSketch(copy))])
        assert kept.id is not None
        assert filings(sent) == [b"1"]
        assert other.release([kept.id]) == 1
        with recorded(other) as sent:
            assert other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0].id is not None
        assert filings(sent) == [b""]


def test_an_old_claim_is_waited_for_at_once(clocked: ShardedOpener, clock_of: Clock) -> None:
    one, other = clocked(), clocked()
    page, copy = story(1, "http://a"), story(1, "http://b")
    assert one.offer_judged([JudgedOffer(page, SameSketch(page))])[0].id is not None
    clock_of.now += 3
    with recorded(other) as sent:
        assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    assert filings(sent) == [b""]
    with recorded(other) as sent:
        assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    assert filings(sent) == [b"1"]


@pytest.mark.parametrize("how", ["offer", "release"])
def test_a_withdrawal_that_a_failover_has_lost_is_sent_again(clocked: ShardedOpener, clock_of: Clock, how: str) -> None:
    one, other = clocked(), clocked()
    page, copy = story(1, "http://a"), story(1, "http://b")
    with recorded(one) as sent:
        if how == "offer":
            (first,) = other.offer_judged([JudgedOffer(copy, SameSketch(copy))])
            assert is_waiting(one.offer_judged([JudgedOffer(page, SameSketch(page))])[0], page)
            assert first.id is not None
            assert other.release([first.id]) == 1
        else:
            (first,) = one.offer_judged([JudgedOffer(page, SameSketch(page))])
            assert first.id is not None
            assert one.release([first.id]) == 1
    ends = [n for n, each in enumerate(sent) if each.words[1:2] == (DIGESTS["remove"],)]
    filed = [each for each in sent[: ends[0]] if each.words[0] in {b"EVALSHA", b"HSETNX"}]
    assert one.protocol.wire.ask(filed)[0] is not None  # what the replica has
    assert is_waiting(other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0], copy)
    for _ in range(2):
        clock_of.now += 20
        one.renew()
        other.renew()
    assert other.offer_judged([JudgedOffer(copy, SameSketch(copy))])[0].id is not None


def test_a_page_without_keys_is_kept_wherever_pages_are_looked_up(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        store.protocol.duplicates = 1.0
        page = replace(story(1, "http://a"), keys=())
        assert store.offer_judged([JudgedOffer(page, SameSketch(page))])[0].id is not None


# -- looking on one node -------------------------------------------------------------------------


@contextmanager
def recorded(store: ShardedStore) -> Generator[list[Command], None, None]:
    """The commands that a store sends in this context."""
    sent: list[Command] = []
    ask = store.protocol.wire.ask

    def asked(commands: Sequence[Command]) -> list[Any]:
        sent.extend(commands)
        return ask(commands)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.protocol.wire, "ask", asked)
        yield sent


class Final:
    """A judge that says whether more candidates could change its judgement."""

    def __init__(self, page: Record, *, is_final: bool) -> None:
        self.judge, self.is_final = SameSketch(page), is_final

    def __call__(self, candidates: Sequence[Candidate]) -> FilingDecision:
        return replace(self.judge(candidates), is_final=self.is_final)


@pytest.mark.parametrize("is_final", [True, False])
def test_a_copy_is_dropped_by_one_node_if_others_cannot_change_that(nodes: Cluster, is_final: bool) -> None:
    with sharded(nodes.url) as store:
        kept = [story(n, f"http://a/{n}") for n in range(30)]
        assert len(keep(store, kept, 10)) == 30
        store.protocol.duplicates = 1.0
        for number, page in enumerate(kept):
            copy = replace(story(number, f"http://b/{number}"), keys=page.keys)
            judge = Final(copy, is_final=is_final)
            with recorded(store) as sent:
                (end,) = store.offer_judged([JudgedOffer(copy, judge)])
            assert end.id is None
            places = {store.protocol.wire.place_of(each) for each in sent if each.words[0] == b"HGET"}
            everywhere = {
                store.protocol.wire.place_of(each) for each in store.protocol.layout.read_buckets(copy.lookup_keys)
            }
            assert len(places) == (1 if is_final else len(everywhere))


def test_a_page_that_all_nodes_together_keep_is_not_dropped_by_one(nodes: Cluster) -> None:
    """The user keeps identical pages, and drops near duplicates: the identical page decides, wherever it is found."""
    from dedupcrawl.detectors.base import Relation

    text = " ".join(SENTENCES[:20])
    near = f"{text} {SENTENCES[30]}"
    config = Config(drop=frozenset({Relation.NEAR_DUPLICATE}), detectors=("exact", "minhash"))
    with Deduplicator(nodes.url, config=config) as dedup:
        store = dedup.store
        assert isinstance(store, ShardedStore)
        assert dedup.add(text=near, url="http://near/").keep
        dedup.remember(replace(filed(dedup, text, "http://same/"), cluster="x"))
        for n in range(20):  # other URLs, so other homes
            store.protocol.duplicates = 1.0
            verdict = dedup.check(text=text, url=f"http://{n}/")
            claim = dedup.claim(text=text, url=f"http://{n}/")
            assert (claim.verdict.keep, claim.verdict.of) == (verdict.keep, verdict.of)
            dedup.release([claim])


# -- what differs from one server -------------------------------------------------------------------


def test_expired_records_are_removed_as_pages_are_offered(
    clocked: ShardedOpener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedupcrawl.stores.redis.sharded.store.PAGES_PER_VISIT", 1)
    store = clocked(ttl=100.0)
    store.restore([record(f"http://old/{n}", n, seen=clock_of.now) for n in range(100)])
    clock_of.now += 200
    assert store.find([key(7)]) == ()
    visits = TAGS // TAGS_AT_ONCE * (1 + -(-store.protocol.layout.record_shelves // LISTED)) + 1
    for n in range(visits):
        assert store.add(record(f"http://a/{n}", ("new", n), seen=clock_of.now)).id is not None
    assert store.info().pages == visits


def test_a_damaged_record_stops_no_maintenance(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        ids = [file(store, f"http://a/{n}", n) for n in range(20)]
        slot, records, _, field = store.protocol.layout.record_place(store.protocol.layout.short_id(ids[3]))
        store.protocol.wire.ask([Command(slot, (b"HSET", records, field, b"junk of another program"))])
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
        wire, keys = store.protocol.wire, [key(f"{n} {band}") for n in range(1500) for band in range(6)]
        places = Counter(map(wire.place_of, store.protocol.layout.read_buckets(keys)))
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


@pytest.mark.parametrize("detectors", [("exact", "minhash"), ("minhash",), ("exact", "minhash", "simhash")])
@pytest.mark.parametrize("url", ["", "?pages=0"])
def test_keys_that_are_not_stored_are_there_when_they_are_needed(
    nodes: Cluster, detectors: tuple[str, ...], url: str, tmp_path: Path
) -> None:
    config = replace(Config(), detectors=detectors, seed="secret")
    filed_by: dict[str, tuple[bytes, ...]] = {}
    with Deduplicator(nodes.url + url, config=config) as dedup:
        for n in range(6):
            text = " ".join(SENTENCES[5 * n : 5 * n + 8])
            filed_by[f"http://a/{n}"] = filed(dedup, text, f"http://a/{n}").keys
            assert dedup.add(text=text, url=f"http://a/{n}").keep
            assert not dedup.add(text=text, url=f"http://b/{n}").keep
        assert {each.record.url: each.record.keys for each in dedup.store.records()} == filed_by
        export_records(dedup.store, tmp_path / "export")
    with open_existing(nodes.url, "default") as store:
        assert isinstance(store, ShardedStore)
        assert {each.record.url: each.record.keys for each in store.records()} == filed_by
        assert store.forget("http://a/3") == 1
        assert [store.find(filed_by["http://a/3"][:1]), store.lookup("http://a/3")] == [(), None]
        assert store.prune(float("inf")) == 5
        assert (store.info().pages, store.info().keys) == (0, 0)
    header = read_header(tmp_path / "export")
    with open_store(nodes.url, namespace="default", scheme=json.loads(header.scheme), secret=header.secret) as again:
        import_records(tmp_path / "export", again)
        assert {each.record.url: each.record.keys for each in again.records()} == filed_by


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
    def failing(candidates: Sequence[Candidate]) -> FilingDecision:
        raise ValueError("the judge failed")

    with sharded(nodes.url) as store:
        pages = [story(n, f"http://a/{n}") for n in range(6)]
        offers = [JudgedOffer(page, SameSketch(page) if n != 3 else failing) for n, page in enumerate(pages)]
        with pytest.raises(ValueError, match="the judge failed"):
            store.offer_judged(offers)
        assert len(keep(store, pages, 6)) == 6
        assert len(list(store.records())) == 6
        assert store.offer(record("http://z"), FILE_ANYWAY).id is not None


def test_another_configuration_is_refused(clocked: ShardedOpener) -> None:
    clocked(scheme={"exact": {"bits": 128}})
    with pytest.raises(StoreError, match="another configuration"):
        clocked(scheme={"exact": {"bits": 64}})
    assert scheme_json({}) == "{}"


def test_hot_buckets_are_counted_and_named(nodes: Cluster) -> None:
    with sharded(nodes.url) as store:
        hot = [record(f"http://a/{n}", "hot", "also hot" if n % 2 else n) for n in range(BUCKET_CAP * 2 + 3)]
        store.restore(hot)
        info = store.info()
        assert info.hot == 2
        assert [(each.key, each.beyond) for each in info.hottest] == [
            (key("hot").hex(), BUCKET_CAP + 3),
            (key("also hot").hex(), 1),
        ]
        store.prune(0.0)
        assert store.info().hot == 2
        for n in range(BUCKET_CAP + 2):
            assert store.forget(f"http://a/{n}") == 1
        assert [each.key for each in store.info().hottest] == [key("hot").hex()]
        assert store.forget(f"http://a/{BUCKET_CAP + 2}") == 1
        assert store.info().hot == 0
