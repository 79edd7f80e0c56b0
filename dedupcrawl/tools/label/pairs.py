"""The pairs to ask about: read from the ledgers of a crawl, or from a batch and its inputs, and sampled by strata.

Pairs are divided into strata by the result of the run and by the distance from the threshold. Strata take
turns by weights that do not depend on the answers, those near the threshold most often. Within a stratum, pairs come
in the order of a hash, spread over the similarity. So the pairs answered so far are always a random sample of each
stratum, and each represents ``size / answered`` pairs (stratified sampling: Cochran, Sampling Techniques, 1977,
chapter 5).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import Relation
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Outcome, is_sampled, sampling_hash
from dedupcrawl.tools.report import diff
from dedupcrawl.tools.report.report_builder import ReportLimits
from dedupcrawl.utils.iteration import NoProgress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.ledger.counters import Histogram
    from dedupcrawl.ledger.ledger import LedgerRow
    from dedupcrawl.ledger.ledger_schema import Comparison
    from dedupcrawl.tools.report.report_model import PageRow, PairKey, SourcePair, SourceReport
    from dedupcrawl.utils.iteration import Progress

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
class StratumPairs:
    """Pairs of a run that are equally likely to be asked about."""

    run: str  #: name of the run
    kind: str  #: COPY, PART or MISS: the result of the run
    zone: str  #: NEAR or FAR: the distance from the threshold
    around: float  #: the threshold
    size: int = 0  #: number of pairs


class StratifiedSample:
    """The distinct pairs of a run, in the order of the questions.

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

    def stratum(self, pair: OfferedPair) -> StratumPairs:
        """Return the stratum of a pair."""
        key = self._key(pair.relation, pair.similarity)
        return StratumPairs(self.run, *key, self.around, self._sizes[key])

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


# -- pairs of a run -----------------------------------------------------------------------------

DEFAULT_THRESHOLD = 0.8  #: if no detector of the run has a threshold
#: Relations to ask about. The others need no answer: the texts are identical, or the pages have one URL. Siblings
#: differ by their names and values, which no threshold decides.
ASKED_RELATIONS = frozenset({Relation.NEAR_DUPLICATE, Relation.EXCERPT, Relation.EXPANSION})
MAX_TEXTS = 400  #: pairs of a stratum whose texts are read
_LIMITS = ReportLimits(pages=200_000, misses=MAX_TEXTS, text_chars=100_000_000)
_NO_LIMIT = -1  #: number of near misses to read from a ledger


@dataclass(frozen=True, slots=True)
class LoadedPairs:
    """The pairs of a run."""

    sampler: StratifiedSample
    name: str  #: title of the run
    without_text: int  #: pairs that cannot be shown: a text was not kept, or cannot be read again


def threshold_of(histograms: Iterable[Histogram]) -> float:
    """Return the threshold of the detector that measured the most pairs."""
    found = [
        (sum(each.matched) + sum(each.missed), each.threshold) for each in histograms if each.threshold is not None
    ]
    return max(found)[1] if found else DEFAULT_THRESHOLD


def run_name(title: str, began: float) -> str:
    """Return the name of a run in labels."""
    return f"{title} of {datetime.fromtimestamp(began, UTC).isoformat(timespec='milliseconds')}"


def load_batch(folder: Path, around: float | None, progress: Progress) -> LoadedPairs:
    """Read the pairs of a finished batch; of near misses only the nearest, as in a report.

    Args:
        folder: its ``--out``.
        around: the threshold; None: that of the run.
        progress: progress callback.

    Raises:
        DedupError: the folder has no batch, an unfinished one, or one of another version.
    """
    from dedupcrawl.tools.report.from_batch import input_from_batch  # noqa: PLC0415  # needs pyarrow

    material = input_from_batch(folder, _LIMITS, progress)
    title, began = str(material.about["title"]), float(material.about["began"])
    threshold = threshold_of(material.histograms) if around is None else around
    sampler = StratifiedSample(run_name(title, began), threshold)
    rows = _rows(material)
    chosen = _chosen(rows, sampler)
    hidden = sum(
        not _add_pair(sampler, both, rows.get(both.key)) for both in material.pairs([*chosen, *material.misses])
    )
    return LoadedPairs(sampler, title, hidden)


def _rows(material: SourceReport) -> dict[PairKey, PageRow]:
    return {
        listed.pair: listed.row
        for listed in material.rows
        if listed.pair is not None and listed.row.relation in ASKED_RELATIONS and listed.row.similarity is not None
    }


def _chosen(rows: dict[PairKey, PageRow], sampler: StratifiedSample) -> list[PairKey]:
    """Select a random sample of each stratum; count the other pairs."""
    strata: dict[tuple[str, str], list[tuple[float, PairKey]]] = defaultdict(list)
    for key, row in rows.items():
        which = kind_of(row.relation), zone_of(row.similarity or 0.0, sampler.around)
        strata[which].append((hash_fraction(sampler.run, f"{key}"), key))
    for keys in strata.values():
        keys.sort(key=lambda each: each[0])
        for _, key in keys[MAX_TEXTS:]:
            sampler.count(rows[key].relation, rows[key].similarity or 0.0)
    return [key for keys in strata.values() for _, key in keys[:MAX_TEXTS]]


def _add_pair(sampler: StratifiedSample, both: SourcePair, row: PageRow | None) -> bool:
    nearest = max(both.assessments, key=lambda each: each.similarity or 0.0, default=None)
    similarity = both.similarity or 0.0
    if not both.new_text or not both.old_text:
        sampler.count(both.relation, similarity)
        return False
    pair = OfferedPair(
        OfferedPage.of(both.new, both.new_title, both.new_text, diff.MAX_CHARS),
        OfferedPage.of(both.old, both.old_title, both.old_text, diff.MAX_CHARS),
        both.relation,
        similarity,
        both.decided or (nearest.detector if nearest else ""),
        replace_surrogates(row.cluster if row else both.old),
        is_dropped=row is not None and row.outcome == "dropped",
    )
    if pair.new.text != pair.old.text:
        sampler.add(pair)
    return True


def load_ledgers(paths: Sequence[Path], around: float | None = None, progress: Progress | None = None) -> LoadedPairs:
    """Read the pairs of one crawl, except identical texts and pages of one URL, which need no answer.

    Args:
        paths: its ledgers, one of each worker.
        around: the threshold; None: that of the run.
        progress: progress callback.

    Raises:
        DedupError: a file is missing, damaged, or no ledger.
    """
    with ExitStack() as opened:
        ledgers = [opened.enter_context(Ledger.open(path)) for path in paths]
        runs = [run for ledger in ledgers for run in ledger.runs]
        began = min((run.began for run in runs), default=0.0)
        title = str(runs[0].about.get("title", "run")) if runs else "run"
        histograms = [each for ledger in ledgers for each in ledger.histograms]
        threshold = threshold_of(histograms) if around is None else around
        sampler = StratifiedSample(run_name(title, began), threshold)
        progress = progress or NoProgress()
        progress.begin("pairs", sum(ledger.sample.pages for ledger in ledgers))
        hidden = sum(_add_ledger(ledger, ledgers, sampler, progress) for ledger in ledgers)
    return LoadedPairs(sampler, title, hidden)


@dataclass(frozen=True, slots=True)
class _ComparedRow:
    """A page and an earlier one that it was compared with."""

    row: LedgerRow
    held: Comparison
    relation: str
    similarity: float
    detector: str
    is_dropped: bool
    stands_for: int


def _add_ledger(ledger: Ledger, ledgers: Sequence[Ledger], sampler: StratifiedSample, progress: Progress) -> int:
    """Add the pairs of a ledger; return how many have no texts."""
    hidden = 0
    for met in _compared_rows(ledger, progress):
        new, old = _page_of(ledger, met.row), _older_page(ledger, ledgers, met)
        if new and old:
            pair = OfferedPair(
                new,
                old,
                met.relation,
                met.similarity,
                met.detector,
                replace_surrogates(met.held.cluster),
                is_dropped=met.is_dropped,
            )
            if new.text != old.text:
                sampler.add(pair, met.stands_for)
        else:
            sampler.count(met.relation, met.similarity, met.stands_for)
            hidden += 1
    return hidden


def _compared_rows(ledger: Ledger, progress: Progress) -> Iterator[_ComparedRow]:
    one_in = ledger.sample.texts_one_in
    level = one_in.bit_length() - 1
    # If texts are sampled, near misses are not: the ledger has the texts of the nearest only.
    kept = {(miss.page, miss.index) for miss in ledger.misses(_NO_LIMIT)} if level else None
    for row in ledger.rows():
        progress.advance(1, pages=1)
        verdict = row.entry.verdict
        fair = is_sampled(sampling_hash(verdict.cluster or row.entry.url), level)
        for place, held in enumerate(ledger.comparisons(row.id)):
            met = _as_compared(row, held, one_in)
            if met is None or met.held.url == row.entry.url:
                continue
            if fair if met.relation else kept is None or (row.id, place) in kept:
                yield met


def _as_compared(row: LedgerRow, held: Comparison, one_in: int) -> _ComparedRow | None:
    """Return the result of the run on a pair; None: it needs no answer, or nothing was measured."""
    verdict = row.entry.verdict
    is_decided = verdict.of == held.url
    if is_decided and verdict.detector and verdict.similarity is not None:
        relation, similarity, detector = verdict.relation, verdict.similarity, verdict.detector
    else:
        assessment = _deciding_assessment(held)
        if assessment is None or assessment.similarity is None:
            return None
        relation = assessment.match.relation if assessment.match else None
        similarity, detector = assessment.similarity, assessment.detector
    if relation and relation not in ASKED_RELATIONS:
        return None
    dropped = row.outcome is Outcome.DROPPED and is_decided
    return _ComparedRow(row, held, str(relation or ""), similarity, detector, dropped, one_in if relation else 1)


def _deciding_assessment(held: Comparison) -> Assessment | None:
    """Return the matching assessment with the highest similarity; if none matches, the nearest one."""
    matching = [each for each in held.assessments if each.match]
    return max(matching, key=lambda each: each.similarity or 0.0, default=held.nearest)


def _page_of(ledger: Ledger, row: LedgerRow) -> OfferedPage | None:
    text = ledger.text(row.id)
    return OfferedPage.of(row.entry.url, row.entry.title, text) if text else None


def _older_page(ledger: Ledger, ledgers: Sequence[Ledger], met: _ComparedRow) -> OfferedPage | None:
    """Return the older page as it was when they were compared; another worker may have crawled it."""
    for each in (ledger, *(other for other in ledgers if other is not ledger)):
        for row in each.find(met.held.url):
            if (row.id < met.row.id if each is ledger else row.entry.time <= met.row.entry.time) and (
                side := _page_of(each, row)
            ):
                return side
    return None
