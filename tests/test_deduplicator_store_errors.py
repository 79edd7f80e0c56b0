"""The store is unreachable, or its reply is lost: nothing is filed twice, nothing is forgotten."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import pytest

from dedupcrawl import Claim, Deduplicator, Page, Pending, Status
from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import Offer, Record
from dedupcrawl.stores.transactional import MemoryStore
from tests.texts import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


class LosingAnswers(MemoryStore):
    """A store that loses the reply to its next offer or commit."""

    lost = ""  #: the call whose reply is lost
    after = 0  #: answers that still come

    def offer(self, record: Record, since: int = 0) -> Offer:
        return self.answer("offer", super().offer(record, since))

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        return self.answer("commit", super().commit(ids, supersede))

    def answer(self, call: str, answer: T) -> T:
        if call == self.lost:
            self.after -= 1
            if self.after < 0:
                self.lost = ""
                raise StoreError("timed out")
        return answer


@pytest.fixture
def losing() -> LosingAnswers:
    return LosingAnswers("x", "{}", lease=60, ttl=None, clock=time.time)


def held(claim: Claim | Pending) -> Claim:
    assert isinstance(claim, Claim)
    return claim


def filed(dedup: Deduplicator, url: str, text: str = ENGLISH) -> Record:
    record = dedup.fingerprint(Page.from_text(text, url))
    assert isinstance(record, Record)
    return record


def test_an_offer_whose_answer_was_lost_is_found_again(losing: LosingAnswers) -> None:
    dedup = Deduplicator(losing)
    record = filed(dedup, "https://a.example/1")
    losing.lost = "offer"
    with pytest.raises(StoreError):
        dedup.claim_record(record, record.url)
    claim = held(dedup.claim_record(record, record.url))
    assert claim.verdict.status is Status.UNIQUE
    assert (dedup.info().pages, dedup.info().open) == (1, 1)

    again = filed(dedup, "https://a.example/1")  # another visit is another page
    assert isinstance(dedup.claim_record(again, again.url), Pending)
    claim.commit()
    assert (dedup.info().pages, dedup.info().open) == (1, 0)


def test_a_lost_offer_is_judged_by_what_stood_there_before_it(losing: LosingAnswers) -> None:
    dedup = Deduplicator(losing, keep="latest")
    dedup.add(text=ENGLISH, url="https://a.example/1")
    record = filed(dedup, "https://b.example/2")
    losing.lost, losing.after = "offer", 1
    with pytest.raises(StoreError):
        dedup.claim_record(record, record.url)
    claim = held(dedup.claim_record(record, record.url))
    assert claim.verdict.supersedes == "https://a.example/1"
    claim.commit()
    assert dedup.info().pages == 1
    assert dedup.lookup("https://b.example/2") is not None


def test_a_commit_whose_answer_was_lost_may_be_repeated(losing: LosingAnswers) -> None:
    dedup = Deduplicator(losing)
    claim = dedup.claim(text=ENGLISH, url="https://a.example/1")
    losing.lost = "commit"
    with pytest.raises(StoreError):
        claim.commit()
    claim.commit()
    assert (dedup.info().pages, dedup.info().open) == (1, 0)


def test_a_claim_that_a_later_version_replaced_is_not_filed_again(losing: LosingAnswers) -> None:
    """As with two feeds: the feed of the later version is stored first."""
    dedup = Deduplicator(losing, keep="latest")
    old = dedup.claim(text=ENGLISH, url="https://a.example/1")
    old.scraped()
    new = dedup.claim(text=ENGLISH, url="https://b.example/2")
    assert new.supersedes == (old.id,)
    new.commit()
    old.commit()
    assert (dedup.info().pages, dedup.info().open) == (1, 0)
    assert dedup.check(text=ENGLISH, url="https://c.example/3").of == "https://b.example/2"


def test_a_page_that_was_stored_unasked_is_remembered_once(losing: LosingAnswers) -> None:
    dedup = Deduplicator(losing)
    record = filed(dedup, "https://a.example/1")
    assert dedup.remember(record)
    assert dedup.remember(record)
    assert (dedup.info().pages, dedup.info().open) == (1, 0)
    assert not dedup.remember(filed(dedup, "https://b.example/2"))  # it repeats the first
    assert dedup.check(text=ENGLISH, url="https://c.example/3").of == "https://a.example/1"


def test_what_is_remembered_late_replaces_nothing_newer(losing: LosingAnswers) -> None:
    dedup = Deduplicator(losing, keep="latest")
    old = filed(dedup, "https://a.example/1")
    dedup.add(text=ENGLISH.upper() + " More was said later.", url="https://a.example/1")
    assert dedup.remember(old)
    assert dedup.info().pages == 2


def test_what_is_remembered_does_not_wait(losing: LosingAnswers) -> None:
    dedup = Deduplicator(losing)
    claim = dedup.claim(text=ENGLISH, url="https://a.example/1")
    assert dedup.remember(filed(dedup, "https://b.example/2"))
    claim.release()
    assert dedup.check(text=ENGLISH, url="https://c.example/3").of == "https://b.example/2"
