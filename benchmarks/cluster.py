"""Claims over a cluster: ``python -m benchmarks.cluster [race] [cost] [storm] [distance]`` (default: all).

The benchmark starts a Valkey cluster of three primaries and three replicas on loopback. Exit code 1 if a bar is missed.

``race``
    Processes (``--workers``: eight) offer the same pages, in random order and all in the same order from a barrier.
    Each story must be kept exactly once.
``cost``
    CPU time of all primaries per page, new and duplicate, against that of one server; in batches and singly. Neither
    has replicas, or all have (``--replicas 1``): a server sends them each write, for which it takes time, too. CPU
    time of the client and awaited round trips per page, and the share of each primary in the work. The keys of pages
    are those of their sketches, so a cluster computes them instead of storing them.
``storm``
    Processes that offer pages are killed, replicas take over, primaries are killed, and slots move. Every page that is
    kept is written to a file before it is committed. At the end every story must be in a file, and none in those of
    two processes that were alive.
``distance``
    A crawl whose store is 50 ms away, against the same crawl beside it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.cluster_storm import Storm
from benchmarks.judged import BATCH, keep, small_page
from benchmarks.results import add_json_option, write_results
from benchmarks.shared import page_of
from dedupcrawl.config import Config
from dedupcrawl.detectors.minhash import HEADER, TAG
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import JudgedStore, url_key
from dedupcrawl.stores.redis.address import PLANNED
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.stores.redis.sharded.stored_sketches import stored_sketches
from dedupcrawl.utils.iteration import chunked
from tests.stores.servers import Cluster, Server, binaries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.stores.base import Record, Store

WORKERS = 8
SERVER_BARS = {"new, batched": 1.15, "duplicate, batched": 0.7, "new, singly": 1.6, "duplicate, singly": 1.2}
TURN = 200  #: pages that one of two sides is offered singly, before the other one is
CLIENT_US = 50.0
BALANCE = 0.05  #: of a third

_CONFIG = Config(detectors=("exact", "minhash"))
SCHEME = schemes(build_detectors(_CONFIG), _CONFIG)
_known = stored_sketches(SCHEME, None)
_ratios: dict[str, float] = {}
_figures: dict[str, float] = {}
_missed: list[str] = []


def check(name: str, value: float, bar: float) -> None:
    """Print a figure, and remember whether its bar is missed."""
    if value > bar:
        _missed.append(name)
    print(f"  {name}: {value:.3f} (bar {bar:g}) {'MISSED' if value > bar else 'holds'}", flush=True)


# -- race -----------------------------------------------------------------------------------------


def race_worker(url: str, namespace: str, numbers: list[int], barrier: Any, results: Any) -> None:
    """Offer these pages in this order."""
    pages = [small_page(n) for n in numbers]
    with open_store(url, namespace=namespace, scheme={}, lease=600.0) as store:
        assert isinstance(store, JudgedStore)
        barrier.wait()
        results.put([page.sketches[0] for page in keep(store, pages)])


def race(cluster: Cluster, runs: int, pages: int, workers: int, plan: int) -> None:
    """Let processes race for the same pages, in a namespace that is planned for so many."""
    stories = {page_of(n).sketches[0] for n in range(pages)}
    fine = 0
    for run in range(runs):
        cluster.empty()
        orders = [list(range(pages)) for _ in range(workers)]
        if run % 2 == 0:
            for worker, order in enumerate(orders):
                Random(run * workers + worker).shuffle(order)
        began = time.perf_counter()
        kept = Counter(story for part in _raced(planned(cluster, plan), f"race{run}", orders) for story in part)
        twice = sum(count > 1 for count in kept.values())
        lost = len(stories - kept.keys())
        fine += not lost and not twice
        how = "random orders" if run % 2 == 0 else "the same order from a barrier"
        print(
            f"race {run + 1}: {workers} processes, {pages:,} pages of {len(stories):,} stories, {how}: "
            f"{kept.total():,} kept, {lost} lost, {twice} twice ({time.perf_counter() - began:.0f} s)",
            flush=True,
        )
    _ratios["race: runs that keep each story once/all runs"] = fine / runs
    check("runs that keep a story never or twice", runs - fine, 0)


def planned(cluster: Cluster, pages: int) -> str:
    """Return the URL of a namespace that is planned for so many pages."""
    return f"{cluster.url}?pages={pages}"


def _raced(url: str, namespace: str, orders: Sequence[list[int]]) -> list[list[bytes]]:
    context = multiprocessing.get_context("spawn")
    results, barrier = context.Queue(), context.Barrier(len(orders))
    jobs = [context.Process(target=race_worker, args=(url, namespace, order, barrier, results)) for order in orders]
    for job in jobs:
        job.start()
    found = [results.get() for _ in jobs]
    for job in jobs:
        job.join()
    return found


# -- cost -----------------------------------------------------------------------------------------


def cpu_seconds(server: Server) -> float:
    """Return the CPU time of a server so far."""
    with server.client() as client:
        about = client.info("cpu")
    return float(about["used_cpu_user"]) + float(about["used_cpu_sys"])


@dataclass
class Cost:
    """What pages cost, in microseconds each."""

    server: float
    client: float
    trips: float = 0.0
    shares: tuple[float, ...] = ()


def crawled_page(number: int) -> Record:
    """Return a page as ``exact`` and ``minhash`` make it: random sketches, and the keys that follow from them."""
    page = page_of(number)
    text, sketch = page.sketches
    sketches = (text, HEADER.pack(TAG, 5000 + number, 800 + number) + sketch[HEADER.size :])
    keys = _known.keys(sketches) if _known else None
    assert keys is not None
    return replace(page, keys=(url_key(page.url), *keys), sketches=sketches, seen=time.time())


def copy_of(page: Record) -> Record:
    """Return a page with equal text under another URL."""
    url = f"{page.url}?copy"
    return replace(page, url=url, keys=(url_key(url), *page.keys[1:]))


def put_on_server(store: Store, pages: Sequence[Record]) -> None:
    """Claim and commit pages one by one, as a crawl does on one server."""
    for page in pages:
        offer = store.offer(page)
        if offer.id is not None:
            store.commit([offer.id])


def measured(store: Store, servers: Sequence[Server], pages: Sequence[Record], batch: int) -> Cost:
    """Put pages, and return what that cost."""
    before = [cpu_seconds(each) for each in servers]
    trips = store._wire.trips if isinstance(store, ShardedStore) else 0
    began = time.process_time()
    if isinstance(store, JudgedStore):
        keep(store, pages, batch)
    else:
        put_on_server(store, pages)
    client = time.process_time() - began
    spent = [cpu_seconds(each) - start for each, start in zip(servers, before, strict=True)]
    trips = store._wire.trips - trips if isinstance(store, ShardedStore) else 0
    count = len(pages)
    shares = tuple(each / sum(spent) for each in spent)
    return Cost(1e6 * sum(spent) / count, 1e6 * client / count, trips / max(1, count / batch), shares)


def cost(rounds: int, pages: int, plan: int, replicas: int) -> None:
    """Compare the CPU time of a cluster with that of one server, which has as many replicas as a primary."""
    found: dict[str, list[Cost]] = {}
    binary = next(iter(binaries().values()))
    cluster, single = Cluster(replicas=replicas), Server(binary)
    others = [Server(binary, ["--replicaof", "127.0.0.1", f"{single.port}"]) for _ in range(replicas)]
    try:
        cluster.start()
        single.start()
        for other in others:
            other.start()
            cluster.wait(lambda: _is_replica(single))
        for number in range(rounds):
            for batch, how in ((BATCH, "batched"), (1, "singly")):
                _cost_round(cluster, single, number, pages, batch, how, found, plan)
    finally:
        cluster.remove()
        for each in (single, *others):
            each.remove()
    for name, bar in SERVER_BARS.items():
        kind, how = name.split(", ")
        one, many = found[f"{kind}, {how}, one server"], found[name]
        # The two sides are measured in turns, so that other load affects both.
        ratio = median(each.server / beside.server for each, beside in zip(many, one, strict=True))
        client = min(each.client for each in many)
        print(
            f"{name}: servers {median(each.server for each in many):.1f} µs a page, one server "
            f"{median(each.server for each in one):.1f}; client {client:.1f} µs, for one server "
            f"{min(each.client for each in one):.1f}; {many[0].trips:.1f} trips"
        )
        _ratios[f"cluster/one server: CPU of the servers, {name}"] = ratio
        _figures[f"client: microseconds a page, {name}"] = client
        check(f"servers' CPU, {name}", ratio, bar)
        if how == "batched":
            check(f"client's CPU, {name}, µs", client, CLIENT_US)
    shares = [median(primary) for primary in zip(*(each.shares for each in found["new, batched"]), strict=True)]
    print("shares of the primaries:", ", ".join(f"{share:.1%}" for share in shares))
    check("distance of a primary's share from a third", max(abs(share - 1 / 3) for share in shares), BALANCE)


def _is_replica(server: Server) -> bool:
    """Whether a server sends its writes to another one."""
    with server.client() as client:
        return "online" in str(client.info("replication"))


def _cost_round(
    cluster: Cluster,
    single: Server,
    number: int,
    pages: int,
    batch: int,
    how: str,
    found: dict[str, list[Cost]],
    plan: int,
) -> None:
    first = [crawled_page(n) for n in range(pages)]
    copies = [copy_of(page) for page in first]
    primaries, opened = cluster.primaries(), partial(open_store, namespace=f"cost{number}{how}", scheme=SCHEME)
    with opened(single.url) as one, opened(planned(cluster, plan)) as many:
        assert isinstance(many, ShardedStore)
        put_on_server(one, [crawled_page(pages + n) for n in range(50)])
        keep(many, [crawled_page(pages + n) for n in range(50)])
        for kind, some, duplicates in (("new", first, 0.0), ("duplicate", copies, 1.0)):  # 1: as with many copies
            many._protocol._duplicates = duplicates
            for part in chunked(some, pages if batch > 1 else TURN):
                found.setdefault(f"{kind}, {how}, one server", []).append(measured(one, [single], part, 1))
                found.setdefault(f"{kind}, {how}", []).append(measured(many, primaries, part, batch))


# -- storm ----------------------------------------------------------------------------------------


def storm(cluster: Cluster, stories: int, kills: int, failovers: int, plan: int, *, strict: bool) -> None:
    """Make a storm."""
    cluster.empty()
    url = f"{cluster.url}?pages={plan}&wait_replicas={strict:d}"
    with tempfile.TemporaryDirectory() as folder:
        made = Storm(cluster, url, Path(folder), stories, kills, failovers)
        began = time.perf_counter()
        made.run()
        with open_store(url, namespace="storm", scheme={}) as store:
            assert isinstance(store, JudgedStore)
            missing = len(keep(store, [small_page(n) for n in range(stories)]))
            left = store.info().open
        lost, twice, again = made.damage()
    events = ", ".join(f"{count} {name}" for name, count in made.events.items())
    print(
        f"storm: {events}; {stories:,} stories: {lost} lost, {twice} twice, {again} again after a kill; {missing} "
        f"unknown to the store, {left} claims left ({time.perf_counter() - began:.0f} s)"
    )
    _figures.update({"storm: stories lost": lost, "storm: stories twice": twice, "storm: again after a kill": again})
    check("stories lost", lost, 0)
    check("stories stored twice by living workers", twice, 0)


# -- distance -------------------------------------------------------------------------------------


def distance(cluster: Cluster) -> None:
    """Crawl beside a cluster and 50 ms away from it."""
    command = [sys.executable, "-m", "benchmarks.latency", "--store", cluster.url, "--rounds", "3"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    print(done.stdout.strip() or done.stderr[-2000:])
    if done.returncode:
        _missed.append("a crawl 50 ms away")


PARTS = ("race", "cost", "storm", "distance")


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--runs", type=int, default=10, help="of the race")
    parser.add_argument("--pages", type=int, default=20_000, help="of a race")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes of a race")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--failovers", type=int, default=20)
    parser.add_argument("--strict", action="store_true", help="the storm waits for a replica (wait_replicas=1)")
    parser.add_argument("--stories", type=int, default=3000, help="of the storm")
    parser.add_argument("--rounds", type=int, default=4, help="of the cost")
    parser.add_argument("--replicas", type=int, default=0, help="of each server in the cost")
    parser.add_argument("--plan", type=int, default=PLANNED, help="pages that the namespaces are planned for")
    add_json_option(parser)
    args = parser.parse_args()
    parts = args.parts or PARTS
    if "cost" in parts:
        cost(args.rounds, 2000, args.plan, args.replicas)
    cluster = Cluster(("--cluster-node-timeout", "3000"))  # in the storm replicas take over by themselves
    try:
        cluster.start()
        if "race" in parts:
            race(cluster, args.runs, args.pages, args.workers, args.plan)
        if "storm" in parts:
            storm(cluster, args.stories, args.kills, args.failovers, args.plan, strict=args.strict)
        if "distance" in parts:
            distance(cluster)
    finally:
        cluster.remove()
    write_results(args.json, "cluster", ratios=_ratios, figures=_figures)
    sys.exit(f"missed: {', '.join(_missed)}" if _missed else 0)


if __name__ == "__main__":
    main()
