"""Builds a report from the output folder of a batch; texts of pairs are read again from its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.finished_batch import open_finished_batch, read_pages_again, read_verdicts
from dedupcrawl.batch.job import ARRIVAL
from dedupcrawl.batch.solver import NONE, RELATIONS
from dedupcrawl.batch.workdir import read_site_tables
from dedupcrawl.config import settings_shown
from dedupcrawl.decision import Status, Verdict, cluster_of
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS, Relation
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.ledger.counters import similarity_threshold
from dedupcrawl.ledger.ledger import ClusterCount
from dedupcrawl.ledger.ledger_schema import sampling_hash
from dedupcrawl.matching import Matcher
from dedupcrawl.page.signatures import evidence_with_layout
from dedupcrawl.sites.site_counts import SiteNotice
from dedupcrawl.sites.text_notes import text_notes
from dedupcrawl.stores.site_tables import GivenSiteTables
from dedupcrawl.tools.report import batch_stats
from dedupcrawl.tools.report.diff import MAX_CHARS
from dedupcrawl.tools.report.report_builder import ReportLimits, build_report
from dedupcrawl.tools.report.report_model import ListedPage, SourcePair, SourceReport, row_from_verdict
from dedupcrawl.utils.formatting import counted
from dedupcrawl.utils.iteration import NoProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.finished_batch import FinishedBatch
    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.page.model import Page
    from dedupcrawl.tools.report.report_model import PairKey, Report
    from dedupcrawl.utils.iteration import Progress

    RowPair = tuple[int, int]  # new and earlier row


def report_from_batch(folder: Path, *, limits: ReportLimits | None = None, progress: Progress | None = None) -> Report:
    """Build a report from the output folder (``--out``) of a batch.

    If an input was changed or deleted, its pages are shown without texts, and the report names the input.

    Args:
        folder: the output folder.
        limits: the largest amounts that the report shows; None: the defaults.
        progress: receives the progress.

    Raises:
        DedupError: the folder has no batch, an unfinished batch, or a batch of another version.
    """
    limits, progress = limits or ReportLimits(), progress or NoProgress()
    return build_report(input_from_batch(folder, limits, progress), limits, progress)


def input_from_batch(folder: Path, limits: ReportLimits, progress: Progress) -> SourceReport:
    """Return what a batch provides for a report; raises as :func:`report_from_batch` does."""
    return _BatchReader(open_finished_batch(folder), limits, progress).read()


class _BatchReader:
    def __init__(self, finished: FinishedBatch, limits: ReportLimits, progress: Progress) -> None:
        self._finished = finished
        self._limits = limits
        self._progress = progress
        self._given = finished.corpus.prior
        self._prints = prints = finished.corpus.table
        self._verdicts = read_verdicts(finished)
        self._detectors = {each.name: each for each in build_detectors(finished.job.config)}
        self._matcher = Matcher(tuple(self._detectors.values()))
        progress.begin("hosts", len(prints))
        self._hosts = batch_stats.HostIndex(prints, progress)
        self._times = prints.numbers("time")
        self._sizes = prints.numbers("size")
        self._clusters = batch_stats.largest_clusters(self._verdicts, self._given, limits.clusters)
        self._misses = self._near_misses()
        self._repeated = GivenSiteTables(read_site_tables(finished.work))

    def read(self) -> SourceReport:
        verdicts, given = self._verdicts, self._given
        rows = self._choose_rows()
        copies = np.flatnonzero(batch_stats.is_duplicate(verdicts) & (verdicts.of != NONE))
        thresholds = {name: similarity_threshold(each) for name, each in self._detectors.items()}
        unmatched = (each.assessments for each in self._misses.unmatched)
        return SourceReport(
            about=self._about(),
            figures=batch_stats.totals_of_batch(verdicts, given, self._sizes),
            rows=(self._listed(row) for row in rows.tolist()),
            clusters=tuple(self._cluster_size(founder, members) for founder, members in self._clusters),
            misses=tuple((each.new, each.old) for each in self._misses.near[: self._limits.misses]),
            pairs=self._pairs,
            notes=tuple(self._notes()),
            sites=self._sites,
            slices=batch_stats.count_slices(verdicts, given, self._times),
            hosts=self._hosts.count(slice(given, None), verdicts.keep),
            flows=self._hosts.flows(copies, verdicts.of[copies]),
            detectors=batch_stats.detector_counts(verdicts),
            histograms=batch_stats.similarity_histograms(verdicts, unmatched, thresholds),
        )

    def _near_misses(self) -> batch_stats.NearMissResult:
        order = self._finished.corpus.order(self._finished.job)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        kept = self._verdicts.keep & (self._verdicts.reason == NONE)
        return batch_stats.find_near_misses(
            self._prints, rank, kept, self._verdicts.of, compare=self._assessments, progress=self._progress
        )

    # -- metadata and notes -------------------------------------------------------------------

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

    def _sites(self) -> list[SiteNotice]:
        return [SiteNotice.from_dict(each) for each in self._finished.summary.get("sites", ())]

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
        if textless := finished.summary["textless"]:
            yield f"{counted(textless, 'row')} without text, kept unchecked: summary.json lists them."
        if self._given:
            yield f"{self._given:,} pages that were known before share a key with these; they are not listed."
        without = pages - int(np.count_nonzero(batch_stats.is_valid_time(self._times[self._given :])))
        if without:
            some = "The pages have" if without == pages else f"{without:,} of {pages:,} pages have"
            yield f"{some} no time, and are not in the chart over time."
        if misses.tried < misses.pairs or misses.one_in > 1:
            one_in = f" (looked for among one in {misses.one_in:,} pages)" if misses.one_in > 1 else ""
            yield (
                f"Near misses are the most similar of {misses.tried:,} pairs of pages: those with most keys in "
                f"common, of {misses.pairs:,} pairs that share a key{one_in}."
            )
        if crowded := finished.summary["crowded"]["buckets"]:
            yield f"{crowded:,} buckets hold more kept pages than a page is compared with."
        if any(len(members) > self._limits.cluster_pages for _, members in self._clusters):
            yield f"At most {self._limits.cluster_pages:,} pages of a cluster are listed; its size is exact."

    # -- pages --------------------------------------------------------------------------------

    def _choose_rows(self) -> Numbers:
        """Return the rows that :func:`choose_rows` would choose, without reading all of them."""
        verdicts, rows = self._verdicts, np.arange(self._given, len(self._prints))
        if len(rows) <= self._limits.pages:
            return rows
        shown = np.isin(verdicts.founder[rows], [founder for founder, _ in self._clusters])
        related = verdicts.relation[rows] != NONE
        rank = np.where(~verdicts.keep[rows] | shown, 0, np.where(related, 1, 2))
        order = np.lexsort((_mix_bits(verdicts.founder[rows]), rank))
        return np.sort(rows[order[: self._limits.pages]])

    def _cluster_size(self, founder: int, members: Numbers) -> ClusterCount:
        times = self._times[members]
        known = times[batch_stats.is_valid_time(times)]
        first, last = (float(known.min()), float(known.max())) if len(known) else (None, None)
        return ClusterCount(self._cluster(founder), len(members), first, last)

    def _cluster(self, founder: int) -> str:
        return cluster_of(self._prints.sketch_record(founder))

    def _listed(self, row: int) -> ListedPage:
        verdict, of = self._verdict(row), int(self._verdicts.of[row])
        time = float(self._times[row])
        page = row_from_verdict(
            verdict,
            url=verdict.url,
            host=self._hosts.name(row),
            time=time if batch_stats.is_valid_time(self._times[row : row + 1])[0] else None,
            bytes=int(self._sizes[row]),
            outcome="kept" if verdict.keep else "dropped",
        )
        return ListedPage(page, sampling_hash(page.cluster or page.url), row, (row, of) if of != NONE else None)

    def _verdict(self, row: int) -> Verdict:
        """Return the stored verdict of a row; the evidence comes from a new comparison."""
        verdicts, url = self._verdicts, self._prints.url(row)
        keep, similarity = bool(verdicts.keep[row]), float(verdicts.similarity[row])
        if verdicts.reason[row] != NONE:
            like = None if verdicts.of[row] == NONE else self._prints.url(int(verdicts.of[row]))
            return Verdict(url, Status.UNCHECKED, keep, of=like, reason=verdicts.reasons[verdicts.reason[row]])
        cluster = self._cluster(int(verdicts.founder[row]))
        if verdicts.relation[row] == NONE:
            return Verdict(url, Status.UNIQUE, keep, cluster=cluster)
        relation, of = RELATIONS[verdicts.relation[row]], int(verdicts.of[row])
        detector = verdicts.detectors[verdicts.detector[row]]
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
        if detector not in self._detectors:  # the URL decided
            return {}
        index = list(self._detectors).index(detector)
        own, other = (self._prints.sketch_record(row) for row in (new, old))
        match = self._detectors[detector].compare(own.sketches[index], other.sketches[index])
        return evidence_with_layout(match.evidence, own.identity, other.identity) if match else {}

    # -- pairs --------------------------------------------------------------------------------

    def _assessments(self, new: int, old: int) -> tuple[Assessment, ...]:
        return self._matcher.assessments(self._prints.sketch_record(new), self._prints.sketch_record(old))

    def _pairs(self, wanted: Sequence[PairKey]) -> Iterator[SourcePair]:
        """Yield pairs, the first ones with texts, as far as the limit of characters allows."""
        pairs: list[RowPair] = [pair for pair in wanted if isinstance(pair, tuple)]
        pages = read_pages_again(self._finished, self._with_texts(pairs), MAX_CHARS + 1, self._progress)
        return (self._pair(pair, pages) for pair in pairs)

    def _with_texts(self, pairs: Sequence[RowPair]) -> set[int]:
        lengths, room = self._prints.numbers("length"), self._limits.text_chars
        rows: set[int] = set()
        for pair in pairs:
            room -= sum(min(int(lengths[row]), MAX_CHARS) for row in pair)
            if room < 0:
                break
            rows.update(pair)
        return rows

    def _pair(self, pair: RowPair, pages: Mapping[int, Page]) -> SourcePair:
        new, old = pair
        verdicts, assessments = self._verdicts, self._assessments(new, old)
        related = verdicts.of[new] == old and verdicts.relation[new] != NONE
        if related:
            found = float(verdicts.similarity[new])
            similarity = None if np.isnan(found) else found
        else:
            measured = (each.similarity for each in assessments if each.similarity is not None)
            similarity = max(measured, default=None)
        page, earlier = pages.get(new), pages.get(old)
        return SourcePair(
            key=pair,
            new=self._prints.url(new),
            old=self._prints.url(old),
            assessments=assessments,
            relation=str(RELATIONS[verdicts.relation[new]]) if related else "",
            decided=verdicts.detectors[verdicts.detector[new]] if related else "",
            similarity=similarity,
            new_title=page.title if page else "",
            old_title=earlier.title if earlier else "",
            new_text=page.as_compared().text if page else None,
            old_text=earlier.as_compared().text if earlier else None,
            siblings=self._why_siblings(new, old) if related else "",
            new_notes=self._text_notes(page),
            old_notes=self._text_notes(earlier),
        )

    def _text_notes(self, page: Page | None) -> tuple[str, ...]:
        return tuple(text_notes(page, self._repeated, is_exact=False)) if page else ()

    def _why_siblings(self, new: int, old: int) -> str:
        if self._verdicts.relation[new] != RELATIONS.index(Relation.SIBLING):
            return ""
        pair = self._prints.sketch_record(new), self._prints.sketch_record(old)
        return self._matcher.why_siblings(*pair) or self._matcher.why_siblings(*pair, of_template=True)


def _mix_bits(numbers: Numbers) -> Numbers:
    """Hash numbers with the finaliser of MurmurHash3 (A. Appleby), so that their order is arbitrary."""
    mixed = numbers.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(factor)
    return mixed ^ mixed >> np.uint64(33)
