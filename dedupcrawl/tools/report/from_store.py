"""Builds a report from a store, which contains the fingerprints of kept pages and no texts."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import Config, recovered, settings_shown
from dedupcrawl.decision import Status, cluster_of
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import DamageError, DedupError, SettingError, package_version
from dedupcrawl.ledger import counters
from dedupcrawl.ledger.counters import MAX_SLICES, OTHER_HOSTS, Histogram, HostCount, RunCounts, SliceCount
from dedupcrawl.ledger.ledger import ClusterCount
from dedupcrawl.ledger.ledger_schema import is_sampled, sampling_hash, stored_host
from dedupcrawl.matching import Matcher
from dedupcrawl.sites.site_counts import MAX_LISTED_SITES, SiteCounts
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.stores.base import ClaimState, log_damage
from dedupcrawl.tools.report.report_builder import ReportLimits, build_report, choose_rows
from dedupcrawl.tools.report.report_model import ListedPage, PageRow, SourcePair, SourceReport, no_pairs
from dedupcrawl.utils.formatting import counted
from dedupcrawl.utils.iteration import NoProgress
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.stores.base import Candidate, OnDamage, Store, StoreInfo
    from dedupcrawl.tools.report.report_model import PairKey, Report
    from dedupcrawl.utils.iteration import Progress

MAX_CANDIDATES = 8  #: earlier pages compared with a page for near misses: the newest
MAX_RELATED = 64  #: pages of conspicuous sites that are listed, the oldest
MAX_HOSTS = 100_000  #: hosts that are counted one by one
MAX_CLUSTERS = 100_000  #: clusters that are counted; beyond them half of them are dropped
MAX_LOOKUPS = 2_000  #: pages whose keys are looked up
_PROGRESS_STEP = 256  #: pages between two progress callbacks
_KEPT = "it was kept; the store does not record the pages that it was compared with"
_NOT_STORED = (
    "A store records only the pages that were kept, not those that were dropped, nor which pages these repeat.",
    "It has no texts, titles or sizes either: pairs are shown by what their fingerprints have in common.",
    "The required similarity is not in it either: the marked threshold is the default.",
)
_STORED_SETTINGS = ("DEDUP_DETECTORS", "DEDUP_READER", "DEDUP_FOLD_CHINESE")  #: that a store contains


def report_from_store(
    url: str,
    namespace: str | None = None,
    *,
    limits: ReportLimits | None = None,
    progress: Progress | None = None,
    on_damage: OnDamage = log_damage,
) -> Report:
    """Build a report from a namespace of a store.

    Args:
        url: of the store.
        namespace: its name; None: the only namespace of the store.
        limits: the largest amounts that the report shows; None: the defaults.
        progress: receives the progress.
        on_damage: is called with the error of each damaged record, which is left out.

    Raises:
        SettingError: the namespace does not exist, or is None and the store has several.
        StoreError: the store cannot be read.
    """
    limits, progress = limits or ReportLimits(), progress or NoProgress()
    with open_existing(url, _choose_namespace(url, namespace)) as store:
        return build_report(_input_from_store(store, limits, progress, on_damage), limits, progress)


def _choose_namespace(url: str, namespace: str | None) -> str:
    known = list_namespaces(url)
    if namespace is None and len(known) == 1:
        return known[0]
    if namespace not in known:
        accepted = f"one of {', '.join(map(repr, known)) or 'none: it is empty'}"
        raise SettingError("--namespace", namespace, accepted)
    return namespace


def _input_from_store(store: Store, limits: ReportLimits, progress: Progress, on_damage: OnDamage) -> SourceReport:
    info = store.info()
    progress.begin("pages", info.pages)
    scan = StoreScan(progress, on_damage)
    rows = choose_rows(scan.rows(store), limits.pages, ())
    notes = [*_NOT_STORED, *scan.notes()]
    neighbours, config = None, None
    try:
        base = Config() if store.secret is None else Config(seed=store.secret)
        config = recovered(json.loads(info.scheme), base).config
        matcher = Matcher(build_detectors(config))
        neighbours = NeighbourScan(store, scan, matcher, limits.misses, progress)
    except DedupError as error:  # a detector of another version, or a missing lexicon
        notes.append(f"Pages were not compared: {error}")
    if neighbours:
        notes.append(neighbours.note(scan.pages))
    pages = scan.pages
    return SourceReport(
        about=_about(info, config),
        figures=RunCounts(pages, pages, kept=pages, dropped=0, duplicates={}, related={}, unchecked={}),
        rows=iter(rows),
        clusters=scan.clusters(limits.clusters),
        misses=tuple(each.key for each in neighbours.nearest) if neighbours else (),
        pairs=neighbours.pairs if neighbours else no_pairs,
        notes=tuple(notes),
        sites=neighbours.sites.notices if neighbours else tuple,
        slices=scan.slices(),
        hosts=scan.hosts(),
        histograms=neighbours.histograms() if neighbours else (),
    )


def _about(info: StoreInfo, config: Config | None) -> dict[str, Any]:
    url = hide_password(info.url)
    settings = {"DEDUP_STORE": url, "DEDUP_NAMESPACE": info.namespace}
    if config is None:
        settings["filled with"] = info.scheme
    else:
        shown = settings_shown(config)
        settings |= {name: value for name, value in shown.items() if name in _STORED_SETTINGS}
    return {
        "title": f"Store {url}, {info.namespace}",
        "kind": "store",
        "version": package_version(),
        "settings": settings,
        "began": info.oldest,
        "ended": info.newest,
    }


class StoreScan:
    """Counts the pages of a store in bounded memory."""

    def __init__(self, progress: Progress, on_damage: OnDamage) -> None:
        self._progress = progress
        self._on_damage = on_damage
        self._damaged = 0
        self.pages = 0
        self._claimed = 0  # pages that are not committed
        self._level = 0  # sampling level of the clusters
        self._hosts: Counter[str] = Counter()
        self._clusters: dict[str, ClusterCount] = {}
        self._slices: dict[int, tuple[int, int, int]] = {}
        self._width = 1
        self._lookups: list[tuple[int, int]] = []  # heap of negative hashes and ids

    @property
    def lookups(self) -> list[int]:
        """The ids of at most :data:`MAX_LOOKUPS` pages, sampled by hash, in rising order."""
        return sorted(each for _, each in self._lookups)

    def rows(self, store: Store) -> Iterator[ListedPage]:
        """Yield all pages of a store, and count them."""
        for candidate in store.records(self._leave_out):
            yield self._row(candidate)
            self.pages += 1
            if self.pages % _PROGRESS_STEP == 0:
                self._progress.advance(_PROGRESS_STEP, _PROGRESS_STEP)
                self._trim()
        self._trim()

    def hosts(self) -> tuple[HostCount, ...]:
        """Return the hosts, most pages first."""
        return tuple(HostCount(name, count, count, 0) for name, count in self._hosts.most_common())

    def clusters(self, most: int) -> tuple[ClusterCount, ...]:
        """Return the largest clusters with at least two pages."""
        several = (each for each in self._clusters.values() if each.pages > 1)
        return tuple(heapq.nsmallest(most, several, key=lambda each: (-each.pages, each.name)))

    def slices(self) -> tuple[SliceCount, ...]:
        """Return the number of kept pages by time slice."""
        known = (SliceCount(float(at * self._width), *counts) for at, counts in sorted(self._slices.items()))
        return counters.merge_slices([(self._width, known)])

    def notes(self) -> Iterator[str]:
        """Note uncommitted pages and sampled clusters."""
        if self._claimed:
            are = "is" if self._claimed == 1 else "are"
            yield f"{counted(self._claimed, 'page')} {are} claimed, and not committed yet."
        if self._damaged:
            are = "is" if self._damaged == 1 else "are"
            yield f"{counted(self._damaged, 'damaged record')} {are} left out."
        if self._level:
            yield f"Clusters are those of one in {2**self._level:,}, chosen by hash."

    def _leave_out(self, error: DamageError) -> None:
        self._damaged += 1
        self._on_damage(error)

    def _row(self, candidate: Candidate) -> ListedPage:
        record = candidate.record
        url, seen, host, cluster = record.url, record.seen, stored_host(record.url), cluster_of(record)
        hashed = sampling_hash(cluster)
        self._claimed += candidate.state is not ClaimState.COMMITTED
        is_named = host and (host in self._hosts or len(self._hosts) < MAX_HOSTS)
        self._hosts[host if is_named else OTHER_HOSTS] += 1
        self._add_lookup(sampling_hash(url), candidate.id)
        self._count_in_cluster(cluster, hashed, seen)
        slot = int(seen) // self._width
        self._slices[slot] = (self._slices.get(slot, (0, 0, 0))[0] + 1, 0, 0)
        row = PageRow(url, "", host, seen, 0, str(Status.UNIQUE), "kept", cluster=cluster, why=_KEPT)
        return ListedPage(row, hashed, candidate.id)

    def _add_lookup(self, hashed: int, id: int) -> None:
        if len(self._lookups) < MAX_LOOKUPS:
            heapq.heappush(self._lookups, (-hashed, id))
        elif -hashed > self._lookups[0][0]:
            heapq.heapreplace(self._lookups, (-hashed, id))

    def _count_in_cluster(self, name: str, hashed: int, seen: float) -> None:
        if is_sampled(hashed, self._level):
            before = self._clusters.get(name, ClusterCount(name, 0, seen, seen))
            first, last = min(before.first or seen, seen), max(before.last or seen, seen)
            self._clusters[name] = ClusterCount(name, before.pages + 1, first, last)

    def _trim(self) -> None:
        while len(self._clusters) > MAX_CLUSTERS:
            self._level += 1
            sampled = [name for name in self._clusters if is_sampled(sampling_hash(name), self._level)]
            self._clusters = {name: self._clusters[name] for name in sampled}
        if len(self._slices) > 2 * MAX_SLICES:
            ends = min(self._slices) * self._width, max(self._slices) * self._width
            width = counters.slice_width(ends, self._width, MAX_SLICES)
            self._slices = counters.widened(self._slices, width // self._width)
            self._width = width


class NeighbourScan:
    """Pages of a store that share keys: the similarities of those that do not match, and the sites of those that do.

    Args:
        store: it is read.
        scan: the pages whose keys are looked up.
        matcher: compares pages.
        most: number of pairs to remember, those with the highest similarities.
        progress: receives the progress.
    """

    def __init__(self, store: Store, scan: StoreScan, matcher: Matcher, most: int, progress: Progress) -> None:
        ids = scan.lookups
        self.nearest: list[SourcePair] = []  #: highest similarity first
        self.sites = SiteCounts(MAX_LISTED_SITES, is_sample=len(ids) < scan.pages)
        self._compared = 0  # pairs
        self._lookups = len(ids)
        self._missed: Counter[tuple[str, int]] = Counter()  # by detector and bin
        self._thresholds = {each.name: counters.similarity_threshold(each) for each in matcher.detectors}
        progress.begin("neighbours", len(ids))
        for each in ids:
            progress.advance(1)
            try:
                new = store.get(each)
                found = store.find(new.record.keys) if new is not None else ()
            except DamageError:  # of a page that shares a key; the scan has reported it
                continue
            if new is None:
                continue
            earlier = [old for old in found if old.id < each]
            self._count_site(new, earlier[:MAX_RELATED], matcher)
            for pair in _unmatched_pairs(new, earlier[-MAX_CANDIDATES:], matcher):
                self._compared += 1
                for assessment in pair.assessments:
                    if assessment.similarity is not None:
                        self._missed[assessment.detector, counters.bin_of(assessment.similarity)] += 1
                self.nearest.append(pair)
            self.nearest = sorted(self.nearest, key=lambda pair: -(pair.similarity or 0.0))[:most]

    def _count_site(self, new: Candidate, earlier: Sequence[Candidate], matcher: Matcher) -> None:
        found = matcher.findings(new.record, earlier, versions=True)
        relation, of = (found[0].relation, found[0].candidate.record.url) if found else (None, None)
        self.sites.add(new.record.url, relation, of)

    def pairs(self, wanted: Sequence[PairKey]) -> Iterator[SourcePair]:
        """Yield the pairs with these keys."""
        known = {each.key: each for each in self.nearest}
        return (known[key] for key in wanted if key in known)

    def histograms(self) -> tuple[Histogram, ...]:
        """Return the similarities by detector."""
        bins = range(counters.BINS)
        return tuple(
            Histogram(
                name,
                self._thresholds.get(name),
                counters.BIN_EDGES,
                (0,) * counters.BINS,
                tuple(self._missed[name, number] for number in bins),
            )
            for name in dict.fromkeys(detector for detector, _ in self._missed)
        )

    def note(self, pages: int) -> str:
        """Note which of all pages were compared."""
        some = "all pages" if self._lookups >= pages else f"{self._lookups:,} pages, chosen by hash,"
        pairs = counted(self._compared, "pair")
        return f"For near misses {some} were compared with others under their keys: {pairs}."


def _unmatched_pairs(new: Candidate, earlier: Sequence[Candidate], matcher: Matcher) -> Iterator[SourcePair]:
    """Yield pairs of a page and earlier pages that share a key with it and do not match."""
    for old in earlier:
        if new.record.url == old.record.url:
            continue
        assessments = matcher.assessments(new.record, old.record)
        similarities = [each.similarity for each in assessments if each.similarity is not None]
        if similarities and not any(each.match for each in assessments):
            key, urls = (new.id, old.id), (new.record.url, old.record.url)
            yield SourcePair(key, *urls, assessments, similarity=max(similarities))
