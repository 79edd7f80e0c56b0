"""A store that tells what passes through it.

All pairs of labelled pages that match, and what a store would hold of them.

Every page is filed, whatever it matches, and meets the earlier ones through the store: a pair without a
common key is missed, and so is one whose older page stands behind ``BUCKET_CAP`` newer ones in each of
their common buckets.

How well duplicates are told from pages of their own, on labelled pages.

*Drops* is the stream that a crawler sees, in the order of the file: a page is **wrongly dropped** when
no earlier page of its cluster was kept, and **missed** when it is kept although one was. *Pairs* counts
all pairs of pages that match, as if every page were filed.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from dedupcrawl.config import Config
from dedupcrawl.decision import Matcher
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.page.model import Page
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import FILE_ANYWAY, KEY_BYTES, Record, url_key
from dedupcrawl.stores.lmdb import ID_BYTES
from dedupcrawl.stores.memory import MemoryStore
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache
from dedupcrawl.tools.evaluation.metrics import Scores
from dedupcrawl.tools.evaluation.runs import Costs, DuplicatesReport, Mistake
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.stores.base import Offer
    from dedupcrawl.tools.evaluation.dataset import LabelledPage, ParsedPages
    from dedupcrawl.verdict import Verdict


class CountingStore(MemoryStore):
    """A store in memory that counts the earlier records its offers return; each of them is compared."""

    def __init__(self, config: Config) -> None:
        super().__init__("default", "{}", lease=config.lease, ttl=None, clock=time.time)
        self.candidates = 0
        self._offered: Record | None = None

    def offer(self, record: Record, since: int = 0) -> Offer:
        """File or find as any store; count what was found, and remember what was offered."""
        return self._counted(record, super().offer(record, since))

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        """Do the same where a record is filed for good."""
        return self._counted(record, super().add(record, since, supersede))

    def _counted(self, record: Record, offer: Offer) -> Offer:
        self.candidates += len(offer.candidates)
        self._offered = record
        return offer

    def take(self) -> Record | None:
        """Return the record offered last, once: a page that nobody can judge offers none."""
        record, self._offered = self._offered, None
        return record


#: A key stands in its record, and once more in the index beside the id of the record.
BYTES_PER_KEY = KEY_BYTES + KEY_BYTES + ID_BYTES


class MatchedPairs:
    """Where every page stays, and meets those that come later."""

    def __init__(self, config: Config) -> None:
        detectors = build_detectors(config)
        self._judge = Matcher(detectors)
        self._sketches = len(detectors)
        self._store = open_store("memory://", namespace="pairs", scheme={})
        self._clusters: dict[int, str] = {}
        self._sizes: Counter[str] = Counter()
        self._right = self._found = self._keys = self._bytes = 0

    def add(self, cluster: str, record: Record | None) -> None:
        """Compare a page with the earlier ones, and file it; without a record it matches nothing."""
        self._sizes[cluster] += 1
        if record is None:
            return
        record = _without_url(record)
        self._keys += len(record.keys)
        self._bytes += BYTES_PER_KEY * len(record.keys)
        self._bytes += sum(map(len, record.sketches[: self._sketches]))
        for other in self._matches(record):
            self._found += 1
            self._right += other == cluster
        filed = self._store.offer(record, since=FILE_ANYWAY).id
        if filed is not None:
            self._store.commit([filed])
            self._clusters[filed] = cluster

    def _matches(self, record: Record) -> list[str]:
        candidates = self._store.find(record.looks_under)
        findings = self._judge.findings(record, candidates, versions=False)
        return [self._clusters[finding.candidate.id] for finding in findings if finding.is_duplicate]

    @property
    def scores(self) -> Scores:
        """The scores of all pairs so far."""
        all_pairs = sum(size * (size - 1) // 2 for size in self._sizes.values())
        return Scores(self._right, self._found - self._right, all_pairs - self._right)

    @property
    def keys_per_page(self) -> float:
        """Keys of a page that got any."""
        return self._keys / max(len(self._clusters), 1)

    @property
    def bytes_per_page(self) -> float:
        """Sketches and keys of a page that got any; URL, time and the hash of the text are left out."""
        return self._bytes / max(len(self._clusters), 1)


def _without_url(record: Record) -> Record:
    """Return a record without its URL: two rows of one URL are still two pages."""
    own = url_key(record.url)
    keys, probes = (tuple(key for key in some if key != own) for some in (record.keys, record.looks_under))
    return replace(record, url="", keys=keys, probes=probes)


_WARM_UP_PAGES = 20  #: pages shown beforehand, so that the time to load tables and dictionaries is nobody's


def evaluate_duplicates(rows: Iterable[LabelledPage], config: Config | None = None) -> DuplicatesReport:
    """Read labelled pages and judge them by the detectors of ``config``."""
    config = config or Config()
    return judge_pages(ParsedPageCache(rows).read(config), config)


def judge_pages(
    readings: ParsedPages, config: Config, advance: Callable[[], object] = lambda: None
) -> DuplicatesReport:
    """Send pages through a deduplicator with a store in memory, and compare all pairs.

    ``advance`` is called after each page.
    """
    count = max(len(readings.pages), 1)
    store, pairs = CountingStore(config), MatchedPairs(config)
    with Deduplicator(store, config=config) as dedup:
        _warm_up(dedup, readings)
        report = DuplicatesReport(tuple(dedup.names))
        seconds, kept = 0.0, set[str]()
        for reading in readings.pages:
            start = time.process_time()
            verdict = dedup.add(reading.subject) if isinstance(reading.subject, Page) else reading.subject
            seconds += time.process_time() - start
            _record_verdict(report, reading.row, verdict, kept)
            pairs.add(reading.row.cluster, store.take())
            advance()
    report.pairs = pairs.scores
    report.costs = Costs(
        reading_us_per_page=readings.seconds / count * 1e6,
        us_per_page=seconds / count * 1e6,
        keys_per_page=pairs.keys_per_page,
        bytes_per_page=pairs.bytes_per_page,
        candidates_per_page=store.candidates / count,
    )
    return report


def _warm_up(dedup: Deduplicator, readings: ParsedPages) -> None:
    pages = (each.subject for each in readings.pages if isinstance(each.subject, Page))
    for page in islice(pages, _WARM_UP_PAGES):
        dedup.check(page)


def _record_verdict(report: DuplicatesReport, row: LabelledPage, verdict: Verdict, kept: set[str]) -> None:
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
        report.right += has_earlier
        return
    kind = "missed" if verdict.keep else "wrongly dropped"
    report.mistakes.append(Mistake(row, verdict, kind))
    counter[kind.replace(" ", "_")] += 1
