"""Stratified sampling of the pairs to ask about, those near the threshold first.

Pairs are divided into strata by the result of the run and by the distance from the threshold. Strata take
turns by weights that do not depend on the answers. Within a stratum, pairs come in the order of a hash,
spread over the similarity. So the pairs answered so far are always a random sample of each stratum, and each
represents ``size / answered`` pairs (stratified sampling: Cochran, Sampling Techniques, 1977, chapter 5).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    StratumKey = tuple[str, str]

NEAR, FAR = "near", "far"
COPY, PART, MISS = "near-duplicate", "excerpt or expansion", "near miss"
#: How often strata take turns, relative to each other, multiplied by the square root of their sizes: a large
#: stratum weighs more in an estimate, a small one can tell more (power allocation: Bankier, The American
#: Statistician 42, 1988).
_WEIGHTS = {
    (COPY, NEAR): 6.0,
    (MISS, NEAR): 6.0,
    (PART, NEAR): 3.0,
    (COPY, FAR): 4.0,
    (MISS, FAR): 2.0,
    (PART, FAR): 1.0,
}
_BINS = 20  #: bins of the similarity 0…1 that the pairs of a stratum are spread over
MAX_HELD = 2_000  #: pairs of a stratum kept in memory; more than anybody answers
MAX_CHARS = 50_000  #: characters of a text in a label; the rest is cut off
_MAX_TITLE_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class OfferedPage:
    """One page of a pair."""

    url: str
    title: str
    text: str  #: main text
    is_cut: bool = False  #: whether the text was longer

    @classmethod
    def of(cls, url: str, title: str, text: str, most: int = MAX_CHARS) -> OfferedPage:
        """Return a page with its text cut to ``most`` characters, and without surrogates."""
        url, title, short = map(replace_surrogates, (url, title[:_MAX_TITLE_CHARS], text[:most]))
        return cls(url, title, short, len(text) > most)


@dataclass(frozen=True)
class OfferedPair:
    """Two pages that a run compared, and the result."""

    new: OfferedPage
    old: OfferedPage
    relation: str  #: "" for a near miss
    similarity: float  #: by ``detector``, 0…1
    detector: str  #: the one that decided; of a near miss the one with the highest similarity
    cluster: str  #: of the older page
    is_dropped: bool = False

    @cached_property
    def id(self) -> str:
        """Hash of the two texts, the same in either order."""
        digests = (blake2b(side.text.encode(), digest_size=8).digest() for side in (self.new, self.old))
        return b"".join(sorted(digests)).hex()


@dataclass(frozen=True, slots=True)
class Stratum:
    """Pairs of a run that are equally likely to be asked about."""

    run: str  #: name of the run
    kind: str  #: COPY, PART or MISS: the result of the run
    zone: str  #: NEAR or FAR: the distance from the threshold
    around: float  #: the threshold
    size: int = 0  #: number of pairs


class StratifiedSampler:
    """The distinct pairs of a run, in the order in which to ask about them.

    Args:
        run: name of the run; it determines the order.
        around: the threshold, between 0 and 1.
        held: most pairs of a stratum to keep; of more, the first in the order are kept.
    """

    def __init__(self, run: str, around: float, held: int = MAX_HELD) -> None:
        self.run, self.around = run, around
        self._held = held
        self._sizes: Counter[StratumKey] = Counter()
        self._seen: set[bytes] = set()
        self._pairs: dict[StratumKey, list[OfferedPair]] = defaultdict(list)
        self._queues: dict[StratumKey, list[OfferedPair]] = {}

    def add(self, pair: OfferedPair, stands_for: int = 1) -> None:
        """Add a pair, unless it is there; in a sampled run it represents several."""
        token = bytes.fromhex(pair.id)
        if token in self._seen:
            return
        self._seen.add(token)
        key = self._key(pair.relation, pair.similarity)
        self._sizes[key] += stands_for
        self._pairs[key].append(pair)
        if len(self._pairs[key]) >= 2 * self._held:
            self._pairs[key] = self._first(self._pairs[key])
        self._queues.pop(key, None)

    def count(self, relation: str, similarity: float, stands_for: int = 1) -> None:
        """Count a pair that cannot be shown; the others of its stratum represent it."""
        self._sizes[self._key(relation, similarity)] += stands_for

    def stratum(self, pair: OfferedPair) -> Stratum:
        """Return the stratum of a pair."""
        key = self._key(pair.relation, pair.similarity)
        return Stratum(self.run, *key, self.around, self._sizes[key])

    def remaining(self, asked: Collection[str]) -> int:
        """Return the number of pairs kept whose ids are not in ``asked``."""
        return sum(pair.id not in asked for queue in self._ordered().values() for pair in queue)

    def next_pair(self, asked: Collection[str], last: OfferedPair | None = None) -> OfferedPair | None:
        """Return the next pair, None when all were asked about (``asked``: their ids).

        Another pair of the cluster of ``last``, the previous pair, comes only if there is no other.
        """
        queues = self._ordered()
        firsts = {key: next((pair for pair in queue if pair.id not in asked), None) for key, queue in queues.items()}
        heads = {key: pair for key, pair in firsts.items() if pair is not None}
        others = {key: pair for key, pair in heads.items() if last is None or pair.cluster != last.cluster}
        free = others or heads
        if not free:
            return None
        done = {key: sum(pair.id in asked for pair in queue) for key, queue in queues.items()}
        return free[min(free, key=lambda key: (self._priority(key, done[key]), key))]

    def _priority(self, key: StratumKey, done: int) -> float:
        """Return the turn of a stratum, the lowest first (Sainte-Laguë method)."""
        return (2 * done + 1) / (_WEIGHTS[key] * sqrt(self._sizes[key]))

    def _key(self, relation: str, similarity: float) -> StratumKey:
        return kind_of(relation), zone_of(similarity, self.around)

    def _ordered(self) -> Mapping[StratumKey, Sequence[OfferedPair]]:
        for key, pairs in self._pairs.items():
            if key not in self._queues:
                self._queues[key] = sampling_order(self.run, self._first(pairs))
        return self._queues

    def _first(self, pairs: Sequence[OfferedPair]) -> list[OfferedPair]:
        return sorted(pairs, key=lambda pair: hash_fraction(self.run, pair.id))[: self._held]


def kind_of(relation: str) -> str:
    """Return the kind of a stratum: the result of the run on a pair."""
    return {"": MISS, COPY: COPY}.get(relation, PART)


def zone_of(similarity: float, around: float) -> str:
    """Return the zone of a stratum; NEAR: at most half as far from the threshold as 1 is."""
    return NEAR if abs(similarity - around) <= (1 - around) / 2 else FAR


def sampling_order(run: str, pairs: Sequence[OfferedPair]) -> list[OfferedPair]:
    """Order pairs by a hash so that every first part of them is spread over the similarity as all are.

    Each pair is equally likely to be in such a part. The same run gives the same order.
    """
    bins: dict[int, list[OfferedPair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: hash_fraction(run, pair.id)):
        bins[min(int(pair.similarity * _BINS), _BINS - 1)].append(pair)
    places = [
        ((order + hash_fraction(run, f"{number}")) / len(several), pair.id, pair)
        for number, several in bins.items()
        for order, pair in enumerate(several)
    ]
    return [pair for *_, pair in sorted(places, key=lambda each: each[:2])]


def hash_fraction(run: str, what: str) -> float:
    """Return a pseudo-random number, 0…1, that is a hash of both."""
    digest = blake2b(f"{run}\0{what}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 256**7


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be written to a file."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
