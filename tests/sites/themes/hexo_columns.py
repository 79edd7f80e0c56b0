"""Two themes of Hexo with a side column: landscape, its default, and butterfly."""

from __future__ import annotations

from collections.abc import Sequence

from tests.sites.blogs import Around, Blog, Post, Theme, beginning, html_page, items

# -- landscape (Hexo) --------------------------------------------------------------------------------


def _landscape(blog: Blog, title: str, main: str, around: Around) -> str:
    def widget(name: str, lines: Sequence[str]) -> str:
        return (
            f'<div class="widget-wrap"><h3 class="widget-title">{name}</h3><div '
            f'class="widget"><ul>{items(lines)}</ul></div></div>'
        )

    aside = widget("标签", [f'<a href="/tags/{tag}/">{tag}</a>' for tag in blog.tags])
    aside += widget(
        "归档", ['<a href="/archives/2024/05/">五月 2024</a>', '<a href="/archives/2024/04/">四月 2024</a>']
    )
    aside += widget("最新文章", [each.link for each in around.recent])
    return html_page(
        "zh",
        title,
        '<body><div id="container"><div id="wrap"><header id="header"><div id="banner"></div><div '
        'id="header-outer" class="outer"><div '
        f'id="header-title" class="inner"><h1 id="logo-wrap"><a href="/" id="logo">{blog.name}</a></h1><h2 '
        'id="subtitle-wrap"><a href="/" '
        f'id="subtitle">{blog.motto}</a></h2></div><nav id="main-nav"><a class="main-nav-link" href="/">Home</a><a '
        'href="/archives">Archives</a>'
        f'</nav></div></header><div class="outer"><section id="main">{main}</section><aside '
        f'id="sidebar">{aside}</aside></div><footer '
        f'id="footer"><div class="outer">&copy; 2024 {blog.author}<br>Powered by <a '
        'href="http://hexo.io/">Hexo</a></div></footer></div></div></body>',
    )


def _landscape_article(post: Post, heading: str, body: str) -> str:
    return (
        f'<article id="post-{post.number}" class="h-entry article article-type-post" itemprop="blogPost" '
        'itemscope><div class="article-meta">'
        f'<a href="{post.path}" class="article-date"><time class="dt-published">{post.date}</time></a></div><div '
        'class="article-inner"><header '
        f'class="article-header">{heading}</header><div class="e-content article-entry" '
        f'itemprop="articleBody">{body}</div><footer '
        f'class="article-footer"><a data-url="{post.path}" class="article-share-link">Share</a><ul '
        'class="article-tag-list" itemprop="keywords">'
        f"{items([post.tag])}</ul></footer></div>"
    )


def _landscape_post(blog: Blog, post: Post, around: Around) -> str:
    nav = "".join(
        f'<a href="{each.path}" class="article-nav-link-wrap"><strong class="article-nav-caption">{name}</strong><div '
        f'class="article-nav-title">{each.title}</div></a>'
        for each, name in ((around.newer, "前一篇"), (around.older, "后一篇"))
        if each
    )
    heading = f'<h1 class="p-name article-title" itemprop="headline name">{post.title}</h1>'
    main = f'{_landscape_article(post, heading, post.body)}<nav id="article-nav">{nav}</nav></article>'
    return _landscape(blog, around.title_of(post.title, blog.name), main, around)


def _landscape_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    rows = "".join(
        _landscape_article(
            each,
            f'<h1 itemprop="name"><a class="p-name article-title" href="{each.path}">{each.title}</a></h1>',
            each.body,
        )
        + "</article>"
        for each in posts
    )
    return _landscape(blog, blog.name, rows, around)


def _landscape_list(blog: Blog, title: str, posts: Sequence[Post], around: Around) -> str:
    rows = "".join(
        '<article class="archive-article archive-type-post"><div class="archive-article-inner"><header '
        'class="archive-article-header"><a '
        f'href="{each.path}" class="archive-article-date"><time>{each.date[5:]}</time></a><h1 itemprop="name"><a '
        f'class="archive-article-title" href="{each.path}">{each.title}</a></h1></header></div></article>'
        for each in posts
    )
    main = (
        '<section class="archives-wrap"><div class="archive-year-wrap"><a class="archive-year">2024</a></div><div '
        f'class="archives">{rows}</div></section>'
    )
    return _landscape(blog, title, main, around)


def _landscape_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    return _landscape_list(blog, f"Tag: {tag} | {blog.name}", posts, around)


def _landscape_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _landscape_list(blog, f"Archives: 2024 | {blog.name}", posts, around)


# -- butterfly (Hexo) --------------------------------------------------------------------------------


def _butterfly(blog: Blog, title: str, banner: str, content: str, around: Around) -> str:
    recent = "".join(
        '<div class="aside-list-item"><div class="content"><a class="title" '
        f'href="{each.path}">{each.title}</a><time>{each.date}</time></div></div>'
        for each in around.recent
    )
    info = (
        f'<div class="card-widget card-info"><div class="author-info-name">{blog.author}</div><div '
        f'class="author-info-description">{blog.motto}'
        '</div></div><div class="card-widget card-announcement"><div '
        'class="item-headline"><span>公告</span></div><div class="announcement_content">'
        f"欢迎来到磨坊，天晴时门是开着的。</div></div>"
    )
    web = (
        '<div class="card-widget card-webinfo"><div class="item-headline"><span>网站信息</span></div><div '
        'class="webinfo-item">文章数目 : '
        f'{len(blog.posts)}</div><div class="webinfo-item">本站访客数 : {around.views * 7}</div></div>'
    )
    return html_page(
        "zh-CN",
        title,
        '<body><div id="sidebar"><div id="menu-mask"></div><div id="sidebar-menus"><div class="menus_items"><a '
        'class="site-page" href="/">首页</a>'
        '<a class="site-page" href="/archives/">时间轴</a></div></div></div><div class="post" id="body-wrap"><header '
        'class="post-bg" '
        'id="page-header"><nav id="nav"><span id="blog-info"><a href="/"><span '
        f'class="site-name">{blog.name}</span></a></span></nav>{banner}</header>'
        f'<main class="layout" id="content-inner">{content}<div class="aside-content" id="aside-content">{info}<div '
        'class="sticky_layout"><div '
        'class="card-widget card-recent-post"><div class="item-headline"><span>最新文章</span></div><div '
        f'class="aside-list">{recent}</div></div>{web}'
        '</div></div></main><footer id="footer"><div id="footer-wrap"><div class="copyright">©2024 By '
        f"{blog.author}</div><div "
        f'class="framework-info"><span>框架 Hexo</span></div></div></footer></div></body>',
    )


def _butterfly_post(blog: Blog, post: Post, around: Around) -> str:
    banner = (
        f'<div id="post-info"><h1 class="post-title">{post.title}</h1><div id="post-meta"><div '
        f'class="meta-firstline"><span>发表于{post.date}</span>'
        f'<span>更新于{post.date}</span></div><div class="meta-secondline"><span>阅读量: '
        f"{around.views}</span></div></div></div>"
    )
    near = "".join(
        f'<a class="pagination-related" href="{each.path}"><div class="info-1"><div '
        f'class="info-item-1">{name}</div><div class="info-item-2">'
        f'{each.title}</div></div><div class="info-2"><div class="info-item-1">{beginning(each)}</div></div></a>'
        for each, name in ((around.newer, "上一篇"), (around.older, "下一篇"))
        if each
    )
    related = "".join(f'<a href="{each.path}"><div class="title">{each.title}</div></a>' for each in around.recent[:3])
    content = (
        f'<div id="post"><article class="container post-content" id="article-container">{post.body}</article><div '
        'class="post-copyright"><div '
        f'class="post-copyright__author"><span>文章作者: </span><span>{blog.author}</span></div><div '
        'class="post-copyright__notice"><span>版权声明: '
        "</span><span>本博客所有文章除特别声明外，均采用 CC BY-NC-SA 4.0 许可协议。"
        f"转载请注明来源 {blog.name}！</span></div></div><div "
        f'class="tag_share"><a class="post-meta__tags">{post.tag}</a></div><nav '
        f'class="pagination-post">{near}</nav><div class="relatedPosts"><div '
        f'class="headline"><span>相关推荐</span></div><div class="relatedPosts-list">{related}</div></div></div>'
    )
    return _butterfly(blog, around.title_of(post.title, blog.name), banner, content, around)


def _butterfly_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    rows = "".join(
        '<div class="recent-post-item"><div class="recent-post-info"><a class="article-title" '
        f'href="{each.path}">{each.title}</a><div '
        f'class="article-meta-wrap"><span class="post-meta-date">发表于 {each.date}</span></div><div '
        f'class="content">{beginning(each)}</div></div></div>'
        for each in posts
    )
    banner = f'<div id="site-info"><h1 id="site-title">{blog.name}</h1></div>'
    return _butterfly(blog, blog.name, banner, f'<div class="recent-posts" id="recent-posts">{rows}</div>', around)


def _butterfly_list(blog: Blog, name: str, heading: str, posts: Sequence[Post], around: Around) -> str:
    rows = "".join(
        '<div class="article-sort-item"><div class="article-sort-item-info"><div '
        f'class="article-sort-item-time"><time>{each.date}</time></div><a '
        f'class="article-sort-item-title" href="{each.path}">{each.title}</a></div></div>'
        for each in posts
    )
    banner = f'<div id="page-site-info"><h1 id="site-title">{name}</h1></div>'
    content = (
        f'<div id="archive"><div class="article-sort-title">{heading}</div><div class="article-sort">{rows}</div></div>'
    )
    return _butterfly(blog, f"{name} | {blog.name}", banner, content, around)


def _butterfly_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    return _butterfly_list(blog, f"标签: {tag}", f"标签 - {tag}", posts, around)


def _butterfly_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _butterfly_list(blog, "归档", f"全部文章 - {len(posts)}", posts, around)


THEMES = (
    Theme("landscape", True, _landscape_post, _landscape_home, _landscape_tag, _landscape_archive),
    Theme("butterfly", True, _butterfly_post, _butterfly_home, _butterfly_tag, _butterfly_archive),
)
