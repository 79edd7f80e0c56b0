"""Blogs in real themes: posts under three URLs are found, lists with other posts are kept, and each post is read."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.page import Kind, read_page
from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site
from tests.sites.blogs import Around, make_blog, visit
from tests.sites.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sites.blogs import Blog, Post, Theme

#: A post that is read by the block model in one visit only remains, as it is an excerpt there.
KEPT = {("wordpress 2009", 1): 1}


def posts_of(theme: Theme, blog: Blog) -> Iterator[tuple[str, str, Post]]:
    """Yield path and HTML of each post under its three URLs; what stands around it changes."""
    for number in range(3):
        for post in blog.posts:
            path = (post.path, f"/post-{post.number}/", f"/?p={post.number}")[number]
            yield path, theme.post(blog, post, visit(blog, post, number)), post


def lists_of(theme: Theme, blog: Blog) -> dict[str, str]:
    around = Around(blog.posts[-5:])
    found = {f"/page/{at}/": theme.home(blog, blog.posts[6 * at : 6 * at + 6], around) for at in range(4)}
    for tag in blog.tags:
        found[f"/tags/{tag}/"] = theme.tag(blog, tag, [post for post in blog.posts if post.tag == tag], around)
    for at in range(3):
        found[f"/archives/{at}/"] = theme.archive(blog, blog.posts[8 * at : 8 * at + 8], around)
    return found


@pytest.mark.parametrize("order", ["posts first", "lists first", "mixed"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", THEMES)
def test_one_post_under_three_urls_is_kept_once_and_no_list_is_lost(name: str, seed: int, order: str) -> None:
    theme = THEMES[name]
    blog = make_blog(zh=theme.is_chinese, seed=seed)
    posts = [(path, html, post.number) for path, html, post in posts_of(theme, blog)]
    lists = [(path, html, -1) for path, html in lists_of(theme, blog).items()]
    pages = [*lists, *posts] if order == "lists first" else [*posts, *lists]
    if order == "mixed":
        random.Random(seed).shuffle(pages)
    with Deduplicator() as dedup:
        verdicts = [(number, dedup.add(html=html, url=f"https://b.example{path}")) for path, html, number in pages]
    kept = [number for number, verdict in verdicts if verdict.keep]
    assert kept.count(-1) == len(lists)
    assert {*kept} == {-1, *range(len(blog.posts))}  # no post is lost
    assert len(kept) - len(lists) - len(blog.posts) <= KEPT.get((name, seed), 0)


@pytest.mark.parametrize("name", THEMES)
def test_a_post_is_read_whole_and_without_what_stands_around_it(name: str) -> None:
    theme = THEMES[name]
    blog = make_blog(zh=theme.is_chinese)
    for path, html, post in posts_of(theme, blog):
        page = read_page(html, url=f"https://b.example{path}")
        assert page.kind is Kind.ARTICLE
        assert all(text in page.text for text in post.paragraphs), path
        assert len(page.text) < 1.25 * len("\n".join(post.paragraphs)) + len(post.title), path


@pytest.mark.parametrize("name", [name for name in THEMES if not name.startswith(("wordpress", "typecho"))])
def test_lists_of_titles_are_indexes(name: str) -> None:
    theme = THEMES[name]
    blog = make_blog(zh=theme.is_chinese)
    for path, html in lists_of(theme, blog).items():
        if path.startswith(("/tags/", "/archives/")):
            assert read_page(html).kind is Kind.INDEX, path


def test_the_hidden_hint_of_a_theme_is_not_read() -> None:
    theme = THEMES["yilia"]
    blog = make_blog(zh=True)
    for _, html, _ in posts_of(theme, blog):
        assert "缺少模块" in html
        assert "缺少模块" not in read_page(html).text


@pytest.mark.parametrize("name", ["NexT", "wordpress en-US"])
def test_a_crawl_keeps_one_of_three_urls(name: str, tmp_path: Path) -> None:
    theme = THEMES[name]
    blog = make_blog(zh=theme.is_chinese, posts=6)
    with Site() as site:
        urls = [site.put(path, html) for path, html, _ in posts_of(theme, blog)]
        crawled = crawl(tmp_path, "Plainly", urls=urls, settings=IN_TURN)
    assert [item["url"] for item in crawled.items] == urls[: len(blog.posts)]
