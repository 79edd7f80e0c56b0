"""From ledgers to a report. Those of the workers of one crawl make one report together."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import SettingError
from dedupcrawl.ledger.counters import (
    merge_flows,
    merge_histograms,
    merge_hosts,
    merge_slices,
    totals_from_counters,
)
from dedupcrawl.ledger.entry import Fate, host_of
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import is_sampled, sampling_hash
from dedupcrawl.tools.report.report_builder import ReportLimits, build_report
from dedupcrawl.tools.report.report_model import (
    ClusterSize,
    ListedPage,
    PairInput,
    ReportInput,
    row_from_verdict,
)
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.ledger.entry import Comparison
    from dedupcrawl.ledger.ledger import LedgerRow, Run
    from dedupcrawl.tools.report.report_model import PageRow, PairKey, Report
    from dedupcrawl.utils.progress import Progress

_RELATED_PAGE = -1  #: in a key: the page that the verdict names, whichever place it was held against


def report_from_ledgers(
    paths: Sequence[Path], *, most: ReportLimits | None = None, teller: Progress | None = None
) -> Report:
    """Make a report of one or several ledgers, as they are at this moment.

    Raises:
        DedupError: a file is missing, damaged, or no ledger.
        SettingError: no ledger is named, or one twice.
    """
    if not paths or len({path.resolve() for path in paths}) < len(paths):
        raise SettingError("ledgers", [*map(str, paths)], "at least one, and each once")
    most = most or ReportLimits()
    with ExitStack() as opened:
        ledgers = [opened.enter_context(Ledger.open(path)) for path in paths]
        return build_report(_LedgersReader(ledgers, most).material(), most, teller)


class _LedgersReader:
    """Ledgers that are open."""

    def __init__(self, ledgers: Sequence[Ledger], most: ReportLimits) -> None:
        self._ledgers = ledgers
        self._most = most
        self._runs = [run for ledger in ledgers for run in ledger.runs]
        # Of a cluster that one ledger does not list nothing is known for certain, though others list it.
        self._level = max(ledger.sample.one_in for ledger in ledgers).bit_length() - 1
        self._missed = self._nearest()

    def material(self) -> ReportInput:
        ledgers = self._ledgers
        counts: Counter[str] = Counter()
        detectors: Counter[str] = Counter()
        for ledger in ledgers:
            counts.update(ledger.counts)
            detectors.update(ledger.detectors)
        clusters = self._clusters()
        return ReportInput(
            about=self._about(),
            figures=totals_from_counters(counts),
            rows=self._rows(),
            clusters=clusters,
            misses=self._missed,
            pairs=self._pairs,
            notes=tuple(self._notes(clusters, counts)),
            slices=merge_slices((ledger.width, ledger.slices) for ledger in ledgers),
            hosts=merge_hosts(host for ledger in ledgers for host in ledger.hosts),
            flows=merge_flows(flow for ledger in ledgers for flow in ledger.flows),
            detectors=dict(detectors.most_common()),
            histograms=merge_histograms(each for ledger in ledgers for each in ledger.histograms),
        )

    # -- what is said of the run --------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        titles = list(dict.fromkeys(str(run.about.get("title", "")) for run in self._runs))
        last = self._runs[-1].about
        ends = [ledger.runs[-1].ended for ledger in self._ledgers]
        return {
            "title": titles[0] + (f" and {len(titles) - 1} more" if titles[1:] else ""),
            "kind": str(last.get("kind", "crawl")),
            "version": str(last.get("version", "")),
            "settings": {str(name): str(value) for name, value in last.get("settings", {}).items()},
            "began": min(run.began for run in self._runs),
            "ended": None if None in ends else max(end for end in ends if end is not None),
        }

    def _notes(self, clusters: Sequence[ClusterSize], counts: Mapping[str, int]) -> Iterator[str]:
        ledgers = self._ledgers
        samples = [ledger.sample for ledger in ledgers]
        if len(ledgers) > 1:
            yield f"{len(ledgers)} ledgers are put together: {', '.join(each.path.name for each in ledgers)}."
        if self._runs[-1].about.get("settings", {}).get("DEDUP_ITEM_FIELDS", "[]") != "[]":
            yield "Items were judged, each by its own text: what is called a page here is one item."
        yield from _run_notes(ledgers)
        for ledger in ledgers:
            yield from ledger.troubles
        yield from _counter_notes(counts)
        if lost := sum(each.lost for each in samples):
            yield f"{lost:,} pages could not be written down, and are counted only."
        if self._level:
            yield (
                f"Listed are the pages of one in {2**self._level:,} clusters, chosen by hash, and those of "
                "near misses: all are counted, and the clusters shown are the largest of these."
            )
        texts = max(each.texts_one_in for each in samples)
        if texts > 2**self._level:
            yield f"Texts of one in {texts:,} clusters were kept."
        if any(size.pages > self._most.of_cluster for size in clusters[: self._most.clusters]):
            yield f"Of a cluster at most {self._most.of_cluster:,} pages are named; its size is exact."
        if open_ := sum(1 for ledger in ledgers for _ in ledger.rows(Fate.OPEN)):
            yield f"{open_:,} of the pages listed were under way when the run ended, or the ledger was read."

    # -- pages --------------------------------------------------------------------------------

    def _clusters(self) -> tuple[ClusterSize, ...]:
        found: dict[str, ClusterSize] = {}
        alone = len(self._ledgers) == 1
        for ledger in self._ledgers:
            # Two workers may each have one page of a cluster.
            for each in ledger.clusters(self._most.clusters if alone else -1, 2 if alone else 1):
                if is_sampled(sampling_hash(each.name), self._level):
                    before = found.get(each.name, ClusterSize(each.name, 0, each.first, each.last))
                    first, last = min(before.first or 0.0, each.first), max(before.last or 0.0, each.last)
                    found[each.name] = ClusterSize(each.name, before.pages + each.pages, first, last)
        large = (each for each in found.values() if each.pages > 1)
        return tuple(sorted(large, key=lambda each: (-each.pages, each.name))[: self._most.clusters])

    def _rows(self) -> Iterator[ListedPage]:
        missed = {(number, page) for number, page, _ in self._missed}
        for number, ledger in enumerate(self._ledgers):
            for row in ledger.rows():
                chance = sampling_hash(row.entry.verdict.cluster or row.entry.url)
                if is_sampled(chance, self._level) or (number, row.id) in missed:
                    key = (number, row.id, _RELATED_PAGE) if row.entry.verdict.of is not None else None
                    yield ListedPage(_page_row(row), chance, row.id, key)

    # -- pairs --------------------------------------------------------------------------------

    def _nearest(self) -> tuple[tuple[int, int, int], ...]:
        """Return the nearest misses: the number of the ledger, the id of the page, and a place."""
        found = [
            (-miss.similarity, number, miss.page, miss.place)
            for number, ledger in enumerate(self._ledgers)
            for miss in ledger.misses(self._most.misses)
        ]
        return tuple((number, page, place) for _, number, page, place in sorted(found)[: self._most.misses])

    def _pairs(self, wanted: Sequence[PairKey]) -> Iterator[PairInput]:
        for key in wanted:
            both = self._both(key)
            if both is not None:
                yield both

    def _both(self, key: Any) -> PairInput | None:
        number, page, place = key
        row = self._ledgers[number].row(page)
        if row is None:
            return None
        held = self._held(number, row, place)
        verdict = row.entry.verdict
        old_url = held.url if held else verdict.of
        if old_url is None:
            return None
        cluster = held.cluster if held else verdict.cluster or ""
        old, old_text = self._older(number, row, old_url, cluster)
        related = place == _RELATED_PAGE
        nearest = held.nearest if held else None
        return PairInput(
            key=key,
            new=row.entry.url,
            old=old_url,
            opinions=held.opinions if held else (),
            relation=str(verdict.relation or "") if related else "",
            decided=(verdict.detector or "") if related else "",
            similarity=verdict.similarity if related else nearest.similarity if nearest else None,
            new_title=row.entry.title,
            old_title=old.entry.title if old else "",
            new_text=self._ledgers[number].text(page),
            old_text=old_text,
        )

    def _held(self, number: int, row: LedgerRow, place: int) -> Comparison | None:
        """Return what a page was held against at a place."""
        against = self._ledgers[number].held(row.id)
        if place != _RELATED_PAGE:
            return against[place] if place < len(against) else None
        return next((each for each in against if each.url == row.entry.verdict.of), None)

    def _older(
        self, number: int, new: LedgerRow, url: str, cluster: str
    ) -> tuple[LedgerRow | None, str | None]:
        """Return the page that another one was held against, and its text: it came before, in any ledger.

        Several may have its URL, versions of a page or items of one: that of its cluster is meant.
        """
        found = list(self._with_url(number, new, url))
        found.sort(key=lambda each: each[1].entry.verdict.cluster != cluster)
        for each, row in found:
            text = self._ledgers[each].text(row.id)
            if text is not None:
                return row, text
        return (found[0][1] if found else None), None

    def _with_url(self, number: int, new: LedgerRow, url: str) -> Iterator[tuple[int, LedgerRow]]:
        """Give the pages with a URL that came before: those of the same ledger first, the latest first."""
        for each in (number, *(each for each in range(len(self._ledgers)) if each != number)):
            for row in self._ledgers[each].find(url):
                is_earlier = row.id < new.id if each == number else row.entry.time <= new.entry.time
                if is_earlier:
                    yield each, row


def _counter_notes(counts: Mapping[str, int]) -> Iterator[str]:
    """Say what went wrong in the crawl, and what it did not see."""
    if outages := counts.get("outages", 0):
        kept = counted(counts.get("unchecked/store", 0), "page")
        yield f"The store was away {counted(outages, 'time')}: {kept} went on unchecked."
    if faults := counts.get("errors", 0):
        yield f"{counted(faults, 'fault')} in reading or judging pages; the log tells of the first of a kind."
    if withheld := counts.get("withheld", 0):
        were = "was" if withheld == 1 else "were"
        yield (
            f"{withheld:,} of the dropped pages {were} not given to the spider, so links on them were not "
            "followed: how many requests that saved is not known, and they are not counted as saved."
        )


def _run_notes(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """Say what the runs say of themselves that is not the same in all."""
    runs: list[Run] = [run for ledger in ledgers for run in ledger.runs]
    resumed = len(runs) - len(ledgers)
    if resumed:
        yield f"The run was resumed {resumed} time{'s' * (resumed > 1)}."
    if any(ledger.runs[-1].ended is None for ledger in ledgers):
        yield "The run goes on, or was killed: this is what was written down until now."
    settings = [run.about.get("settings", {}) for run in runs]
    differing = sorted({name for one in settings for name in one if one.get(name) != settings[-1].get(name)})
    if differing:
        yield f"Not all runs had the same settings; of {', '.join(differing)} the last values are shown."


def _page_row(row: LedgerRow) -> PageRow:
    entry = row.entry
    return row_from_verdict(
        entry.verdict,
        url=entry.url,
        title=entry.title,
        host=host_of(entry.url),
        time=entry.time,
        bytes=entry.bytes,
        fate=str(row.fate),
    )
