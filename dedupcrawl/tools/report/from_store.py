"""From a store to a report of what it holds. It remembers kept pages alone, and no text of them.

Pages of a store that share keys and do not match: how near to each other they are.

What a walk through a store counts, in bounded memory.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import Config
from dedupcrawl.constants import settings_shown
from dedupcrawl.decision import Matcher, cluster_of
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import DedupError, SettingError, package_version
from dedupcrawl.ledger.counters import (
    BINS,
    MAX_SLICES,
    OTHER_HOSTS,
    Histogram,
    Host,
    RunTotals,
    Slice,
    bin_edges,
    bin_of,
    merge_slices,
    slice_width,
    widened,
)
from dedupcrawl.ledger.entry import host_of
from dedupcrawl.ledger.ledger_schema import is_sampled, sampling_hash
from dedupcrawl.store_config import recovered
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.tools.report.report_builder import ReportLimits, build_report, choose_rows
from dedupcrawl.tools.report.report_model import (
    ClusterSize,
    ListedPage,
    PageRow,
    PairInput,
    ReportInput,
    no_pairs,
)
from dedupcrawl.utils.formatting import counted, hide_password
from dedupcrawl.utils.progress import NoProgress
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.stores.base import Candidate, Store, StoreInfo
    from dedupcrawl.tools.report.report_model import PairKey, Report
    from dedupcrawl.utils.progress import Progress


MAX_CANDIDATES = 8  #: earlier pages with which one is compared, the newest
_THRESHOLD_NAMES = ("threshold", "share", "tau")  #: what detectors call the least similarity of a match


@dataclass(frozen=True, slots=True)
class StoreNeighbours:
    """What was found."""

    nearest: tuple[PairInput, ...]  #: pairs, nearest first
    weighed: int  #: pairs in all
    looked_at: int  #: pages whose neighbours were looked up
    missed: Counter[tuple[str, int]]  #: by detector and bin
    thresholds: dict[str, float | None]  #: by detector

    @classmethod
    def found(
        cls, store: Store, ids: Sequence[int], judge: Matcher, most: int, teller: Progress
    ) -> StoreNeighbours:
        """Look up the neighbours of these pages, and weigh them."""
        teller.begin("neighbours", len(ids))
        nearest: list[PairInput] = []
        missed: Counter[tuple[str, int]] = Counter()
        weighed = 0
        for id in ids:  # noqa: A001  # the field's own word
            for both in _unmatched_pairs(store, id, judge):
                weighed += 1
                missed.update(
                    (each.detector, bin_of(each.similarity))
                    for each in both.opinions
                    if each.similarity is not None
                )
                nearest.append(both)
            nearest = sorted(nearest, key=lambda each: -(each.similarity or 0.0))[:most]
            teller.advance(1)
        thresholds = {each.name: similarity_threshold(each) for each in judge.detectors}
        return cls(tuple(nearest), weighed, len(ids), missed, thresholds)

    @property
    def keys(self) -> tuple[PairKey, ...]:
        """Name the pairs."""
        return tuple(each.key for each in self.nearest)

    def pairs(self, wanted: Sequence[PairKey]) -> Iterator[PairInput]:
        """Give those that are wanted."""
        there = {each.key: each for each in self.nearest}
        return (there[key] for key in wanted if key in there)

    def histograms(self) -> tuple[Histogram, ...]:
        """Return how near to each other the pairs are."""
        names = dict.fromkeys(detector for detector, _ in self.missed)
        return tuple(
            Histogram(
                name,
                self.thresholds.get(name),
                bin_edges(),
                (0,) * BINS,
                tuple(self.missed[name, place] for place in range(BINS)),
            )
            for name in names
        )

    def notes(self, pages: int) -> Iterator[str]:
        """Say which pages were compared."""
        some = "all pages" if self.looked_at >= pages else f"{self.looked_at:,} pages, chosen by hash,"
        pairs = counted(self.weighed, "pair")
        yield f"For near misses {some} were compared with others under their keys: {pairs}."


def _unmatched_pairs(store: Store, id: int, judge: Matcher) -> Iterator[PairInput]:
    """Give a page and each earlier one under its keys that it does not match."""
    page = store.get(id)
    if page is None:
        return
    earlier = [each for each in store.find(page.record.keys) if each.id < id]
    for old in earlier[-MAX_CANDIDATES:]:
        both = _compare(page, old, judge)
        if both is not None:
            yield both


def _compare(new: Candidate, old: Candidate, judge: Matcher) -> PairInput | None:
    if new.record.url == old.record.url:
        return None
    opinions = judge.opinions(new.record, old.record)
    similarities = [each.similarity for each in opinions if each.similarity is not None]
    if not similarities or any(each.match for each in opinions):
        return None
    key = (new.id, old.id)
    return PairInput(key, new.record.url, old.record.url, opinions, similarity=max(similarities))


def similarity_threshold(detector: Detector) -> float | None:
    """Return the least similarity of a match; None where no single constant of the detector is it."""
    found = [getattr(detector, name) for name in _THRESHOLD_NAMES if hasattr(detector, name)]
    return float(found[0]) if found else None


MAX_HOSTS = 100_000  #: that are told apart
MAX_CLUSTERS = 100_000  #: that are counted; beyond them half of them go
MAX_LOOKUPS = 2_000  #: pages whose neighbours are looked up
_PROGRESS_STEP = 256  #: pages after which progress is told
_KEPT = "it was kept; with what it was compared is not in the store"


class StoreScan:
    """Counts the pages of a store as they pass."""

    def __init__(self, teller: Progress) -> None:
        self._teller = teller
        self.pages = 0
        self.claimed = 0  #: pages that are not committed
        self.level = 0  #: clusters are counted whose hash :func:`is_sampled` at it
        self._hosts: Counter[str] = Counter()
        self._clusters: dict[str, ClusterSize] = {}
        self._slices: dict[int, tuple[int, int, int]] = {}
        self._width = 1
        self._looked_at: list[tuple[int, int]] = []  # heap: the negative of a hash, and an id

    @property
    def looked_at(self) -> list[int]:
        """Return the ids of some pages, chosen by hash, by rising id."""
        return sorted(each for _, each in self._looked_at)

    def rows(self, store: Store) -> Iterator[ListedPage]:
        """Walk through a store; give every page."""
        for candidate in store.records():
            yield self._row(candidate)
            self.pages += 1
            if self.pages % _PROGRESS_STEP == 0:
                self._teller.advance(_PROGRESS_STEP, _PROGRESS_STEP)
                self._trim()
        self._trim()

    def hosts(self) -> tuple[Host, ...]:
        """Return the hosts, those with most pages first."""
        return tuple(Host(name, count, count, 0) for name, count in self._hosts.most_common())

    def clusters(self, most: int) -> tuple[ClusterSize, ...]:
        """Return the largest clusters of at least two pages."""
        several = (each for each in self._clusters.values() if each.pages > 1)
        return tuple(heapq.nsmallest(most, several, key=lambda each: (-each.pages, each.name)))

    def slices(self) -> tuple[Slice, ...]:
        """Return what was kept when."""
        known = (Slice(float(place * self._width), *counts) for place, counts in sorted(self._slices.items()))
        return merge_slices([(self._width, known)])

    def _row(self, candidate: Candidate) -> ListedPage:
        record = candidate.record
        host, cluster = host_of(record.url), cluster_of(record)
        chance = sampling_hash(cluster)
        self.claimed += candidate.state is not ClaimState.COMMITTED
        is_named = host and (host in self._hosts or len(self._hosts) < MAX_HOSTS)
        self._hosts[host if is_named else OTHER_HOSTS] += 1
        self._look_at(sampling_hash(record.url), candidate.id)
        self._count_cluster(cluster, chance, record.seen)
        place = int(record.seen) // self._width
        self._slices[place] = (self._slices.get(place, (0, 0, 0))[0] + 1, 0, 0)
        return ListedPage(
            PageRow(
                record.url, "", host, record.seen, 0, str(Status.UNIQUE), "kept", cluster=cluster, why=_KEPT
            ),
            chance,
            candidate.id,
        )

    def _look_at(self, chance: int, id: int) -> None:  # the field's own word
        if len(self._looked_at) < MAX_LOOKUPS:
            heapq.heappush(self._looked_at, (-chance, id))
        elif -chance > self._looked_at[0][0]:
            heapq.heapreplace(self._looked_at, (-chance, id))

    def _count_cluster(self, name: str, chance: int, when: float) -> None:
        if is_sampled(chance, self.level):
            before = self._clusters.get(name, ClusterSize(name, 0, when, when))
            first, last = min(before.first or when, when), max(before.last or when, when)
            self._clusters[name] = ClusterSize(name, before.pages + 1, first, last)

    def _trim(self) -> None:
        while len(self._clusters) > MAX_CLUSTERS:
            self.level += 1
            self._clusters = {
                name: size
                for name, size in self._clusters.items()
                if is_sampled(sampling_hash(name), self.level)
            }
        if len(self._slices) > 2 * MAX_SLICES:
            ends = min(self._slices) * self._width, max(self._slices) * self._width
            width = slice_width(ends, self._width, MAX_SLICES)
            self._slices = widened(self._slices, width // self._width)
            self._width = width


_NOT_STORED = (
    "A store remembers the pages that were kept: which ones were dropped, and whom they repeat, it does not.",
    "It has no texts, titles or sizes either: pairs are shown by what their fingerprints have in common.",
    "How alike copies must be is not in it: what is marked as a threshold is the usual one.",
)
_STORED_SETTINGS = (
    "DEDUP_DETECTORS",
    "DEDUP_READER",
    "DEDUP_FOLD_CHINESE",
)  #: settings that a store remembers


def report_from_store(
    url: str,
    namespace: str | None = None,
    *,
    most: ReportLimits | None = None,
    teller: Progress | None = None,
) -> Report:
    """Make a report of a namespace of a store; None is the only one that is there.

    Raises:
        SettingError: there is none of this name, or several to choose from.
        StoreError: the store cannot be read.
    """
    most, teller = most or ReportLimits(), teller or NoProgress()
    with open_existing(url, _choose_namespace(url, namespace)) as store:
        return build_report(_input_from_store(store, most, teller), most, teller)


def _choose_namespace(url: str, namespace: str | None) -> str:
    there = list_namespaces(url)
    if namespace is None and len(there) == 1:
        return there[0]
    if namespace not in there:
        raise SettingError(
            "--namespace", namespace, f"one of {', '.join(map(repr, there)) or 'none: it is empty'}"
        )
    return namespace


def _input_from_store(store: Store, most: ReportLimits, teller: Progress) -> ReportInput:
    about = store.info()
    teller.begin("pages", about.pages)
    walk = StoreScan(teller)
    rows = choose_rows(walk.rows(store), most.pages, ())
    notes = [*_NOT_STORED, *_scan_notes(walk)]
    neighbours, config = None, None
    try:
        config = recovered(json.loads(about.scheme), Config()).config
        judge = Matcher(build_detectors(config))
        neighbours = StoreNeighbours.found(store, walk.looked_at, judge, most.misses, teller)
    except DedupError as error:  # a detector of another version, or a lexicon that is not here
        notes.append(f"Pages were not compared: {error}")
    if neighbours:
        notes += neighbours.notes(walk.pages)
    return ReportInput(
        about=_about(about, config),
        figures=_figures(walk.pages),
        rows=iter(rows),
        clusters=walk.clusters(most.clusters),
        misses=neighbours.keys if neighbours else (),
        pairs=neighbours.pairs if neighbours else no_pairs,
        notes=tuple(notes),
        slices=walk.slices(),
        hosts=walk.hosts(),
        histograms=neighbours.histograms() if neighbours else (),
    )


def _about(about: StoreInfo, config: Config | None) -> dict[str, Any]:
    url = hide_password(about.url)
    settings = {"DEDUP_STORE": url, "DEDUP_NAMESPACE": about.namespace}
    if config is None:
        settings["filled with"] = about.scheme
    else:
        settings |= {
            name: value for name, value in settings_shown(config).items() if name in _STORED_SETTINGS
        }
    return {
        "title": f"Store {url}, {about.namespace}",
        "kind": "store",
        "version": package_version(),
        "settings": settings,
        "began": about.oldest,
        "ended": about.newest,
    }


def _figures(pages: int) -> RunTotals:
    return RunTotals(pages, checked=pages, kept=pages, dropped=0, duplicates={}, related={}, unchecked={})


def _scan_notes(walk: StoreScan) -> Iterator[str]:
    if walk.claimed:
        are = "is" if walk.claimed == 1 else "are"
        yield f"{counted(walk.claimed, 'page')} {are} claimed, and not committed yet."
    if walk.level:
        yield f"Clusters are those of one in {2**walk.level:,}, chosen by hash."
