"""The deduplicator connects reader, detectors, store and policy."""

from __future__ import annotations

import logging
import math
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Literal, Unpack, overload

from dedupcrawl.config import Config
from dedupcrawl.decision import Claim, Pending, Policy, Verdict, cluster_name, new_page, unchecked
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError, StoreError
from dedupcrawl.filing import FilingClient, LeaseMonitor
from dedupcrawl.fingerprinting import Fingerprinter, UncheckedPage, without_fragment
from dedupcrawl.matching import Finding, Matcher
from dedupcrawl.page import PageError, ReaderError, read_page
from dedupcrawl.page.model import Page
from dedupcrawl.page.time_limit import TOO_SLOW, TooSlowError, time_limit
from dedupcrawl.sites.site_memory import SiteTracker
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import (
    FILE_ANYWAY,
    KEY_BYTES,
    Candidate,
    JudgedStore,
    Offer,
    Record,
    Store,
    check_secret,
    scheme_json,
    url_key,
)
from dedupcrawl.text.features import is_compiled
from dedupcrawl.utils.iteration import backoff
from dedupcrawl.utils.redaction import SECRET, SecretSeed
from dedupcrawl.utils.resources import ClosingContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.config import ConfigFields
    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.stores.base import StoreInfo
    from dedupcrawl.stores.site_tables import SiteView

Html = bytes | str | None

logger = logging.getLogger(__name__)


class Deduplicator(ClosingContext):
    """Checks for every page whether an earlier page has the same content.

    Pages are given as a :class:`~dedupcrawl.Page`, as ``html`` (bytes or text) with its ``url``, or as
    ``text`` (main text, which needs no reading). Leaving the context manager closes the store.

    Args:
        store: URL of a store (see :func:`~dedupcrawl.stores.open_store`), or an open
            :class:`~dedupcrawl.stores.base.Store`.
        namespace: part of the store; pages of different namespaces are never compared.
        config: the configuration; None: the defaults.
        clock: returns the Unix time in seconds.
        page_timeout: seconds of processor time for reading and fingerprinting one page, above 0; a page that
            takes longer is unchecked("too-slow"). None: no limit, so that verdicts are repeatable.
        reset: whether to empty the namespace first; ``store`` must be a URL.
        **changes: single constants that override ``config``, by the names of
            :class:`~dedupcrawl.config.Config`.

    Raises:
        SettingError: a value is not accepted.
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
        page_timeout: float | None = None,
        reset: bool = False,
        **changes: Unpack[ConfigFields],
    ) -> None:
        self.config = replace(config or Config(), **changes)
        if page_timeout is not None and not 0 < page_timeout < math.inf:
            raise SettingError("page_timeout", page_timeout, "seconds above 0; None: no limit")
        if not isinstance(store, Store):
            store = self._opened(store, namespace, clock, reset=reset)
        elif self.config.seed == SECRET:
            self._use_secret(store)
        detectors = build_detectors(self.config)
        self.names = tuple(detector.name for detector in detectors)  #: of the detectors, in order
        self._fingerprinter = Fingerprinter(
            detectors, self.config.min_chars, clock, int(self.config.seed), fold_chinese=self.config.fold_chinese
        )
        self._matcher = Matcher(detectors, self.config.scope, self.config.versions)
        self._clock = clock
        self._page_timeout = page_timeout
        self._policy = Policy(self.config.drop, self.config.keep)
        self._filer = FilingClient(self, self._matcher, self._policy)
        self.lease = LeaseMonitor(self.config.lease)  #: notices that claims may have ended
        self._logged: set[str] = set()  # kinds of failures of the user's own reader that were logged
        self.reading = self.config.reading  #: options for reading pages
        #: JSON of the constants that shape keys and sketches
        self.scheme = scheme_json(schemes(detectors, self.config))
        self.store = store
        #: what each site repeats; None without ``config.site_memory``
        self.site_memory = SiteTracker(store, remote=store.remote, clock=clock) if self.config.site_memory else None

    def _opened(self, url: str, namespace: str, clock: Callable[[], float], *, reset: bool) -> Store:
        """Open the store; a secret seed is that of the store, and a new store keeps the one that is drawn here."""
        seed, lease, ttl = self.config.seed, self.config.lease, self.config.ttl
        secret = SecretSeed.draw() if seed == SECRET else seed if isinstance(seed, SecretSeed) else None
        config = self.config if secret is None else replace(self.config, seed=secret)
        scheme = schemes(build_detectors(config), config)
        store = open_store(
            url, namespace=namespace, scheme=scheme, lease=lease, ttl=ttl, clock=clock, secret=secret, reset=reset
        )
        try:
            if seed == SECRET:
                self._use_secret(store)
            elif secret is not None:
                check_secret(url, namespace, store.secret, secret)
        except BaseException:
            store.close()
            raise
        return store

    def _use_secret(self, store: Store) -> None:
        if store.secret is None:
            raise StoreError("The store keeps no secret seed: use another namespace, or set a number as the seed.")
        self.config = replace(self.config, seed=store.secret)

    def read(
        self, *, html: Html = None, text: str | None = None, url: str = "", content_type: str = ""
    ) -> Page | Verdict:
        """Read a page with the configured reader.

        If the user's own reader fails, the page is unchecked("error"); the first failure of each kind is
        logged with its traceback.

        Args:
            html: the page; either this or ``text``.
            text: the main text, paragraphs separated by newlines.
            url: of the page.
            content_type: the HTTP header, which may name the encoding of ``html``.

        Returns:
            The page, or an unchecked verdict.
        """
        if (html is None) == (text is None):
            raise TypeError("give either html or text")
        if not isinstance(url, str) or not isinstance(text, str | None):
            raise TypeError("url and text are str")
        if html is None:
            return Page.from_text(text or "", url)
        try:
            with time_limit(self._page_timeout):
                return read_page(html, url, content_type=content_type, options=self.reading)
        except TooSlowError:
            return unchecked(url, TOO_SLOW)
        except PageError as error:
            return unchecked(url, error.reason)
        except ReaderError as error:
            self._log(error)
            return unchecked(url, "error")

    def findings(self, page: Page) -> list[Finding]:
        """Return every filed page that ``page`` is related to, the strongest relation first."""
        record = self._fingerprinter.fingerprint(page, view=self._view(page))
        if isinstance(record, UncheckedPage):
            return []
        return self._matcher.findings(record, self.candidates(record), versions=True)

    def candidates(self, record: Record) -> tuple[Candidate, ...]:
        """Return the filed pages that have a key in common with a page. Changes nothing."""
        return self.store.find(record.lookup_keys)

    def assessments(self, new: Record, old: Record) -> tuple[Assessment, ...]:
        """Return the result of each detector for a new and an older page, matched or not, in order."""
        return self._matcher.assessments(new, old)

    def check(self, page: Page | None = None, *, html: Html = None, text: str | None = None, url: str = "") -> Verdict:
        """Return the verdict on a page from committed pages. Changes nothing.

        Args:
            page: the page. Instead of it either ``html`` or ``text`` may be given.
            html: bytes, or text.
            text: the main text, paragraphs separated by newlines.
            url: of the page, with ``html`` or ``text``.

        Raises:
            TypeError: more or less than one of ``page``, ``html`` and ``text`` is given.
            StoreError: the store failed.
        """
        is_text = page is None and html is None and isinstance(text, str) and isinstance(url, str)
        verdict = self._check_text(text or "", url) if is_text and self._page_timeout is None else None
        found = verdict or self._record(page, html, text, url)
        return found if isinstance(found, Verdict) else self.check_record(*found)

    def _check_text(self, text: str, url: str) -> Verdict | None:
        """Check a plain text. None: it must be checked as a page. If it is new, neither page nor identity is made."""
        has_lines = self.site_memory is not None and self.site_memory.has_lines(url)
        view = self._view(Page.from_text(text, url)) if has_lines else None
        is_partial = view is not None and (view.own is not None or view.is_template)
        made = None if is_partial else self._fingerprinter.fingerprint_text(text)
        if made is None:
            return None
        key = without_fragment(url)
        candidates = self.store.find((url_key(key), *made.probes) if key else made.probes)
        if not candidates:
            return new_page(url, cluster_name(key, made.sketches))
        return self.verdict_among(candidates, self._fingerprinter.record(Page.from_text(text, url), made), url)

    def check_record(self, record: Record, url: str) -> Verdict:
        """Check a fingerprinted page; ``url`` is for the verdict. Errors: as :meth:`check`."""
        return self.verdict_among(self.candidates(record), record, url)

    def verdict_among(self, candidates: Iterable[Candidate], record: Record, url: str) -> Verdict:
        """Return the verdict on a fingerprinted page that is compared with these candidates only."""
        terms = {"versions": True, "is_brief": self._policy.ignores_siblings}
        return self._policy.verdict(url, record, self._matcher.findings(record, candidates, **terms))

    def add(self, page: Page | None = None, *, html: Html = None, text: str | None = None, url: str = "") -> Verdict:
        """Check a page and, if it is to be kept, file it as committed. Arguments and errors: as :meth:`check`."""
        found = self._record(page, html, text, url)
        if isinstance(found, Verdict):
            return found
        return self._counted(self._with_retries(partial(self._filer.file, *found, committed=True))).verdict

    def add_many(self, pages: Iterable[Page]) -> list[Verdict]:
        """Check some hundred pages and file the kept ones, in one round trip to a server; see :meth:`add`.

        Of several copies among them exactly one is kept, mostly but not always the first. When it raises,
        none of the pages is filed. A page with candidates is checked again by itself; if the store fails
        then, it is unchecked("store").

        Args:
            pages: pages that :meth:`read` or ``Page.from_text`` returned.

        Returns:
            A verdict for each page, in order.

        Raises:
            TypeError: one of them is no ``Page``; nothing is filed then.
        """
        ready = [(page, self.fingerprint(_checked_page(page))) for page in pages]
        records = [record for _, record in ready if isinstance(record, Record)]
        offers = iter(self.store.add_many(records))
        return [
            record if isinstance(record, Verdict) else self._verdict_on_offer(page, record, next(offers))
            for page, record in ready
        ]

    def _verdict_on_offer(self, page: Page, record: Record, offer: Offer) -> Verdict:
        if offer.id is not None:
            self._count(record)
            return self._policy.verdict(page.url, record, [])
        try:
            return self._counted(
                self._with_retries(partial(self._filer.file, record, page.url, committed=True))
            ).verdict
        except StoreError:
            logger.exception("The store failed while checking %(url)s, which stays unchecked", {"url": page.url})
            return unchecked(page.url, "store")

    def claim(self, page: Page | None = None, *, html: Html = None, text: str | None = None, url: str = "") -> Claim:
        """Check a page, and reserve its content until the claim is committed or released.

        If the page matches a claim that is still open, wait for it, at most ``config.wait`` seconds; then the
        page is kept as unchecked("claimed"). Arguments and errors: as :meth:`check`.
        """
        found = self._record(page, html, text, url)
        if isinstance(found, Verdict):
            return Claim(found, self)
        return self._with_retries(partial(self.claim_record, *found))

    def _with_retries(self, attempt: Callable[..., Claim | Pending]) -> Claim:
        """Repeat a claim while it is ``Pending``, for at most ``config.wait`` seconds."""
        deadline = time.monotonic() + self.config.wait
        pauses = backoff(0.01, 0.5)
        while isinstance(claim := attempt(), Pending):
            pause = next(pauses)
            if time.monotonic() + pause > deadline:
                claim = attempt(give_up=True)
                break
            time.sleep(pause)
        assert isinstance(claim, Claim)
        return claim

    @overload
    def try_claim(self, page: Page, *, track_url: bool = True, give_up: Literal[True]) -> Claim: ...
    @overload
    def try_claim(self, page: Page, *, track_url: bool = True, give_up: bool = False) -> Claim | Pending: ...
    def try_claim(self, page: Page, *, track_url: bool = True, give_up: bool = False) -> Claim | Pending:
        """Check a page and reserve its content, without waiting for open claims; see :meth:`claim`.

        Args:
            page: the page.
            track_url: whether another text under the same URL is a new version of it; False for several items
                of one page.
            give_up: whether to keep the page as unchecked("claimed") instead of returning ``Pending``.
        """
        record = self.fingerprint(page, track_url=track_url)
        if isinstance(record, Verdict):
            return Claim(record, self)
        return self.claim_record(record, page.url, versions=track_url, give_up=give_up)

    def fingerprint(self, page: Page, *, track_url: bool = True, spent: float = 0.0) -> Record | Verdict:
        """Return the record of a page, or an unchecked verdict, without accessing the store.

        Args:
            page: the page.
            track_url: as in :meth:`try_claim`.
            spent: seconds of ``page_timeout`` that reading the page has used.
        """
        try:
            with time_limit(None if self._page_timeout is None else self._page_timeout - spent):
                view = self._view(page) if track_url else None
                record = self._fingerprinter.fingerprint(page, track_url=track_url, view=view)
        except TooSlowError:
            return unchecked(page.url, TOO_SLOW)
        return unchecked(page.url, record.reason) if isinstance(record, UncheckedPage) else record

    def fingerprint_many(self, pages: Sequence[Page], spent: Sequence[float] | None = None) -> list[Record | Verdict]:
        """Return a record or an unchecked verdict for each page. Pages are fingerprinted together where that is faster.

        Args:
            pages: with a time limit short ones, so that one does not use up the time of the others.
            spent: for each, as in :meth:`fingerprint`; None: no time limit.
        """
        if spent is not None and not is_compiled() and self._page_timeout is not None:
            with suppress(TooSlowError), time_limit(len(pages) * self._page_timeout - sum(spent)):
                return self.fingerprint_many(pages)
        if spent is not None:
            return [self.fingerprint(page, spent=seconds) for page, seconds in zip(pages, spent, strict=True)]
        records = self._fingerprinter.fingerprint_many(pages, [*map(self._view, pages)])
        return [
            unchecked(page.url, record.reason) if isinstance(record, UncheckedPage) else record
            for page, record in zip(pages, records, strict=True)
        ]

    def claim_record(
        self, record: Record, url: str, *, versions: bool = True, give_up: bool = False
    ) -> Claim | Pending:
        """Reserve the content of a fingerprinted page, see :meth:`try_claim`; ``url`` is for the verdict."""
        claim = self._filer.claim(record, url, versions=versions, give_up=give_up)
        return self._counted(claim) if isinstance(claim, Claim) else claim

    def claim_records(self, pages: Sequence[tuple[Record, str]], commit: Sequence[Claim] = ()) -> list[Claim | Pending]:
        """Reserve the content of fingerprinted pages, in order, in one transaction or in few round trips.

        When it raises, none of the pages is claimed, and the claims to commit can be committed again.

        Args:
            pages: fingerprinted pages, and their URLs for the verdicts.
            commit: claims to make permanent, as with :meth:`commit`; on a cluster in the same round trips.
        """
        if isinstance(self.store, JudgedStore):
            judged = self._filer.claim_judged(self.store, pages, commit)
            return [self._counted(each) if isinstance(each, Claim) else each for each in judged]
        if commit:
            self.commit(commit)
        claims: list[Claim | Pending] = []

        def work() -> list[Claim | Pending]:
            claims.clear()
            claims.extend(self._filer.claim(record, url, versions=True, give_up=False) for record, url in pages)
            return claims

        try:
            judged = self.store.together(work)
            return [self._counted(each) if isinstance(each, Claim) else each for each in judged]
        except BaseException:
            with suppress(StoreError):
                self.release([claim for claim in claims if isinstance(claim, Claim)])
            raise

    def _view(self, page: Page) -> SiteView | None:
        return None if self.site_memory is None else self.site_memory.view(page)

    def _count(self, record: Record) -> None:
        """Count the lines of a page that is kept for its site."""
        if self.site_memory is not None and record.context is not None:
            self.site_memory.count(record.context.view)

    def _counted(self, claim: Claim) -> Claim:
        """Count the page of a claim. Versions of one page count once: else its own lines would be repeated ones."""
        record = claim.record
        if claim.id is None or record is None:
            return claim
        if not (record.url and any(each.record.url == record.url for each in claim.candidates)):
            self._count(record)
        return claim

    def remember(self, record: Record) -> bool:
        """File a page as committed: its item was stored while the store was unreachable.

        It supersedes no other page, since a later version may be filed by now. It may be called twice.

        Returns:
            Whether the page is filed; False if it repeats a filed page.
        """
        versions = bool(record.url) and url_key(record.url) in record.lookup_keys
        terms = {"give_up": True, "committed": True, "is_stored": True}
        claim = self._filer.file(record, record.url, versions=versions, **terms)
        assert isinstance(claim, Claim)
        return claim.id is not None or claim.verdict.of == record.url

    def commit(self, claims: Iterable[Claim]) -> None:
        """Make these claims permanent, and remove the records they supersede.

        Claims that were committed or released before are ignored.
        """
        self._filer.commit(claims)

    def release(self, claims: Iterable[Claim]) -> None:
        """Withdraw these claims: their items were not stored."""
        self._filer.release(claims)

    def renew(self) -> int:
        """Extend the lease of all open claims; return how many there are."""
        began = self.lease.now()
        claims = self.store.renew()
        if self.site_memory is not None:
            self.site_memory.exchange()
        self.lease.renewed(began)
        return claims

    @property
    def lapses(self) -> int:
        """How often the lease may have ended, by the clocks here (``LeaseMonitor``) or by the store.

        A server may forget a lease that has not ended by the clocks here, as in a failover.
        """
        return self.lease.lapses + self.store.lost_leases

    def holds(self, claim: Claim) -> bool:
        """Whether the store still has an open claim. Another worker may have removed it since its lease ended."""
        found = None if claim.id is None else self.store.get(claim.id)
        if found is None or claim.record is None:
            return False
        # A server that lost its data may have given the id to another record.
        return found.mine and (found.record.url, found.record.sketches) == (claim.record.url, claim.record.sketches)

    def try_filing(self) -> None:
        """File a trial record and withdraw it, to check that the store accepts records.

        Raises:
            StoreFullError: the store is full.
            StoreError: the store failed.
        """
        trial = Record("", (token_bytes(KEY_BYTES),), (), self._clock())
        offer = self.store.offer(trial, since=FILE_ANYWAY)
        if offer.id is not None:
            self.store.release([offer.id])

    def is_settled(self, id: int) -> bool:
        """Whether the claim of a :class:`Pending` is settled (see :class:`Candidate`), or no longer exists."""
        candidate = self.store.get(id)
        return candidate is None or candidate.is_settled

    def lookup(self, url: str) -> Record | None:
        """Return the record of this URL; None if there is none."""
        candidate = self.store.lookup(without_fragment(url))
        return None if candidate is None else candidate.record

    def forget(self, url: str) -> int:
        """Remove all records of this URL; return how many. Its content can then be stored again."""
        return self.store.forget(without_fragment(url))

    def prune(self, older_than: float) -> int:
        """Remove the records seen before this Unix time (seconds); return how many."""
        return self.store.prune(older_than)

    def info(self) -> StoreInfo:
        """Return the size and state of the store."""
        return self.store.info()

    def close(self) -> None:
        """Withdraw the claims that are still open, and close the store."""
        if self.site_memory is not None:
            self.site_memory.close()
        self.store.close()

    def _record(self, page: Page | None, html: Html, text: str | None, url: str) -> tuple[Record, str] | Verdict:
        """Return the record and the URL of a page, or an unchecked verdict."""
        with time_limit(self._page_timeout):
            subject = self._subject(page, html, text, url)
            record = subject if isinstance(subject, Verdict) else self.fingerprint(subject)
        return record if isinstance(record, Verdict) else (record, subject.url)

    def _subject(self, page: Page | None, html: Html, text: str | None, url: str) -> Page | Verdict:
        if page is None:
            return self.read(html=html, text=text, url=url)
        if html is not None or text is not None:
            raise TypeError("give only one of page, html and text")
        return page

    def _log(self, error: ReaderError) -> None:
        if error.kind not in self._logged:
            self._logged.add(error.kind)
            logger.error("%(error)s; the page is kept unchecked", {"error": error}, exc_info=error.__cause__)


def _checked_page(page: object) -> Page:
    if not isinstance(page, Page):
        accepted = "pages, as Deduplicator.read(html=…, url=…) and Page.from_text(text, url, title) return them"
        raise TypeError(f"add_many takes {accepted}, not {type(page).__name__}")
    return page
