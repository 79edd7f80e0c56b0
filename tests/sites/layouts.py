"""Templates in the manner of widespread systems: blog, shop, framework, forum, portal, manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites.copies import stripped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.sites.model import View

Links = tuple[tuple[str, str], ...]


def _list(links: Iterable[tuple[str, str]], cls: str = "") -> str:
    return "".join(f'<li class="{cls}"><a href="{path}">{name}</a></li>' for name, path in links)


def _menu(view: View) -> Links:
    return tuple((name, f"/section/{number}/") for number, name in enumerate(view.frame.menu, 1))


def _trail(view: View, separator: str = " » ") -> str:
    parts = (view.frame.name, *view.draft.trail)
    return separator.join(f'<a href="/t/{number}/">{part}</a>' for number, part in enumerate(parts))


def _head(view: View, more: str = "") -> str:
    name = view.title
    return (
        f'<!DOCTYPE html>\n<html lang="{view.frame.language}"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{more}{view.draft.head}'
        f"<script>window.dataLayer=window.dataLayer||[];</script><style>.x{{display:none}}</style></head>"
    )


def _og(name: str, value: str) -> str:
    return f'<meta property="og:{name}" content="{value}">'


def _named(name: str, value: str) -> str:
    return f'<meta name="{name}" content="{value}">'


def blog(view: View) -> str:
    """A blog of WordPress with a classic theme."""
    draft, frame = view.draft, view.frame
    og = _og("title", view.title) + _named("generator", "WordPress 6.5")
    return f"""{_head(view, og)}
<body class="post-template-default single single-post wp-embed-responsive">{frame.banner}
<div id="page" class="site"><a class="skip-link screen-reader-text" href="#content">Skip to content</a>
<header id="masthead" class="site-header"><div class="site-branding"><p class="site-title"><a
href="/">{frame.name}</a></p></div>
<nav id="site-navigation" class="main-navigation"><ul id="primary-menu"
class="menu">{_list(_menu(view), "menu-item")}</ul></nav></header>
<div id="content" class="site-content"><div class="breadcrumbs">{_trail(view)}</div>
<div id="primary" class="content-area"><main id="main" class="site-main">
<article class="post type-post status-publish hentry"><header class="entry-header">{view.h1}{draft.lead}</header>
<div class="entry-content">{draft.body}</div>{draft.after}
<footer class="entry-footer"><span class="cat-links">Posted in <a
href="/c/1/">{frame.menu[0]}</a></span></footer></article></main></div>
<aside id="secondary" class="widget-area">{draft.beside}<section class="widget widget_recent_entries">
<h2 class="widget-title">{frame.side}</h2><ul>{_list(view.related)}</ul></section></aside></div>
<footer id="colophon" class="site-footer"><div class="site-info">{frame.footer}</div></footer></div></body></html>"""


def shop(view: View) -> str:
    """A shop in the manner of Shopify: product grid, buy box, recommendations."""
    draft, frame = view.draft, view.frame
    cards = "".join(
        f'<div class="grid__item"><div class="card"><a href="{path}" class="full-unstyled-link">{name}</a></div></div>'
        for name, path in view.related
    )
    return f"""{_head(view, _og("title", view.title) + _og("type", "product"))}
<body class="gradient template-product">{frame.banner}<div class="announcement-bar"><p>Free delivery over 60</p></div>
<div class="header-wrapper"><header class="header"><a href="/" class="header__heading-link">{frame.name}</a>
<ul class="list-menu list-menu--inline">{_list(_menu(view))}</ul><a href="/cart"
class="header__icon">Cart</a></header></div>
<main id="MainContent" class="content-for-layout"><nav class="breadcrumb">{_trail(view, " / ")}</nav>
<section class="shopify-section"><div class="product product--medium grid grid--2-col-tablet">
<div class="grid__item product__media-wrapper"><img src="/cdn{draft.path}.jpg" alt=""></div>
<div class="product__info-wrapper grid__item"><div class="product__info-container">
<div class="product__title">{view.h1}</div>{draft.lead}
<form action="/cart/add"><label>Quantity</label><input name="quantity" value="1"><button type="submit">Add to
cart</button></form>
<div class="product__description rte">{draft.body}</div></div></div></div>{draft.after}</section>{draft.beside}
<section class="related-products"><h2>{frame.side}</h2><div class="grid product-grid">{cards}</div></section></main>
<footer class="footer"><ul>{_list(_menu(view))}</ul><div
class="footer__copyright">{frame.footer}</div></footer></body></html>"""


def bootstrap(view: View) -> str:
    """Rows, columns and cards of Bootstrap, without landmarks."""
    draft, frame = view.draft, view.frame
    return f"""{_head(view)}<body>{frame.banner}
<div class="navbar navbar-expand-lg navbar-dark bg-dark"><div class="container"><a class="navbar-brand"
href="/">{frame.name}</a>
<ul class="navbar-nav me-auto">{_list(_menu(view), "nav-item")}</ul></div></div>
<div class="container mt-4"><ol class="breadcrumb"><li
class="breadcrumb-item">{_trail(view, "</li><li class='breadcrumb-item'>")}</li></ol>
<div class="row"><div class="col-lg-8">{view.h1}{draft.lead}<div class="card"><div
class="card-body">{draft.body}</div></div>{draft.after}</div>
<div class="col-lg-4"><div class="card mb-3">{draft.beside}<div class="card-header">{frame.side}</div>
<ul class="list-group list-group-flush">{_list(view.related, "list-group-item")}</ul></div></div></div></div>
<div class="bg-light py-4"><div class="container text-muted"><p>{frame.footer}</p></div></div></body></html>"""


def tailwind(view: View) -> str:
    """Utility classes of Tailwind; the text stands in ``overflow-hidden`` and ``lg:hidden`` parts."""
    draft, frame = view.draft, view.frame
    return f"""{_head(view, _og("title", view.title))}
<body class="bg-white text-gray-900 antialiased">{frame.banner}<div id="__next"><div class="sticky top-0 z-50 flex
items-center justify-between px-6">
<a href="/" class="font-bold">{frame.name}</a><div class="hidden lg:flex
space-x-4">{"".join(f'<a href="{path}">{name}</a>' for name, path in _menu(view))}</div></div>
<div class="mx-auto max-w-7xl px-4 lg:grid lg:grid-cols-12"><div class="lg:col-span-8">
<div class="text-sm text-gray-500">{_trail(view, " / ")}</div>
<div class="mt-6">{view.h1}{draft.lead}</div>
<div class="prose overflow-hidden lg:prose-xl">{draft.body}</div><div
class="overflow-hidden">{draft.after}</div></div>
<div class="hidden lg:block lg:col-span-4">{draft.beside}<h3
class="text-sm">{frame.side}</h3><ul>{_list(view.related, "truncate")}</ul></div></div>
<div class="border-t mt-12 py-8 text-gray-500">{frame.footer}</div></div></body></html>"""


def elementor(view: View) -> str:
    """A page builder: every paragraph stands in a widget of its own."""
    draft, frame = view.draft, view.frame
    widgets = "".join(_widget(part, "text-editor") for part in draft.body.split("\n") if part.strip())
    return f"""{_head(view, _named("generator", "Elementor 3.21"))}<body class="elementor-default
elementor-page">{frame.banner}
<header data-elementor-type="header" class="elementor elementor-location-header"><div class="elementor-container">
<ul class="elementor-nav-menu">{_list(_menu(view), "menu-item")}</ul></div></header>
<div data-elementor-type="single-post" class="elementor elementor-location-single"><div class="elementor-section-wrap">
<section class="elementor-section elementor-top-section"><div class="elementor-container"><div class="elementor-column">
<div class="elementor-widget-wrap">
{_widget(view.h1, "heading")}{_widget(draft.lead, "post-info")}{widgets}{_widget(draft.after, "text-editor")}</div>
</div>
<div class="elementor-column
elementor-col-33">{draft.beside}{_widget(f"<ul>{_list(view.related)}</ul>", "posts")}</div></div></section></div></div>
<footer data-elementor-type="footer" class="elementor
elementor-location-footer">{_widget(f"<p>{frame.footer}</p>", "text-editor")}</footer></body></html>"""


def _widget(inner: str, kind: str) -> str:
    if not inner:
        return ""
    return (
        f'<div class="elementor-element elementor-widget elementor-widget-{kind}" data-element_type="widget">'
        f'<div class="elementor-widget-container">{inner}</div></div>\n'
    )


def newspaper(view: View) -> str:
    """A newspaper with the elements of HTML 5."""
    draft, frame = view.draft, view.frame
    return f"""{_head(view, _og("title", view.draft.shown) + _og("site_name", frame.name))}
<body>{frame.banner}<header><a href="/">{frame.name}</a><nav><ul>{_list(_menu(view))}</ul></nav></header>
<main><nav aria-label="breadcrumb">{_trail(view, " › ")}</nav><article><header>{view.h1}{draft.lead}</header>
<div class="article-body">{draft.body}</div>{draft.after}</article>
<aside class="more">{draft.beside}<h2>{frame.side}</h2><ul>{_list(view.related)}</ul></aside></main>
<footer><nav><ul>{_list(_menu(view))}</ul></nav><p>{frame.footer}</p></footer></body></html>"""


def tables(view: View) -> str:
    """A layout of nested tables, as twenty-five years ago."""
    draft, frame = view.draft, view.frame
    menu = "".join(f'<tr><td bgcolor="#dddddd"><a href="{path}">{name}</a></td></tr>' for name, path in _menu(view))
    links = "<br>".join(f'<a href="{path}">{name}</a>' for name, path in view.related)
    return f"""{_head(view)}<body bgcolor="#ffffff">{frame.banner}
<table width="100%" border="0"><tr><td colspan="3"><font
size="5">{frame.name}</font></td></tr>
<tr><td width="150" valign="top"><table>{menu}</table></td><td valign="top"><font
size="2">{_trail(view, " &gt; ")}</font><br>{view.h1}{draft.lead}
<font face="Arial">{draft.body}</font>{draft.after}</td><td width="180"
valign="top">{draft.beside}<b>{frame.side}</b><br>{links}</td></tr>
<tr><td colspan="3" align="center"><font size="1">{frame.footer}</font></td></tr></table></body></html>"""


def manual(view: View) -> str:
    """The manual of a program, in the manner of Sphinx."""
    draft, frame = view.draft, view.frame
    before, after = (*view.related, ("Start", "/"), ("Start", "/"))[:2]
    pager = (
        f'<a href="{before[1]}" rel="prev">Previous: {before[0]}</a> <a href="{after[1]}" '
        f'rel="next">Next: {after[0]}</a>'
    )
    return f"""{_head(view, _named("generator", "Docutils 0.21"))}<body class="wy-body-for-nav">{frame.banner}
<div class="wy-grid-for-nav"><nav class="wy-nav-side"><div class="wy-side-scroll"><a href="/">{frame.name}</a>
<div class="wy-menu wy-menu-vertical"><ul>{_list(_menu(view), "toctree-l1")}</ul></div></div></nav>
<section class="wy-nav-content-wrap"><div class="rst-content"><div role="navigation"><ul
class="wy-breadcrumbs"><li>{_trail(view)}</li></ul></div>
<div role="main" class="document"><div
itemprop="articleBody"><section>{view.h1}{draft.lead}{draft.body}</section></div>{draft.after}</div>
<footer><div class="rst-footer-buttons">{pager}</div><p>{frame.footer}</p></footer></div></section>
{draft.beside}</div></body></html>"""


def portal_zh(view: View) -> str:
    """A portal of a Chinese authority: information table, date bar, tables around it."""
    draft, frame = view.draft, view.frame
    return f"""{_head(view, _named("SiteName", frame.name) + _named("ArticleTitle", draft.shown))}
<body>{frame.banner}<div class="header"><div class="logo"><a href="/">{frame.name}</a></div><div
class="search">请输入关键字 <a href="/s">搜索</a></div></div>
<div class="nav"><ul>{_list(_menu(view))}</ul></div><div class="wrap"><div
class="position">当前位置：{_trail(view, " > ")}</div>
<div class="xl-box">{draft.beside}<div class="xl-title">{view.h1}</div><div
class="xl-info">{draft.lead}<span>字号：<a>大</a> <a>中</a> <a>小</a></span></div>
<div class="TRS_Editor" id="zoom">{draft.body}</div>{draft.after}<div class="share">分享到： <a href="#w">微信</a> <a
href="#b">微博</a></div></div>
<div class="xg"><h3>{frame.side}</h3><ul>{_list(view.related)}</ul></div></div><div
class="footer">{frame.footer}</div></body></html>"""


def phpbb(view: View) -> str:
    """A forum of phpBB; the body holds the posts."""
    draft, frame = view.draft, view.frame
    return f"""{_head(view)}<body id="phpbb" class="nojs notouch section-viewtopic ltr">{frame.banner}
<div id="wrap" class="wrap">
<div id="page-header"><div class="headerbar"><div id="site-description"><a class="logo"
href="/">{frame.name}</a></div></div>
<div class="navbar"><ul class="nav-main linklist">{_list(_menu(view))}</ul><ul class="nav-breadcrumbs
linklist"><li>{_trail(view)}</li></ul></div></div>
<div id="page-body" class="page-body">{view.h1.replace("h1", "h2")}<div class="action-bar bar-top"><a
href="/post">Post Reply</a>
<div class="pagination">{draft.lead}</div></div>{draft.body}{draft.after}<div class="action-bar bar-bottom"><a
href="/f/1">Return to “{frame.menu[0]}”</a></div>
{draft.beside}<div class="stat-block online-list"><h3>Who is online</h3><p>Users browsing this forum: No registered
users and 3 guests</p></div></div>
<div id="page-footer"><div class="navbar"><ul>{_list(view.related)}</ul></div><div
class="copyright">{frame.footer}</div></div></div></body></html>"""


def discuz(view: View) -> str:
    """A forum of Discuz!; the body holds the posts, in tables."""
    draft, frame = view.draft, view.frame
    return f"""{_head(view, _named("generator", "Discuz! X3.4"))}<body id="nv_forum"
class="pg_viewthread">{frame.banner}<div id="hd"><div class="wp">
<h2><a href="/">{frame.name}</a></h2><div id="nv"><ul>{_list(_menu(view))}</ul></div></div></div><div id="wp"
class="wp"><div id="pt" class="bm cl"><div class="z">{_trail(view, " › ")}</div></div>
<div id="ct" class="wp cl"><div id="pgt" class="pgs mbm cl"><a href="/new">发新帖</a> <a
href="/reply">回复</a></div><div
id="postlist" class="pl bm">
<table cellspacing="0" cellpadding="0"><tr><td class="pls ptn pbn"><div class="hm">{draft.lead}</div></td><td
class="plc ptm pbn vwthd">{view.h1.replace("<h1", '<h1 class="ts"')}</td></tr></table>
{draft.body}</div>{draft.after}{draft.beside}<div
class="bm"><h3>{frame.side}</h3><ul>{_list(view.related)}</ul></div></div></div>
<div id="ft" class="wp cl"><p>{frame.footer}</p></div></body></html>"""


def printed(view: View) -> str:
    """The view for printers of every layout."""
    draft = view.draft
    return (
        f"<html><head><meta charset=utf-8><title>{view.title}</title></head><body "
        f"onload='print()'><h2>{draft.shown}</h2>"
        f"{draft.body}{draft.after}<hr><p>{view.url}</p></body></html>"
    )


def amp(view: View) -> str:
    """The accelerated view of every layout."""
    draft, frame = view.draft, view.frame
    return (
        f'<!doctype html><html amp lang="{frame.language}"><head><meta charset="utf-8"><title>{view.title}</title>'
        f'<script async src="https://cdn.ampproject.org/v0.js"></script></head><body><header class="amp-wp-header">'
        f'<a href="/">{frame.name}</a></header><article class="amp-wp-article"><h1 '
        f'class="amp-wp-title">{draft.shown}</h1>'
        f'<div class="amp-wp-article-content">{stripped(draft.body)}</div>{draft.after}</article>'
        f'<footer class="amp-wp-footer"><p>{frame.footer}</p><a href="{draft.path}">View the full '
        f"version</a></footer></body></html>"
    )
