"""Page + detectors + store → verdict. The only place that knows all of them."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Literal, Unpack, overload

from dedupcrawl.config import Config
from dedupcrawl.decision import Finding, Matcher, Policy, unchecked
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import StoreError
from dedupcrawl.fingerprinting import Fingerprinter, Uncheckable, without_fragment
from dedupcrawl.page import PageError, ReaderError, read_page
from dedupcrawl.page.model import Page
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import (
    FILE_ANYWAY,
    KEY_BYTES,
    Candidate,
    ClaimState,
    Offer,
    Record,
    Store,
    scheme_json,
    url_key,
)
from dedupcrawl.utils.iteration import backoff
from dedupcrawl.utils.resources import Closing
from dedupcrawl.verdict import Claim, Pending, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.config import ConfigChanges
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.stores.base import StoreInfo

logger = logging.getLogger(__name__)


class Deduplicator(Closing):
    """Says of every page whether an earlier one had its content.

    Args:
        store: ``memory://``, ``lmdb://PATH`` or a :class:`~dedupcrawl.stores.base.Store`.
        namespace: pages of different namespaces never meet.
        config: the constants in force; ``changes`` override single ones, by the names of
            :class:`~dedupcrawl.config.Config` (``detectors``, ``threshold``, …).
        clock: seconds since 1970; tests turn it.

    Raises:
        SettingError: a value makes no sense.
        StoreError: the store cannot be opened, or was filled under another configuration.

    >>> dedup = Deduplicator(min_chars=20)
    >>> text = "The harbour froze over in the night, and the ferries stayed at their piers."
    >>> dedup.add(text=text, url="https://a.example/1").status
    <Status.UNIQUE: 'unique'>
    >>> dedup.add(text=text.upper(), url="https://b.example/2").of
    'https://a.example/1'
    """

    def __init__(
        self,
        store: str | Store = "memory://",
        namespace: str = "default",
        *,
        config: Config | None = None,
        clock: Callable[[], float] = time.time,
        **changes: Unpack[ConfigChanges],
    ) -> None:
        self.config = replace(config or Config(), **changes)
        detectors = build_detectors(self.config)
        self.names = tuple(detector.name for detector in detectors)
        self._filer = Fingerprinter(
            detectors, self.config.min_chars, clock, fold_chinese=self.config.fold_chinese
        )
        self._judge = Matcher(detectors)
        self._clock = clock
        self._policy = Policy(self.config.drop, self.config.keep)
        self._held: set[int] = set()  # claims made here that were neither committed nor released
        self._told: set[str] = set()  # failures of the user's own reader that were logged
        self.reading = self.config.reading
        scheme = schemes(detectors, self.config)
        self.scheme = scheme_json(scheme)
        self.store = (
            store
            if isinstance(store, Store)
            else open_store(
                store,
                namespace=namespace,
                scheme=scheme,
                lease=self.config.lease,
                ttl=self.config.ttl,
                clock=clock,
            )
        )

    def read(
        self,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        url: str = "",
        content_type: str = "",
    ) -> Page | Verdict:
        """Read a page with the constants in force, or say why it stays unchecked.

        ``content_type`` is the HTTP header of that name, which may tell the encoding of ``html``.
        A page on which the user's own reader fails stays unchecked("error"); the first failure of a kind is
        logged with its traceback.
        """
        if (html is None) == (text is None):
            raise TypeError("give either html or text")
        if not isinstance(url, str) or not isinstance(text, str | None):
            raise TypeError("url and text are str")
        if html is None:
            return Page.from_text(text or "", url)
        try:
            return read_page(html, url, content_type=content_type, options=self.reading)
        except PageError as error:
            return unchecked(url, error.reason)
        except ReaderError as error:
            self._tell(error)
            return unchecked(url, "error")

    def findings(self, page: Page) -> list[Finding]:
        """Return every filed page that ``page`` is related to, the most telling first."""
        record = self._filer.file(page)
        return [] if isinstance(record, Uncheckable) else self._findings(record)

    def candidates(self, record: Record) -> tuple[Candidate, ...]:
        """Look only: the filed pages that a page is compared with, since they have a key in common."""
        return self.store.find(record.lookup_keys)

    def opinions(self, new: Record, old: Record) -> tuple[Opinion, ...]:
        """Return what each detector says of a new and an older page, in order, matched or not."""
        return self._judge.opinions(new, old)

    # -- the three questions ------------------------------------------------------------------

    def check(
        self,
        page: Page | None = None,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        url: str = "",
    ) -> Verdict:
        """Look only: what would be said of this page, as far as committed pages are concerned."""
        subject = self._subject(page, html, text, url)
        if isinstance(subject, Verdict):
            return subject
        record = self.file(subject)
        return record if isinstance(record, Verdict) else self.check_record(record, subject.url)

    def check_record(self, record: Record, url: str) -> Verdict:
        """Look only, for a page that has been fingerprinted; ``url`` is for the verdict."""
        return self.verdict_among(self.candidates(record), record, url)

    def verdict_among(self, candidates: Iterable[Candidate], record: Record, url: str) -> Verdict:
        """Say what is known of a page when these are all that it is compared with."""
        return self._policy.verdict(url, record, self._judge.findings(record, candidates, versions=True))

    def add(
        self,
        page: Page | None = None,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        url: str = "",
    ) -> Verdict:
        """Judge this page and, if it is to be kept, remember it for good."""
        subject = self._subject(page, html, text, url)
        if isinstance(subject, Verdict):
            return subject
        record = self.file(subject)
        if isinstance(record, Verdict):
            return record
        return self._patiently(partial(self._place, record, subject.url, for_good=True)).verdict

    def add_many(self, pages: Iterable[Page]) -> list[Verdict]:
        """Do as :meth:`add` with some hundred pages; in one round trip where the store is on a server.

        One alone of several copies among them is kept, mostly but not always the first. When it raises, none
        of the pages is filed. One that met others is looked at once more; should the store fail just then,
        it stays unchecked("store").
        """
        ready = [(page, self.file(page)) for page in pages]
        records = [record for _, record in ready if isinstance(record, Record)]
        offers = iter(self.store.add_many(records))
        return [
            record if isinstance(record, Verdict) else self._settled(page, record, next(offers))
            for page, record in ready
        ]

    def _settled(self, page: Page, record: Record, offer: Offer) -> Verdict:
        """Return the verdict on a page that was filed, or that met others."""
        if offer.id is not None:
            return self._policy.verdict(page.url, record, [])
        try:
            return self._patiently(partial(self._place, record, page.url, for_good=True)).verdict
        except StoreError:
            logger.exception("The store failed over %(url)s, which stays unchecked", {"url": page.url})
            return unchecked(page.url, "store")

    def claim(
        self,
        page: Page | None = None,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        url: str = "",
    ) -> Claim:
        """Judge this page and hold its content until the claim is committed or released.

        A page that matches an unsettled claim waits for its outcome, at most ``config.wait``
        seconds; then it is kept, unchecked("claimed").
        """
        subject = self._subject(page, html, text, url)
        if isinstance(subject, Verdict):
            return Claim(subject, self)
        return self._patiently(partial(self.try_claim, subject))

    def _patiently(self, claiming: Callable[..., Claim | Pending]) -> Claim:
        """Claim; wait, at most ``config.wait`` seconds, as long as the answer is ``Pending``."""
        deadline = time.monotonic() + self.config.wait
        pauses = backoff(0.01, 0.5)
        while isinstance(claim := claiming(), Pending):
            pause = next(pauses)
            if time.monotonic() + pause > deadline:
                claim = claiming(give_up=True)
                break
            time.sleep(pause)
        assert isinstance(claim, Claim)
        return claim

    @overload
    def try_claim(self, page: Page, *, track_url: bool = True, give_up: Literal[True]) -> Claim: ...
    @overload
    def try_claim(self, page: Page, *, track_url: bool = True, give_up: bool = False) -> Claim | Pending: ...
    def try_claim(self, page: Page, *, track_url: bool = True, give_up: bool = False) -> Claim | Pending:
        """Claim without waiting.

        Args:
            page: the page.
            track_url: whether another text under the same URL is a new version of it; False for
                several items of one page.
            give_up: keep the page unchecked("claimed") where the answer would be ``Pending``.
        """
        record = self.file(page, track_url=track_url)
        if isinstance(record, Verdict):
            return Claim(record, self)
        return self.claim_record(record, page.url, versions=track_url, give_up=give_up)

    def file(self, page: Page, *, track_url: bool = True) -> Record | Verdict:
        """Fingerprint a page, or say why it stays unchecked; the store is not asked."""
        record = self._filer.file(page, track_url=track_url)
        return unchecked(page.url, record.reason) if isinstance(record, Uncheckable) else record

    def file_many(self, pages: Sequence[Page]) -> list[Record | Verdict]:
        """Do as :meth:`file` does with each page, in less time for many small ones."""
        return [
            unchecked(page.url, record.reason) if isinstance(record, Uncheckable) else record
            for page, record in zip(pages, self._filer.file_many(pages), strict=True)
        ]

    def claim_record(
        self, record: Record, url: str, *, versions: bool = True, give_up: bool = False
    ) -> Claim | Pending:
        """Claim, without waiting, a page that has been fingerprinted; ``url`` is for the verdict."""
        claim = self._place(record, url, versions=versions, give_up=give_up)
        if isinstance(claim, Claim) and claim.id is not None:
            self._held.add(claim.id)
        return claim

    def remember(self, record: Record) -> bool:
        """File for good a page that was stored although the store could not be asked.

        Returns whether it is filed; False: it repeats a page that is. It supersedes none: by now a later
        version may stand there. Doing it twice does no harm.
        """
        versions = bool(record.url) and url_key(record.url) in record.lookup_keys
        claim = self._place(
            record, record.url, versions=versions, give_up=True, for_good=True, replaces=False
        )
        assert isinstance(claim, Claim)
        return claim.id is not None or claim.verdict.of == record.url

    def _place(
        self,
        record: Record,
        url: str,
        *,
        versions: bool = True,
        give_up: bool = False,
        for_good: bool = False,
        replaces: bool = True,
    ) -> Claim | Pending:
        """Judge a page; file it as a claim, or ``for_good``, if it is to be kept."""
        seen: dict[int, Candidate] = {}
        lost: int | None = None
        while True:
            findings = self._judge.findings(record, seen.values(), versions=versions)
            decision = self._policy.decide(url, record, findings, give_up=give_up or lost is not None)
            if isinstance(decision, Pending):
                return decision
            if not decision.verdict.keep:
                if lost is not None:
                    self.store.release([lost])
                return Claim(decision.verdict, self, record=record, met=tuple(seen.values()))
            offered = replace(record, cluster=decision.cluster) if decision.cluster else record
            old = decision.supersedes if replaces else ()
            offer = self._put(offered, max(seen, default=0), lost, old if for_good else None)
            if offer.id is not None:
                met = tuple(seen.values())
                return Claim(decision.verdict, self, offer.id, offered, decision.supersedes, met)
            lost = self._own_lost(record, offer.candidates)
            earlier = (each for each in offer.candidates if lost is None or each.id < lost)
            seen.update((candidate.id, candidate) for candidate in earlier)

    def _put(self, record: Record, since: int, lost: int | None, supersede: tuple[int, ...] | None) -> Offer:
        """File a record for good, or (None: it supersedes nothing yet) as a claim.

        lost: the claim under which it stands already.
        """
        if supersede is None:
            return self.store.offer(record, since) if lost is None else Offer(lost)
        self._held.difference_update(supersede)
        if lost is not None and self.store.commit([lost], supersede):
            return Offer(lost)
        return self.store.add(record, since, supersede)

    # -- what becomes of claims ---------------------------------------------------------------

    def commit(self, claims: Iterable[Claim]) -> None:
        """Make these claims permanent, and with them remove what they supersede.

        A claim that has been committed or released already stays as it is.
        """
        held = {claim.id: claim for claim in claims if claim.id is not None and claim.id in self._held}
        if not held:
            return
        supersede = [old for claim in held.values() for old in claim.supersedes]
        if self.store.commit(held, supersede) < len(held):
            self._refile(held.values())
        self._held.difference_update(held, supersede)

    def release(self, claims: Iterable[Claim]) -> None:
        """Withdraw these claims: their pages were not stored."""
        ids = {claim.id for claim in claims if claim.id is not None}
        if ids:
            self.store.release(ids)
            self._held.difference_update(ids)

    def renew(self) -> int:
        """Extend the lease of every open claim; return how many there are."""
        return self.store.renew()

    def try_filing(self) -> None:
        """File a record under a key of its own and take it back, to see whether there is room.

        Raises :class:`~dedupcrawl.errors.StoreError`; :class:`~dedupcrawl.errors.StoreFullError` if there is
        none.
        """
        trial = Record("", (token_bytes(KEY_BYTES),), (), self._clock())
        offer = self.store.offer(trial, since=FILE_ANYWAY)
        if offer.id is not None:
            self.store.release([offer.id])

    def is_settled(self, id: int) -> bool:
        """Whether the claim that a page waits for has been committed, or is gone."""
        candidate = self.store.get(id)
        return candidate is None or candidate.state is ClaimState.COMMITTED

    # -- the store ----------------------------------------------------------------------------

    def lookup(self, url: str) -> Record | None:
        """Return what is filed of this URL."""
        candidate = self.store.lookup(without_fragment(url))
        return None if candidate is None else candidate.record

    def forget(self, url: str) -> int:
        """Remove this URL, so that its content may be stored again; return how many records went."""
        return self.store.forget(without_fragment(url))

    def prune(self, older_than: float) -> int:
        """Remove what was seen before this Unix time; return how many records went."""
        return self.store.prune(older_than)

    def info(self) -> StoreInfo:
        """Count what the store holds."""
        return self.store.info()

    def close(self) -> None:
        """Withdraw claims that are still open and let the store go."""
        self.store.close()

    # -- inside -------------------------------------------------------------------------------

    def _subject(
        self, page: Page | None, html: bytes | str | None, text: str | None, url: str
    ) -> Page | Verdict:
        if page is None:
            return self.read(html=html, text=text, url=url)
        if html is not None or text is not None:
            raise TypeError("give a page, or html, or text, and no two of them")
        return page

    def _tell(self, error: ReaderError) -> None:
        if error.kind not in self._told:
            self._told.add(error.kind)
            logger.error("%(error)s; the page is kept unchecked", {"error": error}, exc_info=error.__cause__)

    def _own_lost(self, record: Record, candidates: Iterable[Candidate]) -> int | None:
        """Return the id under which this very record was filed by an offer whose answer was lost.

        The moment at which it was fingerprinted tells it from another visit of the same page.
        """
        for each in candidates:
            own = each.mine and each.state is ClaimState.OPEN and each.id not in self._held
            there = each.record
            if own and (there.seen, there.url, there.sketches) == (record.seen, record.url, record.sketches):
                return each.id
        return None

    def _findings(self, record: Record) -> list[Finding]:
        return self._judge.findings(record, self.candidates(record), versions=True)

    def _stands(self, id: int, record: Record) -> bool:
        """Whether a record is filed under this id; a server that lost its data may give an id again."""
        there = self.store.get(id)
        filed = None if there is None else there.record
        return filed is not None and (filed.url, filed.sketches) == (record.url, record.sketches)

    def _refile(self, claims: Iterable[Claim]) -> None:
        """File again, at once committed, the pages whose claim was lost with its lease.

        Their items are stored: without a record every later copy would be stored too.
        """
        for claim in claims:
            if claim.id is None or claim.record is None or self._stands(claim.id, claim.record):
                continue
            self.store.add(claim.record, FILE_ANYWAY, claim.supersedes)
