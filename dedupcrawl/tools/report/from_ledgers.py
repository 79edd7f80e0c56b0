"""Builds a report from ledgers; the ledgers of all workers of a crawl give one report."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import SettingError
from dedupcrawl.ledger.counters import merge_flows, merge_histograms, merge_hosts, merge_slices, totals_from_counters
from dedupcrawl.ledger.ledger import ClusterCount, Ledger
from dedupcrawl.ledger.ledger_schema import Outcome, is_sampled, sampling_hash, stored_host
from dedupcrawl.sites.site_counts import MAX_LISTED_SITES, SiteCounts
from dedupcrawl.tools.report.report_builder import ReportLimits, build_report
from dedupcrawl.tools.report.report_model import ListedPage, SourcePair, SourceReport, row_from_verdict, siblings_text
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.ledger.ledger import LedgerRow, Run
    from dedupcrawl.ledger.ledger_schema import Comparison, RuleRow
    from dedupcrawl.tools.report.report_model import PageRow, PairKey, Report
    from dedupcrawl.utils.iteration import Progress

_RELATED_PAGE = -1  #: in a key, instead of the index of a comparison: the page that the verdict names


def report_from_ledgers(
    paths: Sequence[Path], *, limits: ReportLimits | None = None, progress: Progress | None = None
) -> Report:
    """Build a report from the current content of one or several ledgers.

    Args:
        paths: the ledgers, at least one, and no duplicates.
        limits: the largest amounts that the report shows; None: the defaults.
        progress: receives the progress.

    Raises:
        DedupError: a file is missing, damaged, or no ledger.
        SettingError: ``paths`` is empty or has duplicates.
    """
    if not paths or len({path.resolve() for path in paths}) < len(paths):
        raise SettingError("ledgers", [*map(str, paths)], "at least one, and each once")
    limits = limits or ReportLimits()
    with ExitStack() as stack:
        ledgers = [stack.enter_context(Ledger.open(path)) for path in paths]
        return build_report(_LedgersReader(ledgers, limits).read(), limits, progress)


class _LedgersReader:
    def __init__(self, ledgers: Sequence[Ledger], limits: ReportLimits) -> None:
        self._ledgers = ledgers
        self._limits = limits
        self._runs = [run for ledger in ledgers for run in ledger.runs]
        # If one ledger does not list a cluster, its size is unknown, even if the others list it.
        self._level = max(ledger.sample.one_in for ledger in ledgers).bit_length() - 1
        self._misses = self._near_misses()
        self._sites = SiteCounts(MAX_LISTED_SITES, is_sample=self._level > 0)

    def read(self) -> SourceReport:
        ledgers = self._ledgers
        counts: Counter[str] = Counter()
        detectors: Counter[str] = Counter()
        for ledger in ledgers:
            counts.update(ledger.counts)
            detectors.update(ledger.detectors)
        clusters = self._clusters()
        return SourceReport(
            about=self._about(),
            figures=totals_from_counters(counts),
            rows=self._rows(),
            clusters=clusters,
            misses=self._misses,
            pairs=self._pairs,
            notes=tuple(self._notes(clusters, counts)),
            sites=self._sites.notices,
            rules=merge_rules(rule for ledger in ledgers for rule in ledger.rules),
            slices=merge_slices((ledger.width, ledger.slices) for ledger in ledgers),
            hosts=merge_hosts(host for ledger in ledgers for host in ledger.hosts),
            flows=merge_flows(flow for ledger in ledgers for flow in ledger.flows),
            detectors=dict(detectors.most_common()),
            histograms=merge_histograms(each for ledger in ledgers for each in ledger.histograms),
        )

    # -- metadata and notes -------------------------------------------------------------------

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

    def _notes(self, clusters: Sequence[ClusterCount], counts: Mapping[str, int]) -> Iterator[str]:
        ledgers = self._ledgers
        samples = [ledger.sample for ledger in ledgers]
        if len(ledgers) > 1:
            yield f"{len(ledgers)} ledgers are merged: {', '.join(each.path.name for each in ledgers)}."
        if self._runs[-1].about.get("settings", {}).get("DEDUP_ITEM_FIELDS", "[]") != "[]":
            yield "Items were judged, each by its own text: a page of this report is one item."
        yield from _run_notes(ledgers)
        for ledger in ledgers:
            yield from ledger.problems
        yield from _counter_notes(counts)
        if lost := sum(each.lost for each in samples):
            yield f"{lost:,} pages could not be recorded; they are only counted."
        if self._level:
            yield (
                f"The report lists the pages of one in {2**self._level:,} clusters, chosen by hash, and those "
                "of near misses. It counts all pages, and shows the largest of the listed clusters."
            )
        texts = max(each.texts_one_in for each in samples)
        if texts > 2**self._level:
            yield f"Texts of one in {texts:,} clusters were kept."
        if any(size.pages > self._limits.cluster_pages for size in clusters[: self._limits.clusters]):
            yield f"At most {self._limits.cluster_pages:,} pages of a cluster are listed; its size is exact."
        if open_ := sum(1 for ledger in ledgers for _ in ledger.rows(Outcome.OPEN)):
            yield f"{open_:,} of the pages listed were under way when the run ended, or the ledger was read."

    # -- pages --------------------------------------------------------------------------------

    def _clusters(self) -> tuple[ClusterCount, ...]:
        found: dict[str, ClusterCount] = {}
        alone = len(self._ledgers) == 1
        for ledger in self._ledgers:
            # Each of two workers may have one page of a cluster.
            for each in ledger.clusters(self._limits.clusters if alone else -1, 2 if alone else 1):
                if is_sampled(sampling_hash(each.name), self._level):
                    found[each.name] = _add_sizes(found.get(each.name), each)
        large = (each for each in found.values() if each.pages > 1)
        return tuple(sorted(large, key=lambda each: (-each.pages, each.name))[: self._limits.clusters])

    def _rows(self) -> Iterator[ListedPage]:
        missed = {(number, page) for number, page, _ in self._misses}
        for number, ledger in enumerate(self._ledgers):
            for row in ledger.rows():
                hashed = sampling_hash(row.entry.verdict.cluster or row.entry.url)
                is_chosen = is_sampled(hashed, self._level)
                if is_chosen:
                    verdict = row.entry.verdict
                    self._sites.add(row.entry.url, verdict.relation, verdict.of, verdict.reason)
                if is_chosen or (number, row.id) in missed:
                    key = (number, row.id, _RELATED_PAGE) if row.entry.verdict.of is not None else None
                    yield ListedPage(_page_row(row), hashed, row.id, key)

    # -- pairs --------------------------------------------------------------------------------

    def _near_misses(self) -> tuple[tuple[int, int, int], ...]:
        """Return near misses as keys: number of the ledger, id of the page, index of the comparison."""
        found = [
            (-miss.similarity, number, miss.page, miss.index)
            for number, ledger in enumerate(self._ledgers)
            for miss in ledger.misses(self._limits.misses)
        ]
        return tuple((number, page, index) for _, number, page, index in sorted(found)[: self._limits.misses])

    def _pairs(self, wanted: Sequence[PairKey]) -> Iterator[SourcePair]:
        return (pair for key in wanted if (pair := self._pair(key)) is not None)

    def _pair(self, key: Any) -> SourcePair | None:
        number, page, index = key
        row = self._ledgers[number].row(page)
        if row is None:
            return None
        compared = self._comparison(number, row, index)
        verdict = row.entry.verdict
        old_url = compared.url if compared else verdict.of
        if old_url is None:
            return None
        cluster = compared.cluster if compared else verdict.cluster or ""
        old, old_text, old_notes = self._earlier_page(number, row, old_url, cluster)
        related = index == _RELATED_PAGE
        nearest = compared.nearest if compared else None
        return SourcePair(
            key=key,
            new=row.entry.url,
            old=old_url,
            assessments=compared.assessments if compared else (),
            relation=str(verdict.relation or "") if related else "",
            decided=(verdict.detector or "") if related else "",
            similarity=verdict.similarity if related else nearest.similarity if nearest else None,
            new_title=row.entry.title,
            old_title=old.entry.title if old else "",
            new_text=self._ledgers[number].text(page),
            old_text=old_text,
            siblings=siblings_text(verdict) if related else "",
            new_notes=self._ledgers[number].notes(page),
            old_notes=old_notes,
        )

    def _comparison(self, number: int, row: LedgerRow, index: int) -> Comparison | None:
        """Return the comparison of a page at an index."""
        against = self._ledgers[number].comparisons(row.id)
        if index != _RELATED_PAGE:
            return against[index] if index < len(against) else None
        return next((each for each in against if each.url == row.entry.verdict.of), None)

    def _earlier_page(
        self, number: int, new: LedgerRow, url: str, cluster: str
    ) -> tuple[LedgerRow | None, str | None, tuple[str, ...]]:
        """Return an earlier page of any ledger, its text, and the notes on it.

        Versions of a page, and items of a page, share a URL: a page of the right cluster is preferred.
        """
        found = list(self._with_url(number, new, url))
        found.sort(key=lambda each: each[1].entry.verdict.cluster != cluster)
        for each, row in found:
            text = self._ledgers[each].text(row.id)
            if text is not None:
                return row, text, self._ledgers[each].notes(row.id)
        return (found[0][1] if found else None), None, ()

    def _with_url(self, number: int, new: LedgerRow, url: str) -> Iterator[tuple[int, LedgerRow]]:
        """Yield earlier pages with a URL: those of the same ledger first, the latest first."""
        for each in (number, *(each for each in range(len(self._ledgers)) if each != number)):
            for row in self._ledgers[each].find(url):
                is_earlier = row.id < new.id if each == number else row.entry.time <= new.entry.time
                if is_earlier:
                    yield each, row


def merge_rules(rules: Iterable[RuleRow]) -> tuple[RuleRow, ...]:
    """Return each rule once. Workers share their counts, so the highest ones are those of all."""
    found: dict[tuple[str, str], RuleRow] = {}
    for rule in rules:
        known = found.get((rule.site, rule.text))
        found[rule.site, rule.text] = rule if known is None or rule.requests > known.requests else known
    return tuple(sorted(found.values(), key=lambda rule: (-rule.requests, rule.site, rule.text)))


def _add_sizes(one: ClusterCount | None, two: ClusterCount) -> ClusterCount:
    if one is None:
        return two
    first, last = min(one.first or 0.0, two.first or 0.0), max(one.last or 0.0, two.last or 0.0)
    return ClusterCount(two.name, one.pages + two.pages, first, last)


def _counter_notes(counts: Mapping[str, int]) -> Iterator[str]:
    """Note failures of the crawl, and pages that it did not see."""
    if outages := counts.get("outages", 0):
        kept = counted(counts.get("unchecked/store", 0), "page")
        yield f"The store was away {counted(outages, 'time')}: {kept} kept unchecked."
    if faults := counts.get("errors", 0):
        yield f"{counted(faults, 'fault')} in reading or judging pages; the log has the first one of each kind."
    if withheld := counts.get("withheld", 0):
        were = "was" if withheld == 1 else "were"
        yield (
            f"{withheld:,} of the dropped pages {were} not given to the spider, so links on them were not "
            "followed. It is not known how many requests this saved; they are not counted as saved."
        )


def _run_notes(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """Note resumed and unfinished runs, and settings that differ between runs."""
    runs: list[Run] = [run for ledger in ledgers for run in ledger.runs]
    resumed = len(runs) - len(ledgers)
    if resumed:
        yield f"The run was resumed {resumed} time{'s' * (resumed > 1)}."
    if any(ledger.runs[-1].ended is None for ledger in ledgers):
        yield "The run has not ended, or was killed: the report shows what was recorded so far."
    settings = [run.about.get("settings", {}) for run in runs]
    differing = sorted({name for one in settings for name in one if one.get(name) != settings[-1].get(name)})
    if differing:
        yield f"The runs had different settings; the last values of {', '.join(differing)} are shown."


def _page_row(row: LedgerRow) -> PageRow:
    entry = row.entry
    return row_from_verdict(
        entry.verdict,
        url=entry.url,
        title=entry.title,
        host=stored_host(entry.url),
        time=entry.time,
        bytes=entry.bytes,
        outcome=str(row.outcome),
    )
