"""Which pairs are asked about, and in which order: near the threshold first, from both sides of it.

Pairs are parted into strata: by what the run made of them, and by whether they lie near the threshold. Strata
take turns by shares that know nothing of the answers. Within one, pairs come in the order of a hash, spread
over the similarity: whenever the person stops, those that were asked are a fair sample of each stratum, and
stand for ``size / asked`` pairs each (stratified sampling: Cochran, Sampling Techniques, 1977, chapter 5).

Pairs of pages about which a person may be asked.
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
#: How often strata take turns, relative to each other, times the square root of their sizes: large ones must
#: be known well for what they weigh, small ones for what they tell (power allocation: Bankier, The American
#: Statistician 42, 1988).
_WEIGHTS = {
    (COPY, NEAR): 6.0,
    (MISS, NEAR): 6.0,
    (PART, NEAR): 3.0,
    (COPY, FAR): 4.0,
    (MISS, FAR): 2.0,
    (PART, FAR): 1.0,
}
_BINS = 20  #: of the similarity from 0 to 1, over which the pairs of a stratum are spread
MAX_HELD = 2_000  #: pairs of a stratum that are held; more than anybody answers


@dataclass(frozen=True, slots=True)
class Stratum:
    """Pairs of a run that are as likely as each other to be asked about."""

    run: str  #: which run they are of
    kind: str  #: what the run made of them
    zone: str  #: near the threshold or far from it
    around: float  #: the threshold
    size: int = 0  #: how many pairs there are


class StratifiedSampler:
    """The pairs of a run, each once, and who comes next.

    Args:
        run: names the run; the same run has the same order.
        around: the threshold.
        held: the most pairs of a stratum that are held; of more, those that come first are.
    """

    def __init__(self, run: str, around: float, held: int = MAX_HELD) -> None:
        self.run, self.around = run, around
        self._held = held
        self._sizes: Counter[StratumKey] = Counter()
        self._seen: set[bytes] = set()
        self._pairs: dict[StratumKey, list[OfferedPair]] = defaultdict(list)
        self._queues: dict[StratumKey, list[OfferedPair]] = {}

    def put(self, pair: OfferedPair, stands_for: int = 1) -> None:
        """Put a pair in, if it is not there; in a sampled run it stands for several."""
        token = bytes.fromhex(pair.id)
        if token in self._seen:
            return
        self._seen.add(token)
        which = kind_of(pair.relation), zone_of(pair.similarity, self.around)
        self._sizes[which] += stands_for
        self._pairs[which].append(pair)
        if len(self._pairs[which]) >= 2 * self._held:
            self._pairs[which] = self._first(self._pairs[which])
        self._queues.pop(which, None)

    def note(self, relation: str, similarity: float, stands_for: int = 1) -> None:
        """Count a pair that cannot be shown; the others of its stratum stand for it."""
        self._sizes[kind_of(relation), zone_of(similarity, self.around)] += stands_for

    def stratum(self, pair: OfferedPair) -> Stratum:
        """Return the stratum of a pair."""
        which = kind_of(pair.relation), zone_of(pair.similarity, self.around)
        return Stratum(self.run, *which, self.around, self._sizes[which])

    def left(self, asked: Collection[str]) -> int:
        """Return how many of the pairs that are held were not asked about."""
        return sum(pair.id not in asked for queue in self._ordered().values() for pair in queue)

    def draw(self, asked: Collection[str], last: OfferedPair | None = None) -> OfferedPair | None:
        """Return the next pair, None when all were asked about.

        Args:
            asked: the ids of those that were.
            last: the one before; another of its cluster comes next only if there is no other.
        """
        queues = self._ordered()
        firsts = {
            which: next((pair for pair in queue if pair.id not in asked), None)
            for which, queue in queues.items()
        }
        heads = {which: pair for which, pair in firsts.items() if pair is not None}
        others = {
            which: pair for which, pair in heads.items() if last is None or pair.cluster != last.cluster
        }
        free = others or heads
        if not free:
            return None
        done = {which: sum(pair.id in asked for pair in queue) for which, queue in queues.items()}
        return free[min(free, key=lambda which: (self._turn(which, done[which]), which))]

    def _turn(self, which: StratumKey, done: int) -> float:
        """Say how long a stratum can wait (Sainte-Laguë's rule)."""
        return (2 * done + 1) / (_WEIGHTS[which] * sqrt(self._sizes[which]))

    def _ordered(self) -> Mapping[StratumKey, Sequence[OfferedPair]]:
        for which, pairs in self._pairs.items():
            if which not in self._queues:
                self._queues[which] = sampling_order(self.run, self._first(pairs))
        return self._queues

    def _first(self, pairs: Sequence[OfferedPair]) -> list[OfferedPair]:
        return sorted(pairs, key=lambda pair: hash_fraction(self.run, pair.id))[: self._held]


def kind_of(relation: str) -> str:
    """Say what the run made of a pair."""
    return {"": MISS, COPY: COPY}.get(relation, PART)


def zone_of(similarity: float, around: float) -> str:
    """Say whether a similarity is near: at most half as far from the threshold as equality is."""
    return NEAR if abs(similarity - around) <= (1 - around) / 2 else FAR


def sampling_order(run: str, pairs: Sequence[OfferedPair]) -> list[OfferedPair]:
    """Order pairs by chance, but spread each part from the beginning over the similarity as all are.

    Each pair is as likely as any other to be in such a part. The chance is that of a hash: the same run has
    the same order.
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
    """Return a number from 0 to 1 that follows from both."""
    digest = blake2b(f"{run}\0{what}".encode(), digest_size=7).digest()
    return int.from_bytes(digest) / 256**7


MAX_CHARS = 50_000  #: of a text that goes with a label; the rest is cut off
_TITLE = 1_000  #: characters of a title


@dataclass(frozen=True, slots=True)
class OfferedPage:
    """One of the two pages."""

    url: str
    title: str
    text: str  #: main text
    is_cut: bool = False  #: whether the text is longer

    @classmethod
    def of(cls, url: str, title: str, text: str, most: int = MAX_CHARS) -> OfferedPage:
        """Cut what is too long; see :func:`whole`."""
        return cls(
            replace_surrogates(url),
            replace_surrogates(title[:_TITLE]),
            replace_surrogates(text[:most]),
            len(text) > most,
        )


@dataclass(frozen=True)
class OfferedPair:
    """Two pages that a run held against each other, and what it made of them."""

    new: OfferedPage
    old: OfferedPage
    relation: str  #: "" for a near miss
    similarity: float  #: by ``detector``
    detector: str  #: that decided; of a near miss the one that measured the most
    cluster: str  #: of the older page
    is_dropped: bool = False

    @cached_property
    def id(self) -> str:
        """The same for the same two texts, whichever came first, and wherever they stand."""
        one, other = sorted(_digest(side.text) for side in (self.new, self.old))
        return (one + other).hex()


def replace_surrogates(text: str) -> str:
    """Replace halves of characters, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()
