"""From the folder of a batch to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.ordering import ARRIVAL
from dedupcrawl.batch.reopening import read_told, reopen
from dedupcrawl.batch.solving import NOBODY, RELATIONS
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.formatting import counted
from dedupcrawl.judging import DUPLICATE, Judge
from dedupcrawl.policy import cluster_of
from dedupcrawl.progress import NoProgress
from dedupcrawl.report import batchsums
from dedupcrawl.report.batchhosts import Hosts
from dedupcrawl.report.batchmisses import near_misses
from dedupcrawl.report.batchpairs import Pairs
from dedupcrawl.report.bounds import hash_of
from dedupcrawl.report.composing import Most, compose
from dedupcrawl.report.material import Listed, Material, Size, as_row
from dedupcrawl.report.neighbours import threshold_of
from dedupcrawl.settings_text import settings_shown
from dedupcrawl.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dedupcrawl.batch.reopening import Finished
    from dedupcrawl.progress import Progress
    from dedupcrawl.report.batchmisses import Misses
    from dedupcrawl.report.facts import Report

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


def report_of_batch(folder: Path, *, most: Most | None = None, teller: Progress | None = None) -> Report:
    """Make a report of the ``--out`` of a batch.

    Texts of pages that are shown are read again from the inputs; where those have changed or are gone, the
    report goes without them and says so.

    Raises :class:`~dedupcrawl.errors.DedupError` if there is no batch, one that has not come to its end, or
    one that another version has made.
    """
    most, teller = most or Most(), teller or NoProgress()
    return compose(material_of_batch(folder, most, teller), most, teller)


def material_of_batch(folder: Path, most: Most, teller: Progress) -> Material:
    """Return what a batch has to tell; raises as :func:`report_of_batch` does."""
    return _Batch(reopen(folder), most, teller).material()


class _Batch:
    """A finished batch, its verdicts at hand."""

    def __init__(self, finished: Finished, most: Most, teller: Progress) -> None:
        self._finished = finished
        self._most = most
        self._given = finished.corpus.given
        self._prints = prints = finished.corpus.prints
        self._told = told = read_told(finished)
        self._detectors = {each.name: each for each in build_detectors(finished.job.config)}
        judge = Judge(tuple(self._detectors.values()))
        self._places = {name: place for place, name in enumerate(self._detectors)}
        self._pairs = Pairs(finished, told, judge, most.text, teller)
        teller.begin("hosts", len(prints))
        self._hosts = Hosts(prints, teller)
        self._times = prints.numbers("time")
        self._sizes = prints.numbers("size")
        self._clusters = batchsums.clusters_of(told, self._given, most.clusters)
        self._misses = self._near_misses(teller)

    def material(self) -> Material:
        """Return what there is to tell."""
        told, given = self._told, self._given
        rows = self._chosen()
        copies = np.flatnonzero(batchsums.is_duplicate(told) & (told.of != NOBODY))
        thresholds = {name: threshold_of(each) for name, each in self._detectors.items()}
        weighed = (each.opinions for each in self._misses.weighed)
        return Material(
            about=self._about(),
            figures=batchsums.figures_of(told, given, self._sizes),
            rows=(self._listed(row) for row in rows.tolist()),
            clusters=tuple(self._size(founder, members) for founder, members in self._clusters),
            misses=tuple((each.new, each.old) for each in self._misses.near[: self._most.misses]),
            pairs=self._pairs,
            notes=tuple(self._notes()),
            slices=batchsums.slices_of(told, given, self._times),
            hosts=self._hosts.counted(slice(given, None), told.keep),
            flows=self._hosts.flows(copies, told.of[copies]),
            detectors=batchsums.detectors_of(told),
            histograms=batchsums.histograms_of(told, weighed, thresholds),
        )

    def _near_misses(self, teller: Progress) -> Misses:
        order = self._finished.corpus.order(self._finished.job)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        kept = self._told.keep & (self._told.reason == NOBODY)
        return near_misses(self._prints, rank, kept, self._told.of, weigh=self._pairs.weigh, teller=teller)

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
        without = pages - int(np.count_nonzero(batchsums.is_time(self._times[self._given :])))
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
        rank = np.where(~told.keep[rows] | shown, 0, np.where(told.relation[rows] != NOBODY, 1, 2))
        chance = _mixed(told.founder[rows])
        return np.sort(rows[np.lexsort((chance, rank))[: self._most.pages]])

    def _size(self, founder: int, members: Numbers) -> Size:
        times = self._times[members]
        known = times[batchsums.is_time(times)]
        first, last = (float(known.min()), float(known.max())) if len(known) else (None, None)
        return Size(self._cluster(founder), len(members), first, last)

    def _cluster(self, founder: int) -> str:
        return cluster_of(self._prints.judged(founder))

    def _listed(self, row: int) -> Listed:
        told, verdict = self._told, self._verdict(row)
        time = float(self._times[row])
        page = as_row(
            verdict,
            url=verdict.url,
            host=self._hosts.name(row),
            time=time if batchsums.is_time(self._times[row : row + 1])[0] else None,
            bytes=int(self._sizes[row]),
            fate="kept" if verdict.keep else "dropped",
        )
        of = int(told.of[row])
        chance = hash_of(page.cluster or page.url)
        return Listed(page, chance, row, (row, of) if of != NOBODY else None)

    def _verdict(self, row: int) -> Verdict:
        """Say again what was said of a row, and compare it once more for the evidence."""
        told, url = self._told, self._prints.url(row)
        keep, similarity = bool(told.keep[row]), float(told.similarity[row])
        if told.reason[row] != NOBODY:
            return Verdict(url, Status.UNCHECKED, keep, reason=told.reasons[told.reason[row]])
        cluster = self._cluster(int(told.founder[row]))
        if told.relation[row] == NOBODY:
            return Verdict(url, Status.UNIQUE, keep, cluster=cluster)
        relation, of = RELATIONS[told.relation[row]], int(told.of[row])
        detector = told.detectors[told.detector[row]]
        return Verdict(
            url,
            Status.DUPLICATE if relation in DUPLICATE else Status.UNIQUE,
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
        mine, other = (self._prints.judged(row).sketches[place] for row in (new, old))
        match = self._detectors[detector].compare(mine, other)
        return match.evidence if match else {}


def _mixed(numbers: Numbers) -> Numbers:
    """Mix the bits of numbers, so that their order is no order (the finaliser of MurmurHash3, A. Appleby)."""
    mixed = numbers.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(factor)
    return mixed ^ mixed >> np.uint64(33)
