"""CPU and bytes of identities on labelled pages: ``python -m benchmarks.identity FOLDER``.

FOLDER has sets of pages, each with a folder ``html`` of gzip files. The best of several rounds counts, since
other load can only add time. The time of the detectors on the same pages is shown for comparison.
"""

from __future__ import annotations

import argparse
import gzip
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.identity import sketch_identity
from dedupcrawl.page import ReadOptions, read_page
from dedupcrawl.page.model import PageError
from dedupcrawl.siblings import why_siblings
from dedupcrawl.text.features import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.page.model import Page

MOST_MICROSECONDS = 60  #: bar: CPU of a sketch, mean
MOST_BYTES = 40  #: bar: size of an identity, mean, with the layout
ROUNDS = 7
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


def microseconds(work: Callable[[], object], count: int) -> float:
    """Return the CPU time of one of ``count`` pieces of work, the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return 1e6 * min(times) / count


def fingerprint_all(pages: Iterable[Page]) -> None:
    """Fingerprint pages with the default detectors."""
    detectors = build_detectors(Config())
    for page in pages:
        features = Features(page)
        for detector in detectors:
            detector.fingerprint(features)


def compare_all(sketches: Sequence[bytes]) -> None:
    """Compare neighbours as equal texts and as near-equal ones."""
    for new, old in pairwise(sketches):
        why_siblings(new, old, equal_text=False)
        why_siblings(new, old, equal_text=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="folder of sets of pages")
    parser.add_argument("--step", type=int, default=8, help="read every so many pages")
    add_json_option(parser)
    options = parser.parse_args()
    pages = [page for page in read_pages(options.folder, options.step) if page.text]
    texts = [Features(page).encoded for page in pages]
    both = [*zip(pages, texts, strict=True)]
    sketches = [sketch_identity(page, text, SEED) for page, text in both]
    cost = microseconds(lambda: [sketch_identity(page, text, SEED) for page, text in both], len(both))
    size = sum(map(len, sketches)) / len(sketches)
    print(f"{len(pages)} pages, {sum(map(len, texts)) / len(texts):,.0f} bytes of text on average")
    print(f"identity: {cost:.0f} µs of CPU a page, {size:.1f} bytes (at most {max(map(len, sketches))})")
    detectors = microseconds(lambda: fingerprint_all(pages), len(pages))
    print(f"default detectors on the same pages: {detectors:.0f} µs")
    pair = microseconds(lambda: compare_all(sketches), 2 * len(sketches))
    print(f"comparison of a pair: {pair:.1f} µs")
    print(f"at most {MOST_MICROSECONDS} µs: {'ok' if cost <= MOST_MICROSECONDS else 'MISSED'}")
    print(f"at most {MOST_BYTES} bytes: {'ok' if size <= MOST_BYTES else 'MISSED'}")
    figures = {"microseconds": cost, "bytes": size, "microseconds of the detectors": detectors, "of a pair": pair}
    write_results(options.json, "identity", ratios={"identity/detectors": cost / detectors}, figures=figures)


if __name__ == "__main__":
    main()
