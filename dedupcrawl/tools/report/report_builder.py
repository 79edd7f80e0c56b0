"""From material to a report: what is shown is chosen, texts are compared, and what is left out is told.

Which pages and pairs are shown where there are too many.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.ledger.counters import OTHER_HOSTS, Flow, Host
from dedupcrawl.tools.report.diff import compare_texts
from dedupcrawl.tools.report.report_model import Cluster, Pair, Report
from dedupcrawl.utils.formatting import counted
from dedupcrawl.utils.progress import NoProgress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.tools.report.report_model import (
        ClusterSize,
        ListedPage,
        PageRow,
        PairInput,
        PairKey,
        ReportInput,
    )
    from dedupcrawl.utils.progress import Progress


def choose_rows(rows: Iterable[ListedPage], most: int, clusters: Collection[str]) -> list[ListedPage]:
    """Return the pages of the table, the dropped ones first, each kind by time.

    Where there are more than ``most``, first those go that relate to no other, then other kept ones, and of
    each kind the pages of some clusters and not some of all clusters. ``clusters`` are those that are shown,
    whose pages go last. At most ``2 * most`` rows are held.
    """

    def rank(each: ListedPage) -> tuple[int, int]:
        if each.row.fate == "dropped" or each.row.cluster in clusters:
            return 0, each.chance
        return 1 if each.row.relation else 2, each.chance

    held: list[ListedPage] = []
    for each in rows:
        held.append(each)
        if len(held) >= 2 * most:
            held = sorted(held, key=rank)[:most]
    if len(held) > most:
        held = sorted(held, key=rank)[:most]
    return sorted(held, key=lambda each: (each.row.fate != "dropped", each.row.time or 0.0, each.order))


def choose_pairs(
    misses: Sequence[PairKey],
    members: Mapping[str, Sequence[ListedPage]],
    rows: Iterable[ListedPage],
    most: int,
) -> list[PairKey]:
    """Return the pairs that are worth showing, those that are worth it most first.

    Near misses, then a page of each cluster, then the second page of each, and so on, then all others.

    Args:
        misses: pairs, nearest first.
        members: the pages of each cluster that is shown, largest cluster first.
        rows: the pages of the table.
        most: pairs.
    """
    wanted: dict[PairKey, None] = dict.fromkeys(misses)
    for each in (*_round_robin(members.values()), *rows):
        if len(wanted) >= most:
            break
        if each.pair is not None:
            wanted[each.pair] = None
    return list(wanted)[:most]


def _round_robin(groups: Iterable[Sequence[ListedPage]]) -> Iterator[ListedPage]:
    """Give the first of each group, then the second of each, and so on."""
    left = [iter([each for each in group if each.pair is not None]) for group in groups]
    while left:
        still = []
        for group in left:
            for each in group:
                yield each
                still.append(group)
                break
        left = still


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """How much of each kind is shown."""

    pages: int = 50_000
    clusters: int = 200
    of_cluster: int = 200  #: pages of one
    pairs: int = 1_000
    misses: int = 100
    text: int = 8_000_000  #: characters of all pairs
    hosts: int = 20_000
    flows: int = 20_000


def build_report(
    material: ReportInput, most: ReportLimits | None = None, teller: Progress | None = None
) -> Report:
    """Make a report."""
    return _ReportBuilder(material, most or ReportLimits(), teller or NoProgress()).run()


class _ReportBuilder:
    def __init__(self, material: ReportInput, most: ReportLimits, teller: Progress) -> None:
        self._material = material
        self._most = most
        self._teller = teller
        self._notes = list(material.notes)

    def run(self) -> Report:
        material, most = self._material, self._most
        sizes = material.clusters[: most.clusters]
        rows = choose_rows(material.rows, most.pages, {size.name for size in sizes})
        self._tell_of_rows(rows)
        members = _cluster_members(rows, sizes)
        misses = material.misses[: most.misses]
        shown = self._pairs(choose_pairs(misses, members, rows, most.pairs))
        pairs = list(shown.values())
        places = {key: place for place, key in enumerate(shown)}
        titles = _titles_from_pairs(pairs)
        places_of_rows = {id(each): place for place, each in enumerate(rows)}
        clusters = [self._cluster(size, members.get(size.name, ()), places_of_rows, titles) for size in sizes]
        return Report(
            **material.about,
            made=time.time(),
            figures=material.figures,
            slices=material.slices,
            hosts=self._hosts(material.hosts),
            flows=self._flows(material.flows),
            detectors=material.detectors,
            histograms=material.histograms,
            pages=tuple(_row(each, places, titles) for each in rows),
            clusters=tuple(each for each in clusters if each.pages),
            pairs=tuple(pairs),
            misses=tuple(places[key] for key in misses if key in places),
            notes=tuple(self._notes),
        )

    # -- pages --------------------------------------------------------------------------------

    def _tell_of_rows(self, rows: Sequence[ListedPage]) -> None:
        pages, dropped = self._material.figures.pages, self._material.figures.dropped
        if len(rows) >= pages:
            return
        there = sum(each.row.fate == "dropped" for each in rows)
        of_dropped = (
            f"all {dropped:,} dropped pages are among them"
            if there >= dropped
            else f"{there:,} of the {dropped:,} dropped pages are among them"
        )
        chosen = ", chosen by cluster" if len(rows) == self._most.pages else ""  # else it holds all there is
        self._notes.append(f"The table holds {len(rows):,} of {pages:,} pages{chosen}; {of_dropped}.")

    def _cluster(
        self,
        size: ClusterSize,
        members: Sequence[ListedPage],
        places: Mapping[int, int],
        titles: Mapping[str, str],
    ) -> Cluster:
        listed = members[: self._most.of_cluster]
        named = (each.row.title or titles.get(each.row.url, "") for each in members)
        return Cluster(
            name=size.name,
            size=size.pages,
            hosts=len({each.row.host for each in members}),
            first=size.first,
            last=size.last,
            title=next(filter(None, named), next((each.row.url for each in members), "")),
            pages=tuple(places[id(each)] for each in listed),
        )

    # -- pairs --------------------------------------------------------------------------------

    def _pairs(self, wanted: Sequence[PairKey]) -> dict[PairKey, Pair]:
        """Lay pairs side by side, the most wanted first, as long as there is room for their texts."""
        room, without = self._most.text, 0
        laid: dict[PairKey, Pair] = {}
        for both in self._material.pairs(wanted):
            if not laid:  # before it, the source has steps of its own
                self._teller.begin("pairs", len(wanted))
            laid[both.key] = pair = _pair(both, room)
            room -= sum(len(each.new) + len(each.old) for each in pair.changes)
            without += not pair.changes
            self._teller.advance(1)
        if without and self._material.about["kind"] != "store":  # which has none, and says so
            self._notes.append(f"{without:,} of {counted(len(laid), 'pair')} are shown without their texts.")
        return laid

    # -- hosts --------------------------------------------------------------------------------

    def _hosts(self, hosts: Sequence[Host]) -> tuple[Host, ...]:
        named = [each for each in hosts if each.name != OTHER_HOSTS]
        shown, rest = named[: self._most.hosts], named[self._most.hosts :]
        if rest:
            self._notes.append(f"{len(shown):,} of {len(named):,} hosts are named, those with most pages.")
        rest += [each for each in hosts if each.name == OTHER_HOSTS]
        if rest:
            sums = (sum(getattr(each, name) for each in rest) for name in ("pages", "kept", "dropped"))
            shown.append(Host(OTHER_HOSTS, *sums))
        return tuple(shown)

    def _flows(self, flows: Sequence[Flow]) -> tuple[Flow, ...]:
        shown, rest = flows[: self._most.flows], flows[self._most.flows :]
        if not rest:
            return tuple(shown)
        self._notes.append(
            f"{len(shown):,} of {len(flows):,} pairs of hosts are named, those with most copies."
        )
        return (*shown, Flow(OTHER_HOSTS, OTHER_HOSTS, sum(each.pages for each in rest)))


def _cluster_members(rows: Sequence[ListedPage], sizes: Sequence[ClusterSize]) -> dict[str, list[ListedPage]]:
    """Return the pages of each cluster by time, the largest cluster first."""
    found: defaultdict[str, list[ListedPage]] = defaultdict(list)
    for each in rows:
        found[each.row.cluster].append(each)
    names = [size.name for size in sizes if size.name in found]
    return {name: sorted(found[name], key=lambda each: (each.row.time or 0.0, each.order)) for name in names}


def _pair(both: PairInput, room: int) -> Pair:
    there = both.new_text is not None and both.old_text is not None and room > 0
    compared = compare_texts(both.old_text or "", both.new_text or "") if there else None
    return Pair(
        new=both.new,
        old=both.old,
        new_title=both.new_title,
        old_title=both.old_title,
        opinions=both.opinions,
        relation=both.relation,
        decided=both.decided,
        similarity=both.similarity,
        changes=compared.changes if compared else (),
        is_cut=bool(compared and compared.is_cut),
    )


def _titles_from_pairs(pairs: Sequence[Pair]) -> dict[str, str]:
    """Return the titles that are known from pairs: a source may have had none before it read the texts."""
    titles = {pair.old: pair.old_title for pair in pairs} | {pair.new: pair.new_title for pair in pairs}
    return {url: title for url, title in titles.items() if title}


def _row(each: ListedPage, places: Mapping[PairKey, int], titles: Mapping[str, str]) -> PageRow:
    place = places.get(each.pair) if each.pair is not None else None
    title = each.row.title or titles.get(each.row.url, "")
    if place is None and title == each.row.title:
        return each.row
    return replace(each.row, pair=place, title=title)
