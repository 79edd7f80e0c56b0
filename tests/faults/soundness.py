"""Whether the detectors distinguish all stories of a web, in any order of the pages.

Else a story that is stored twice could be the fault of a detector, and not of the store.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl import Deduplicator
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import Candidate, ClaimState, Record
from dedupcrawl.text.features import Features
from tests.faults.web import documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.tools.demo.corpus import BundledCorpus


class Told(NamedTuple):
    """A page as the default detectors see it."""

    story: str
    record: Record
    shingles: frozenset[int]


@dataclass(frozen=True)
class Soundness:
    """The result for a web."""

    pages: int
    stories: int
    unfit: tuple[str, ...]  #: pages that cannot be judged at all
    apart: tuple[str, ...]  #: pairs of one story that are not found as duplicates
    mixed: tuple[str, ...]  #: pairs of two stories that are found as duplicates
    within: float  #: the highest exact Jaccard similarity of two stories of one town
    across: float  #: the same of two towns, of one page for each story

    @property
    def faults(self) -> tuple[str, ...]:
        """Everything that would make counts wrong."""
        return self.unfit + self.apart + self.mixed


def examine(towns: Sequence[BundledCorpus]) -> Soundness:
    """Read, fingerprint and compare all pages."""
    dedup = Deduplicator()
    unfit: list[str] = []
    webs = [_told(dedup, content, number, unfit) for number, content in enumerate(towns)]
    firsts = [list({page.story: page for page in reversed(web)}.values()) for web in webs]
    return Soundness(
        pages=sum(map(len, webs)),
        stories=sum(map(len, firsts)),
        unfit=tuple(unfit),
        apart=tuple(each for web in webs for each in _apart(dedup, web)),
        mixed=tuple(each for web in webs for each in _mixed(dedup, web)),
        within=max((_jaccard(a, b) for web in webs for a, b in _pairs(web)), default=0.0),
        across=max((_jaccard(a, b) for one, other in combinations(firsts, 2) for a in one for b in other), default=0.0),
    )


def _told(dedup: Deduplicator, content: BundledCorpus, number: int, unfit: list[str]) -> list[Told]:
    found = []
    for story, url, html in documents(content, number):
        page = dedup.read(html=html, url=url)
        record = dedup.fingerprint(page) if isinstance(page, Page) else page
        if isinstance(page, Page) and isinstance(record, Record):
            scheme = MinHash()
            shingles = Features(page).shingles(scheme.characters, scheme.words, scheme.seed)
            found.append(Told(story, record, frozenset(shingles.tolist())))
        else:
            unfit.append(f"{url} is {record}")
    return found


def _apart(dedup: Deduplicator, pages: Sequence[Told]) -> list[str]:
    stories = defaultdict(list)
    for page in pages:
        stories[page.story].append(page.record)
    return [
        f"{new.url} would not be dropped for {old.url}"
        for records in stories.values()
        for new, old in permutations(records, 2)
        if not _meet(new, old) or not _is_dropped(dedup, new, old)
    ]


def _mixed(dedup: Deduplicator, pages: Sequence[Told]) -> list[str]:
    return [
        f"{new.url} would be dropped for {old.url}"
        for a, b in _pairs(pages)
        for new, old in permutations((a.record, b.record))
        if _is_dropped(dedup, new, old)
    ]


def _pairs(pages: Sequence[Told]) -> Iterator[tuple[Told, Told]]:
    """Yield the pairs of pages with different stories."""
    return ((a, b) for a, b in combinations(pages, 2) if a.story != b.story)


def _meet(new: Record, old: Record) -> bool:
    return not set(new.lookup_keys).isdisjoint(old.keys)


def _is_dropped(dedup: Deduplicator, new: Record, old: Record) -> bool:
    found = dedup._matcher.findings(new, [Candidate(1, old, ClaimState.COMMITTED, mine=False)], versions=True)
    return not dedup._policy.verdict(new.url, new, found).keep


def _jaccard(a: Told, b: Told) -> float:
    common = len(a.shingles & b.shingles)
    return common / (len(a.shingles) + len(b.shingles) - common)
