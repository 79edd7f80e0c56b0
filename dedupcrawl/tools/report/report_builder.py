"""Builds a report from the data of a source: selects pages and pairs, compares texts, notes omissions."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from dedupcrawl.ledger.counters import OTHER_HOSTS, FlowCount, HostCount
from dedupcrawl.text.positions import ALL, common_position, outline
from dedupcrawl.tools.report.diff import compare_texts
from dedupcrawl.tools.report.report_model import ClusterRow, Pair, Report
from dedupcrawl.utils.formatting import counted
from dedupcrawl.utils.iteration import NoProgress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dedupcrawl.ledger.ledger import ClusterCount
    from dedupcrawl.tools.report.report_model import ListedPage, PageRow, PairKey, SourcePair, SourceReport
    from dedupcrawl.utils.iteration import Progress


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """The largest amounts that a report shows."""

    pages: int = 50_000
    clusters: int = 200
    cluster_pages: int = 200  #: of one cluster
    pairs: int = 1_000
    misses: int = 100
    text_chars: int = 8_000_000  #: characters of the texts of all pairs
    hosts: int = 20_000
    flows: int = 20_000
    sites: int = 50  #: conspicuous ones
    rules: int = 50


def build_report(source: SourceReport, limits: ReportLimits | None = None, progress: Progress | None = None) -> Report:
    """Build a report."""
    return _ReportBuilder(source, limits or ReportLimits(), progress or NoProgress()).run()


def choose_rows(rows: Iterable[ListedPage], most: int, clusters: Collection[str]) -> list[ListedPage]:
    """Return at most ``most`` pages for the table: dropped pages first, each kind by time.

    If there are more, it prefers dropped pages and all pages of ``clusters``, then other related pages. Among
    equals it selects whole clusters by their hash.
    """

    def rank(each: ListedPage) -> tuple[int, int]:
        if each.row.outcome == "dropped" or each.row.cluster in clusters:
            return 0, each.rank
        return 1 if each.row.relation else 2, each.rank

    chosen = nsmallest(most, rows, key=rank)
    return sorted(chosen, key=lambda each: (each.row.outcome != "dropped", each.row.time or 0.0, each.order))


def choose_pairs(
    misses: Sequence[PairKey], members: Mapping[str, Sequence[ListedPage]], rows: Iterable[ListedPage], most: int
) -> list[PairKey]:
    """Return the keys of at most ``most`` pairs, the most informative first.

    Near misses come first, then one pair of each cluster, a second pair of each, and so on, then all others.

    Args:
        misses: near misses, highest similarity first.
        members: pages of each cluster, largest cluster first.
        rows: pages of the table.
        most: number of pairs.
    """
    related = [[each.pair for each in group if each.pair is not None] for group in members.values()]
    turns = chain.from_iterable(zip_longest(*related))
    found = chain(misses, turns, (each.pair for each in rows))
    return list(dict.fromkeys(key for key in found if key is not None))[:most]


class _ReportBuilder:
    def __init__(self, source: SourceReport, limits: ReportLimits, progress: Progress) -> None:
        self._source = source
        self._limits = limits
        self._progress = progress
        self._notes = list(source.notes)

    def run(self) -> Report:
        source, limits = self._source, self._limits
        sizes = source.clusters[: limits.clusters]
        rows = choose_rows(source.rows, limits.pages, {size.name for size in sizes})
        self._note_missing_rows(rows)
        members = _cluster_members(rows, sizes)
        misses = source.misses[: limits.misses]
        pairs = self._compare(choose_pairs(misses, members, rows, limits.pairs))
        indexes = {key: index for index, key in enumerate(pairs)}
        titles = _titles_from_pairs(pairs.values())
        row_indexes = {id(each): index for index, each in enumerate(rows)}
        clusters = [self._cluster(size, members.get(size.name, ()), row_indexes, titles) for size in sizes]
        return Report(
            **source.about,
            made=time.time(),
            figures=source.figures,
            sites=tuple(source.sites()[: limits.sites]),
            rules=source.rules[: limits.rules],
            slices=source.slices,
            hosts=self._select_hosts(source.hosts),
            flows=self._select_flows(source.flows),
            detectors=source.detectors,
            histograms=source.histograms,
            pages=tuple(_row(each, indexes, titles) for each in rows),
            clusters=tuple(each for each in clusters if each.pages),
            pairs=tuple(pairs.values()),
            misses=tuple(indexes[key] for key in misses if key in indexes),
            notes=tuple(self._notes),
        )

    def _note_missing_rows(self, rows: Sequence[ListedPage]) -> None:
        pages, dropped = self._source.figures.pages, self._source.figures.dropped
        if len(rows) >= pages:
            return
        listed = sum(each.row.outcome == "dropped" for each in rows)
        of_dropped = f"all {dropped:,}" if listed >= dropped else f"{listed:,} of the {dropped:,}"
        chosen = ", chosen by cluster" if len(rows) == self._limits.pages else ""  # or the source has no more
        self._notes.append(
            f"The table holds {len(rows):,} of {pages:,} pages{chosen}; {of_dropped} dropped pages are among them."
        )

    def _cluster(
        self, size: ClusterCount, members: Sequence[ListedPage], indexes: Mapping[int, int], titles: Mapping[str, str]
    ) -> ClusterRow:
        known = (each.row.title or titles.get(each.row.url, "") for each in members)
        return ClusterRow(
            name=size.name,
            size=size.pages,
            hosts=len({each.row.host for each in members}),
            first=size.first,
            last=size.last,
            title=next(filter(None, known), next((each.row.url for each in members), "")),
            pages=tuple(indexes[id(each)] for each in members[: self._limits.cluster_pages]),
        )

    def _compare(self, wanted: Sequence[PairKey]) -> dict[PairKey, Pair]:
        """Compare pairs in their order, with texts until the limit of characters is reached."""
        room, without = self._limits.text_chars, 0
        compared: dict[PairKey, Pair] = {}
        for each in self._source.pairs(wanted):
            if not compared:  # the source reports steps of its own before its first pair
                self._progress.begin("pairs", len(wanted))
            compared[each.key] = pair = _pair(each, with_texts=room > 0)
            room -= sum(len(change.new) + len(change.old) for change in pair.changes)
            without += not pair.changes
            self._progress.advance(1)
        if without and self._source.about["kind"] != "store":  # a store has no texts, and another note
            shown = counted(len(compared), "pair")
            self._notes.append(f"{without:,} of {shown} are shown without their texts.")
        return compared

    def _select_hosts(self, hosts: Sequence[HostCount]) -> tuple[HostCount, ...]:
        named = [each for each in hosts if each.name != OTHER_HOSTS]
        shown, rest = named[: self._limits.hosts], named[self._limits.hosts :]
        if rest:
            self._notes.append(f"{len(shown):,} of {len(named):,} hosts are named, those with most pages.")
        rest += [each for each in hosts if each.name == OTHER_HOSTS]
        if rest:
            sums = (sum(getattr(each, name) for each in rest) for name in ("pages", "kept", "dropped"))
            shown.append(HostCount(OTHER_HOSTS, *sums))
        return tuple(shown)

    def _select_flows(self, flows: Sequence[FlowCount]) -> tuple[FlowCount, ...]:
        shown, rest = flows[: self._limits.flows], flows[self._limits.flows :]
        if not rest:
            return tuple(shown)
        self._notes.append(f"{len(shown):,} of {len(flows):,} pairs of hosts are named, those with most copies.")
        return (*shown, FlowCount(OTHER_HOSTS, OTHER_HOSTS, sum(each.pages for each in rest)))


def _cluster_members(rows: Sequence[ListedPage], sizes: Sequence[ClusterCount]) -> dict[str, list[ListedPage]]:
    """Return the pages of each cluster by time, the largest cluster first."""
    found: defaultdict[str, list[ListedPage]] = defaultdict(list)
    for each in rows:
        found[each.row.cluster].append(each)
    names = [size.name for size in sizes if size.name in found]
    return {name: sorted(found[name], key=lambda each: (each.row.time or 0.0, each.order)) for name in names}


def _pair(both: SourcePair, *, with_texts: bool) -> Pair:
    diff, position = None, ""
    if with_texts and both.new_text is not None and both.old_text is not None:
        diff = compare_texts(both.old_text, both.new_text)
        position = common_position(outline(both.new_text, ALL), outline(both.old_text, ALL))
    return Pair(
        new=both.new,
        old=both.old,
        new_title=both.new_title,
        old_title=both.old_title,
        assessments=both.assessments,
        relation=both.relation,
        decided=both.decided,
        similarity=both.similarity,
        changes=diff.changes if diff else (),
        is_cut=bool(diff and diff.is_cut),
        siblings=both.siblings,
        new_notes=both.new_notes,
        old_notes=both.old_notes,
        position=position,
    )


def _titles_from_pairs(pairs: Collection[Pair]) -> dict[str, str]:
    """Return titles by URL; a batch reads titles together with the texts of pairs."""
    titles = {pair.old: pair.old_title for pair in pairs} | {pair.new: pair.new_title for pair in pairs}
    return {url: title for url, title in titles.items() if title}


def _row(each: ListedPage, indexes: Mapping[PairKey, int], titles: Mapping[str, str]) -> PageRow:
    index = indexes.get(each.pair) if each.pair is not None else None
    title = each.row.title or titles.get(each.row.url, "")
    if index is None and title == each.row.title:
        return each.row
    return replace(each.row, pair=index, title=title)
