"""What a cluster needs for 10⁷ to 10¹⁰ pages: ``python -m benchmarks.scaling [--from FILE]``.

First it measures bytes, commands and processor time of a page on a real cluster of three servers on this machine. A
namespace has 1,024 tags, so a tag that is filled like one of a large namespace shows its bytes without the rest: ten
million pages are measured with 9,766 under one tag. Then it calculates what to run, with the assumptions in
``Assumptions``. ``--from`` takes the measured figures from a file of ``--json``.

Records are random bytes with the shape of those of the default detectors. Their keys are under a few tags, and are not
those of their sketches: the store is made to take them for these.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.detectors.minhash import HEADER, TAG
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import KEY_BYTES, Record, scheme_json
from dedupcrawl.stores.redis.sharded.layout import TAGS
from dedupcrawl.stores.redis.sharded.packed_values import ValueCodec
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.utils.iteration import chunked
from tests.stores.servers import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLANNED = (10**7, 10**8, 10**9, 10**10)  #: kept pages
SIZES = (30_000, 1_000_000, 10_000_000)  #: pages of the namespaces, some of whose tags are filled
PLAN = 1_000_000  #: pages that namespaces are planned for to which other numbers are filed
FILED = (30_000, 100_000, 300_000, PLAN, 3_000_000, 10_000_000)  #: those numbers
MOST = 10_000  #: records that are filed for one size
TOGETHER = 200  #: pages in a batch
BANDS = 6  #: keys beside those of the text's hash and of the URL
EXACT = 16  #: bytes of the hash of a text


@dataclass(frozen=True, slots=True)
class Shape:
    """What determines the size of a record."""

    slots: int  #: of the minhash sketch, a byte each
    url: int  #: characters
    identity: int  #: bytes of names, values and layout, 0 for a page without
    is_planned: bool = True  #: whether the URL of the store names a number of pages above 0


#: What the plan takes; ``pages=0`` in the URL; short URLs and sketches; pages on which no names and values are found.
SHAPES = {
    "default settings": Shape(128, 93, 40),
    "`?pages=0` in the URL of the store": Shape(128, 93, 40, is_planned=False),
    "URLs of 42 characters": Shape(128, 42, 40),
    "64 slots, URLs of 92 characters": Shape(64, 92, 40),
    "64 slots, URLs of 42 characters": Shape(64, 42, 40),
    "a page without names and values": Shape(128, 93, 0),
    "the same, 64 slots, URLs of 92 characters": Shape(64, 92, 0),
    "the same, 64 slots, URLs of 42 characters": Shape(64, 42, 0),
}
DEFAULT = "default settings"
SMALLEST = "64 slots, URLs of 42 characters"  #: the smallest that settings allow


@dataclass(frozen=True, slots=True)
class Measured:
    """A page on the servers, with the default settings."""

    memory: float  #: bytes at the largest of ``SIZES``
    snapshot: float  #: bytes in a snapshot (RDB)
    new_us: float  #: processor time of all servers for a page that is kept, offered in a batch and committed
    duplicate_us: float  #: the same for a page that is dropped
    new_bytes: float  #: on the network, both directions
    duplicate_bytes: float


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the plan takes for granted."""

    days: float = 30.0  #: duration of the crawl
    duplicates: float = 0.3  #: share of the pages that are fetched
    peak: float = 3.0  #: highest rate relative to the mean
    memory_gb: float = 64.0  #: of a server
    memory_share: float = 0.6  #: of it for pages: the rest is for copies during a snapshot, buffers, fragmentation
    core_share: float = 0.5  #: of the one core on which a server executes commands, at the peak
    replicas: int = 1  #: of each primary
    lag_s: float = 1.0  #: by which a replica is behind at a failover; with a healthy one it is milliseconds
    batch_us: float = 130.0  #: processor time of a document in a batch (``benchmarks.batch``)
    batch_bytes: float = 400.0  #: work folder of a batch, a document


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run for a number of kept pages."""

    pages: int
    servers: int  #: primaries and replicas; 1: a single server suffices
    memory_gb: float  #: of all primaries
    bound_by: str  #: memory, processor or failover: what determines the number of primaries
    disk_gb: float  #: of all servers: two snapshots each
    pages_per_second: float  #: fetched, at the peak
    cores: float  #: busy in all primaries, at the peak
    network_mbit: float  #: of all primaries, at the peak, without replication
    lost: int  #: most pages that are stored twice after a failover, at the peak
    batch_core_hours: float  #: for a batch of all fetched pages instead
    batch_disk_gb: float


def plan(pages: int, page: Measured, given: Assumptions) -> Plan:
    """Calculate what to run.

    Args:
        pages: number of kept pages.
        page: what was measured.
        given: assumptions.

    A cluster needs three primaries to elect a new one. One server suffices while memory and core do.
    """
    fetched = pages / (1 - given.duplicates)
    rate = fetched / (given.days * 86400) * given.peak
    new, copies = rate * (1 - given.duplicates), rate * given.duplicates
    cores = (new * page.new_us + copies * page.duplicate_us) / 1e6
    memory = pages * page.memory / 1e9
    for_memory = math.ceil(memory / (given.memory_gb * given.memory_share))
    for_cores = math.ceil(cores / given.core_share)
    primaries = max(for_memory, for_cores)
    is_cluster = primaries > 1
    bound_by = ("memory" if for_memory >= for_cores else "processor") if primaries > 3 else "failover"
    servers = max(3, primaries) * (1 + given.replicas) if is_cluster else 1
    copies_of_data = 1 + given.replicas if is_cluster else 1
    return Plan(
        pages=pages,
        servers=servers,
        memory_gb=memory,
        bound_by=bound_by if is_cluster else "one server",
        disk_gb=2 * copies_of_data * pages * page.snapshot / 1e9,
        pages_per_second=rate,
        cores=cores,
        network_mbit=(new * page.new_bytes + copies * page.duplicate_bytes) * 8 / 1e6,
        lost=math.ceil(new * given.lag_s),
        batch_core_hours=fetched * given.batch_us / 3.6e9,
        batch_disk_gb=fetched * given.batch_bytes / 1e9,
    )


# -- measuring ------------------------------------------------------------------------------------


def filled(pages: int) -> tuple[int, int]:
    """Return how many tags to fill, and with how many records in all, to see a namespace of this size."""
    tags = max(1, min(TAGS, MOST * TAGS // pages))
    return tags, pages * tags // TAGS


def records(shape: Shape, tags: int, numbers: range) -> Iterator[Record]:
    """Yield records whose keys are all under the first tags."""
    for number in numbers:
        chance = Random(f"{number}")
        heads = [(chance.randrange(tags) << 38 | chance.getrandbits(38)).to_bytes(6, "big") for _ in range(BANDS + 2)]
        assert {len(key) for key in heads} == {KEY_BYTES}
        head = HEADER.pack(TAG, 5000 + number % 8000, 800 + number % 1200)
        sketches = (chance.randbytes(EXACT), head + chance.randbytes(shape.slots))
        url = f"https://news.example.org/{number}/".ljust(shape.url, "x")
        yield Record(url, tuple(heads), sketches, time.time(), identity=chance.randbytes(shape.identity))


class _Trusting(ValueCodec):
    """Takes the keys of each record for those of its sketches."""

    def pack(self, record: Record, filed: int, seen: int) -> bytes:
        self._found = record.keys
        return super().pack(record, filed, seen)

    def _keys(self, url: str, sketches: tuple[bytes, ...]) -> tuple[bytes, ...] | None:  # noqa: ARG002
        return self._found


class Bench:
    """A cluster, and what its servers count."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def total(self, section: str, *names: str) -> float:
        """Return the sum of figures of ``INFO`` over all servers."""
        found = 0.0
        for node in self.cluster.nodes:
            with node.client() as client:
                said = client.info(section)
            found += sum(float(said[name]) for name in names)
        return found

    def processor(self) -> float:
        """Return the processor time of all servers in seconds."""
        return self.total("cpu", "used_cpu_user", "used_cpu_sys")

    def network(self) -> float:
        """Return the bytes that all servers have received and sent."""
        return self.total("stats", "total_net_input_bytes", "total_net_output_bytes")

    def store(self, shape: Shape, pages: int) -> ShardedStore:
        """Open a namespace that is planned for so many pages."""
        config = Config(detectors={"exact": {}, "minhash": {"slots": shape.slots}})
        scheme = schemes(build_detectors(config), config)
        store = open_store(f"{self.cluster.url}?pages={pages}", namespace="scaling", scheme=scheme)
        assert isinstance(store, ShardedStore)
        store._layout.codec = _Trusting(scheme_json(scheme))
        return store

    def bytes_a_page(self, shape: Shape, pages: int, plan: int | None = None) -> tuple[float, float]:
        """Return the bytes of a page in memory and in a snapshot, in a namespace with so many.

        ``plan``: pages that it is planned for; None: as many.
        """
        self._empty()
        tags, number = filled(pages)
        with self.store(shape, (pages if plan is None else plan) if shape.is_planned else 0) as store:
            store.add_many(list(records(shape, tags, range(number, number + 1))))  # connections and scripts
            before = self.total("memory", "used_memory"), self._snapshots()
            for some in chunked(records(shape, tags, range(number)), TOGETHER):
                store.add_many(some)
        after = self.total("memory", "used_memory"), self._snapshots()
        return (after[0] - before[0]) / number, (after[1] - before[1]) / number

    def _empty(self) -> None:
        for node in self.cluster.nodes:
            with node.client() as client:
                client.execute_command("FLUSHALL SYNC")  # else memory is freed while the next is measured

    def _snapshots(self) -> int:
        total = 0
        for node in self.cluster.nodes:
            with node.client() as client:
                client.save()
            total += (node.folder / "dump.rdb").stat().st_size
        return total

    def work(self, shape: Shape, pages: int) -> dict[str, float]:
        """Return processor time and bytes on the network of new pages, then of as many copies of them."""
        self._empty()
        found: dict[str, float] = {}
        with self.store(shape, pages) as store:
            store.add_many(list(records(shape, TAGS, range(pages, pages + 1))))  # connections and scripts
            for kind in ("new", "duplicate"):
                batches = list(chunked(records(shape, TAGS, range(pages)), TOGETHER))
                before = self.processor(), self.network()
                for some in batches:
                    store.commit([offer.id for offer in self._offers(store, some) if offer.id is not None])
                used = self.processor() - before[0], self.network() - before[1]
                found |= {f"{kind}_us": used[0] / pages * 1e6, f"{kind}_bytes": used[1] / pages}
        return found

    @staticmethod
    def _offers(store: ShardedStore, some: Sequence[Record]) -> list[Any]:
        return store._offer(some, 0, committed=False)  # a batch of claims, as a crawl makes it


def measure(pages: int) -> tuple[Measured, dict[str, dict[str, float]]]:
    """Return what a page of the default settings needs, and the bytes of a page by shape and size."""
    cluster = Cluster(replicas=0)
    try:
        bench = Bench(cluster.start())
        bench.bytes_a_page(SHAPES[DEFAULT], SIZES[0])  # else what servers keep once would count for the first size
        sizes: dict[str, dict[str, float]] = {}
        snapshot = 0.0
        for name, shape in SHAPES.items():
            sizes[name] = {}
            for size in SIZES if name in {DEFAULT, SMALLEST} else SIZES[1:2]:
                sizes[name][f"{size:,}"], disk = bench.bytes_a_page(shape, size)
                snapshot = disk if name == DEFAULT else snapshot
                print(f"{name}, {size:,} pages: {sizes[name][f'{size:,}']:.0f} bytes a page", flush=True)
        for name in (DEFAULT, SMALLEST):
            sizes[f"{name}, planned for {PLAN:,}"] = {
                f"{size:,}": bench.bytes_a_page(SHAPES[name], size, PLAN)[0] for size in FILED
            }
            print(sizes[f"{name}, planned for {PLAN:,}"], flush=True)
        work = bench.work(SHAPES[DEFAULT], pages)
    finally:
        cluster.remove()
    return Measured(sizes[DEFAULT][f"{SIZES[-1]:,}"], snapshot, **work), sizes


def load(path: Path) -> tuple[Measured, dict[str, dict[str, float]]]:
    """Read what an earlier run has measured."""
    figures = orjson.loads(path.read_bytes())["figures"]
    return Measured(**{each.name: figures["page"][each.name] for each in fields(Measured)}), figures["bytes a page"]


def main() -> None:
    """Measure, calculate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--from", type=Path, metavar="FILE", dest="source", help="take the measured figures from it")
    parser.add_argument("--pages", type=int, default=10_000, help="pages whose work is measured")
    for each in fields(Assumptions):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=float, default=each.default)
    add_json_option(parser)
    options = parser.parse_args()
    wanted: dict[str, Any] = {name: getattr(options, name) for name in asdict(Assumptions())}
    given = Assumptions(**wanted | {"replicas": int(options.replicas)})
    page, sizes = load(options.source) if options.source else measure(options.pages)
    print(", ".join(f"{name} {value:.4g}" for name, value in asdict(page).items()))
    plans = [asdict(plan(pages, page, given)) for pages in PLANNED]
    for row in plans:
        print(", ".join(f"{name} {_shown(value)}" for name, value in row.items()))
    figures = {"page": asdict(page), "bytes a page": sizes, "assumptions": asdict(given), "plans": plans}
    write_results(options.json, "scaling", figures=figures)


def _shown(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
