"""How buckets fill as a crawl grows: ``python -m benchmarks.buckets --pages 10000 50000 200000``.

Pages are random mixtures of sentences from a few real articles. A sample of pages is added first, then the
others. At the end each page of the sample is copied, with a byline and without one sentence. *Candidates* are
the pages that share a bucket with a new page. *Matching* is the share of the copies whose sketch matches that
of their original. *Lost* is the share of these that are not compared with it: they share no key, or too many
newer pages are in the bucket, of which a store reads only the newest.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmarks.results import add_json_option, write_results
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.random_projection import RandomProjection
from dedupcrawl.detectors.simhash import SimHash
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.text.features import Features
from tests.data import LABELLED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.detectors.base import Detector, Fingerprint

Indices = npt.NDArray[np.int64]

ARTICLES, SENTENCES, LEAST = 3, 20, 10  #: sentences of a page; minimum of an article
_SENTENCE = re.compile(r"(?<=[。！？.!?])\s*|\n+")
_TOKENS = SimHash(characters=1, words=1, weights="occurrences")
DETECTORS: dict[str, Detector] = {
    "simhash": SimHash(),
    "simhash, blocks=5": SimHash(blocks=5),
    "simhash of tokens": _TOKENS,
    "simhash of tokens, blocks=6": replace(_TOKENS, blocks=6),
    "simhash of tokens, bits=128": replace(_TOKENS, bits=128),
    "random_projection": RandomProjection(),
    "minhash": MinHash(),
}


def articles() -> list[list[list[str]]]:
    """Return the sentences of every article, alphabetic and Chinese ones separately."""
    found: list[list[list[str]]] = [[], []]
    for path in sorted(LABELLED.glob("pages/*/truth.jsonl")):
        for line in path.read_bytes().splitlines():  # text would also be split at U+2028
            text: str = json.loads(line)["text"]
            sentences = [sentence for sentence in _SENTENCE.split(text) if len(sentence) > 15]
            if len(sentences) >= LEAST:
                found[not text[:200].isascii()].append(sentences)
    return found


def page(pools: Sequence[Sequence[list[str]]], rng: random.Random) -> list[str]:
    """Mix sentences of a few articles of one language."""
    chosen = rng.sample(pools[rng.randrange(len(pools))], ARTICLES)
    sentences = [sentence for article in chosen for sentence in article]
    return rng.sample(sentences, min(SENTENCES, len(sentences)))


def copied(sentences: list[str], rng: random.Random) -> list[str]:
    """Remove a sentence and add a byline."""
    left = list(sentences)
    del left[rng.randrange(len(left))]
    return ["By our own correspondent, 12 March. ", *left]


@dataclass
class FiledPages:
    """The pages of one detector: the sketches of the sample, the keys of all pages."""

    detector: Detector
    sketches: list[bytes] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def add(self, features: Features, keep: bool) -> None:
        """Add a page."""
        found = self._fingerprint(features)
        self.keys.extend(map(hash, found.keys))
        self.counts.append(len(found.keys))
        if keep:
            self.sketches.append(found.sketch)

    def row(self, copies: Sequence[Features], fresh: Sequence[Features]) -> tuple[float, float, float, int]:
        """Return candidates of new pages, matching copies, copies lost by the cap, largest bucket."""
        buckets = self._buckets()
        candidates = [len(_met(self._fingerprint(page), buckets)) for page in fresh]
        matching = lost = 0
        for place, (copy, old) in enumerate(zip(copies, self.sketches, strict=True)):
            new = self._fingerprint(copy)
            if self.detector.compare(new.sketch, old):
                matching += 1
                lost += place not in _met(new, buckets, BUCKET_CAP)
        largest = max(map(len, buckets.values()))
        return statistics.mean(candidates), matching / len(copies), lost / max(matching, 1), largest

    def _fingerprint(self, features: Features) -> Fingerprint:
        found = self.detector.fingerprint(features)
        assert found is not None
        return found

    def _buckets(self) -> dict[int, Indices]:
        """Return the pages under each key, oldest first."""
        keys, pages = np.array(self.keys), np.repeat(np.arange(len(self.counts)), self.counts)
        order = np.argsort(keys, kind="stable")
        cuts = np.flatnonzero(np.diff(keys[order])) + 1
        starts = np.concatenate(([0], cuts))
        return dict(zip(keys[order][starts].tolist(), np.split(pages[order], cuts), strict=True))


def _met(new: Fingerprint, buckets: dict[int, Indices], newest: int = 0) -> set[int]:
    """Return the pages in the buckets of a page: all, or the ``newest`` of each bucket."""
    found = (buckets.get(hash(key)) for key in new.keys)
    return {page for bucket in found if bucket is not None for page in bucket[-newest:].tolist()}


def main() -> int:
    """Add pages and print a table at each of the sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--probes", type=int, default=400)
    parser.add_argument("--only", choices=DETECTORS, nargs="+", default=list(DETECTORS))
    add_json_option(parser)
    options = parser.parse_args()
    rng = random.Random(1)
    pools = articles()
    first = [page(pools, rng) for _ in range(options.probes)]
    copies = [_features(copied(sentences, rng)) for sentences in first]
    fresh = [_features(page(pools, rng)) for _ in range(options.probes)]
    contestants = {name: FiledPages(detector) for name, detector in DETECTORS.items() if name in options.only}
    tables = {}
    for count in range(max(options.pages)):
        features = _features(first[count] if count < len(first) else page(pools, rng))
        for filed in contestants.values():
            filed.add(features, count < len(first))
        if count + 1 in options.pages:
            tables[f"{count + 1:,} pages"] = _print(count + 1, contestants, copies, fresh)
    write_results(options.json, "buckets", figures=tables)
    return 0


def _features(sentences: Sequence[str]) -> Features:
    return Features(Page.from_text("\n".join(sentences)))


def _print(
    count: int, contestants: dict[str, FiledPages], copies: Sequence[Features], fresh: Sequence[Features]
) -> dict[str, dict[str, float]]:
    table = {}
    heads = f"{'keys':>6}{'candidates':>12}{'largest bucket':>16}{'matching':>10}{'lost':>8}"
    print(f"\n{f'{count:,} pages':<30}{heads}")
    for name, filed in contestants.items():
        candidates, matching, lost, largest = filed.row(copies, fresh)
        keys = statistics.mean(filed.counts)
        print(f"{name:<30}{keys:>6.1f}{candidates:>12.2f}{largest:>16,}{matching:>10.3f}{lost:>8.3f}", flush=True)
        figures = {"keys": keys, "candidates": candidates, "largest bucket": largest}
        table[name] = {**figures, "matching": matching, "lost": lost}
    return table


if __name__ == "__main__":
    raise SystemExit(main())
