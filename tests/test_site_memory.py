"""What a site repeats on kept pages is left out of comparisons, and nothing else is."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from dedupcrawl import Config, Deduplicator, Page, Verdict
from dedupcrawl.errors import StoreError
from dedupcrawl.sites.site_memory import EXCHANGE_PAGES, FIRST_PAGES, KNOWN_PAGES, NEW_BESIDE, SiteTracker
from dedupcrawl.stores.site_tables import SiteTable, SiteTables, SiteView, unpack_site
from tests.sites.words import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

BLOG, PAPER = "https://blog.weir.example", "https://www.paper.example"
_life = Writer("life", 0)
LIFE = f"<p>{_life.text(5)}</p><p>{_life.text(4)}</p><p>{_life.text(4)}</p>"


@dataclass(frozen=True)
class Post:
    """A post of a blog."""

    number: int
    paragraphs: int = 4

    @property
    def name(self) -> str:
        return Writer("headline", self.number).headline()

    @property
    def body(self) -> str:
        return Writer("post", 2 * self.number).story(self.paragraphs)

    def on(self, site: str = BLOG, after: str = LIFE, before: str = "") -> tuple[str, str]:
        """Return URL and HTML of the post on a site."""
        body = f"{before}{self.body}{after}"
        return f"{site}/post/{self.number}.html", page(self.name, f"<h1>{self.name}</h1>{body}")


POSTS = [Post(number) for number in range(16)]


def page(title: str, body: str) -> str:
    return f"<html><title>{title}</title><body><div><article>{body}</article></div></body></html>"


def listing(path: str, title: str, posts: Iterable[Post], *, linked: bool = True) -> tuple[str, str]:
    """Return URL and HTML of a page that carries whole posts."""
    names = '<h2><a href="/post/{0}.html">{1}</a></h2>{2}' if linked else "<h2>{1}</h2>{2}"
    return f"{BLOG}{path}", page(title, "".join(names.format(each.number, each.name, each.body) for each in posts))


def crawl(pages: Iterable[tuple[str, str]], dedup: Deduplicator) -> dict[str, Verdict]:
    return {url: dedup.add(html=html, url=url) for url, html in pages}


def blog(posts: Sequence[Post] = POSTS) -> list[tuple[str, str]]:
    return [post.on() for post in posts]


# -- what is boilerplate ------------------------------------------------------------------------


def test_the_life_of_the_author_is_left_out_on_the_page_after_the_third() -> None:
    with Deduplicator() as dedup:
        memory = dedup.site_memory
        assert memory is not None
        for number, (url, html) in enumerate(blog()):
            read = dedup.read(html=html, url=url)
            assert not isinstance(read, Verdict)
            known = {line.text for line in memory.repeated(read)}
            assert len(known) == (3 if number >= KNOWN_PAGES else 0)
            assert all(f"<p>{line}</p>" in LIFE for line in known)
            dedup.add(read)
            repeated = memory.repeated(read)
        assert [line.pages for line in repeated] == [len(POSTS)] * 3


def test_a_reprint_of_a_page_with_a_long_life_of_its_author_is_found() -> None:
    """The life is a third of the page: by all of the text the reprint would be another page."""
    with Deduplicator() as dedup, Deduplicator(site_memory=False) as without:
        for each in (dedup, without):
            crawl(blog(), each)
        url, html = POSTS[9].on(PAPER, after="")
        assert dedup.add(html=html, url=url).of == POSTS[9].on()[0]
        assert without.add(html=html, url=url).keep


def test_a_reprint_that_comes_first_is_found_too() -> None:
    with Deduplicator() as dedup:
        first = POSTS[9].on(PAPER, after="")
        verdicts = crawl([first, *blog()], dedup)
        assert verdicts[POSTS[9].on()[0]].of == first[0]
        assert sum(verdict.keep for verdict in verdicts.values()) == len(POSTS)


def test_a_reprint_of_a_short_page_with_its_repeated_text_is_found() -> None:
    """Little would be left of the page, and the other site has the repeated text too: all of it is compared."""
    posts = [replace(post, paragraphs=1) for post in POSTS]
    with Deduplicator() as dedup:
        crawl(blog(posts), dedup)
        url, html = posts[9].on(PAPER, after="", before=LIFE)
        assert dedup.add(html=html, url=url).of == posts[9].on()[0]


APPEAL = "".join(f"<div><p>{Writer('appeal', n).text(3)}</p></div>" for n in range(3))
FIRST_APPEAL = Writer("appeal", 0).text(3)
ESSAYS = [Post(number, paragraphs=10) for number in range(20, 32)]  # long: the appeal is left out of their text


def appealing(post: Post) -> tuple[str, str]:
    """Return URL and HTML of a post in a theme with an appeal below it, which is read with a short post."""
    body = f"<h1>{post.name}</h1><div>{post.body}</div><div>{APPEAL}</div>"
    return f"{BLOG}/essay/{post.number}", page(post.name, "").replace("<article></article>", body)


def test_what_stands_beside_the_text_of_long_pages_is_learnt_for_short_ones() -> None:
    reprint = POSTS[9].on(PAPER, after="")
    for known in (KNOWN_PAGES, KNOWN_PAGES - 1):
        with Deduplicator() as dedup:
            read = [dedup.read(html=html, url=url) for url, html in map(appealing, ESSAYS)]
            assert [isinstance(each, Page) and FIRST_APPEAL in each.beside for each in read] == [True] * len(ESSAYS)
            crawl([reprint, *map(appealing, ESSAYS[:known])], dedup)
            url, html = appealing(POSTS[9])
            assert dedup.add(html=html, url=url).keep == (known < KNOWN_PAGES)


def counted_table(pages: Iterable[Page]) -> SiteTable:
    """The stored table of the site after these pages."""
    with Deduplicator() as dedup:
        assert dedup.site_memory is not None
        assert all(dedup.add(each).keep for each in pages)
        dedup.site_memory.exchange()
        ((_, value),) = dedup.store.sites()
        return unpack_site(value)


def test_what_stands_beside_a_text_is_counted_on_the_first_pages_only() -> None:
    appeal = Writer("appeal", 0).text(1)
    pages = [Page(f"{BLOG}/{n}", Writer("own", n).text(9), beside=appeal) for n in range(2 * FIRST_PAGES)]
    table = counted_table(pages)
    assert (table.pages, table.lines[crc32(appeal.encode())]) == (2 * FIRST_PAGES, FIRST_PAGES)


def test_of_the_new_lines_beside_a_text_the_longest_are_counted() -> None:
    lines = [f"{'x' * size} stands beside" for size in range(3 * NEW_BESIDE)]
    table = counted_table([Page(f"{BLOG}/1", Writer("own", 1).text(9), beside="\n".join(lines))])
    assert [line for line in lines if crc32(line.encode()) in table.lines] == lines[-NEW_BESIDE:]


def test_posts_beside_the_post_that_was_read_remain_content() -> None:
    """A home page of which one post is read has the others beside it: they are longer than what was read."""
    with Deduplicator() as dedup:
        memory = dedup.site_memory
        assert memory is not None
        texts = [Writer("post", number).text(12) for number in range(9)]
        for number, text in enumerate(texts[:6]):
            beside = "\n".join(texts[6:])
            dedup.add(Page(f"{BLOG}/page/{number}", text, beside=beside, unread=len(beside)))
        assert memory.repeated(Page(f"{BLOG}/post/8", texts[8])) == []


def test_copies_on_the_site_itself_are_found_before_and_after_it_is_known() -> None:
    with Deduplicator() as dedup:
        crawl(blog(), dedup)
        for post in POSTS:  # the first three were filed with their boilerplate
            url, html = post.on()
            verdict = dedup.add(html=html, url=f"{url}?utm_source=mail")
            assert (verdict.keep, verdict.of) == (False, url)


def test_a_recrawl_changes_nothing() -> None:
    with Deduplicator() as dedup:
        crawl(blog(), dedup)
        again = crawl(blog(), dedup)
        assert {verdict.relation for verdict in again.values()} == {"unchanged"}


def test_dropped_copies_do_not_count() -> None:
    """Else the text of a page would become boilerplate by its own print views."""
    with Deduplicator() as dedup:
        url, html = POSTS[0].on()
        for number in range(6):
            dedup.add(html=html, url=f"{url}?print={number}")
        assert dedup.site_memory is not None
        read = dedup.read(html=html, url=url)
        assert not isinstance(read, Verdict)
        assert dedup.site_memory.repeated(read) == []


def revision(number: int) -> tuple[str, str]:
    """Return a version of a post with new text of its own, longer than the rest."""
    url, html = POSTS[0].on(after="")
    new = Writer("revision", number).story(3)
    return url, html.replace("</article>", f"{new}</article>")


@pytest.mark.parametrize("store", ["memory", "lmdb"])
def test_versions_of_one_page_count_once(store: str, tmp_path: Path) -> None:
    """Else the lines that all its versions have would be those that its site repeats."""
    with Deduplicator(f"lmdb://{tmp_path}/store" if store == "lmdb" else "memory://") as dedup:
        verdicts = [dedup.add(html=html, url=url) for url, html in map(revision, range(5))]
        assert [verdict.relation for verdict in verdicts] == [None, *["updated"] * 4]
        url, html = revision(5)
        read = dedup.read(html=html, url=url)
        assert not isinstance(read, Verdict)
        assert dedup.site_memory is not None
        assert dedup.site_memory.repeated(read) == []
        assert dedup.site_memory.view(read).own is None  # type: ignore[union-attr]


# -- what is not ------------------------------------------------------------------------------


def lists(*, linked: bool = True) -> list[tuple[str, str]]:
    """Return home, tag and month pages: each post is on six of them, whole."""
    found = [listing("/", "The weir", POSTS[:8], linked=linked)]
    found += [listing(f"/topic/{n}", f"Topic {n}", POSTS[n::3], linked=linked) for n in range(3)]
    found += [listing(f"/2026/{n}/", f"Month {n}", POSTS[4 * n : 4 * n + 4], linked=linked) for n in range(4)]
    found += [listing(f"/page/{n}", f"Page {n}", POSTS[5 * n : 5 * n + 5], linked=linked) for n in range(1, 3)]
    found += [listing(f"/by/{n}", f"Author {n}", POSTS[n::2], linked=linked) for n in range(2)]
    return found


ORDERS = ("posts first", "lists first", "posts first, unlinked", *range(4))


@pytest.mark.parametrize("order", ORDERS)
def test_posts_that_lists_carry_whole_remain_content(order: str | int) -> None:
    posts, carried = blog(), lists(linked="unlinked" not in str(order))
    pages = [*carried, *posts] if order == "lists first" else [*posts, *carried]
    if isinstance(order, int):
        random.Random(order).shuffle(pages)
    with Deduplicator() as dedup:
        verdicts = crawl(pages, dedup)
        assert all(verdicts[url].keep for url, _ in posts)
        assert dedup.site_memory is not None
        for url, html in posts:
            read = dedup.read(html=html, url=url)
            assert not isinstance(read, Verdict)
            repeated = {line.text for line in dedup.site_memory.repeated(read)}
            assert all(f"<p>{line}</p>" in LIFE for line in repeated)


@pytest.mark.parametrize("title", ["Tag: mills", "Category archives", "标签：水磨", "归档", "Archives"])
def test_a_list_is_known_by_its_title(title: str) -> None:
    with Deduplicator() as dedup:
        pages = [listing(f"/x/{n}", title, [POSTS[0], POSTS[n + 1]], linked=False) for n in range(6)]
        crawl(pages, dedup)
        assert dedup.site_memory is not None
        read = dedup.read(html=POSTS[0].on()[1], url=f"{BLOG}/post")
        assert not isinstance(read, Verdict)
        assert dedup.site_memory.repeated(read) == []


def test_siblings_of_one_template_are_compared_as_without_memory() -> None:
    """Their own line is short: nothing is learnt, and all of their text is compared."""
    standing = Writer("terms", 0).story(4)
    names = [f"{place} mill" for place in Writer("mills", 0).all("place")[:14]]
    pages = [
        (f"{BLOG}/mill/{n}", page(name, f"<h1>{name}</h1><p>The wheel of {name} has {n + 30} blades.</p>{standing}"))
        for n, name in enumerate(names)
    ]
    verdicts = []
    for on in (True, False):
        with Deduplicator(site_memory=on) as dedup:
            verdicts.append(crawl(pages, dedup))
    assert verdicts[0] == verdicts[1]
    assert all(verdict.keep for verdict in verdicts[0].values())


def test_the_refrain_of_a_series_is_left_out_and_its_parts_are_kept() -> None:
    refrain = f"<p>{Writer('refrain', 0).text(2)}</p>"
    series = [post.on(before=refrain) for post in POSTS]
    with Deduplicator() as dedup:
        verdicts = crawl(series, dedup)
        assert all(verdict.keep for verdict in verdicts.values())
        url, html = POSTS[8].on(PAPER, after="")
        assert dedup.add(html=html, url=url).of == POSTS[8].on()[0]


def test_a_site_of_ten_pages_loses_nothing_and_keeps_no_copy() -> None:
    posts = POSTS[:10]
    with Deduplicator() as dedup:
        verdicts = crawl([*blog(posts), *[(f"{url}?from=mail", html) for url, html in blog(posts)]], dedup)
        assert [url for url, verdict in verdicts.items() if verdict.keep] == [url for url, _ in blog(posts)]


def test_a_redesign_half_way() -> None:
    other = f"<p>{Writer('newsletter', 0).text(6)}</p>"
    after = [(url.replace("/post/", "/2027/"), html.replace(LIFE, other)) for url, html in blog()]
    with Deduplicator() as dedup:
        verdicts = crawl([*blog(POSTS[:8]), *after[8:]], dedup)
        assert all(verdict.keep for verdict in verdicts.values())
        copies = crawl(after[4:8], dedup)  # posts of the old design, met again in the new one
        assert [verdict.of for verdict in copies.values()] == [url for url, _ in blog()[4:8]]


def test_two_templates_on_one_host() -> None:
    terms = f"<p>{Writer('terms', 0).text(8)}</p>"
    pages = [post.on(after=LIFE if post.number % 2 else terms) for post in POSTS]
    with Deduplicator() as dedup:
        assert all(verdict.keep for verdict in crawl(pages, dedup).values())
        for post in POSTS[8:10]:
            url, html = post.on(PAPER, after="")
            assert dedup.add(html=html, url=url).of == post.on()[0]


def test_a_site_cannot_make_the_article_of_another_one_boilerplate() -> None:
    hostile = [
        (f"https://spam.example/{n}", page("Spam", f"{Post(100 + n).body}{POSTS[0].body}{Post(200 + n).body}"))
        for n in range(12)
    ]
    with Deduplicator() as dedup:
        crawl(hostile, dedup)
        url, html = POSTS[0].on()
        assert dedup.add(html=html, url=url).status == "unique"
        assert dedup.add(html=html, url=url.replace("blog.weir", "mirror")).of == url
        read = dedup.read(html=html, url=url)
        assert not isinstance(read, Verdict)
        assert dedup.site_memory is not None
        assert dedup.site_memory.repeated(read) == []


# -- a page of repeated text only -----------------------------------------------------------------

ABOUT = (f"{BLOG}/about", page("About", LIFE))


def test_a_page_of_repeated_text_is_unchecked() -> None:
    with Deduplicator() as dedup:
        crawl(blog(), dedup)
        verdict = dedup.add(html=ABOUT[1], url=ABOUT[0])
        assert (verdict.status, verdict.reason, verdict.keep) == ("unchecked", "template", True)
        other = dedup.add(html=ABOUT[1], url=f"{BLOG}/autor")
        assert (other.reason, other.of) == ("template", None)
        assert dedup.add(html=ABOUT[1], url=ABOUT[0]).relation == "unchanged"
        assert dedup.add(html=LIFE, url="https://other.example/").status == "unique"


def test_a_page_of_repeated_text_that_was_filed_before_is_unchanged() -> None:
    with Deduplicator() as dedup:
        assert dedup.add(html=ABOUT[1], url=ABOUT[0]).status == "unique"
        crawl(blog(), dedup)
        assert dedup.add(html=ABOUT[1], url=ABOUT[0]).relation == "unchanged"


# -- the setting, stores and workers --------------------------------------------------------------


def test_without_memory_nothing_is_kept() -> None:
    with Deduplicator(config=Config(site_memory=False)) as dedup:
        crawl(blog(), dedup)
        assert dedup.site_memory is None
        assert [*dedup.store.sites()] == []
        assert dedup.add(html=ABOUT[1], url=ABOUT[0]).status == "unique"


def test_check_counts_nothing() -> None:
    with Deduplicator() as dedup:
        for url, html in blog():
            dedup.check(html=html, url=url)
        assert dedup.check(html=ABOUT[1], url=ABOUT[0]).status == "unique"


@pytest.mark.parametrize("page_url", ["", "https://" + "a" * 300 + ".example/"])
def test_pages_of_no_site(page_url: str) -> None:
    with Deduplicator() as dedup:
        for post in POSTS[:6]:
            dedup.add(html=post.on()[1], url=page_url and f"{page_url}{post.number}")
        assert [*dedup.store.sites()] == []


def test_the_memory_survives_the_crawl(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/store"
    with Deduplicator(url) as dedup:
        crawl(blog(POSTS[:8]), dedup)
    with Deduplicator(url) as dedup:
        assert [(site, unpack_site(value).pages) for site, value in dedup.store.sites()] == [("weir.example", 8)]
        assert dedup.add(html=ABOUT[1], url=ABOUT[0]).reason == "template"
        dedup.store.forget_sites(["weir.example"])
    with Deduplicator(url) as dedup:
        assert dedup.add(html=ABOUT[1], url=f"{BLOG}/us").status == "unique"


def test_workers_share_what_they_counted(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/store"
    with Deduplicator(url) as one, Deduplicator(url) as two:
        for number, (address, html) in enumerate(blog()):
            (one, two)[number % 2].add(html=html, url=address)
        for worker in (one, two):
            worker.renew()
        assert one.add(html=ABOUT[1], url=ABOUT[0]).reason == "template"
        assert [unpack_site(value).pages for _, value in one.store.sites()] == [len(POSTS)]


class Failing(SiteTables):
    """Tables of a store that fails, and of one that is far away."""

    def __init__(self, *, remote: bool = False) -> None:
        self.remote, self.fails = remote, True
        self.tables: dict[str, bytes] = {}
        self.calls: list[str] = []

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:
        self.calls.append("load")
        return self.merge_sites(dict.fromkeys(sites, b""))

    def merge_sites(self, added: Mapping[str, bytes]) -> dict[str, bytes]:
        if self.fails:
            raise StoreError("away")
        self.tables |= {site: value for site, value in added.items() if value}
        self.calls.append("merge")
        return {site: self.tables[site] for site in added if site in self.tables}


def views(memory: SiteTracker, posts: Iterable[Post] = POSTS) -> None:
    with Deduplicator() as dedup:
        for post in posts:
            url, html = post.on()
            read = dedup.read(html=html, url=url)
            assert not isinstance(read, Verdict)
            memory.count(memory.view(read))


def test_counts_are_kept_while_the_store_is_away() -> None:
    tables = Failing()
    memory = SiteTracker(tables, remote=False, clock=lambda: 0.0)
    views(memory)
    memory.exchange()
    tables.fails = False
    memory.close()
    assert {site: unpack_site(value).pages for site, value in tables.tables.items()} == {"weir.example": len(POSTS)}


def test_a_remote_store_is_not_asked_while_a_page_is_read() -> None:
    tables = Failing(remote=True)
    tables.fails = False
    memory = SiteTracker(tables, remote=True, clock=lambda: 0.0)
    with Deduplicator() as dedup:
        read = dedup.read(html=ABOUT[1], url=ABOUT[0])
        assert not isinstance(read, Verdict)
        memory.view(read)
        assert tables.calls == []
    memory.exchange()
    assert tables.calls == ["merge"]


class Waiting(SiteTables):
    """Tables of a store that another thread uses within a transaction."""

    def __init__(self) -> None:
        self.entered, self.go_on = Event(), Event()

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:
        self.entered.set()
        assert self.go_on.wait(10)
        return {}


def test_a_page_can_be_counted_while_another_thread_waits_for_the_store() -> None:
    tables = Waiting()
    memory = SiteTracker(tables, remote=False)
    reading = Thread(target=memory.view, args=(Page.from_text("a line of text", "https://a.example/"),))
    reading.start()
    assert tables.entered.wait(10)
    counting = Thread(target=memory.count, args=(SiteView("b.example", (1, 2)),))
    counting.start()
    counting.join(10)
    assert not counting.is_alive()
    tables.go_on.set()
    reading.join(10)


def test_pages_that_are_claimed_together_are_counted_once(tmp_path: Path) -> None:
    with Deduplicator(f"lmdb://{tmp_path}/store") as dedup:
        records = [(dedup.fingerprint(Page.from_text(post.body, f"{BLOG}/{post.number}")), "u") for post in POSTS[:4]]
        claims = dedup.claim_records([(record, url) for record, url in records if not isinstance(record, Verdict)])
        assert len(claims) == 4
        dedup.renew()
        assert [unpack_site(value).pages for _, value in dedup.store.sites()] == [4]


def test_pages_with_one_text_that_are_read_together_count_once() -> None:
    memory = SiteTracker(SiteTables(), remote=False)
    offers = [Page(text=POSTS[1].body.replace("</p>", "\n"), url=f"{BLOG}/offer/{number}") for number in range(6)]
    read = [memory.view(each) for each in offers]
    for view in read:
        memory.count(view)
    assert not any(view.is_template for view in map(memory.view, offers) if view)


def test_the_store_gets_counts_now_and_then() -> None:
    tables = Failing()
    tables.fails = False
    memory = SiteTracker(tables, remote=False, clock=lambda: 0.0)
    for post in itertools.islice(itertools.cycle(POSTS), EXCHANGE_PAGES + 1):
        views(memory, [Post(post.number + 1000)])
    assert tables.calls.count("merge") <= 3
