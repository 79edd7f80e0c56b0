"""Bytes per page by store and detectors: ``python -m benchmarks.sizing [--pages N]...``.

The detectors make records of synthetic articles of 600 words. These give the shapes of records: the number of
keys and the length of the sketches, which alone determine the size of a store. Thousands of records of these
shapes, filled with random bytes, are added. For each choice of detectors the benchmark reports the bytes per
page of an LMDB file, of a memory store, and of an export; for some of them at two sizes, to show the growth.
For the default detectors it also reports the bytes on a server (memory in both layouts, snapshot, append-only
file), all of these for short and long URLs and for pages without names and values, and the total for a million
pages and more, and the bytes of a note by which a page is known by its bytes. The result hardly depends on other load.
"""

from __future__ import annotations

import argparse
import tempfile
import tracemalloc
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.crawl_sites import vocabulary
from benchmarks.results import add_json_option, write_results
from dedupcrawl import Deduplicator, Page
from dedupcrawl.crawl import known_bodies
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import KEY_BYTES, Record
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.transfer import export_records
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.stores.base import Store

#: Detectors to measure, by the name in the output.
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
SAMPLES = 20  #: number of articles that give the shapes
WORDS, SENTENCE = 600, 15  #: words of an article, of a sentence
COMMON = ("the", "a", "an", "is", "was", "said")  #: antecedents of ``spotsigs``
SOME = 0.1  #: share of stop words
URL_CHARACTERS = 93  #: characters of a URL, as in the other benchmarks of stores
URLS = (42, 92)  #: characters of short and long URLs
IDENTITY = 65  #: bytes of an identity with the layout, the mean of labelled pages (``benchmarks/identity.py``)
GROWN = (DEFAULT, "exact")  #: choices of detectors that are measured at two sizes
TOGETHER = 200  #: pages per call of an import
PLANNED = (1_000_000, 10_000_000, 100_000_000)


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of a record that determine its size."""

    keys: int
    sketches: tuple[int, ...]  #: bytes of each
    url: int = URL_CHARACTERS  #: characters
    identity: int = IDENTITY  #: bytes of names, values and layout; 0: none were found

    @classmethod
    def of(cls, record: Record) -> Shape:
        """Measure a record."""
        return cls(len(record.keys), tuple(map(len, record.sketches)), len(record.url), len(record.identity))


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes per page."""

    pages: int
    lmdb: float
    memory: float
    export: float


def article(number: int) -> Page:
    """Generate an article; some words in ten are stop words."""
    chance = Random(number)
    words = [chance.choice(COMMON if chance.random() < SOME else vocabulary()) for _ in range(WORDS)]
    sentences = (" ".join(words[first : first + SENTENCE]) for first in range(0, WORDS, SENTENCE))
    return Page.from_text(". ".join(sentences), url_of(number))


def url_of(number: int, characters: int = URL_CHARACTERS) -> str:
    """Return a URL of this length, 34 characters at least."""
    return f"https://news.example.org/{number}/".ljust(characters, "x")


def shapes(detectors: Mapping[str, Mapping[str, Any]], samples: int = SAMPLES) -> list[Shape]:
    """Return the shapes of the records that these detectors make of articles."""
    with Deduplicator(detectors=detectors) as dedup:
        found = dedup.fingerprint_many([article(number) for number in range(samples)])
    return [replace(Shape.of(each), identity=IDENTITY) for each in found if isinstance(each, Record)]


def record(shape: Shape, number: int) -> Record:
    """Return a record of this shape with random bytes; each number gives another one."""
    chance = Random(number)
    keys = tuple(chance.randbytes(KEY_BYTES) for _ in range(shape.keys))
    sketches = tuple(map(chance.randbytes, shape.sketches))
    url = url_of(number, shape.url)
    return Record(url, keys, sketches, 1.7e9 + number, identity=chance.randbytes(shape.identity))


def fill(store: Store, found: Sequence[Shape], numbers: range, together: int = 1) -> None:
    """Add pages of all these shapes in turns, in batches."""
    for first in numbers[::together]:
        some = range(first, min(first + together, numbers.stop))
        store.add_many([record(found[number % len(found)], number) for number in some])


def growth(small: float, few: int, large: float, many: int) -> float:
    """Return the bytes of one more page, from the bytes per page at two sizes of a store."""
    return (large * many - small * few) / (many - few)


def total_text(bytes_a_page: float, pages: int) -> str:
    """Return the size of this many pages in the largest decimal unit that gives at least 1."""
    size, units = bytes_a_page * pages, ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.3g} {units[0]}" if size < 1000 else f"{size:,.0f} {units[0]}"


# -- stores of this machine -----------------------------------------------------------------------


def sizes_of(found: Sequence[Shape], marks: Sequence[int]) -> list[Size]:
    """Fill both kinds of store, and measure them at each mark."""
    with tempfile.TemporaryDirectory() as folder:
        disk = on_disk(Path(folder), found, marks)
    return [
        Size(pages, lmdb / pages, held / pages, export / pages)
        for pages, held, (lmdb, export) in zip(marks, in_memory(found, marks), disk, strict=True)
    ]


def in_memory(found: Sequence[Shape], marks: Sequence[int]) -> list[int]:
    """Return the bytes of a memory store at each mark, as Python counts them."""
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


def on_disk(folder: Path, found: Sequence[Shape], marks: Sequence[int], together: int = 1) -> list[tuple[int, int]]:
    """Return the bytes of an LMDB store, and of its export, at each mark."""
    data, export, took = folder / "store" / "data.mdb", folder / "export", []
    with open_store(f"lmdb://{folder}/store", namespace="sizing", scheme={}) as store:
        for first, mark in pairwise((0, *marks)):
            fill(store, found, range(first, mark), together)
            export_records(store, export)
            took.append((data.stat().st_blocks * 512, export.stat().st_size))
    return took


# -- servers --------------------------------------------------------------------------------------


def server_bytes(found: Sequence[Shape], pages: int, layout: str) -> dict[str, float]:
    """Return the bytes per page in a server: in memory, in its snapshot, in its append-only file."""
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


# -- notes --------------------------------------------------------------------------------------------


def note_bytes(pages: int) -> dict[str, float]:
    """Return the bytes of a note by which a page is known by its bytes, in a file and in the memory of a server."""
    server = Server(next(iter(binaries().values()))).start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            urls = {"LMDB": f"lmdb://{folder}/store", "server": server.url}
            return {name: _note_bytes(url, pages) for name, url in urls.items()}
    finally:
        server.remove()


def _note_bytes(url: str, pages: int) -> float:
    chance = Random(1)
    with open_store(url, namespace="sizing", scheme={}) as store:
        for _ in range(0, pages, TOGETHER):
            keys = [chance.randbytes(known_bodies.KEY_BYTES) for _ in range(TOGETHER)]
            size = known_bodies.BODY_BYTES + known_bodies.READ_BYTES
            notes = {key: chance.randbytes(size) for key in keys}
            store.notes.write(known_bodies.BODIES, "site.example", notes, known_bodies.MAX_BODIES)
        return store.notes.size().bytes / pages


# -- running --------------------------------------------------------------------------------------


def by_detectors(pages: int, more: int) -> dict[str, list[dict[str, float]]]:
    """Measure the stores of this machine for all choices of detectors, and print the sizes."""
    print(f"{'detectors':33}{'keys':>5}{'sketches':>10}{'pages':>9}{'LMDB':>7}{'memory':>8}{'export':>8}")
    table = {}
    for name, detectors in CHOICES.items():
        found = shapes(detectors)
        sizes = sizes_of(found, (pages, more) if name in GROWN else (pages,))
        _show(name, found, sizes)
        table[name] = [asdict(size) for size in sizes]
    return table


def by_url(found: Sequence[Shape], pages: int) -> dict[str, dict[str, float]]:
    """Measure all stores with URLs of several lengths, with and without names and values; print the sizes."""
    table = {}
    for url in URLS:
        for identity in (IDENTITY, 0):
            some = [replace(shape, url=url, identity=identity) for shape in found]
            name = f"URLs of {url} characters" + ("" if identity else ", no names and values")
            [size] = sizes_of(some, (pages,))
            servers = {layout: server_bytes(some, pages, layout)["memory"] for layout in LAYOUTS}
            table[name] = {"LMDB": size.lmdb, "memory": size.memory, **servers}
            print(f"{name}: " + ", ".join(f"{each:.0f} ({store})" for store, each in table[name].items()), flush=True)
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000, help="how many pages are filed")
    parser.add_argument("--more", type=int, default=50_000, help=f"how many of {' and '.join(GROWN)} are")
    add_json_option(parser)
    options = parser.parse_args()
    table = by_detectors(options.pages, options.more)
    per_page = {"LMDB": table[DEFAULT][-1]["lmdb"], "memory": table[DEFAULT][-1]["memory"]}
    found = shapes(CHOICES[DEFAULT])
    with tempfile.TemporaryDirectory() as folder:
        [(lmdb, export)] = on_disk(Path(folder), found, [options.pages], TOGETHER)
    per_page |= {"LMDB, imported": lmdb / options.pages, "export": export / options.pages}
    print(f"LMDB, {options.pages:,} pages filed {TOGETHER} in one go: {lmdb / options.pages:.0f}")
    for layout in LAYOUTS:
        took = server_bytes(found, options.pages, layout)
        print(f"server, {layout}: " + ", ".join(f"{each:.0f} ({name})" for name, each in took.items()))
        per_page |= {layout: took["memory"], f"{layout}, append-only file": took["append-only file"]}
        per_page["snapshot"] = took["snapshot"]
    for name, each in per_page.items():
        print(f"{name}: " + ", ".join(f"{pages:,} pages {total_text(each, pages)}" for pages in PLANNED))
    figures = {
        "bytes a page": per_page,
        "by detector": table,
        "by URL": by_url(found, options.pages),
        "a note of known bytes": note_bytes(options.pages),
        "shapes": {name: mean_shape(shapes(detectors)) for name, detectors in CHOICES.items()},
    }
    write_results(options.json, "sizing", figures=figures)


def mean_shape(found: Sequence[Shape]) -> dict[str, float]:
    """Return the mean number of keys and bytes of sketches."""
    return {
        "keys": sum(each.keys for each in found) / len(found),
        "sketches": sum(sum(each.sketches) for each in found) / len(found),
    }


def _show(name: str, found: Sequence[Shape], sizes: Sequence[Size]) -> None:
    mean = mean_shape(found)
    for size in sizes:
        shown = f"{size.pages:>9,}{size.lmdb:>7.0f}{size.memory:>8.0f}{size.export:>8.0f}"
        print(f"{name:33}{mean['keys']:>5.1f}{mean['sketches']:>10.0f}{shown}", flush=True)
    if len(sizes) > 1:
        first, last = sizes[0], sizes[-1]
        more = growth(first.lmdb, first.pages, last.lmdb, last.pages)
        print(f"{'':33}one more page on disk: {more:.0f}", flush=True)


if __name__ == "__main__":
    main()
