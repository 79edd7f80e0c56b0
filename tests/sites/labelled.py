"""All labelled pages through one deduplicator. ``python -m tests.sites.labelled FOLDER…``.

Two pages are copies if their texts as written down by people are nearly equal. What is counted: pages that
were dropped although these texts are no copies, and copies that were kept.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dedupcrawl import Deduplicator
from dedupcrawl.tools.evaluation.extraction import load_pages, shingles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl import Verdict

COPY = 0.8  #: Jaccard similarity of the written texts from which two pages should be one
NO_COPY = 0.6  #: and below which they may not: drops between the two bounds are neither right nor wrong
MIN_SHINGLES = 20  #: texts with fewer say too little


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled page, the shingles of its written text, and what was decided."""

    name: str  #: folder and id
    shingles: frozenset[tuple[str, ...]]
    verdict: Verdict

    def similarity(self, other: Judged) -> float:
        """Return the Jaccard similarity of the written texts."""
        common = len(self.shingles & other.shingles)
        return common / max(1, len(self.shingles) + len(other.shingles) - common)


@dataclass(frozen=True, slots=True)
class Mistakes:
    """What went wrong in a run over labelled pages."""

    pages: int
    dropped: list[tuple[Judged, Judged, float]]  #: all drops: page, the earlier page, similarity of the written texts
    copies: int  #: pages of which an earlier page is a copy
    missed: list[tuple[Judged, Judged, float]]  #: those that were kept

    @property
    def wrong(self) -> list[tuple[Judged, Judged, float]]:
        """Drops of pages whose written texts are no copies."""
        return [drop for drop in self.dropped if drop[2] < NO_COPY]


def measure(folders: Iterable[Path], every: int = 1) -> Mistakes:
    """Judge every nth page of all folders in order, with default settings."""
    judged = []
    with Deduplicator() as dedup:
        for folder in folders:
            for number, row in enumerate(load_pages(folder)):
                if number % every == 0:
                    verdict = dedup.add(html=row.html, url=row.url)
                    judged.append(Judged(f"{folder.name}/{row.id}", frozenset(shingles(row.text)), verdict))
    return _mistakes(judged)


def _mistakes(judged: Sequence[Judged]) -> Mistakes:
    by_url = {page.verdict.url: page for page in reversed(judged)}
    dropped = []
    for page in judged:
        if not page.verdict.keep:
            earlier = by_url[page.verdict.of or ""]
            dropped.append((page, earlier, page.similarity(earlier)))
    copies = list(_copies(judged))
    return Mistakes(len(judged), dropped, len(copies), [copy for copy in copies if copy[0].verdict.keep])


def _copies(judged: Sequence[Judged]) -> Iterator[tuple[Judged, Judged, float]]:
    """Yield each page with the most similar earlier one, where that is a copy."""
    having: dict[tuple[str, ...], list[Judged]] = defaultdict(list)
    for page in judged:
        if len(page.shingles) < MIN_SHINGLES:
            continue
        earlier = {other.name: other for shingle in page.shingles for other in having[shingle]}
        best = max(earlier.values(), key=page.similarity, default=None)
        if best is not None and page.similarity(best) >= COPY:
            yield page, best, page.similarity(best)
        for shingle in page.shingles:
            having[shingle].append(page)


def main(folders: Iterable[str]) -> Iterator[str]:
    """Yield the numbers, then a line for each drop and each missed copy."""
    found = measure([Path(folder) for folder in folders])
    yield (
        f"{found.pages} pages, {len(found.dropped)} dropped, {len(found.wrong)} of them wrongly; "
        f"{len(found.missed)} of {found.copies} copies missed"
    )
    for title, pairs in (("dropped", found.dropped), ("missed", found.missed)):
        for page, other, similarity in pairs:
            verdict = page.verdict
            said = verdict.relation or verdict.reason or verdict.status
            names = f"{page.name:<12} {other.name:<12} {similarity:.2f}"
            yield f"{title:<8} {names} {said} {verdict.url} {other.verdict.url}"


if __name__ == "__main__":
    for line in main(sys.argv[1:]):
        print(line, flush=True)
