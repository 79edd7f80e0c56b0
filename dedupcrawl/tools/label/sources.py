"""The pairs of a run: read from the ledgers of a crawl, or from the output of a batch and its inputs."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import Relation
from dedupcrawl.ledger.entry import Fate
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import is_sampled, sampling_hash
from dedupcrawl.tools.label.sampling import (
    OfferedPage,
    OfferedPair,
    StratifiedSampler,
    hash_fraction,
    kind_of,
    replace_surrogates,
    zone_of,
)
from dedupcrawl.tools.report.diff import MAX_CHARS
from dedupcrawl.tools.report.report_builder import ReportLimits
from dedupcrawl.utils.iteration import NoProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.ledger.counters import Histogram
    from dedupcrawl.ledger.entry import Comparison
    from dedupcrawl.ledger.ledger import LedgerRow
    from dedupcrawl.tools.report.report_model import PageRow, PairInput, PairKey, ReportInput
    from dedupcrawl.utils.iteration import Progress


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

    sampler: StratifiedSampler
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
    sampler = StratifiedSampler(run_name(title, began), threshold)
    rows = _rows(material)
    chosen = _chosen(rows, sampler)
    hidden = sum(
        not _add_pair(sampler, both, rows.get(both.key)) for both in material.pairs([*chosen, *material.misses])
    )
    return LoadedPairs(sampler, title, hidden)


def _rows(material: ReportInput) -> dict[PairKey, PageRow]:
    return {
        listed.pair: listed.row
        for listed in material.rows
        if listed.pair is not None and listed.row.relation in ASKED_RELATIONS and listed.row.similarity is not None
    }


def _chosen(rows: dict[PairKey, PageRow], sampler: StratifiedSampler) -> list[PairKey]:
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


def _add_pair(sampler: StratifiedSampler, both: PairInput, row: PageRow | None) -> bool:
    nearest = max(both.opinions, key=lambda each: each.similarity or 0.0, default=None)
    similarity = both.similarity or 0.0
    if not both.new_text or not both.old_text:
        sampler.count(both.relation, similarity)
        return False
    pair = OfferedPair(
        OfferedPage.of(both.new, both.new_title, both.new_text, MAX_CHARS),
        OfferedPage.of(both.old, both.old_title, both.old_text, MAX_CHARS),
        both.relation,
        similarity,
        both.decided or (nearest.detector if nearest else ""),
        replace_surrogates(row.cluster if row else both.old),
        is_dropped=row is not None and row.fate == "dropped",
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
        sampler = StratifiedSampler(run_name(title, began), threshold)
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


def _add_ledger(ledger: Ledger, ledgers: Sequence[Ledger], sampler: StratifiedSampler, progress: Progress) -> int:
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
        opinion = _deciding_opinion(held)
        if opinion is None or opinion.similarity is None:
            return None
        relation = opinion.match.relation if opinion.match else None
        similarity, detector = opinion.similarity, opinion.detector
    if relation and relation not in ASKED_RELATIONS:
        return None
    dropped = row.fate is Fate.DROPPED and is_decided
    return _ComparedRow(row, held, str(relation or ""), similarity, detector, dropped, one_in if relation else 1)


def _deciding_opinion(held: Comparison) -> Opinion | None:
    """Return the matching opinion with the highest similarity; if none matches, the nearest one."""
    matching = [each for each in held.opinions if each.match]
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
