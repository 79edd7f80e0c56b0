"""A page, and the earlier pages by which it is judged, under one configuration or another.

The pages of a store that belong to a cluster, and the one that is most like a page.

Which two pages are held against each other, and what that comes to.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from dedupcrawl.decision import Matcher, Policy, cluster_of, unchecked
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.fingerprinting import Fingerprinter, Uncheckable
from dedupcrawl.stores.base import FILE_ANYWAY, Candidate, ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Finding
    from dedupcrawl.detectors.base import Detector, Opinion
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Record, Store
    from dedupcrawl.verdict import Verdict

    Measure = Callable[[Candidate], float | None]


@dataclass(frozen=True, slots=True)
class Case:
    """What a verdict rests on."""

    url: str
    record: Record
    earlier: tuple[Candidate, ...]  #: the pages that it met, or is held against as if it had

    def findings(self, config: Config) -> list[Finding]:
        """Return the related pages, the most telling first."""
        judge = Matcher(build_detectors(config))
        return judge.findings(self.record, self.earlier, versions=True)

    def verdict(self, config: Config) -> Verdict:
        """Judge it under a configuration, as the crawl does."""
        policy = Policy(config.drop, config.keep)
        return policy.verdict(self.url, self.record, self.findings(config))

    def beside(self, others: Iterable[Candidate]) -> Case:
        """Return it with these among the earlier pages."""
        earlier = {each.id: each for each in (*self.earlier, *others)}
        return replace(self, earlier=tuple(each for _, each in sorted(earlier.items())))

    def refiled(self, config: Config) -> Case:
        """Return it as in a store that was filled under ``config``: other pages share a key there.

        Those of which that cannot be told from their sketches stay, see :meth:`may_part`.
        """
        detectors = build_detectors(config)
        meets = (each for each in self.earlier if _meet(detectors, self.record, each.record) is not False)
        return replace(self, earlier=tuple(meets))

    def may_part(self, config: Config) -> bool:
        """Whether an earlier page is among them of which nobody knows that it is met under ``config``."""
        detectors = build_detectors(config)
        return any(_meet(detectors, self.record, each.record) is None for each in self.earlier)


def _meet(detectors: Iterable[Detector], new: Record, old: Record) -> bool | None:
    """Say whether two pages share a key of these detectors; None: their sketches do not tell."""
    if new.url and new.url == old.url:
        return True
    told: list[bool | None] = []
    for detector, mine, other in zip(detectors, new.sketches, old.sketches, strict=False):
        if mine and other:
            keys, others = detector.keys_from_sketch(mine), detector.keys_from_sketch(other)
            told.append(None if keys is None or others is None else not {*keys}.isdisjoint(others))
    return True if True in told else None if None in told else False


def filed(page: Page, config: Config, store: Store) -> Case | Verdict:
    """Fingerprint a page under a configuration and look whom it meets, or say why it stays unchecked."""
    filer = Fingerprinter(
        build_detectors(config), config.min_chars, time.time, fold_chinese=config.fold_chinese
    )
    record = filer.file(page)
    if isinstance(record, Uncheckable):
        return unchecked(page.url, record.reason)
    return Case(page.url, record, store.find(record.lookup_keys))


def verdict_on(page: Page, config: Config, store: Store) -> Verdict:
    """Judge a page under a configuration by all that the store holds."""
    case = filed(page, config, store)
    return case.verdict(config) if isinstance(case, Case) else case


CHUNK = 256  #: records after which a bar moves


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, and how much was looked through for it."""

    members: tuple[Candidate, ...]  #: of the cluster, by rising id
    near: Candidate | None = None  #: the most similar page, where one was looked for
    walked: int | None = None  #: records of the store that were looked at; None: only those under shared keys


def under_keys(store: Store, cluster: str, start: Iterable[Candidate]) -> Seen:
    """Find the pages of a cluster that are linked by shared keys with these."""
    found: dict[int, Candidate] = {}
    waiting = [each for each in start if cluster_of(each.record) == cluster]
    while waiting:
        one = waiting.pop()
        if one.id in found:
            continue
        found[one.id] = one
        waiting += [each for each in store.find(one.record.keys) if cluster_of(each.record) == cluster]
    return Seen(_ordered(found))


def walked(
    store: Store,
    cluster: str,
    start: Iterable[Candidate],
    tick: Callable[[int], None],
    measure: Measure | None = None,
) -> Seen:
    """Find all pages of a cluster, and by ``measure`` the page nearest to one: look at every record.

    ``tick`` is told how many more were looked at.
    """
    found = {each.id: each for each in under_keys(store, cluster, start).members}
    near: Candidate | None = None
    best, count = 0.0, 0
    for count, each in enumerate(store.records(), 1):
        if cluster_of(each.record) == cluster:
            found[each.id] = each
        alike = measure(each) if measure else None
        if alike is not None and alike > best:
            near, best = each, alike
        if count % CHUNK == 0:
            tick(CHUNK)
    tick(count % CHUNK)
    return Seen(_ordered(found), near, count)


def likeness(opinions: Iterable[Opinion]) -> float | None:
    """Return the highest similarity that a detector measures; None: none does."""
    return max((each.similarity for each in opinions if each.similarity is not None), default=None)


def _ordered(found: dict[int, Candidate]) -> tuple[Candidate, ...]:
    return tuple(each for _, each in sorted(found.items()))


class Why(StrEnum):
    """Why it is this pair."""

    ASKED = "you asked for it"
    DECIDES = "the verdict rests on it"
    LATER = "it came later, and relates to the page"
    MET = "of the pages that it met, this one is the nearest"
    NEAREST = "of all pages in the store, this one is the nearest"


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """A page of a pair."""

    url: str
    record: Record
    id: int = FILE_ANYWAY  #: in the store; above all others where it is not there
    state: ClaimState | None = None  #: None: it is not in the store
    page: Page | None = None  #: None: only its record is known

    @classmethod
    def held(cls, candidate: Candidate) -> ComparedPage:
        """Take a page from the store."""
        return cls(candidate.record.url, candidate.record, candidate.id, candidate.state)

    def as_candidate(self) -> Candidate:
        """Return it as an earlier page that can be relied upon."""
        return Candidate(self.id, self.record, self.state or ClaimState.COMMITTED, mine=False)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A new and an older page."""

    new: ComparedPage
    old: ComparedPage
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
    judge: Matcher  #: with the detectors of that configuration

    def of(self, subject: ComparedPage, met: Sequence[Candidate]) -> ComparedPair | None:
        """Return the pair that explains a page best, of those that it met in the store."""
        earlier = tuple(each for each in met if each.id < subject.id)
        findings = Case(subject.url, subject.record, earlier).findings(self.config)
        settled = [finding for finding in findings if finding.settled] or findings
        if settled:
            return self._pair(subject, ComparedPage.held(settled[0].candidate), Why.DECIDES, earlier)
        later = [ComparedPage.held(each) for each in met if each.id > subject.id]
        related = (each for each in later if self._relates(each, subject))
        if found := next(related, None):
            return self._pair(found, subject, Why.LATER)
        near = max(met, key=lambda each: self.likeness(subject.record, each.record) or 0.0, default=None)
        return None if near is None else self.by_id(subject, ComparedPage.held(near), Why.MET)

    def by_id(self, one: ComparedPage, two: ComparedPage, why: Why) -> ComparedPair:
        """Return a pair in the order in which its pages came; of two that are not filed ``one`` is new."""
        new, old = (one, two) if one.id >= two.id else (two, one)
        return self._pair(new, old, why)

    def likeness(self, new: Record, old: Record) -> float | None:
        """Return the highest similarity that a detector measures."""
        return likeness(self.judge.opinions(new, old))

    def _relates(self, new: ComparedPage, old: ComparedPage) -> bool:
        return bool(Case(new.url, new.record, (old.as_candidate(),)).findings(self.config))

    def _pair(
        self, new: ComparedPage, old: ComparedPage, why: Why, earlier: tuple[Candidate, ...] = ()
    ) -> ComparedPair:
        there = self.store.find(new.record.lookup_keys)
        met = any(each.id == old.id for each in there)
        if not earlier and met and why is not Why.ASKED:
            earlier = tuple(each for each in there if each.id < new.id)
        case = Case(new.url, new.record, earlier or (old.as_candidate(),))
        opinions = self.judge.opinions(new.record, old.record)
        shared = len({*new.record.lookup_keys} & {*old.record.keys})
        return ComparedPair(new, old, why, opinions, case.verdict(self.config), case, shared, met)
