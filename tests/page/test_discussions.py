"""Discussions: comments and inner articles are the main text of a page that is known to be one, and of no other."""

from __future__ import annotations

import pytest

from dedupcrawl.page import Page, ReadOptions, read_page
from dedupcrawl.page.block_features import is_familiar
from dedupcrawl.page.block_reader import classify
from dedupcrawl.page.discussions import common_ancestor
from dedupcrawl.page.document import parse
from dedupcrawl.page.rules import MAIN_TEXT, SIDE_CLASS
from tests.page.samples import PARAGRAPH, SECOND

PUBLISHED = "<meta property='og:type' content='article'>"
POSTS = [f"{PARAGRAPH.replace('river', word)} {SECOND.replace('mill', word)}" for word in ("brook", "stream", "canal")]
SHORT = "Thanks, that was it."
SIGNATURE = "Sent from my old boat, which has been on the water for twenty years without a single leak in it."
LD = '<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "{}"}}</script>'


def thread(head: str = "", names: str = "", posts: list[str] | None = None, attributes: str = "") -> str:
    """Return a page with a first post and comments on it, which declares itself an article."""
    first, *others = posts or [*POSTS, SHORT]
    replies = "".join(
        f"<article><div class='comment {names}'><p>{reply}</p><div class=signature>{SIGNATURE}</div></div></article>"
        for reply in others
    )
    return (
        f"<html><head><title>Flood</title>{PUBLISHED}{head}</head><body><div class=banner>All boards</div>"
        f"<article {attributes}><h1>The flood</h1><div class='{names}'><p>{first}</p></div>"
        f"<div class=comments>{replies}</div></article></body></html>"
    )


def kept(page: Page) -> list[str]:
    return [text for text in [*POSTS, SHORT] if text in page.text]


@pytest.mark.parametrize(
    "html",
    [
        thread(LD.format("DiscussionForumPosting")),
        thread(LD.format("QAPage")),
        thread(attributes="itemscope itemtype='https://schema.org/DiscussionForumPosting'"),
        thread(attributes="itemscope itemtype='http://schema.org/QAPage'"),
        thread("<meta name=Generator content='Discourse 3.4.0 - https://github.com/discourse/discourse'>"),
        thread(names="message-body js-selectToQuote"),
        thread(names="postbody"),
        thread(names="cPost ipsComment ipsComment_popular"),
        thread().replace("<div class=''>", "<div id=msg_31>").replace("<div class='comment '>", "<div id=msg_32>"),
        thread().replace("<div class=comments>", "<div class='comments commentarea'>"),
    ],
)
def test_the_posts_of_a_discussion_are_read(html: str) -> None:
    assert kept(read_page(html)) == [*POSTS, SHORT]


@pytest.mark.parametrize(
    "html",
    [
        thread(),
        thread(LD.format("FAQPage")),
        thread(LD.format("NewsArticle")),
        thread("<meta name=generator content='WordPress 6.5'>"),
        thread("<meta name=description content='DiscussionForumPosting of phpBB'>"),
        thread(attributes="itemscope itemtype='https://schema.org/NewsArticle'"),
        thread(names="post thread message entry-content"),
        thread().replace("<div class=comments>", "<div class=comments id=msg_form>"),
    ],
)
def test_comments_on_an_article_are_left_out(html: str) -> None:
    assert kept(read_page(html)) == POSTS[:1]


@pytest.mark.parametrize("html", [thread(LD.format("QAPage")), thread(names="postbody")])
def test_signatures_are_left_out(html: str) -> None:
    page = read_page(html)
    assert SIGNATURE not in page.text
    assert {block.reason for block in page.blocks if block.text == SIGNATURE} == {SIDE_CLASS}


def test_the_figures_of_an_author_are_left_out() -> None:
    """PhpBB puts them beside the post; a list in a post is a part of it."""
    facts = "<dl class=postprofile><dt><a href=/u>Ann</a></dt><dd>Posts: 312</dd><dd>Joined: 3 May 2014</dd></dl>"
    posts = "".join(
        f"<div class='post bg1'><div class=inner>{facts}<div class=postbody><p>{post}</p><dl><dt>Oil</dt>"
        "<dd>SAE 30, changed in May</dd></dl></div></div></div>"
        for post in POSTS
    )
    page = read_page(f"<html><body><div id=page-body><h2>The flood</h2>{posts}</div></body></html>")
    assert "Posts: 312" not in page.text
    assert page.text.count("SAE 30") == len(kept(page)) == len(POSTS)


def test_short_posts_at_both_ends_are_read() -> None:
    """One long post is no more the main text than the short ones around it."""
    posts = [SHORT, "Did you try it again?", *POSTS, "Same here.", "Closed."]
    page = read_page(thread(names="postbody", posts=posts))
    assert [post for post in posts if post in page.text] == posts


def test_short_posts_among_links_are_read() -> None:
    """A quoted link and a button make a post of few words no menu."""
    bar = "".join(f"<li><a href=/do/{n}>Button {n}</a></li>" for n in range(5))
    posts = [*POSTS, "Like this one?", SHORT]
    page = read_page(
        thread(names="message-body", posts=[f"{post}</p><ul>{bar}</ul><p><a href=/u/7>A member</a>" for post in posts])
    )
    assert [post for post in posts if post in page.text] == posts
    assert "Button 3" not in page.text


def test_a_popular_post_is_no_list_of_popular_pages() -> None:
    page = read_page(thread(names="message-body popular", posts=[*POSTS, SHORT]))
    assert {block.reason for block in page.blocks if block.text == SHORT} == {MAIN_TEXT}


def test_what_stands_around_the_posts_is_left_out() -> None:
    notice = f"<div class=wide><p>{PARAGRAPH.replace('river', 'board')}</p></div>"
    html = thread(names="postbody").replace("<article ", f"{notice}<article ").replace("</body>", f"{notice}</body>")
    page = read_page(html)
    assert "board rose" not in page.text
    assert kept(page) == [*POSTS, SHORT]


def test_the_rules_know_articles_best_and_a_discussion_is_none() -> None:
    for html, expected in ((thread(), True), (thread(names="postbody"), False)):
        tree, _, _ = classify(parse(html), ReadOptions())
        assert is_familiar(tree) is expected
        assert tree.is_discussion is not expected


def test_comments_of_forum_software_below_a_longer_article_are_comments() -> None:
    """Invision gives the comments on its articles the classes of posts."""
    story = "".join(f"<p>{PARAGRAPH.replace('river', word)} {SECOND}</p>" for word in ("moor", "marsh", "fen", "lake"))
    comments = (
        f"<div class='ipsComment cPost'><p>{POSTS[0]}</p></div><div class='ipsComment cPost'><p>{SHORT}</p></div>"
    )
    html = f"<html><head>{PUBLISHED}</head><body><div class=story>{story}</div><div>{comments}</div></body></html>"
    page = read_page(html)
    assert "The moor rose" in page.text
    assert kept(page) == []


def test_the_innermost_container_around_all_posts() -> None:
    parents = [-1, 0, 1, 2, 2, 1, 5, 0]
    assert common_ancestor([], parents) == -1
    assert common_ancestor([4], parents) == 4
    assert common_ancestor([3, 4], parents) == 2
    assert common_ancestor([3, 6], parents) == 1
    assert common_ancestor([2, 3], parents) == 2
    assert common_ancestor([3, 6, 7], parents) == 0
