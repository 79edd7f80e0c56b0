"""The verdict on a page that is known by its bytes, compared with that on the page when it is read."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import HtmlResponse, TextResponse

from dedupcrawl import Config, Deduplicator, Page
from dedupcrawl.crawl.items import ComparedRecord, ItemClaim, ResponseState
from dedupcrawl.crawl.known_bodies import BODIES, BodyTracker, reading_key, response_hash
from dedupcrawl.crawl.responses import read_page_of
from dedupcrawl.crawl.settings import Options
from dedupcrawl.decision import Claim
from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores.transactional import MemoryStore
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


URL = "https://news.example/1"
DAY = 86400.0
NOTE = "<p>Subscribe to our letter and read all of the news of the harbour every morning, free of charge.</p>"

#: Bodies of one URL: texts, names and bytes that change one by one.
BODIES_OF_URL: Mapping[str, str] = {
    "first": plain("Ferry", text(1)),
    "nonce": plain("Ferry", text(1)) + "<!-- 7 -->",
    "renamed": plain("Harbour tunnel", text(1)),
    "redesigned": fancy("Ferry", text(1)),
    "second": plain("Ferry", text(2)),
    "near": plain("Ferry", text(1) + " Once more."),
    "noted": plain("Ferry", text(1)).replace("</article>", NOTE + "</article>"),
    "short": "<article><h1>Ferry</h1><p>It is late.</p></article>",
    "links": "<ul><li><a href=/2>More</a><li><a href=/3>More</a></ul>",
}


@dataclass
class Visits:
    """Visits pages as a crawl does, without Scrapy."""

    dedup: Deduplicator
    options: Options
    tracker: BodyTracker = field(init=False)
    known: int = 0  #: pages that were not read
    crashes: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self, spider: Any = None) -> None:
        """Begin a crawl."""

        async def call(function: Callable[..., Any], *args: Any) -> Any:
            return function(*args)

        stats: Any = SimpleNamespace(count=lambda *_: None, crashed=lambda *error: self.crashes.append(error))
        client: Any = SimpleNamespace(dedup=self.dedup, outage=None, call=call)
        crawler: Any = SimpleNamespace(spider=spider)
        self.tracker = BodyTracker(crawler, self.options, client, stats)

    def visit(self, body: str | bytes, url: str = URL, *, commits: bool = True, **how: Any) -> ItemClaim:
        """Judge a page both ways, which must agree; file it if it is kept."""
        return asyncio.run(self._visit(response(body, url, **how), commits=commits))

    async def _visit(self, page: TextResponse, *, commits: bool) -> ItemClaim:
        state = ResponseState()
        (known,) = await self.tracker.unchanged([(page, state)])
        subject = read_page_of(page, self.options.config.reading)
        claim = self.dedup.claim(subject) if isinstance(subject, Page) else Claim(subject, self.dedup)
        filed = None if claim.id is None else claim
        compared = ComparedRecord(claim.record, claim.candidates) if claim.record and claim.candidates else None
        judged = ItemClaim(claim.verdict, state, filed, comparison=compared)
        if known is not None:
            self.known += 1
            assert known.verdict.to_dict() == judged.verdict.to_dict()
            assert known.claim is None
            assert known.record is None
        (claim.commit if commits else claim.release)()
        self.tracker.note(page, state, judged)
        await self.tracker.close()
        assert self.crashes == []
        return known or judged


def response(body: str | bytes, url: str = URL, *, charset: str = "utf-8", kind: type = HtmlResponse) -> TextResponse:
    data = body.encode() if isinstance(body, str) else body
    made: TextResponse = kind(url, body=data, headers={"Content-Type": f"text/html; charset={charset}"})
    return made


def visits(store: Any = "memory://", clock: Any = None, **changes: Any) -> Visits:
    config = Config(**changes)
    dedup = Deduplicator(store, "news", config=config, clock=time.time if clock is None else lambda: clock[0])
    return Visits(dedup, Options("memory://", "news", config))


# -- any history ----------------------------------------------------------------------------------

OTHER = "https://news.example/other"
_visits = st.tuples(st.sampled_from([URL, URL, OTHER]), st.sampled_from([*BODIES_OF_URL]), st.sampled_from([1, 1, 0]))
_events = st.lists(
    st.one_of(
        _visits,
        st.tuples(st.just("again"), st.integers(1, 4)),
        st.tuples(st.just("again"), st.integers(1, 4)),
        st.tuples(st.sampled_from(["forget", "forget site", "prune", "crawl", "day", "site"])),
    ),
    min_size=10,
    max_size=30,
)
_changes = st.sampled_from(
    [{}, {"ttl": 3 * DAY}, {"keep": "latest"}, {"scope": "other-hosts"}, {"site_memory": False}, {"min_chars": 1}]
)


@settings(max_examples=150)
@given(_events, _changes)
def test_in_any_history_the_verdict_is_that_of_the_page_when_it_is_read(
    events: list[tuple[Any, ...]], changes: Mapping[str, Any]
) -> None:
    clock = [1e9]
    run, last = visits(clock=clock, **changes), (URL, "first", 1)
    for number, (what, *how) in enumerate(events):
        if what in (URL, OTHER):
            last = (what, *how)
        if what in (URL, OTHER, "again"):
            for _ in range(how[0] if what == "again" else 1):
                run.visit(BODIES_OF_URL[last[1]], last[0], commits=bool(last[2]))
        else:
            change(run, what, clock, number)


def change(run: Visits, what: str, clock: list[float], number: int) -> None:
    if what == "forget":
        run.dedup.forget(URL)
    elif what == "forget site":
        run.dedup.store.notes.forget(["news.example"])
    elif what == "prune":
        run.dedup.prune(clock[0] - DAY)
    elif what == "day":
        clock[0] += DAY
    elif what == "site":  # teaches the site its note
        for n in range(4):
            run.visit(BODIES_OF_URL["noted"].replace("Ferry", f"Lamp {n}"), f"https://news.example/{number}/{n}")
    else:
        run.begin()


# -- what is known, and what is not ---------------------------------------------------------------


def known_after_three_visits(run: Visits, body: str | bytes, **how: Any) -> int:
    for _ in range(3):
        run.visit(body, **how)
    return run.known


@pytest.mark.parametrize("name", [name for name in BODIES_OF_URL if name != "links"])
def test_a_page_is_known_from_the_visit_after_the_one_that_found_it_unchanged(name: str) -> None:
    assert known_after_three_visits(visits(), BODIES_OF_URL[name]) == 1


def test_a_page_that_is_unchecked_is_always_read() -> None:
    assert known_after_three_visits(visits(), BODIES_OF_URL["links"]) == 0


def test_a_record_that_is_gone_is_not_known() -> None:
    run = visits()
    assert known_after_three_visits(run, BODIES_OF_URL["first"]) == 1
    run.dedup.forget(URL)
    assert run.visit(BODIES_OF_URL["first"]).verdict.keep
    assert run.known == 1


def test_a_claim_that_is_not_committed_is_not_known() -> None:
    run = visits()
    known_after_three_visits(run, BODIES_OF_URL["first"])
    run.dedup.forget(URL)
    page = read_page_of(response(BODIES_OF_URL["first"]), run.options.config.reading)
    assert isinstance(page, Page)
    with run.dedup.claim(page) as claim:
        assert asyncio.run(run.tracker.unchanged([(response(BODIES_OF_URL["first"]), ResponseState())])) == [None]
        claim.scraped()
        assert asyncio.run(run.tracker.unchanged([(response(BODIES_OF_URL["first"]), ResponseState())])) == [None]
    (known,) = asyncio.run(run.tracker.unchanged([(response(BODIES_OF_URL["first"]), ResponseState())]))
    assert known is not None
    assert not known.verdict.keep


def test_another_encoding_type_or_url_is_another_response() -> None:
    body = plain("Caf\u00e9", text(1) + " caf\u00e9").encode()
    key = b"key"
    hashes = {
        response_hash(response(body), key),
        response_hash(response(body, charset="windows-1252"), key),
        response_hash(response(body, kind=TextResponse), key),
        response_hash(response(body, URL + "?"), key),
        response_hash(response(body + b" "), key),
        response_hash(response(body).replace(encoding="cp1250"), key),
        response_hash(response(body), b"other key"),
    }
    assert len(hashes) == 7
    assert response_hash(response(body), key) in hashes


class OneSpider:
    name = "one"


class OtherSpider:
    name = "other"


@pytest.mark.parametrize(
    "change",
    [{"min_chars": 30}, {"link_run": 4}, {"reader": "text"}, {"detectors": {"exact": {}, "minhash": {"slots": 64}}}],
)
def test_other_settings_read_the_page_again(change: Mapping[str, Any]) -> None:
    keys = {reading_key(visits(**changes).dedup, None) for changes in ({}, change)}
    assert len(keys) == 2
    assert reading_key(visits().dedup, None) in keys


def test_another_spider_reads_the_page_again() -> None:
    run = visits()
    one, other = (reading_key(run.dedup, spider) for spider in (OneSpider(), OtherSpider()))  # type: ignore[arg-type]
    assert one != other
    run.begin(OneSpider())
    known_after_three_visits(run, BODIES_OF_URL["first"])
    run.begin(OtherSpider())
    run.visit(BODIES_OF_URL["first"])
    assert run.known == 1


@pytest.mark.parametrize(
    "changes",
    [{"drop": frozenset({"identical"})}, {"detectors": ["minhash"]}, {"reader": "tests.page.user_readers:whole"}],
    ids=str,
)
def test_settings_with_which_all_pages_are_read(changes: Mapping[str, Any]) -> None:
    run = visits(**changes)
    assert known_after_three_visits(run, BODIES_OF_URL["first"]) == 0
    assert run.dedup.store.notes.size().notes == 0


def test_a_first_crawl_stores_no_notes_and_hashes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise AssertionError("hashed")

    monkeypatch.setattr("dedupcrawl.crawl.known_bodies.response_hash", fail)
    run = visits()
    for number in range(5):
        run.visit(plain(f"T {number}", text(number)), f"https://news.example/{number}")
    assert run.dedup.store.notes.size().notes == 0


def test_damaged_notes_cost_a_parse() -> None:
    run = visits()
    known_after_three_visits(run, BODIES_OF_URL["first"])
    notes = run.dedup.store.notes
    ((key, value),) = notes.read_all(BODIES, "news.example").items()
    for damaged in (b"", value[:5], value[:12], value[:-1], value + b"x", value[:12] + bytes(8), bytes(20)):
        notes.write(BODIES, "news.example", {key: damaged})
        before = run.known
        assert not run.visit(BODIES_OF_URL["first"]).verdict.keep
        assert run.known == before
        assert notes.read_all(BODIES, "news.example") == {key: value}  # it is written anew


class AwayStore(MemoryStore):
    """A store whose notes, or records, cannot be read."""

    def find(self, probes: Any) -> Any:
        raise StoreUnreachableError("away")


def test_a_store_that_fails_costs_a_parse() -> None:
    run = visits()
    known_after_three_visits(run, BODIES_OF_URL["first"])
    run.dedup.store.__class__ = AwayStore
    assert asyncio.run(run.tracker.unchanged([(response(BODIES_OF_URL["first"]), ResponseState())])) == [None]
    assert run.crashes == []


def test_a_full_namespace_gets_no_more_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupcrawl.crawl.known_bodies.MAX_NOTED", 2)
    run = visits()
    for number in range(5):
        for _ in range(2):
            run.visit(plain(f"T {number}", text(number)), f"https://news.example/{number}")
    assert run.dedup.store.notes.size().notes == 2
    run.begin()
    run.visit(plain("T 4", text(4)), "https://news.example/4")
    assert run.dedup.store.notes.size().notes == 2


def test_notes_end_with_the_time_to_live(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1e9]
    monkeypatch.setattr("dedupcrawl.crawl.known_bodies.time.time", lambda: clock[0])
    run = visits(clock=clock, ttl=3 * DAY)
    known_after_three_visits(run, BODIES_OF_URL["first"])
    assert run.dedup.store.notes.size().notes == 1
    clock[0] += 4 * DAY
    run.visit(BODIES_OF_URL["second"], OTHER)
    assert run.dedup.store.notes.size().notes == 0
