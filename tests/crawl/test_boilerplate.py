"""Real crawls of sites whose pages repeat text: what is left out, what stays content, and what is lost to neither."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator, Page
from tests.crawl.running import IN_TURN, finish, start
from tests.crawl.site import Site
from tests.sites.words import Writer
from tests.test_site_memory import ABOUT, BLOG, PAPER, POSTS, blog, lists, page, revision
from tests.test_site_memory import Post as BlogPost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crawl.running import Crawled

    Pages = list[tuple[str, str]]

MIRROR = "https://mirror.example"
REPRINT = POSTS[9].on(PAPER, after="")
FOUND = {REPRINT[0]}  #: it is found only where the life of the author is left out of the post


@dataclass(frozen=True)
class Trap:
    """Pages in the order of the crawl."""

    pages: Pages
    dropped: set[str]  #: must be dropped
    droppable: frozenset[str] = frozenset()  #: may be dropped or kept, as little text tells


def copies(pages: Pages, query: str) -> Pages:
    return [(f"{url}?{query}", html) for url, html in pages]


def traps() -> Iterator[tuple[str, Trap]]:
    """Yield the traps of the site memory by name."""
    yield "a blog", Trap([*blog(), REPRINT], FOUND)
    yield "whole posts on lists, read last", Trap([*blog(), *lists(), REPRINT], FOUND)
    yield "whole posts on lists, read first", Trap([*lists(), *blog(), REPRINT], FOUND)
    yield "siblings of one template", Trap(mills(), set())
    refrain = f"<p>{Writer('refrain', 0).text(2)}</p>"
    yield "a series", Trap([*[post.on(before=refrain) for post in POSTS], REPRINT], FOUND)
    yield "first pages", Trap([*blog(), *copies(blog()[:3], "from=mail")], urls(copies(blog()[:3], "from=mail")))
    yield "a reprint that comes first", Trap([REPRINT, *blog()], {POSTS[9].on()[0]})
    yield "a redesign", redesign()
    terms = f"<p>{Writer('terms', 0).text(8)}</p>"
    mixed = [post.on(after=terms) if post.number % 3 == 0 else post.on() for post in POSTS]
    yield "two templates", Trap([*mixed, REPRINT], FOUND)
    ten = blog(POSTS[:10])
    yield "ten pages", Trap([*ten, *copies(ten, "from=mail"), REPRINT], {*urls(copies(ten, "from=mail")), *FOUND})
    mirrored = POSTS[0].on(MIRROR)
    yield "a hostile site", Trap([*hostile(), *blog(POSTS[:1]), mirrored], {mirrored[0]})
    yield "a page of repeated text", Trap([*blog(), ABOUT], set())


def urls(pages: Pages) -> set[str]:
    return {url for url, _ in pages}


def mills() -> Pages:
    """Return pages that have one line of their own each."""
    standing = Writer("terms", 0).story(4)
    names = [f"{place} mill" for place in Writer("mills", 0).all("place")[:14]]
    line = "<h1>{0}</h1><p>The wheel of {0} has {1} blades.</p>"
    return [
        (f"{BLOG}/mill/{number}", page(name, line.format(name, number + 30) + standing))
        for number, name in enumerate(names)
    ]


def redesign() -> Trap:
    """Half of the posts have another text below them, and then four of the first half are met again in it."""
    other = f"<p>{Writer('newsletter', 0).text(6)}</p>"
    after = [(url.replace("/post/", "/2027/"), html) for url, html in (post.on(after=other) for post in POSTS)]
    late = POSTS[14].on(PAPER, after="")
    return Trap([*blog(POSTS[:8]), *after[8:], *after[4:8], late], {late[0]}, frozenset(urls(after[4:8])))


def hostile() -> Pages:
    """Return pages of another site that repeats an article on each."""
    return [
        (f"https://spam.example/{n}", page("Spam", BlogPost(100 + n).body + POSTS[0].body + BlogPost(200 + n).body))
        for n in range(12)
    ]


TRAPS = dict(traps())


def served(pages: Pages, servers: ExitStack) -> tuple[list[str], dict[str, str]]:
    """Serve each site by a server of its own; return the URLs there, and the given URL of each."""
    sites: dict[str, Site] = {}
    given: dict[str, str] = {}
    for url, html in pages:
        host, _, path = url.removeprefix("https://").partition("/")
        site = sites.get(host) or servers.enter_context(Site())
        sites[host] = site
        given[site.put(f"/{path}", html)] = url
    return [*given], given


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Crawled, dict[str, str]]]:
    """All crawls, in one process, each with a store of its own; with the given URL of each page."""
    with ExitStack() as servers:
        every = {name: served(trap.pages, servers) for name, trap in TRAPS.items()}
        asked = [("Plainly", {"urls": found}) for found, _ in every.values()]
        own = [{"DEDUP_STORE": "memory://"}] * len(asked)
        found = finish(start(tmp_path_factory.mktemp("crawls"), *asked, settings=IN_TURN, own=own))
    return {name: (each, given) for each, (name, (_, given)) in zip(found, every.items(), strict=True)}


@pytest.mark.parametrize("name", TRAPS)
def test_only_copies_are_dropped(name: str, crawls: dict[str, tuple[Crawled, dict[str, str]]]) -> None:
    crawled, given = crawls[name]
    kept = {given[item["url"]] for item in crawled.items}
    assert {*given.values()} - kept - TRAPS[name].droppable == TRAPS[name].dropped


def test_a_page_of_repeated_text_is_unchecked(crawls: dict[str, tuple[Crawled, dict[str, str]]]) -> None:
    crawled, given = crawls["a page of repeated text"]
    verdicts = {given[url]: verdict for url, verdict in crawled.verdict_on.items()}
    assert verdicts[ABOUT[0]]["reason"] == "template"
    assert crawled.dedup["unchecked/template"] == 1


def test_without_memory_the_reprint_is_kept(tmp_path: Path) -> None:
    with ExitStack() as servers:
        asked, given = served(TRAPS["a blog"].pages, servers)
        settings = {**IN_TURN, "DEDUP_SITE_MEMORY": False}
        crawled = finish(start(tmp_path, ("Plainly", {"urls": asked}), settings=settings))[0]
    assert {given[item["url"]] for item in crawled.items} == {*given.values()}


def test_versions_of_a_page_that_several_crawls_find(tmp_path: Path) -> None:
    """What all versions of a page say is not what its site repeats: another page that quotes it is kept as before."""
    url, _ = revision(0)
    store = f"lmdb://{tmp_path}/store"
    with Site() as site:
        for number in range(5):
            own = site.put(url.removeprefix(BLOG), revision(number)[1])
            settings = {**IN_TURN, "DEDUP_STORE": store}
            crawled = finish(start(tmp_path, ("Plainly", {"urls": [own]}), settings=settings))[0]
            assert [item["url"] for item in crawled.items] == [own]
        with Deduplicator(store, "plainly") as dedup:
            read = dedup.read(html=revision(5)[1], url=own)
            assert isinstance(read, Page)
            assert dedup.site_memory is not None
            assert dedup.site_memory.has_lines(own)
            assert dedup.site_memory.repeated(read) == []
