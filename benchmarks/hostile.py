"""Growth of the reading time of hostile pages: ``python -m benchmarks.hostile [--parts N] [--repeats N]``.

For each shape of ``tests/hostile/shapes.py`` the benchmark reads pages of N, 2N and 4N parts and prints the CPU time of
the smallest, best of several, and the ratios of both doublings. It returns 1 if they are above 2.5 on average where the
time is long enough to be measured. One ratio alone may be: the time for a part doubles once when the tree of a page
outgrows the caches of the processor. The caches of names are emptied before each page: the second round on the same
page would find few names in them, or all. Work in Python is counted by ``tests/hostile/test_growth.py``; this measures
the parser and regular expressions too.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl.page import PageError, read_page
from tests.cost import least_cpu_seconds
from tests.hostile.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_RATIO = 2.5  #: of the times at 2n and n, as the geometric mean of two doublings
MIN_SECONDS = 0.02  #: below this at 4n, a ratio is noise


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; return 1 if the time of a shape grows too fast."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", type=int, default=5_000, help="parts of the smallest page of a shape")
    parser.add_argument("--repeats", type=int, default=3, help="rounds per page, of which the best counts")
    add_json_option(parser)
    options = parser.parse_args(arguments)
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
