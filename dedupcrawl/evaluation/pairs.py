"""All pairs of labelled pages that match, and what a store would hold of them.

Every page is filed, whatever it matches, and meets the earlier ones through the store: a pair without a
common key is missed, and so is one whose older page stands behind ``BUCKET_CAP`` newer ones in each of
their common buckets.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.evaluation.scores import Scores
from dedupcrawl.judging import Judge
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import FILE_ANYWAY, KEY_BYTES, Record, url_key
from dedupcrawl.stores.lmdb_tables import ID_BYTES

if TYPE_CHECKING:
    from dedupcrawl.config import Config

#: A key stands in its record, and once more in the index beside the id of the record.
BYTES_PER_KEY = KEY_BYTES + KEY_BYTES + ID_BYTES


class Pairs:
    """Where every page stays, and meets those that come later."""

    def __init__(self, config: Config) -> None:
        detectors = build_detectors(config)
        self._judge = Judge(detectors)
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
        record = _anonymous(record)
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


def _anonymous(record: Record) -> Record:
    """Return a record without its URL: two rows of one URL are still two pages."""
    own = url_key(record.url)
    keys, probes = (tuple(key for key in some if key != own) for some in (record.keys, record.looks_under))
    return replace(record, url="", keys=keys, probes=probes)
