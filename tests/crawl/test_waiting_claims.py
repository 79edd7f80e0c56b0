"""Claims that wait for their feeds are read back as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Claim, Status, Verdict
from dedupcrawl.crawl.items import ItemClaim, OutcomeCounts, PageState, ResponseState
from dedupcrawl.crawl.waiting_claims import MAX_MEMORY, WaitingClaimTable, waits_for_feeds_only
from dedupcrawl.stores.base import KEY_BYTES, Record

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.extensions.feedexport import FeedSlot

    from dedupcrawl.decision import ClaimOwner

OWNER = cast("ClaimOwner", object())
FEED, OTHER = cast("FeedSlot", object()), cast("FeedSlot", object())

KEY = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
RECORDS = st.builds(
    Record,
    url=st.text(max_size=30),
    keys=st.lists(KEY, max_size=5).map(tuple),
    sketches=st.lists(st.binary(max_size=20), max_size=3).map(tuple),
    seen=st.floats(0, 2e9),
    cluster=st.text(max_size=12),
    probes=st.none() | st.lists(KEY, max_size=3).map(tuple),
    identity=st.binary(max_size=255),
)
IDS = st.integers(1, 2**112 - 1)


def scraped(claim: Claim | None, *, unchecked: bool = False, outcomes: OutcomeCounts | None = None) -> ItemClaim:
    verdict = Verdict("http://a", Status.UNCHECKED if unchecked else Status.UNIQUE, keep=True)
    made = ItemClaim(verdict, claim=claim)
    if outcomes is not None:
        outcomes.add(made)
    made.advance(PageState.SCRAPED)
    made.outcome.set()
    return made


def filed(id: int = 1, record: Record | None = None, supersedes: tuple[int, ...] = ()) -> Claim:
    return Claim(Verdict("http://a", Status.UNIQUE, keep=True), OWNER, id, record, supersedes)


@given(
    rows=st.lists(st.tuples(st.booleans(), IDS, st.none() | RECORDS, st.lists(IDS, max_size=2).map(tuple))),
    size=st.integers(1, 4),
)
def test_claims_are_read_back(rows: list[tuple[bool, int, Record | None, tuple[int, ...]]], size: int) -> None:
    waiting = WaitingClaimTable([FEED])
    outcomes = OutcomeCounts()
    for unchecked, id, record, supersedes in rows:
        assert waiting.add(scraped(filed(id, record, supersedes), unchecked=unchecked, outcomes=outcomes))
    chunks = list(waiting.chunks(size))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    found = [claim for chunk in chunks for claim in chunk]
    assert all(each.state is PageState.SCRAPED and each.is_complete and each.outcome.is_set for each in found)
    read = [(each.verdict.status is Status.UNCHECKED, each.claim) for each in found]
    assert [
        (unchecked, claim.id, claim.record, claim.supersedes, claim.deduplicator) for unchecked, claim in read if claim
    ] == [(*row, OWNER) for row in rows]
    for each in found:
        each.advance(PageState.COMMITTED)
    assert outcomes.of(PageState.COMMITTED) == len(rows)
    assert outcomes.of(PageState.SCRAPED) == 0


def test_a_page_of_which_nothing_is_filed_waits_too() -> None:
    waiting = WaitingClaimTable([FEED])
    assert waiting.add(scraped(None))
    ((found,),) = waiting.chunks(9)
    assert (found.claim, found.record, found.state) == (None, None, PageState.SCRAPED)


def test_a_claim_that_is_in_use_stays_the_same_object() -> None:
    waiting = WaitingClaimTable([FEED, OTHER])
    used, other = scraped(filed(1)), scraped(filed(2))
    used.feeds |= {FEED, OTHER}
    assert waiting.add(used)
    assert waiting.add(other)
    del other
    waiting.feed_closed(FEED, is_stored=True)
    assert (waiting.feeds, used.feeds) == ({OTHER}, {OTHER})
    used.in_flight += 1  # another item of its page
    waiting.feed_closed(OTHER, is_stored=True)
    ((first, second),) = waiting.chunks(9)
    assert first is used
    assert (used.feeds, used.is_complete) == (set(), False)
    assert second.is_complete
    assert second.claim is not None
    assert second.claim.id == 2


@pytest.mark.parametrize("stored", [(False, True), (True, False), (False, False)])
def test_an_item_is_lost_if_one_of_its_feeds_is(stored: tuple[bool, bool]) -> None:
    waiting = WaitingClaimTable([FEED, OTHER])
    used = scraped(filed(1))
    assert waiting.add(used)
    assert waiting.add(scraped(filed(2)))
    for feed, is_stored in zip((FEED, OTHER), stored, strict=True):
        waiting.feed_closed(feed, is_stored=is_stored)
    ((first, second),) = waiting.chunks(9)
    assert first is used
    assert (first.state, second.state) == (PageState.LOST, PageState.LOST)


def test_a_full_disk_leaves_what_was_written(tmp_path: Path) -> None:
    record = Record("http://a", (), (bytes(MAX_MEMORY // 3),), 0.0)
    waiting = WaitingClaimTable([FEED], str(tmp_path / "missing"))
    written = [waiting.add(scraped(filed(id, record))) for id in (1, 2, 3, 4)]
    assert written == [True, True, False, False]
    assert [claim.claim and claim.claim.id for chunk in waiting.chunks(9) for claim in chunk] == [1, 2]


def test_which_claims_wait_for_nothing_else() -> None:
    assert waits_for_feeds_only(scraped(filed()))
    assert waits_for_feeds_only(scraped(None))
    assert not waits_for_feeds_only(ItemClaim(Verdict("", Status.UNIQUE, keep=True), claim=filed()))
    for change in (
        lambda claim: setattr(claim, "in_flight", 1),
        lambda claim: setattr(claim, "response", ResponseState()),
        lambda claim: setattr(claim.outcome, "is_set", False),
        lambda claim: setattr(claim, "record", Record("", (), (), 0.0)),
        lambda claim: claim.advance(PageState.LOST),
    ):
        claim = scraped(filed())
        change(claim)
        assert not waits_for_feeds_only(claim)
