"""Whatever keys a server evicts, at whatever moment: no article that was never stored counts as stored."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import OutOfMemoryError

from dedupcrawl import Deduplicator
from dedupcrawl.decision import Claim
from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import ClaimState, Record
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.namespace import KeyNames
from tests.stores.factories import Opener, key, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from tests.stores.servers import Server

LEASE = 60.0
MIN_CRAWLS, MAX_CRAWLS = 6, 60  #: over a server that evicts keys; more than the fewest until a stored page was lost
STORED, RELEASED, ABANDONED = range(2), range(2, 5), range(5, 8)  #: what becomes of the articles
KEYS = KeyNames("news")
NAMES = [*KEYS.all, KEYS.key("workers"), KEYS.key("buckets:0"), KEYS.key("buckets:1")]
#: The server frees memory before it goes on: a thread of its own may come too late on a busy machine.
AT_ONCE = tuple(
    word for what in ("eviction", "user-flush", "user-del", "server-del") for word in (f"--lazyfree-lazy-{what}", "no")
)
POLICIES = ("allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction")
VOLATILE = ("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl")


# -- each single key, at each moment -------------------------------------------------------------


class Story:
    """A worker claims articles, stores two of them, withdraws others, and dies. Another brings copies."""

    def __init__(self, opener: Opener, kept: bool) -> None:
        self.opener = opener
        self.kept = kept  # whether the other worker keeps its copies, or only looks
        self.stored: set[int] = set()
        self.ids: list[int] = []
        self.first = opener(lease=LEASE)
        self.second = opener(lease=LEASE)
        self.steps: list[Callable[[], object]] = [
            self.claim,
            lambda: [self.first.scraped(self.ids[n]) for n in (0, 2, 5)],
            self.commit,
            self.first.renew,
            self.copies,
            lambda: self.first.release([self.ids[n] for n in RELEASED]),
            self.copies,
            self.end_of_lease,
            self.copies,
            lambda: self.second.prune(0.0),
            self.newcomer,
            self.copies,
        ]

    def claim(self) -> None:
        for n in (*STORED, *RELEASED, *ABANDONED):
            id = self.first.offer(article(n, "a"), since=2**63 - 1).id
            assert id is not None
            self.ids.append(id)

    def commit(self) -> None:
        self.first.commit([self.ids[n] for n in STORED])
        self.stored.update(STORED)

    def end_of_lease(self) -> None:
        self.opener.clock.now += LEASE + 1

    def newcomer(self) -> None:
        """A worker that has seen no id yet files other articles."""
        third = self.opener(lease=LEASE)
        for n in range(100, 104):
            third.add(article(n, "c"))

    def copies(self) -> None:
        for n in (*STORED, *RELEASED, *ABANDONED):
            page = article(n, "b")
            seen = self.second.find([key(n)])
            self.check(n, [hit.state for hit in seen if key(n) in hit.record.keys])
            if self.kept and self.is_kept(page, n):
                self.stored.add(n)

    def is_kept(self, page: Record, n: int) -> bool:
        offer = self.second.offer(page)
        self.check(n, [hit.state for hit in offer.candidates if key(n) in hit.record.keys])
        return offer.id is not None and self.second.commit([offer.id]) == 1

    def check(self, n: int, states: list[ClaimState]) -> None:
        assert n in self.stored or ClaimState.COMMITTED not in states, f"article {n} was never stored"

    def finish(self) -> None:
        """Everything that is left of the dead worker's claims has ended by now."""
        for n in {*RELEASED, *ABANDONED} - self.stored:
            assert [hit for hit in self.second.find([key(n)]) if key(n) in hit.record.keys] == []


def article(n: int, host: str) -> Record:
    return record(f"http://{host}/{n}", n)


@pytest.mark.parametrize("kept", [True, False], ids=["keeps", "looks"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_loss_of_any_key_at_any_moment_drops_no_article(server: Server, layout: str, kept: bool) -> None:
    moments = len(Story(Opener(server.laid_out(layout)), kept).steps)
    with server.client() as client:
        client.select(LAYOUTS.index(layout))
        for moment in range(moments):
            for name in NAMES:
                client.flushdb()
                opener = Opener(server.laid_out(layout))
                story = Story(opener, kept)
                for n, step in enumerate(story.steps):
                    step()
                    if n == moment:
                        client.delete(name)
                story.finish()
                opener.close()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lost", ["claims", "records"])
def test_a_committed_page_whose_record_is_lost_is_filed_again(server: Server, layout: str, lost: str) -> None:
    """Its owner notices at the commit that the claim was lost; copies that come later are found again."""
    text = "The harbour froze over in the night. The ferries stayed at their piers, and children skated. " * 3
    with Deduplicator(server.laid_out(layout), "news") as one, Deduplicator(server.laid_out(layout), "news") as two:
        claim = one.claim(text=text, url="http://a/1")
        with server.client() as client:
            client.select(LAYOUTS.index(layout))
            client.delete(KEYS.key(lost))
        claim.commit()
        assert two.check(text=text, url="http://b/1").of == "http://a/1"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stale_claims_are_pruned(server: Server, layout: str) -> None:
    with Opener(server.laid_out(layout))() as store, server.client() as client:
        client.select(LAYOUTS.index(layout))
        for n in range(3):
            assert store.offer(article(n, "a")).id is not None
        client.delete(KEYS.key("records"))
        assert store.info().open == 3
        store.prune(0.0)
        assert (store.info().open, store.info().pages) == (0, 0)


# -- real policies -------------------------------------------------------------------------------


@dataclass
class Crawl:
    """Articles that are claimed, stored, withdrawn or left open while another program fills the server."""

    url: str
    namespace: str
    stored: set[int] = field(default_factory=set)
    wrongly_dropped: list[int] = field(default_factory=list)
    dropped: int = 0
    kept_again: int = 0

    def run(self, press: Callable[[str], object]) -> None:
        with self.opened() as first, self.opened() as second:
            claims = {n: claim for n in range(60) if (claim := self.claim(first, n, "a")) is not None}
            press(self.namespace)
            self.settle(first.commit, [claim for n, claim in claims.items() if n < 20])
            self.stored.update(n for n in claims if n < 20)
            self.copies(second, "b")
            press(self.namespace)
            self.settle(first.release, [claim for n, claim in claims.items() if 20 <= n < 40])
            self.copies(second, "c")
            press(self.namespace)
            self.settle(first.release, [claim for n, claim in claims.items() if n >= 40])
            self.copies(second, "d")

    @staticmethod
    def settle(how: Callable[[list[Claim]], object], claims: list[Claim]) -> None:
        """Commit or release claims; the server may evict the namespace again while that is done."""
        with suppress(StoreError):
            how(claims)

    def opened(self) -> Deduplicator:
        return Deduplicator(self.url, self.namespace, min_chars=20)

    def copies(self, dedup: Deduplicator, host: str) -> None:
        for n in range(60):
            claim = self.claim(dedup, n, host)
            if claim is not None and claim.verdict.keep:
                self.kept_again += n in self.stored
                self.stored.add(n)
                self.settle(dedup.commit, [claim])
            elif claim is not None:
                self.dropped += 1
                if n not in self.stored:
                    self.wrongly_dropped.append(n)

    def claim(self, dedup: Deduplicator, n: int, host: str) -> Claim | None:
        """Return the claim; None for a page that must wait, or that the store has no room for."""
        page = dedup.read(
            text=" ".join(f"{self.namespace}{n}word{each}" for each in range(40)), url=f"http://{host}/{n}"
        )
        try:
            claim = dedup.try_claim(page)  # type: ignore[arg-type]  # it is no verdict
        except StoreError:
            return None
        return claim if isinstance(claim, Claim) else None


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", [*POLICIES, *VOLATILE])
def test_no_policy_drops_an_article_that_was_never_stored(own: Callable[..., Server], policy: str, layout: str) -> None:
    server = own("--maxmemory-policy", policy, "--maxmemory-samples", "3", "--lfu-log-factor", "1", *AT_ONCE)
    with server.client() as client:
        limit = client.info("memory")["used_memory"] + 1_500_000
        client.config_set("maxmemory", limit)
        crawls: list[Crawl] = []
        lost = 0
        random = Random(1)
        while len(crawls) < MIN_CRAWLS or (policy.startswith("allkeys") and not lost and len(crawls) < MAX_CRAWLS):
            crawl = Crawl(f"{server.url}?layout={layout}", f"n{len(crawls)}")
            crawl.run(lambda namespace: press(client, policy, namespace, random))
            client.execute_command("FLUSHDB", "SYNC")  # the default of Valkey frees the memory later
            crawls.append(crawl)
            lost += crawl.kept_again
        evicted: Any = client.info("stats")["evicted_keys"]
    assert [crawl.wrongly_dropped for crawl in crawls] == [[]] * len(crawls)
    assert sum(crawl.dropped for crawl in crawls) > 0
    assert (evicted > 0) == (policy != "noeviction")
    assert lost > 0 or not policy.startswith("allkeys")


def press(client: Redis, policy: str, namespace: str, random: Random) -> None:
    """Fill the server. Under LRU and LFU one key of the store, drawn by lot, is first made the server's oldest.

    All keys of a short test are equally recent, as far as the server's clock of seconds tells; which of them it
    evicts would depend on the speed of the machine.
    """
    lru, lfu = policy == "allkeys-lru", policy == "allkeys-lfu"
    names = sorted(client.keys(KeyNames(namespace).key("*"))) if lru or lfu else []
    if names:
        name = random.choice(names)
        value = client.dump(name)
        assert isinstance(value, bytes)
        client.restore(name, 0, value, replace=True, idletime=1000 if lru else None, frequency=0 if lfu else None)
    fill(client, volatile=policy in VOLATILE)


def fill(client: Redis, *, volatile: bool) -> None:
    """Let the keys of another program, which it reads often, grow until some keys have been evicted."""
    before = client.info("stats")["evicted_keys"]
    for n in range(200):
        name = f"other:{n % 12}"
        client.touch(*[name] * 300)
        try:
            client.append(name, bytes(20_000))
        except OutOfMemoryError:
            return
        if volatile:
            client.expire(name, 1000)
        if client.info("stats")["evicted_keys"] > before + 1:
            return
