"""The contract of a store: an optimistic compare-and-set over exact-match keys.

``offer`` files a record *unless* a record with an id above ``since`` is found under one of its lookup keys.
In that case it files nothing and returns those records as candidates. The caller compares them. If none
matches, it offers again with ``since`` = the highest id it has seen. In the common case (no candidate) a page
costs one atomic step, and two workers can never both be first.

A filed record is a *claim* until it is committed: *open* while its item is in the pipelines, *scraped* after
all pipelines accepted the item, *committed* once the item is durable. A claim has a lease, which the living
process renews. The claims of a dead process end, and their records are removed.
"""

from __future__ import annotations

import json
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dedupcrawl.errors import DamageError, StoreInUseError, StoreMismatchError
from dedupcrawl.stores.notes import NoteTables
from dedupcrawl.stores.site_tables import SiteTables, SiteView
from dedupcrawl.utils.redaction import hide_password
from dedupcrawl.utils.resources import ClosingContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.stores.workers import WorkersInfo, WorkerStats
    from dedupcrawl.utils.redaction import SecretSeed

IDENTITY_BYTES = 255  #: highest size of ``Record.identity``
KEY_BYTES = 6  #: size of a bucket key; 2^48 buckets keep false candidates below 1 in 10^4 at 10^9 keys
BUCKET_CAP = 32  #: most candidates read from a bucket, newest first; both caps also in redis/lua/base.lua
SCAN_CAP = 8 * BUCKET_CAP  #: highest number of entries of a bucket that are examined, dead ones included

FILE_ANYWAY = 2**63 - 1  #: as ``since``: above every id, so the record is filed in any case

T = TypeVar("T")
OnDamage = Callable[[DamageError], object]  #: is called with the error of each damaged value that is skipped

_MISSING = "nothing"
_TEXT = "text"  #: key of a scheme under which it describes how pages are read
_SHARED = ("seed", "segmenter", "lexicon", "language")  #: constants of detectors that have a setting of their own
_BANDS = ("bands", "rows")  #: constants that follow from the threshold

logger = logging.getLogger(__name__)


def log_damage(error: DamageError) -> None:
    """Log a damaged value that is skipped."""
    logger.warning("%(error)s It is skipped", {"error": error})


def raise_damage(error: DamageError) -> None:
    """Stop at a damaged value."""
    raise error


def url_key(url: str) -> bytes:
    """Return the bucket key of a URL.

    The caller adds it to the keys of the record. ``lookup`` and ``forget`` then compare whole URLs.
    """
    data = url.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=KEY_BYTES, person=b"dedupcrawl.url").digest()


def bucket_keys(keys: Iterable[tuple[int, Iterable[bytes]]]) -> tuple[bytes, ...]:
    """Hash the keys of detectors to distinct bucket keys; the hash depends on the index of the detector."""
    hashed: dict[bytes, None] = {}
    for index, of_detector in keys:
        empty = _key_hasher(index)
        for key in of_detector:
            hasher = empty.copy()
            hasher.update(key)
            hashed[hasher.digest()] = None
    return tuple(hashed)


@cache
def _key_hasher(index: int) -> blake2b:
    """Return the hash object for the keys of a detector; callers update copies of it only."""
    return blake2b(digest_size=KEY_BYTES, person=key_personalization(index))


def key_personalization(index: int) -> bytes:
    """Return what distinguishes the hash of the keys of this detector."""
    return b"detector%d" % index


class ClaimState(IntEnum):
    """The state of a record."""

    OPEN = 1  #: filed; its item is in the pipelines
    SCRAPED = 2  #: all pipelines accepted the item; it is not durable yet
    COMMITTED = 3  #: the item is durable; the record is permanent


@dataclass(frozen=True, slots=True)
class RecordContext:
    """What is known of a page while it is judged. It is not stored."""

    #: sketches of the whole text where those of the record are of a part of it, b"" for equal ones; () without any
    whole: tuple[bytes, ...] = ()
    reason: str = ""  #: why the page is unchecked if no earlier page of its URL is found
    view: SiteView | None = None  #: the page as its site knows it, which is counted if the page is kept


@dataclass(frozen=True, slots=True)
class Record:
    """The fingerprint of one page, as a store files it."""

    url: str  #: without its fragment; "" for a page that has none
    keys: tuple[bytes, ...]  #: bucket keys, each of ``KEY_BYTES`` bytes, distinct
    sketches: tuple[bytes, ...]  #: one per detector in the configured order, b"" where it has none
    seen: float  #: Unix time in seconds
    cluster: str = ""  #: name of the cluster that the page joins; "" if it starts a new one
    probes: tuple[bytes, ...] | None = None  #: keys to search under, None: ``keys``; not stored
    #: Sketch of the page's names and values, at most ``IDENTITY_BYTES`` long; b"" for a page without one.
    #: Stores keep it and do not read it.
    identity: bytes = b""
    context: RecordContext | None = field(default=None, compare=False)  #: not stored

    @property
    def lookup_keys(self) -> tuple[bytes, ...]:
        """The keys under which earlier copies are searched."""
        return self.keys if self.probes is None else self.probes

    @property
    def own_keys(self) -> tuple[bytes, ...]:
        """The keys that find exactly this record: that of its URL, or all if it has none."""
        own = url_key(self.url)
        return (own,) if own in self.keys else self.keys

    def is_among(self, candidates: Iterable[Candidate]) -> bool:
        """Whether one of the candidates has the same URL, keys, sketches and identity."""
        stored = (each.record for each in candidates)
        own = (self.url, self.sketches, self.keys, self.identity)
        return any((each.url, each.sketches, each.keys, each.identity) == own for each in stored)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An earlier record that has a key in common with the page."""

    id: int  #: rises with the order of filing
    record: Record  #: its fingerprint
    state: ClaimState  #: of its claim
    mine: bool  #: claimed by this very store object, and not committed yet
    #: Claimed by another store object, and not committed yet; its process was seen alive after this one was opened.
    witnessed: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether the page may drop others.

        A page whose item is scraped counts if its process was seen alive after this store object was opened. If that
        process dies before the item is durable, all copies come again with the next crawl. The claims of a process that
        died before this object was opened do not count: this crawl is the next one.
        """
        if self.state is ClaimState.SCRAPED:
            return self.mine or self.witnessed
        return self.state is ClaimState.COMMITTED


@dataclass(frozen=True, slots=True)
class Offer:
    """The result of an offer."""

    id: int | None  #: the id of the filed record, None if it was not filed
    candidates: tuple[Candidate, ...] = ()  #: by rising id


@dataclass(frozen=True, slots=True)
class HotBucketInfo:
    """A bucket that holds more records than are read from it."""

    key: str  #: hexadecimal
    beyond: int  #: records filed in it since it exceeded ``BUCKET_CAP``


MAX_DAMAGED = 10  #: damaged claims that are named
MAX_HOTTEST = 5  #: hot buckets that are named


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The size and state of a namespace."""

    url: str  #: of the store, without its password
    namespace: str  #: part of the store
    pages: int  #: records, live or not
    open: int  #: open claims
    scraped: int  #: claims whose item was scraped but is not durable yet
    keys: int  #: bucket entries of all records
    bytes: int  #: on disk or in memory; 0 where it is unknown
    oldest: float | None  #: Unix time of the record filed first; None if that is damaged
    newest: float | None  #: Unix time of the record filed last; None if that is damaged
    scheme: str  #: JSON of the configuration that filled it
    ended: int = 0  #: claims whose lease has ended: the next matching page replaces them
    layout: str = ""  #: "hash" or "compact" on a server, "" elsewhere
    hot: int | None = None  #: number of hot buckets; None where they are not counted
    hottest: tuple[HotBucketInfo, ...] = ()  #: the fullest of them
    #: ids of claims that cannot be read, at most ``MAX_DAMAGED``; they count as open
    damaged_claims: tuple[str, ...] = ()
    sites: int = 0  #: sites with a table
    site_bytes: int = 0  #: of these tables; they are part of ``bytes`` where that is known
    notes: int = 0  #: values of :mod:`dedupcrawl.stores.notes`
    note_bytes: int = 0  #: of these notes; they are part of ``bytes`` where that is known


class Store(SiteTables, ClosingContext):
    """A namespace of fingerprints. All methods are synchronous and thread-safe.

    A record is *live* unless it is older than the time to live, or a claim of another store object whose lease
    has ended or whose process is dead. Only live records are returned. A claim of this very object is live
    even if it was not renewed in time: its item may be in the pipelines still.

    Every method raises :class:`~dedupcrawl.errors.StoreError` when the operation fails. Leaving the context
    manager closes the store.
    """

    remote: ClassVar[bool] = False  #: whether calls cross a network; a crawl then makes them in threads
    secret: SecretSeed | None = None  #: the seed that the namespace keeps; None if its seed is no secret
    notes: NoteTables = NoteTables()  #: values beside the records; by default none is kept
    lost_leases: int = 0  #: how often a renewal found that the lease of this object had ended, and began another

    @abstractmethod
    def offer(self, record: Record, since: int = 0) -> Offer:
        """File ``record`` as an open claim unless a live record with id > ``since`` is under a lookup key.

        It removes dead records that it finds (on a server at most ``BUCKET_CAP``), and the two oldest records
        if they are past their time to live, so that the store does not grow without bound. Damaged records are
        removed likewise.

        Args:
            record: the record to file.
            since: records with at most this id are ignored: the caller has compared them already.

        Returns:
            The id of the new claim, or the candidates. Ids rise and are never reused.
        """

    @abstractmethod
    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        """File ``record`` as committed unless a live record with id > ``since`` is under a lookup key.

        This is :meth:`offer` and :meth:`commit` in one step.

        Args:
            record: the record to file.
            since: records with at most this id are ignored.
            supersede: ids of records to remove if the record is filed.
        """

    def add_stored(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        """File a page whose item is stored. Arguments and result are those of :meth:`add`.

        The caller repeats a call without a reply. So the record is not withdrawn, and the repeated call finds it.
        """
        return self.add(record, since, supersede)

    @abstractmethod
    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        """Call :meth:`add` for each record in order, in one batch. When it raises, none stays filed."""

    def restore(self, records: Sequence[Record]) -> int:
        """File the records that are not stored yet as committed, without comparing them; return how many."""
        fresh = [record for record in records if not record.is_among(self.find(record.own_keys))]
        for record in fresh:
            self.add(record, FILE_ANYWAY)
        return len(fresh)

    def together(self, work: Callable[[], T]) -> T:
        """Call ``work``, and return its result. Where transactions are local, all its calls of this store share one.

        Args:
            work: offers records. It may be called again after an attempt that left nothing in the store. It takes
                milliseconds at most: other processes wait meanwhile.

        Raises:
            Exception: what ``work`` raises. Where the calls share a transaction, none of them has changed anything.
        """
        return work()

    @abstractmethod
    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        """Return the live records under these bucket keys, by rising id. Changes nothing."""

    @abstractmethod
    def get(self, id: int) -> Candidate | None:
        """Return the live record with this id; None once it was released, forgotten or pruned."""

    @abstractmethod
    def scraped(self, id: int) -> bool:
        """Mark an own open claim as scraped. Returns False if the claim no longer exists."""

    def scraped_many(self, ids: Iterable[int]) -> None:
        """Mark own open claims as scraped; those that no longer exist are ignored."""
        for id in ids:
            self.scraped(id)

    @abstractmethod
    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        """Make own claims permanent and remove the records they supersede, in one atomic step.

        A claim whose lease has ended can be committed as long as no other worker has removed it.

        Args:
            ids: the claims.
            supersede: ids of records to remove; ignored when none of the claims exists any more.

        Returns:
            How many of the claims existed.
        """

    @abstractmethod
    def release(self, ids: Iterable[int]) -> int:
        """Withdraw own claims and their records; return how many existed."""

    @abstractmethod
    def renew(self) -> int:
        """Extend the lease of every own claim; return how many there are."""

    @abstractmethod
    def lookup(self, url: str) -> Candidate | None:
        """Return the newest live record of this URL."""

    @abstractmethod
    def records(self, on_damage: OnDamage = raise_damage) -> Iterator[Candidate]:
        """Yield the live records by rising id. Reads in batches: records filed meanwhile may be included.

        Args:
            on_damage: is called with the error of each damaged record, which is skipped.
        """

    @abstractmethod
    def forget(self, url: str, on_damage: OnDamage = log_damage) -> int:
        """Remove all records of this URL; return how many.

        Args:
            url: the URL.
            on_damage: is called with the error of each damaged record under the key of this URL, which is
                skipped. What it raises ends the operation; records may have been removed by then.
        """

    @abstractmethod
    def prune(self, older_than: float, on_damage: OnDamage = log_damage) -> int:
        """Remove old records and everything that dead processes left; return how many records were removed.

        Args:
            older_than: Unix time in seconds; committed records seen before it, or past their time to live,
                are removed.
            on_damage: as for :meth:`forget`, for each damaged record that would have to be removed.
        """

    @abstractmethod
    def info(self) -> StoreInfo:
        """Count what is filed, live or not."""

    def publish(self, stats: WorkerStats) -> None:  # optional: only servers keep them
        """Set the statistics of this worker, which are sent to a server with the next :meth:`renew` and on closing."""

    def workers(self) -> WorkersInfo | None:
        """Return the published statistics of all workers; None for a store that keeps none."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Withdraw own claims that are open or scraped, then release all resources. May be called twice."""


@dataclass(frozen=True, slots=True)
class FilingDecision:
    """The decision about a page, by the candidates that are known."""

    record: Record | None  #: to file, once no blocker is left; None: the page is not filed
    blockers: tuple[int, ...] = ()  #: ids of candidates whose claims are to be settled before
    is_final: bool = False  #: whether the page is not filed whatever other candidates there are


@dataclass(frozen=True, slots=True)
class JudgedOffer:
    """A record that a store claims unless it is judged otherwise."""

    record: Record
    #: Is called with all live candidates that are known, whenever there are new ones. None: the record is filed anyway.
    judge: Callable[[Sequence[Candidate]], FilingDecision] | None
    committed: bool = False  #: whether to commit it in the same step
    #: Returns for each of some records, which were read lately, whether it drops no page like this.
    ignores: Callable[[Sequence[Record]], Sequence[bool]] | None = None


class JudgedStore(Store):
    """A store that cannot search and file a record in one atomic step, and so asks the caller in between.

    If pages would drop each other, one of them is kept, as if they had arrived in some order.
    """

    @abstractmethod
    def commit_and_offer(self, ids: Iterable[int], offers: Sequence[JudgedOffer]) -> tuple[int, list[Offer]]:
        """Commit claims in the round trips in which pages are claimed together.

        When it raises, none of the pages is claimed, and any of the claims may be committed: commit them again.

        Args:
            ids: own claims to make permanent, as with :meth:`commit`.
            offers: pages to claim.

        Returns:
            How many of the claims existed. And for each page the id of its claim, or None, and all candidates that
            were judged. If a page was not filed because of blockers, the caller waits for them and offers it again.
        """

    def offer_judged(self, offers: Sequence[JudgedOffer]) -> list[Offer]:
        """Claim pages together, as :meth:`commit_and_offer` does."""
        return self.commit_and_offer((), offers)[1]


def scheme_json(scheme: Mapping[str, object]) -> str:
    """Return a configuration as canonical JSON: equal configurations give equal texts."""
    return json.dumps(scheme, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def check_scheme(url: str, namespace: str, there: str, here: str) -> None:
    """Require two configurations to be equal: signatures of different ones are not comparable.

    Args:
        url: of the store, for the message.
        namespace: for the message.
        there: the configuration that filled the store, as :func:`scheme_json` writes it.
        here: that of this process, likewise.

    Raises:
        StoreMismatchError: they differ; the message names the settings.
    """
    if there != here:
        raise StoreMismatchError(
            f"The store {url} (namespace {namespace!r}) was filled under another configuration: "
            f"{differing_settings(json.loads(there), json.loads(here))}. "
            "Use the former settings, or another namespace, or start over with DEDUP_RESET."
        )


def differing_settings(there: Mapping[str, object], here: Mapping[str, object]) -> str:
    """Name the settings by which two configurations differ, each with the constants that it shapes."""
    by_setting: dict[str, list[str]] = {}
    for text in differences({_TEXT: {}, **there}, {_TEXT: {}, **here}):
        by_setting.setdefault(_setting_of(text.partition(" is ")[0]), []).append(text)
    return ", ".join(f"{setting} ({'; '.join(texts)})" for setting, texts in by_setting.items())


def _setting_of(constant: str) -> str:
    """Return the setting that shapes a constant with this dotted name in a scheme."""
    *owner, name = constant.split(".")
    if owner and (owner == [_TEXT] or name in _SHARED):
        return f"DEDUP_{name.upper()}"
    return "DEDUP_THRESHOLD or DEDUP_DETECTORS" if name in _BANDS else "DEDUP_DETECTORS"


def check_unused(url: str, namespace: str, users: int) -> None:
    """Raise ``StoreInUseError`` unless a namespace that is to be removed has no other ``users``."""
    if users:
        raise StoreInUseError(
            f"The store {url} (namespace {namespace!r}) cannot be reset: others have it open ({users}). "
            "Stop them, or use another namespace. On a server, a worker that was killed counts until its lease ends."
        )


def log_reset(url: str, namespace: str, pages: int) -> None:
    """Log that a namespace was removed."""
    message = "The store %(url)s (namespace %(namespace)r) starts over: %(pages)d pages are forgotten"
    logger.info(message, {"url": url, "namespace": namespace, "pages": pages})


def check_secret(url: str, namespace: str, there: SecretSeed | None, here: SecretSeed | None) -> None:
    """Raise ``StoreMismatchError`` unless two secret seeds are equal; neither is shown."""
    if there != here:
        raise StoreMismatchError(
            f"The store {hide_password(url)} (namespace {namespace!r}) was filled with another secret seed: "
            "its pages cannot be compared. Use another namespace or another store."
        )


def differences(there: object, here: object, name: str = "") -> list[str]:
    """Describe every constant that differs by its dotted name: ``minhash.slots is 64 there, 128 here``."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        names = sorted({*there, *here})
        pairs = ((there.get(each, _MISSING), here.get(each, _MISSING), each) for each in names)
        return [text for old, new, each in pairs for text in differences(old, new, f"{name}.{each}".strip("."))]
    return [] if there == here else [f"{name} is {_as_json(there)} there, {_as_json(here)} here"]


def _as_json(value: object) -> str:
    return _MISSING if value is _MISSING else json.dumps(value, ensure_ascii=False)
