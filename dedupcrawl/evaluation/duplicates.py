"""How well duplicates are told from pages of their own, on labelled pages.

*Drops* is the stream that a crawler sees, in the order of the file: a page is **wrongly dropped** when
no earlier page of its cluster was kept, and **missed** when it is kept although one was. *Pairs* counts
all pairs of pages that match, as if every page were filed.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.evaluation.scores import Scores
from dedupcrawl.page.model import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.evaluation.rows import Row
    from dedupcrawl.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Mistake:
    """A page that was wrongly dropped or missed."""

    row: Row
    verdict: Verdict
    kind: str  #: "wrongly dropped" or "missed"


@dataclass(slots=True)
class DuplicatesReport:
    """What came of a labelled file."""

    detectors: tuple[str, ...]
    pages: int = 0
    dropped: int = 0
    right: int = 0
    mistakes: list[Mistake] = field(default_factory=list)
    pairs: Scores = field(default_factory=lambda: Scores(0, 0, 0))
    by_edit: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def wrongly_dropped(self) -> int:
        """Pages lost: the worst that can happen."""
        return sum(mistake.kind == "wrongly dropped" for mistake in self.mistakes)

    @property
    def missed(self) -> int:
        """Copies stored again."""
        return sum(mistake.kind == "missed" for mistake in self.mistakes)

    @property
    def drops(self) -> Scores:
        """The scores of the stream."""
        return Scores(self.right, self.wrongly_dropped, self.missed)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        counts = {"wrongly_dropped": self.wrongly_dropped, "missed": self.missed}
        return {
            "detectors": list(self.detectors),
            "pages": self.pages,
            "drops": self.drops.to_dict() | counts,
            "pairs": self.pairs.to_dict(),
            "by_edit": {edit: dict(counter) for edit, counter in sorted(self.by_edit.items())},
            "us_per_page": round(self.seconds / max(self.pages, 1) * 1e6, 1),
        }


def evaluate_duplicates(rows: Iterable[Row], config: Config | None = None) -> DuplicatesReport:
    """Send labelled pages through a deduplicator with a memory store.

    ``us_per_page`` is the time from HTML to verdict, of the stream alone.
    """
    config = config or Config()
    pairs = _Pairs(config)
    with Deduplicator(config=config) as dedup:
        report = DuplicatesReport(tuple(dedup.names))
        kept: set[str] = set()
        for row in rows:
            start = time.perf_counter()
            page, verdict = _judged(dedup, row)
            report.seconds += time.perf_counter() - start
            _count(report, row, verdict, kept)
            if page is not None:
                pairs.add(row, page)
    report.pairs = pairs.scores()
    return report


def _judged(dedup: Deduplicator, row: Row) -> tuple[Page | None, Verdict]:
    page = dedup.read(html=row.html, text=None if row.html is not None else row.text, url=row.url)
    return (page, dedup.add(page)) if isinstance(page, Page) else (None, page)


def _count(report: DuplicatesReport, row: Row, verdict: Verdict, kept: set[str]) -> None:
    report.pages += 1
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


class _Pairs:
    """Files every page, so that all pairs meet."""

    def __init__(self, config: Config) -> None:
        self._dedup = Deduplicator(config=replace(config, drop=frozenset(), keep="first"))
        self._clusters: dict[str, str] = {}
        self._sizes: Counter[str] = Counter()
        self._right = 0
        self._found = 0

    def add(self, row: Row, page: Page) -> None:
        key = f"row:{len(self._clusters)}"  # two rows may have one URL, and are still two pages
        page = replace(page, url=key)
        for other in self._matches(page):
            self._found += 1
            self._right += self._clusters[other] == row.cluster
        self._clusters[key] = row.cluster
        self._sizes[row.cluster] += 1
        self._dedup.add(page)

    def _matches(self, page: Page) -> Iterator[str]:
        return (f.candidate.record.url for f in self._dedup.findings(page) if f.is_duplicate)

    def scores(self) -> Scores:
        all_pairs = sum(n * (n - 1) // 2 for n in self._sizes.values())
        return Scores(self._right, self._found - self._right, all_pairs - self._right)
