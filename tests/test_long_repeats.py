"""A site that repeats a long text on each page: it is learnt from few pages, and makes no page a copy of another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.sites.site_memory import COUNTED_LINES, MAX_TEMPLATE_SHARE
from dedupcrawl.text.lines import RUN_LINES
from tests.sites.words import Writer
from tests.test_site_memory import BLOG, PAPER, POSTS, Post, crawl, page

TERMS = [Writer("terms", number).text(2) for number in range(60)]
BELOW = "".join(f"<p>{line}</p>" for line in TERMS)
LONG = [replace(post, paragraphs=8) for post in POSTS]
LEARNT = 5  #: pages after which nearly all of the terms is known


def test_the_text_is_longer_than_what_is_counted_of_a_page_line_by_line() -> None:
    assert len(TERMS) > COUNTED_LINES.new + 2 * RUN_LINES


def known_lines(dedup: Deduplicator, post: Post) -> set[str]:
    """Return which lines of a post with the terms are known to be repeated."""
    url, html = post.on(after=BELOW)
    read = dedup.read(html=html, url=url)
    assert dedup.site_memory is not None
    return {line.text for line in dedup.site_memory.repeated(read)}  # type: ignore[arg-type]


def test_most_of_it_is_known_on_the_page_after_the_third_and_nearly_all_two_pages_later() -> None:
    with Deduplicator() as dedup:
        shares = []
        for post in LONG[: LEARNT + 1]:
            known = known_lines(dedup, post)
            assert known <= {*TERMS}
            shares.append(len(known) / len(TERMS))
            crawl([post.on(after=BELOW)], dedup)
    assert shares[:3] == [0, 0, 0]
    assert shares[3] > 0.6
    assert shares[LEARNT] > 0.95


def test_a_reprint_without_it_is_found() -> None:
    with Deduplicator() as dedup, Deduplicator(site_memory=False) as without:
        for each in (dedup, without):
            crawl([post.on(after=BELOW) for post in LONG[: LEARNT + 1]], each)
        url, html = LONG[LEARNT].on(PAPER, after="")
        assert dedup.add(html=html, url=url).of == LONG[LEARNT].on()[0]
        assert without.add(html=html, url=url).keep


OWN_BYTES = 600  #: of a note above the terms


def note(number: int) -> tuple[str, str]:
    """Return URL and HTML of a page with the terms below a note of its own, which is about its name."""
    writer = Writer("note", number)
    text = writer.text(1)
    while len(text) < OWN_BYTES:
        text = f"{text} {writer.text(1)}"
    name = " ".join(text.split()[:6])
    return f"{BLOG}/note/{number}.html", page(name, f"<h1>Notes</h1><p>{text}</p>{BELOW}")


@pytest.mark.parametrize("first", [1, 5])
def test_a_short_note_above_it_is_no_copy_of_another_one(first: int) -> None:
    """The terms alone make the pages similar enough: a page that cannot be compared without them is kept."""
    share = OWN_BYTES / (OWN_BYTES + sum(map(len, TERMS)))
    assert MAX_TEMPLATE_SHARE / 2 < share < MAX_TEMPLATE_SHARE
    notes = [note(number) for number in range(first, first + 8)]
    with Deduplicator() as dedup:
        verdicts = crawl([notes[0], *(post.on(after=BELOW) for post in LONG[: LEARNT + 1]), *notes[1:]], dedup)
    assert {url: verdict.of for url, verdict in verdicts.items() if not verdict.keep} == {}
    assert {verdicts[url].reason for url, _ in notes[1:]} == {"template"}
