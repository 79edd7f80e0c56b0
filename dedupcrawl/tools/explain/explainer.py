"""From a page and a store to the explanation of its verdict.

What a reader of an explanation must know besides.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeGuard

from dedupcrawl.constants import constants_of
from dedupcrawl.decision import Matcher, cluster_of
from dedupcrawl.detectors.feature_codes import FeatureCode
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.detectors.spotsigs import SpotSigs
from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, Page
from dedupcrawl.stores.base import BUCKET_CAP, ClaimState
from dedupcrawl.text.features import Features
from dedupcrawl.tools.explain.case import (
    Case,
    ComparedPage,
    Pairing,
    Seen,
    Why,
    filed,
    under_keys,
    verdict_on,
    walked,
)
from dedupcrawl.tools.explain.counterfactuals import (
    CounterfactualSearch,
    files_otherwise,
    of_constants,
    of_constants_together,
    of_length,
    of_policy,
)
from dedupcrawl.tools.explain.explanation import Explanation
from dedupcrawl.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.stores.base import Candidate, Store
    from dedupcrawl.tools.explain.case import ComparedPair
    from dedupcrawl.tools.explain.configuration import Premises
    from dedupcrawl.tools.explain.counterfactuals import Counterfactual, SettingChange
    from dedupcrawl.tools.explain.explanation import Subject


#: Detectors that look under more keys than they file a page under.
_LOOK_FURTHER = frozenset({FeatureCode.name, SpotSigs.name})
REASONS = {
    "short": "its text is shorter than DEDUP_MIN_CHARS, or has too few letters: only the detector exact "
    "compares it, which is not in use",
    "empty": "no text was found on it",
    "index": "nothing is left on it but links that lead elsewhere",
    "no-fingerprint": "its text has too little of what the detectors in use compare",
    "claimed": "a page that it repeats was claimed by another worker, whose outcome did not come in time",
    "store": "the store could not be asked",
    "error": "the reader failed on it",
    BINARY: "it is binary data, whatever it says of itself",
    TOO_LARGE: "it is larger than what is read",
    TOO_DEEP: "its tags are nested so deep that no parser reads on",
    "status": "it came with a status other than 200",
    "not-html": "it is no HTML",
    "no-response": "it is an item that came of no response",
    "skip": "its request wished it to be left alone",
}


_PENDING = "The older page is claimed, not committed yet: a crawl waits for its outcome, and then decides."
_OTHERWISE = (
    "The run said otherwise at its time: what the store holds, a constant, or the text of the page is not "
    "what it was."
)


def remarks(
    premises: Premises, subject: Subject, verdict: Verdict, pair: ComparedPair | None, *, is_walked: bool
) -> tuple[str, ...]:
    """Return them in sentences; ``is_walked``: whether all records of the store were looked at."""
    found = [*premises.notes]
    if verdict.reason:
        found.append(f"It is unchecked, and kept: {REASONS.get(verdict.reason, verdict.reason)}.")
    elif pair is not None:
        found += _of_pair(premises, subject, pair)
    elif is_walked:
        found.append("It met no page, and no other in the store is like it by any detector in use.")
    else:
        found.append("It met no page; without --quick the nearest of all in the store is looked for.")
    then = subject.then.verdict if subject.then else verdict
    if _outcome(then) != _outcome(verdict) and not (_is_pending(pair) and then.of == pair.old.url):
        found.append(_OTHERWISE)
    return tuple(found)


def _is_pending(pair: ComparedPair | None) -> TypeGuard[ComparedPair]:
    return pair is not None and pair.old.state not in (None, ClaimState.COMMITTED)


def _of_pair(premises: Premises, subject: Subject, pair: ComparedPair) -> Iterator[str]:
    if not pair.shared:
        yield (
            "They never met: no key under which the new page looks leads to the older one, so that a crawl "
            "does not compare them. What follows is what it would say if it did."
        )
    elif not pair.met:
        yield (
            f"They never met, although they share keys: more than {BUCKET_CAP} pages stand under each of "
            "them, and the older one is not among the newest."
        )
    if subject.held is not None and pair.why is Why.NEAREST and _LOOK_FURTHER & set(_names(premises)):
        yield "The keys under which it looked are not stored, only those under which it was filed."
    if _is_pending(pair):
        yield _PENDING


def _names(premises: Premises) -> list[str]:
    return list(constants_of(premises.config))


def _outcome(verdict: Verdict) -> tuple[object, ...]:
    return verdict.status, verdict.keep, verdict.relation, verdict.of


_POLICY = frozenset({"drop", "keep", "min_chars"})  #: what no detector has


class Explainer:
    """Explains verdicts by what a store holds.

    Args:
        premises: the configuration.
        store: opened under it.
        tick: is told how many more records were looked at; None: only those under shared keys are.
    """

    def __init__(self, premises: Premises, store: Store, tick: Callable[[int], None] | None = None) -> None:
        self._premises = premises
        self._config: Config = premises.config
        self._store = store
        self._tick = tick
        self._judge = Matcher(build_detectors(self._config))
        self._pairing = Pairing(self._config, store, self._judge)

    def explain(self, subject: Subject, other: ComparedPage | None = None) -> Explanation:
        """Explain the verdict on a page; ``other`` is the one to hold it against, if it is given."""
        side = self.side(subject)
        if isinstance(side, Verdict):
            return self._of_unchecked(subject, side)
        met = tuple(each for each in self._store.find(side.record.lookup_keys) if each.id != side.id)
        earlier = tuple(each for each in met if each.id < side.id)
        verdict = Case(side.url, side.record, earlier).verdict(self._config)
        pair = self._pairing.by_id(side, other, Why.ASKED) if other else self._pairing.of(side, met)
        cluster = cluster_of(subject.held.record) if subject.held else verdict.cluster or ""
        start = (*met, *([subject.held] if subject.held else ()))
        seen = self._seen(cluster, start, side, near=pair is None)
        if pair is None and seen.near is not None:
            pair = self._pairing.by_id(side, ComparedPage.held(seen.near), Why.NEAREST)
        base = self._base(subject, verdict, pair, self._judge.opinions(side.record, side.record))
        return replace(base, record=side.record, met=len(met), cluster=cluster, seen=seen)

    def side(self, subject: Subject) -> ComparedPage | Verdict:
        """Return what is to be compared, or why it cannot be."""
        if isinstance(subject.page, Verdict):
            return subject.page
        if subject.page is None:
            assert subject.held is not None
            return ComparedPage.held(subject.held)
        case = filed(subject.page, self._config, self._store)
        return ComparedPage(case.url, case.record, page=subject.page) if isinstance(case, Case) else case

    def _base(
        self, subject: Subject, verdict: Verdict, pair: ComparedPair | None, own: Sequence[Opinion]
    ) -> Explanation:
        """Say what can be said of any page; ``own`` is what the detectors say of it held against itself."""
        page = None if isinstance(subject.page, Verdict) else subject.page
        levers, together = self._levers(pair, verdict, page)
        return Explanation(
            url=subject.url,
            origin=subject.origin,
            verdict=verdict,
            held=subject.held,
            length=_length(own),
            silent=tuple(each.detector for each in own if each.silent),
            pair=pair,
            levers=tuple(levers),
            together=tuple(together),
            premises=self._premises.listed(own),
            remarks=remarks(self._premises, subject, verdict, pair, is_walked=self._tick is not None),
            then=subject.then,
        )

    def _of_unchecked(self, subject: Subject, verdict: Verdict) -> Explanation:
        base = self._base(subject, verdict, None, ())
        read = subject.page if isinstance(subject.page, Page) else None
        length = self._features(read).length if read else None
        return replace(base, length=length, silent=tuple(each.name for each in self._judge.detectors))

    def _seen(self, cluster: str, start: Iterable[Candidate], side: ComparedPage, *, near: bool) -> Seen:
        """Look for the cluster and, where no page was met, for the one that is most like this."""
        if self._tick is None:
            return under_keys(self._store, cluster, start)

        def measure(each: Candidate) -> float | None:
            return None if each.id == side.id else self._pairing.likeness(side.record, each.record)

        return walked(self._store, cluster, start, self._tick, measure if near else None)

    # -- which setting would change it --------------------------------------------------------

    def _levers(
        self, pair: ComparedPair | None, verdict: Verdict, page: Page | None
    ) -> tuple[list[Counterfactual], list[Counterfactual]]:
        """Return single constants that change the verdict on the new page of a pair, and several at once."""
        if pair is not None:
            verdict, page = pair.verdict, pair.new.page
        opinions = pair.opinions if pair else ()
        bench = CounterfactualSearch(
            self._config,
            verdict,
            lambda config: self._again(config, pair, page),
            lambda config: pair is None or not pair.met or not pair.case.may_part(config),
        )
        of_text = self._of_length(page) if page else ()
        singles = bench.levers(
            chain(of_constants(self._config, opinions), of_policy(self._config, verdict), of_text)
        )
        turn = [lever for lever in singles if _turns(lever, verdict) and lever.changes[0].name not in _POLICY]
        several = [] if turn else bench.levers(of_constants_together(self._config, opinions))
        return singles, [lever for lever in several if _turns(lever, verdict)]

    def _of_length(self, page: Page) -> Iterable[tuple[SettingChange, ...]]:
        features = self._features(page)
        return of_length(self._config, features.length, features.letters)

    def _again(self, config: Config, pair: ComparedPair | None, page: Page | None) -> Verdict:
        """Judge again under another configuration; what is too short depends on it, and needs the page."""
        if page is not None and (pair is None or config.min_chars != self._config.min_chars):
            if pair is None:
                return verdict_on(page, config, self._store)
            case = filed(page, config, self._store)
            return case if isinstance(case, Verdict) else case.beside(pair.case.earlier).verdict(config)
        assert pair is not None
        if pair.met and files_otherwise(config, self._config):
            return pair.case.refiled(config).verdict(config)
        return pair.case.verdict(config)

    def _features(self, page: Page) -> Features:
        return Features(page, self._config.fold_chinese)


def _turns(lever: Counterfactual, verdict: Verdict) -> bool:
    """Whether what was a duplicate is none any more, or the other way round."""
    return lever.verdict.is_duplicate != verdict.is_duplicate


def _length(opinions: Iterable[Opinion]) -> int | None:
    """Return the length of a text, from what a detector says of a page held against itself."""
    for opinion in opinions:
        lengths = opinion.figures.get("lengths")
        if isinstance(lengths, list):
            return int(lengths[0])
    return None
