"""The pairs of a crawl, from the ledgers that it wrote (``DEDUP_REPORT``)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.labelling.drawing import Urn
from dedupcrawl.labelling.loaded import ASKED, Loaded, run_name, threshold_of
from dedupcrawl.labelling.pairs import OfferedPair, Side, whole
from dedupcrawl.progress import NoProgress
from dedupcrawl.report.bounds import hash_of, is_sampled
from dedupcrawl.report.ledger import Ledger
from dedupcrawl.report.note import Fate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.progress import Progress
    from dedupcrawl.report.entry import Held
    from dedupcrawl.report.ledger import Row

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
        urn = Urn(run_name(title, began), threshold_of(histograms) if around is None else around)
        teller = teller or NoProgress()
        teller.begin("pairs", sum(ledger.sample.pages for ledger in ledgers))
        hidden = sum(_put_all(ledger, ledgers, urn, teller) for ledger in ledgers)
    return Loaded(urn, title, hidden)


@dataclass(frozen=True, slots=True)
class _Met:
    """A page and an earlier one that it was held against."""

    row: Row
    held: Held
    relation: str
    similarity: float
    detector: str
    is_dropped: bool
    stands_for: int


def _put_all(ledger: Ledger, ledgers: Sequence[Ledger], urn: Urn, teller: Progress) -> int:
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
        fair = is_sampled(hash_of(verdict.cluster or row.entry.url), level)
        for place, held in enumerate(ledger.held(row.id)):
            met = _judged(row, held, one_in)
            if met is None or met.held.url == row.entry.url:
                continue
            if fair if met.relation else kept is None or (row.id, place) in kept:
                yield met


def _judged(row: Row, held: Held, one_in: int) -> _Met | None:
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


def _telling(held: Held) -> Opinion | None:
    """Return the opinion that matches, of several the highest; where none does the nearest one."""
    matching = [each for each in held.opinions if each.match]
    return max(matching, key=lambda each: each.similarity or 0.0, default=held.nearest)


def _side(ledger: Ledger, row: Row) -> Side | None:
    text = ledger.text(row.id)
    return Side.of(row.entry.url, row.entry.title, text) if text else None


def _older(ledger: Ledger, ledgers: Sequence[Ledger], met: _Met) -> Side | None:
    """Return the older page, as it was when they met; another worker may have crawled it."""
    for each in (ledger, *(other for other in ledgers if other is not ledger)):
        for row in each.find(met.held.url):
            if (row.id < met.row.id if each is ledger else row.entry.time <= met.row.entry.time) and (
                side := _side(each, row)
            ):
                return side
    return None
