"""The basis of a verdict: a page, its earlier pages, and the pair of pages that explains the verdict best."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupcrawl.decision import Policy, cluster_of, unchecked
from dedupcrawl.detectors.base import COPIES
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import DamageError
from dedupcrawl.fingerprinting import Fingerprinter, UncheckedPage
from dedupcrawl.identity.identity_codec import HEADING, MAIN, SAID, TITLE, VALUE_BITS, WEAK, unpack_identity
from dedupcrawl.identity.identity_sketch import folded_name
from dedupcrawl.identity.names import name_key, own_name
from dedupcrawl.identity.siblings import is_refresh
from dedupcrawl.identity.token_hashes import hash_of, keyed_bytes
from dedupcrawl.identity.values import MAX_TOKEN_BYTES, other_text, page_values
from dedupcrawl.matching import SIBLINGS, Matcher
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.sites.site_memory import SiteTracker
from dedupcrawl.stores.base import FILE_ANYWAY, Candidate, ClaimState
from dedupcrawl.text.features import Features, with_ascii_digits
from dedupcrawl.text.positions import ALL, common_position, outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Verdict
    from dedupcrawl.detectors.base import Assessment, Detector
    from dedupcrawl.identity.identity_codec import HashSample, Identity
    from dedupcrawl.matching import Finding
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Record, Store


PROGRESS_STEP = 256  #: records between two calls of a progress callback


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page and the earlier pages it is judged by."""

    url: str
    record: Record
    earlier: tuple[Candidate, ...]  #: the pages that it is compared with

    def findings(self, config: Config) -> list[Finding]:
        """Return the related pages, the strongest relation first."""
        matcher = Matcher(build_detectors(config), config.scope, config.versions)
        return matcher.findings(self.record, self.earlier, versions=True)

    def verdict(self, config: Config) -> Verdict:
        """Judge the page under a configuration, as a crawl does."""
        return Policy(config.drop, config.keep).verdict(self.url, self.record, self.findings(config))

    def with_earlier(self, others: Iterable[Candidate]) -> JudgedPage:
        """Return the page with more earlier pages."""
        earlier = {each.id: each for each in (*self.earlier, *others)}
        return replace(self, earlier=tuple(each for _, each in sorted(earlier.items())))

    def in_new_store(self, config: Config) -> JudgedPage:
        """Return the page as in a store filled under ``config``, where other pages share a key.

        Pages whose sketches do not give their keys stay (see :meth:`has_unknown_keys`).
        """
        pairs = zip(self.earlier, self._shared_keys(config), strict=True)
        return replace(self, earlier=tuple(each for each, shared in pairs if shared is not False))

    def has_unknown_keys(self, config: Config) -> bool:
        """Whether it is unknown for some earlier page if it shares a key with this one under ``config``."""
        return None in self._shared_keys(config)

    def _shared_keys(self, config: Config) -> list[bool | None]:
        detectors = build_detectors(config)
        return [_share_key(detectors, self.record, each.record) for each in self.earlier]


class PairKind(StrEnum):
    """Why a pair was selected."""

    ASKED = "you asked for it"
    DECIDES = "the verdict rests on it"
    LATER = "it came later, and relates to the page"
    MET = "the most similar of the pages that it was compared with"
    NEAREST = "the most similar of all pages in the store"


def _share_key(detectors: Iterable[Detector], new: Record, old: Record) -> bool | None:
    """Return whether two pages share a key of these detectors; None: their sketches do not give the keys."""
    if new.url and new.url == old.url:
        return True
    shared: list[bool | None] = []
    for detector, mine, other in zip(detectors, new.sketches, old.sketches, strict=False):
        if mine and other:
            keys, others = detector.keys_from_sketch(mine), detector.keys_from_sketch(other)
            shared.append(None if keys is None or others is None else not {*keys}.isdisjoint(others))
    return True if True in shared else None if None in shared else False


def judged_page(page: Page, config: Config, store: Store) -> JudgedPage | Verdict:
    """Fingerprint a page and look up its candidates; a page that cannot be checked gives a verdict.

    What its site repeats, as the store knows it, is not compared.
    """
    fingerprinter = Fingerprinter(
        build_detectors(config), config.min_chars, time.time, int(config.seed), fold_chinese=config.fold_chinese
    )
    view = SiteTracker(store, remote=False).view(page) if config.site_memory else None
    record = fingerprinter.fingerprint(page, view=view)
    if isinstance(record, UncheckedPage):
        return unchecked(page.url, record.reason)
    return JudgedPage(page.url, record, store.find(record.lookup_keys))


def judge_page(page: Page, config: Config, store: Store) -> Verdict:
    """Judge a page under a configuration by everything in the store."""
    judged = judged_page(page, config, store)
    return judged.verdict(config) if isinstance(judged, JudgedPage) else judged


@dataclass(frozen=True, slots=True)
class ClusterScan:
    """Result of a search for the pages of a cluster."""

    members: tuple[Candidate, ...]  #: of the cluster, by ascending id
    nearest: Candidate | None = None  #: the most similar page, if one was searched for
    scanned: int | None = None  #: records of the store that were read; None: only those under shared keys


def scan_keys(store: Store, cluster: str, start: Iterable[Candidate]) -> ClusterScan:
    """Find the pages of a cluster that are linked to ``start`` by shared keys."""
    found: dict[int, Candidate] = {}
    waiting = [each for each in start if cluster_of(each.record) == cluster]
    while waiting:
        one = waiting.pop()
        if one.id not in found:
            found[one.id] = one
            waiting += [each for each in store.find(one.record.keys) if cluster_of(each.record) == cluster]
    return ClusterScan(_by_id(found))


def scan_store(
    store: Store,
    cluster: str,
    start: Iterable[Candidate],
    advance: Callable[[int], None],
    measure: Callable[[Candidate], float | None] | None = None,
) -> ClusterScan:
    """Read every record of a store to find all pages of a cluster, and those linked to ``start`` by keys.

    ``advance`` is called with the number of records read since the last call. ``measure`` returns the
    similarity of a record to the page in question, 0…1; ``nearest`` is the record with the highest one.
    """
    found = {each.id: each for each in scan_keys(store, cluster, start).members}
    nearest: Candidate | None = None
    best, count = 0.0, 0
    for count, each in enumerate(store.records(), 1):
        if cluster_of(each.record) == cluster:
            found[each.id] = each
        similarity = measure(each) if measure else None
        if similarity is not None and similarity > best:
            nearest, best = each, similarity
        if count % PROGRESS_STEP == 0:
            advance(PROGRESS_STEP)
    advance(count % PROGRESS_STEP)
    return ClusterScan(_by_id(found), nearest, count)


def _by_id(found: dict[int, Candidate]) -> tuple[Candidate, ...]:
    return tuple(each for _, each in sorted(found.items()))


def max_similarity(assessments: Iterable[Assessment]) -> float | None:
    """Return the highest similarity that a detector measured; None: no detector measured one."""
    return max((each.similarity for each in assessments if each.similarity is not None), default=None)


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """One page of a pair."""

    url: str
    record: Record
    id: int = FILE_ANYWAY  #: id in the store; greater than all others if it is not stored
    state: ClaimState | None = None  #: None: it is not in the store
    page: Page | None = None  #: None: only its record is known

    @classmethod
    def from_candidate(cls, candidate: Candidate) -> ComparedPage:
        """Return a page of the store."""
        return cls(candidate.record.url, candidate.record, candidate.id, candidate.state)

    def as_candidate(self) -> Candidate:
        """Return it as an earlier page."""
        return Candidate(self.id, self.record, self.state or ClaimState.COMMITTED, mine=False)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A new and an older page, compared."""

    new: ComparedPage
    old: ComparedPage
    why: PairKind
    assessments: tuple[Assessment, ...]  #: one of each detector
    verdict: Verdict  #: on the new page
    judged: JudgedPage  #: the basis of the verdict
    shared: int  #: keys under which the old page is filed and the new one is looked up
    met: bool  #: whether a crawl compares them
    identities: IdentityComparison | None = None  #: names and values; None: pages of two sites

    @property
    def position(self) -> str:
        """Where the common part of both texts is, one of ``POSITIONS``; "" unless both texts are at hand."""
        texts = [each.page.text for each in (self.new, self.old) if each.page is not None]
        return common_position(*(outline(text, ALL) for text in texts)) if len(texts) == 2 else ""

    @property
    def without_identities(self) -> JudgedPage:
        """The judged page if the names and values of all pages agreed."""
        bare = tuple(replace(each, record=replace(each.record, identity=b"")) for each in self.judged.earlier)
        return replace(self.judged, earlier=bare)


@dataclass(frozen=True, slots=True)
class PairBuilder:
    """Selects and compares pairs of pages under one configuration."""

    config: Config
    store: Store
    matcher: Matcher  #: with the detectors of that configuration

    def select(self, subject: ComparedPage, met: Sequence[Candidate]) -> ComparedPair | None:
        """Return the pair that explains a page best, out of the pages that share a key with it (``met``)."""
        earlier = tuple(each for each in met if each.id < subject.id)
        findings = JudgedPage(subject.url, subject.record, earlier).findings(self.config)
        settled = [finding for finding in findings if finding.settled] or findings
        if settled:
            old = ComparedPage.from_candidate(settled[0].candidate)
            return self._pair(subject, old, PairKind.DECIDES, earlier)
        for each in met:
            later = ComparedPage.from_candidate(each)
            if each.id > subject.id and self._is_related(later, subject):
                return self._pair(later, subject, PairKind.LATER)
        near = max(met, key=lambda each: self.similarity(subject.record, each.record) or 0.0, default=None)
        return self.in_order(subject, ComparedPage.from_candidate(near), PairKind.MET) if near else None

    def in_order(self, one: ComparedPage, two: ComparedPage, why: PairKind) -> ComparedPair:
        """Compare two pages, the later one as the new one; if neither is stored, ``one`` is new."""
        new, old = (one, two) if one.id >= two.id else (two, one)
        return self._pair(new, old, why)

    def similarity(self, new: Record, old: Record) -> float | None:
        """Return the highest similarity that a detector measures."""
        return max_similarity(self.matcher.assessments(new, old))

    def _is_related(self, new: ComparedPage, old: ComparedPage) -> bool:
        return bool(JudgedPage(new.url, new.record, (old.as_candidate(),)).findings(self.config))

    def _pair(
        self, new: ComparedPage, old: ComparedPage, why: PairKind, earlier: tuple[Candidate, ...] = ()
    ) -> ComparedPair:
        candidates = self.store.find(new.record.lookup_keys)
        met = any(each.id == old.id for each in candidates)
        if not earlier and met and why is not PairKind.ASKED:
            earlier = tuple(each for each in candidates if each.id < new.id)
        judged = JudgedPage(new.url, new.record, earlier or (old.as_candidate(),))
        assessments = self.matcher.assessments(new.record, old.record)
        shared = len({*new.record.lookup_keys} & {*old.record.keys})
        decided = (each for each in judged.findings(self.config) if each.candidate.id == old.id and not each.doubt)
        siblings = next((str(each.match.evidence.get(SIBLINGS, "")) for each in decided), "")
        pages = (new.page, old.page)
        identities = compare_identities(new.record, old.record, pages, self.config, self.matcher, siblings=siblings)
        return ComparedPair(new, old, why, assessments, judged.verdict(self.config), judged, shared, met, identities)


# -- names and values of two pages --------------------------------------------------------------

UNKNOWN = "?"  #: in place of a name or value that is stored as a hash
#: Where a name stands, in the order in which it is listed; of "said" and "main" only the last.
_PLACES = ((HEADING, "heading"), (TITLE, "title"), (MAIN, "main text"))


@dataclass(frozen=True, slots=True)
class IdentityEntry:
    """A name or value of a page."""

    text: str  #: ``UNKNOWN`` if only its hash is stored
    is_own: bool  #: whether the other page certainly lacks it
    places: tuple[str, ...] = ()  #: of a name: where it stands


@dataclass(frozen=True, slots=True)
class IdentityTable:
    """The names and values of one page."""

    names: tuple[IdentityEntry, ...]
    values: tuple[IdentityEntry, ...]  #: in the main text
    beside: tuple[IdentityEntry, ...]  #: values beside it
    is_whole: bool  #: whether these are all names and values of the page

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "names": [_part(each) for each in self.names],
            "values": [_part(each) for each in self.values],
            "beside": [_part(each) for each in self.beside],
            "whole": self.is_whole,
        }


@dataclass(frozen=True, slots=True)
class IdentityComparison:
    """The names and values of a new and an older page of one site."""

    new: IdentityTable
    old: IdentityTable
    siblings: str  #: why they are siblings; "" if they are not
    is_refresh: bool  #: whether names and all values of the main texts are equal

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "new": self.new.as_dict(),
            "old": self.old.as_dict(),
            "siblings": self.siblings or None,
            "same": self.is_refresh,
        }


def compare_identities(
    new: Record, old: Record, pages: Iterable[Page | None], config: Config, matcher: Matcher, *, siblings: str = ""
) -> IdentityComparison | None:
    """Compare the identities of two pages.

    None if a page has no identity, or one that cannot be read, or if identities of two sites tell nothing apart.

    Args:
        new: the new page.
        old: the older page.
        pages: those of the two whose HTML has been read. A record has hashes only.
        config: the configuration of the store.
        matcher: that of the configuration.
        siblings: by what they differ, where other pages were compared too; "" if they do not, or nothing is known.
    """
    try:
        mine, other = unpack_identity(new.identity), unpack_identity(old.identity)
    except DamageError:
        return None
    if mine is None or other is None or not (new.url and old.url):
        return None
    found = [each.match.relation for each in matcher.assessments(new, old) if each.match is not None]
    are_copies = any(each in COPIES for each in found)
    if not siblings and new.url != old.url and not matcher.version_pair(new, old):
        siblings = matcher.why_siblings(new, old, by_sentences=are_copies)
    if not siblings and site_of(new.url) != site_of(old.url):
        return None
    labels = [label_identity(page, int(config.seed), fold_chinese=config.fold_chinese) for page in pages if page]
    names = {key: text for label in labels for key, text in label.names.items()}
    values = {key: text for label in labels for key, text in label.values.items()}
    return IdentityComparison(
        _side(mine, other, names, values),
        _side(other, mine, names, values),
        siblings,
        is_refresh(new.identity, old.identity),
    )


class SketchTexts(NamedTuple):
    """The texts behind the hashes of a sketch."""

    names: dict[int, str]
    values: dict[int, str]  #: of the main text and beside it


def label_identity(page: Page, seed: int, *, fold_chinese: bool = False) -> SketchTexts:
    """Return the texts of all names and values of a page, by their hashes in sketches under ``seed``."""
    heading, title = (own_name(folded_name(name, fold_chinese=fold_chinese)) for name in (page.heading, page.title))
    found = page_values(
        with_ascii_digits(Features(page, fold_chinese).encoded), with_ascii_digits(other_text(page).beside)
    )
    table = keyed_bytes(seed)
    return SketchTexts(
        {name_key(token[:MAX_TOKEN_BYTES], seed): token for token in heading | title},
        {
            hash_of(value, table) >> 32 - VALUE_BITS | WEAK * (not is_strong): value.decode("utf-8", "replace")
            for value, is_strong in (found.inner | found.outer).items()
        },
    )


def _side(own: Identity, other: Identity, names: Mapping[int, str], values: Mapping[int, str]) -> IdentityTable:
    return IdentityTable(
        _parts(own.names, other.names, names, with_places=True),
        _parts(own.inner, other.inner, values),
        _parts(own.outer, other.outer, values),
        own.names.is_whole and own.inner.is_whole and own.outer.is_whole,
    )


def _parts(
    own: HashSample, other: HashSample, texts: Mapping[int, str], *, with_places: bool = False
) -> tuple[IdentityEntry, ...]:
    lacking = {*own.lacking(other)[0]}
    return tuple(
        IdentityEntry(texts.get(key, UNKNOWN), key in lacking, _places(flags) if with_places else ())
        for key, flags in own.items.items()
    )


def _places(flags: int) -> tuple[str, ...]:
    places = [text for flag, text in _PLACES if flags & flag]
    beside = ["beside it"] if flags & SAID and not flags & MAIN else []
    return (*places, *beside)


def _part(part: IdentityEntry) -> dict[str, Any]:
    return {"text": part.text, "own": part.is_own, "places": [*part.places]}
