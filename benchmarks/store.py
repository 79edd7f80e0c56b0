"""Speed of the stores and bytes per page as they grow: ``python -m benchmarks.store [--pages 200000]``.

Synthetic pages have the shape that the default detectors produce (sketches of 16 and 137 bytes, an exact key,
the band keys, the key of a URL of about 80 characters). One page in ten repeats an earlier one, half of these
word for word, half with some bands in common. The memory store, the LMDB store and datasketch's ``MinHashLSH``
in memory (the same bands: query, then insert) take turns on the same pages. In one pair of stores pages are
claimed, then committed, as in a crawl; in the other they are *checked*: filed at once unless there is a match,
which is what datasketch does. The median over the turns is reported, so that other load on the machine affects
all of them alike. All times are CPU time of this process.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from datasketch import MinHash as DatasketchMinHash
from datasketch import MinHashLSH

from benchmarks.results import add_json_option, write_results
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import KEY_BYTES, Record, Store, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SLOTS = MinHash().slots
BANDS, ROWS = (int(str(MinHash().scheme()[name])) for name in ("bands", "rows"))
TURN = 1000  #: pages per turn
WINDOW = 5  #: number of turns before a mark that count for it
REPEATS = 0.1
SITES = ("www.example-daily.com", "news.example.org", "m.example.cn", "www.the-example-herald.co.uk")


@dataclass(frozen=True)
class SyntheticPage:
    """One page, for the stores and for datasketch."""

    record: Record
    signature: np.ndarray[Any, np.dtype[np.uint64]]


def make_page(number: int) -> SyntheticPage:
    """Return the page with this number; it is deterministic."""
    chance = Random(number)
    repeat = number > 100 and chance.random() < REPEATS
    story = Random(chance.randrange(number) if repeat else number)
    exact, sketch = story.randbytes(16), story.randbytes(9 + SLOTS)
    bands = [story.randbytes(KEY_BYTES) for _ in range(BANDS)]
    if repeat and chance.random() < 0.5:  # an edited copy: different text, some common bands
        exact = chance.randbytes(16)
        changed = chance.sample(range(BANDS), chance.randrange(1, BANDS - 1))
        bands = [chance.randbytes(KEY_BYTES) if n in changed else band for n, band in enumerate(bands)]
    path = f"{chance.randrange(2010, 2026)}/{chance.randrange(1, 13):02}/{number}/{chance.randbytes(16).hex()}"
    url = f"https://{chance.choice(SITES)}/{path}.html"
    record = Record(url, (exact[:KEY_BYTES], *bands, url_key(url)), (exact, sketch), 1.7e9 + number)
    return SyntheticPage(record, _signature(bands))


def _signature(bands: Sequence[bytes]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return slots that fall into the same buckets as these bands."""
    slots = np.zeros(SLOTS, np.uint64)
    for n, band in enumerate(bands):
        slots[n * ROWS : (n + 1) * ROWS] = int.from_bytes(band, "big")
    return slots


@dataclass
class Contender:
    """A way to check pages, and its times: microseconds per page, one value per turn."""

    name: str
    prepare: Callable[[SyntheticPage], Any]
    check: Callable[[Any], object]
    times: list[float] = field(default_factory=list)

    def take_turn(self, pages: Sequence[SyntheticPage]) -> None:
        """Check these pages and record the time."""
        ready = [self.prepare(page) for page in pages]
        start = time.process_time()
        for page in ready:
            self.check(page)
        self.times.append((time.process_time() - start) / len(pages) * 1e6)

    def microseconds(self) -> float:
        """Return the median of the last turns."""
        return statistics.median(self.times[-WINDOW:])


def of_store(name: str, store: Store) -> Contender:
    """Offer and commit."""

    def check(record: Record) -> None:
        offer = store.offer(record)
        if offer.id is not None:
            store.commit([offer.id])

    return Contender(name, lambda made: made.record, check)


def checks_of_store(name: str, store: Store) -> Contender:
    """Commit at once."""
    return Contender(name, lambda made: made.record, store.add)


def of_datasketch(index: MinHashLSH | None = None) -> Contender:
    """Query and insert."""
    index = MinHashLSH(num_perm=SLOTS, params=(BANDS, ROWS)) if index is None else index

    def check(pair: tuple[str, DatasketchMinHash]) -> None:
        url, minhash = pair
        if not index.query(minhash):
            index.insert(url, minhash)

    def prepare(made: SyntheticPage) -> tuple[str, DatasketchMinHash]:
        minhash = DatasketchMinHash(num_perm=SLOTS, scheme="legacy", hashvalues=made.signature)
        return made.record.url, minhash

    return Contender("datasketch", prepare, check)


def measure(pages: int, folder: Path) -> list[dict[str, float]]:
    """Fill all of them; return a row of figures for each mark."""
    data = folder / "data.mdb"
    with (
        open_store("memory://", namespace="bench", scheme={}) as memory,
        open_store("memory://", namespace="bench", scheme={}) as checked_memory,
        open_store(f"lmdb://{folder}", namespace="bench", scheme={}) as lmdb,
        open_store(f"lmdb://{folder}-checked", namespace="bench", scheme={}) as checked_lmdb,
    ):
        contenders = [of_store("memory", memory), of_store("lmdb", lmdb), of_datasketch()]
        contenders += [checks_of_store("memory_check", checked_memory), checks_of_store("lmdb_check", checked_lmdb)]
        rows = []
        for first in range(0, pages, TURN):
            made = [make_page(number) for number in range(first, first + TURN)]
            turn = first // TURN
            at = turn % len(contenders)
            for contender in contenders[at:] + contenders[:at]:
                contender.take_turn(made)
            if (offered := first + TURN) in marks(pages):
                kept = lmdb.info().pages
                row: dict[str, float] = {"offered": offered, "kept": kept}
                row |= {f"{each.name}_us": each.microseconds() for each in contenders}
                row["lmdb_bytes"] = data.stat().st_blocks * 512 / kept
                row["memory_bytes"] = memory.info().bytes / kept
                rows.append(row)
                show(row)
    return rows


def marks(pages: int) -> set[int]:
    """Return the numbers of pages to report: 10,000, each doubling, and the last."""
    first = min(10_000, pages)
    return {first << n for n in range(20) if first << n < pages} | {pages}


def show(row: dict[str, float]) -> None:
    """Print one mark."""
    speeds = (f"{row[f'{name}_us']:8.1f} {1e6 / row[f'{name}_us']:9,.0f}" for name in NAMES)
    print(f"{row['offered']:8,.0f} {row['kept']:8,.0f} ", *speeds, f"{row['lmdb_bytes']:10.0f}", flush=True)


#: Claim + commit in both stores, and the three that check.
NAMES = ("memory", "lmdb", "memory_check", "lmdb_check", "datasketch")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=200_000, help="how many pages to offer (a multiple of 1000)")
    add_json_option(parser)
    options = parser.parse_args()
    print(f"{BANDS} bands of {ROWS} slots, {BANDS + 2} keys a page")
    print("offered     kept ", *(f"{name:>12} µs {'/s':>6}" for name in NAMES), " lmdb bytes/page")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(max(TURN, options.pages // TURN * TURN), Path(folder, "store"))
    first, last = rows[0], rows[-1]
    for name in NAMES:
        growth = last[f"{name}_us"] / first[f"{name}_us"]
        beside = last[f"{name}_us"] / last["datasketch_us"]
        print(
            f"{name}: {last[f'{name}_us']:.1f} µs a page at {last['offered']:,.0f} = {growth:.2f} x that at "
            f"{first['offered']:,.0f} (bar: < 2) = {beside:.2f} x datasketch's"
        )
    print(f"lmdb: {last['lmdb_bytes']:.0f} bytes on disk a page (bar: <= 500)")
    write_results(options.json, "store", ratios=ratios(first, last), figures={"rows": rows}, packages=("lmdb",))


def ratios(first: dict[str, float], last: dict[str, float]) -> dict[str, float]:
    """Name the ratios of a run: growth, and how many times faster than datasketch in memory."""
    pages = f"{last['offered']:,.0f} pages/{first['offered']:,.0f}"
    growth = {f"{name}: time a page, {pages}": last[f"{name}_us"] / first[f"{name}_us"] for name in NAMES}
    peers = {f"datasketch in memory/{name}: time": last["datasketch_us"] / last[f"{name}_us"] for name in NAMES[:-1]}
    return growth | peers


if __name__ == "__main__":
    main()
