"""Themes of WordPress: twentytwenty in two languages, and one from before ``<article>``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.sites.blogs import Around, Blog, Post, Theme, beginning, comments, html_page, items

# -- twentytwenty (WordPress) ----------------------------------------------------------------------------


class _Words(NamedTuple):
    """The words of WordPress in a language."""

    lang: str
    by: str
    on: str
    none: str
    comments: str
    tag: str
    month: str
    recent: str
    older: str
    reply: str
    mail: str


_ZH = _Words(
    "zh-CN", "作者", "于", "没有评论", "条评论", "标签：", "月度归档：", "近期文章", "更早的文章", "发表回复",
    "您的邮箱地址不会被公开。 必填项已用 * 标注",
)  # fmt: skip
_EN = _Words(
    "en-US", "By", "on", "No Comments", "comments", "Tag:", "Month:", "Recent Posts", "Older Posts", "Leave a Reply",
    "Your email address will not be published. Required fields are marked *",
)  # fmt: skip


def _wordpress(words: _Words) -> Theme:
    def page(blog: Blog, title: str, main: str, around: Around) -> str:
        recent = (
            '<div class="widget widget_recent_entries"><h2 '
            f'class="widget-title">{words.recent}</h2><ul>{items([e.link for e in around.recent])}</ul></div>'
        )
        return html_page(
            words.lang,
            title,
            '<body class="single single-post"><a class="skip-link" href="#site-content">Skip</a><header '
            'id="site-header" class="header-footer-group">'
            f'<div class="header-titles"><div class="site-title faux-heading"><a href="/">{blog.name}</a></div><div '
            f'class="site-description">{blog.motto}'
            f'</div></div></header><main id="site-content">{main}</main><div '
            'class="footer-nav-widgets-wrapper"><aside class="footer-widgets-outer-wrapper">'
            f'{recent}</aside></div><footer id="site-footer"><p class="footer-copyright">© 2024 '
            f"{blog.name}</p></footer></body>",
        )

    def article(blog: Blog, post: Post, heading: str, body: str, around: Around) -> str:
        return (
            f'<article class="post-{post.number} post type-post hentry" id="post-{post.number}"><header '
            'class="entry-header has-text-align-center"><div '
            f'class="entry-header-inner"><div class="entry-categories"><a>{post.tag}</a></div>{heading}<div '
            'class="post-meta-wrapper"><ul class="post-meta">'
            f'<li class="post-author">{words.by} <a>{blog.author}</a></li><li '
            f'class="post-date"><a>{post.date}</a></li><li class="post-comment-link"><a>'
            f"{len(around.comments) or ''} "
            f"{words.comments if around.comments else words.none}</a></li></ul></div></div></header><div "
            'class="post-inner thin">'
            f'<div class="entry-content">{body}</div></div>'
        )

    def single(blog: Blog, post: Post, around: Around) -> str:
        nav = "".join(
            f'<a class="post-nav" href="{each.path}"><span class="arrow">→</span><span class="title"><span '
            f'class="title-inner">{each.title}</span></span></a>'
            for each in (around.older, around.newer)
            if each
        )
        discuss = (
            '<div class="comments-wrapper section-inner"><div class="comments" id="comments"><h2 '
            f'class="comment-reply-title">{len(around.comments)} '
            f"{words.comments}</h2><div "
            f'class="comments-inner"><ul>{comments(around, "comment")}</ul></div></div><div id="respond" '
            'class="comment-respond">'
            f'<h2 class="comment-reply-title">{words.reply}</h2><form><p '
            f'class="comment-notes">{words.mail}</p></form></div></div>'
        )
        main = (
            article(blog, post, f'<h1 class="entry-title">{post.title}</h1>', post.body, around)
            + '<nav class="pagination-single section-inner"><div '
            f'class="pagination-single-inner">{nav}</div></nav>{discuss}</article>'
        )
        return page(blog, around.title_of(post.title, blog.name), main, around)

    def rows(blog: Blog, posts: Sequence[Post], around: Around, *, whole: bool) -> str:
        return "".join(
            article(
                blog, each, f'<h2 class="entry-title heading-size-1"><a href="{each.path}">{each.title}</a></h2>',
                each.body if whole else f"<p>{beginning(each)}</p>", Around(),
            )
            + "</article><hr>"
            for each in posts
        )  # fmt: skip

    def listed(blog: Blog, name: str, posts: Sequence[Post], around: Around) -> str:
        head = f'<header class="archive-header"><h1 class="archive-title">{name}</h1></header>'
        return page(blog, f"{name} – {blog.name}", head + rows(blog, posts, around, whole=False), around)

    return Theme(
        f"wordpress {words.lang}",
        words is _ZH,
        single,
        lambda blog, posts, around: page(
            blog, f"{blog.name} – {blog.motto}", rows(blog, posts, around, whole=True), around
        ),
        lambda blog, tag, posts, around: listed(blog, f"{words.tag} {tag}", posts, around),
        lambda blog, posts, around: listed(blog, f"{words.month} 2024", posts, around),
    )


# -- an old theme of WordPress, which declares nothing ----------------------------------------------------


def _old(blog: Blog, title: str, content: str, around: Around) -> str:
    recent = f"<li><h2>Recent entries</h2><ul>{items([each.link for each in around.recent])}</ul></li>"
    return html_page(
        "en-US",
        title,
        f'<body><div id="page"><div id="header"><div id="headerimg"><h1><a href="/">{blog.name}</a></h1><div '
        f'class="description">{blog.motto}</div></div>'
        f'</div><div id="content" class="widecolumn">{content}</div><div id="sidebar"><ul>{recent}</ul></div><div '
        f'id="footer"><p>{blog.name} is proudly '
        f"powered by WordPress</p></div></div></body>",
    )


def _old_post(blog: Blog, post: Post, around: Around) -> str:
    near = "".join(f'<div class="alignleft">{each.link}</div>' for each in (around.older, around.newer) if each)
    discuss = (
        f'<h3 id="comments">{len(around.comments) or "No"} Responses to “{post.title}”</h3><ol '
        f'class="commentlist">{comments(around, "alt")}</ol>'
        f'<h3 id="respond">Leave a Reply</h3><form><p>Mail (will not be published)</p></form>'
    )
    return _old(
        blog,
        around.title_of(post.title, blog.name),
        f'<div class="navigation">{near}</div><div class="post hentry" id="post-{post.number}"><h2 '
        f'class="entry-title">{post.title}</h2><div class="entry-content">{post.body}<p '
        f'class="postmetadata alt"><small>This entry was posted on {post.date} and is filed under '
        f"<a>{post.tag}</a>.</small></p></div></div>{discuss}",
        around,
    )


def _old_rows(posts: Sequence[Post]) -> str:
    return "".join(
        f'<div class="post" id="post-{each.number}"><h2><a '
        f'href="{each.path}">{each.title}</a></h2><small>{each.date}</small><div class="entry">{each.body}'
        f"</div></div>"
        for each in posts
    )


def _old_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _old(blog, blog.name, _old_rows(posts), around)


def _old_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    return _old(
        blog, f"{tag} « {blog.name}", f"<h2 class=pagetitle>Posts Tagged ‘{tag}’</h2>{_old_rows(posts)}", around
    )


def _old_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _old(
        blog, f"2024 « {blog.name}", f"<h2 class=pagetitle>Archive for the year 2024</h2>{_old_rows(posts)}", around
    )


THEMES = (
    _wordpress(_ZH),
    _wordpress(_EN),
    Theme("wordpress 2009", False, _old_post, _old_home, _old_tag, _old_archive),
)
