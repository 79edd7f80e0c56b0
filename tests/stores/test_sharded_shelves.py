"""A namespace on a cluster that is planned for many pages: its buckets are in many small hashes."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.errors import DamageError, SettingError, StoreError, StoreUnreachableError
from dedupcrawl.stores import open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY, FilingDecision, JudgedOffer
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.namespace import KeyNames, format_of
from dedupcrawl.stores.redis.sharded import wire
from dedupcrawl.stores.redis.sharded.layout import (
    TAGS,
    ClaimEntry,
    Command,
    ShardLayout,
    others_by_reference,
    others_in,
)
from dedupcrawl.stores.redis.sharded.packed_values import compiled
from dedupcrawl.stores.redis.sharded.protocol import MOST_DRAWS
from dedupcrawl.stores.redis.sharded.scan import SHELVES, count_namespace, scanned
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.stores.transfer import export_records, import_records
from tests.stores.factories import Clock, ShardedOpener, key, record
from tests.stores.sharding import SameSketch, claim_of, keep_ids, sharded, story, take_ids, unreachable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.servers import Cluster

PAGES = 1_000_000


def planned(nodes: Cluster, pages: int = PAGES, **options: Any) -> ShardedStore:
    url = f"{nodes.url}?pages={pages}"
    store = open_store(url, namespace="news", scheme={}, **options)
    assert isinstance(store, ShardedStore)
    return store


def stories(numbers: range, site: str = "a") -> list[Any]:
    return [record(f"http://{site}/{n}", *(f"{n} {band}" for band in range(7))) for n in numbers]


@pytest.mark.parametrize(
    ("pages", "shelves"), [(0, 1), (10_000, 1), (30_000, 4), (1_000_000, 122), (1_000_000_000, 122_070)]
)
def test_the_number_of_hashes_grows_with_the_planned_pages(pages: int, shelves: int) -> None:
    assert ShardLayout(KeyNames("news"), "", pages).shelves == shelves


def test_the_place_of_a_bucket_never_changes() -> None:
    """Stored data depend on it: the first 10 bits choose the tag, the others hash and field."""
    layout = ShardLayout(KeyNames("news"), "", PAGES)
    command = layout.bucket(bytes.fromhex("ffe012345678"))
    field, shelf = divmod(0x2012345678, 122)
    assert command.words == (b"HGET", b"dedupcrawl:{news:3ff}:b%x" % shelf, field.to_bytes(4, "big")[1:])
    layout.set_shelves(1)
    assert layout.bucket(bytes.fromhex("ffe012345678")).words[1:] == (
        b"dedupcrawl:{news:3ff}:b",
        bytes.fromhex("e012345678"),
    )


@given(st.binary(min_size=6, max_size=6), st.sampled_from([(0, 28), (30_000, 20), (PAGES, 20), (10**7, 28)]))
def test_an_id_begins_with_the_tag_of_its_home(home: bytes, plan: tuple[int, int]) -> None:
    pages, random = plan
    layout = ShardLayout(KeyNames("news"), "", pages)
    ids = [int.from_bytes(layout.new_id(home, 500), "big") for _ in range(50)]
    assert {id >> random for id in ids} == {int.from_bytes(home, "big") >> 38 << 2}
    assert len({*ids}) > 45
    assert [any(each >> bit & 1 for each in ids) for bit in range(random)] == [True] * random
    assert [all(each >> bit & 1 for each in ids) for bit in range(random)] == [False] * random
    assert len({layout.look(layout.new_id(b"", 500)).slot for _ in range(50)}) > 1


@given(
    st.binary(min_size=6, max_size=6),
    st.sampled_from([(0, 0), (63, 1), (64, 2), (126, 2), (127, 3), (189, 3), (190, 0), (10**6, 0)]),
    st.sampled_from([0, 30_000, PAGES, 10**9]),
)
def test_an_id_tells_where_the_record_lies(home: bytes, size: tuple[int, int], pages: int) -> None:
    """Stored data depend on it: id, field of the first piece, those of the others."""
    layout = ShardLayout(KeyNames("news"), "", pages)
    id = layout.new_id(home, size[0])
    number, pieces = layout.tag_of(home), size[1] if pages else 0
    slot, hash, stages, field = layout.record_place(id)
    assert field[0] >> 4 == pieces
    assert layout.whole_id(number, field) == id
    assert layout.record_keys(number, 0, 1)[0] + b"s" == stages[:-1] + b"rs"
    assert hash in (layout.record_keys(number, 1, 10**6) if pieces else layout.record_keys(number, 0, 1))
    names = [bytes([field[0] | n << 6]) + field[1:] for n in (*range(max(1, pieces)), 3)]
    assert layout.peek(id) == Command(slot, (b"HMGET", hash, *names))


@pytest.mark.parametrize("size", [1, 62, 63, 64, 126, 127, 189, 190, 191, 400])
@pytest.mark.parametrize("pages", [0, 30_000])
def test_a_record_is_read_as_it_was_filed_and_amended(nodes: Cluster, size: int, pages: int) -> None:
    """Whatever its size, and even if it is another one later than its id says."""
    with planned(nodes, pages) as store:
        layout, ask = store.protocol.layout, store.protocol.wire.ask
        for other in (0, 1, 100, 150, 1000):
            id, value = layout.new_id(bytes(6), size), bytes(range(256))[:size] * (2 if size > 256 else 1)
            assert ask([layout.file(id, value, b"a token.\1", b"", pends=True), layout.fetch(id, 1)]) == [
                b"",
                [b"p", value, b"a token.\1"],
            ]
            assert layout.peeked(ask([layout.peek(id)])[0]) is None
            amended = b"" if not other else b"x" * other
            assert ask([layout.settle(id, b"a token.\1", b"*", amended, commit=True)]) == [b"c"]
            assert layout.peeked(ask([layout.peek(id)])[0]) == ClaimEntry(b"c", amended or value)
            listed = [each for some in scanned(layout, ask, [0]) for each in some]
            assert listed == [(id, ClaimEntry(b"c", amended or value))]
            assert count_namespace(layout, ask, lambda _: set()).pages == 1
            assert ask([layout.remove(id, (amended or value)[:6])]) == [1]
            assert [each for some in scanned(layout, ask, [0]) for each in some] == []


def test_an_id_that_is_taken_is_refused_even_to_its_worker(nodes: Cluster) -> None:
    """Ids are drawn: another page of the same worker may have it."""
    with planned(nodes) as store:
        layout, ask, page = store.protocol.layout, store.protocol.wire.ask, stories(range(1))[0]
        id, owner = layout.new_id(page.own_keys[0], 100), store.protocol.token + b"\1"
        first, second = (
            layout.file(id, b"1" * 100, owner, b"", pends=True),
            layout.file(id, b"2" * 100, owner, b"", pends=True),
        )
        assert ask([first, second, first]) == [b"", None, b""]
        taken = [id]
        draw = layout.new_id
        layout.new_id = lambda home, size: taken.pop() if taken else draw(home, size)  # type: ignore[method-assign]
        (end,) = store.add_many([page])
        assert end.id is not None
        assert taken == []
        assert [hit.id for hit in store.find(page.keys)] == [end.id]
        assert layout.short_id(end.id) != id


@pytest.mark.parametrize("compares", [True, False])
def test_a_page_that_draws_a_taken_id_leaves_the_other_page_as_it_is(
    clocked: ShardedOpener, monkeypatch: pytest.MonkeyPatch, compares: bool
) -> None:
    """Both have the same URL, share keys, and are filed in the same millisecond: the clock stands still."""
    one, other = clocked(), clocked()
    page, copy = record("http://a", "shared", "one"), record("http://a", "shared", "other")
    (first,) = one.add_many([page])
    assert first.id is not None
    left = take_ids(monkeypatch, other, first.id)
    judge = (lambda _: FilingDecision(copy)) if compares else None
    (second,) = other.offer_judged([JudgedOffer(copy, judge, committed=True)])
    assert left == []
    assert second.id is not None
    assert {each.id for each in one.records()} == {first.id, second.id}
    for each in page.own_keys:
        assert first.id in {hit.id for hit in one.find([each])}
    assert one.forget("http://a") == 2


def test_an_abandoned_page_leaves_the_page_that_has_its_id(
    clocked: ShardedOpener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = clocked(), clocked()
    page = story(1, "http://a")
    (first,) = keep_ids(one, [page])
    take_ids(monkeypatch, other, first)
    clock_of.now += 1  # it is filed later
    with monkeypatch.context() as patched:
        patched.setattr(other.protocol.wire, "ask", unreachable)
        with pytest.raises(StoreUnreachableError):
            other.add_many([page])
    assert len(other.protocol.abandoned) == 1
    other.renew()
    assert not other.protocol.abandoned
    for each in page.own_keys:
        assert [hit.id for hit in one.find([each])] == [first]


def test_a_namespace_without_free_ids_refuses_pages(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with sharded(f"{nodes.url}?pages=1000000") as store:
        (end,) = store.add_many([record("http://a", "one")])
        assert end.id is not None
        id = store.protocol.layout.short_id(end.id)
        with monkeypatch.context() as patched:
            patched.setattr(store.protocol.layout, "new_id", lambda *_: id)
            asked = store.protocol.wire.trips
            with pytest.raises(
                StoreError, match=r"has no free id for .* namespace 'news' is planned for 99\d,\d+ pages"
            ):
                store.restore([record("http://a", "two")])
            assert store.protocol.wire.trips - asked <= 3 * MOST_DRAWS
        assert [each.record.url for each in store.records()] == ["http://a"]
        assert store.restore([record("http://a", "two")]) == 1


def test_a_damaged_record_in_pieces_is_named_by_its_hash(nodes: Cluster) -> None:
    with sharded(f"{nodes.url}?pages=1000000") as store:
        (end,) = store.add_many([record("http://a", "one")])
        assert end.id is not None
        id = store.protocol.layout.short_id(end.id)
        slot, name, _, field = store.protocol.layout.record_place(id)
        assert not name.endswith(b":r")
        (value,) = store.protocol.wire.ask([Command(slot, (b"HGET", name, field))])
        store.protocol.wire.ask([Command(slot, (b"HSET", name, field, value[:30] + b"?" + value[31:]))])
        with pytest.raises(DamageError, match=f"{re.escape(name.decode())} {id.hex()}"):
            store.get(end.id)


def test_a_page_that_has_the_id_of_a_replaced_one_stays(
    clocked: ShardedOpener, clock_of: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = clocked(), clocked()
    (old,) = keep_ids(one, [story(1, "http://a")])
    new = claim_of(one, story(2, "http://b"))
    assert other.forget("http://a") == 1
    left = take_ids(monkeypatch, other, old)
    clock_of.now += 1  # it is filed later
    (end,) = other.add_many([story(3, "http://a")])
    assert left == []
    assert end.id is not None
    assert end.id != old
    assert one.commit([new], [old]) == 1
    assert {each.record.url for each in one.records()} == {"http://a", "http://b"}


def test_keys_that_share_a_bucket_are_told_apart_by_their_pages(nodes: Cluster) -> None:
    """A field has fewer bits than a key."""
    one, other = bytes.fromhex("ffc000000007"), (0xFFC000000007 + 122 * 2**24).to_bytes(6, "big")
    first, second = (replace(record(f"http://a/{key.hex()}"), keys=(key,)) for key in (one, other))
    with planned(nodes) as store:
        assert store.protocol.layout.bucket(one) == store.protocol.layout.bucket(other)
        ids = store.add_many([first])
        assert ids[0].id is not None
        assert [hit.record.keys for hit in store.find([other])] == [(one,)]
        met = store.offer_judged([JudgedOffer(second, SameSketch(second))])[0]
        assert met.id is not None
        assert [hit.record.url for hit in met.candidates] == [first.url]
        assert store.commit([met.id]) == 1
        assert len(store.find([one])) == 2
        assert store.lookup(first.url) is None  # its key is none of its own
        assert store.prune(float("inf")) == 2
        assert store.find([one]) == ()


def test_records_in_many_hashes_are_listed_and_counted_once(nodes: Cluster) -> None:
    """Some are whole, some in pieces, and in hashes that are no flat lists any more."""
    with planned(nodes) as store:
        layout, ask, filed = store.protocol.layout, store.protocol.wire.ask, {}
        for n in range(900):
            value = b"%06d" % n + bytes(600 if n % 9 == 0 else n % 190)
            id = layout.new_id(bytes(6), len(value))
            if ask([layout.file(id, value, b"a token.\1", b"", pends=True)])[0] is not None:
                filed[id] = value
        batches = list(scanned(layout, ask, [0]))
        found = [(id, each.value) for some in batches for id, each in some]
        assert sorted(found) == sorted(filed.items())
        assert len(batches) <= 4 + 31 / 8 + 1
        assert ask([layout.sweep(0, 1)])[0] != []
        sealed = ask([command for id in filed for command in layout.seal(id)])
        assert sealed[::2] == [1] * len(filed)
        assert count_namespace(layout, ask, lambda _: set()).pages == len(filed)


def test_a_hot_bucket_is_named_by_its_key(nodes: Cluster) -> None:
    with planned(nodes) as store:
        for n in range(BUCKET_CAP + 3):
            assert store.add(record(f"http://a/{n}", "hot"), FILE_ANYWAY).id is not None
        assert [(each.key, each.beyond) for each in store.info().hottest] == [(key("hot").hex(), 3)]
        assert store.prune(float("inf")) == BUCKET_CAP + 3
        assert store.info().hottest == ()


def test_a_store_of_another_format_is_refused(nodes: Cluster) -> None:
    planned(nodes).close()
    for node in nodes.primaries():
        with node.client() as client:
            if b"dedupcrawl:{news}:meta" in _keys(node):
                client.hset("dedupcrawl:{news}:meta", "mark", b"8 sharded-122 00")
    with pytest.raises(StoreError, match="it has format 8, and this version reads format 9; use another namespace"):
        planned(nodes)
    with planned(nodes, reset=True) as store:
        assert store.info().pages == 0


@given(
    st.lists(st.binary(min_size=6, max_size=6), max_size=5), st.sampled_from([1, 2, 4, 122, 122_070]) | st.integers(1)
)
def test_the_compiled_commands_are_those_of_python(keys: list[bytes], shelves: int) -> None:
    layout = ShardLayout(KeyNames("news"), "")
    layout.set_shelves(min(shelves, 999_999_999))
    assert layout.read_buckets(keys) == [layout.bucket(key) for key in keys]
    assert layout.places(keys, b"an id.") == [layout.place(key, b"an id.") for key in keys]
    assert {type(each) for each in layout.places(keys, b"an id.")} <= {Command}


@given(st.binary(min_size=4, max_size=5), st.sampled_from([1, 2, 4, 122, 122_070]) | st.integers(1, 999_999_999))
def test_the_compiled_commands_of_a_record_are_those_of_python(id: bytes, shelves: int) -> None:
    layout = ShardLayout(KeyNames("news"), "")
    layout.set_shelves(shelves)
    assert layout.record_place(id) == layout.record_place_by_reference(id)
    assert layout.peek(id) == layout.peek_by_reference(id)
    assert layout.claim(id) == layout.claim_by_reference(id)
    assert layout.seal(id) == layout.seal_by_reference(id)
    assert {type(each) for each in (layout.peek(id), layout.claim(id), *layout.seal(id))} == {Command}


IDS = st.lists(st.binary(min_size=2, max_size=2), max_size=5)


@given(st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), IDS | st.none()), max_size=9), st.binary(max_size=2))
def test_the_compiled_buckets_are_those_of_python(some: list[tuple[bytes, list[bytes] | None]], own: bytes) -> None:
    keys = [key for key, _ in some]
    packed = [None if ids is None else b"".join(ids) for _, ids in some]
    assert others_in(keys, packed, own, 2) == others_by_reference(keys, packed, own, 2)


@given(st.lists(st.integers() | st.none() | st.binary() | st.builds(ValueError), max_size=9), st.randoms())
def test_the_compiled_replies_are_those_of_python(answers: list[Any], chance: Random) -> None:
    numbers = chance.sample(range(12), len(answers))
    ours: list[Any] = [None] * 12
    theirs: list[Any] = [None] * 12
    is_fine = wire.place_replies(ours, numbers, answers)
    assert is_fine == wire.place_replies_by_reference(theirs, numbers, answers)
    assert ours == theirs


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.binary(max_size=1200), min_size=1, max_size=12)), max_size=9))
def test_the_compiled_requests_are_those_of_python(some: list[tuple[int, list[bytes]]]) -> None:
    commands = [Command(slot, tuple(words)) for slot, words in some]
    owners = [("a", 1), ("b", 2), None, ("a", 1)]
    assert wire.requests(commands, owners) == wire.requests_by_reference(commands, owners)


@pytest.mark.skipif(compiled is None, reason="the commands are not compiled")
def test_compiled_commands_refuse_what_are_no_bytes() -> None:
    layout = ShardLayout(KeyNames("news"), "", PAGES)
    for wrong in (b"short", b"longer.", None):
        with pytest.raises(ValueError, match="a key of 6 bytes is needed"):
            layout.read_buckets([wrong])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        layout.read_buckets(["string"])  # type: ignore[list-item]
    for words in (("GET", "a"), (b"GET", None)):
        with pytest.raises(TypeError):
            wire.requests([Command(0, words)], [None])  # type: ignore[arg-type]


def test_buckets_of_a_tag_are_spread_over_its_hashes() -> None:
    layout = ShardLayout(KeyNames("news"), "", PAGES)
    chance = Random(1)
    names = [layout.bucket(b"\0\x01" + chance.randbytes(4)).words[1] for _ in range(122 * 64)]
    assert set(names) == set(layout.bucket_keys(0, 10**6))
    assert max(map(names.count, set(names))) < 128


def test_pages_are_kept_found_and_removed(nodes: Cluster) -> None:
    with planned(nodes) as store:
        offers = store.add_many(stories(range(50)))
        assert all(offer.id is not None for offer in offers)
        copies = store.add_many(stories(range(50), "b"))
        assert [[hit.record.url for hit in each.candidates] for each in copies] == [
            [f"http://a/{n}"] for n in range(50)
        ]
        assert len(store.find(stories(range(1))[0].keys)) == 1
        assert store.lookup("http://a/7") is not None
        assert store.forget("http://a/7") == 1
        assert store.lookup("http://a/7") is None
        assert store.add(stories(range(7, 8), "c")[0]).id is not None
        info = store.info()
        assert (info.pages, info.layout) == (50, "sharded")
        assert info.bytes > 50 * 100
        assert store.prune(float("inf")) == 50
        assert store.find(stories(range(1))[0].keys) == ()


def test_workers_use_the_number_of_hashes_that_the_namespace_has(nodes: Cluster) -> None:
    with planned(nodes) as first, planned(nodes, 0) as second, planned(nodes, 10**8) as third:
        assert [each.protocol.layout.shelves for each in (first, second, third)] == [122] * 3
        first.add_many(stories(range(20)))
        for other in (second, third):
            assert not any(offer.id for offer in other.add_many(stories(range(20), "b")))
    with open_existing(nodes.url, "news") as found:
        assert found.lookup("http://a/3") is not None


def test_a_namespace_without_a_plan_stays_as_it_is(nodes: Cluster) -> None:
    with planned(nodes, 0) as first, planned(nodes) as second:
        assert (first.protocol.layout.shelves, second.protocol.layout.shelves) == (1, 1)
        first.add_many(stories(range(20)))
        assert not any(offer.id for offer in second.add_many(stories(range(20), "b")))


@pytest.mark.parametrize("pages", [0, PAGES, 10**7])
def test_a_reset_removes_all_hashes_and_takes_the_new_plan(nodes: Cluster, pages: int) -> None:
    with planned(nodes) as store:
        store.add_many(stories(range(200)))
    with planned(nodes, pages, reset=True) as store:
        assert store.protocol.layout.shelves == ShardLayout(KeyNames("news"), "", pages).shelves
        assert store.info().pages == 0
        left = [key for node in nodes.primaries() for key in _keys(node)]
        assert [key for key in left if b":b" in key or b":r" in key] == []


def _keys(node: Any) -> list[bytes]:
    with node.client() as client:
        return list(client.scan_iter("dedupcrawl:*", count=10_000))


def test_a_store_moves_into_a_plan(nodes: Cluster, tmp_path: Path) -> None:
    with open_store("memory://", namespace="news", scheme={}) as old:
        old.add_many(stories(range(30)))
        export_records(old, tmp_path / "export")
    with planned(nodes) as store:
        import_records(tmp_path / "export", store)
        assert not any(offer.id for offer in store.add_many(stories(range(30), "b")))


def test_full_hashes_are_flat_lists(nodes: Cluster) -> None:
    """A tag as full as with a million pages: 977 of them, 8 keys each."""
    chance = Random(2)
    with planned(nodes) as store:
        store.add_many([_under_one_tag(n, chance) for n in range(977)])
        hashes = {*store.protocol.layout.bucket_keys(0, 122), *store.protocol.layout.record_keys(0, 1, 31)}
        found = []
        for node in nodes.primaries():
            with node.client() as client:
                found += [client.object("ENCODING", key.decode()) for key in sorted(hashes & {*_keys(node)})]
        assert len(found) == 122 + 30
        assert {*found} <= {b"listpack", "listpack"}


def _under_one_tag(n: int, chance: Random) -> Any:
    keys = tuple(b"\0" + bytes([chance.randrange(64)]) + chance.randbytes(4) for _ in range(8))
    return replace(record(f"http://a/{n}", n), keys=keys)


@pytest.mark.parametrize("layout", [b"sharded-0", b"sharded-x", b"sharded-1", b"sharded-", b"hash-4"])
def test_a_damaged_number_of_hashes_is_refused(nodes: Cluster, layout: bytes) -> None:
    planned(nodes).close()
    for node in nodes.primaries():
        with node.client() as client:
            if b"dedupcrawl:{news}:meta" in _keys(node):
                client.hset(
                    "dedupcrawl:{news}:meta", "mark", b"%b %b 00" % (format_of(layout.decode()).encode(), layout)
                )
    with pytest.raises(StoreError, match="has a value that is not one of ours"):
        planned(nodes)


@pytest.mark.parametrize(("pages", "planned_for"), [(0, 8_192), (30_000, 32_768)])
def test_a_namespace_that_has_outgrown_its_plan_is_reported(
    nodes: Cluster, caplog: pytest.LogCaptureFixture, pages: int, planned_for: int
) -> None:
    with planned(nodes, pages) as store:
        layout = store.protocol.layout
        full = [(n, name) for n in range(0, TAGS, TAGS // SHELVES) for name in layout.bucket_keys(n, SHELVES)]

        def fill(first: int, after: int) -> None:
            fields = [part for n in range(first, after) for part in (b"%d" % n, b"id")]
            store.protocol.wire.ask([Command(layout.stages(n)[0], (b"HSET", name, *fields)) for n, name in full])

        buckets = planned_for * 8 // TAGS // layout.shelves
        fill(0, 6 * buckets)
        with planned(nodes, pages):
            assert "planned for" not in caplog.text
        fill(6 * buckets, 6 * buckets + 1)
        with planned(nodes, pages):
            pass
        [said] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert f"is planned for {planned_for}: each takes up to 250 bytes more than it needs" in said


def test_only_clusters_are_planned() -> None:
    assert read_address("redis-cluster://a?pages=1000").pages == 1000
    assert read_address("redis-cluster://a").pages == 1_000_000
    for url in ("redis://a?pages=1000", "redis+cluster://a?pages=1000", "redis-cluster://a?pages=-1"):
        with pytest.raises(SettingError):
            read_address(url)
