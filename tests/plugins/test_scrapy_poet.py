"""Page objects of scrapy-poet: they have the read page and the verdict, and need no page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.utils.test import get_crawler
from web_poet.serialization import deserialize_leaf, serialize_leaf

from dedupcrawl import Addon, Deduplicator, DedupPage, DedupVerdict, read_page
from dedupcrawl.crawl.addon import PROVIDER
from dedupcrawl.crawl.page_object_provider import DedupProvider
from dedupcrawl.decision import unchecked
from dedupcrawl.detectors.base import Relation
from tests.crawl.running import IN_TURN
from tests.crawl.site import plain, text
from tests.plugins.articles import articles

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

ADDONS = {"ADDONS": {"scrapy_poet.Addon": 300, "dedupcrawl.Addon": 500}}
POET: dict[str, Any] = {**ADDONS, **IN_TURN}
SPIDERS = "tests.plugins.page_objects"


def paths(crawled: Crawled) -> list[str]:
    """Return the paths of the items in order."""
    return sorted("/" + item["url"].split("/", 3)[3] for item in crawled.items)


def product(site: Site, path: str, **fields: Any) -> str:
    """Serve a product by the API, and return the URL of its page, which does not exist."""
    site.put(f"/api/{path}", json.dumps(fields), kind="application/json")
    return f"{site.base}/product/{path}"


def test_items_of_page_objects_are_judged_by_their_pages(site: Site, run: Run) -> None:
    crawled = run(f"{SPIDERS}.Poet", urls=articles(site), settings=POET)
    assert paths(crawled) == ["/a", "/c"]
    assert {item["title"] for item in crawled.items} == {"Ice", "Fire"}
    assert crawled.dedup["duplicate"] == 1
    assert not crawled.lines("", "WARNING")


@pytest.mark.parametrize("spider", ["JudgingPoet", "JudgingCallback"])
def test_page_objects_and_callbacks_have_the_page_and_the_verdict(site: Site, run: Run, spider: str) -> None:
    settings = {**POET, "DEDUP_ACTION": "tag", "DOWNLOAD_DELAY": 0.2}
    crawled = run(f"{SPIDERS}.{spider}", urls=articles(site), settings=settings)
    found = {item["url"][-2:]: (item["summary"], item["language"]) for item in crawled.items}
    copy = f"copy of {site.base}/a" if spider == "JudgingPoet" else text(1)[:20]
    assert found == {"/a": (text(1)[:20], "unique"), "/b": (copy, "duplicate"), "/c": (text(2)[:20], "unique")}
    assert crawled.dedup["duplicate"] == 1
    assert crawled.dedup["kept"] == 3


def test_a_verdict_that_is_asked_for_claims_nothing(site: Site, run: Run) -> None:
    """Both copies are unique when their callbacks begin; the pipeline keeps one of them."""
    urls = articles(site)
    crawled = run(f"{SPIDERS}.JudgingPoet", urls=urls, settings=ADDONS)
    assert len(crawled.items) == 2
    assert {item["title"] for item in crawled.items} == {"Ice", "Fire"}
    again = run(f"{SPIDERS}.JudgingPoet", urls=urls, settings=ADDONS)
    assert again.items == []
    assert again.dedup["duplicate"] == 3


def test_what_cannot_be_read_is_said(site: Site, run: Run) -> None:
    urls = [site.put("/a", plain("Ice", "")), site.put("/b", "{}", kind="application/json")]
    crawled = run(f"{SPIDERS}.JudgingCallback", urls=urls[:1], settings=POET)
    assert [item["language"] for item in crawled.items] == ["unchecked"]
    urls = [site.put("/c", plain("Ice", text(1))), site.put("/d", plain("Ice", text(1)))]
    skipped = run(f"{SPIDERS}.JudgingPoet", urls=urls, meta={"dedup_skip": True}, settings=POET)
    assert [item["language"] for item in skipped.items] == ["skip", "skip"], "dedup_skip is obeyed"
    assert skipped.dedup["unchecked/skip"] == 2


def test_a_page_that_is_not_downloaded_is_judged_by_its_item(site: Site, run: Run) -> None:
    urls = [
        product(site, "1", name="Kettle", description=text(1), price=10.5, pictures=["https://shop.example/1.jpg"]),
        product(site, "2", name="Kettle", description=text(1), price=10.5, pictures=["https://shop.example/1.jpg"]),
        product(site, "3", name="Teapot", description=text(2), price=10.5),
    ]
    crawled = run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET)
    assert crawled.stats["scrapy_poet/dummy_response_count"] == 3
    assert not any("/product/" in path for path in site.asked)
    found = sorted((item["name"], item["pictures"]) for item in crawled.items)
    assert found == [("Kettle", [{"url": "https://shop.example/1.jpg"}]), ("Teapot", [])]
    assert crawled.dedup["duplicate/identical"] == 1
    assert not any(name.startswith("unchecked") for name in crawled.dedup)
    again = run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET)
    assert again.items == []
    assert again.dedup["duplicate/unchanged"] == 2
    assert again.dedup["duplicate/identical"] == 1


@pytest.mark.parametrize(
    "change",
    [{"name": "Teapot"}, {"price": 11.5}, {"pictures": ["https://shop.example/2.jpg"]}, {"description": "green"}],
    ids=lambda change: next(iter(change)),
)
def test_items_that_differ_are_kept(site: Site, run: Run, change: dict[str, Any]) -> None:
    fields = {"name": "Kettle", "description": text(1), "price": 10.5, "pictures": ["https://shop.example/1.jpg"]}
    urls = [product(site, "1", **fields), product(site, "2", **fields | change)]
    crawled = run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET)
    assert paths(crawled) == ["/product/1", "/product/2"]
    assert "duplicate" not in crawled.dedup


def test_items_with_few_words_are_kept(site: Site, run: Run) -> None:
    """Their pages may differ, and nobody has seen them."""
    urls = [product(site, str(n), name="Kettle") for n in range(3)]
    crawled = run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET)
    assert len(crawled.items) == 3
    assert crawled.dedup["unchecked/short"] == 3
    named = run(f"{SPIDERS}.Undownloaded", urls=urls, settings={**POET, "DEDUP_ITEM_FIELDS": ["name"]})
    assert len(named.items) == 1, "fields that are named decide, however short they are"


def test_an_item_that_cannot_be_read_is_kept(site: Site, run: Run) -> None:
    urls = [product(site, "1", name="Kettle", description=text(1))]
    crawled = run(f"{SPIDERS}.Unreadable", urls=urls, settings=POET)
    assert [item["name"] for item in crawled.items] == ["Kettle"]
    assert crawled.dedup["unchecked/error"] == 1
    assert crawled.lines("ValueError: no text")


def test_a_changed_item_of_a_known_url_is_an_update(site: Site, run: Run) -> None:
    urls = [product(site, "1", name="Kettle", description=text(1), price=10.5)]
    assert len(run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET).items) == 1
    product(site, "1", name="Kettle", description=text(1), price=12.5)
    again = run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET)
    assert [item["price"] for item in again.items] == [12.5]
    assert again.dedup["related/updated"] == 1


def test_the_time_of_scraping_does_not_count(site: Site, run: Run) -> None:
    def stamp(_: str) -> str:
        now = datetime.now(UTC).isoformat()
        return product(site, "1", name="Kettle", description=text(1), scraped_at=now)

    site.on_path = stamp
    urls = [stamp("")]
    assert len(run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET).items) == 1
    assert run(f"{SPIDERS}.Undownloaded", urls=urls, settings=POET).items == []


@pytest.mark.parametrize(
    "setting",
    [
        {"DEDUP_REVALIDATE": True},
        {"DEDUP_FORESEE": "skip"},
        {"DEDUP_FOLLOW_DUPLICATES": False},
        {"DEDUP_RESPONSE_META": True, "DEDUP_TEXT_FIELD": "text"},
        {"DEDUP_REPORT": "report.html"},
        {"FEEDS": {"out.jl": {"format": "jsonlines"}}},
        {"ADDONS": {"dedupcrawl.Addon": 200, "scrapy_poet.Addon": 300}},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_other_settings_make_no_difference(site: Site, run: Run, setting: dict[str, Any]) -> None:
    urls = [
        product(site, "1", name="Kettle", description=text(1)),
        product(site, "2", name="Kettle", description=text(1)),
        product(site, "3", name="Teapot", description=text(2)),
    ]
    for spider, pages in (("Undownloaded", urls), ("JudgingPoet", articles(site))):
        first = run(f"{SPIDERS}.{spider}", urls=pages, settings={**POET, **setting})
        assert (len(first.items), first.dedup["dropped"]) == (2, 1)
        again = run(f"{SPIDERS}.{spider}", urls=pages, settings={**POET, **setting})
        assert again.items == []
        for crawled in (first, again):
            assert not any(name.startswith(("unchecked", "errors")) for name in crawled.dedup)
            assert not crawled.lines("", "ERROR")


def test_fields_that_are_named_decide(site: Site, run: Run) -> None:
    urls = [
        product(site, "1", name="Kettle", description=text(1), price=10.5),
        product(site, "2", name="Teapot", description=text(1), price=11.5),
    ]
    settings = {**POET, "DEDUP_ITEM_FIELDS": ["description"]}
    crawled = run(f"{SPIDERS}.Undownloaded", urls=urls, settings=settings)
    assert (len(crawled.items), crawled.dedup["duplicate"]) == (1, 1)


def test_two_answers_of_one_url_are_two_items(site: Site, run: Run) -> None:
    url = product(site, "1", name="Kettle", description=text(1), price=10.5)
    answers = iter(["Kettle", "Teapot", "Kettle"])

    def change(path: str) -> None:
        product(site, "1", name=next(answers), description=text(1), price=10.5)

    site.on_path = change
    crawled = run(f"{SPIDERS}.Undownloaded", urls=[url, url, url], settings=POET)
    assert sorted(item["name"] for item in crawled.items) == ["Kettle", "Teapot"]
    assert (crawled.dedup["related/updated"], crawled.dedup["duplicate"]) == (1, 1)


def test_an_item_that_was_passed_on_is_judged_by_the_page_that_it_is_about(site: Site, run: Run) -> None:
    urls = articles(site)
    for path in "abc":
        product(site, path, name="Kettle", description=text(9))
    crawled = run(f"{SPIDERS}.Mixed", urls=urls, settings=POET)
    assert paths(crawled) == ["/a", "/c"]
    assert {item["summary"] for item in crawled.items} == {"Kettle"}
    assert crawled.dedup["items_of_other_pages"] == 3


def test_what_is_provided_can_be_stored_in_fixtures() -> None:
    """``scrapy savefixture`` stores the dependencies of a page object for its tests."""
    page = read_page(plain("Ice", text(1)), "https://a.example/1")
    with Deduplicator() as dedup:
        dedup.add(page)
        verdict = dedup.add(replace(page, url="https://b.example/1"))
    assert verdict.relation is Relation.IDENTICAL
    for given in (DedupPage.create(page), DedupPage.create(unchecked("", "empty")), DedupVerdict.create(verdict)):
        assert deserialize_leaf(type(given), serialize_leaf(given)) == given


def test_verdicts_are_not_stored_in_the_cache_of_scrapy_poet(site: Site, run: Run) -> None:
    settings = {**POET, "SCRAPY_POET_CACHE": True}
    crawled = run(f"{SPIDERS}.JudgingPoet", urls=articles(site), settings=settings)
    assert crawled.lines("DedupProvider'> must have a `name` defined", "ERROR")
    assert crawled.items == []


def test_page_objects_without_the_add_on_are_told_what_to_do(site: Site, run: Run) -> None:
    settings = {
        "ADDONS": {"scrapy_poet.Addon": 300},
        "SCRAPY_POET_PROVIDERS": {"dedupcrawl.crawl.page_object_provider.DedupProvider": 550},
    }
    crawled = run(f"{SPIDERS}.JudgingPoet", urls=articles(site), settings=settings)
    assert crawled.lines('a dict with "dedupcrawl.Addon": 500', "ERROR")


@pytest.mark.parametrize("known", [PROVIDER, DedupProvider])
def test_a_provider_that_is_named_already_keeps_its_place(known: Any) -> None:
    crawler = get_crawler(settings_dict={"SCRAPY_POET_PROVIDERS": {known: 7}, "ADDONS": {Addon: 500}})
    assert dict(crawler.settings["SCRAPY_POET_PROVIDERS"]) == {known: 7}
