"""Replies that are no replies: every call succeeds or raises ``DedupError``, and no page is lost."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import InvalidResponse

from dedupcrawl import Deduplicator, Page
from dedupcrawl.decision import Claim
from dedupcrawl.errors import DedupError
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.redis.replies import MAX_ELEMENTS, ReplyFilter, is_reply
from dedupcrawl.stores.redis.scripts import OPERATIONS as SCRIPT_OPERATIONS
from dedupcrawl.stores.site_tables import SiteTable
from tests.batch.corpus import story
from tests.stores.garbling import WAYS, Garbler, end_of_reply
from tests.stores.servers import Server, binaries, cluster_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPERATIONS, STORIES = 150, 40
TABLE = SiteTable(5, {1: 5, 2: 1}).pack(0.0)


@pytest.fixture(scope="module")
def node() -> Iterator[Server]:
    """The only node of a cluster, which has all slots; it sends its clients to the port that is announced."""
    server = Server(binaries()["valkey"], ("--cluster-enabled", "yes"), port=cluster_port())
    server.start()
    try:
        with server.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            while "cluster_state:ok" not in str(client.execute_command("CLUSTER", "INFO")):
                time.sleep(0.05)
        yield server
    finally:
        server.remove()


@pytest.mark.parametrize("operation", [each for some in SCRIPT_OPERATIONS.values() for each in some])
def test_a_float_is_no_reply_to_any_operation(operation: str) -> None:
    assert not is_reply(operation, 0.5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_answers_anything_raises_our_errors_only(server: Server, way: str, seed: int) -> None:
    with Garbler(server.port, way, seed) as garbler:
        use(f"redis://127.0.0.1:{garbler.port}/0?socket_timeout=0.3", seed, is_mixed_up=way == "mixed up")
        assert garbler.garbled


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("way", WAYS)
def test_a_node_that_answers_anything_raises_our_errors_only(node: Server, way: str, seed: int) -> None:
    with node.client() as client, Garbler(node.port, way, seed, every=60) as garbler:
        client.flushall()
        client.config_set("cluster-announce-ip", "127.0.0.1")
        client.config_set("cluster-announce-port", garbler.port)
        url = f"redis-cluster://127.0.0.1:{garbler.port}?socket_timeout=0.3&pages=0"
        use(url, seed, is_mixed_up=way == "mixed up", scans=False)
        assert garbler.garbled


def use(url: str, seed: int, *, is_mixed_up: bool, scans: bool = True) -> None:
    """Call all methods in any order; reopen the store now and then.

    Args:
        url: of the store.
        seed: of the order.
        is_mixed_up: whether the reply to another request may come: it may be the id of another page's claim.
        scans: whether to call methods that read all records, which has thousands of replies on a cluster.
    """
    random, stored = Random(seed), set[int]()
    dedup: Deduplicator | None = None
    for _ in range(OPERATIONS if scans else OPERATIONS // 4):
        with suppress(DedupError):
            if dedup is None:
                dedup = Deduplicator(url, "news", lease=2.0)
            if random.randrange(3):
                number = random.randrange(STORIES)
                is_kept = claim(dedup, number, stored)
                assert is_kept or is_mixed_up or number in stored, "a page was dropped that was never stored"
            else:
                random.choice([*calls(dedup), *(scanning_calls(dedup) if scans else ())])()
        if not random.randrange(30) and dedup is not None:
            with suppress(DedupError):
                dedup.close()
            dedup = None
    if dedup is not None:
        with suppress(DedupError):
            dedup.close()


def claim(dedup: Deduplicator, number: int, stored: set[int]) -> bool:
    """Claim a page, and commit the claim; return whether the page was kept."""
    page = dedup.read(text=story(number), url=f"https://s{number % 3}.example/{number}")
    assert isinstance(page, Page)
    record = dedup.fingerprint(page)
    assert isinstance(record, Record)
    claimed = dedup.claim_record(record, page.url, give_up=True)
    assert isinstance(claimed, Claim)
    if claimed.verdict.keep:
        stored.add(number)
        claimed.commit()
    return claimed.verdict.keep


def calls(dedup: Deduplicator) -> list[Callable[[], object]]:
    return [
        dedup.renew,
        dedup.store.workers,
        dedup.try_filing,
        lambda: dedup.store.merge_sites({"s0.example": TABLE, "s1.example": TABLE}),
        lambda: dedup.store.load_sites(["s0.example", "none.example"]),
        lambda: list(dedup.store.sites()),
        lambda: dedup.store.forget_sites(["s1.example"]),
        lambda: dedup.store.notes.write("rules", "s0.example", {b"a": b"1", b"b": None}, 9),
        lambda: dedup.store.notes.read("rules", "s0.example", [b"a", b"none"]),
        lambda: dedup.store.notes.read_all("rules", "s0.example"),
        lambda: dedup.store.notes.add("rules", "s0.example", {b"n": 1}),
        lambda: dedup.store.notes.take("rules", "s0.example", 2, 1.0),
        dedup.store.notes.tables,
        lambda: dedup.store.notes.forget(["s1.example"]),
        lambda: dedup.store.notes.prune(0.0),
        dedup.store.notes.size,
        lambda: dedup.lookup("https://s0.example/3"),
        lambda: dedup.forget("https://s1.example/1"),
        lambda: dedup.add_many([Page.from_text(story(number), f"https://m.example/{number}") for number in (90, 91)]),
    ]


def scanning_calls(dedup: Deduplicator) -> list[Callable[[], object]]:
    return [dedup.info, lambda: dedup.prune(3600.0), lambda: list(dedup.store.records(lambda _: None))]


REPLIES = st.recursive(
    st.binary(max_size=30).map(lambda text: b"$%d\r\n%b\r\n" % (len(text), text))
    | st.sampled_from([b"*123456789\r\n", b"$6\r\n*999999\r\n"]).map(lambda text: b"$%d\r\n%b\r\n" % (len(text), text))
    | st.integers(0, 10**9).map(b":%d\r\n".__mod__),
    lambda parts: st.lists(parts, max_size=4).map(lambda some: b"*%d\r\n%b" % (len(some), b"".join(some))),
    max_leaves=20,
)


@given(reply=REPLIES, cuts=st.lists(st.integers(0, 400), max_size=5), is_long=st.booleans())
def test_long_lists_are_found_and_nothing_else(*, reply: bytes, cuts: list[int], is_long: bool) -> None:
    assert end_of_reply(reply, 0) == len(reply)
    data = reply + (b"*2\r\n:1\r\n*%d\r\n" % (MAX_ELEMENTS + 1) if is_long else b"*%d\r\n" % 99_999)
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    filtering = ReplyFilter()

    def add() -> None:
        for start, stop in pairwise(places):
            filtering.add(data[start:stop])

    if is_long:
        with pytest.raises(InvalidResponse, match=f"a list of {MAX_ELEMENTS + 1} elements"):
            add()
    else:
        add()
