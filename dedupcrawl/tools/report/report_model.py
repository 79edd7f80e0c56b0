"""The data of a report (:class:`Report`), and the part of it that ledgers, batches and stores provide.

A verdict is also one sentence (:func:`verdict_sentence`). URLs, titles, texts and evidence come from crawled pages and
are not escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dedupcrawl.decision import UNCHECKED_REASONS, Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.matching import BY_URL, SIBLINGS
from dedupcrawl.page.signatures import EVIDENCE, OTHER, SAME
from dedupcrawl.sites.manual_versions import VERSIONS
from dedupcrawl.utils.formatting import similarity_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from dedupcrawl.decision import Verdict
    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.ledger.counters import FlowCount, Histogram, HostCount, RunCounts, SliceCount
    from dedupcrawl.ledger.ledger import ClusterCount
    from dedupcrawl.ledger.ledger_schema import RuleRow
    from dedupcrawl.sites.site_counts import SiteNotice

    PairKey = Hashable


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of the table of pages."""

    url: str
    title: str
    host: str
    time: float | None  #: Unix time; None: unknown
    bytes: int
    status: str
    outcome: str  #: "kept", "dropped", "released", or "open": its item was in progress when the run ended
    relation: str = ""
    of: str = ""
    cluster: str = ""
    similarity: float | None = None
    detector: str = ""
    reason: str = ""  #: why the page is unchecked
    why: str = ""  #: the verdict in one sentence, with evidence
    pair: int | None = None  #: index in ``Report.pairs`` of this page and its related page


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """Pages with the same content."""

    name: str
    size: int  #: pages, exact even if not all of them are listed
    hosts: int
    first: float | None  #: Unix time of its first page; None: unknown
    last: float | None
    title: str  #: of its first page with a title, or the URL of its first page
    pages: tuple[int, ...]  #: indexes in ``Report.pages``, by time


@dataclass(frozen=True, slots=True)
class Change:
    """A piece of two texts: equal in both, or the text that one has in place of the other."""

    old: str
    new: str

    @property
    def is_equal(self) -> bool:
        """Whether both texts have this piece."""
        return self.old == self.new


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages and their comparison."""

    new: str  #: URL
    old: str
    new_title: str
    old_title: str
    assessments: tuple[Assessment, ...]
    relation: str = ""  #: "" for a near miss
    decided: str = ""  #: detector that decided, "" for a near miss
    similarity: float | None = None  #: by that detector, or the highest one
    changes: tuple[Change, ...] = ()  #: pieces of the texts; () if a text is not stored
    is_cut: bool = False  #: whether a text is longer than the part that is compared
    siblings: str = ""  #: by what two siblings differ
    new_notes: tuple[str, ...] = ()  #: how the compared text of the new page differs from its main text
    old_notes: tuple[str, ...] = ()  #: the same of the earlier page
    position: str = ""  #: where the common part of both texts is; "" without texts


@dataclass(frozen=True, slots=True)
class Report:
    """The data of a report; ``dedupcrawl report --json`` writes it."""

    title: str  #: "Crawl of the spider news"
    kind: str  #: "crawl", "batch" or "store"
    version: str  #: of dedupcrawl
    made: float  #: Unix time of the report
    began: float | None  #: Unix time
    ended: float | None  #: Unix time; None: the run is in progress, or was killed
    figures: RunCounts
    sites: tuple[SiteNotice, ...] = ()  #: conspicuous sites, those with most such pages first
    settings: Mapping[str, str] = field(default_factory=dict)  #: settings that affect verdicts
    notes: tuple[str, ...] = ()  #: what is sampled, what is not stored, what failed
    rules: tuple[RuleRow, ...] = ()  #: by which requests were foreseen, the most useful first
    slices: tuple[SliceCount, ...] = ()
    hosts: tuple[HostCount, ...] = ()  #: most pages first
    flows: tuple[FlowCount, ...] = ()  #: most pages first
    detectors: Mapping[str, int] = field(default_factory=dict)  #: duplicates by the detector that decided
    histograms: tuple[Histogram, ...] = ()
    pages: tuple[PageRow, ...] = ()  #: all, or a sample; dropped pages first
    clusters: tuple[ClusterRow, ...] = ()  #: the largest
    pairs: tuple[Pair, ...] = ()
    misses: tuple[int, ...] = ()  #: indexes in ``pairs`` of near misses, highest similarity first


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that a source can list."""

    row: PageRow  #: without ``pair``
    rank: int  #: hash of its cluster; if there are too many pages, those with the lowest ranks are shown
    order: int  #: rises in the order of the verdicts
    pair: PairKey | None = None  #: key of the pair of this page and its related page


def row_from_verdict(
    verdict: Verdict, *, url: str, host: str, time: float | None, bytes: int, outcome: str, title: str = ""
) -> PageRow:
    """Return the row of a page with this verdict; ``time`` is a Unix time."""
    return PageRow(
        url=url,
        title=title,
        host=host,
        time=time,
        bytes=bytes,
        status=str(verdict.status),
        outcome=outcome,
        relation=str(verdict.relation or ""),
        of=verdict.of or "",
        cluster=verdict.cluster or "",
        similarity=verdict.similarity,
        detector=verdict.detector or "",
        reason=verdict.reason or "",
        why=verdict_sentence(verdict),
    )


@dataclass(frozen=True, slots=True)
class SourcePair:
    """Two pages that a source can compare; fields as in :class:`Pair`."""

    key: PairKey
    new: str
    old: str
    assessments: tuple[Assessment, ...]
    relation: str = ""
    decided: str = ""
    similarity: float | None = None
    new_title: str = ""
    old_title: str = ""
    new_text: str | None = None  #: main text; None: not stored
    old_text: str | None = None
    siblings: str = ""
    new_notes: tuple[str, ...] = ()
    old_notes: tuple[str, ...] = ()


def no_pairs(_: Sequence[PairKey]) -> Iterator[SourcePair]:
    """Yield no pairs."""
    return iter(())


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The data that a source provides for a report; totals are exact even if ``rows`` is a sample."""

    about: Mapping[str, Any]  #: title, kind, version, began, ended and settings of the report
    figures: RunCounts
    rows: Iterable[ListedPage]
    clusters: tuple[ClusterCount, ...] = ()  #: the largest, with at least two pages
    misses: tuple[PairKey, ...] = ()  #: highest similarity first
    #: yields the pairs with these keys, in their order, without unknown ones
    pairs: Callable[[Sequence[PairKey]], Iterable[SourcePair]] = no_pairs
    notes: tuple[str, ...] = ()
    #: returns conspicuous sites; called when ``rows`` were read
    sites: Callable[[], Sequence[SiteNotice]] = tuple
    rules: tuple[RuleRow, ...] = ()
    slices: tuple[SliceCount, ...] = ()
    hosts: tuple[HostCount, ...] = ()
    flows: tuple[FlowCount, ...] = ()
    detectors: Mapping[str, int] = field(default_factory=dict)
    histograms: tuple[Histogram, ...] = ()


# -- a verdict as one sentence -------------------------------------------------------------------

_RELATED = {
    Relation.IDENTICAL: "the same text as {of}",
    Relation.NEAR_DUPLICATE: "near-duplicate of {of}",
    Relation.UNCHANGED: "unchanged since {of} was seen before",
    Relation.UPDATED: "the text of {of} has changed",
    Relation.EXCERPT: "all of its text is in {of}",
    Relation.EXPANSION: "it contains {of}, and more",
    Relation.REFRESHED: "{of} again, with small changes",
    Relation.SIBLING: "a text like that of {of}, about something else",
}
#: Texts for counts in the evidence of detectors, by key.
_COUNTED = {
    "slots": "{} slots agree",
    "bits": "{} bits agree",
    "codes": "{} feature codes are shared",
    "common": "{} places of the feature code agree",
    "segments": "{} segments are equal",
    "super_shingles": "{} super-shingles are equal",
    "signatures": "{} signatures are equal",
    "spots": "{} spot signatures are shared",
    "differing": "{} features differ",
}
_LAYOUTS = {SAME: "the same layout", OTHER: "another layout"}
_CONTAINED = {
    Relation.EXCERPT: ("new_in_old", "{} % of its text is there"),
    Relation.EXPANSION: ("old_in_new", "it contains {} % of that page"),
}


def verdict_sentence(verdict: Verdict) -> str:
    """Return a sentence that explains a verdict: the related page, the similarity, the detector."""
    if verdict.status is Status.UNCHECKED:
        reason = UNCHECKED_REASONS.get(verdict.reason or "", verdict.reason or "no reason is known")
        return f"not judged: {reason}" + (f" ({verdict.of})" if verdict.of else "")
    if verdict.relation is None:
        return "no earlier page is similar"
    related = relation_text(verdict.relation, verdict.of)
    found = ", ".join(filter(None, (_measured(verdict), *_evidence(verdict))))
    superseded = "; it replaces that page" if verdict.supersedes else ""
    return (f"{related}: {found}" if found else related) + superseded


def relation_text(relation: Relation, of: str | None) -> str:
    """Return a relation as text; ``of`` is the URL of the earlier page, None if it has none."""
    return _RELATED[relation].format(of=of or "a page without a URL")


def siblings_text(verdict: Verdict) -> str:
    """Return by what the page and its sibling differ; "" without a sibling."""
    return str(verdict.evidence.get(SIBLINGS, "")) if verdict.relation is Relation.SIBLING else ""


def _measured(verdict: Verdict) -> str:
    if verdict.detector == BY_URL:
        return "" if verdict.relation is Relation.UNCHANGED else "only the URL is the same"
    if verdict.similarity is None or verdict.detector is None:
        return ""
    if verdict.relation is Relation.IDENTICAL:
        return f"by {verdict.detector}"
    return f"{similarity_text(verdict.similarity)} alike by {verdict.detector}"


def _evidence(verdict: Verdict) -> Iterator[str]:
    for name, value in verdict.evidence.items():
        if name in _COUNTED and isinstance(value, str):
            yield _COUNTED[name].format(value)
        elif name == EVIDENCE:
            yield _LAYOUTS.get(str(value), "")
        elif name == SIBLINGS:
            yield f"they differ by {value}"
        elif name == VERSIONS and isinstance(value, list) and len(value) == 2:
            yield f"versions {value[0]} and {value[1]} of one page"
        elif name == "lengths" and isinstance(value, list) and len(value) == 2:
            yield f"lengths {value[0]:,} and {value[1]:,}"
        elif isinstance(value, Mapping) and "similarity" in value:  # a member of a combined detector
            yield f"{name} {similarity_text(value['similarity'])}"
    contained = _CONTAINED.get(verdict.relation) if verdict.relation else None
    if contained is not None:
        name, text = contained
        share = verdict.evidence.get(name)
        if isinstance(share, int | float):
            yield text.format(int(share * 100 + 1e-9))
