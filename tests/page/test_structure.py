"""What looks like a side part, but is a part of the text around it. Most of it is found in manuals."""

from __future__ import annotations

import pytest

from dedupcrawl.page import Page, ReadOptions, read_page
from dedupcrawl.page.block_features import is_familiar
from dedupcrawl.page.block_reader import classify
from dedupcrawl.page.document import parse
from dedupcrawl.page.notices import notice_blocks
from dedupcrawl.page.rules import MAIN_TEXT, SIDE_CLASS, SideKind, side_kind
from dedupcrawl.page.structure import common_ancestor
from tests.page.samples import PARAGRAPH, SECOND, article, links

SHORT = "A header holds at most four of them, and the server sends each back as it came."
#: Text enough that a small side part is removed.
MORE = "".join(f"<p>{PARAGRAPH.replace('river', word)} {SECOND}</p>" for word in ("brook", "stream", "canal"))


def reason_of(page: Page, text: str) -> str:
    return next(block.reason for block in page.blocks if text in block.text)


@pytest.mark.parametrize("mark", ["¶", "#", "\uf0c1"])
@pytest.mark.parametrize("name", ["cookies", "s-widgets", "respond-to-review-comments"])
def test_the_id_of_a_section_says_what_it_is_about(name: str, mark: str) -> None:
    heading = f'<h2>{name}<a class="headerlink" href="#{name}">{mark}</a></h2>'
    page = read_page(article(f"{MORE}<section id={name}>{heading}<p>{SHORT}</p></section><p>{SECOND[::-1]}</p>"))
    assert reason_of(page, SHORT) == MAIN_TEXT
    unmarked = read_page(article(f"{MORE}<section id={name}><h2>{name}</h2><p>{SHORT}</p></section>"))
    assert reason_of(unmarked, SHORT) != MAIN_TEXT


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("sect2 SQL-FOR-UPDATE-SHARE", SideKind.NONE),
        ("refsect1 cookies", SideKind.NONE),
        ("section cookies", SideKind.NOTICE),
        ("footer-sect", SideKind.NOTICE),
        ("table_root__adKqa", SideKind.NONE),
        ("table_root__X-ad9", SideKind.NONE),
        ("card_wide__promo", SideKind.LIKELY),
        ("box__ad9kX", SideKind.LIKELY),
        ("sidebar_root__adKqa", SideKind.LIKELY),
    ],
)
def test_which_names_say_what_a_part_is_for(names: str, kind: SideKind) -> None:
    assert side_kind(names) is kind


@pytest.mark.parametrize("section", ["<section>{}</section>", '<div class="sect1"><div class="body">{}</div></div>'])
def test_the_longest_section_of_a_manual_is_not_the_text(section: str) -> None:
    long = "".join(f"<p>{number} {PARAGRAPH}</p>" for number in range(12))
    sections = (f"<h2>Part {n}¶</h2><p>{part}</p>" for n, part in enumerate((SHORT, long, SECOND[::-1])))
    page = read_page(f"<body><div id=top>{' '.join(links(4))}</div><div>{''.join(map(section.format, sections))}</div>")
    assert SHORT in page.text
    assert SECOND[::-1] in page.text


@pytest.mark.parametrize(
    "quote", ["<blockquote>{}</blockquote>", '<blockquote class="quote"><div>{}</div></blockquote>']
)
def test_a_short_answer_to_a_long_quotation_is_main_text(quote: str) -> None:
    """The quotation is most of the text, and the same on the pages of all answers."""
    quoted = quote.format("".join(f"<p>{number} {PARAGRAPH}</p>" for number in range(5)))
    page = read_page(f"<body><div>{' '.join(links(4))}</div><div>{quoted}<p>{SHORT}</p></div>")
    assert reason_of(page, SHORT) == MAIN_TEXT
    assert f"4 {PARAGRAPH}" in page.text


@pytest.mark.parametrize("widget", ["{}", '<div class="live-editor">{}</div>'])
def test_each_line_of_a_listing_is_an_element(widget: str) -> None:
    """Otherwise the lines are labels, and a long listing cuts the text in two."""
    lines = [f"call({number});" for number in range(60)]
    listing = f"<div><pre>{''.join(f'<div class=line>{line}</div>' for line in lines)}</pre></div>"
    page = read_page(article(widget.format(listing) + MORE))
    assert {reason_of(page, line) for line in lines} == {MAIN_TEXT}
    assert PARAGRAPH in page.text


def test_items_of_a_list_are_text_where_they_are_more_than_a_link() -> None:
    items = "".join(f'<li><a href="/{name}.html">{name}</a> list of strings</li>' for name in ("depends", "ignores"))
    page = read_page(article(f"<ul>{items}<li><a href=/x.html>provider of it</a></li></ul><p>{SECOND[::-1]}</p>"))
    assert reason_of(page, "depends list of strings") == MAIN_TEXT
    assert reason_of(page, "provider of it") != MAIN_TEXT


@pytest.mark.parametrize(
    ("line", "is_text"), [("The store has these types:", True), ("Read more:", False), ("The store has types.", False)]
)
def test_a_list_of_links_is_text_after_a_colon(line: str, is_text: bool) -> None:
    listed = "".join(f"<li>{link}</li>" for link in links(3))
    page = read_page(article(f"<p>{line}</p><ul>{listed}</ul>{MORE}"))
    assert {reason_of(page, f"Other story {number}") == MAIN_TEXT for number in range(1, 4)} == {is_text}


def test_a_list_at_the_end_of_the_text_leads_to_other_pages() -> None:
    listed = "".join(f"<li>{link}</li>" for link in links(3))
    page = read_page(article(f"{MORE}<p>These are other pages:</p><ul>{listed}</ul>"))
    assert "Other story" not in page.text


@pytest.mark.parametrize("parts", [1, 4])
def test_terms_that_are_links_are_text_where_their_definitions_are(parts: int) -> None:
    """Several short lists of terms are no teasers."""
    terms = '<dt><a href="/close.html">close()</a></dt><dd><p>Ends the connection to the server.</p></dd>'
    page = read_page(article(f"<section><h2>Methods</h2><dl>{terms}</dl></section>" * parts + MORE))
    assert reason_of(page, "Ends the connection") == MAIN_TEXT
    assert reason_of(page, "close()") == MAIN_TEXT


def test_a_link_in_a_cell_is_text_before_a_cell_of_the_text() -> None:
    rows = (
        f"<tr><td><a href=/{name}.html>Flag {name}</a></td><td>{SHORT} {name} {SHORT[::-1]}</td></tr>"
        for name in "abcd"
    )
    page = read_page(article(f"<table>{''.join(rows)}<tr><td><a href=/e.html>Flag e</a></td></tr></table>{MORE}"))
    assert reason_of(page, "Flag c") == MAIN_TEXT
    assert reason_of(page, "Flag e") != MAIN_TEXT


@pytest.mark.parametrize(
    ("text", "is_notice"),
    [
        ("You need to enable JavaScript to run this app.", True),
        ("Your browser does not support JavaScript, or it is turned off.", True),
        ("This page does not work properly without JavaScript.", True),
        ("Bitte aktivieren Sie JavaScript in Ihrem Browser.", True),
        ("Offenbar ist JavaScript in Ihrem Browser deaktiviert.", True),
        ("JavaScript est désactivé dans votre navigateur.", True),
        ("Components are JavaScript functions that return markup.", False),
        ("Pages also need static files. That is where CSS and JavaScript are.", False),
        ("It has bindings to JavaScript and Ruby. See the list of supported languages.", False),
        ("Forms work without calls of an API or additional JavaScript.", False),
    ],
)
def test_a_text_about_javascript_is_no_notice(text: str, is_notice: bool) -> None:
    block = (text, len(text), 0, 0, 0, "p", 0)
    assert bool(notice_blocks([block], [-1], ["body"])) is is_notice


# -- discussions --------------------------------------------------------------------------------

PUBLISHED = "<meta property='og:type' content='article'>"
POSTS = [f"{PARAGRAPH.replace('river', word)} {SECOND.replace('mill', word)}" for word in ("brook", "stream", "canal")]
BRIEF = "Thanks, that was it."
SIGNATURE = "Sent from my old boat, which has been on the water for twenty years without a single leak in it."
LD = '<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "{}"}}</script>'


def thread(head: str = "", names: str = "", posts: list[str] | None = None, attributes: str = "") -> str:
    """Return a page with a first post and comments on it, which declares itself an article."""
    first, *others = posts or [*POSTS, BRIEF]
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
    return [text for text in [*POSTS, BRIEF] if text in page.text]


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
    assert kept(read_page(html)) == [*POSTS, BRIEF]


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
    posts = [BRIEF, "Did you try it again?", *POSTS, "Same here.", "Closed."]
    page = read_page(thread(names="postbody", posts=posts))
    assert [post for post in posts if post in page.text] == posts


def test_short_posts_among_links_are_read() -> None:
    """A quoted link and a button make a post of few words no menu."""
    bar = "".join(f"<li><a href=/do/{n}>Button {n}</a></li>" for n in range(5))
    posts = [*POSTS, "Like this one?", BRIEF]
    page = read_page(
        thread(names="message-body", posts=[f"{post}</p><ul>{bar}</ul><p><a href=/u/7>A member</a>" for post in posts])
    )
    assert [post for post in posts if post in page.text] == posts
    assert "Button 3" not in page.text


def test_a_popular_post_is_no_list_of_popular_pages() -> None:
    page = read_page(thread(names="message-body popular", posts=[*POSTS, BRIEF]))
    assert {block.reason for block in page.blocks if block.text == BRIEF} == {MAIN_TEXT}


def test_what_stands_around_the_posts_is_left_out() -> None:
    notice = f"<div class=wide><p>{PARAGRAPH.replace('river', 'board')}</p></div>"
    html = thread(names="postbody").replace("<article ", f"{notice}<article ").replace("</body>", f"{notice}</body>")
    page = read_page(html)
    assert "board rose" not in page.text
    assert kept(page) == [*POSTS, BRIEF]


def test_the_rules_know_articles_best_and_a_discussion_is_none() -> None:
    for html, expected in ((thread(), True), (thread(names="postbody"), False)):
        tree, _, _ = classify(parse(html), ReadOptions())
        assert is_familiar(tree) is expected
        assert tree.is_discussion is not expected


def test_comments_of_forum_software_below_a_longer_article_are_comments() -> None:
    """Invision gives the comments on its articles the classes of posts."""
    story = "".join(f"<p>{PARAGRAPH.replace('river', word)} {SECOND}</p>" for word in ("moor", "marsh", "fen", "lake"))
    comments = (
        f"<div class='ipsComment cPost'><p>{POSTS[0]}</p></div><div class='ipsComment cPost'><p>{BRIEF}</p></div>"
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
