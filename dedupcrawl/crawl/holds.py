"""A verdict in force while items are in the pipelines under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.crawl.waiting import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.extensions.feedexport import FeedSlot

    from dedupcrawl.claim import Claim
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.report.note import Note
    from dedupcrawl.stores.base import Candidate, Record
    from dedupcrawl.verdict import Verdict


class Met(NamedTuple):
    """What a page was compared with."""

    record: Record
    candidates: Sequence[Candidate]


class Hold:
    """What one judgement holds in the store, and how far its items have come.

    ``outcome`` is settled when the store knows whether the content was scraped: pages that repeat
    it wait for that.
    """

    __slots__ = (
        "claim",
        "feeds",
        "in_flight",
        "lost",
        "met",
        "note",
        "outcome",
        "over",
        "record",
        "scraped",
        "verdict",
        "visit",
    )

    def __init__(
        self,
        verdict: Verdict,
        visit: Visit | None = None,
        claim: Claim | None = None,
        record: Record | None = None,
        met: Met | None = None,
    ) -> None:
        self.verdict = verdict
        self.visit = visit  #: the response whose items share it; None: it is for one item alone
        self.claim = claim  #: None when nothing is filed
        self.record = record  #: to be filed once its items are safe: the store could not be asked
        self.met = met  #: until it is written down; a hold may last until the feed is closed
        self.note: Note | None = None  #: what the ledger knows of it
        self.in_flight = 0  #: items in the pipelines
        self.scraped = False  #: at least one item went through all pipelines
        self.feeds: set[FeedSlot] = set()  #: open feeds that have taken one of its items
        self.lost = False  #: a feed that had taken one of its items could not be stored
        self.over = False  #: committed or released
        self.outcome = Outcome()

    @property
    def is_ripe(self) -> bool:
        """Whether nothing more will happen to its items."""
        return not self.in_flight and not self.feeds and (self.visit is None or self.visit.is_over)

    @property
    def is_refused(self) -> bool:
        """Whether every item that came so far was dropped or failed."""
        return not self.in_flight and not self.scraped
