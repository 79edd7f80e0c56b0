"""Which sites are conspicuous, and what is said about them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Relation
from dedupcrawl.sites.registrable_domain import host_of, registrable_domain, site_of
from dedupcrawl.sites.site_counts import (
    CROWD,
    MANY_SIBLINGS,
    MAX_GROUP_URLS,
    MAX_GROUPED,
    MAX_SOURCES,
    MAX_URL_CHARS,
    MIN_PAGES,
    MIN_UNREAD_PAGES,
    NoticeKind,
    SiblingCounts,
    SiteCounts,
    SiteNotice,
)

SITE = "https://www.shop.example/"
COPY, SIBLING = Relation.NEAR_DUPLICATE, Relation.SIBLING


def add_new(counts: SiteCounts, pages: int, site: str = SITE) -> list[SiteNotice]:
    """Count pages that are like no other; return what is said meanwhile."""
    return [notice for number in range(pages) if (notice := counts.add(f"{site}new/{number}"))]


def add_alike(counts: SiteCounts, *sizes: int, relation: Relation = COPY, site: str = SITE) -> list[SiteNotice]:
    """Count so many pages that are like each of as many earlier pages, in turn; return what is said meanwhile."""
    turns = [(turn, source) for turn in range(max(sizes)) for source, size in enumerate(sizes) if turn < size]
    found = (counts.add(f"{site}{source}/{turn}", relation, f"{site}{source}") for turn, source in turns)
    return [notice for notice in found if notice]


def add_unread(counts: SiteCounts, pages: int, reason: str = "empty", site: str = SITE) -> list[SiteNotice]:
    """Count pages that were not read; return what is said meanwhile."""
    found = (counts.add(f"{site}{reason}/{number}", reason=reason) for number in range(pages))
    return [notice for notice in found if notice]


# -- pages that are alike ------------------------------------------------------------------------


def test_of_a_site_whose_pages_are_like_one_of_them_it_is_said_once() -> None:
    counts = SiteCounts()
    assert add_new(counts, 1) == []
    [notice] = add_alike(counts, 100, relation=SIBLING)
    assert notice.text == (
        "Of 15 compared pages of shop.example, 14 are siblings of earlier pages of this site; "
        "all of these are like only 1 earlier page"
    )
    assert notice.examples[1] == f"{SITE}0"
    assert "sibling to DEDUP_DROP" in notice.advice
    [now] = counts.notices()
    assert (now.pages, now.siblings, now.crowded, now.sources) == (101, 100, 100, 1)


def test_repeats_and_siblings_are_counted_apart() -> None:
    counts = SiteCounts()
    add_new(counts, 8)
    add_alike(counts, 1, 1, 1, 1, 1, 1)
    add_alike(counts, 15, 7, 1, relation=SIBLING)
    [notice] = counts.notices()
    assert notice.text == (
        "Of 37 compared pages of shop.example, 6 repeat and 23 are siblings of earlier pages of this site; "
        "24 of these 29 are like only 2 earlier pages"
    )


def test_where_more_repeat_the_advice_is_about_what_is_read() -> None:
    counts = SiteCounts()
    [notice] = add_alike(counts, 30)
    assert all(each in notice.advice for each in ("DEDUP_READER", "DEDUP_ITEM_FIELDS", 'DEDUP_SCOPE = "other-hosts"'))


def test_a_few_pages_say_nothing() -> None:
    counts = SiteCounts()
    assert add_alike(counts, MIN_PAGES - 1) == []
    assert len(add_alike(counts, 1)) == 1


def test_a_page_with_three_views_each_is_ordinary() -> None:
    counts = SiteCounts()
    assert add_new(counts, 10) == []
    assert add_alike(counts, *[3] * 10) == []
    assert counts.notices() == []


def test_a_large_site_with_a_copy_of_each_page_is_ordinary() -> None:
    counts = SiteCounts()
    said = [add_new(counts, 1000), add_alike(counts, *[1] * 1000), add_alike(counts, *[1] * 1000)]
    assert said == [[], [], []]


def test_less_than_half_is_ordinary() -> None:
    counts = SiteCounts()
    assert add_new(counts, 101) == []
    assert add_alike(counts, 100) == []


def test_of_a_site_nearly_all_of_whose_pages_repeat_others_it_is_said_however_many_those_are() -> None:
    counts = SiteCounts()
    add_new(counts, 200)
    [notice] = add_alike(counts, *[CROWD - 1] * 201)
    assert notice.sources == 0
    assert notice.text.endswith("repeat earlier pages of this site")


def test_a_crowd_is_found_behind_many_other_earlier_pages() -> None:
    counts = SiteCounts()
    add_new(counts, 400)
    assert add_alike(counts, *[1] * 10 * MAX_SOURCES) == []
    found = [notice for number in range(400) if (notice := counts.add(f"{SITE}late/{number}", COPY, f"{SITE}terms"))]
    assert len(found) == 1
    assert found[0].examples[1] == f"{SITE}terms"


@pytest.mark.parametrize("relation", [Relation.UNCHANGED, Relation.UPDATED, Relation.REFRESHED])
def test_a_new_version_of_a_known_page_is_like_no_other_page(relation: Relation) -> None:
    counts = SiteCounts()
    for number in range(MIN_PAGES):
        counts.add(f"{SITE}{number}", relation, f"{SITE}{number}")
    assert counts.notices() == []
    [notice] = add_alike(counts, MIN_PAGES)
    assert notice.pages == MIN_PAGES


@pytest.mark.parametrize("sizes", [[1] * MIN_PAGES, [MIN_PAGES]], ids=["print views", "one crowd"])
def test_a_site_that_is_crawled_again_is_named_if_it_was_named_before(sizes: list[int]) -> None:
    """Only the copies are no versions of pages that are known by then."""
    first, again = SiteCounts(), SiteCounts()
    assert add_new(first, 60) + add_alike(first, *sizes) == []
    for number in range(60):
        again.add(f"{SITE}new/{number}", Relation.UNCHANGED, f"{SITE}new/{number}")
    assert add_alike(again, *sizes) == []
    [notice] = add_alike(again, 100)
    assert notice.repeats > MIN_PAGES


def test_a_mirror_of_another_site_is_ordinary() -> None:
    counts = SiteCounts()
    for number in range(100):
        assert counts.add(f"{SITE}{number}", COPY, f"https://other.example/{number}") is None
    assert counts.notices() == []


def test_a_site_whose_pages_are_like_one_page_of_another_site_is_named() -> None:
    counts = SiteCounts()
    found = [counts.add(f"{SITE}{number}", COPY, "https://chamber.example/terms") for number in range(30)]
    [notice] = filter(None, found)
    assert notice.text == (
        "Of 15 compared pages of shop.example, 15 repeat earlier pages of other sites; "
        "all of these are like only 1 earlier page"
    )
    assert notice.examples == (f"{SITE}14", "https://chamber.example/terms")
    assert "DEDUP_READER" in notice.advice
    assert "DEDUP_SCOPE" not in notice.advice  # it does compare pages of other sites
    assert counts.notices()[0].elsewhere == 30


def test_siblings_on_other_sites_are_nothing_conspicuous() -> None:
    counts = SiteCounts()
    for number in range(30):
        assert counts.add(f"{SITE}{number}", SIBLING, "https://chamber.example/terms") is None
    assert counts.notices() == []


def test_pages_that_are_like_pages_here_and_elsewhere_are_counted_apart() -> None:
    counts = SiteCounts()
    add_alike(counts, 10)
    add_alike(counts, 6, relation=SIBLING)
    for number in range(20):
        counts.add(f"{SITE}terms/{number}", COPY, "https://chamber.example/terms")
    [notice] = counts.notices()
    assert notice.text == (
        "Of 36 compared pages of shop.example, 10 repeat and 6 are siblings of earlier pages of this site, "
        "20 repeat earlier pages of other sites; all of these are like only 2 earlier pages"
    )
    assert notice.concerned == 36


def test_hosts_of_one_site_are_counted_together() -> None:
    counts = SiteCounts()
    for number in range(10):
        counts.add(f"https://de.shop.example/{number}", COPY, SITE)
        counts.add(f"https://www.shop.example/{number}", COPY, SITE)
    assert [notice.site for notice in counts.notices()] == ["shop.example"]


def test_the_example_is_from_the_largest_crowd() -> None:
    counts = SiteCounts()
    add_alike(counts, 3, 20)
    assert counts.notices()[0].examples == (f"{SITE}1/19", f"{SITE}1")


@given(st.lists(st.integers(0, 80), max_size=300))
def test_no_crowd_is_larger_than_it_is(sources: list[int]) -> None:
    counts = SiteCounts()
    for number, source in enumerate(sources):
        counts.add(f"{SITE}{number}", COPY, f"{SITE}{source}")
        [count] = counts.counts()
        assert len(count.sources) <= MAX_SOURCES
    real = Counter(sources)
    for notice in counts.notices():
        assert notice.repeats == len(sources)
        assert notice.crowded <= sum(size for size in real.values() if size >= CROWD)
        if len(real) <= MAX_SOURCES:
            assert notice.crowded == sum(size for size in real.values() if size >= CROWD)
            assert notice.sources == sum(size >= CROWD for size in real.values())


# -- pages that are siblings of one another ---------------------------------------------------------


def add_chain(counts: SiteCounts, pages: int, name: str = "offer", seen: int = 32) -> list[SiteNotice]:
    """Count pages of one text as a store relates them: to the oldest of those that it compares, the newest ones."""
    counts.add(f"{SITE}{name}/0")
    pairs = ((number, max(number - seen, 0)) for number in range(1, pages))
    found = (counts.add(f"{SITE}{name}/{number}", SIBLING, f"{SITE}{name}/{older}") for number, older in pairs)
    return [notice for notice in found if notice]


def test_of_a_large_site_with_many_siblings_of_one_text_it_is_said_once() -> None:
    counts = SiteCounts()
    assert add_new(counts, 1000) == []
    assert add_chain(counts, MANY_SIBLINGS - 1) == []
    [notice] = add_chain(counts, 3 * MANY_SIBLINGS, name="advertisement")
    assert notice.kind is NoticeKind.SIBLINGS
    assert notice.text == "Of 1,099 compared pages of shop.example, 50 are siblings of one another, with one text"
    assert all(url.startswith(f"{SITE}advertisement/") for url in (*notice.examples, *notice.group_urls))
    for name in ("sibling to DEDUP_DROP", 'DEDUP_SCOPE = "other-hosts"', "DEDUP_THRESHOLD"):
        assert name in notice.advice
    [now] = counts.notices()
    assert (now.group, now.concerned) == (3 * MANY_SIBLINGS, 3 * MANY_SIBLINGS)
    assert len({*now.group_urls}) == MAX_GROUP_URLS


def test_the_first_pages_of_a_group_are_named() -> None:
    counts = SiteCounts()
    add_chain(counts, 20)
    [notice] = counts.notices()
    assert notice.kind is NoticeKind.ALIKE
    assert (notice.group, notice.group_urls) == (20, tuple(f"{SITE}offer/{number}" for number in range(MAX_GROUP_URLS)))


def test_many_small_groups_of_siblings_are_ordinary() -> None:
    counts = SiteCounts()
    add_new(counts, 3000)
    for number in range(200):
        assert add_chain(counts, CROWD, name=str(number)) == []


def test_a_group_is_found_among_many_small_ones() -> None:
    counts = SiteCounts()
    add_new(counts, 3000)
    found = []
    for number in range(4 * MANY_SIBLINGS):
        counts.add(f"{SITE}pair/{number}", SIBLING, f"{SITE}new/{number}")
        found.append(counts.add(f"{SITE}many/{number}", SIBLING, f"{SITE}many/{max(number - 32, -1)}"))
    [notice] = filter(None, found)
    assert all("/many/" in url for url in notice.group_urls)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 32)), max_size=300))
def test_no_group_is_larger_than_it_is(pages: list[tuple[int, int]]) -> None:
    groups, sizes = SiblingCounts(), Counter[int]()
    for group, back in pages:
        if sizes[group]:
            groups.add(f"{group}/{sizes[group]}", f"{group}/{max(sizes[group] - back, 0)}")
        sizes[group] += 1
    largest = max(sizes.values(), default=0)
    assert groups.largest <= largest
    assert len(groups.firsts) <= MAX_GROUPED
    assert len({url[0] for url in groups.urls}) <= 1
    if len(sizes) == 1 and largest > 1:
        assert groups.largest == largest


def test_siblings_of_pages_of_other_sites_form_no_group() -> None:
    counts = SiteCounts()
    add_new(counts, 1000)
    for number in range(3 * MANY_SIBLINGS):
        assert counts.add(f"{SITE}{number}", SIBLING, f"https://other.example/{number % 2}") is None


# -- pages that are not read ---------------------------------------------------------------------


def test_of_a_site_whose_pages_are_not_read_it_is_said_once() -> None:
    counts = SiteCounts()
    add_new(counts, 2)
    add_unread(counts, 8, "index")
    [notice] = add_unread(counts, 100)
    assert notice.text == "Of 40 pages of shop.example, 38 were not read: empty 30, index 8"
    assert notice.examples == (f"{SITE}index/0", f"{SITE}index/1")
    assert "DEDUP_READER" in notice.advice


def test_pages_that_are_no_pages_are_not_unread() -> None:
    counts = SiteCounts()
    for reason in ("status", "not-html", "store", "claimed", "skip", "no-response", "error"):
        assert add_unread(counts, 100, reason) == []
    assert counts.notices() == []


def test_a_site_with_some_lists_of_links_is_ordinary() -> None:
    counts = SiteCounts()
    assert [add_new(counts, 20), add_unread(counts, 100, "index"), add_new(counts, 100)] == [[], [], []]


def test_a_few_unread_pages_say_nothing() -> None:
    counts = SiteCounts()
    assert add_unread(counts, MIN_UNREAD_PAGES - 1) == []
    assert len(add_unread(counts, 1)) == 1


# -- bounds and formats --------------------------------------------------------------------------


def test_the_site_not_seen_for_longest_is_forgotten() -> None:
    counts = SiteCounts(most=3)
    for name in "abcd":
        add_alike(counts, 20, site=f"https://{name}.example/")
    assert sorted(notice.site for notice in counts.notices()) == ["b.example", "c.example", "d.example"]


def test_a_forgotten_site_is_not_reported_again() -> None:
    counts = SiteCounts(most=1)
    said = [add_alike(counts, 20, site=f"https://{name}.example/") for name in "aba"]
    assert [len(each) for each in said] == [1, 1, 0]


def test_reported_sites_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupcrawl.sites.site_counts.MAX_REPORTED", 2)
    counts = SiteCounts()
    said = [add_alike(counts, 20, site=f"https://{name}.example/") for name in "abcd"]
    assert [len(each) for each in said] == [1, 1, 0, 0]


def test_a_page_without_url_belongs_to_no_site() -> None:
    counts = SiteCounts()
    assert [counts.add("", COPY, "") for _ in range(50)] == [None] * 50
    assert counts.notices() == []


def test_an_endless_url_is_cut() -> None:
    counts = SiteCounts()
    [notice] = add_alike(counts, 20, site=SITE + "x" * 100_000)
    assert max(map(len, notice.examples)) == MAX_URL_CHARS


def test_a_sample_is_called_so() -> None:
    counts = SiteCounts(is_sample=True)
    add_alike(counts, 20)
    add_unread(counts, 50, site="https://app.example/")
    alike, unread = counts.notices()
    assert alike.text.startswith("Of a sample of 20 compared pages of shop.example, ")
    assert unread.text.startswith("Of a sample of 50 pages of app.example, ")


@pytest.mark.parametrize("kind", NoticeKind)
def test_a_notice_survives_json(kind: NoticeKind) -> None:
    notice = SiteNotice(
        kind, "a.example", 30, ("https://a.example/1", "https://a.example/2"), 3, 4, 2, 5, 1, {"empty": 6}
    )
    notice = replace(notice, group=7, group_urls=("https://a.example/1", "https://a.example/3"))
    assert SiteNotice.from_dict(json.loads(json.dumps(asdict(notice)))) == notice
    assert notice.message == f"{notice.text}; for example https://a.example/1 and https://a.example/2. {notice.advice}"


# -- sites --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://a.example.com/b?c=//d.e/f", "example.com"),
        ("http://example.com", "example.com"),
        ("https://WWW.Example.COM:443/", "example.com"),
        ("https://shop.example.co.uk/", "example.co.uk"),
        ("https://news.example.com.cn/a", "example.com.cn"),
        ("https://user:pass@m.example.com/", "example.com"),
        ("https://one.blogspot.com/", "one.blogspot.com"),
        ("https://two.github.io/a", "two.github.io"),
        ("http://127.0.0.1:8000/a", "127.0.0.1:8000"),
        ("http://127.0.0.1:8001/a", "127.0.0.1:8001"),
        ("http://[::1]:8000/a", "[::1]:8000"),
        ("http://localhost/a", "localhost"),
        ("http://localhost:8080/a", "localhost:8080"),
        ("https://a.b.example/", "b.example"),
        ("https://例子.中国/a", "例子.中国"),
        ("https://a.example.com?x", "example.com"),
        ("https://a.example.com#x", "example.com"),
        ("https://example.com./a", "example.com"),
        ("mailto:a@example.com", ""),
        ("//example.com/a", ""),
        ("a", ""),
        ("", ""),
    ],
)
def test_the_site_of_a_url(url: str, site: str) -> None:
    assert site_of(url) == site


@given(st.text())
def test_any_text_has_a_site(url: str) -> None:
    assert isinstance(site_of(url), str)
    assert isinstance(site_of(f"https://{url}"), str)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://User:secret@News.Example:8080/a?b#c", "news.example:8080"),
        ("http://news.example?to=http://other.example/", "news.example"),
        ("http://news.example#top", "news.example"),
        ("http://[::1]:80/", "[::1]:80"),
        ("http://[bad/", "[bad"),
        ("a.html", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("WWW.Example.COM", "Example.COM"),
        ("a.b.example.co.uk.", "example.co.uk"),
        ("co.uk", ""),
        ("A.GitHub.IO", "A.GitHub.IO"),
        ("github.io", ""),
        ("x.a.b.ck", "a.b.ck"),  # by the rule *.ck
        ("b.ck", ""),
        ("x.www.ck", "www.ck"),  # by its exception !www.ck
        ("x.city.kobe.jp", "city.kobe.jp"),
        ("x.a.b.kobe.jp", "a.b.kobe.jp"),
        ("b.kobe.jp", ""),
        ("a\u3002例子\uff0e中国\uff61", "例子.中国"),
        ("a.xn--fsqu00a.xn--fiqs8s", "xn--fsqu00a.xn--fiqs8s"),
        ("a.B.XN--P1AI", "B.XN--P1AI"),
        ("xn--a.xn--99999999999", ""),  # cannot be decoded
        ("127.0.0.1", ""),
        ("[::1]", ""),
        ("[1.2.3]com.a.uk", ""),
        ("a.notatld", ""),
        ("localhost", ""),
        ("..", ""),
        ("", ""),
    ],
)
def test_the_registrable_domain_of_a_host(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


LABELS = ["a", "www", "com", "ck", "!www", "*", "", "é", "xn--p1ai", "xn--x", "[a]", "127", "0", " ", "GitHub", "io"]
hosts = st.builds(
    lambda labels, dot, end: dot.join(labels) + end,
    st.lists(st.sampled_from(LABELS) | st.sampled_from(["co", "uk", "jp", "kobe", "例子", "中国"]), max_size=6),
    st.sampled_from([".", "\u3002"]),
    st.sampled_from(["", ".", "\uff61"]),
)


@given(hosts | st.text(st.sampled_from("abc.-[]* \u3002é")))
def test_a_registrable_domain_ends_its_host_and_those_below(host: str) -> None:
    found = registrable_domain(host)
    dots = str.maketrans("\u3002\uff0e\uff61", "...")
    assert host.translate(dots).strip().rstrip(".").endswith(found)
    assert not found or registrable_domain(f"www.{found}") == found


def run_alone(program: str, folder: Path) -> str:
    """Return what a program prints in a process without a network, whose home is this folder."""
    offline = "import socket; socket.socket.connect = socket.getaddrinfo = None\n"
    homes = {name: str(folder) for name in ("HOME", "XDG_CACHE_HOME", "TLDEXTRACT_CACHE", "USERPROFILE")}
    command = [sys.executable, "-c", offline + program]
    done = subprocess.run(command, env={**os.environ, **homes}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["dedupcrawl.sites.registrable_domain", "dedupcrawl.cli", "dedupcrawl.batch.runner"])
def test_the_list_is_loaded_when_a_site_is_asked_for(module: str, tmp_path: Path) -> None:
    """Its import takes longer than the rest of many commands."""
    program = f"""
import sys
import {module}
loaded = {{"requests", "tldextract"}} & {{*sys.modules}}
from dedupcrawl.sites.registrable_domain import site_of
print(sorted(loaded), site_of("http://a.b.co.uk/"))
"""
    assert run_alone(program, tmp_path) == "[] b.co.uk"
    assert list(tmp_path.iterdir()) == []  # nothing is cached
