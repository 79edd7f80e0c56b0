"""How well the duplicates among labelled pages are found, and what a page costs.

*Drops* are the verdicts on the stream of pages in the order of the file, as in a crawl: a page is **wrongly
dropped** if no earlier page of its cluster was kept, and **missed** if it is kept although an earlier one was. *Pairs*
are all pairs of pages that match, as if every page were stored.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from dedupcrawl.decision import Status
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.matching import Matcher
from dedupcrawl.page.model import Page
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import FILE_ANYWAY, KEY_BYTES, Record, url_key
from dedupcrawl.stores.lmdb import ID_BYTES
from dedupcrawl.stores.transactional import MemoryStore
from dedupcrawl.tools.evaluation.metrics import Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Verdict
    from dedupcrawl.stores.base import Offer
    from dedupcrawl.tools.evaluation.dataset import LabelledPage, ParsedCorpus

#: A key is stored in its record, and in the index with the id of the record.
BYTES_PER_KEY = KEY_BYTES + KEY_BYTES + ID_BYTES
_WARM_UP_PAGES = 20  #: checked before the measurement, so that tables and dictionaries are loaded


@dataclass(frozen=True, slots=True)
class MisjudgedPage:
    """A page that was wrongly dropped or missed."""

    row: LabelledPage
    verdict: Verdict
    kind: str  #: "wrongly dropped" or "missed"

    def to_dict(self) -> dict[str, object]:
        """Return the page, its label and its verdict as plain JSON values."""
        row = self.row
        named = {"id": row.id, "url": row.url, "cluster": row.cluster, "edit": row.edit}
        return {"mistake": self.kind, **named, "verdict": self.verdict.to_dict()}


@dataclass(frozen=True, slots=True)
class CostStats:
    """Average costs of a page (``docs/evaluation.md`` explains what is counted)."""

    reading_us_per_page: float  #: microseconds of processor time from HTML to page
    us_per_page: float  #: microseconds of processor time from page to verdict
    keys_per_page: float  #: of the pages with a fingerprint
    bytes_per_page: float  #: of the same pages: sketches, and the keys in record and index
    candidates_per_page: float  #: earlier records that the store returned

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values, rounded to one digit, or to three below 10."""
        return {name: round(value, 1 if value >= 10 else 3) for name, value in asdict(self).items()}


NO_COSTS = CostStats(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class DuplicatesReport:
    """The mistakes, scores and costs of one configuration."""

    detectors: tuple[str, ...]
    pages: int = 0
    unchecked: int = 0  #: pages that no detector could judge
    dropped: int = 0
    rightly_dropped: int = 0
    mistakes: list[MisjudgedPage] = field(default_factory=list)
    pairs: Scores = field(default_factory=lambda: Scores(0, 0, 0))
    by_edit: dict[str, Counter[str]] = field(default_factory=dict)
    costs: CostStats = NO_COSTS

    @property
    def wrongly_dropped(self) -> int:
        """Number of pages lost."""
        return sum(mistake.kind == "wrongly dropped" for mistake in self.mistakes)

    @property
    def missed(self) -> int:
        """Number of copies stored again."""
        return sum(mistake.kind == "missed" for mistake in self.mistakes)

    @property
    def drops(self) -> Scores:
        """The scores of the stream."""
        return Scores(self.rightly_dropped, self.wrongly_dropped, self.missed)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        drops = {"wrongly_dropped": self.wrongly_dropped, "missed": self.missed}
        pairs = {"wrong": self.pairs.false_positives, "missed": self.pairs.false_negatives}
        return {
            "detectors": list(self.detectors),
            "pages": self.pages,
            "unchecked": self.unchecked,
            "drops": self.drops.to_dict() | drops,
            "pairs": self.pairs.to_dict() | pairs,
            "by_edit": {edit: dict(counter) for edit, counter in sorted(self.by_edit.items())},
            **self.costs.to_dict(),
        }


def judge_pages(parsed: ParsedCorpus, config: Config, advance: Callable[[], object] = lambda: None) -> DuplicatesReport:
    """Judge the stream of pages with a store in memory, and compare all pairs.

    ``parsed`` are the pages as ``config`` reads them; ``advance`` is called after each page.
    """
    count = max(len(parsed.pages), 1)
    store, pairs = CountingStore(config), MatchedPairs(config)
    with Deduplicator(store, config=config) as dedup:
        readable = (each.result for each in parsed.pages if isinstance(each.result, Page))
        for page in islice(readable, _WARM_UP_PAGES):
            dedup.check(page)
        report = DuplicatesReport(tuple(dedup.names))
        seconds, kept = 0.0, set[str]()
        for each in parsed.pages:
            start = time.process_time()
            verdict = dedup.add(each.result) if isinstance(each.result, Page) else each.result
            seconds += time.process_time() - start
            _record_verdict(report, each.row, verdict, kept)
            pairs.add(each.row.cluster, store.pop_record())
            advance()
    report.pairs = pairs.scores
    report.costs = CostStats(
        reading_us_per_page=parsed.seconds / count * 1e6,
        us_per_page=seconds / count * 1e6,
        keys_per_page=pairs.keys / max(pairs.stored, 1),
        bytes_per_page=pairs.bytes / max(pairs.stored, 1),
        candidates_per_page=store.candidates / count,
    )
    return report


def _record_verdict(report: DuplicatesReport, row: LabelledPage, verdict: Verdict, kept: set[str]) -> None:
    """Add a verdict to the report; ``kept`` are the clusters with a kept page."""
    report.pages += 1
    report.unchecked += verdict.status is Status.UNCHECKED
    counter = report.by_edit.setdefault(row.edit, Counter(pages=0, dropped=0, wrongly_dropped=0, missed=0))
    counter["pages"] += 1
    has_earlier = row.cluster in kept
    if verdict.keep:
        kept.add(row.cluster)
    else:
        report.dropped += 1
        counter["dropped"] += 1
    if verdict.keep == (not has_earlier):
        report.rightly_dropped += has_earlier
        return
    kind = "missed" if verdict.keep else "wrongly dropped"
    report.mistakes.append(MisjudgedPage(row, verdict, kind))
    counter[kind.replace(" ", "_")] += 1


class CountingStore(MemoryStore):
    """A store in memory that counts the candidates it returns."""

    def __init__(self, config: Config) -> None:
        super().__init__("default", "{}", lease=config.lease, ttl=None, clock=time.time)
        self.candidates = 0
        self._offered: Record | None = None

    def offer(self, record: Record, since: int = 0) -> Offer:
        """Offer a record; count the candidates, and keep the record for :meth:`pop_record`."""
        return self._counted(record, super().offer(record, since))

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        """Add a record; count as in :meth:`offer`."""
        return self._counted(record, super().add(record, since, supersede))

    def _counted(self, record: Record, offer: Offer) -> Offer:
        self.candidates += len(offer.candidates)
        self._offered = record
        return offer

    def pop_record(self) -> Record | None:
        """Return the last record offered, once. A page that cannot be judged offers none."""
        record, self._offered = self._offered, None
        return record


class MatchedPairs:
    """All pairs of labelled pages that match, and those of them that a store would return.

    Every page is stored, whatever it matches, and is compared with the earlier pages that the store returns.
    A pair without a common key is missed, and so is one whose older page is behind ``BUCKET_CAP`` newer ones
    in each of their common buckets.
    """

    def __init__(self, config: Config) -> None:
        detectors = build_detectors(config)
        self._matcher = Matcher(detectors)
        self._sketches = len(detectors)
        self._store = open_store("memory://", namespace="pairs", scheme={})
        self._clusters: dict[int, str] = {}
        self._sizes: Counter[str] = Counter()
        self._right = self._found = 0
        self.keys = 0
        self.bytes = 0  #: of sketches and keys, without URL, time and the hash of the text

    def add(self, cluster: str, record: Record | None) -> None:
        """Compare a page with the earlier ones, and store it; without a record it matches nothing."""
        self._sizes[cluster] += 1
        if record is None:
            return
        record = _without_url(record)
        self.keys += len(record.keys)
        self.bytes += BYTES_PER_KEY * len(record.keys)
        self.bytes += sum(map(len, record.sketches[: self._sketches]))
        for other in self._matches(record):
            self._found += 1
            self._right += other == cluster
        filed = self._store.offer(record, since=FILE_ANYWAY).id
        if filed is not None:
            self._store.commit([filed])
            self._clusters[filed] = cluster

    def _matches(self, record: Record) -> list[str]:
        candidates = self._store.find(record.lookup_keys)
        findings = self._matcher.findings(record, candidates, versions=False)
        return [self._clusters[finding.candidate.id] for finding in findings if finding.is_duplicate]

    @property
    def scores(self) -> Scores:
        """The scores of all pairs so far."""
        all_pairs = sum(size * (size - 1) // 2 for size in self._sizes.values())
        return Scores(self._right, self._found - self._right, all_pairs - self._right)

    @property
    def stored(self) -> int:
        """Number of pages with a fingerprint."""
        return len(self._clusters)


def _without_url(record: Record) -> Record:
    """Return a record without its URL: two rows with the same URL are two pages."""
    own = url_key(record.url)
    keys, probes = (tuple(key for key in some if key != own) for some in (record.keys, record.lookup_keys))
    return replace(record, url="", keys=keys, probes=probes)
