"""From raw text to sketch and keys, compared with datasketch, rensa and gaoya: ``python -m benchmarks.fingerprint``.

All compute 128 slots from the same shingles (five Chinese characters, three words), and all start from the raw text:
the cutting of shingles is counted for each. For datasketch and rensa a regular expression cuts them, for gaoya its own
analyzer, which knows no punctuation. gaoya has no public sketch, so an empty index is queried. Ours includes NFKC and
the keys of the bands.

The contestants take turns in short batches, so that other load affects all of them. Times are CPU time of the thread,
the least over the rounds. The numpy code, which serves where the kernel cannot be compiled, is measured in the same
run, and so is the whole step from page to record (:meth:`dedupcrawl.fingerprinting.Fingerprinter.fingerprint`), and a
check of a new text through the public API, which is compared with the others' sketches alone.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from datasketch import MinHash
from gaoya.minhash import MinHashStringIndex
from rensa import CMinHash, RMinHash

from benchmarks.results import add_json_option, write_results
from dedupcrawl import Deduplicator
from dedupcrawl.config import Config
from dedupcrawl.detectors.lsh import Slots, fast_similarity_sketch
from dedupcrawl.detectors.minhash import MinHash as OurMinHash
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.fingerprinting import Fingerprinter
from dedupcrawl.page.model import Page
from dedupcrawl.text import features
from dedupcrawl.text.normalize import normalize, pack
from dedupcrawl.text.shingles import shingles, tokens

SLOTS, CHARACTERS, WORDS = 128, 5, 3
RENSA_CHECK = 1.0  #: bar: the time of rensa's sketch in times of a check
BATCH_SECONDS = 0.01
URL, TITLE = "https://news.example/2026/05/17/1234.html", "The harbour froze over in the night"
Contestant = Callable[[str], object]
OURS = OurMinHash()
FINGERPRINTER = Fingerprinter(build_detectors(Config()), 100, lambda: 0.0)


@dataclass(frozen=True)
class Case:
    """A kind of text, and the speed that is required, if the kernel is compiled."""

    name: str
    text: str
    datasketch: float  #: lowest time of datasketch in times of ours
    fastest: float  #: the same for the fastest of the others
    check: float  #: lowest time of datasketch in times of a check through the public API

    @property
    def index(self) -> MinHashStringIndex:
        """An empty index of gaoya with 128 hashes of 32 bits and the same shingles."""
        analyzer, size = ("word", WORDS) if self.text.isascii() else ("char", CHARACTERS)
        return MinHashStringIndex(32, 0.8, 16, 8, None, analyzer, lowercase=True, ngram_range=(size, size))


def english(count: int, rng: random.Random) -> str:
    """Generate ``count`` words of two to nine letters, some more frequent, in sentences."""
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(4000)]
    words = [vocabulary[int(len(vocabulary) * rng.random() ** 2)] for _ in range(count)]
    marks = rng.choices(("", ",", "."), (20, 2, 1), k=count)
    return " ".join(word + mark for word, mark in zip(words, marks, strict=True))


def chinese(count: int, rng: random.Random) -> str:
    """Generate ``count`` characters, one in twelve of them punctuation."""
    return "".join(
        rng.choice("，。") if rng.random() < 1 / 12 else chr(0x4E00 + int(6000 * rng.random() ** 2))
        for _ in range(count)
    )


def plain_shingles(text: str) -> list[str]:
    """Cut a text, all Chinese or all words, as a user of the other packages would."""
    text = text.lower()
    if text.isascii():
        words = re.findall(r"\w+", text)
        return [" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)]
    characters = re.sub(r"\W+", "", text)
    return [characters[at : at + CHARACTERS] for at in range(len(characters) - CHARACTERS + 1)]


def by_dedupcrawl(text: str, seed: int = 0) -> Slots:
    """Compute the sketch alone."""
    return fast_similarity_sketch(shingles(tokens(pack(text), seed), CHARACTERS, WORDS, seed), SLOTS, seed)


def by_datasketch(text: str, seed: int = 1) -> MinHash:
    """Compute the signature with ``update_batch``."""
    minhash = MinHash(SLOTS, seed=seed)
    minhash.update_batch([shingle.encode() for shingle in plain_shingles(text)])
    return minhash


def by_rensa(kind: type[RMinHash | CMinHash], text: str) -> object:
    """Compute the signature with one of rensa's classes."""
    minhash = kind(num_perm=SLOTS, seed=1)
    minhash.update(plain_shingles(text))
    return minhash.digest()


def page_to_record(text: str) -> object:
    """Do all work between reading a page and offering it to the store."""
    return FINGERPRINTER.fingerprint(Page(url=URL, text=text, title=TITLE))


def check(dedup: Deduplicator, text: str) -> object:
    """Check a text through the public API, with its URL: sketch, keys, and a look-up that finds nothing."""
    return dedup.check(text=text, url=URL)


@contextmanager
def numpy_only() -> Iterator[None]:
    """Turn the compiled kernel off."""
    before, features.kernel = features.kernel, None
    try:
        yield
    finally:
        features.kernel = before


def contestants(case: Case) -> Mapping[str, Contestant]:
    """Return what is compared, by name."""
    with_numpy = OurMinHash()
    with numpy_only():
        with_numpy.fingerprint_text("warm up")
    return {
        "ours": OURS.fingerprint_text,
        "ours, numpy": with_numpy.fingerprint_text,
        "datasketch": by_datasketch,
        "rensa R": partial(by_rensa, RMinHash),
        "rensa C": partial(by_rensa, CMinHash),
        "gaoya": case.index.query,
        "page": page_to_record,
        "check": partial(check, Deduplicator()),
        "page, numpy": page_to_record,
    }


def time_all(case: Case, rounds: int) -> dict[str, float]:
    """Time all contestants in turns; return the least seconds per call."""
    least: dict[str, float] = {}
    calls = contestants(case)
    repeats = {name: _repeats(call, case.text) for name, call in calls.items()}
    for _ in range(rounds):
        for name, call in calls.items():
            seconds = _numpy_seconds if name.endswith("numpy") else _seconds
            found = seconds(call, case.text, repeats[name])
            least[name] = min(found, least.get(name, found))
    return least


def _repeats(call: Contestant, text: str) -> int:
    _seconds(call, text, 5)
    return max(1, round(BATCH_SECONDS / _seconds(call, text, 5)))


def _numpy_seconds(call: Contestant, text: str, count: int) -> float:
    with numpy_only():
        return _seconds(call, text, count)


def _seconds(call: Contestant, text: str, count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        call(text)
    return (time.thread_time() - start) / count


@dataclass(frozen=True)
class Speed:
    """The result for a kind of text."""

    name: str
    microseconds: dict[str, float]  #: CPU time of a text, by contestant
    ratios: dict[str, float]
    holds: bool  #: whether both bars are met


def speed(case: Case, rounds: int) -> Speed:
    """Measure one kind of text, and print a row."""
    ours = np.unique(shingles(tokens(pack(case.text), 0), CHARACTERS, WORDS, 0))
    assert len(set(plain_shingles(case.text))) == len(ours)
    least = time_all(case, rounds)
    fastest = min(("rensa R", "rensa C", "gaoya"), key=lambda name: least[name])
    ratios = {
        "datasketch/ours": least["datasketch"] / least["ours"],
        "fastest/ours": least[fastest] / least["ours"],
        "datasketch/numpy": least["datasketch"] / least["ours, numpy"],
        "page/page numpy": least["page"] / least["page, numpy"],
        "datasketch/check": least["datasketch"] / least["check"],
        "rensa/check": min(least["rensa R"], least["rensa C"]) / least["check"],
    }
    holds = ratios["datasketch/ours"] >= case.datasketch and ratios["fastest/ours"] >= case.fastest
    holds &= ratios["datasketch/check"] >= case.check and ratios["rensa/check"] >= RENSA_CHECK
    times = "".join(f"{least[name] * 1e6:>{len(name) + 2}.1f}" for name in least)
    print(
        f"{case.name:<26}{times}  datasketch {ratios['datasketch/ours']:.0f} x (bar {case.datasketch:g}), "
        f"{fastest} {ratios['fastest/ours']:.1f} x (bar {case.fastest:g}), page {ratios['page/page numpy']:.2f} x, "
        f"check {ratios['datasketch/check']:.0f} x (bar {case.check:g}), of rensa {ratios['rensa/check']:.1f} x "
        f"(bar {RENSA_CHECK:g}) "
        f"{'ok' if holds else 'MISSED'}"
    )
    return Speed(case.name, {name: seconds * 1e6 for name, seconds in least.items()}, ratios, holds)


def errors(count: int, make: Callable[[int, random.Random], str], pairs: int) -> tuple[float, float]:
    """Return the mean absolute errors of J, ours and datasketch's, over pairs of edited texts."""
    rng = random.Random(count)
    found: list[tuple[float, float]] = []
    for pair in range(pairs):
        left = make(count, rng)
        right = edited(left, make, rng)
        sets = [set(plain_shingles(normalize(text))) for text in (left, right)]
        true = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        agreeing = float(np.mean(by_dedupcrawl(left, pair) == by_dedupcrawl(right, pair)))
        theirs = by_datasketch(normalize(left), pair).jaccard(by_datasketch(normalize(right), pair))
        found.append((abs((agreeing - 1 / 256) / (1 - 1 / 256) - true), abs(theirs - true)))
    mean = np.mean(found, axis=0)
    return float(mean[0]), float(mean[1])


def edited(text: str, make: Callable[[int, random.Random], str], rng: random.Random) -> str:
    """Replace up to a third of a text with pieces of another one, in one to eight places."""
    other = make(len(text) if not text.isascii() else len(text) // 5, rng)
    rate, pieces = rng.random() / 3, rng.randint(1, 8)
    length = int(len(text) * rate / pieces)
    for _ in range(pieces):
        at = rng.randrange(len(text) - length)
        text = text[:at] + other[at : at + length] + text[at + length :]
    return text


def accuracy(cases: Sequence[tuple[str, int, Callable[[int, random.Random], str]]], pairs: int) -> bool:
    """Print the errors; return whether ours are never larger."""
    print(f"\n{'mean error of J':<26}{'ours':>9}{'datasketch':>12}   {pairs} pairs each")
    holds = True
    for name, count, make in cases:
        mine, theirs = errors(count, make, pairs)
        holds &= mine <= theirs
        print(f"{name:<26}{mine:>9.4f}{theirs:>12.4f}  {'ok' if mine <= theirs else 'LARGER'}")
    return holds


def main() -> int:
    """Run both parts; return 0 if every bar is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=400)
    add_json_option(parser)
    options = parser.parse_args()
    rng = random.Random(7)
    cases = (
        Case("600 English words", english(600, rng), 80, 4, 12),
        Case("1,500 Chinese characters", chinese(1500, rng), 130, 6, 25),
        Case("60 English words", english(60, rng), 80, 4, 8),
    )
    names = "".join(f"  {name}" for name in contestants(cases[0]))
    print(f"text kernel: {features.kernel_description()}\n{'µs of CPU a text (least)':<26}{names}")
    rows = [speed(case, options.rounds) for case in cases]
    exact = accuracy(
        (
            ("600 English words", 600, english),
            ("1,500 Chinese characters", 1500, chinese),
            ("60 English words", 60, english),
        ),
        options.pairs,
    )
    write_results(
        options.json,
        "fingerprint",
        ratios={f"{row.name}: {name}": ratio for row in rows for name, ratio in row.ratios.items()},
        figures={"microseconds": {row.name: row.microseconds for row in rows}},
    )
    return 0 if all(row.holds for row in rows) and exact else 1


if __name__ == "__main__":
    raise SystemExit(main())
