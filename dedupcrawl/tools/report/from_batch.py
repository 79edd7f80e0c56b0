"""Pairs of pages of a batch side by side: weighed by their stored sketches, texts read again.

From the folder of a batch to a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.finished_batch import open_finished_batch, read_pages_again, read_verdicts
from dedupcrawl.batch.job import ARRIVAL
from dedupcrawl.batch.solver import NONE, RELATIONS
from dedupcrawl.constants import settings_shown
from dedupcrawl.decision import DUPLICATE_RELATIONS, Matcher, cluster_of
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.ledger.ledger_schema import sampling_hash
from dedupcrawl.tools.report import batch_stats
from dedupcrawl.tools.report.batch_stats import HostIndex, find_near_misses
from dedupcrawl.tools.report.diff import MAX_CHARS
from dedupcrawl.tools.report.from_store import similarity_threshold
from dedupcrawl.tools.report.report_builder import ReportLimits, build_report
from dedupcrawl.tools.report.report_model import (
    ClusterSize,
    ListedPage,
    PairInput,
    ReportInput,
    row_from_verdict,
)
from dedupcrawl.utils.formatting import counted
from dedupcrawl.utils.progress import NoProgress
from dedupcrawl.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.batch.finished_batch import BatchVerdicts, FinishedBatch
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.page.model import Page
    from dedupcrawl.tools.report.batch_stats import NearMisses
    from dedupcrawl.tools.report.report_model import PairKey, Report
    from dedupcrawl.utils.progress import Progress

    RowPair = tuple[int, int]
    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


class BatchPairs:
    """Gives pairs of rows.

    Args:
        finished: the batch.
        told: its verdicts.
        judge: its detectors.
        room: characters of texts that are shown in all.
        teller: is told of texts that are read.
    """

    def __init__(
        self, finished: FinishedBatch, told: BatchVerdicts, judge: Matcher, room: int, teller: Progress
    ) -> None:
        self._finished = finished
        self._told = told
        self._judge = judge
        self._room = room
        self._teller = teller
        self._lengths = finished.corpus.table.numbers("length")

    def weigh(self, new: int, old: int) -> tuple[Opinion, ...]:
        """Return what each detector says of two rows."""
        prints = self._finished.corpus.table
        return self._judge.opinions(prints.sketch_record(new), prints.sketch_record(old))

    def __call__(self, wanted: Sequence[PairKey]) -> Iterator[PairInput]:
        """Give pairs in their order; as many with texts as there is room for."""
        pairs: list[RowPair] = [pair for pair in wanted if isinstance(pair, tuple)]
        pages = read_pages_again(self._finished, self._that_fit(pairs), MAX_CHARS + 1, self._teller)
        for pair in pairs:
            yield self._both(pair, pages)

    def _that_fit(self, pairs: Sequence[RowPair]) -> set[int]:
        rows: set[int] = set()
        room = self._room
        for pair in pairs:
            room -= sum(min(int(self._lengths[row]), MAX_CHARS) for row in pair)
            if room < 0:
                break
            rows.update(pair)
        return rows

    def _both(self, pair: RowPair, pages: dict[int, Page]) -> PairInput:
        new, old = pair
        told, url = self._told, self._finished.corpus.table.url
        opinions = self.weigh(new, old)
        related = told.of[new] == old and told.relation[new] != NONE
        decided = told.detectors[told.detector[new]] if related else ""
        measured = [each.similarity for each in opinions if each.similarity is not None]
        said = float(told.similarity[new])
        nearest = max(measured, default=None)
        similarity = (None if said != said else said) if related else nearest  # noqa: PLR0124  # NaN
        mine, other = pages.get(new), pages.get(old)
        return PairInput(
            key=pair,
            new=url(new),
            old=url(old),
            opinions=opinions,
            relation=str(RELATIONS[told.relation[new]]) if related else "",
            decided=decided,
            similarity=similarity,
            new_title=_title(mine),
            old_title=_title(other),
            new_text=mine.text if mine else None,
            old_text=other.text if other else None,
        )


def _title(page: Page | None) -> str:
    return page.title if page else ""


def report_from_batch(
    folder: Path, *, most: ReportLimits | None = None, teller: Progress | None = None
) -> Report:
    """Make a report of the ``--out`` of a batch.

    Texts of pages that are shown are read again from the inputs; where those have changed or are gone, the
    report goes without them and says so.

    Raises :class:`~dedupcrawl.errors.DedupError` if there is no batch, one that has not come to its end, or
    one that another version has made.
    """
    most, teller = most or ReportLimits(), teller or NoProgress()
    return build_report(input_from_batch(folder, most, teller), most, teller)


def input_from_batch(folder: Path, most: ReportLimits, teller: Progress) -> ReportInput:
    """Return what a batch has to tell; raises as :func:`report_of_batch` does."""
    return _BatchReader(open_finished_batch(folder), most, teller).material()


class _BatchReader:
    """A finished batch, its verdicts at hand."""

    def __init__(self, finished: FinishedBatch, most: ReportLimits, teller: Progress) -> None:
        self._finished = finished
        self._most = most
        self._given = finished.corpus.prior
        self._prints = prints = finished.corpus.table
        self._told = told = read_verdicts(finished)
        self._detectors = {each.name: each for each in build_detectors(finished.job.config)}
        judge = Matcher(tuple(self._detectors.values()))
        self._places = {name: place for place, name in enumerate(self._detectors)}
        self._pairs = BatchPairs(finished, told, judge, most.text, teller)
        teller.begin("hosts", len(prints))
        self._hosts = HostIndex(prints, teller)
        self._times = prints.numbers("time")
        self._sizes = prints.numbers("size")
        self._clusters = batch_stats.largest_clusters(told, self._given, most.clusters)
        self._misses = self._near_misses(teller)

    def material(self) -> ReportInput:
        """Return what there is to tell."""
        told, given = self._told, self._given
        rows = self._chosen()
        copies = np.flatnonzero(batch_stats.is_duplicate(told) & (told.of != NONE))
        thresholds = {name: similarity_threshold(each) for name, each in self._detectors.items()}
        weighed = (each.opinions for each in self._misses.weighed)
        return ReportInput(
            about=self._about(),
            figures=batch_stats.totals_of_batch(told, given, self._sizes),
            rows=(self._listed(row) for row in rows.tolist()),
            clusters=tuple(self._size(founder, members) for founder, members in self._clusters),
            misses=tuple((each.new, each.old) for each in self._misses.near[: self._most.misses]),
            pairs=self._pairs,
            notes=tuple(self._notes()),
            slices=batch_stats.count_slices(told, given, self._times),
            hosts=self._hosts.counted(slice(given, None), told.keep),
            flows=self._hosts.flows(copies, told.of[copies]),
            detectors=batch_stats.detector_counts(told),
            histograms=batch_stats.similarity_histograms(told, weighed, thresholds),
        )

    def _near_misses(self, teller: Progress) -> NearMisses:
        order = self._finished.corpus.order(self._finished.job)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        kept = self._told.keep & (self._told.reason == NONE)
        return find_near_misses(
            self._prints, rank, kept, self._told.of, weigh=self._pairs.weigh, teller=teller
        )

    # -- what is said of the batch ------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        summary, work, job = self._finished.summary, self._finished.work, self._finished.job
        preferred = {"--prefer": ",".join(job.prefer)} if job.prefer != (ARRIVAL,) else {}
        ended = work.summary.stat().st_mtime
        return {
            "title": f"Batch {work.out.name}",
            "kind": "batch",
            "version": summary["version"],
            "settings": settings_shown(job.config) | preferred,
            "began": ended - summary["seconds"],
            "ended": ended,
        }

    def _notes(self) -> Iterator[str]:
        finished, misses, pages = self._finished, self._misses, len(self._prints) - self._given
        for part in finished.parts:
            if not finished.has_input(part):
                yield f"{part.path} has changed since, or is gone: its pages are shown without their texts."
        bad = finished.summary["bad"]
        if bad["rows"] or bad["broken"]:
            yield (
                f"{counted(bad['rows'], 'row')}, and the rest of {counted(bad['broken'], 'file')}, "
                "could not be read: summary.json lists them."
            )
        if self._given:
            yield f"{self._given:,} pages that were known before share a key with these; they are not listed."
        without = pages - int(np.count_nonzero(batch_stats.is_valid_time(self._times[self._given :])))
        if without:
            some = "The pages have" if without == pages else f"{without:,} of {pages:,} pages have"
            yield f"{some} no time, and are not in the chart over time."
        if misses.tried < misses.pairs or misses.one_in > 1:
            one_in = f" (looked for among one in {misses.one_in:,} pages)" if misses.one_in > 1 else ""
            yield (
                f"Near misses are the nearest of {misses.tried:,} pairs of pages, those with most keys in "
                f"common of {misses.pairs:,} that share one{one_in}."
            )
        if crowded := finished.summary["crowded"]["buckets"]:
            yield f"{crowded:,} buckets hold more kept pages than a page is compared with."
        if any(len(members) > self._most.of_cluster for _, members in self._clusters):
            yield f"Of a cluster at most {self._most.of_cluster:,} pages are named; its size is exact."

    # -- pages --------------------------------------------------------------------------------

    def _chosen(self) -> Numbers:
        """Return the rows of the table; of too many those that :func:`choose_rows` would choose."""
        told, rows = self._told, np.arange(self._given, len(self._prints))
        if len(rows) <= self._most.pages:
            return rows
        shown = np.isin(told.founder[rows], [founder for founder, _ in self._clusters])
        rank = np.where(~told.keep[rows] | shown, 0, np.where(told.relation[rows] != NONE, 1, 2))
        chance = _mix_bits(told.founder[rows])
        return np.sort(rows[np.lexsort((chance, rank))[: self._most.pages]])

    def _size(self, founder: int, members: Numbers) -> ClusterSize:
        times = self._times[members]
        known = times[batch_stats.is_valid_time(times)]
        first, last = (float(known.min()), float(known.max())) if len(known) else (None, None)
        return ClusterSize(self._cluster(founder), len(members), first, last)

    def _cluster(self, founder: int) -> str:
        return cluster_of(self._prints.sketch_record(founder))

    def _listed(self, row: int) -> ListedPage:
        told, verdict = self._told, self._verdict(row)
        time = float(self._times[row])
        page = row_from_verdict(
            verdict,
            url=verdict.url,
            host=self._hosts.name(row),
            time=time if batch_stats.is_valid_time(self._times[row : row + 1])[0] else None,
            bytes=int(self._sizes[row]),
            fate="kept" if verdict.keep else "dropped",
        )
        of = int(told.of[row])
        chance = sampling_hash(page.cluster or page.url)
        return ListedPage(page, chance, row, (row, of) if of != NONE else None)

    def _verdict(self, row: int) -> Verdict:
        """Say again what was said of a row, and compare it once more for the evidence."""
        told, url = self._told, self._prints.url(row)
        keep, similarity = bool(told.keep[row]), float(told.similarity[row])
        if told.reason[row] != NONE:
            return Verdict(url, Status.UNCHECKED, keep, reason=told.reasons[told.reason[row]])
        cluster = self._cluster(int(told.founder[row]))
        if told.relation[row] == NONE:
            return Verdict(url, Status.UNIQUE, keep, cluster=cluster)
        relation, of = RELATIONS[told.relation[row]], int(told.of[row])
        detector = told.detectors[told.detector[row]]
        return Verdict(
            url,
            Status.DUPLICATE if relation in DUPLICATE_RELATIONS else Status.UNIQUE,
            keep,
            relation=relation,
            of=self._prints.url(of),
            cluster=cluster,
            similarity=None if np.isnan(similarity) else similarity,
            detector=detector,
            evidence=self._evidence(detector, row, of),
        )

    def _evidence(self, detector: str, new: int, old: int) -> Mapping[str, object]:
        if detector not in self._places:  # the URL alone
            return {}
        place = self._places[detector]
        mine, other = (self._prints.sketch_record(row).sketches[place] for row in (new, old))
        match = self._detectors[detector].compare(mine, other)
        return match.evidence if match else {}


def _mix_bits(numbers: Numbers) -> Numbers:
    """Mix the bits of numbers, so that their order is no order (the finaliser of MurmurHash3, A. Appleby)."""
    mixed = numbers.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(factor)
    return mixed ^ mixed >> np.uint64(33)
