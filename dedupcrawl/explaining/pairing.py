"""Which two pages are held against each other, and what that comes to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dedupcrawl.explaining.case import Case
from dedupcrawl.explaining.walking import likeness
from dedupcrawl.stores.base import FILE_ANYWAY, Candidate, ClaimState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.judging import Judge
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Record, Store
    from dedupcrawl.verdict import Verdict


class Why(StrEnum):
    """Why it is this pair."""

    ASKED = "you asked for it"
    DECIDES = "the verdict rests on it"
    LATER = "it came later, and relates to the page"
    MET = "of the pages that it met, this one is the nearest"
    NEAREST = "of all pages in the store, this one is the nearest"


@dataclass(frozen=True, slots=True)
class Side:
    """A page of a pair."""

    url: str
    record: Record
    id: int = FILE_ANYWAY  #: in the store; above all others where it is not there
    state: ClaimState | None = None  #: None: it is not in the store
    page: Page | None = None  #: None: only its record is known

    @classmethod
    def held(cls, candidate: Candidate) -> Side:
        """Take a page from the store."""
        return cls(candidate.record.url, candidate.record, candidate.id, candidate.state)

    def as_candidate(self) -> Candidate:
        """Return it as an earlier page that can be relied upon."""
        return Candidate(self.id, self.record, self.state or ClaimState.COMMITTED, mine=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """A new and an older page."""

    new: Side
    old: Side
    why: Why
    opinions: tuple[Opinion, ...]
    verdict: Verdict  #: on the new page
    case: Case  #: what that rests on
    shared: int  #: keys under which the new one looks and the old one is filed
    met: bool  #: whether a crawl compares them


@dataclass(frozen=True, slots=True)
class Pairing:
    """Puts pages side by side under one configuration."""

    config: Config
    store: Store
    judge: Judge  #: with the detectors of that configuration

    def of(self, subject: Side, met: Sequence[Candidate]) -> Pair | None:
        """Return the pair that explains a page best, of those that it met in the store."""
        earlier = tuple(each for each in met if each.id < subject.id)
        findings = Case(subject.url, subject.record, earlier).findings(self.config)
        settled = [finding for finding in findings if finding.settled] or findings
        if settled:
            return self._pair(subject, Side.held(settled[0].candidate), Why.DECIDES, earlier)
        later = [Side.held(each) for each in met if each.id > subject.id]
        related = (each for each in later if self._relates(each, subject))
        if found := next(related, None):
            return self._pair(found, subject, Why.LATER)
        near = max(met, key=lambda each: self.likeness(subject.record, each.record) or 0.0, default=None)
        return None if near is None else self.by_id(subject, Side.held(near), Why.MET)

    def by_id(self, one: Side, two: Side, why: Why) -> Pair:
        """Return a pair in the order in which its pages came; of two that are not filed ``one`` is new."""
        new, old = (one, two) if one.id >= two.id else (two, one)
        return self._pair(new, old, why)

    def likeness(self, new: Record, old: Record) -> float | None:
        """Return the highest similarity that a detector measures."""
        return likeness(self.judge.opinions(new, old))

    def _relates(self, new: Side, old: Side) -> bool:
        return bool(Case(new.url, new.record, (old.as_candidate(),)).findings(self.config))

    def _pair(self, new: Side, old: Side, why: Why, earlier: tuple[Candidate, ...] = ()) -> Pair:
        there = self.store.find(new.record.looks_under)
        met = any(each.id == old.id for each in there)
        if not earlier and met and why is not Why.ASKED:
            earlier = tuple(each for each in there if each.id < new.id)
        case = Case(new.url, new.record, earlier or (old.as_candidate(),))
        opinions = self.judge.opinions(new.record, old.record)
        shared = len({*new.record.looks_under} & {*old.record.keys})
        return Pair(new, old, why, opinions, case.verdict(self.config), case, shared, met)
