"""Items of every kind, from every place, are matched to their pages; no state is kept for too long."""

from __future__ import annotations

import gc
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest
from scrapy.http import HtmlResponse

from dedupcrawl.crawl.items import CURRENT_RESPONSE, MAX_LINKS, ItemClaim, PageState, ResponseTracker
from dedupcrawl.decision import unchecked
from dedupcrawl.ledger.ledger_schema import Outcome
from dedupcrawl.stores.base import ClaimState
from tests.crawl.running import IN_TURN, finish, on_every_reactor, start
from tests.crawl.site import fancy, index, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

KINDS = ("dict", "plain", "tagged", "data", "frozen", "attrs", "attrs-plain", "pydantic", "strict")
TAKE_TAGS = {"dict", "tagged", "data", "attrs", "pydantic"}


def pair(site: Site, number: int = 1) -> list[str]:
    return [
        site.put(f"/a/{number}", plain(f"Ice {number}", text(number))),
        site.put(f"/b/{number}", fancy(f"Ice {number}", text(number)), delay=0.2),
    ]


def test_tags_go_where_an_item_takes_one_and_fail_nowhere(site: Site, tmp_path: Path) -> None:
    urls = pair(site)
    crawls = [("Reader", {"urls": urls, "kind": kind}) for kind in KINDS]
    own = [{"DEDUP_NAMESPACE": kind, "DEDUP_ACTION": "tag"} for kind in KINDS]
    for kind, crawled in zip(KINDS, finish(start(tmp_path, *crawls, own=own)), strict=True):
        assert len(crawled.items) == 2, kind
        assert crawled.dedup["duplicate"] == 1
        assert "dropped" not in crawled.dedup
        tags: list[Any] = [item.get("dedup") for item in crawled.items]
        if kind in TAKE_TAGS:
            second, first = sorted(tags, key=lambda each: str(each["status"]))
            assert [first["status"], second["status"]] == ["unique", "duplicate"], kind
            assert second["of"] == first["url"]
            assert second["keep"] is False
            assert first["cluster"] == second["cluster"]
        else:
            assert tags == [None, None], kind


def test_items_that_cannot_take_a_tag_are_named_once_for_each_class(site: Site, run: Run) -> None:
    urls = [*pair(site), *pair(site, 2)]
    crawled = run(urls=urls, kind="plain", settings={"DEDUP_ACTION": "tag"})
    message = "The verdict cannot be written into the field dedup of PlainItem: the class does not declare it"
    assert crawled.lines("cannot be written", "WARNING") == [message]


@pytest.mark.parametrize("kind", ["dict", "text", "text-data", "text-attrs", "text-model"])
def test_the_field_of_the_tag_can_be_another(site: Site, run: Run, kind: str) -> None:
    crawled = run(urls=pair(site)[:1], kind=kind, settings={"DEDUP_ACTION": "tag", "DEDUP_TAG_FIELD": "text"})
    (item,) = crawled.items
    assert item["text"] == {"url": item["url"], "status": "unique", "keep": True, "cluster": item["text"]["cluster"]}
    assert "dedup" not in item
    assert not crawled.lines("", "WARNING")


def test_a_crawl_that_drops_leaves_items_as_they_are(site: Site, tmp_path: Path) -> None:
    """Also those of pages that are unchecked, siblings, or new versions: their verdicts are in the log and in stats."""
    changed = site.put("/changed", plain("Ice", text(1)))
    jobs = [site.put(f"/jobs/{name}", plain(name, text(7))) for name in ("Carpenter", "Plumber")]
    listed = site.put("/list", index("/a", "/b", "/c").replace("<body>", "<body><article><p>x</p></article>"))
    own = [{"DEDUP_NAMESPACE": kind} for kind in KINDS]
    finish(start(tmp_path, *(("Reader", {"urls": [changed], "kind": kind}) for kind in KINDS), own=own))
    site.put("/changed", plain("Ice", text(1) + " " + text(4, 80)))
    crawls = [("Reader", {"urls": [changed, *jobs, listed], "kind": kind}) for kind in KINDS]
    done = finish(start(tmp_path, *crawls, own=own, settings=IN_TURN))
    for kind, crawled in zip(KINDS, done, strict=True):
        declares = kind in TAKE_TAGS - {"dict", "tagged"} | {"frozen"}
        fields = {"url", "title", "body", *(["dedup"] if declares else [])}
        assert [set(item) for item in crawled.items] == [fields] * 4, kind
        assert all(item.get("dedup") is None for item in crawled.items), kind
        counts = ("related/updated", "related/sibling", "unchecked/index")
        assert [crawled.dedup[name] for name in counts] == [1, 1, 1]
    told = [
        f"Kept {changed}: new version of {changed} (",
        f"Kept {jobs[1]}: sibling of {jobs[0]} (",
        f"Kept {listed}: unchecked, index",
    ]
    assert [len(done[0].lines(line, "DEBUG")) for line in told] == [len(KINDS)] * 3


def test_dropping_works_for_every_kind(site: Site, tmp_path: Path) -> None:
    urls = pair(site)
    crawls = [("Reader", {"urls": urls, "kind": kind}) for kind in KINDS]
    own = [{"DEDUP_NAMESPACE": kind} for kind in KINDS]
    for crawled in finish(start(tmp_path, *crawls, own=own)):
        assert [item.get("dedup") for item in crawled.items] == [None]
        assert crawled.dedup["dropped"] == 1


def test_every_way_to_yield(site: Site, tmp_path: Path) -> None:
    urls = [url for number in range(6) for url in pair(site, number)]
    spiders = ("Reader", "AsyncReader", "ReturningReader")
    crawls = [(spider, {"urls": urls, "copies": 3}) for spider in spiders]
    for crawled in chain(*on_every_reactor(tmp_path, *crawls).values()):
        by_title: dict[str, list[str]] = {}
        for item in crawled.items:
            by_title.setdefault(item["title"], []).append(item["url"])
        assert len(by_title) == 18  # all three items of every first page…
        assert all(len(seen) == 1 for seen in by_title.values())  # …and none of the second
        assert crawled.dedup["checked"] == 12
        assert crawled.dedup["kept"] == crawled.dedup["dropped"] == 6
        assert crawled.stats["item_dropped_reasons_count/DuplicatePage"] == 18


def test_items_without_a_response_are_kept(site: Site, tmp_path: Path) -> None:
    urls = pair(site)
    crawls = [("StartItems", {"urls": urls}), ("Errbacks", {"urls": urls})]
    for began, failed in on_every_reactor(tmp_path, *crawls).values():
        assert len(began.items) == 3
        assert began.dedup["unchecked/no-response"] == 2
        assert began.dedup["dropped"] == 1
        assert sorted(item["title"] for item in failed.items).count("failed") == len(failed.items) - 1
        assert failed.dedup["unchecked/no-response"] + failed.dedup.get("unchecked/status", 0) >= 6
        assert failed.dedup["kept"] == len(failed.items)


def test_a_failure_is_not_taken_for_an_item_of_the_page_that_led_to_it(site: Site, tmp_path: Path) -> None:
    crawl = ("FailingLinks", {"urls": pair(site), "copies": 9})
    slow = {"CONCURRENT_ITEMS": 1, "ITEM_PIPELINES": {"tests.crawl.components.Slow": 300}}
    for (crawled,) in on_every_reactor(tmp_path, crawl, settings=slow).values():
        titles = [item["title"] for item in crawled.items]
        assert titles.count("failed") == 6
        assert len(titles) == 6 + 9
        assert crawled.dedup["unchecked/no-response"] == 6


def test_an_object_that_is_yielded_again_has_a_source(site: Site, tmp_path: Path) -> None:
    crawl = ("Reuser", {"urls": pair(site)})
    for (crawled,) in on_every_reactor(tmp_path, crawl).values():
        assert len(crawled.items) == 3
        assert crawled.dedup["kept"] == crawled.dedup["dropped"] == 1
        assert not any("unchecked" in name for name in crawled.dedup)


def test_items_of_other_peoples_middlewares_and_addons(site: Site, tmp_path: Path) -> None:
    addons = {"dedupcrawl.Addon": 500, "tests.crawl.components.OtherAddon": 600}
    crawl = ("Reader", {"urls": pair(site)})
    for (crawled,) in on_every_reactor(tmp_path, crawl, settings={"ADDONS": addons}).values():
        assert sorted(item["title"] for item in crawled.items) == ["Ice 1", "more"]
        assert crawled.dedup["kept"] == crawled.dedup["dropped"] == 1


def test_an_earlier_pipeline_may_replace_or_drop_items(site: Site, tmp_path: Path) -> None:
    early = {"tests.crawl.components.DropEarly": 10, "tests.crawl.components.Replace": 20}
    urls = [site.put("/", index(*pair(site, 5), *pair(site, 6)))]
    crawl = ("AsyncReader", {"urls": urls, "copies": 3})
    settings = {"ITEM_PIPELINES": early}
    done = on_every_reactor(tmp_path, crawl, settings=settings, reactors=("asyncio", "none"))
    for (crawled,) in done.values():
        assert sorted(item["title"] for item in crawled.items) == ["Ice 5", "Ice 5 2", "Ice 6", "Ice 6 2"]
        assert all(item["replaced"] for item in crawled.items)
        assert crawled.dedup["kept"] == crawled.dedup["dropped"] == 2
        assert not any("unchecked" in name for name in crawled.dedup)


def entry(title: str, body: str, url: str = "") -> str:
    link = f'<a href="{url}">{title}</a>' if url else ""
    return f"<div class=entry><h2>{title}</h2>{link}<p>{body}</p></div>"


def test_items_may_be_judged_by_their_own_text(site: Site, run: Run) -> None:
    first, second, third = (text(number).replace("\n", " ") for number in (1, 2, 3))
    urls = [
        site.put("/one", entry("A", first, "/x/1") + entry("B", second, "/x/2")),
        site.put("/two", entry("A again", first) + entry("C", third)),
        site.put("/three", entry("Short", "no") + entry("None", "")),
    ]
    crawled = run("Lister", urls=urls, settings={**IN_TURN, "DEDUP_ITEM_FIELDS": ["body"]})

    assert sorted(item["title"] for item in crawled.items) == ["A", "B", "C", "None", "Short"]
    assert crawled.dedup["checked"] == 5
    assert crawled.dedup["dropped"] == 1
    assert crawled.dedup["unchecked/empty"] == 1
    assert crawled.lines(f"of {urls[1]}: identical to /x/1")
    assert all(line.startswith("Dropped the item ") and "… of " in line for line in crawled.lines("Dropped "))

    site.put("/one", entry("A", text(7), "/x/1") + entry("B", second, "/x/2"))
    again = run("Lister", urls=urls[:2], settings={"DEDUP_ITEM_FIELDS": "title,body"})
    assert {item["title"] for item in again.items} >= {"A"}  # other fields, other texts


@pytest.fixture(params=["lmdb", "valkey"])
def its_store(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a store: that of the test, or a server."""
    return {"DEDUP_STORE": request.getfixturevalue("server").url} if request.param == "valkey" else {}


def test_fields_may_be_judged_each_for_itself(site: Site, run: Run, its_store: dict[str, str]) -> None:
    """Two offers with one description are two, if their titles differ; two with one title and description are one."""
    shared, other = (text(number).replace("\n", " ") for number in (1, 2))
    urls = [
        site.put("/one", entry("Red chair", shared) + entry("Blue chair", shared) + entry("Red chair", other)),
        site.put("/two", entry("Red chair", shared) + entry("Green chair", shared)),
    ]
    own = {"DEDUP_ITEM_FIELDS": {"title": "exact", "body": {"minhash": {"threshold": 0.8}}}}
    settings = {**IN_TURN, **its_store, **own}
    crawled = run("Lister", urls=urls, settings=settings)
    assert sorted(item["title"] for item in crawled.items) == ["Blue chair", "Green chair", "Red chair", "Red chair"]
    assert crawled.dedup["dropped"] == 1
    assert not crawled.lines("", "ERROR")
    again = run("Lister", urls=urls, settings=settings)
    assert again.items == []
    together = {"DEDUP_ITEM_FIELDS": ["title", "body"], "DEDUP_NAMESPACE": "j"}
    joined = run("Lister", urls=urls, settings={**IN_TURN, **its_store, **together})
    assert joined.dedup["dropped"] >= 1


def test_fields_that_no_item_has_are_named(site: Site, run: Run) -> None:
    entries = [entry(f"T{n}", text(n).replace("\n", " ")) for n in range(21)]
    urls = [site.put("/list", "".join(entries))]
    crawled = run("Lister", urls=urls, settings={"DEDUP_ITEM_FIELDS": "titel, body"})
    what = "which none of the first 20 items has; they have url, title, body"
    assert crawled.lines("DEDUP_ITEM_FIELDS", "WARNING") == [f"DEDUP_ITEM_FIELDS names titel, {what}"]
    assert crawled.dedup["checked"] == 21

    none = run("Lister", urls=urls, settings={"DEDUP_ITEM_FIELDS": "titel"})
    assert len(none.lines("DEDUP_ITEM_FIELDS names titel", "WARNING")) == 1
    assert none.dedup == {"unchecked/no-field": 21, "kept": 21}
    assert none.lines("Pages: 21 = 0 kept + 21 kept unchecked + 0 dropped (unchecked/no-field 21)", "INFO")

    few = run("Lister", urls=[site.put("/few", entries[0])], settings={"DEDUP_ITEM_FIELDS": "titel"})
    assert len(few.lines("which none of the first 1 items has", "WARNING")) == 1


def test_a_field_without_a_value_is_there(site: Site, tmp_path: Path) -> None:
    kinds = ("text", "text-data", "text-attrs", "text-model")
    crawls = [("Reader", {"urls": [site.put("/a", plain("Ice", text(1)))], "kind": kind}) for kind in kinds]
    for crawled in finish(start(tmp_path, *crawls, settings={"DEDUP_ITEM_FIELDS": "text"})):
        assert crawled.dedup == {"unchecked/empty": 1, "kept": 1}
        assert not crawled.lines("DEDUP_ITEM_FIELDS", "WARNING")


EARLY = {"tests.crawl.components.OwnFiles": 1, "tests.crawl.components.Replace": 20}


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({}, ["OwnFiles (1) comes before DedupPipeline (50)", "Replace (20) comes before DedupPipeline (50)"]),
        (
            {"ITEM_PIPELINES": {**EARLY, "dedupcrawl.crawl.pipeline.DedupPipeline": 30}},
            ["OwnFiles (1) comes before DedupPipeline (30)"],
        ),
        ({"ITEM_PIPELINES": {**EARLY, "dedupcrawl.crawl.pipeline.DedupPipeline": 0}}, []),
        ({"DEDUP_ACTION": "tag"}, []),
    ],
)
def test_pipelines_before_ours_are_named_with_their_numbers(
    site: Site, run: Run, tmp_path: Path, settings: dict[str, Any], warned: list[str]
) -> None:
    files = {"FILES_STORE": str(tmp_path / "files"), "ITEM_PIPELINES": EARLY}
    crawled = run(urls=pair(site), settings={**files, **settings})
    told = crawled.lines(" comes before ", "WARNING")
    assert [line.partition(" in ITEM_PIPELINES")[0] for line in told] == warned


def test_an_items_own_url_is_followed_over_time(site: Site, run: Run) -> None:
    settings = {"DEDUP_ITEM_FIELDS": ["body"]}
    first, second = (text(number).replace("\n", " ") for number in (1, 2))
    page = site.put("/list", entry("A", first, "/x/1") + entry("B", second) + entry("C", text(3)))
    run("Lister", urls=[page], settings=settings)
    site.put("/list", entry("A", text(4), "/x/1") + entry("B", second) + entry("C", text(3)))
    again = run("Lister", urls=[page], settings=settings)

    assert [item["title"] for item in again.items] == ["A"]
    assert [verdict["relation"] for verdict in again.verdicts] == ["updated"]


# -- the life cycle of a page ----------------------------------------------------------------------

LIVES = [
    ("dropped",),
    ("scraped", "committed"),
    ("scraped", "lost", "released"),
    ("released",),
    ("refused", "scraped", "committed"),
]


@pytest.mark.parametrize("states", LIVES)
def test_a_page_goes_through_its_states_in_order(states: tuple[str, ...]) -> None:
    claim = ItemClaim(unchecked("https://a.example/", "short"))
    for name in states:
        state = next(state for state in PageState if state.value == name)
        claim.advance(state)
        assert claim.state is state


def test_no_other_transition_exists() -> None:
    steps = {pair for states in LIVES for pair in zip(("open", *states), states, strict=False)}
    allowed = {(old.value, new.value) for old in PageState for new in PageState if old.allows(new)}
    assert allowed == steps
    claim = ItemClaim(unchecked("https://a.example/", "short"))
    with pytest.raises(ValueError, match="from open to committed"):
        claim.advance(PageState.COMMITTED)


def test_store_and_ledger_have_a_state_for_each() -> None:
    stored = {state: state.stored for state in PageState if state.stored is not None}
    assert {*stored.values()} == {*ClaimState}
    assert {state.outcome for state in PageState} == {*Outcome}


# -- responses -------------------------------------------------------------------------------------


def response(number: int = 0) -> HtmlResponse:
    return HtmlResponse(f"https://a.example/{number}", body=b"x")


def test_items_are_distinguished_by_identity() -> None:
    tracker, sources = ResponseTracker(), [response(1), response(2)]
    items = [{"same": 1}, {"same": 1}]
    for item, source in zip(items, sources, strict=True):
        tracker.add_item(item, source)

    assert tracker.pop_item(items[1]) is sources[1]
    assert tracker.pop_item(items[0]) is sources[0]
    assert tracker.pop_item(items[0]) is None
    assert tracker.pop_item({"same": 1}) is None


def test_a_response_is_complete_when_the_last_item_was_taken() -> None:
    tracker, source = ResponseTracker(), response()
    item = {"a": 1}
    tracker.add_item(item, source)
    state = tracker.of(source)
    state.output_ended.set()

    assert not state.is_complete
    tracker.discard_item(item)
    assert state.is_complete
    assert tracker.discard_item(item) is None


def test_an_object_yielded_several_times_has_a_source_each_time() -> None:
    tracker, sources, item = ResponseTracker(), [response(1), response(2)], {"a": 1}
    for source in (*sources, sources[1]):
        tracker.add_item(item, source)
    assert [tracker.pop_item(item) for _ in range(4)] == [*sources, sources[1], None]
    assert [tracker.of(source).awaited for source in sources] == [0, 0]


def test_a_context_of_another_response_gives_no_source() -> None:
    tracker, source = ResponseTracker(may_be_replaced=True), response()
    token = CURRENT_RESPONSE.set(ref(source))
    try:
        assert tracker.pop_item({"from": "an errback"}) is None
        tracker.add_item({"replaced": "later"}, source)
        assert tracker.pop_item({"the": "replacement"}) is source
        assert tracker.pop_item({"from": "an errback"}) is None

        alone = ResponseTracker()
        alone.add_item({"not": "taken up yet"}, source)
        assert alone.pop_item({"from": "an errback"}) is None
    finally:
        CURRENT_RESPONSE.reset(token)


def test_what_is_remembered_is_bounded_and_goes_with_the_response() -> None:
    tracker, source = ResponseTracker(), response()
    for number in range(MAX_LINKS + 5):
        tracker.add_item([number], source)
    assert tracker.of(source).awaited == MAX_LINKS

    fresh = ResponseTracker()
    gone = response()
    fresh.of(gone)
    watcher = ref(gone)
    del gone
    gc.collect()
    assert watcher() is None


def test_a_response_in_the_place_of_one_that_is_gone_has_no_state() -> None:
    tracker = ResponseTracker()
    for number in range(100):
        fresh = response(number)
        assert tracker.find(fresh) is None
        tracker.of(fresh).awaited += 1
        del fresh
