"""The requests of a crawl that foresees copies: which may be left out, and what is known of them until a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.responses import SKIP
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS
from dedupcrawl.foresee.rule_learner import UNKNOWN

if TYPE_CHECKING:
    from scrapy import Request

    from dedupcrawl.foresee.rule_learner import ForeseenPage

POSTPONED, AGAIN = "dedup_postponed", "dedup_again"  #: keys of Request.meta
LATE = "dedup_late"  #: the same: the request was postponed because its pattern brings nothing new
#: The same: sites and rules that are probed in an audit, by the request or by the page which it was found on.
THROUGH = "dedup_through"
#: The same: sites and rules that were probed, before the audit, by the page which the request was found on.
FOUND_ON_PROBE = "dedup_on_probe"
OWN_KEYS = (POSTPONED, AGAIN, THROUGH, LATE, FOUND_ON_PROBE)

#: Reasons of unchecked pages that say nothing about the page.
_NO_EVIDENCE = frozenset(("skip", "store", "claimed", "error", "no-response", "other-item", "other-page", "soft-404"))
Probed: TypeAlias = tuple[tuple[str, str], ...]  #: rules that a page probes: site and text of each


class RequestOutcome(Enum):
    """What is done with a request."""

    SENT = "sent"
    POSTPONED = "postponed"  #: it is sent when no other requests are left
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class RequestState:
    """A request that was sent, until its page is judged."""

    purpose: str  #: name of its callback
    page: ForeseenPage | None = None  #: the page that it was foreseen to repeat
    rules: tuple[str, ...] = ()  #: that are probed by it
    through: Probed = ()  #: sites and rules whose last probes led to it
    again: str = ""  #: key of the stored request, in hexadecimal digits
    is_touchable: bool = False  #: whether it could have been skipped
    form: int = 0  #: hash of the canonical form of its URL; 0: no rule acts


def purpose_of(request: Request) -> str:
    """Return what a request is for: pages of different callbacks are not compared."""
    name = str(getattr(request.callback, "__name__", request.callback or ""))
    return "" if name == "parse" else name


def is_touchable(request: Request) -> bool:
    """Whether a request may be postponed or skipped.

    Not: seeds, other methods than GET, ``dedup_skip``, ``dont_filter``, files of pipelines, and what is sent again for
    an audit.
    """
    meta = request.meta
    is_seed = not meta.get("depth") and (meta.get("is_start_request", False) or "depth" not in meta)
    is_own = POSTPONED in meta or (AGAIN in meta and THROUGH not in meta)
    return (
        request.method == "GET"
        and (is_own or not (request.dont_filter or is_seed or AGAIN in meta))
        and not meta.get(SKIP)
        and request.callback is not NO_CALLBACK
    )


def content_of(verdict: Verdict) -> int | None:
    """Return a hash that copies of one content share, or ``UNKNOWN``; None if the verdict says nothing."""
    if verdict.reason in _NO_EVIDENCE:
        return None
    is_copy = not verdict.keep and verdict.relation in DUPLICATE_RELATIONS
    if is_copy or (verdict.status is Status.UNIQUE and verdict.keep):
        return hash(verdict.cluster)
    return UNKNOWN if verdict.status is Status.UNCHECKED else hash(("own", verdict.url))
