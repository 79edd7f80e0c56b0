"""Text to signature, compared with datasketch and rensa: ``python benchmarks/fingerprint.py``.

All three compute 128 slots from the same shingles (five Chinese characters, three words). The other two
receive normalised text and compute their shingles in one comprehension; ours starts from the raw text. The
contestants take turns in short batches, so that other load affects all of them; a ratio is the median over
the rounds.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from datasketch import MinHash
from rensa import RMinHash

from dedupcrawl.detectors.lsh import Slots, fast_similarity_sketch
from dedupcrawl.detectors.minhash import MinHash as OurMinHash
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize, pack
from dedupcrawl.text.shingles import shingles, tokens

SLOTS, CHARACTERS, WORDS = 128, 5, 3
BATCH_SECONDS = 0.01
Contestant = Callable[[str], object]


@dataclass(frozen=True)
class Case:
    """A kind of text, and the speed that is required relative to datasketch."""

    name: str
    text: str
    bar: float


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
    """Cut normalised text, all Chinese or all words, as a user of the other packages would."""
    if text.isascii():
        words = re.findall(r"\w+", text)
        return [" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)]
    characters = re.sub(r"\W+", "", text)
    return [characters[at : at + CHARACTERS] for at in range(len(characters) - CHARACTERS + 1)]


def by_dedupcrawl(text: str, seed: int = 0) -> Slots:
    """Compute the sketch of raw text."""
    return fast_similarity_sketch(shingles(tokens(pack(text), seed), CHARACTERS, WORDS, seed), SLOTS, seed)


def by_datasketch(text: str, seed: int = 1) -> MinHash:
    """Compute the signature with ``update_batch``."""
    minhash = MinHash(SLOTS, seed=seed)
    minhash.update_batch([shingle.encode() for shingle in plain_shingles(text)])
    return minhash


def by_rensa(text: str) -> object:
    """Compute the signature with rensa's fastest class with independent permutations."""
    minhash = RMinHash(num_perm=SLOTS, seed=1)
    minhash.update(plain_shingles(text))
    return minhash.digest()


def fingerprint(text: str) -> object:
    """Do all work of the detector: sketch, bands, keys."""
    return OurMinHash().fingerprint(Features(Page.from_text(text)))


def time_all(contestants: Sequence[tuple[Contestant, str]], rounds: int) -> list[list[float]]:
    """Time all contestants in turns; return seconds per call, one list for each."""
    repeats = [_repeats(call, text) for call, text in contestants]
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(rounds):
        for (call, text), count, column in zip(contestants, repeats, times, strict=True):
            column.append(_seconds(call, text, count))
    return times


def _repeats(call: Contestant, text: str) -> int:
    _seconds(call, text, 5)
    return max(1, round(BATCH_SECONDS / _seconds(call, text, 5)))


def _seconds(call: Contestant, text: str, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call(text)
    return (time.perf_counter() - start) / count


def speed(case: Case, rounds: int) -> bool:
    """Print one row; return whether the bar is met."""
    normal = normalize(case.text)
    assert len(set(plain_shingles(normal))) == len(
        np.unique(shingles(tokens(pack(case.text), 0), CHARACTERS, WORDS, 0))
    )
    contestants = [(by_dedupcrawl, case.text), (by_datasketch, normal), (by_rensa, normal), (fingerprint, case.text)]
    times = time_all(contestants, rounds)
    us = [statistics.median(column) * 1e6 for column in times]
    ratios = [statistics.median(np.divide(column, times[0]).tolist()) for column in times]
    holds = bool(ratios[1] >= case.bar)
    print(
        f"{case.name:<26}{us[0]:>9.1f}{us[1]:>12.1f}{us[2]:>9.1f}{us[3]:>13.1f}"
        f"{ratios[1]:>12.1f}{ratios[2]:>9.2f}{case.bar:>8g}  {'ok' if holds else 'MISSED'}"
    )
    return holds


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
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=400)
    options = parser.parse_args()
    rng = random.Random(7)
    cases = (
        Case("600 English words", english(600, rng), 6),
        Case("1,500 Chinese characters", chinese(1500, rng), 30),
        Case("60 English words", english(60, rng), 3),
    )
    print(
        f"{'µs a text (median)':<26}{'ours':>9}{'datasketch':>12}{'rensa':>9}{'ours + keys':>13}"
        f"{'datasketch/':>12}{'rensa/':>9}{'bar':>8}"
    )
    fast = [speed(case, options.rounds) for case in cases]
    exact = accuracy(
        (
            ("600 English words", 600, english),
            ("1,500 Chinese characters", 1500, chinese),
            ("60 English words", 60, english),
        ),
        options.pairs,
    )
    return 0 if all(fast) and exact else 1


if __name__ == "__main__":
    raise SystemExit(main())
