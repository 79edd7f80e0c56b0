"""The explainer: explains the verdict on a page by the records of a store. An explanation has plain values only."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeGuard

from dedupcrawl.config import constants_of
from dedupcrawl.decision import UNCHECKED_REASONS, Verdict, cluster_of
from dedupcrawl.detectors.base import COPIES, Relation
from dedupcrawl.detectors.feature_codes import FeatureCode
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.detectors.spotsigs import SpotSigs
from dedupcrawl.matching import DOUBTS, OTHER_SITES, Matcher
from dedupcrawl.page.model import Page
from dedupcrawl.page.signatures import compare_layouts
from dedupcrawl.sites.manual_versions import VERSIONS, versions_of_page
from dedupcrawl.sites.text_notes import text_notes
from dedupcrawl.stores.base import BUCKET_CAP, ClaimState
from dedupcrawl.text.features import Features
from dedupcrawl.tools.explain.counterfactuals import (
    CounterfactualBuilder,
    constant_changes,
    joint_constant_changes,
    length_changes,
    policy_changes,
    schemes_differ,
)
from dedupcrawl.tools.explain.pair_builder import (
    ClusterScan,
    ComparedPage,
    JudgedPage,
    PairBuilder,
    PairKind,
    judge_page,
    judged_page,
    scan_keys,
    scan_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Assessment, Evidence
    from dedupcrawl.sites.manual_versions import VersionPair
    from dedupcrawl.stores.base import Candidate, Record, Store
    from dedupcrawl.tools.explain.configuration import ConstantEntry, EffectiveConfig
    from dedupcrawl.tools.explain.counterfactuals import CounterfactualChange
    from dedupcrawl.tools.explain.pair_builder import ComparedPair


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A page of a cluster, as listed in a run."""

    url: str
    outcome: str
    time: float  #: Unix time


@dataclass(frozen=True, slots=True)
class PastVerdict:
    """The verdict of a run on the page."""

    verdict: Verdict
    outcome: str  #: "kept", "dropped", …
    time: float  #: Unix time
    cluster: tuple[ClusterPage, ...] = ()  #: the pages of the cluster in the run


@dataclass(frozen=True, slots=True)
class ExplainedPage:
    """The page to explain: read just now, or a record of the store."""

    url: str
    origin: str  #: where the page comes from, in words
    page: Page | Verdict | None = None  #: a verdict if the page was read and cannot be judged
    held: Candidate | None = None  #: its record in the store
    then: PastVerdict | None = None


@dataclass(frozen=True, slots=True)
class ExplanationReport:
    """Why a page has its verdict."""

    url: str
    origin: str  #: where the page comes from, in words
    verdict: Verdict  #: judged by the earlier pages that are in the store now
    held: Candidate | None  #: its record in the store
    length: int | None  #: characters of the normalised text; None: unknown
    silent: tuple[str, ...]  #: detectors that have no fingerprint of it
    pair: ComparedPair | None
    counterfactuals: tuple[
        CounterfactualChange, ...
    ]  #: single constants that change the verdict on the pair's new page
    together: tuple[CounterfactualChange, ...]  #: several constants at once, if no single one of a detector suffices
    constants: tuple[ConstantEntry, ...]
    remarks: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()  #: rules of its site that change its URL, a sentence each
    then: PastVerdict | None = None
    record: Record | None = None  #: None: it has no fingerprint
    met: int = 0  #: records in the store that share a key with it
    cluster: str | None = None
    scan: ClusterScan = field(default_factory=lambda: ClusterScan(()))

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "url": self.url,
            "origin": self.origin,
            "verdict": self.verdict.to_dict(),
            "then": _then(self.then) if self.then else None,
            "record": None if self.record is None else self._record(self.record),
            "pair": None if self.pair is None else _pair(self.pair),
            "cluster": None if self.cluster is None else self._cluster(self.cluster),
            "levers": [each.as_dict() for each in self.counterfactuals],
            "together": [each.as_dict() for each in self.together],
            "premises": [each.as_dict() for each in self.constants],
            "remarks": list(self.remarks),
            "rules": list(self.rules),
        }

    def _record(self, record: Record) -> dict[str, Any]:
        return {
            "seen": iso_time(record.seen),
            "in_store": self.held is not None,
            "state": state_name(self.held.state if self.held else None),
            "keys": [key.hex() for key in record.keys],
            "length": self.length,
            "silent": list(self.silent),
            "met": self.met,
        }

    def _cluster(self, name: str) -> dict[str, Any]:
        pages = [
            {
                "url": each.record.url,
                "seen": iso_time(each.record.seen),
                "state": state_name(each.state),
                "founder": cluster_of(each.record) == name and not each.record.cluster,
            }
            for each in self.scan.members
        ]
        return {"name": name, "pages": pages, "looked_through": self.scan.scanned}


def iso_time(time: float) -> str:
    """Return a Unix time in UTC.

    >>> iso_time(0)
    '1970-01-01 00:00:00+00:00'
    """
    return datetime.fromtimestamp(time, UTC).isoformat(" ", "seconds")


def state_name(state: ClaimState | None) -> str:
    """Return the state of a record in lower case; "" for a page that is not in the store."""
    return "" if state is None else state.name.lower()


def assessment_as_dict(assessment: Assessment) -> dict[str, Any]:
    """Return plain JSON values."""
    match = assessment.match
    return {
        "detector": assessment.detector,
        "relation": None if match is None else str(match.relation),
        "similarity": assessment.similarity,
        "silent": assessment.silent or None,
        "thresholds": [{**asdict(threshold), "is_met": threshold.is_met} for threshold in assessment.thresholds],
        "part_thresholds": [
            {**asdict(threshold), "is_met": threshold.is_met} for threshold in assessment.part_thresholds
        ],
        "figures": dict(assessment.figures),
        "evidence": [_evidence(piece) for piece in assessment.evidence],
    }


def _evidence(piece: Evidence) -> dict[str, Any]:
    values = asdict(piece)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _pair(pair: ComparedPair) -> dict[str, Any]:
    return {
        "new": _side(pair.new),
        "old": _side(pair.old),
        "why": str(pair.why),
        "shared_keys": pair.shared,
        "met": pair.met,
        "layout": compare_layouts(pair.new.record.identity, pair.old.record.identity),
        "position": pair.position,
        "verdict": pair.verdict.to_dict(),
        "assessments": [assessment_as_dict(assessment) for assessment in pair.assessments],
        "identities": None if pair.identities is None else pair.identities.as_dict(),
    }


def _side(side: ComparedPage) -> dict[str, Any]:
    return {"url": side.url, "seen": iso_time(side.record.seen), "state": state_name(side.state) or None}


def _then(then: PastVerdict) -> dict[str, Any]:
    return {
        "verdict": then.verdict.to_dict(),
        "outcome": then.outcome,
        "time": iso_time(then.time),
        "cluster": [{**asdict(each), "time": iso_time(each.time)} for each in then.cluster],
    }


#: Detectors that look under more keys than they file a page under.
_LOOK_FURTHER = frozenset({FeatureCode.name, SpotSigs.name})
_POLICY = frozenset({"drop", "keep", "min_chars", "versions"})  #: constants that belong to no detector
_PENDING = "The older page is claimed, not committed yet: a crawl waits until the claim is settled, and then decides."
_OTHERWISE = "The run had another verdict: since then the store, a constant, or the text of the page has changed."


class ExplanationBuilder:
    """Explains verdicts by the records of a store.

    Args:
        effective: the configuration to judge under.
        store: a store opened under it.
        advance: progress callback, called with the number of records read since the last call; None: read
            only the records under shared keys.
    """

    def __init__(self, effective: EffectiveConfig, store: Store, advance: Callable[[int], None] | None = None) -> None:
        self._effective = effective
        self._config: Config = effective.config
        self._store = store
        self._advance = advance
        self._matcher = Matcher(build_detectors(self._config), self._config.scope, self._config.versions)
        self._pairs = PairBuilder(self._config, store, self._matcher)

    def explain(self, subject: ExplainedPage, other: ComparedPage | None = None) -> ExplanationReport:
        """Explain the verdict on a page; ``other``: compare it with this page, not with the best one."""
        side = self._side(subject)
        if isinstance(side, Verdict):
            return self._explain_unchecked(subject, side)
        met = tuple(each for each in self._store.find(side.record.lookup_keys) if each.id != side.id)
        earlier = tuple(each for each in met if each.id < side.id)
        verdict = JudgedPage(side.url, side.record, earlier).verdict(self._config)
        if other:
            pair: ComparedPair | None = self._pairs.in_order(side, other, PairKind.ASKED)
        else:
            pair = self._pairs.select(side, met)
        cluster = cluster_of(subject.held.record) if subject.held else verdict.cluster or ""
        start = (*met, *([subject.held] if subject.held else ()))
        scan = self._scan(cluster, start, side, nearest=pair is None)
        if pair is None and scan.nearest is not None:
            old = ComparedPage.from_candidate(scan.nearest)
            pair = self._pairs.in_order(side, old, PairKind.NEAREST)
        base = self._base(subject, verdict, pair, self._matcher.assessments(side.record, side.record))
        return replace(base, record=side.record, met=len(met), cluster=cluster, scan=scan)

    def _side(self, subject: ExplainedPage) -> ComparedPage | Verdict:
        """Return the page to compare, or the verdict on a page that cannot be compared."""
        if isinstance(subject.page, Verdict):
            return subject.page
        if subject.page is None:
            assert subject.held is not None
            return ComparedPage.from_candidate(subject.held)
        judged = judged_page(subject.page, self._config, self._store)
        return ComparedPage(judged.url, judged.record, page=subject.page) if isinstance(judged, JudgedPage) else judged

    def _base(
        self, subject: ExplainedPage, verdict: Verdict, pair: ComparedPair | None, own: Sequence[Assessment]
    ) -> ExplanationReport:
        """Explain any page; ``own`` are the assessments of the detectors on the page compared with itself."""
        page = None if isinstance(subject.page, Verdict) else subject.page
        counterfactuals, together = self._counterfactuals(pair, verdict, page)
        remarks = _remarks(self._effective, subject, verdict, pair, is_scanned=self._advance is not None)
        return ExplanationReport(
            url=subject.url,
            origin=subject.origin,
            verdict=verdict,
            held=subject.held,
            length=_length(own),
            silent=tuple(each.detector for each in own if each.silent),
            pair=pair,
            counterfactuals=tuple(counterfactuals),
            together=tuple(together),
            constants=self._effective.listed(own),
            remarks=(*self._text_notes(page), *remarks),
            then=subject.then,
        )

    def _text_notes(self, page: Page | None) -> Iterable[str]:
        return text_notes(page, self._store if self._config.site_memory else None) if page else ()

    def _explain_unchecked(self, subject: ExplainedPage, verdict: Verdict) -> ExplanationReport:
        base = self._base(subject, verdict, None, ())
        length = self._features(subject.page).length if isinstance(subject.page, Page) else None
        return replace(base, length=length, silent=tuple(each.name for each in self._matcher.detectors))

    def _scan(self, cluster: str, start: Iterable[Candidate], side: ComparedPage, *, nearest: bool) -> ClusterScan:
        if self._advance is None:
            return scan_keys(self._store, cluster, start)

        def measure(each: Candidate) -> float | None:
            return None if each.id == side.id else self._pairs.similarity(side.record, each.record)

        return scan_store(self._store, cluster, start, self._advance, measure if nearest else None)

    def _counterfactuals(
        self, pair: ComparedPair | None, verdict: Verdict, page: Page | None
    ) -> tuple[list[CounterfactualChange], list[CounterfactualChange]]:
        """Return the changes of one constant, then of several, that change the verdict on the new page."""
        if pair is not None:
            verdict, page = pair.verdict, pair.new.page
        assessments = pair.assessments if pair else ()
        search = CounterfactualBuilder(
            self._config,
            verdict,
            lambda config: self._judge_again(config, pair, page),
            lambda config: pair is None or not pair.met or not pair.judged.has_unknown_keys(config),
        ).search
        features = self._features(page) if page else None
        of_text = length_changes(self._config, features.length, features.letters) if features else ()
        singles = search(
            chain(constant_changes(self._config, assessments), policy_changes(self._config, verdict), of_text)
        )
        if any(_turns(each, verdict) and each.changes[0].name not in _POLICY for each in singles):
            return singles, []
        several = search(joint_constant_changes(self._config, assessments))
        return singles, [each for each in several if _turns(each, verdict)]

    def _judge_again(self, config: Config, pair: ComparedPair | None, page: Page | None) -> Verdict:
        """Judge under another configuration; whether a page is too short is decided on its text."""
        if page is not None and (pair is None or config.min_chars != self._config.min_chars):
            if pair is None:
                return judge_page(page, config, self._store)
            judged = judged_page(page, config, self._store)
            return judged if isinstance(judged, Verdict) else judged.with_earlier(pair.judged.earlier).verdict(config)
        assert pair is not None
        if pair.met and schemes_differ(config, self._config):
            return pair.judged.in_new_store(config).verdict(config)
        return pair.judged.verdict(config)

    def _features(self, page: Page) -> Features:
        return Features(page, self._config.fold_chinese)


def _turns(counterfactual: CounterfactualChange, verdict: Verdict) -> bool:
    return counterfactual.verdict.is_duplicate != verdict.is_duplicate


def _length(assessments: Iterable[Assessment]) -> int | None:
    """Return the length of a text, from the assessments on the page compared with itself."""
    for assessment in assessments:
        lengths = assessment.figures.get("lengths")
        if isinstance(lengths, list):
            return int(lengths[0])
    return None


def _remarks(
    effective: EffectiveConfig, subject: ExplainedPage, verdict: Verdict, pair: ComparedPair | None, *, is_scanned: bool
) -> tuple[str, ...]:
    found = [*effective.notes]
    if verdict.reason:
        found.append(f"It is unchecked, and kept: {UNCHECKED_REASONS.get(verdict.reason, verdict.reason)}.")
    elif pair is not None:
        found += _pair_remarks(effective, subject, pair)
    elif is_scanned:
        found.append("No page shares a key with it, and no other page in the store is similar by any detector in use.")
    else:
        found.append("No page shares a key with it; without --quick the most similar page in the store is searched.")
    then = subject.then.verdict if subject.then else verdict
    if _outcome(then) != _outcome(verdict) and not (_is_pending(pair) and then.of == pair.old.url):
        found.append(_OTHERWISE)
    return tuple(found)


def _is_pending(pair: ComparedPair | None) -> TypeGuard[ComparedPair]:
    return pair is not None and pair.old.state not in (None, ClaimState.COMMITTED)


def _pair_remarks(effective: EffectiveConfig, subject: ExplainedPage, pair: ComparedPair) -> Iterator[str]:
    if not pair.shared:
        yield (
            "They were never compared: the new page looks up no key of the older one. The following is what a crawl "
            "would find if it compared them."
        )
    elif not pair.met:
        yield (
            f"They were never compared, although they share keys: each of these buckets has more than {BUCKET_CAP} "
            "pages, and the older one is not among the newest."
        )
    yield from _sibling_remarks(effective.config, pair)
    names = constants_of(effective.config)
    if subject.held is not None and pair.why is PairKind.NEAREST and not _LOOK_FURTHER.isdisjoint(names):
        yield "The store does not record the keys that it looked up, only those under which it was filed."
    if _is_pending(pair):
        yield _PENDING


def _sibling_remarks(config: Config, pair: ComparedPair) -> Iterator[str]:
    """Yield the verdict that equal names and values would give, and whether the scope hides a related page."""
    if pair.verdict.reason in DOUBTS:
        yield f"The new page would be unchecked, and kept: {UNCHECKED_REASONS[pair.verdict.reason]}."
    elif pair.verdict.relation is Relation.SIBLING:
        other = pair.without_identities.verdict(config)
        outcome = "kept" if other.keep else "dropped"
        relation = other.relation or other.status
        yield f"With equal names and values the new page would be {outcome}: {relation}, of {other.of}."
        versions = versions_of_page(pair.new.record, pair.old.record)
        if versions and other.relation in COPIES and not other.reason:
            yield f'They are versions {_both(versions)} of one page. With DEDUP_VERSIONS = "copies" they are copies.'
    elif VERSIONS in pair.verdict.evidence:
        versions = versions_of_page(pair.new.record, pair.old.record)
        yield f'They are versions {_both(versions)} of one page, and copies by DEDUP_VERSIONS = "copies".'
    elif config.scope == OTHER_SITES and pair.identities and pair.new.url != pair.old.url:
        yield f'Both are pages of one site, which DEDUP_SCOPE = "{OTHER_SITES}" does not compare.'


def _both(versions: VersionPair | None) -> str:
    return " and ".join(versions or ())


def _outcome(verdict: Verdict) -> tuple[object, ...]:
    return verdict.status, verdict.keep, verdict.relation, verdict.of
