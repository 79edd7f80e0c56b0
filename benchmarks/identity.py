"""CPU and bytes of identities on labelled pages: ``python -m benchmarks.identity FOLDER``.

FOLDER is the parent of sets of pages, each with a folder ``html`` of gzip files. The best of several rounds counts for
each page, since other load can only add time. A page is fingerprinted with the default detectors, then its identity is
sketched, as in a crawl.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.identity.identity_sketch import sketch_identity
from dedupcrawl.identity.siblings import why_siblings
from dedupcrawl.page import ReadOptions, read_page
from dedupcrawl.page.model import PageError
from dedupcrawl.text.features import Features
from tests.data import LABELLED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.page.model import Page

MOST_MICROSECONDS = 15  #: bar: CPU of a sketch on top of a fingerprint, mean
MOST_BYTES = 70  #: bar: size of an identity, mean, with the layout
ROUNDS = 15
SEED = 1


def read_pages(folder: Path, step: int) -> Iterator[Page]:
    """Read every ``step``-th page of all sets."""
    for path in sorted(folder.glob("*/html/*.gz"))[::step]:
        try:
            yield read_page(
                gzip.decompress(path.read_bytes()),
                f"https://{path.parent.parent.name}.example/{path.stem}",
                options=ReadOptions(),
            )
        except PageError:
            continue


def best_seconds(work: Sequence[Callable[[], object]]) -> list[float]:
    """Return the time of each of some works, one after the other, the best of some rounds."""
    best = [float("inf")] * len(work)
    for _ in range(ROUNDS):
        for place, each in enumerate(work):
            began = time.perf_counter()
            each()
            best[place] = min(best[place], time.perf_counter() - began)
    return best


def measure(page: Page, detectors: Sequence[Detector]) -> tuple[float, float]:
    """Return the seconds that the fingerprint of a page takes, and those of its identity."""
    text = b""

    def fingerprint() -> None:
        nonlocal text
        features = Features(page)
        for detector in detectors:
            detector.fingerprint(features)
        text = features.encoded

    first, second = best_seconds([fingerprint, lambda: sketch_identity(page, text, SEED)])
    return first, second


def comparisons(sketches: Sequence[bytes]) -> list[Callable[[], object]]:
    """Return the comparisons of neighbours, as equal texts and as near-equal ones."""
    return [
        partial(why_siblings, new, old, equal_text=equal) for new, old in pairwise(sketches) for equal in (False, True)
    ]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, nargs="?", default=LABELLED / "pages", help="folder of sets of pages")
    parser.add_argument("--step", type=int, default=8, help="read every so many pages")
    add_json_option(parser)
    options = parser.parse_args()
    pages = [page for page in read_pages(options.folder, options.step) if page.text]
    if not pages:
        parser.error(f"{options.folder} has no pages: give the folder above the sets, with SET/html/*.gz in it")
    detectors = build_detectors(Config())
    gc.disable()  # of the pages in memory, which a crawl does not have
    times = [measure(page, detectors) for page in pages]
    fingerprint, cost = (1e6 * sum(column) / len(pages) for column in zip(*times, strict=True))
    texts = [Features(page).encoded for page in pages]
    sketches = [sketch_identity(page, text, SEED) for page, text in zip(pages, texts, strict=True)]
    size = sum(map(len, sketches)) / len(sketches)
    compared = 1e6 * fmean(best_seconds(comparisons(sketches)) or [0.0])
    print(f"{len(pages)} pages, {sum(map(len, texts)) / len(texts):,.0f} bytes of text on average")
    print(f"identity: {cost:.1f} µs of CPU a page, {size:.1f} bytes (at most {max(map(len, sketches))})")
    print(f"default detectors on the same pages: {fingerprint:.1f} µs")
    print(f"comparison of a pair: {compared:.1f} µs")
    print(f"at most {MOST_MICROSECONDS} µs: {'ok' if cost <= MOST_MICROSECONDS else 'MISSED'}")
    print(f"at most {MOST_BYTES} bytes: {'ok' if size <= MOST_BYTES else 'MISSED'}")
    figures = {"microseconds": cost, "bytes": size, "microseconds of the detectors": fingerprint, "of a pair": compared}
    write_results(options.json, "identity", ratios={"identity/detectors": cost / fingerprint}, figures=figures)


if __name__ == "__main__":
    main()
