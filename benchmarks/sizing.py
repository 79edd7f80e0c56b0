"""How many bytes a page takes, by store and by detectors: ``python -m benchmarks.sizing [--pages N]...``.

The shapes of records (how many keys, how long the sketches) are those that the detectors give to some made-up
articles of 600 words; thousands of records of these shapes, filled with random bytes, are filed, as nothing
else decides how large a store gets. For each choice of detectors it tells the bytes a page of an LMDB file on
disk, of a store in memory, and of an export; for some at two sizes, so that one sees what grows.
Then, with the default detectors, those of a server (its memory in both layouts, its snapshot, its append-only
file), and what a million pages and more need in all. Bytes hardly depend on what else a machine does.
"""

from __future__ import annotations

import argparse
import tempfile
import tracemalloc
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.crawl import vocabulary
from dedupcrawl import Deduplicator, Page
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import KEY_BYTES, Record
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.transfer import export_records
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.stores.base import Store

#: What is measured, by the name it is shown under.
CHOICES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "exact + minhash": {"exact": {}, "minhash": {}},
    "exact": {"exact": {}},
    "exact + simhash": {"exact": {}, "simhash": {}},
    "keywords, variant 5": {"keywords": {"variant": 5}},
    "exact + minhash + feature_codes": {"exact": {}, "minhash": {}, "feature_codes": {}},
    "random_projection": {"random_projection": {}},
    "spotsigs": {"spotsigs": {}},
    "datasketch": {"datasketch": {}},
}
DEFAULT = "exact + minhash"
SAMPLES = 20  #: articles whose records give the shapes
WORDS, SENTENCE = 600, 15  #: of an article, of a sentence
COMMON = ("the", "a", "an", "is", "was", "said")  #: the antecedents of ``spotsigs``
SOME = 0.1  #: share of the words that are such
URL_CHARACTERS = 93  #: of the URLs, as in the other benchmarks of stores
GROWN = (DEFAULT, "exact")  #: what more pages are filed of
TOGETHER = 200  #: pages that an import, or a batch that hands over, files in one go
PLANNED = (1_000_000, 10_000_000, 100_000_000)


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a record decides its size."""

    keys: int
    sketches: tuple[int, ...]  #: bytes of each

    @classmethod
    def of(cls, record: Record) -> Shape:
        """Measure a record."""
        return cls(len(record.keys), tuple(map(len, record.sketches)))


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes a page."""

    pages: int
    lmdb: float
    memory: float
    export: float


def article(number: int) -> Page:
    """Make an article up; some words in ten are those that running text is full of."""
    chance = Random(number)
    words = [chance.choice(COMMON if chance.random() < SOME else vocabulary()) for _ in range(WORDS)]
    sentences = (" ".join(words[first : first + SENTENCE]) for first in range(0, WORDS, SENTENCE))
    return Page.from_text(". ".join(sentences), url_of(number))


def url_of(number: int) -> str:
    """Return a URL of the usual length."""
    return f"https://news.example.org/{number}/".ljust(URL_CHARACTERS, "x")


def shapes(detectors: Mapping[str, Mapping[str, Any]], samples: int = SAMPLES) -> list[Shape]:
    """Return the shapes that these detectors give to articles."""
    with Deduplicator(detectors=detectors) as dedup:
        found = dedup.file_many([article(number) for number in range(samples)])
    return [Shape.of(each) for each in found if isinstance(each, Record)]


def record(shape: Shape, number: int) -> Record:
    """Make a record of this shape, different from that of any other number."""
    chance = Random(number)
    keys = tuple(chance.randbytes(KEY_BYTES) for _ in range(shape.keys))
    return Record(url_of(number), keys, tuple(map(chance.randbytes, shape.sketches)), 1.7e9 + number)


def fill(store: Store, found: Sequence[Shape], numbers: range, together: int = 1) -> None:
    """File pages for good, of all these shapes in turns, so many in one go."""
    for first in numbers[::together]:
        some = range(first, min(first + together, numbers.stop))
        store.add_many([record(found[number % len(found)], number) for number in some])


def growth(small: float, few: int, large: float, many: int) -> float:
    """Return the bytes of one more page, from the bytes a page at two sizes of a store."""
    return (large * many - small * few) / (many - few)


def needed(bytes_a_page: float, pages: int) -> str:
    """Say how much so many pages take: in the largest decimal unit of which it is one or more."""
    size, units = bytes_a_page * pages, ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.3g} {units[0]}" if size < 1000 else f"{size:,.0f} {units[0]}"


# -- stores of this machine -----------------------------------------------------------------------


def sizes_of(found: Sequence[Shape], marks: Sequence[int]) -> list[Size]:
    """Fill both kinds of store, and look at each mark."""
    with tempfile.TemporaryDirectory() as folder:
        disk = on_disk(Path(folder), found, marks)
    return [
        Size(pages, lmdb / pages, held / pages, export / pages)
        for pages, held, (lmdb, export) in zip(marks, in_memory(found, marks), disk, strict=True)
    ]


def in_memory(found: Sequence[Shape], marks: Sequence[int]) -> list[int]:
    """Return the bytes that a store in memory holds at each mark, by Python's own account."""
    with open_store("memory://", namespace="sizing", scheme={}) as store:
        tracemalloc.start(1)
        try:
            held = []
            for first, mark in pairwise((0, *marks)):
                fill(store, found, range(first, mark))
                held.append(tracemalloc.get_traced_memory()[0])
            return held
        finally:
            tracemalloc.stop()


def on_disk(
    folder: Path, found: Sequence[Shape], marks: Sequence[int], together: int = 1
) -> list[tuple[int, int]]:
    """Return the bytes of an LMDB store, and of an export of it, at each mark."""
    data, export, took = folder / "store" / "data.mdb", folder / "export", []
    with open_store(f"lmdb://{folder}/store", namespace="sizing", scheme={}) as store:
        for first, mark in pairwise((0, *marks)):
            fill(store, found, range(first, mark), together)
            export_records(store, export)
            took.append((data.stat().st_blocks * 512, export.stat().st_size))
    return took


# -- servers --------------------------------------------------------------------------------------


def served(found: Sequence[Shape], pages: int, layout: str) -> dict[str, float]:
    """Return what a server takes a page: by its own account, in its snapshot, in its append-only file."""
    server = Server(next(iter(binaries().values())), ["--appendonly", "yes"]).start()
    try:
        with server.client() as client:
            before = client.info("memory")["used_memory"]
            with open_store(f"{server.url}?layout={layout}", namespace="sizing", scheme={}) as store:
                fill(store, found, range(pages), TOGETHER)
            used = client.info("memory")["used_memory"] - before
            client.save()
            snapshot = (server.folder / "dump.rdb").stat().st_size
            written = sum(path.stat().st_size for path in (server.folder / "appendonlydir").iterdir())
    finally:
        server.remove()
    return {"memory": used / pages, "snapshot": snapshot / pages, "append-only file": written / pages}


# -- running --------------------------------------------------------------------------------------


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000, help="how many pages are filed")
    parser.add_argument("--more", type=int, default=50_000, help=f"how many of {' and '.join(GROWN)} are")
    options = parser.parse_args()
    print(f"{'detectors':33}{'keys':>5}{'sketches':>10}{'pages':>9}{'LMDB':>7}{'memory':>8}{'export':>8}")
    for name, detectors in CHOICES.items():
        found = shapes(detectors)
        sizes = sizes_of(found, (options.pages, options.more) if name in GROWN else (options.pages,))
        _show(name, found, sizes)
        if name == DEFAULT:
            per_page = {"LMDB": sizes[-1].lmdb, "memory": sizes[-1].memory}
    found = shapes(CHOICES[DEFAULT])
    with tempfile.TemporaryDirectory() as folder:
        [(lmdb, _)] = on_disk(Path(folder), found, [options.pages], TOGETHER)
    print(f"LMDB, {options.pages:,} pages filed {TOGETHER} in one go: {lmdb / options.pages:.0f}")
    for layout in LAYOUTS:
        took = served(found, options.pages, layout)
        print(f"server, {layout}: " + ", ".join(f"{each:.0f} ({name})" for name, each in took.items()))
        per_page[layout] = took["memory"]
    for name, each in per_page.items():
        print(f"{name}: " + ", ".join(f"{pages:,} pages {needed(each, pages)}" for pages in PLANNED))


def _show(name: str, found: Sequence[Shape], sizes: Sequence[Size]) -> None:
    keys = sum(each.keys for each in found) / len(found)
    sketches = sum(sum(each.sketches) for each in found) / len(found)
    for size in sizes:
        told = f"{size.pages:>9,}{size.lmdb:>7.0f}{size.memory:>8.0f}{size.export:>8.0f}"
        print(f"{name:33}{keys:>5.1f}{sketches:>10.0f}{told}", flush=True)
    if len(sizes) > 1:
        first, last = sizes[0], sizes[-1]
        more = growth(first.lmdb, first.pages, last.lmdb, last.pages)
        print(f"{'':33}one more page on disk: {more:.0f}", flush=True)


if __name__ == "__main__":
    main()
