"""The pairs of a batch, from its ``--out`` and its inputs, whose texts are read again.

What is found in a run, of whatever kind it is.

The pairs of a crawl, from the ledgers that it wrote (``DEDUP_REPORT``).
"""

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
    chance,
    kind_of,
    whole,
    zone_of,
)
from dedupcrawl.tools.report.diff import MAX_CHARS
from dedupcrawl.tools.report.report_builder import ReportLimits
from dedupcrawl.utils.progress import NoProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.ledger.counters import Histogram
    from dedupcrawl.ledger.entry import Comparison
    from dedupcrawl.ledger.ledger import LedgerRow
    from dedupcrawl.tools.report.report_model import PageRow, PairInput, PairKey, ReportInput
    from dedupcrawl.utils.progress import Progress


THRESHOLD = 0.8  #: where no detector of the run has one

#: Of the other relations nobody needs to be asked: texts are identical, or pages have one URL.
ASKED = frozenset({Relation.NEAR_DUPLICATE, Relation.EXCERPT, Relation.EXPANSION})


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pairs of a run."""

    urn: StratifiedSampler
    name: str  #: of the run, for a person
    without_text: int  #: pairs that cannot be shown: a text was not kept, or cannot be read again


def threshold_of(histograms: Iterable[Histogram]) -> float:
    """Return the threshold of the detector that measured most pairs."""
    found = [
        (sum(each.matched) + sum(each.missed), each.threshold)
        for each in histograms
        if each.threshold is not None
    ]
    return max(found)[1] if found else THRESHOLD


def run_name(title: str, began: float) -> str:
    """Return the name by which labels know their run."""
    return f"{title} of {datetime.fromtimestamp(began, UTC).isoformat(timespec='milliseconds')}"


HELD = 400  #: pairs of a stratum whose texts are read
_MOST = ReportLimits(pages=200_000, misses=HELD, text=100_000_000)


def load_batch(folder: Path, around: float | None, teller: Progress) -> Loaded:
    """Read the pairs of a batch that has come to its end.

    Of near misses it has the nearest alone, as a report has.

    Args:
        folder: its ``--out``.
        around: the threshold; None: the one that was in force.
        teller: is told how far it has come.

    Raises:
        DedupError: there is no batch, one that has not come to its end, or one of another version.
    """
    from dedupcrawl.tools.report.from_batch import input_from_batch  # noqa: PLC0415  # needs pyarrow

    material = input_from_batch(folder, _MOST, teller)
    title, began = str(material.about["title"]), float(material.about["began"])
    urn = StratifiedSampler(
        run_name(title, began), threshold_of(material.histograms) if around is None else around
    )
    rows = _rows(material)
    chosen = _chosen(rows, urn)
    hidden = sum(
        not _put(urn, both, rows.get(both.key)) for both in material.pairs([*chosen, *material.misses])
    )
    return Loaded(urn, title, hidden)


def _rows(material: ReportInput) -> dict[PairKey, PageRow]:
    """Return the rows that are related to another in a way that a person can judge, by their pairs."""
    return {
        listed.pair: listed.row
        for listed in material.rows
        if listed.pair is not None and listed.row.relation in ASKED and listed.row.similarity is not None
    }


def _chosen(rows: dict[PairKey, PageRow], urn: StratifiedSampler) -> list[PairKey]:
    """Choose pairs by chance, some of each stratum; the others are counted."""
    strata: dict[tuple[str, str], list[tuple[float, PairKey]]] = defaultdict(list)
    for key, row in rows.items():
        which = kind_of(row.relation), zone_of(row.similarity or 0.0, urn.around)
        strata[which].append((chance(urn.run, f"{key}"), key))
    for keys in strata.values():
        keys.sort(key=lambda each: each[0])
        for _, key in keys[HELD:]:
            urn.note(rows[key].relation, rows[key].similarity or 0.0)
    return [key for keys in strata.values() for _, key in keys[:HELD]]


def _put(urn: StratifiedSampler, both: PairInput, row: PageRow | None) -> bool:
    """Put a pair into the urn; return whether it can be shown."""
    nearest = max(both.opinions, key=lambda each: each.similarity or 0.0, default=None)
    similarity = both.similarity or 0.0
    if not both.new_text or not both.old_text:
        urn.note(both.relation, similarity)
        return False
    pair = OfferedPair(
        OfferedPage.of(both.new, both.new_title, both.new_text, MAX_CHARS),
        OfferedPage.of(both.old, both.old_title, both.old_text, MAX_CHARS),
        both.relation,
        similarity,
        both.decided or (nearest.detector if nearest else ""),
        whole(row.cluster if row else both.old),
        is_dropped=row is not None and row.fate == "dropped",
    )
    if pair.new.text != pair.old.text:
        urn.put(pair)
    return True


_ALL = -1  #: misses: without a limit


def load_ledgers(
    paths: Sequence[Path], around: float | None = None, teller: Progress | None = None
) -> Loaded:
    """Read the pairs of one crawl, whose workers may have written several ledgers.

    Identical texts, and pages of one URL, are not among them: nobody needs to be asked.

    Args:
        paths: the ledgers.
        around: the threshold; None: the one that was in force.
        teller: is told how far it has come.

    Raises:
        DedupError: a file is missing, damaged, or no ledger.
    """
    with ExitStack() as opened:
        ledgers = [opened.enter_context(Ledger.open(path)) for path in paths]
        runs = [run for ledger in ledgers for run in ledger.runs]
        began = min((run.began for run in runs), default=0.0)
        title = str(runs[0].about.get("title", "run")) if runs else "run"
        histograms = [each for ledger in ledgers for each in ledger.histograms]
        urn = StratifiedSampler(
            run_name(title, began), threshold_of(histograms) if around is None else around
        )
        teller = teller or NoProgress()
        teller.begin("pairs", sum(ledger.sample.pages for ledger in ledgers))
        hidden = sum(_put_all(ledger, ledgers, urn, teller) for ledger in ledgers)
    return Loaded(urn, title, hidden)


@dataclass(frozen=True, slots=True)
class _Met:
    """A page and an earlier one that it was held against."""

    row: LedgerRow
    held: Comparison
    relation: str
    similarity: float
    detector: str
    is_dropped: bool
    stands_for: int


def _put_all(ledger: Ledger, ledgers: Sequence[Ledger], urn: StratifiedSampler, teller: Progress) -> int:
    """Put the pairs of a ledger into the urn; return how many have no texts."""
    hidden = 0
    for met in _met(ledger, teller):
        new, old = _side(ledger, met.row), _older(ledger, ledgers, met)
        if new and old:
            pair = OfferedPair(
                new,
                old,
                met.relation,
                met.similarity,
                met.detector,
                whole(met.held.cluster),
                is_dropped=met.is_dropped,
            )
            if new.text != old.text:
                urn.put(pair, met.stands_for)
        else:
            urn.note(met.relation, met.similarity, met.stands_for)
            hidden += 1
    return hidden


def _met(ledger: Ledger, teller: Progress) -> Iterator[_Met]:
    one_in = ledger.sample.texts_one_in
    level = one_in.bit_length() - 1
    # Where texts are a sample, near misses are not: the nearest are there, and no others.
    kept = {(miss.page, miss.place) for miss in ledger.misses(_ALL)} if level else None
    for row in ledger.rows():
        teller.advance(1, pages=1)
        verdict = row.entry.verdict
        fair = is_sampled(sampling_hash(verdict.cluster or row.entry.url), level)
        for place, held in enumerate(ledger.held(row.id)):
            met = _judged(row, held, one_in)
            if met is None or met.held.url == row.entry.url:
                continue
            if fair if met.relation else kept is None or (row.id, place) in kept:
                yield met


def _judged(row: LedgerRow, held: Comparison, one_in: int) -> _Met | None:
    """Say what the run made of a pair; None: nobody needs to be asked, or nothing was measured."""
    verdict = row.entry.verdict
    is_decided = verdict.of == held.url
    if is_decided and verdict.detector and verdict.similarity is not None:
        relation, similarity, detector = verdict.relation, verdict.similarity, verdict.detector
    else:
        said = _telling(held)
        if said is None or said.similarity is None:
            return None
        relation = said.match.relation if said.match else None
        similarity, detector = said.similarity, said.detector
    if relation and relation not in ASKED:
        return None
    dropped = row.fate is Fate.DROPPED and is_decided
    return _Met(row, held, str(relation or ""), similarity, detector, dropped, one_in if relation else 1)


def _telling(held: Comparison) -> Opinion | None:
    """Return the opinion that matches, of several the highest; where none does the nearest one."""
    matching = [each for each in held.opinions if each.match]
    return max(matching, key=lambda each: each.similarity or 0.0, default=held.nearest)


def _side(ledger: Ledger, row: LedgerRow) -> OfferedPage | None:
    text = ledger.text(row.id)
    return OfferedPage.of(row.entry.url, row.entry.title, text) if text else None


def _older(ledger: Ledger, ledgers: Sequence[Ledger], met: _Met) -> OfferedPage | None:
    """Return the older page, as it was when they met; another worker may have crawled it."""
    for each in (ledger, *(other for other in ledgers if other is not ledger)):
        for row in each.find(met.held.url):
            if (row.id < met.row.id if each is ledger else row.entry.time <= met.row.entry.time) and (
                side := _side(each, row)
            ):
                return side
    return None
