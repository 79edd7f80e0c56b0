"""All labelled pages through one deduplicator. ``python -m tests.sites.labelled FOLDER…``.

Two pages are copies if their texts as written down by people are nearly equal. What is counted: pages that
were dropped although these texts are no copies, and copies that were kept; and how well each page is read.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

from dedupcrawl import Deduplicator
from dedupcrawl.page.model import Page
from dedupcrawl.tools.evaluation.extraction import load_pages, overlap, score, shingles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl import Verdict
    from dedupcrawl.tools.evaluation.extraction import ShingleOverlap

COPY = 0.8  #: Jaccard similarity of the written texts from which two pages should be one
NO_COPY = 0.6  #: and below which they may not: drops between the two bounds are neither right nor wrong
MIN_SHINGLES = 20  #: texts with fewer say too little
FIRST = 16  #: shingles that are looked up: of two copies, at least one of them is the same
LITTLE = 0.2  #: of its text: if less is read, a page is hardly read


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled page, the shingles of its written text, and what was decided."""

    name: str  #: folder and id
    kind: str  #: type of page; folder, if the set has no types
    reading: ShingleOverlap  #: the text that was read and the written one
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
    copies: int  #: pages that are copies of an earlier page
    missed: list[tuple[Judged, Judged, float]]  #: those that were kept
    readings: dict[str, list[ShingleOverlap]]  #: by type of page

    def f1(self, kind: str) -> float:
        """Return the F1 of the main text of the pages of a type."""
        return score(self.readings[kind])[0]

    def hardly_read(self, *kinds: str) -> int:
        """Return the number of pages with less than a fifth of their text read."""
        readings = [each for kind in kinds for each in self.readings[kind]]
        return sum(each.recall is not None and each.recall < LITTLE for each in readings)

    @property
    def wrong(self) -> list[tuple[Judged, Judged, float]]:
        """Drops of pages whose written texts are no copies."""
        return [drop for drop in self.dropped if drop[2] < NO_COPY]


def measure(folders: Iterable[Path], every: int = 1) -> Mistakes:
    """Judge every nth page of all folders in order, with default settings."""
    judged = []
    with Deduplicator() as dedup:
        for folder in folders:
            kinds = _kinds(folder)
            for row in load_pages(folder, lambda rows: rows[::every]):
                page = dedup.read(html=row.html, url=row.url)
                verdict = dedup.add(page) if isinstance(page, Page) else page
                reading = overlap(row.text, page.text if isinstance(page, Page) else "")
                of = frozenset(shingles(row.text))
                judged.append(Judged(f"{folder.name}/{row.id}", kinds[row.id], reading, of, verdict))
    return _mistakes(judged)


def _kinds(folder: Path) -> dict[str, str]:
    rows = map(json.loads, (folder / "truth.jsonl").read_bytes().splitlines())
    return {row["id"]: row.get("type", folder.name) for row in rows}


def _mistakes(judged: Sequence[Judged]) -> Mistakes:
    by_url = {page.verdict.url: page for page in reversed(judged)}
    dropped = []
    for page in judged:
        if not page.verdict.keep:
            earlier = by_url[page.verdict.of or ""]
            dropped.append((page, earlier, page.similarity(earlier)))
    copies = list(_copies(judged))
    readings: dict[str, list[ShingleOverlap]] = defaultdict(list)
    for page in judged:
        readings[page.kind].append(page.reading)
    return Mistakes(len(judged), dropped, len(copies), [copy for copy in copies if copy[0].verdict.keep], readings)


def _copies(judged: Sequence[Judged]) -> Iterator[tuple[Judged, Judged, float]]:
    """Yield each page with the most similar earlier one, where that is a copy.

    Pages are compared that share one of their first shingles in the order of their letters.
    """
    having: dict[tuple[str, ...], list[Judged]] = defaultdict(list)
    for page in judged:
        if len(page.shingles) < MIN_SHINGLES:
            continue
        first = nsmallest(FIRST, page.shingles)
        earlier = {other.name: other for shingle in first for other in having[shingle]}
        best = max(earlier.values(), key=page.similarity, default=None)
        if best is not None and page.similarity(best) >= COPY:
            yield page, best, page.similarity(best)
        for shingle in first:
            having[shingle].append(page)


def main(folders: Iterable[str]) -> Iterator[str]:
    """Yield the numbers, then a line for each drop and each missed copy."""
    found = measure([Path(folder) for folder in folders])
    yield (
        f"{found.pages} pages, {len(found.dropped)} dropped, {len(found.wrong)} of them wrongly; "
        f"{len(found.missed)} of {found.copies} copies missed"
    )
    for kind, readings in found.readings.items():
        yield f"{kind:<14} {len(readings):5,} pages, F1 {found.f1(kind):.4f}, hardly read {found.hardly_read(kind)}"
    for title, pairs in (("dropped", found.dropped), ("missed", found.missed)):
        for page, other, similarity in pairs:
            verdict = page.verdict
            said = verdict.relation or verdict.reason or verdict.status
            names = f"{page.name:<12} {other.name:<12} {similarity:.2f}"
            yield f"{title:<8} {names} {said} {verdict.url} {other.verdict.url}"


if __name__ == "__main__":
    for line in main(sys.argv[1:]):
        print(line, flush=True)
