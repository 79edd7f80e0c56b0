"""How well duplicates are told from pages of their own, on labelled pages.

*Drops* is the stream that a crawler sees, in the order of the file: a page is **wrongly dropped** when
no earlier page of its cluster was kept, and **missed** when it is kept although one was. *Pairs* counts
all pairs of pages that match, as if every page were filed.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.evaluation.counting import CountingStore
from dedupcrawl.evaluation.pairs import Pairs
from dedupcrawl.evaluation.readings import Shelf
from dedupcrawl.evaluation.report import Costs, DuplicatesReport, Mistake
from dedupcrawl.page.model import Page
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.evaluation.readings import Readings
    from dedupcrawl.evaluation.rows import Row
    from dedupcrawl.verdict import Verdict

_WARM_UP = 20  #: pages shown beforehand, so that the time to load tables and dictionaries is nobody's


def evaluate_duplicates(rows: Iterable[Row], config: Config | None = None) -> DuplicatesReport:
    """Read labelled pages and judge them by the detectors of ``config``."""
    config = config or Config()
    return judge_pages(Shelf(rows).read(config), config)


def judge_pages(
    readings: Readings, config: Config, advance: Callable[[], object] = lambda: None
) -> DuplicatesReport:
    """Send pages through a deduplicator with a store in memory, and compare all pairs.

    ``advance`` is called after each page.
    """
    count = max(len(readings.pages), 1)
    store, pairs = CountingStore(config), Pairs(config)
    with Deduplicator(store, config=config) as dedup:
        _warm_up(dedup, readings)
        report = DuplicatesReport(tuple(dedup.names))
        seconds, kept = 0.0, set[str]()
        for reading in readings.pages:
            start = time.process_time()
            verdict = dedup.add(reading.subject) if isinstance(reading.subject, Page) else reading.subject
            seconds += time.process_time() - start
            _count(report, reading.row, verdict, kept)
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


def _warm_up(dedup: Deduplicator, readings: Readings) -> None:
    pages = (each.subject for each in readings.pages if isinstance(each.subject, Page))
    for page in islice(pages, _WARM_UP):
        dedup.check(page)


def _count(report: DuplicatesReport, row: Row, verdict: Verdict, kept: set[str]) -> None:
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
