"""The states of pages in a crawl that asks for known pages conditionally (:mod:`dedupcrawl.crawl.validators`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson
from scrapy import Request

from dedupcrawl.crawl.validator_entry import ValidatorEntry
from dedupcrawl.decision import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.decision import Verdict

#: Reasons of unchecked pages whose items are kept for another cause than the page itself.
_UNCERTAIN = frozenset(("skip", "store", "claimed", "error", "no-response", "other-item", "other-page", "too-slow"))


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A request of this crawl, and what is known of its page."""

    site: str
    key: bytes
    entry: ValidatorEntry | None = None  #: of its last visit, if that is valid
    requests: tuple[Request, ...] | None = None  #: to make again after 304; None: it was asked for unconditionally
    fields: bytes = b""  #: the request itself, to make it again if the server turns out to lie


@dataclass(eq=False, slots=True)
class RevisitState:
    """A page from its response to the end of its items."""

    page: KnownPage
    etag: str
    modified: str
    body: str
    size: int
    requests: list[dict[str, Any]] = field(default_factory=list)
    passed: int = 0  #: requests that left the spider middlewares
    items: int = 0  #: that the spider has made
    open: int = 0  #: items in the pipelines
    proofs: list[int] = field(default_factory=list)  #: ids of records
    repeats: list[str] = field(default_factory=list)  #: URLs of the pages that its items repeat
    has_news: bool = False  #: whether an item was kept that is no copy of an earlier page
    is_unchecked: bool = False  #: whether an item was kept without a comparison
    is_incomplete: bool = False  #: it cannot be asked for conditionally
    is_compared: bool = False  #: it was compared with its last visit, and its validators told the truth
    has_ended: bool = False  #: the spider has yielded everything

    def note_claim(self, verdict: Verdict, filed: int | None, *, is_deferred: bool) -> None:
        """Note a claim that an item shares.

        Args:
            verdict: on the page.
            filed: id of its record; None: nothing was filed.
            is_deferred: whether it is to be filed later, since the store is away.
        """
        if filed is not None:
            self.proofs.append(filed)
            self.has_news = True
        elif verdict.status is Status.DUPLICATE and verdict.of:
            self.repeats.append(verdict.of)
        elif verdict.status is Status.UNCHECKED and verdict.reason not in _UNCERTAIN and not is_deferred:
            self.is_unchecked = True
        else:
            self.is_incomplete = True

    def output_passed(self, output: object) -> None:
        """Note an output of the spider that has left the spider middlewares."""
        if isinstance(output, Request):
            self.passed += 1
        elif output is not None:
            self.items += 1
            self.open += 1

    def has_validators_of(self, entry: ValidatorEntry) -> bool:
        """Whether ETag and Last-Modified are those of an earlier visit."""
        return (self.etag, self.modified) == (entry.etag, entry.modified)

    def entry(self, proofs: tuple[int, ...], *, code: str, at: float, turn: int) -> ValidatorEntry:
        """Return the entry of this visit; for the arguments see :class:`ValidatorEntry`."""
        requests = tuple(self.requests)
        compared = self.is_compared + (self.page.entry.compared if self.page.entry is not None else 0)
        return ValidatorEntry(
            self.etag, self.modified, self.body, self.size, self.items, requests, proofs, code, at, turn, compared
        )

    @property
    def was_unconditional(self) -> bool:
        """Whether a known page was downloaded without a condition."""
        return self.page.entry is not None and self.page.requests is None

    def differs_from(self, entry: ValidatorEntry) -> bool:
        """Whether the page brought something that its last visit did not."""
        if self.body == entry.body:
            return False
        is_same = self.items == entry.items and _texts(self.requests) == _texts(entry.requests)
        return self.has_news or self.is_unchecked or not is_same


@dataclass(eq=False, slots=True)
class UnchangedPage:
    """A page that was answered with 304."""

    page: KnownPage

    def refreshed(self, now: float) -> ValidatorEntry | None:
        """Return its entry, for which one more crawl has passed."""
        entry = self.page.entry
        return None if entry is None else replace(entry, at=now, turn=entry.turn - 1)


def _texts(requests: Sequence[Any]) -> list[bytes]:
    return sorted(orjson.dumps(each, option=orjson.OPT_SORT_KEYS) for each in requests)
