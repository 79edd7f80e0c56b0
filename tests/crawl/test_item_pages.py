"""Items that are assembled over several pages: which page decides about them, and what is never lost."""

from __future__ import annotations

import asyncio
import gc
import re
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from dedupcrawl.config import Config
from dedupcrawl.crawl import item_pages
from dedupcrawl.crawl.item_pages import CarriedPage, CarriedPages, ItemPages
from dedupcrawl.crawl.items import ResponseState, ResponseTracker
from dedupcrawl.crawl.page_urls import page_key, url_key_at
from dedupcrawl.crawl.responses import ResponseReader
from dedupcrawl.crawl.settings import Options
from dedupcrawl.page import Page
from tests.crawl.running import IN_TURN, finish, on_every_reactor, start
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

ARTICLES = 7
#: Ways to carry an item on, by which the article is known when the item comes.
WAYS = (
    "item",
    "copy",
    "fields",
    "meta",
    "loader",
    "partial",
    "chain",
    "relative_url",
    "canonical",
    "link",
    "page_url",
    "page_response",
    "nothing",
    "nested",
)
KINDS = ("dict", "plain", "tagged", "data", "frozen", "attrs", "attrs-plain", "pydantic", "strict")
DISTINCT = sorted(text(number) for number in range(ARTICLES))
IN_MEMORY = {**IN_TURN, "DEDUP_STORE": "memory://"}


def newspaper(site: Site, articles: Iterable[int] = range(ARTICLES)) -> list[str]:
    """Articles of one author, each also in another layout."""
    site.put("/author", plain("About the author", text(100)))
    site.put("/numbers", plain("The numbers", text(101)))
    urls = []
    for number in articles:
        for path, lay_out in ((f"/a/{number}", plain), (f"/b/{number}", fancy)):
            canonical = f'<head><link rel=canonical href="{site.base}{path}?canonical">'
            page = lay_out(f"Story {number}", text(number)).replace("<head>", canonical)
            urls.append(site.put(path, page.replace("</body>", "<a class=author href=/author>A. Writer</a></body>")))
    return urls


def bodies(crawled: Crawled) -> list[str]:
    return sorted(item["body"] for item in crawled.items)


# -- items of articles that were completed on the page of their author ------------------------------


def test_every_article_is_kept_once_however_its_item_gets_there(site: Site, tmp_path: Path) -> None:
    crawls = [("Assembler", {"urls": newspaper(site), "way": way}) for way in WAYS]
    own = [{"DEDUP_NAMESPACE": way} for way in WAYS]
    first = finish(start(tmp_path, *crawls, own=own, settings=IN_TURN))
    for way, crawled in zip(WAYS, first, strict=True):
        assert bodies(crawled) == DISTINCT, way
        assert crawled.dedup["items_of_other_pages"] == 2 * ARTICLES, way
        assert crawled.dedup["dropped"] == crawled.dedup["duplicate/identical"] == ARTICLES, way
    newspaper(site, [*range(ARTICLES), 50])
    crawls = [("Assembler", {"urls": [*args["urls"], f"{site.base}/a/50"], "way": args["way"]}) for _, args in crawls]
    for way, crawled in zip(WAYS, finish(start(tmp_path, *crawls, own=own, settings=IN_TURN)), strict=True):
        assert bodies(crawled) == [text(50)], way


def test_one_warning_names_what_decides(site: Site, run: Run) -> None:
    urls = newspaper(site)
    crawled = run("Assembler", urls=urls, settings=IN_MEMORY)
    (line,) = crawled.lines("items were", "WARNING")
    assert line.startswith(f"5 items were judged by the page that they are about (such as {site.base}/")
    assert re.search(rf"\({site.base}/author\); [0-5] of them were dropped\. DEDUP_URL_FIELDS", line)
    assert "dedup_page" in line
    chosen = run("Assembler", urls=urls, settings={**IN_MEMORY, "DEDUP_URL_FIELDS": "url"})
    assert bodies(chosen) == DISTINCT
    named = run("Assembler", urls=urls, way="page_url", settings=IN_MEMORY)
    assert not chosen.lines("", "WARNING") + named.lines("", "WARNING")


@pytest.mark.parametrize("action", ["drop", "tag"])
def test_every_kind_of_item(site: Site, tmp_path: Path, action: str) -> None:
    crawls = [("Assembler", {"urls": newspaper(site), "kind": kind}) for kind in KINDS]
    own = [{"DEDUP_NAMESPACE": kind} for kind in KINDS]
    settings = {**IN_TURN, "DEDUP_ACTION": action}
    for kind, crawled in zip(KINDS, finish(start(tmp_path, *crawls, own=own, settings=settings)), strict=True):
        kept = [item for item, verdict in zip(crawled.items, crawled.verdicts, strict=True) if verdict is None]
        assert sorted(item["body"] for item in kept) == DISTINCT, kind
        assert len(crawled.items) == (ARTICLES if action == "drop" else 2 * ARTICLES), kind
        for item in crawled.items if kind == "dict" and action == "tag" else ():
            assert item["dedup"]["url"] == item["url"]


def test_items_that_are_judged_by_their_fields(site: Site, tmp_path: Path) -> None:
    crawls = [("Assembler", {"urls": newspaper(site), "way": way}) for way in WAYS]
    own = [{"DEDUP_NAMESPACE": way} for way in WAYS]
    settings = {**IN_TURN, "DEDUP_ITEM_FIELDS": "body"}
    for way, crawled in zip(WAYS, finish(start(tmp_path, *crawls, own=own, settings=settings)), strict=True):
        assert bodies(crawled) == DISTINCT, way
        assert "items_of_other_pages" not in crawled.dedup, way


def test_on_every_reactor(site: Site, tmp_path: Path) -> None:
    crawl = ("Assembler", {"urls": newspaper(site)})
    for (crawled,) in on_every_reactor(tmp_path, crawl, settings=IN_TURN).values():
        assert bodies(crawled) == DISTINCT


@pytest.mark.parametrize("way", ["item", "page_url", "page_response"])
def test_requests_that_are_stored_in_a_job_folder(site: Site, run: Run, tmp_path: Path, way: str) -> None:
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    crawled = run("Assembler", urls=newspaper(site), way=way, settings=settings)
    assert bodies(crawled) == DISTINCT


def test_the_text_is_that_of_the_page_that_the_item_is_about(site: Site, run: Run) -> None:
    crawled = run("Assembler", urls=newspaper(site), settings={**IN_MEMORY, "DEDUP_TEXT_FIELD": "text"})
    assert [item["text"] for item in crawled.items] == [item["body"] for item in crawled.items]
    assert len(crawled.items) == ARTICLES


def test_a_page_that_completes_items_is_not_withheld(site: Site, run: Run) -> None:
    settings = {**IN_TURN, "DEDUP_NAMESPACE": "news", "DEDUP_FOLLOW_DUPLICATES": False}
    urls = newspaper(site)
    assert len(run(urls=[f"{site.base}/author"], settings=settings).items) == 1
    assert bodies(run("Assembler", urls=urls, settings=settings)) == DISTINCT
    assert run("Assembler", urls=urls, settings=settings).items == []


def test_an_article_that_is_reached_by_a_redirect(site: Site, run: Run) -> None:
    newspaper(site)
    refresh = '<html><head><meta http-equiv=refresh content="0;url=/a/%d"></head></html>'
    urls = [site.put(f"/old/{number}", refresh % number) for number in range(ARTICLES)]
    again = [f"{site.base}/a/{number}" for number in range(ARTICLES)]
    crawled = run("Assembler", urls=[*urls, *again], settings=IN_MEMORY)
    assert bodies(crawled) == DISTINCT


@pytest.mark.parametrize("differs", [False, True])
def test_an_article_that_is_fetched_twice(site: Site, run: Run, differs: bool) -> None:
    urls = newspaper(site)[::2]
    crawled = run("Refetcher", urls=urls, differs=differs, settings=IN_MEMORY)
    assert bodies(crawled) == sorted(DISTINCT * (2 if differs else 1))
    assert len({item["title"] for item in crawled.items}) == len(crawled.items)


# -- when nobody knows which page an item is about --------------------------------------------------


def test_an_item_without_a_url_is_never_lost_in_its_crawl(site: Site, run: Run) -> None:
    crawled = run("Assembler", urls=newspaper(site)[::2], way="hidden", settings=IN_MEMORY)
    assert bodies(crawled) == DISTINCT
    assert crawled.dedup["unchecked/other-item"] == ARTICLES - 1
    (line,) = crawled.lines("items were kept unchecked", "WARNING")
    assert f"their page (such as {site.base}/author) was seen before in this crawl, with other items" in line
    assert "DEDUP_ITEM_FIELDS" in line


@pytest.mark.parametrize(("spider", "args"), [("Assembler", {"way": "lambda"}), ("Completer", {})])
def test_an_item_of_a_page_that_cannot_be_judged_is_never_lost(
    site: Site, run: Run, spider: str, args: dict[str, str]
) -> None:
    """The article was parsed by another worker, or nothing tells that the request carries its item."""
    urls = newspaper(site)[::2]
    for _ in range(2):
        crawled = run(spider, urls=urls, settings=IN_TURN, **args)
        assert sorted(item["url"] for item in crawled.items) == sorted(urls)
    assert crawled.dedup["unchecked/other-page"] == ARTICLES
    (line,) = crawled.lines("items were kept unchecked", "WARNING")
    assert "cannot be judged any more" in line


def test_pages_beyond_the_bound_are_forgotten_and_their_items_kept(site: Site, run: Run) -> None:
    settings = {**IN_TURN, "ADDONS": {"dedupcrawl.Addon": 500, "tests.crawl.components.NoCarriedPages": 600}}
    urls = newspaper(site)[::2]
    for _ in range(2):
        assert sorted(item["url"] for item in run("Assembler", urls=urls, settings=settings).items) == sorted(urls)


def with_authors(site: Site, authors: Iterable[str]) -> list[str]:
    """Articles, each with an author of its own; ``authors`` are the texts of their pages."""
    urls = []
    for number, author in enumerate(authors):
        site.put(f"/author/{number}", plain("About the author", author))
        page = plain(f"Story {number}", text(number))
        link = f"<a class=author href=/author/{number}>A. Writer</a></body>"
        urls.append(site.put(f"/a/{number}", page.replace("</body>", link)))
    return urls


@pytest.mark.parametrize("way", ["item", "nothing", "nested"])
def test_authors_of_whom_the_same_is_said(site: Site, run: Run, way: str) -> None:
    urls = with_authors(site, [text(100)] * ARTICLES)
    assert bodies(run("Assembler", urls=urls, way=way, settings=IN_MEMORY)) == DISTINCT


@pytest.mark.parametrize("way", ["item", "nothing"])
def test_an_old_article_whose_second_page_is_new(site: Site, run: Run, way: str) -> None:
    authors = [text(100 + number) for number in range(ARTICLES)]
    assert bodies(run("Assembler", urls=with_authors(site, authors), way=way, settings=IN_TURN)) == DISTINCT
    assert not run("Assembler", urls=with_authors(site, authors), way=way, settings=IN_TURN).items
    authors[3] = text(200)
    again = run("Assembler", urls=with_authors(site, authors), way=way, settings=IN_TURN)
    assert bodies(again) == [text(3)]
    assert not run("Assembler", urls=with_authors(site, authors), way=way, settings=IN_TURN).items


def test_pages_in_between_that_all_say_the_same(site: Site, run: Run) -> None:
    """The items name the page in between as their source."""
    urls = []
    for number in range(ARTICLES):
        site.put(f"/author/{number}", plain(f"Story {number}", text(number)))
        page = plain("You will be taken to the story", text(300))
        link = f"<a class=author href=/author/{number}>on</a></body>"
        urls.append(site.put(f"/go/{number}", page.replace("</body>", link)))
    crawled = run("Assembler", urls=urls, settings=IN_MEMORY)
    assert {item["url"] for item in crawled.items} == set(urls)


def test_meta_that_is_copied_carries_nothing(site: Site, run: Run) -> None:
    stories = [1, 2, 2, 3, 1]
    for place, number in enumerate(stories):
        site.put(f"/x/{place}", plain(f"Story {number}", text(number)))
    links = "".join(f"<a class=entry href=/x/{place}>{place}</a>" for place in range(len(stories)))
    site.put("/list", plain("A list", text(300)).replace("</body>", f"{links}</body>"))
    crawled = run("Forwarder", urls=[site.put("/start", plain("The start", text(301)))], settings=IN_MEMORY)
    assert bodies(crawled) == sorted(map(text, {*stories}))


# -- URLs that are none -------------------------------------------------------------------------


@pytest.mark.parametrize("canonical", ["http://[bad ü", "//[", "http://h:99999/ü"])
def test_a_canonical_link_that_is_no_url_costs_nothing(site: Site, run: Run, canonical: str) -> None:
    urls = newspaper(site)[::2]
    for number in range(ARTICLES):
        page = plain(f"Story {number}", text(number)).replace(
            "<head>", f'<head><link rel=canonical href="{canonical}">'
        )
        site.put(f"/a/{number}", page.replace("</body>", "<a class=author href=/author>A. Writer</a></body>"))
    for way in ("item", "relative_url", "nothing"):
        crawled = run("Assembler", urls=urls, way=way, settings=IN_MEMORY)
        assert bodies(crawled) == DISTINCT
        assert "errors" not in crawled.dedup


NO_URLS = ["http://[bad ü", "//[", "http://[x y", "http://h:99999/ü", "\ud800http://x/"]


@pytest.mark.parametrize("url", NO_URLS)
def test_a_text_that_is_no_url_has_a_key_of_its_own(url: str) -> None:
    response = HtmlResponse("http://a.example/", body=b"")
    assert url_key_at(url, response) == url_key_at(url, response)
    assert page_key(url) not in {page_key(other) for other in NO_URLS if other.strip() != url.strip()}


# -- pages with several items ---------------------------------------------------------------------


@pytest.mark.parametrize("way", ["item", "copy"])
def test_a_second_item_of_an_article_is_lost_only_with_the_article(site: Site, run: Run, way: str) -> None:
    urls = newspaper(site)
    assert bodies(run("TwiceAssembler", urls=urls, way=way, settings=IN_TURN)) == sorted(DISTINCT * 2)
    newspaper(site, [*range(ARTICLES), 50])
    again = run("TwiceAssembler", urls=[*urls, f"{site.base}/a/50"], way=way, settings=IN_TURN)
    assert bodies(again) == [text(50)] * 2


@pytest.mark.parametrize("own", [True, False])
def test_new_comments_on_an_old_article(site: Site, run: Run, own: bool) -> None:
    def comments(article: int, most: int) -> str:
        lines = "\n".join(text(1000 + 10 * article + n, 40).replace("\n", " ") for n in range(most))
        return site.put(f"/comments/{article}", plain("Comments", lines))

    urls = [site.put(f"/a/{n}", plain(f"Story {n}", text(n), comments(n, 4))) for n in range(4)]
    first = run("Commenter", urls=urls, own=own, settings=IN_TURN)
    assert len(first.items) == 4 * (4 + own)
    comments(2, 6)
    second = run("Commenter", urls=urls, own=own, settings=IN_TURN)
    assert {item["body"] for item in second.items} >= {text(1020 + n, 40).replace("\n", " ") for n in range(6)}
    assert second.dedup["related/updated"] == 1


def authors_list(site: Site, page: int, entries: Iterable[int]) -> str:
    links = "".join(f"<li><a class=entry href=/x/{n}>{text(n, 9)}</a></li>" for n in entries)
    biography = plain("About the author", text(100))
    return site.put(f"/author?page={page}", biography.replace("</body>", f"<ul>{links}</ul></body>"))


@pytest.mark.parametrize("named", [True, False])
def test_the_pages_of_an_authors_list(site: Site, run: Run, named: bool) -> None:
    """Their main text is the author's biography; the last page has one item."""
    entries = [3, 3, 3, 1]
    urls = []
    for page, number in enumerate(entries):
        links = "".join(
            f"<li><a class=entry href=/x/{page}{n}>{text(10 * page + n, 9)}</a></li>" for n in range(number)
        )
        biography = plain("About the author", text(100))
        urls.append(site.put(f"/author?page={page}", biography.replace("</body>", f"<ul>{links}</ul></body>")))
    crawled = run("Pager", urls=urls, named=named, settings=IN_MEMORY)
    assert len({item["title"] for item in crawled.items}) == len(crawled.items) == sum(entries)
    assert crawled.dedup["unchecked/other-item"] == sum(entries[1:])


def test_entries_that_a_later_page_repeats_are_dropped(site: Site, run: Run) -> None:
    urls = []
    for page, entries in enumerate([(1, 2, 3), (3, 4, 5), (1, 5, 6)]):
        urls.append(authors_list(site, page, entries))
    crawled = run("Pager", urls=urls, settings=IN_MEMORY)
    assert sorted(item["url"].rpartition("/")[2] for item in crawled.items) == ["1", "2", "3", "4", "5", "6"]


# -- one URL that is requested several times ---------------------------------------------------------


@pytest.mark.parametrize("action", ["drop", "tag"])
@pytest.mark.parametrize("how", ["form", "again"])
def test_a_url_with_other_items_each_time(site: Site, run: Run, how: str, action: str) -> None:
    url = site.put("/widget", plain("Ice", text(1)))
    crawled = run("Poller", url=url, how=how, settings={**IN_MEMORY, "DEDUP_ACTION": action})
    assert len({item["title"] for item in crawled.items}) == len(crawled.items) == 10
    assert not any(verdict and verdict["status"] == "duplicate" for verdict in crawled.verdicts)
    assert len(crawled.lines("items were kept unchecked", "WARNING")) == 1


@pytest.mark.parametrize("action", ["drop", "tag"])
@pytest.mark.parametrize("how", ["form", "again"])
def test_a_url_with_the_same_items_each_time(site: Site, run: Run, how: str, action: str) -> None:
    """They differ in the time at which they were scraped."""
    url = site.put("/widget", plain("Ice", text(1)))
    crawled = run("Poller", url=url, how=how, same=True, settings={**IN_MEMORY, "DEDUP_ACTION": action})
    copies = [verdict for verdict in crawled.verdicts if verdict is not None]
    assert len(crawled.items) - len(copies) == 2
    assert {(copy["relation"], copy["of"]) for copy in copies} == ({("unchanged", url)} if action == "tag" else set())
    assert crawled.dedup["duplicate/unchanged"] == 4


def test_a_page_that_is_linked_with_and_without_a_slash(site: Site, run: Run) -> None:
    """Its items differ in the spelling of their URL only: they are copies, and not other items of the page."""
    urls = [site.put(f"/a/{number}{end}", plain("Ice", text(number))) for number in range(5) for end in ("", "/")]
    crawled = run(urls=urls, settings=IN_MEMORY)
    assert bodies(crawled) == sorted(map(text, range(5)))
    assert crawled.dedup["dropped"] == 5
    assert not crawled.lines("items were kept unchecked", "WARNING")


@pytest.mark.parametrize("fields", ["", "title", "title,body"])
def test_an_api_that_is_polled(site: Site, run: Run, fields: str) -> None:
    url = site.put("/api", '{"a": "b"}', kind="application/json")
    crawled = run("Poller", url=url, settings={**IN_MEMORY, "DEDUP_ITEM_FIELDS": fields})
    assert len(crawled.items) == 10


def test_a_second_response_with_items_that_are_similar_to_those_of_the_first(site: Site, run: Run) -> None:
    url = site.put("/widget", plain("Ice", text(1)))
    settings = {**IN_MEMORY, "DEDUP_ITEM_FIELDS": "title,body"}
    crawled = run("Poller", url=url, settings=settings)
    titles = {item["title"] for item in crawled.items}
    assert {f"{number} {each}" for number in range(1, 5) for each in range(2)} < titles
    assert len(run("Poller", url=url, same=True, settings=settings).items) < 3


# -- pages that wait for their items ----------------------------------------------------------------


def carried(number: int, chars: int = 10) -> CarriedPage:
    url = f"https://a.example/{number}"
    return CarriedPage(url, 100, ResponseState(), Page(url, "x" * chars), {page_key(f"{url}?canonical")})


def test_the_oldest_pages_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_pages, "MAX_CARRIED", 3)
    waiting, pages = CarriedPages(), [carried(number) for number in range(5)]
    for page in pages:
        waiting.add(page)
    assert [waiting.get(page_key(page.url)) for page in pages] == [None, None, *pages[2:]]
    assert waiting.get(page_key("http://a.example/4?canonical#top")) is pages[4]


def test_their_texts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_pages, "MAX_CARRIED_CHARS", 100)
    waiting, pages = CarriedPages(), [carried(number, chars=40) for number in range(4)]
    for page in pages:
        waiting.add(page)
    assert [waiting.get(page_key(page.url)) for page in pages] == [None, None, *pages[2:]]
    huge = carried(9, chars=1000)
    waiting.add(huge)
    assert waiting.get(page_key(huge.url)) is huge
    waiting.add(pages[0])
    assert waiting.get(page_key(huge.url)) is None


def test_a_page_that_was_fetched_again_replaces_the_first() -> None:
    waiting, first, second = CarriedPages(), carried(1), carried(1)
    waiting.add(first)
    waiting.add(second)
    assert waiting.get(page_key(first.url)) is second


def test_a_page_that_another_view_names_as_canonical_is_found_by_its_own_url() -> None:
    waiting, page = CarriedPages(), carried(1)
    view = CarriedPage("https://a.example/amp/1", 100, ResponseState(), Page("", ""), {page_key(page.url)})
    waiting.add(view)
    assert waiting.get(page_key(page.url)) is view
    waiting.add(page)
    waiting.add(view)
    assert waiting.get(page_key(page.url)) is page
    assert waiting.get(page_key(view.url)) is view


def bookkeeper() -> ItemPages:
    options = Options("memory://", "news", Config())
    tracker = ResponseTracker()
    return ItemPages(options, ResponseReader(options.config.reading, tracker, stats=None))  # type: ignore[arg-type]  # nothing fails


def article(number: int = 1) -> HtmlResponse:
    request = Request(f"https://a.example/{number}", meta={"depth": 1})
    return HtmlResponse(request.url, body=plain("Ice", text(number)).encode(), encoding="utf-8", request=request)


def test_a_waiting_page_does_not_keep_its_response() -> None:
    pages, response = bookkeeper(), article()
    item = {"url": response.url, "title": "Ice"}
    asyncio.run(pages.carry(response))
    gone = ref(response)
    del response
    gc.collect()
    assert gone() is None
    (page,) = pages.origin(item, article(2)).pages
    assert isinstance(page, CarriedPage)
    assert isinstance(page.subject, Page)
    assert page.subject.text == text(1)


AUTHOR = "https://a.example/author"


@pytest.mark.parametrize(
    ("how", "is_carried"),
    [
        ({}, False),
        ({"meta": {"depth": 2}}, False),
        ({"meta": {"depth": 2, "download_slot": "a", "proxy": None}}, False),
        ({"cb_kwargs": {"section": "news", "page": 2}}, False),
        ({"cb_kwargs": {"item": {"url": AUTHOR, "title": "in a list"}}}, False),
        ({"cb_kwargs": {"item": {"title": "without a URL"}}}, False),
        ({"cb_kwargs": {"item": {"url": "https://a.example/1/#top"}}}, True),
        ({"cb_kwargs": {"item": {"url": "/1", "title": "relative"}}}, True),
        ({"cb_kwargs": {"url": "http://a.example/1", "title": "field by field"}}, True),
        ({"meta": {"item": {"link": ["https://a.example/1"]}}}, True),
        ({"meta": {"dedup_page": "https://a.example/1"}}, True),
        ({"meta": {"dedup_page": "https://a.example/2"}}, False),
        ({"callback": partial(print, {"url": "https://a.example/1"})}, True),
        ({"callback": partial(print, item={"url": "https://a.example/1"})}, True),
    ],
)
def test_requests_that_carry_the_item_of_a_page(how: dict[str, Any], is_carried: bool) -> None:
    assert bookkeeper().carries_item(Request(AUTHOR, **how), article()) == is_carried


@pytest.mark.parametrize("named", [3, ["https://a.example/1"], {"url": 1}])
def test_a_page_that_is_named_by_something_else_is_not_there(named: object) -> None:
    response = article()
    assert response.request is not None
    response.request.meta["dedup_page"] = named
    assert bookkeeper().origin({"title": "Ice"}, response).pages == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/1", "http://a.example/1"),
        ("https://a.example/1", "https://a.example/1/"),
        ("https://a.example/1", "https://a.example/1#comments"),
        ("https://a.example/文 1", "https://a.example/%E6%96%87%201"),
    ],
)
def test_urls_of_one_page(one: str, other: str) -> None:
    assert page_key(one) == page_key(other)


@pytest.mark.parametrize("other", ["https://a.example/2", "https://b.example/1", "https://a.example/1?page=2"])
def test_urls_of_different_pages(other: str) -> None:
    assert page_key("https://a.example/1") != page_key(other)
