"""The long form of the fuzzer: ``python -m tests.hostile.fuzz [--pages 10000]``.

Prints how many pages were read, refused and why. A failing page ends the run with a traceback and its shortest form.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.reading import check_page
from tests.hostile.shapes import BODIES, LABELS


def main() -> None:
    """Read as many pages as the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000, help="number of pages")
    pages = parser.parse_args().pages
    found: Counter[str] = Counter()

    @settings(max_examples=pages, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(BODIES, st.sampled_from(LABELS))
    def read(body: bytes, label: str) -> None:
        found[check_page(body, label, tools=found.total() % 50 == 0)] += 1

    start = time.process_time()
    read()
    print(f"{found.total():,} pages in {time.process_time() - start:.0f} s of CPU time")
    for name, count in found.most_common():
        print(f"{count:8,} {name}")


if __name__ == "__main__":
    main()
