"""A batch knows what a site repeats before it compares its pages: boilerplate is left out, and content is not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from fastwarc.warc import WarcRecordType

from dedupcrawl.batch import repeated_text
from dedupcrawl.batch.repeated_text import TextTableBuilder
from dedupcrawl.batch.workdir import Workdir, read_site_tables
from dedupcrawl.config import Config
from dedupcrawl.page.model import Page
from dedupcrawl.sites.site_memory import KNOWN_PAGES
from dedupcrawl.stores.site_tables import unpack_site
from dedupcrawl.text.positions import BEGINNING, WHOLE
from tests.batch.corpus import Batch, annotated_verdicts, lines, write_lines
from tests.batch.formats.test_warc_revisits import records
from tests.batch.formats.warcs import OK, record, warc_in
from tests.sites.words import Writer
from tests.test_site_memory import ABOUT, APPEAL, BLOG, ESSAYS, LIFE, PAPER, POSTS, Post, appealing, blog, lists, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

LINES_OF_LIFE = LIFE.count("<p>")
Pages = list[tuple[str, str]]


def judged(folder: Path, pages: Iterable[tuple[str, str]], **constants: Any) -> dict[str, tuple[Any, ...]]:
    """The verdicts of a batch by URL; the first one of a URL."""
    given = [{"url": url, "html": html} for url, html in pages]
    batch = Batch(folder, Config(**constants))
    batch.run(write_lines(folder / "in.jsonl", given), annotate=True)
    found = annotated_verdicts(lines(folder / "out" / "in.jsonl"))
    return {row["url"]: verdict for row, verdict in reversed([*zip(given, found, strict=True)])}


def repeated(folder: Path) -> dict[str, int]:
    """How many lines each site repeats, by the last batch."""
    tables = read_site_tables(Workdir(folder / "out"))
    return {site: len(unpack_site(value).lines) for site, value in tables.items()}


def dropped(verdicts: dict[str, tuple[Any, ...]]) -> list[str]:
    return [
        url for url, (status, relation, *_) in verdicts.items() if status == "duplicate" and relation != "unchanged"
    ]


def reprints(posts: Sequence[Post] = POSTS) -> Pages:
    return [post.on(PAPER, after="") for post in posts]


# -- what is boilerplate --------------------------------------------------------------------------


def test_each_reprint_is_found_beside_the_life_of_the_author(tmp_path: Path) -> None:
    """Also those of the first posts, which a crawl reads before it knows the site, and those that come first."""
    found = judged(tmp_path, [*reprints(POSTS[8:]), *blog(), *reprints(POSTS[:8])])
    assert len(dropped(found)) == len(POSTS)
    assert repeated(tmp_path) == {"weir.example": LINES_OF_LIFE}


def test_what_stands_beside_the_text_of_long_pages_is_left_out_of_short_ones(tmp_path: Path) -> None:
    pages = [*map(appealing, ESSAYS), appealing(POSTS[9]), POSTS[9].on(PAPER, after="")]
    found = judged(tmp_path, pages)
    assert dropped(found) == [pages[-1][0]]
    assert repeated(tmp_path) == {"weir.example": APPEAL.count("<p>")}


def test_posts_beside_the_post_that_was_read_are_not_counted() -> None:
    """A home page of which one post is read has the others beside it: they are longer than what was read."""
    texts = TextTableBuilder()
    for unread in (300, 3_000):
        texts.add(Page(f"{BLOG}/{unread}", Writer("own", 1).text(9), beside=Writer("own", 2).text(9), unread=unread))
    batch = texts.batch()
    assert [len(each) for each in batch.column("beside").to_pylist()] == [1, 0]


def test_without_memory_they_are_kept(tmp_path: Path) -> None:
    found = judged(tmp_path, [*blog(), *reprints()], site_memory=False)
    assert dropped(found) == []
    assert repeated(tmp_path) == {}
    assert not Workdir(tmp_path / "out").texts("in.jsonl").read_bytes().count(b"weir")


def test_what_is_repeated_does_not_depend_on_the_order(tmp_path: Path) -> None:
    pages, tables = [*blog(), *lists(), *reprints()], []
    for seed in range(3):
        random.Random(seed).shuffle(pages)
        judged(tmp_path / str(seed), pages)
        tables.append(read_site_tables(Workdir(tmp_path / str(seed) / "out")))
    assert tables[0] == tables[1] == tables[2]


def test_a_site_of_copies_of_another_one_is_known_too(tmp_path: Path) -> None:
    """In a crawl, pages that are dropped teach nothing; here copies of other sites count for their own site."""
    terms = f"<p>{Writer('terms', 0).text(9)}</p>"
    found = judged(tmp_path, [*blog(), *[post.on(PAPER, after=terms) for post in POSTS]])
    assert len(dropped(found)) == len(POSTS)
    assert repeated(tmp_path) == {"weir.example": LINES_OF_LIFE, "paper.example": 1}


def test_the_preferred_copy_stays_and_the_place_of_the_common_part_is_told(tmp_path: Path) -> None:
    """What is stored of a page beside its record is kept where its record is changed."""
    pages = [*reprints(), *blog()]
    given = [{"url": url, "html": html, "rank": number} for number, (url, html) in enumerate(pages)]
    Batch(tmp_path).run(write_lines(tmp_path / "in.jsonl", given), annotate=True, prefer=("score:rank",))
    found = lines(tmp_path / "out" / "in.jsonl")
    assert repeated(tmp_path) == {"weir.example": LINES_OF_LIFE}
    assert [row.get("dedup_of") for row in found] == [url for url, _ in blog()] + [None] * len(POSTS)
    assert {row.get("dedup_position") for row in found[: len(POSTS)]} <= {BEGINNING, WHOLE}
    assert {row.get("dedup_layout") for row in found[: len(POSTS)]} <= {"same", "other"}


def test_a_reprint_in_a_warc_file_becomes_a_revisit_record(tmp_path: Path) -> None:
    captures = [
        record("response", OK + b"\r\n" + html.encode(), f"{number}", type="application/http;msgtype=response", url=url)
        for number, (url, html) in enumerate([*blog(), *reprints()])
    ]
    Batch(tmp_path).run(warc_in(tmp_path, *captures), revisits=True)
    assert repeated(tmp_path) == {"weir.example": LINES_OF_LIFE}
    found = [each for each in records(tmp_path / "out" / "in.warc.gz") if each["type"] is WarcRecordType.revisit]
    assert [each["WARC-Refers-To-Target-URI"] for each in found] == [url for url, _ in blog()]


# -- what is not ----------------------------------------------------------------------------------


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_posts_that_home_tag_and_month_pages_carry_whole_remain_content(
    tmp_path: Path, seed: int | None, linked: bool
) -> None:
    pages = [*lists(linked=linked), *blog()]
    if seed is not None:
        random.Random(seed).shuffle(pages)
    found = judged(tmp_path, pages)
    assert not {*dropped(found)} & {url for url, _ in blog()}
    assert repeated(tmp_path) == {"weir.example": LINES_OF_LIFE}


def test_siblings_of_one_template_are_compared_as_without_memory(tmp_path: Path) -> None:
    standing = Writer("terms", 0).story(4)
    names = [f"{place} mill" for place in Writer("mills", 0).all("place")[:14]]
    pages = [
        (f"{BLOG}/mill/{n}", page(name, f"<h1>{name}</h1><p>The wheel of {name} has {n + 30} blades.</p>{standing}"))
        for n, name in enumerate(names)
    ]
    found = judged(tmp_path / "on", pages)
    assert found == judged(tmp_path / "off", pages, site_memory=False)
    assert dropped(found) == []
    assert repeated(tmp_path / "on") == {}


def test_a_site_of_ten_pages_loses_nothing_and_keeps_no_copy(tmp_path: Path) -> None:
    posts = blog(POSTS[:10])
    copies = [(f"{url}?from=mail", html) for url, html in posts]
    assert {*dropped(judged(tmp_path, [*posts, *copies]))} == {url for url, _ in copies}


def test_two_pages_repeat_nothing(tmp_path: Path) -> None:
    judged(tmp_path, blog(POSTS[: KNOWN_PAGES - 1]))
    assert repeated(tmp_path) == {}


def test_a_site_cannot_make_the_article_of_another_one_boilerplate(tmp_path: Path) -> None:
    hostile = [
        (f"https://spam.example/{n}", page("Spam", f"{Post(100 + n).body}{POSTS[0].body}{Post(200 + n).body}"))
        for n in range(12)
    ]
    url, html = POSTS[0].on()
    mirror = url.replace("blog.weir", "mirror")
    found = judged(tmp_path, [*hostile, (url, html), (mirror, html)])
    assert found[url][0] == "unique"
    assert found[mirror][2] == url
    assert {*repeated(tmp_path)} == {"spam.example"}


def test_a_page_all_of_whose_text_is_repeated_is_unchecked(tmp_path: Path) -> None:
    found = judged(tmp_path, [ABOUT, *blog(), (f"{BLOG}/us", ABOUT[1]), ("https://other.example/", ABOUT[1])])
    assert found[ABOUT[0]][:3] == found[f"{BLOG}/us"][:3] == ("unchecked", None, None)
    assert found["https://other.example/"][0] == "unique"


def test_views_of_a_page_do_not_make_its_text_boilerplate(tmp_path: Path) -> None:
    url, html = POSTS[0].on()
    views = [(f"{url}?print={n}", html.replace("<article>", f"<article><p>View {n} of the page</p>")) for n in range(6)]
    assert len(dropped(judged(tmp_path, [(url, html), *views]))) == len(views)
    assert repeated(tmp_path) == {}


def test_edited_copies_of_a_page_do_not_make_its_text_boilerplate(tmp_path: Path) -> None:
    """Each has a tenth of its text in lines of its own, and would be dropped as a copy."""
    post = Post(0, paragraphs=20)
    edited = [(f"{BLOG}/v{n}", page(post.name, f"{post.body}{Writer('more', n).story(2)}")) for n in range(5)]
    found = judged(tmp_path, edited)
    assert len(dropped(found)) == len(edited) - 1
    assert repeated(tmp_path) == {}


def test_versions_of_one_url_count_once(tmp_path: Path) -> None:
    news = [(f"{BLOG}/today", page("Today", f"{LIFE}{Post(n).body}")) for n in range(6)]
    judged(tmp_path, news)
    assert repeated(tmp_path) == {}


# -- the limits -----------------------------------------------------------------------------------


def test_of_a_large_site_some_pages_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_text, "MAX_SITE_PAGES", 5)
    judged(tmp_path, [*blog(), *reprints()])
    assert repeated(tmp_path) == {"weir.example": LINES_OF_LIFE}


def test_lines_and_sites_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [*blog(), *[post.on("https://mirror.example", before=LIFE) for post in POSTS]]
    monkeypatch.setattr(repeated_text, "MAX_LINES", 2)
    judged(tmp_path / "lines", pages)
    assert repeated(tmp_path / "lines") == {"mirror.example": 2, "weir.example": 2}
    monkeypatch.setattr(repeated_text, "MAX_SITES", 1)
    judged(tmp_path / "sites", pages)
    assert repeated(tmp_path / "sites") == {"mirror.example": 2}


def test_pages_without_a_site_have_no_memory(tmp_path: Path) -> None:
    judged(tmp_path, [("", html) for _, html in blog()])
    assert repeated(tmp_path) == {}


def test_a_later_batch_has_the_memory_of_the_earlier_one(tmp_path: Path) -> None:
    judged(tmp_path, blog())
    batch = Batch(tmp_path)
    url, html = ABOUT
    source = write_lines(tmp_path / "about.jsonl", [{"url": url, "html": html}])
    batch.run(source, annotate=True, out="later", against=(str(tmp_path / "out"),))
    assert annotated_verdicts(lines(tmp_path / "later" / "about.jsonl"))[0][0] == "unchecked"


def test_new_files_are_read_and_all_pages_are_judged_with_them(tmp_path: Path) -> None:
    batch = Batch(tmp_path)
    given = [{"url": url, "html": html} for url, html in [*blog(POSTS[:2]), *reprints(POSTS[:2])]]
    write_lines(tmp_path / "in" / "a.jsonl", given)
    assert batch.run(tmp_path / "in")["kept"] == len(given)
    write_lines(tmp_path / "in" / "b.jsonl", [{"url": url, "html": html} for url, html in blog(POSTS[2:])])
    again = batch.run(tmp_path / "in")
    assert (again["fingerprinted"], again["kept"]) == (len(POSTS) - 2, len(POSTS))
