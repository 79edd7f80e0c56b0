"""Comments of readers on a declared text are neither read nor compared, however long they are."""

from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.page import Page, read_page
from dedupcrawl.page.rules import REPLIES
from tests.page.samples import PARAGRAPH, SECOND

POST = "The ferry did not run today, for the wind was against it, and the miller had no flour to send."
THIRD = "Last spring the same wind blew for nine days, and the town sent a cart round by the old bridge at the ford."
SAID = (PARAGRAPH[:130], SECOND[:130], THIRD[:130])
DECLARED = {
    "body": "<div class=post><h1>No ferry</h1><div itemprop=articleBody><p>{post}</p></div></div>{replies}",
    "article": "<article><h1>No ferry</h1><p>{post}</p></article>{replies}",
    "article around": "<article><h1>No ferry</h1><p>{post}</p>{replies}</article>",
    "microformat": "<div class=hentry><h2>No ferry</h2><div class=entry-content><p>{post}</p></div></div>{replies}",
}
UNDECLARED = "<div class=post><h1>No ferry</h1><p>{post}</p></div>{replies}"


def themed(layout: str, said: tuple[str, ...] = SAID, post: str = POST) -> str:
    replies = "".join(f"<li class=comment><cite>Reader {at}</cite><p>{text}</p></li>" for at, text in enumerate(said))
    body = layout.format(post=post, replies=f"<div id=comments><h3>{len(said)} Comments</h3><ol>{replies}</ol></div>")
    return f"<html><head><title>No ferry – The mill</title></head><body><div id=page>{body}</div></body></html>"


def reasons(page: Page, *texts: str) -> set[str]:
    return {block.reason for block in page.blocks if block.text in texts}


@pytest.mark.parametrize("name", DECLARED)
def test_comments_below_a_short_declared_text_are_replies(name: str) -> None:
    page = read_page(themed(DECLARED[name]))
    assert POST in page.text
    assert reasons(page, *SAID) == {REPLIES}
    assert not any(text in part for text in SAID for part in (page.text, page.rest, page.stated))
    assert "Comments" not in page.stated


@pytest.mark.parametrize("name", DECLARED)
def test_a_text_with_more_comments_is_the_same(name: str) -> None:
    with Deduplicator() as dedup:
        dedup.add(html=themed(DECLARED[name], ()), url="https://mill.example/2024/05/no-ferry.html")
        verdict = dedup.add(html=themed(DECLARED[name]), url="https://mill.example/?p=12")
    assert (verdict.keep, verdict.relation) == (False, "identical")


def test_without_a_declaration_the_comments_may_be_the_text() -> None:
    assert reasons(read_page(themed(UNDECLARED)), *SAID) != {REPLIES}


def test_far_longer_comments_on_a_short_text_may_be_a_discussion() -> None:
    said = tuple(f"{number} {text}" for number in range(12) for text in (PARAGRAPH, SECOND))
    assert reasons(read_page(themed(DECLARED["body"], said)), *said) != {REPLIES}


def test_comments_on_an_article_are_replies_however_long() -> None:
    said = tuple(f"{number} {text}" for number in range(12) for text in (PARAGRAPH, SECOND))
    post = f"{PARAGRAPH}</p><p>{SECOND}</p><p>{THIRD}</p><p>{PARAGRAPH[::-1]}"
    assert reasons(read_page(themed(DECLARED["body"], said, post)), *said) == {REPLIES}


def test_of_several_bodies_none_is_the_text() -> None:
    """Each may be a post of a list, and the comments may be on any of them."""
    body = DECLARED["body"].format(post=POST, replies="")
    page = read_page(themed(f"{body}{DECLARED['body']}"))
    assert REPLIES not in reasons(page, *SAID)


def test_texts_that_differ_are_told_apart_whatever_readers_say() -> None:
    with Deduplicator() as dedup:
        dedup.add(html=themed(DECLARED["body"]), url="https://mill.example/?p=12")
        other = themed(DECLARED["body"], post=POST.replace("today", "on 3 May"))
        assert dedup.add(html=other, url="https://mill.example/?p=13").keep
