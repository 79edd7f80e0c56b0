"""The default themes of Typecho and of Jekyll."""

from __future__ import annotations

from collections.abc import Sequence

from tests.sites.blogs import Around, Blog, Post, Theme, beginning, comments, html_page, items

# -- Typecho's own theme -------------------------------------------------------------------------------


def _typecho(blog: Blog, title: str, main: str, around: Around) -> str:
    said = items([f'<a href="/c">{name}</a>: {text[:12]}…' for name, text in around.comments])
    return html_page(
        "zh-CN",
        title,
        '<body><header id="header" class="clearfix"><div class="container"><div class="row"><div '
        f'class="site-name"><a id="logo" href="/">{blog.name}'
        f'</a><p class="description">{blog.motto}</p></div><nav id="nav-menu"><a href="/">首页</a><a '
        'href="/about.html">关于</a></nav></div></div></header>'
        f'<div id="body"><div class="container"><div class="row">{main}<div class="col-mb-12 col-3 kit-hidden-tb" '
        'id="secondary" role="complementary">'
        '<section class="widget"><h3 class="widget-title">最新文章</h3><ul '
        f'class="widget-list">{items([e.link for e in around.recent])}</ul></section>'
        '<section class="widget"><h3 class="widget-title">最近回复</h3><ul '
        f'class="widget-list">{said}</ul></section></div></div></div></div><footer '
        f'id="footer">© 2024 <a href="/">{blog.name}</a>. 由 <a href="http://typecho.org">Typecho</a> '
        "强力驱动.</footer></body>",
    )


def _typecho_article(blog: Blog, post: Post, heading: str, body: str) -> str:
    return (
        f'<article class="post" itemscope itemtype="http://schema.org/BlogPosting">{heading}<ul '
        'class="post-meta"><li itemprop="author">作者: <a>'
        f"{blog.author}</a></li><li>时间: <time>{post.date}</time></li><li>分类: <a>{post.tag}</a></li></ul><div "
        'class="post-content" '
        f'itemprop="articleBody">{body}</div>'
    )


def _typecho_post(blog: Blog, post: Post, around: Around) -> str:
    near = (
        f"<li>上一篇: {around.older.link if around.older else '没有了'}</li><li>下一篇: "
        f"{around.newer.link if around.newer else '没有了'}</li>"
    )
    discuss = (
        f'<div id="comments"><h3>已有 {len(around.comments)} 条评论</h3><ol '
        f'class="comment-list">{comments(around, "comment-body")}</ol></div>'
    )
    heading = (
        f'<h1 class="post-title" itemprop="name headline"><a itemprop="url" href="{post.path}">{post.title}</a></h1>'
    )
    main = (
        f'<div class="col-mb-12 col-8" id="main" role="main">{_typecho_article(blog, post, heading, post.body)}<p '
        'itemprop="keywords" class="tags">'
        f'标签: <a>{post.tag}</a></p></article>{discuss}<ul class="post-near">{near}</ul></div>'
    )
    return _typecho(blog, around.title_of(post.title, blog.name), main, around)


def _typecho_rows(blog: Blog, name: str, posts: Sequence[Post], around: Around, title: str) -> str:
    head = f'<h3 class="archive-title">{name}</h3>' if name else ""
    rows = "".join(
        _typecho_article(
            blog, each, f'<h2 class="post-title"><a itemprop="url" href="{each.path}">{each.title}</a></h2>',
            each.body if not name else f"<p>{beginning(each)}</p>",
        )
        + "</article>"
        for each in posts
    )  # fmt: skip
    return _typecho(blog, title, f'<div class="col-mb-12 col-8" id="main" role="main">{head}{rows}</div>', around)


def _typecho_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _typecho_rows(blog, "", posts, around, blog.name)


def _typecho_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    return _typecho_rows(blog, f"标签 {tag} 下的文章", posts, around, f"标签 {tag} 下的文章 - {blog.name}")


def _typecho_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _typecho_rows(blog, "2024年5月", posts, around, f"2024年5月 - {blog.name}")


# -- minima (Jekyll) -----------------------------------------------------------------------------------


def _minima(blog: Blog, title: str, content: str) -> str:
    return html_page(
        "en",
        title,
        '<body><header class="site-header"><div class="wrapper"><a class="site-title" rel="author" '
        f'href="/">{blog.name}</a><nav class="site-nav"><div '
        'class="trigger"><a class="page-link" href="/about/">About</a></div></nav></div></header><main '
        'class="page-content"><div class="wrapper">'
        f'{content}</div></main><footer class="site-footer h-card"><div class="wrapper"><div '
        f'class="footer-col-wrapper"><p>{blog.author}</p><p>{blog.motto}'
        f"</p></div></div></footer></body>",
    )


def _minima_post(blog: Blog, post: Post, around: Around) -> str:
    near = "".join(f"<p>{each.link}</p>" for each in (around.older, around.newer) if each)
    return _minima(
        blog,
        around.title_of(post.title, blog.name),
        '<article class="post h-entry" itemscope itemtype="http://schema.org/BlogPosting"><header '
        'class="post-header"><h1 class="post-title p-name" '
        f'itemprop="name headline">{post.title}</h1><p class="post-meta"><time '
        f'class="dt-published">{post.date}</time></p></header><div '
        f'class="post-content e-content" itemprop="articleBody">{post.body}</div></article>{near}',
    )


def _minima_rows(posts: Sequence[Post]) -> str:
    return "".join(
        f'<li><span class="post-meta">{each.date}</span><h3><a class="post-link" '
        f'href="{each.path}">{each.title}</a></h3></li>'
        for each in posts
    )


def _minima_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    rows = f'<h2 class="post-list-heading">Posts</h2><ul class="post-list">{_minima_rows(posts)}</ul>'
    return _minima(blog, blog.name, f'<div class="home">{rows}</div>')


def _minima_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    return _minima(
        blog,
        f"Tag: {tag} | {blog.name}",
        f'<article class="post"><h1 class="post-title">{tag}</h1><ul>{_minima_rows(posts)}</ul></article>',
    )


def _minima_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _minima(
        blog,
        f"Archives | {blog.name}",
        f'<article class="post"><h1 class="post-title">2024</h1><ul>{_minima_rows(posts)}</ul></article>',
    )


THEMES = (
    Theme("typecho", True, _typecho_post, _typecho_home, _typecho_tag, _typecho_archive),
    Theme("minima", False, _minima_post, _minima_home, _minima_tag, _minima_archive),
)
