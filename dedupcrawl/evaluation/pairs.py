"""All pairs of labelled pages that match, and what a store would hold of them.

Every page is filed, whatever it matches, and meets the earlier ones through the store: a pair without a
common key is missed, and so is one whose older page stands behind ``BUCKET_CAP`` newer ones in each of
their common buckets.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.evaluation.scores import Scores
from dedupcrawl.filing import Filer, Unfit
from dedupcrawl.judging import Judge
from dedupcrawl.page.model import Page
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import KEY_BYTES
from dedupcrawl.stores.lmdb_tables import ID_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.config import Config
    from dedupcrawl.evaluation.readings import Reading
    from dedupcrawl.stores.base import Record

#: A key stands in its record, and once more in the index beside the id of the record.
BYTES_PER_KEY = KEY_BYTES + KEY_BYTES + ID_BYTES
_LAST = 2**63 - 1  #: an id that no record has: offering "since" it files in any case


@dataclass(slots=True)
class PairsReport:
    """Pairs found, and the size of the records."""

    scores: Scores = field(default_factory=lambda: Scores(0, 0, 0))
    filed: int = 0
    keys: int = 0
    bytes: int = 0

    @property
    def keys_per_page(self) -> float:
        """Keys of a page that got any."""
        return self.keys / self.filed if self.filed else 0.0

    @property
    def bytes_per_page(self) -> float:
        """Sketches and keys of a page that got any; URL, time and text hash are left out."""
        return self.bytes / self.filed if self.filed else 0.0


def match_pairs(readings: Iterable[Reading], config: Config) -> PairsReport:
    """Compare every page with the earlier ones that the store finds."""
    hall = _Hall(config)
    for reading in readings:
        hall.admit(reading)
    return hall.report()


class _Hall:
    """Where every page stays and meets those that come later."""

    def __init__(self, config: Config) -> None:
        detectors = build_detectors(config)
        self._filer = Filer(detectors, config.min_chars, time.time, fold_chinese=config.fold_chinese)
        self._judge = Judge(detectors)
        self._sketches = len(detectors)
        self._store = open_store("memory://", namespace="pairs", scheme={})
        self._clusters: dict[int, str] = {}
        self._sizes: Counter[str] = Counter()
        self._right = self._found = 0
        self._report = PairsReport()

    def admit(self, reading: Reading) -> None:
        self._sizes[reading.row.cluster] += 1
        if not isinstance(reading.subject, Page):
            return
        # Without a URL two rows of one URL are still two pages, and all keys are those of detectors.
        record = self._filer.file(changed(reading.subject, url=""))
        if isinstance(record, Unfit):
            return
        self._measure(record)
        for cluster in self._matches(record):
            self._found += 1
            self._right += cluster == reading.row.cluster
        filed = self._store.offer(record, since=_LAST).id
        if filed is not None:
            self._store.commit([filed])
            self._clusters[filed] = reading.row.cluster

    def _matches(self, record: Record) -> list[str]:
        candidates = self._store.find(record.looks_under)
        findings = self._judge.findings(record, candidates, versions=False)
        return [self._clusters[finding.candidate.id] for finding in findings if finding.is_duplicate]

    def _measure(self, record: Record) -> None:
        self._report.filed += 1
        self._report.keys += len(record.keys)
        self._report.bytes += BYTES_PER_KEY * len(record.keys)
        self._report.bytes += sum(map(len, record.sketches[: self._sketches]))

    def report(self) -> PairsReport:
        self._store.close()
        all_pairs = sum(size * (size - 1) // 2 for size in self._sizes.values())
        scores = Scores(self._right, self._found - self._right, all_pairs - self._right)
        return changed(self._report, scores=scores)
