from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.crawl_shell import NullDeduplicator
from dedupcrawl import Claim, Deduplicator, Page, Pending, Status, Verdict
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import SettingError, StoreError, StoreMismatchError
from dedupcrawl.stores.base import Offer, Record
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"lmdb://{tmp_path}/seen"


@pytest.fixture
def dedup(store: str) -> Iterator[Deduplicator]:
    with Deduplicator(store) as opened:
        yield opened


def retouched(text: str) -> str:
    return text.replace("Nobody was hurt", "No one was hurt").replace("没有人受伤", "无人受伤")


@pytest.mark.parametrize("stories", [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE)])
def test_stories_beside_the_same_long_list_are_not_alike(dedup: Deduplicator, stories: tuple[str, str]) -> None:
    rest = "\n".join(f"In the town of {n} the council has met {n} times about bridge {n}." for n in range(999))
    first, second, again = (
        dedup.add(Page(url=f"https://a.example/{n}", text=story, rest=rest))
        for n, story in enumerate((*stories, stories[0]))
    )
    assert (first.status, second.status) == (Status.UNIQUE, Status.UNIQUE)
    assert (again.relation, again.of) == (Relation.IDENTICAL, "https://a.example/0")


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_first_copy_is_unique_and_the_second_names_it(dedup: Deduplicator, text: str) -> None:
    first = dedup.add(text=text, url="https://a.example/1")
    second = dedup.add(text=f"  {text.upper()}\n", url="https://b.example/2")
    assert (first.status, first.keep, first.of) == (Status.UNIQUE, True, None)
    assert (second.status, second.keep, second.of) == (Status.DUPLICATE, False, "https://a.example/1")
    assert (second.relation, second.detector, second.similarity) == (Relation.IDENTICAL, "exact", 1.0)
    assert second.cluster == first.cluster


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_near_duplicate_comes_with_evidence(dedup: Deduplicator, text: str) -> None:
    dedup.add(text=text, url="https://a.example/1")
    verdict = dedup.add(text=retouched(text), url="https://b.example/2")
    assert verdict.relation is Relation.NEAR_DUPLICATE
    assert not verdict.keep
    assert verdict.similarity is not None
    assert 0.8 <= verdict.similarity <= 1
    assert verdict.evidence


def test_other_texts_are_kept(dedup: Deduplicator) -> None:
    texts = [ENGLISH, CHINESE, OTHER_ENGLISH, OTHER_CHINESE]
    verdicts = [dedup.add(text=text, url=f"https://a.example/{n}") for n, text in enumerate(texts)]
    assert [verdict.status for verdict in verdicts] == [Status.UNIQUE] * 4
    assert len({verdict.cluster for verdict in verdicts}) == 4


def test_same_opening_other_ending_is_kept(dedup: Deduplicator) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1")
    assert dedup.add(text=ENGLISH[:350] + OTHER_ENGLISH[100:], url="https://b.example/2").keep


def test_check_changes_nothing(dedup: Deduplicator) -> None:
    for _ in range(2):
        assert dedup.check(text=ENGLISH, url="https://a.example/1").status is Status.UNIQUE
    assert dedup.info().pages == 0


@pytest.mark.parametrize(
    "url", ["", "https://a.example/new#part", "https://a.example/1", "https://c.example/1", "none"]
)
@pytest.mark.parametrize(
    "text",
    ["", " \n", "ok", "🎈" * 200, ENGLISH, f"{ENGLISH} Afterwards.", CHINESE, OTHER_ENGLISH, "\ud800" + OTHER_CHINESE],
)
def test_a_plain_text_is_checked_as_a_page_with_this_text(text: str, url: str) -> None:
    """Also where the site repeats lines, and for the second page of a site."""
    with Deduplicator() as dedup:
        about = "The Harbour Courier is an independent paper that has been printed in this town since the year 1887.\n"
        for number in range(4):
            own = "\n".join(f"Sentence {line} of page {number} tells of {number * line} ships." for line in range(40))
            dedup.add(text=about + own, url=f"https://a.example/{number}")
        dedup.add(text=f"{ENGLISH}\n{ENGLISH}", url="https://b.example/1")
        dedup.add(text=ENGLISH, url="https://b.example/2")
        for given in (text, about + text):
            assert dedup.check(text=given, url=url) == dedup.check(Page.from_text(given, url))


def test_same_url_unchanged_then_updated(dedup: Deduplicator) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1#top")
    again = dedup.add(text=ENGLISH, url="https://a.example/1")
    small = dedup.add(text=retouched(ENGLISH), url="https://a.example/1")
    other = dedup.add(text=OTHER_ENGLISH, url="https://a.example/1#end")
    assert (again.relation, again.keep, again.status) == (Relation.UNCHANGED, False, Status.DUPLICATE)
    assert (small.relation, small.keep, small.status) == (Relation.REFRESHED, True, Status.UNIQUE)
    assert (other.relation, other.keep) == (Relation.UPDATED, True)
    assert (other.detector, other.similarity) == ("url", None)
    assert small.cluster == again.cluster
    assert other.cluster != again.cluster
    assert dedup.add(text=OTHER_ENGLISH, url="https://a.example/1").relation is Relation.UNCHANGED


@pytest.mark.parametrize("name", ["feature_code", "feature_codes", "minhash", "datasketch"])
def test_unchanged_means_the_same_text_whatever_detector_judges(name: str) -> None:
    with Deduplicator(detectors=[name]) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        assert dedup.add(text=ENGLISH.upper(), url="https://a.example/1").relation is Relation.UNCHANGED
        first, _, rest = ENGLISH.partition(". ")
        rewritten = f"{first}. {OTHER_ENGLISH}"[: len(first) + len(rest)]
        for text, relation in ((retouched(ENGLISH), Relation.REFRESHED), (rewritten, Relation.UPDATED)):
            verdict = dedup.add(text=text, url="https://a.example/1")
            assert (verdict.relation, verdict.keep) == (relation, True)


def test_every_version_of_an_updated_page_still_guards_its_content(dedup: Deduplicator) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1")
    dedup.add(text=OTHER_ENGLISH, url="https://a.example/1")
    for n, text in enumerate((ENGLISH, OTHER_ENGLISH)):
        assert dedup.add(text=text, url=f"https://b.example/{n}").relation is Relation.IDENTICAL


def test_short_texts_are_compared_exactly_only(dedup: Deduplicator) -> None:
    assert dedup.add(text="The council met on Monday.", url="https://a.example/1").keep
    assert dedup.add(text="The council met on Tuesday.", url="https://a.example/2").status is Status.UNIQUE
    assert dedup.add(text="the council met on monday.", url="https://a.example/3").is_duplicate


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b\u00ad"])
def test_empty_texts_never_match(dedup: Deduplicator, text: str) -> None:
    for n in range(2):
        verdict = dedup.add(text=text, url=f"https://a.example/{n}")
        assert (verdict.status, verdict.reason, verdict.keep) == (Status.UNCHECKED, "empty", True)


def test_texts_that_are_all_but_symbols_are_compared_exactly_only(dedup: Deduplicator) -> None:
    faces, signs = ("".join(chr(first + n % 64) for n in range(150)) for first in (0x1F600, 0x1F680))
    assert dedup.add(text=f"ok {faces}", url="https://a.example/1").keep
    assert dedup.add(text=f"ok {signs}", url="https://a.example/2").status is Status.UNIQUE
    assert dedup.add(text=f"OK {signs}", url="https://a.example/3").relation is Relation.IDENTICAL


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("min_chars", [0, 100])
def test_one_word_is_not_the_same_word_more_often(name: str, min_chars: int) -> None:
    words = ("buffalo ", "badger. ", "港口", "ท่าเรือ", "😀 ")
    texts = [word * times for word in words for times in (40, 41, 300)]
    with Deduplicator(detectors=list(dict.fromkeys(("exact", name))), min_chars=min_chars) as dedup:
        verdicts = [dedup.add(text=text, url=f"https://a.example/{n}") for n, text in enumerate(texts)]
        again = [dedup.add(text=text, url=f"https://b.example/{n}") for n, text in enumerate(texts)]
    assert {verdict.status for verdict in verdicts} == {Status.UNIQUE}
    assert {verdict.relation for verdict in again} == {Relation.IDENTICAL}


def test_short_text_without_exact_stays_unchecked() -> None:
    with Deduplicator(detectors=["minhash"]) as dedup:
        assert dedup.add(text="The council met on Monday.", url="https://a.example/1").reason == "short"


def test_unreadable_html_is_kept_and_states_why(dedup: Deduplicator) -> None:
    verdict = dedup.add(html=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50, url="https://a.example/p")
    assert verdict.status is Status.UNCHECKED
    assert verdict.keep
    assert verdict.reason


def test_html_and_page_are_judged_alike(dedup: Deduplicator) -> None:
    paragraphs = "".join(f"<p>{sentence}.</p>" for sentence in ENGLISH.split(". "))
    dedup.add(
        html=f"<html><body><nav><a href=/>Home</a></nav><article>{paragraphs}</article>", url="https://a.example/1"
    )
    assert dedup.add(
        html=f"<table><tr><td>{paragraphs}</td></tr></table>".encode(), url="https://b.example/"
    ).is_duplicate


TERMS = (
    "All prices include value added tax and are valid while stocks last. We ship within three working days; "
    "goods may be returned within thirty days in their original packing, and we refund the price in full."
)


def catalogue(number: int) -> str:
    goods = "".join(
        f"<div class=card><h3>Tool {number}-{n}</h3><span>{(number * 37 + n * 13) % 97}.50 EUR</span></div>"
        for n in range(20)
    )
    return f"<h1>Catalogue</h1><div class=grid>{goods}</div><div class=terms><p>{TERMS}</p></div>"


def test_pages_of_a_catalogue_are_not_copies_for_their_terms(dedup: Deduplicator) -> None:
    verdicts = [dedup.add(html=catalogue(n), url=f"https://a.example/{n}") for n in range(5)]
    assert [verdict.keep for verdict in verdicts] == [True] * 5
    assert dedup.add(html=catalogue(3), url="https://b.example/3").relation is Relation.IDENTICAL


def test_exactly_one_source_is_accepted(dedup: Deduplicator) -> None:
    with pytest.raises(TypeError, match="html"):
        dedup.check(url="https://a.example/")
    with pytest.raises(TypeError, match="html"):
        dedup.check(html="<p>", text="a", url="https://a.example/")
    with pytest.raises(TypeError, match="str"):
        dedup.check(text=b"a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="page"):
        dedup.check(Page.from_text("a"), text="a")


# -- claims


def page(text: str, url: str) -> Page:
    return Page.from_text(text, url)


def held(claim: Claim | Pending) -> Claim:
    assert isinstance(claim, Claim)
    return claim


def test_a_claim_contains_what_was_judged_and_the_pages_compared(dedup: Deduplicator) -> None:
    alone = dedup.claim(text=ENGLISH, url="https://a.example/1")
    assert alone.candidates == ()
    assert alone.record is not None
    alone.commit()
    copy = dedup.claim(text=retouched(ENGLISH), url="https://b.example/2")
    assert copy.id is None
    assert copy.record is not None
    assert copy.record.url == "https://b.example/2"
    assert [each.record.url for each in copy.candidates] == ["https://a.example/1"]
    assert dedup.candidates(copy.record) == copy.candidates
    other = dedup.claim(text=OTHER_ENGLISH, url="https://a.example/1")
    assert other.id is not None
    assert [each.record.url for each in other.candidates] == ["https://a.example/1"]
    assert dedup.claim(text="Ice.", url="https://a.example/1#2").record is not None
    assert dedup.claim(text="", url="https://a.example/3").record is None


def test_what_the_detectors_say_of_a_pair(dedup: Deduplicator) -> None:
    records = [dedup.fingerprint(page(text, "https://a.example/")) for text in (ENGLISH, retouched(ENGLISH), "Ice.")]
    first, copy, short = (record for record in records if isinstance(record, Record))
    exact, minhash = dedup.assessments(copy, first)
    assert (exact.detector, exact.match, exact.silent) == ("exact", None, "")
    assert minhash.match is not None
    assert minhash.match.relation is Relation.NEAR_DUPLICATE
    _, minhash = dedup.assessments(short, first)
    assert minhash.silent == "the new page has no fingerprint"


def test_released_claim_frees_the_content(dedup: Deduplicator) -> None:
    claim = dedup.claim(text=ENGLISH, url="https://a.example/1")
    claim.release()
    assert dedup.add(text=ENGLISH, url="https://b.example/2").status is Status.UNIQUE


def test_claim_is_settled_once(dedup: Deduplicator) -> None:
    with dedup.claim(text=ENGLISH, url="https://a.example/1") as claim:
        claim.release()  # its item could not be stored, without an exception
    assert dedup.add(text=ENGLISH, url="https://b.example/2").status is Status.UNIQUE
    committed = dedup.claim(text=CHINESE, url="https://a.example/3")
    committed.commit()
    committed.release()
    dedup.forget("https://a.example/3")
    committed.commit()
    assert dedup.add(text=CHINESE, url="https://b.example/4").status is Status.UNIQUE


def test_block_that_raises_releases(dedup: Deduplicator) -> None:
    with pytest.raises(OSError, match="full"), dedup.claim(text=ENGLISH, url="https://a.example/1"):
        raise OSError("disk full")
    with dedup.claim(text=ENGLISH, url="https://b.example/2") as claim:
        assert claim.verdict.keep
    assert dedup.check(text=ENGLISH, url="https://c.example/3").of == "https://b.example/2"


def test_page_that_matches_an_open_claim_waits_for_its_outcome(dedup: Deduplicator) -> None:
    first = held(dedup.try_claim(page(ENGLISH, "https://a.example/1")))
    pending = dedup.try_claim(page(ENGLISH, "https://b.example/2"))
    assert isinstance(pending, Pending)
    assert (pending.id, pending.mine, pending.of) == (first.id, True, "https://a.example/1")
    assert not dedup.is_settled(pending.id)
    first.commit()
    assert dedup.is_settled(pending.id)
    assert held(dedup.try_claim(page(ENGLISH, "https://b.example/2"))).verdict.is_duplicate


def records(dedup: Deduplicator, *texts: str) -> list[tuple[Record, str]]:
    found = dedup.fingerprint_many([page(text, f"https://a.example/{n}") for n, text in enumerate(texts)])
    return [(each, each.url) for each in found if isinstance(each, Record)]


def test_pages_are_claimed_together_in_their_order(dedup: Deduplicator) -> None:
    first, copy, other, near = dedup.claim_records(
        records(dedup, ENGLISH, ENGLISH.upper(), OTHER_ENGLISH, retouched(OTHER_ENGLISH))
    )
    assert [held(each).verdict.status for each in (first, other)] == [Status.UNIQUE, Status.UNIQUE]
    for waiting, claimed in ((copy, first), (near, other)):
        assert isinstance(waiting, Pending)
        assert (waiting.id, waiting.mine) == (held(claimed).id, True)
    dedup.commit([held(first), held(other)])
    again = dedup.claim_records(records(dedup, ENGLISH.upper(), retouched(OTHER_ENGLISH)))
    assert [held(each).verdict.is_duplicate for each in again] == [True, True]


def test_pages_that_are_claimed_together_are_claimed_all_or_none(
    dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = records(dedup, ENGLISH, OTHER_ENGLISH)
    offer = dedup.store.offer

    def failing(record: Record, since: int = 0) -> Offer:
        if record.url == pages[1][1]:
            raise StoreError("The disk is full.")
        return offer(record, since)

    monkeypatch.setattr(dedup.store, "offer", failing)
    with pytest.raises(StoreError, match="disk is full"):
        dedup.claim_records(pages)
    monkeypatch.undo()
    assert (dedup.info().pages, dedup.info().open) == (0, 0)
    claims = [held(each) for each in dedup.claim_records(pages)]
    dedup.commit(claims)
    assert (dedup.info().pages, dedup.info().open) == (2, 0)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_pages_are_fingerprinted_together_as_one_by_one(
    dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool
) -> None:
    monkeypatch.setattr("dedupcrawl.deduplicator.is_compiled", lambda: is_compiled)
    pages = [page(text, f"https://a.example/{n}") for n, text in enumerate((ENGLISH, CHINESE, "", "short"))]
    alone = [dedup.fingerprint(each) for each in pages]
    for one, other in zip(alone, dedup.fingerprint_many(pages, [0.0] * 4), strict=True):
        assert isinstance(other, type(one))
        if isinstance(one, Record) and isinstance(other, Record):
            assert replace(other, seen=one.seen) == one
        else:
            assert other == one


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_time_limit_that_no_page_or_every_page_keeps_is_refused(seconds: float) -> None:
    with pytest.raises(SettingError, match=r"page_timeout = .* seconds above 0; None: no limit"):
        Deduplicator(page_timeout=seconds)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_of_pages_fingerprinted_together_only_the_slow_one_is_too_slow(
    store: str, monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool
) -> None:
    monkeypatch.setattr("dedupcrawl.deduplicator.is_compiled", lambda: is_compiled)
    with Deduplicator(store, page_timeout=20) as dedup:
        pages = [page(ENGLISH, "https://a.example/1"), page(OTHER_ENGLISH, "https://a.example/2")]
        spent = [41.0, 0.0]  # the first has used up its time, and that of the other
        slow, other = dedup.fingerprint_many(pages, spent)
        assert isinstance(slow, Verdict)
        assert slow.reason == "too-slow"
        assert isinstance(other, Record)


def test_own_scraped_claim_counts_as_settled(dedup: Deduplicator) -> None:
    held(dedup.try_claim(page(ENGLISH, "https://a.example/1"))).scraped()
    assert held(dedup.try_claim(page(ENGLISH, "https://b.example/2"))).verdict.is_duplicate


def test_scraped_claim_of_another_living_worker_counts_as_settled(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/seen"
    with Deduplicator(url) as mine, Deduplicator(url, wait=0.05) as theirs:
        claim = held(mine.try_claim(page(ENGLISH, "https://a.example/1")))
        pending = theirs.try_claim(page(ENGLISH, "https://b.example/2"))
        assert isinstance(pending, Pending)
        assert not pending.mine
        claim.scraped()
        assert theirs.is_settled(pending.id)
        assert theirs.claim(text=ENGLISH, url="https://b.example/2").verdict.is_duplicate
        mine.close()  # its item was not stored
        assert theirs.claim(text=ENGLISH, url="https://b.example/2").verdict.status is Status.UNIQUE


def test_waiting_page_takes_over_when_the_first_is_released(dedup: Deduplicator) -> None:
    first = dedup.claim(text=ENGLISH, url="https://a.example/1")
    threading.Timer(0.1, first.release).start()
    with dedup.claim(text=ENGLISH, url="https://b.example/2") as second:
        assert second.verdict.status is Status.UNIQUE


def test_giving_up_keeps_one_too_many(dedup: Deduplicator) -> None:
    held(dedup.try_claim(page(ENGLISH, "https://a.example/1")))
    claim = dedup.try_claim(page(ENGLISH, "https://b.example/2"), give_up=True)
    assert (claim.verdict.reason, claim.verdict.keep) == ("claimed", True)
    assert claim.id is not None


def test_claim_whose_lease_ran_out_is_filed_again_at_commit(store: str) -> None:
    now = [1_000_000.0]
    with Deduplicator(store, clock=lambda: now[0], lease=10) as dedup:
        first = dedup.claim(text=ENGLISH, url="https://a.example/1")
        now[0] += 60
        dedup.add(text=OTHER_ENGLISH, url="https://d.example/4")
        first.commit()
        assert dedup.check(text=ENGLISH, url="https://c.example/3").of == "https://a.example/1"


def test_a_copy_waits_for_a_claim_of_the_same_object_whose_lease_ran_out(store: str) -> None:
    now = [1_000_000.0]
    with Deduplicator(store, clock=lambda: now[0], lease=10) as dedup:
        first = held(dedup.try_claim(page(ENGLISH, "https://a.example/1")))
        now[0] += 60
        pending = dedup.try_claim(page(ENGLISH, "https://b.example/2"))
        assert isinstance(pending, Pending)
        assert pending.mine
        first.commit()
        assert held(dedup.try_claim(page(ENGLISH, "https://b.example/2"))).verdict.of == "https://a.example/1"
        assert dedup.info().pages == 1


def test_renewed_claim_outlives_its_lease(store: str) -> None:
    now = [1_000_000.0]
    with Deduplicator(store, clock=lambda: now[0], lease=10) as dedup:
        dedup.claim(text=ENGLISH, url="https://a.example/1")
        for _ in range(6):
            now[0] += 6
            assert dedup.renew() == 1
        assert isinstance(dedup.try_claim(page(ENGLISH, "https://b.example/2")), Pending)


def test_items_of_one_page_are_no_versions_of_it(dedup: Deduplicator) -> None:
    held(dedup.try_claim(page(ENGLISH, "https://a.example/1"), track_url=False)).commit()
    second = held(dedup.try_claim(page(OTHER_ENGLISH, "https://a.example/1"), track_url=False))
    assert second.verdict.relation is None
    second.commit()
    assert held(dedup.try_claim(page(ENGLISH, "https://a.example/1"), track_url=False)).verdict.relation == "unchanged"
    assert dedup.lookup("https://a.example/1") is not None
    assert dedup.forget("https://a.example/1") == 2


# -- policy


def test_latest_copy_replaces_the_first(store: str) -> None:
    with Deduplicator(store, keep="latest") as dedup:
        first = dedup.add(text=ENGLISH, url="https://a.example/1")
        second = dedup.add(text=retouched(ENGLISH), url="https://b.example/2")
        assert (second.keep, second.status, second.supersedes) == (True, Status.DUPLICATE, "https://a.example/1")
        assert second.cluster == first.cluster
        assert dedup.lookup("https://a.example/1") is None
        third = dedup.add(text=ENGLISH, url="https://c.example/3")
        assert (third.supersedes, third.cluster) == ("https://b.example/2", first.cluster)
        assert dedup.info().pages == 1


def test_superseded_page_stays_until_its_successor_is_safe(store: str) -> None:
    with Deduplicator(store, keep="latest") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        dedup.claim(text=ENGLISH, url="https://b.example/2").release()
        assert dedup.lookup("https://a.example/1") is not None


def test_a_version_whose_outcome_is_open_is_not_superseded(store: str) -> None:
    with Deduplicator(store, keep="latest") as dedup:
        older = dedup.claim(text=ENGLISH, url="https://a.example/1")
        newer = dedup.add(text=CHINESE, url="https://a.example/1")
        assert (newer.relation, newer.supersedes) == (Relation.UPDATED, None)
        assert isinstance(dedup.try_claim(page(ENGLISH, "https://b.example/2")), Pending)
        older.commit()
        assert dedup.check(text=ENGLISH, url="https://b.example/2").supersedes == "https://a.example/1"


def test_relations_to_drop_can_be_chosen() -> None:
    with Deduplicator(drop=frozenset({Relation.IDENTICAL})) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        near = dedup.add(text=retouched(ENGLISH), url="https://b.example/2")
        assert (near.is_duplicate, near.keep) == (True, True)
        assert dedup.add(text=retouched(ENGLISH), url="https://c.example/3").relation is Relation.IDENTICAL


def test_forgotten_page_may_be_stored_again(dedup: Deduplicator) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1")
    assert dedup.forget("https://a.example/1#x") == 1
    assert dedup.add(text=ENGLISH, url="https://b.example/2").status is Status.UNIQUE


def test_pruned_and_expired_pages_come_again(store: str) -> None:
    now = [1_000_000.0]
    with Deduplicator(store, clock=lambda: now[0], ttl=100) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        now[0] += 50
        dedup.add(text=CHINESE, url="https://a.example/2")
        assert dedup.prune(now[0] - 10) == 1
        assert dedup.add(text=ENGLISH, url="https://b.example/1").status is Status.UNIQUE
        now[0] += 101
        assert dedup.add(text=CHINESE, url="https://b.example/2").status is Status.UNIQUE


def test_second_run_with_the_same_store_remembers(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/seen"
    with Deduplicator(url, "news") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
    with Deduplicator(url, "news") as dedup:
        assert dedup.check(text=ENGLISH, url="https://a.example/1").relation is Relation.UNCHANGED
    with Deduplicator(url, "other") as dedup:
        assert dedup.check(text=ENGLISH, url="https://a.example/1").status is Status.UNIQUE


def test_the_order_of_detectors_means_nothing(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/seen"
    with Deduplicator(url, detectors=["minhash", "exact"]) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
    with Deduplicator(url, detectors=["exact", "minhash"]) as dedup:
        assert dedup.check(text=ENGLISH, url="https://a.example/1").relation is Relation.UNCHANGED
        assert dedup.check(text=retouched(ENGLISH), url="https://b.example/2").is_duplicate


def test_store_of_another_configuration_is_refused(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/seen"
    Deduplicator(url, seed=1).close()
    with pytest.raises(StoreMismatchError, match="seed"):
        Deduplicator(url, seed=2)


def test_verdict_as_plain_values(dedup: Deduplicator) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1")
    plain = dedup.add(text=ENGLISH, url="https://b.example/2").to_dict()
    assert plain["status"] == "duplicate"
    assert plain["relation"] == "identical"
    assert "reason" not in plain


def test_threads_keep_one_copy(dedup: Deduplicator) -> None:
    verdicts = []

    def work(n: int) -> None:
        time.sleep(0.001 * (n % 3))
        verdicts.append(dedup.add(text=ENGLISH, url=f"https://s{n}.example/"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(verdict.keep for verdict in verdicts) == 1


def test_many_pages_at_once_are_judged_as_one_after_the_other(dedup: Deduplicator) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1")
    texts = (retouched(ENGLISH), CHINESE, "", OTHER_ENGLISH, CHINESE)
    pages = [Page.from_text(text, f"https://b.example/{n}") for n, text in enumerate(texts)]
    found = dedup.add_many(pages)
    assert [verdict.keep for verdict in found] == [False, True, True, True, False]
    assert [verdict.of for verdict in found] == ["https://a.example/1", None, None, None, "https://b.example/1"]
    assert found[2].reason == "empty"
    with Deduplicator() as other:
        other.add(text=ENGLISH, url="https://a.example/1")
        assert found == [other.add(page) for page in pages]
    assert dedup.add_many([]) == []
    assert dedup.info().pages == 3


def test_of_many_pages_a_new_version_takes_the_place_of_the_old_one(store: str) -> None:
    with Deduplicator(store, keep="latest") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        (found,) = dedup.add_many([Page.from_text(retouched(ENGLISH), "https://b.example/1")])
        assert (found.keep, found.supersedes) == (True, "https://a.example/1")
        assert dedup.lookup("https://a.example/1") is None


def test_a_second_look_that_fails_keeps_the_page(dedup: Deduplicator, monkeypatch: pytest.MonkeyPatch) -> None:
    dedup.add(text=ENGLISH, url="https://a.example/1")

    def fail(*_: object) -> None:
        raise StoreError("gone")

    monkeypatch.setattr(dedup.store, "add", fail)
    first, second = dedup.add_many(
        [Page.from_text(text, f"https://b.example/{n}") for n, text in enumerate((ENGLISH, CHINESE))]
    )
    assert (first.keep, first.reason) == (True, "store")
    assert (second.keep, second.reason) == (True, None)


def test_the_benchmark_of_crawls_replaces_methods_that_exist() -> None:
    mine = {name for name in vars(NullDeduplicator) if not name.startswith("_")}
    assert mine - {"config", "store", "scheme", "lease", "site_memory"} <= {*vars(Deduplicator)}
    assert {"fingerprint", "fingerprint_many"} <= mine


def test_add_many_says_what_it_takes() -> None:
    with (
        Deduplicator() as store,
        pytest.raises(TypeError, match=r"add_many takes pages, .*Page\.from_text.*, not dict"),
    ):
        store.add_many([{"url": "http://a", "text": "…"}])  # type: ignore[list-item]
