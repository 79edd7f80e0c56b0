"""Many workers, one server: ``python -m benchmarks.shared [race] [peers] [growth] [hot]`` (default: all).

A Valkey server (or ``--server``, the path of another one) is started for this on a free port, without
persistence. ``race``: eight processes offer the same pages, a quarter of them copies, each in an order of its
own; each story must be kept once. ``peers``: one client checks pages with this store and with datasketch's
``MinHashLSH`` on the same server, in turns. ``growth``: time in the server for each call (``INFO
commandstats``) and its memory for a page, as a namespace grows, in both layouts. ``hot``: the same when all
pages share keys. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from datasketch import MinHashLSH

from benchmarks.store import BANDS, ROWS, SLOTS, Contender, Made, make, of_datasketch, of_store
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import BUCKET_CAP, KEY_BYTES, Record, url_key
from dedupcrawl.stores.redis.store import RedisStore
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupcrawl.stores.base import Store

WORKERS = 8
PAGES, DISTINCT = 20_000, 15_000
FLAT, TIMES_PEER, HOT_US = 1.5, 20.0, 1000.0  #: bars
PAGE_BYTES = {"hash": 1400, "compact": 800}
BATCH = 500
ROUNDS = 15


# -- race ---------------------------------------------------------------------------------------


def page_of(number: int) -> Record:
    """Page ``number``: the first ``DISTINCT`` tell a story each, the others repeat one of them."""
    story = Random(number if number < DISTINCT else Random(number).randrange(DISTINCT))
    exact, sketch = story.randbytes(16), story.randbytes(9 + SLOTS)
    bands = [story.randbytes(KEY_BYTES) for _ in range(BANDS)]
    url = f"https://news.example.org/{number}/{story.randbytes(16).hex()}.html"
    return Record(url, (exact[:KEY_BYTES], *bands, url_key(url)), (exact, sketch), 1.7e9 + number)


def kept_by(url: str, namespace: str, worker: int, pages: int) -> list[bytes]:
    """Offer the pages in an order of our own; return the stories that this worker kept."""
    order = list(range(pages))
    Random(worker).shuffle(order)
    with open_store(url, namespace=namespace, scheme={}, lease=600.0) as store:
        made = map(page_of, order)
        return [page.sketches[0] for page in made if is_first(store, page)]


def is_first(store: Store, page: Record) -> bool:
    """Keep a page unless it is a copy of one that is there."""
    since = 0
    while True:
        offer = store.offer(page, since)
        if offer.id is not None:
            store.commit([offer.id])
            return True
        if any(each.record.sketches == page.sketches for each in offer.candidates):
            return False
        since = offer.candidates[-1].id


def race(server: Server, runs: int) -> bool:
    """Run it; whether each story was kept once in every run."""
    fine = 0
    stories = {page_of(number).sketches[0] for number in range(PAGES)}
    for run in range(runs):
        begun = time.perf_counter()
        with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
            jobs = [pool.submit(kept_by, server.url, f"race {run}", each, PAGES) for each in range(WORKERS)]
            kept = Counter(story for job in jobs for story in job.result())
        twice = sum(times > 1 for times in kept.values())
        exact = kept.keys() == stories and not twice
        fine += exact
        print(
            f"race {run + 1}: {WORKERS} processes, {PAGES:,} pages each, {len(stories):,} stories: "
            f"{kept.total():,} kept, {len(stories - kept.keys())} lost, {twice} kept twice "
            f"({time.perf_counter() - begun:.0f} s)",
            flush=True,
        )
        empty(server)
    return verdict(fine == runs, f"exactly the distinct pages are kept in {fine} of {runs} runs")


# -- peers --------------------------------------------------------------------------------------


def on_server(server: Server) -> Contender:
    """The index of datasketch on the same server, with the bands of our default: query, then insert."""
    place = {"host": "127.0.0.1", "port": server.port}
    storage = {"type": "redis", "basename": b"peer", "redis": place}
    return of_datasketch(MinHashLSH(num_perm=SLOTS, params=(BANDS, ROWS), storage_config=storage))


def peers(server: Server, turns: int = 20, turn: int = 100) -> bool:
    """Take turns on the same pages, by the clock on the wall."""
    with open_store(server.url, namespace="peers", scheme={}) as store:
        ours, theirs = of_store("ours", store), on_server(server)
        for n in range(turns):
            made = [make(number) for number in range(n * turn, (n + 1) * turn)]
            for each in (ours, theirs) if n % 2 else (theirs, ours):
                each.times.append(seconds_for(each, made) / turn)
    for each in (ours, theirs):
        print(f"peers: {each.name}: {1 / statistics.median(each.times):,.0f} checks a second")
    ratio = statistics.median(slow / fast for slow, fast in zip(theirs.times, ours.times, strict=True))
    return verdict(
        ratio >= TIMES_PEER, f"{ratio:.1f} x datasketch on Redis, one client (bar: {TIMES_PEER:.0f} x)"
    )


def seconds_for(contender: Contender, made: Sequence[Made]) -> float:
    """Let a contender check these pages."""
    ready = [contender.prepare(each) for each in made]
    begun = time.perf_counter()
    for each in ready:
        contender.check(each)
    return time.perf_counter() - begun


# -- growth -------------------------------------------------------------------------------------


def fill(store: Store, pages: Iterator[Record]) -> None:
    """File pages, many to a round trip; copies are left out as an offer would."""
    keys: set[bytes] = set()
    fresh = (page for page in pages if keys.isdisjoint(page.keys) and not keys.update(page.keys))
    for batch in batches(fresh):
        store.restore(batch)


def batches(pages: Iterator[Record]) -> Iterator[list[Record]]:
    """Deal pages to lists of ``BATCH``."""
    batch: list[Record] = []
    for page in pages:
        batch.append(page)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def per_call(server: Server, work: Callable[[], None]) -> float:
    """Microseconds that the server took for each script call of a piece of work."""
    with server.client() as client:
        client.config_resetstat()
        work()
        stats: dict[str, Any] = client.info("commandstats")["cmdstat_evalsha"]
        return float(stats["usec_per_call"])


def check_all(store: Store, pages: Sequence[Record]) -> None:
    """Offer pages once, and commit those that were filed."""
    for page in pages:
        offer = store.offer(page)
        if offer.id is not None:
            store.commit([offer.id])


def growth(server: Server, small: int, large: int) -> bool:
    """Fill a small and a large namespace in both layouts; then ask all four in turns.

    So a noisy machine disturbs all alike, and what grows with the pages is told from what does not.
    """
    stores = {
        (layout, pages): _grown(server, layout, pages) for layout in PAGE_BYTES for pages in (small, large)
    }
    times: dict[tuple[str, int], list[float]] = {name: [] for name in stores}
    for turn in range(ROUNDS):
        fresh = [make(10**7 + turn * 200 + n).record for n in range(200)]
        for name, store in stores.items():
            times[name].append(per_call(server, partial(check_all, store, fresh)))
    fine = True
    for (layout, pages), store in stores.items():
        info, each = store.info(), times[layout, pages]
        a_page = info.bytes / info.pages
        print(
            f"growth: {layout}: {info.pages:,} pages: {statistics.median(each):.1f} µs in the server a call "
            f"(offer or commit, fastest turn {min(each):.1f}), {a_page:.0f} bytes a page"
        )
        bar = PAGE_BYTES[layout]
        fine &= verdict(a_page <= bar, f"{layout}: {a_page:.0f} bytes a page (bar: {bar})")
    for layout in PAGE_BYTES:
        pairs = zip(times[layout, large], times[layout, small], strict=True)
        ratio = statistics.median(much / little for much, little in pairs)
        fine &= verdict(
            ratio <= FLAT, f"{layout}: {ratio:.2f} x the time with {large:,} pages (bar: {FLAT} x)"
        )
    for store in stores.values():
        store.close()
    return fine


def _grown(server: Server, layout: str, pages: int) -> RedisStore:
    """Make a namespace to which this many pages were offered."""
    with server.client() as client:
        before = client.info("memory")["used_memory"]
    url = f"{server.url}?layout={layout}"
    store = open_store(url, namespace=f"{layout} {pages}", scheme={}, lease=3600.0)
    assert isinstance(store, RedisStore)
    check_all(store, [make(10**9).record])  # so that the server knows the scripts
    fill(store, (make(number).record for number in range(pages)))
    with server.client() as client:
        used = client.info("memory")["used_memory"] - before
    print(f"growth: {layout}: {pages:,} offered: {used / store.info().pages:.0f} bytes of used_memory a page")
    return store


# -- hot ----------------------------------------------------------------------------------------


def hot(server: Server, pages: int) -> bool:
    """Pages of one template: all share the keys of their bands, and no two are copies."""
    template = make(7).record.keys[1:-1]
    fine = True
    for layout in PAGE_BYTES:
        with open_store(f"{server.url}?layout={layout}", namespace=layout, scheme={}, lease=3600.0) as store:
            records = [
                replace(each, keys=(each.keys[0], *template, each.keys[-1]))
                for each in map(_plain, range(pages))
            ]
            for each in records[:100]:
                is_first(store, each)
            with server.client() as client:
                client.config_set("slowlog-log-slower-than", round(HOT_US))
                client.slowlog_reset()
            mean = per_call(server, partial(_offer_all, store, records[100:]))
            with server.client() as client:
                slow = sum(b"EVALSHA" in each["command"].upper() for each in client.slowlog_get(1000))
            info = store.info()
            print(
                f"hot: {layout}: {info.pages:,} pages under {len(template)} keys, {BUCKET_CAP} candidates: "
                f"{mean:.0f} µs a call in the mean, {slow} of some {3 * pages:,} calls above a millisecond; "
                f"{info.hot} hot buckets"
            )
            fine &= verdict(
                mean < HOT_US, f"{layout}: {mean:.0f} µs for a call in a hot bucket (bar: {HOT_US:.0f} µs)"
            )
    empty(server)
    return fine


def _plain(number: int) -> Record:
    return make(2 * 10**6 + number).record


def _offer_all(store: Store, records: Sequence[Record]) -> None:
    """As a crawl does: the candidates are no copies, so each page is offered a second time."""
    for each in records:
        offer = store.offer(each)
        while offer.id is None:
            offer = store.offer(each, offer.candidates[-1].id)
        store.commit([offer.id])


# -- running ------------------------------------------------------------------------------------


def verdict(fine: bool, text: str) -> bool:
    """Say whether a bar is met."""
    print(f"{'ok    ' if fine else 'MISSED'} {text}", flush=True)
    return fine


def empty(server: Server) -> None:
    """Throw away what is there."""
    with server.client() as client:
        client.flushall()


def main() -> int:
    """Run the parts that were asked for; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[], help="race, peers, growth, hot")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--pages", type=int, nargs=2, default=[10_000, 500_000])
    parser.add_argument("--hot", type=int, default=10_000)
    parser.add_argument("--server", default=binaries()["valkey"])
    given = parser.parse_args()
    parts: dict[str, Callable[[Server], bool]] = {
        "race": lambda server: race(server, given.runs),
        "peers": peers,
        "growth": lambda server: growth(server, *given.pages),
        "hot": lambda server: hot(server, given.hot),
    }
    unknown = set(given.parts) - parts.keys()
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    fine = True
    for name in given.parts or parts:
        server = Server(given.server).start()
        try:
            fine &= parts[name](server)
        finally:
            server.remove()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
