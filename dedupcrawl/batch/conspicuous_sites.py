"""The conspicuous sites of a corpus: those of which a crawl of the same pages would warn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.batch.fingerprint_table import to_text
from dedupcrawl.batch.solver import NONE, RELATIONS
from dedupcrawl.batch.verdicts import unchecked_reasons
from dedupcrawl.site_counts import MAX_LISTED_SITES, SiteCounts

if TYPE_CHECKING:
    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.solver import Solution
    from dedupcrawl.site_counts import SiteNotice

MAX_NOTICES = 100  #: sites that the summary lists


def find_conspicuous_sites(corpus: Corpus, solution: Solution) -> list[SiteNotice]:
    """Return the conspicuous sites of all judged rows, at most :data:`MAX_NOTICES`."""
    table, counts, start = corpus.table, SiteCounts(MAX_LISTED_SITES), 0
    reasons = unchecked_reasons(table, solution)
    for batch in table.batches:
        urls = batch.column("url").to_pylist()
        rows = slice(start, start + len(urls))
        verdicts = zip(urls, solution.relation[rows].tolist(), solution.of[rows].tolist(), strict=True)
        for row, (url, relation, of) in enumerate(verdicts, start):
            if row < corpus.prior:
                continue
            if relation == NONE:
                counts.add(to_text(url), reason=reasons.get(row))
            else:
                counts.add(to_text(url), RELATIONS[relation], table.url(of))
        start += len(urls)
    return counts.notices()[:MAX_NOTICES]
