"""Two Chinese themes of Hexo: yilia, which puts everything into a part named a menu, and NexT."""

from __future__ import annotations

from collections.abc import Sequence

from tests.sites.blogs import Around, Blog, Post, Theme, comments, html_page, items

# -- yilia (Hexo) ------------------------------------------------------------------------------------

_HINT = (
    "缺少模块：这个搜索框要先在博客目录里装好索引工具，再重新生成一次全站。装好以后打开配置文件，把 jsonContent 这一段"
    "补进去，注意缩进，然后清理缓存。"
)


def _yilia(blog: Blog, title: str, column: str) -> str:
    menu = items(['<a href="/">主页</a>', '<a href="/tags">随笔</a>'])
    tags = items([f'<a href="/tags/{tag}/">#{tag}</a>' for tag in blog.tags], "article-tag-list-item")
    left = (
        f'<div class="left-col"><div class="overlay"></div><div class="intrude-less"><header id="header" class="inner">'
        '<a href="/" class="profilepic"><img src="/me.png"></a><hgroup><h1 class="header-author"><a '
        f'href="/">{blog.author}'
        f'</a></h1></hgroup><p class="header-subtitle">{blog.motto}</p><nav class="header-menu"><ul>{menu}</ul></nav>'
        f'<nav class="header-smart-menu"><a q-on="click: openSlider(e, \'innerArchive\')" href="javascript:void(0)">'
        f"所有文章</a></nav></header></div></div>"
    )
    hidden = (
        f'<div class="tools-col" q-class="show:isShow,hide:isShow|isFalse"><div class="tools-wrap">'
        '<section class="tools-section tools-section-all" q-show="innerArchive"><div class="search-tag '
        f'tagcloud">{tags}'
        f'</div><div class="search-wrap"><p>{_HINT}</p><p>1、先看版本。2、再装索引工具。</p></div></section>'
        '<section class="tools-section tools-section-me"><div '
        f'class="aboutme-wrap">{blog.motto}</div></section></div></div>'
    )
    footer = (
        f'<footer id="footer"><div class="outer"><div class="footer-left">© 2024 {blog.author}</div></div></footer>'
    )
    return html_page(
        "zh-CN",
        title,
        f'<body><div id="container" class="show menu-l" q-class="show:isCtnShow">{left}<div class="mid-col" '
        f'q-class="show:isShow,hide:isShow|isFalse"><nav id="mobile-nav"><div class="overlay js-overlay"></div>'
        f'<h1 class="header-author js-header-author">{blog.author}</h1></nav><div id="wrapper" class="body-wrap">'
        '<div class="menu-l"><div class="canvas-wrap"></div><div id="js-content" '
        f'class="content-ll">{column}</div></div>'
        f"</div>{footer}</div>{hidden}</div></body>",
    )


def _yilia_article(blog: Blog, post: Post, body: str, heading: str) -> str:
    return (
        f'<article id="post-{post.number}" class="article article-type-post" itemscope itemprop="blogPost"><div '
        f'class="article-inner"><header class="article-header">{heading}<a href="{post.path}" '
        'class="archive-article-date">'
        f'<time datetime="{post.date}" itemprop="datePublished">{post.date}</time></a></header><div '
        'class="article-entry" '
        f'itemprop="articleBody">{body}</div><div class="article-info article-info-index"><div class="article-tag '
        'tagcloud">'
        "<ul "
        f'class="article-tag-list">{items([f"<a>{post.tag}</a>"], "article-tag-list-item")}</ul></div></div></div><'
        "/article>"
    )


def _yilia_post(blog: Blog, post: Post, around: Around) -> str:
    heading = f'<h1 class="article-title" itemprop="name">{post.title}</h1>'
    nav = "".join(
        f'<a href="{each.path}" id="article-nav-{name}" class="article-nav-link-wrap"><strong '
        'class="article-nav-caption">'
        f'{sign}</strong><div class="article-nav-title">{each.title}</div></a>'
        for each, name, sign in ((around.newer, "newer", "<"), (around.older, "older", ">"))
        if each
    )
    column = _yilia_article(blog, post, post.body, heading) + f'<nav id="article-nav">{nav}</nav>'
    return _yilia(blog, around.title_of(post.title, blog.name), column)


def _yilia_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    column = "".join(
        _yilia_article(
            blog,
            each,
            each.body,
            f'<h1 itemprop="name"><a class="article-title" href="{each.path}">{each.title}</a></h1>',
        )
        for each in posts
    )
    return _yilia(blog, blog.name, column + '<nav id="page-nav"><a href="/page/2/">Next »</a></nav>')


def _yilia_list(blog: Blog, title: str, posts: Sequence[Post]) -> str:
    rows = "".join(
        f'<article class="archive-article archive-type-post"><div class="archive-article-inner"><header '
        f'class="archive-article-header"><a href="{each.path}" '
        f'class="archive-article-date"><time>{each.date}</time></a>'
        '<h1 itemprop="name"><a class="archive-article-title" '
        f'href="{each.path}">{each.title}</a></h1></header></div></article>'
        for each in posts
    )
    wrap = (
        '<section class="archives-wrap"><div class="archive-year-wrap"><a '
        f'href="/archives/2024">2024</a></div>{rows}</section>'
    )
    return _yilia(blog, title, wrap)


def _yilia_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    return _yilia_list(blog, f"标签: {tag} | {blog.name}", posts)


def _yilia_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    return _yilia_list(blog, f"归档: 2024 | {blog.name}", posts)


# -- NexT (Hexo) -------------------------------------------------------------------------------------


def _next(blog: Blog, title: str, content: str, toc: str = "") -> str:
    menu = items(['<a href="/">首页</a>', '<a href="/tags/">标签</a>', '<a href="/archives/">归档</a>'], "menu-item")
    return html_page(
        "zh-CN",
        title,
        f'<body itemscope itemtype="http://schema.org/WebPage"><div class="headband"></div><main class="main"><div '
        f'class="column"><header class="header"><div class="site-brand-container"><div class="site-meta"><a href="/" '
        f'class="brand"><h1 class="site-title">{blog.name}</h1></a><p '
        f'class="site-subtitle">{blog.motto}</p></div></div><nav '
        f'class="site-nav"><ul class="main-menu menu">{menu}</ul></nav></header><aside class="sidebar"><div '
        'class="sidebar-inner">'
        f'{toc}<div class="site-overview-wrap"><div class="site-author"><p '
        f'class="site-author-name">{blog.author}</p><div '
        f'class="site-description">{blog.motto}</div></div><nav class="site-state">{len(blog.posts)} 日志 '
        f"{len(blog.tags)} 标签"
        f'</nav></div></div></aside></div><div class="main-inner">{content}</div></main><footer class="footer"><div '
        f'class="copyright">© 2024 {blog.author}</div><div class="powered-by">由 Hexo &amp; NexT.Gemini '
        "强力驱动</div></footer></body>",
    )


def _next_post(blog: Blog, post: Post, around: Around) -> str:
    toc = f'<div class="post-toc-wrap"><ol class="nav"><li><a href="#a">{post.title[:4]}</a></li></ol></div>'
    nav = "".join(f'<div class="post-nav-item">{each.link}</div>' for each in (around.older, around.newer) if each)
    content = (
        '<div class="post post-block"><article itemscope itemtype="http://schema.org/Article" class="post-content" '
        'lang="zh-CN"><header '
        f'class="post-header"><h1 class="post-title" itemprop="name headline">{post.title}</h1><div '
        'class="post-meta-container">'
        f'<div class="post-meta"><span>发表于 <time datetime="{post.date}">{post.date}</time></span><span>分类于 '
        f"<a>{post.tag}</a>"
        f"</span><span>阅读次数： {around.views}</span><span>本文字数： {len(post.body)}</span><span>阅读时长 ≈ 1 "
        "分钟</span></div></div></header>"
        f'<div class="post-body" itemprop="articleBody">{post.body}</div><footer class="post-footer"><div '
        'class="reward-container">'
        '<div>如果觉得有用，可以请我喝一杯茶</div><button>赞赏</button></div><div class="post-copyright"><ul><li '
        'class="post-copyright-author">'
        f"<strong>本文作者： </strong>{blog.author}</li><li "
        f"class=post-copyright-link><strong>本文链接：</strong><a>{post.title}</a></li>"
        "<li class=post-copyright-license><strong>版权声明： </strong>"
        "本博客所有文章除特别声明外，均采用 BY-NC-SA 许可协议。转载请注明出处！"
        f'</li></ul></div><div class="post-tags"><a rel="tag"># {post.tag}</a></div><div '
        f'class="post-nav">{nav}</div></footer></article></div>'
    )
    discuss = f'<div class="comments"><ul>{comments(around, "vcard")}</ul></div>' if around.comments else ""
    return _next(blog, around.title_of(post.title, blog.name), content + discuss, toc)


def _next_home(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    rows = "".join(
        '<div class="post-block"><article itemscope itemtype="http://schema.org/Article" '
        'class="post-content"><header class="post-header">'
        f'<h2 class="post-title" itemprop="name headline"><a href="{each.path}" '
        f'class="post-title-link">{each.title}</a></h2><div '
        f'class="post-meta-container"><span>发表于 {each.date}</span></div></header><div class="post-body" '
        'itemprop="articleBody">'
        f"{each.body}</div></article></div>"
        for each in posts
    )
    return _next(blog, blog.name, f'<div class="index posts-expand">{rows}</div><nav class="pagination"><a>2</a></nav>')


def _next_rows(posts: Sequence[Post]) -> str:
    return "".join(
        '<article itemscope itemtype="http://schema.org/Article"><header class="post-header"><div '
        'class="post-meta-container"><time>'
        f'{each.date[5:]}</time></div><div class="post-title"><a class="post-title-link" '
        f'href="{each.path}"><span>{each.title}</span></a>'
        f"</div></header></article>"
        for each in posts
    )


def _next_tag(blog: Blog, tag: str, posts: Sequence[Post], around: Around) -> str:
    title = f'<div class="collection-title"><h2 class="collection-header">{tag}<small>标签</small></h2></div>'
    year = '<div class="collection-year"><span class="collection-header">2024</span></div>'
    return _next(
        blog,
        f"标签: {tag} | {blog.name}",
        f'<div class="tag"><div class="posts-collapse">{title}{year}{_next_rows(posts)}</div></div>',
    )


def _next_archive(blog: Blog, posts: Sequence[Post], around: Around) -> str:
    title = (
        f'<div class="collection-title"><span class="collection-header">很好! 目前共计 {len(posts)} 篇日志。 '
        "继续努力。</span></div>"
    )
    return _next(
        blog,
        f"归档 | {blog.name}",
        f'<div class="archive"><div class="posts-collapse">{title}{_next_rows(posts)}</div></div>',
    )


THEMES = (
    Theme("yilia", True, _yilia_post, _yilia_home, _yilia_tag, _yilia_archive),
    Theme("NexT", True, _next_post, _next_home, _next_tag, _next_archive),
)
