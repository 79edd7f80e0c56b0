"""Hostile pages and records: ``python -m benchmarks.hostile [--parts N] [--repeats N]``, ``… --records N``.

For each shape of ``tests/hostile/shapes.py`` the benchmark reads pages of N, 2N and 4N parts and prints the CPU time of
the smallest, best of several, and the ratios of both doublings. It returns 1 if they are above 2.5 on average where the
time is long enough to be measured. One ratio alone may be: the time for a part doubles once when the tree of a page
outgrows the caches of the processor. The caches of names are emptied before each page: the second round on the same
page would find few names in them, or all. Work in Python is counted by ``tests/hostile/test_growth.py``; this measures
the parser and regular expressions too.

With ``--records`` it reads that many stored values with a wrong structure and a right checksum instead, of all kinds of
``tests/hostile/stored_values.py``, and prints what became of them, the longest CPU time and the most memory of one. It
returns 1 if one raises another error than ``DamageError``, or takes more than 10 ms or 10 MB. ``--seed`` gives others.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl.page import PageError, read_page
from tests.cost import least_cpu_seconds
from tests.hostile.shapes import SHAPES
from tests.hostile.stored_values import Kind, damaged, kinds, outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MAX_RATIO = 2.5  #: of the times at 2n and n, as the geometric mean of two doublings
MIN_SECONDS = 0.02  #: below this at 4n, a ratio is noise
MAX_SECONDS = 0.01  #: CPU time of reading one stored value
MAX_BYTES = 10_000_000  #: memory that reading one stored value takes
SHOWN = 5  #: faults of a kind that are printed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; return 1 if the time of a shape grows too fast."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", type=int, default=5_000, help="parts of the smallest page of a shape")
    parser.add_argument("--repeats", type=int, default=3, help="rounds per page; the best counts")
    parser.add_argument("--records", type=int, default=0, help="number of stored values to read in place of pages")
    parser.add_argument("--seed", type=int, default=1, help="of the stored values")
    add_json_option(parser)
    options = parser.parse_args(arguments)
    if options.records:
        return read_values(options.records, options.seed, options.json)
    print(f"{'shape':26} {'bytes':>10} {'s at n':>8} {'2n/n':>6} {'4n/2n':>6}")
    failed, ratios = [], {}
    for name, make in SHAPES.items():
        pages = [make(options.parts * factor) for factor in (1, 2, 4)]
        times = [least_cpu_seconds(partial(read, page), options.repeats) for page in pages]
        first, second = (late / max(early, 1e-9) for early, late in pairwise(times))
        print(f"{name:26} {len(pages[0]):10,} {times[0]:8.4f} {first:6.2f} {second:6.2f}", flush=True)
        ratios[f"{name}: 4n/n"] = first * second
        if times[2] >= MIN_SECONDS and first * second > MAX_RATIO**2:
            failed.append(name)
    print(f"fails: {', '.join(failed)}" if failed else f"passes: no mean ratio above {MAX_RATIO}")
    write_results(options.json, "hostile", ratios=ratios, figures={"failed": failed})
    return 1 if failed else 0


@dataclass
class Readings:
    """What became of the values of a kind."""

    counts: Counter[str] = field(default_factory=Counter)  #: by outcome
    seconds: float = 0.0  #: the most of one
    bytes: int = 0  #: the most of one
    faults: list[str] = field(default_factory=list)  #: errors that are no damage, and what took too much


def read_values(number: int, seed: int, results: Path | None) -> int:
    """Read stored values of all kinds, and print a table; return 1 if there are faults."""
    random, faults, figures = Random(seed), 0, {}
    print(f"{'kind':28} {'values':>8} {'read':>8} {'damaged':>8} {'ms':>7} {'kB':>8} {'faults':>6}")
    for place, kind in enumerate(kinds()):
        count = number // len(kinds()) + (place < number % len(kinds()))
        found = read_kind(kind, [damaged(random, kind) for _ in range(count)])
        print(
            f"{kind.name:28} {count:8,} {found.counts['read']:8,} {found.counts['damaged']:8,} "
            f"{1000 * found.seconds:7.2f} {found.bytes / 1000:8.1f} {len(found.faults):6}",
            flush=True,
        )
        print("".join(f"  FAULT {fault[:500]}\n" for fault in found.faults[:SHOWN]), end="")
        faults += len(found.faults)
        figures[kind.name] = {**found.counts, "ms": 1000 * found.seconds, "bytes": found.bytes}
    print(f"{number:,} values, {faults} faults")
    write_results(results, "hostile records", figures=figures)
    return 1 if faults else 0


def read_kind(kind: Kind, values: Sequence[bytes]) -> Readings:
    """Read values: for their time, and again for their memory."""
    found = Readings()
    for value in values:
        try:
            gc.disable()  # a collection visits the objects of all values
            seconds = measured(partial(outcome, kind, value))
            if seconds > MAX_SECONDS:  # the process may have been interrupted
                seconds = min(seconds, measured(partial(outcome, kind, value)))
            gc.enable()
            tracemalloc.start()
            found.counts[outcome(kind, value)] += 1
            found.bytes = max(found.bytes, size := tracemalloc.get_traced_memory()[1])
            found.seconds = max(found.seconds, seconds)
        except AssertionError as error:
            found.faults.append(str(error))
        else:
            if seconds > MAX_SECONDS or size > MAX_BYTES:
                found.faults.append(f"{seconds:.3f} s, {size:,} bytes: {value.hex()}")
        finally:
            gc.enable()
            tracemalloc.stop()
    return found


def measured(work: Callable[[], object]) -> float:
    """Return the CPU time of a call in seconds."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def caches_of(package: str) -> list[Callable[[], None]]:
    """Return what empties the caches of the functions of a package."""
    modules = [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]
    functions = {id(each): each for module in modules for each in vars(module).values()}
    return [each.cache_clear for each in functions.values() if hasattr(each, "cache_clear")]


CLEAR_CACHES = caches_of("dedupcrawl")


def read(html: str) -> None:
    """Read a page with empty caches, or find that it is refused."""
    for clear in CLEAR_CACHES:
        clear()
    with suppress(PageError):
        read_page(html)


if __name__ == "__main__":
    sys.exit(main())
