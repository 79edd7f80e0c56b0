"""Files pages in a store: offers their records, and decides by the earlier pages that the store returns.

A claim lasts as long as its lease. :class:`LeaseMonitor` notices that a lease may have ended: the process was stopped,
the machine slept, or renewals failed for too long.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import sub
from threading import Lock
from typing import TYPE_CHECKING

from dedupcrawl.decision import Claim, Pending
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import StoreError
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.stores.base import FILE_ANYWAY, ClaimState, FilingDecision, JudgedOffer, JudgedStore, Offer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dedupcrawl.decision import ClaimOwner, Decision, Policy
    from dedupcrawl.matching import Finding, MatchedPage, Matcher
    from dedupcrawl.stores.base import Candidate, Record


def is_certain(page: Record, finding: Finding) -> bool:
    """Return whether no third page can make a sibling of a page that was found to be a copy."""
    is_same_site = site_of(page.url) == site_of(finding.candidate.record.url)
    return is_same_site or finding.relation is not Relation.NEAR_DUPLICATE


@dataclass(slots=True, eq=False)
class RecordJudge:
    """Judges a page for a store that asks again whenever it has found more candidates."""

    matcher: Matcher  #: compares the page with its candidates
    policy: Policy  #: decides
    page: Record
    url: str  #: of the page, for the verdict
    versions: bool  #: as for :meth:`Matcher.findings`
    give_up: bool  #: as for :meth:`Policy.decide`
    record: Record = field(init=False)  #: the page; in the end as it is filed, with its cluster
    decision: Decision | Pending = field(init=False)  #: by the candidates of the last call
    _compared: MatchedPage | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.record = self.page

    def offer(self, *, committed: bool = False) -> JudgedOffer:
        """Return the offer of the page."""
        return JudgedOffer(self.record, self, committed, self.ignores if self.policy.ignores_siblings else None)

    def ignores(self, olds: Sequence[Record]) -> Sequence[bool]:
        """Return for each earlier page whether it is certainly no copy by its names; see :class:`JudgedOffer`."""
        count = len(self.page.sketches)
        if any(len(old.sketches) != count for old in olds):  # a damaged record: all are read again
            return [False] * len(olds)
        self._compared = self._compared or self.matcher.compared(self.page)
        return [*map(bool, self._compared.sibling_names(olds))]

    def __call__(self, candidates: Sequence[Candidate]) -> FilingDecision:
        """Judge the page by these candidates."""
        page = self.page
        is_brief = self.policy.ignores_siblings
        findings = self.matcher.findings(page, candidates, versions=self.versions, is_brief=is_brief)
        self.decision = decision = self.policy.decide(self.url, page, findings, give_up=self.give_up)
        if isinstance(decision, Pending):
            return FilingDecision(page, self.policy.blockers(findings))
        self.record = replace(page, cluster=decision.cluster) if decision.cluster else page
        if decision.verdict.keep:
            return FilingDecision(self.record)
        why = decision.because
        is_final = why is not None and self.policy.is_final(why) and is_certain(page, why)
        return FilingDecision(None, is_final=is_final)


class FilingClient:
    """Files pages for one owner, and knows which of its claims are open.

    Args:
        owner: the deduplicator, which has the store.
        matcher: compares a page with its candidates.
        policy: decides.
    """

    def __init__(self, owner: ClaimOwner, matcher: Matcher, policy: Policy) -> None:
        self._owner = owner
        self._matcher = matcher
        self._policy = policy
        self._held: set[int] = set()  # ids of own claims that were neither committed nor released

    def claim(self, record: Record, url: str, *, versions: bool, give_up: bool) -> Claim | Pending:
        """Check a page, and claim its content if it is to be kept. The arguments are those of :meth:`file`."""
        claim = self.file(record, url, versions=versions, give_up=give_up)
        if isinstance(claim, Claim) and claim.id is not None:
            self._held.add(claim.id)
        return claim

    def claim_judged(
        self, store: JudgedStore, pages: Sequence[tuple[Record, str]], commit: Sequence[Claim] = ()
    ) -> list[Claim | Pending]:
        """Claim pages together, and commit claims in the same round trips.

        When it raises, none of the pages is claimed, and the claims may not be committed.
        """
        self.commit(claim for claim in commit if claim.supersedes)
        held = self._held_among(commit)
        judges = [self._judge(record, url, versions=True, give_up=False) for record, url in pages]
        count, offers = store.commit_and_offer(held, [judge.offer() for judge in judges])
        judged = [self._judged(judge, offer) for judge, offer in zip(judges, offers, strict=True)]
        claims = [claim for claim in judged if isinstance(claim, Claim)]
        self._held.update(claim.id for claim in claims if claim.id is not None)
        try:
            self._committed(held, count)
        except BaseException:
            with suppress(StoreError):
                self.release(claims)
            raise
        return judged

    def commit(self, claims: Iterable[Claim]) -> None:
        """Make claims permanent; see :meth:`~dedupcrawl.Deduplicator.commit`."""
        held = self._held_among(claims)
        if held:
            supersede = [old for claim in held.values() for old in claim.supersedes]
            self._committed(held, self._owner.store.commit(held, supersede), supersede)

    def _held_among(self, claims: Iterable[Claim]) -> dict[int, Claim]:
        """Return by id those claims that are open."""
        return {claim.id: claim for claim in claims if claim.id is not None and claim.id in self._held}

    def _committed(self, held: Mapping[int, Claim], count: int, supersede: Iterable[int] = ()) -> None:
        """Handle a commit of these claims; the store has found ``count`` of them."""
        if count < len(held):
            self._refile(held.values())
        self._held.difference_update(held, supersede)

    def release(self, claims: Iterable[Claim]) -> None:
        """Withdraw claims."""
        ids = {claim.id for claim in claims if claim.id is not None}
        if ids:
            self._owner.store.release(ids)
            self._held.difference_update(ids)

    def file(
        self,
        record: Record,
        url: str,
        *,
        versions: bool = True,
        give_up: bool = False,
        committed: bool = False,
        is_stored: bool = False,
    ) -> Claim | Pending:
        """Check a page; if it is to be kept, file it as a claim or as committed.

        Args:
            record: the fingerprinted page.
            url: for the verdict.
            versions: whether another text under the same URL is a new version of it.
            give_up: whether to keep a page that repeats an open claim, instead of returning ``Pending``.
            committed: whether to file it as committed.
            is_stored: whether its item was stored before, if ``committed``: it replaces no page, since a later version
                may be filed by now.
        """
        if isinstance(self._owner.store, JudgedStore):
            judge = self._judge(record, url, versions=versions, give_up=give_up)
            return self._file_judged(self._owner.store, judge, committed=committed, is_stored=is_stored)
        seen: dict[int, Candidate] = {}
        is_brief = self._policy.ignores_siblings
        lost: int | None = None
        while True:
            findings = self._matcher.findings(record, seen.values(), versions=versions, is_brief=is_brief)
            decision = self._policy.decide(url, record, findings, give_up=give_up or lost is not None)
            if isinstance(decision, Pending):
                return decision
            if not decision.verdict.keep:
                if lost is not None:
                    self._owner.store.release([lost])
                return Claim(decision.verdict, self._owner, record=record, candidates=tuple(seen.values()))
            offered = replace(record, cluster=decision.cluster) if decision.cluster else record
            old = decision.supersedes if committed and not is_stored else ()
            since = max(seen, default=0)
            offer = self._offer(offered, since, lost, old, committed=committed, is_stored=is_stored)
            if offer.id is not None:
                candidates = tuple(seen.values())
                return Claim(decision.verdict, self._owner, offer.id, offered, decision.supersedes, candidates)
            lost = self._lost_claim(record, offer.candidates)
            earlier = (each for each in offer.candidates if lost is None or each.id < lost)
            seen.update((candidate.id, candidate) for candidate in earlier)

    def _judge(self, record: Record, url: str, *, versions: bool, give_up: bool) -> RecordJudge:
        return RecordJudge(self._matcher, self._policy, record, url, versions=versions, give_up=give_up)

    def _file_judged(
        self, store: JudgedStore, judge: RecordJudge, *, committed: bool, is_stored: bool
    ) -> Claim | Pending:
        """File a page in a store that asks for judgements; see :meth:`file`."""
        replaces = committed and not is_stored and self._policy.keep == "latest"
        (offer,) = store.offer_judged([judge.offer(committed=committed and not replaces)])
        claim = self._judged(judge, offer)
        if replaces and isinstance(claim, Claim) and claim.id is not None:
            self._commit_new(store, claim.id, claim.supersedes)
        return claim

    def _judged(self, judge: RecordJudge, offer: Offer) -> Claim | Pending:
        """Return the answer for a page that a store has judged."""
        decision, candidates = judge.decision, offer.candidates
        if isinstance(decision, Pending):
            return decision
        if offer.id is None:
            return Claim(decision.verdict, self._owner, record=judge.record, candidates=candidates)
        return Claim(decision.verdict, self._owner, offer.id, judge.record, decision.supersedes, candidates)

    def _commit_new(self, store: JudgedStore, id: int, supersedes: tuple[int, ...]) -> None:
        """Commit a claim that its caller does not know of yet; withdraw it if the store fails."""
        self._held.difference_update(supersedes)
        try:
            store.commit([id], supersedes)
        except BaseException:
            with suppress(StoreError):
                store.release([id])
            raise

    def _offer(
        self,
        record: Record,
        since: int,
        lost: int | None,
        supersede: tuple[int, ...],
        *,
        committed: bool,
        is_stored: bool,
    ) -> Offer:
        """File a record, or make its claim ``lost`` a committed one. The other arguments are those of :meth:`file`."""
        store = self._owner.store
        if not committed:
            return store.offer(record, since) if lost is None else Offer(lost)
        self._held.difference_update(supersede)
        if lost is not None and store.commit([lost], supersede):
            return Offer(lost)
        return (store.add_stored if is_stored else store.add)(record, since, supersede)

    def _lost_claim(self, record: Record, candidates: Iterable[Candidate]) -> int | None:
        """Return the id of the claim that filed exactly this record, by an offer with a lost reply.

        The time of fingerprinting distinguishes it from another visit of the same page.
        """
        for each in candidates:
            own = each.mine and each.state is ClaimState.OPEN and each.id not in self._held
            other = each.record
            if own and (other.seen, other.url, other.sketches) == (record.seen, record.url, record.sketches):
                return each.id
        return None

    def _refile(self, claims: Iterable[Claim]) -> None:
        """File pages again, as committed: their claims were lost with their leases.

        Their items are stored: without a record every later copy would be stored, too.
        """
        for claim in claims:
            if claim.id is None or (record := claim.record) is None:
                continue
            # A server that lost its data may have given the id to another record.
            found = self._owner.store.get(claim.id)
            filed = found and (found.record.url, found.record.sketches)
            if filed != (record.url, record.sketches):
                self._owner.store.add_stored(record, FILE_ANYWAY, claim.supersedes)


# -- leases -------------------------------------------------------------------------------------

#: ``time.monotonic`` stops on Linux while the machine sleeps.
_SINCE_BOOT = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
#: A wall clock that is set forward ends leases of a local store, and is the only one that counts sleep everywhere.
CLOCKS: Sequence[Callable[[], float]] = (_SINCE_BOOT, time.time)


class LeaseMonitor:
    """Counts how often the lease of this process, and of no other worker, may have ended. Thread-safe.

    The lease has ended if any of the clocks has advanced by its duration since the last renewal began. A clock that
    was set forward costs one needless check of the open claims. If one clock was set back, the other still shows it.

    Args:
        seconds: duration of the lease.
        clocks: the first must never go back; each returns seconds.
    """

    def __init__(self, seconds: float, clocks: Sequence[Callable[[], float]] = CLOCKS) -> None:
        self._seconds = seconds
        self._clocks = clocks
        self._lock = Lock()
        self._lapses = 0
        self._running_since = self.now()

    def now(self) -> tuple[float, ...]:
        """Return the time by each clock."""
        return tuple([clock() for clock in self._clocks])

    @property
    def lapses(self) -> int:
        """How often the lease has ended so far.

        A claim made at a lower count may be another worker's by now. A claim made at this count, or found in the store
        after a renewal at this count, still belongs to this process.
        """
        with self._lock:
            now = self.now()
            if max(map(sub, now, self._running_since)) >= self._seconds:
                self._lapses += 1
                self._running_since = now
            return self._lapses

    def renewed(self, began: tuple[float, ...]) -> None:
        """Record a successful renewal; ``began``: the time (:meth:`now`) before the store was called."""
        _ = self.lapses  # a late renewal does not undo the lapse
        with self._lock:
            if began[0] > self._running_since[0]:
                self._running_since = began
