"""Blogs: their posts, and how a theme of a program for blogs sets posts and lists (:mod:`tests.sites.themes`).

The markup follows the themes in its elements and classes; every word is our own. The texts around a post change with
:class:`Around`, as they do between two visits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.sites.words import Writer


@dataclass(frozen=True)
class Post:
    """A post of a blog."""

    number: int
    title: str
    paragraphs: tuple[str, ...]
    tag: str

    @property
    def path(self) -> str:
        return f"/2024/{self.number % 12 + 1:02}/post-{self.number}.html"

    @property
    def date(self) -> str:
        return f"2024-{self.number % 12 + 1:02}-{self.number % 27 + 1:02}"

    @property
    def body(self) -> str:
        return "".join(f"<p>{text}</p>\n" for text in self.paragraphs)

    @property
    def link(self) -> str:
        return f'<a href="{self.path}">{self.title}</a>'


@dataclass(frozen=True)
class Blog:
    """A blog, and its posts, the oldest first."""

    name: str
    motto: str
    author: str
    posts: tuple[Post, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Around:
    """What stands around a post, and changes from visit to visit."""

    recent: tuple[Post, ...] = ()
    older: Post | None = None
    newer: Post | None = None
    comments: tuple[tuple[str, str], ...] = ()  #: names and texts
    views: int = 12
    title: str = "{post} | {blog}"  #: of the page

    def title_of(self, post: str, blog: str) -> str:
        return self.title.format(post=post, blog=blog)


class Theme(NamedTuple):
    """How a theme sets a page."""

    name: str
    is_chinese: bool
    post: Callable[[Blog, Post, Around], str]
    home: Callable[[Blog, Sequence[Post], Around], str]  #: whole posts or their beginnings
    tag: Callable[[Blog, str, Sequence[Post], Around], str]
    archive: Callable[[Blog, Sequence[Post], Around], str]


def make_blog(*, zh: bool, seed: int = 0, posts: int = 24, paragraphs: Sequence[int] = (3, 1, 6, 2)) -> Blog:
    """Return a blog whose posts have in turn these numbers of paragraphs."""
    writer = Writer("blog-zh" if zh else "blog", seed)
    tags = ("水磨", "读书", "河边", "工具") if zh else ("mills", "books", "river", "tools")
    made = []
    for number in range(posts):
        each = Writer("post-zh" if zh else "post", seed + 2 * number)
        texts = tuple(each.text(4, zh=zh) for _ in range(paragraphs[number % len(paragraphs)]))
        made.append(Post(number, each.headline(zh=zh), texts, tags[number % len(tags)]))
    author = writer.zh("name") if zh else writer.person()
    name, motto = ("磨坊笔记", "水往低处流，人往磨坊走") if zh else ("Notes of a miller", "What the river brings by")
    return Blog(name, motto, author, tuple(made), tags)


def html_page(lang: str, title: str, body: str, head: str = "") -> str:
    return (
        f'<!DOCTYPE html><html lang="{lang}"><head><meta '
        f'charset="utf-8"><title>{title}</title>{head}</head>{body}</html>'
    )


def visit(blog: Blog, post: Post, number: int) -> Around:
    """Return what stands around a post at a visit, 0…2: other posts, comments, counts and titles."""
    zh = not blog.name.isascii()
    writer, count = Writer("comments", 100 * number + 2 * post.number), len(blog.posts)
    recent = (blog.posts[(3 * post.number + 5 * number + 7 * each) % count] for each in range(5))
    said = (((writer.zh("name") if zh else writer.person()), writer.text(2, zh=zh)) for _ in range(3 * number))
    return Around(
        tuple(each for each in recent if each is not post),
        blog.posts[post.number - 1] if post.number else None,
        blog.posts[(post.number + 1 + number) % count] if number else None,
        tuple(said),
        12 + 37 * number,
        ("{post} | {blog}", "{post} – {blog}", "{blog} » {post}")[number],
    )


def items(texts: Sequence[str], css: str = "") -> str:
    return "".join(f'<li class="{css}">{text}</li>' for text in texts)


def comments(around: Around, css: str) -> str:
    return "".join(
        f'<li class="{css}"><cite>{name}</cite><div><p>{text}</p></div></li>' for name, text in around.comments
    )


def beginning(post: Post) -> str:
    return post.paragraphs[0][: len(post.paragraphs[0]) // 2] + "…"
