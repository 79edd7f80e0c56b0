"""Class and id words that name the side parts of a page."""

from __future__ import annotations

import re
from enum import IntEnum

from dedupcrawl.page.tables import words


class Side(IntEnum):
    """How sure a container's class or id is that it holds no main text."""

    NONE = 0
    LIKELY = 1  #: a side part unless much of the page's text is in it
    COMMENTS = 2  #: a side part as long as other text is left
    NOTICE = 3  #: a side part as long as other text is left and it is not long: footers, consent to cookies
    LANDMARK = 4  #: an element for side parts (nav, aside, footer…)


COMMENT_WORDS = words("comment commentlist comments disqus livefyre replies respond")
NOTICE_WORDS = words("ccpa consent cookie cookies foot footer gdpr privacy")
SIDE_WORDS = words("""
    ad ads adsbygoogle advert advertisement advertising adverts bio breadcrumb breadcrumbs byline
    caption captions copyright credit credits crumb crumbs disclaimer editor erweima gallery hidden
    hotnews keywords login masthead menu menus mostpopular
    mostread nav navbar navigation newsletter newsletters noprint outbrain pagenav pager pagination
    popular popup modal promo promos promotion qrcode rail readmore moreon recirc recommend
    recommendation recommendations recommended register related relatedarticles relatedposts rightcol
    rightrail share sharebar shares sharing sidebar sidebars signin signup sns social sponsor sponsored
    sponsors submenu subscribe subscriber subscription taboola tag taglist tags teaser teasers toc
    toolbar topbar trending tuijian widget widgets xiangguan zebian
""")
EMBEDDED = "embed"
#: A name that begins so says something of the text inside, or of what stands beside it: WordPress puts
#: ``tag-politics`` on an article and ``has-sidebar`` on a page.
ABOUT = ("category-", "has-", "hide-", "no-", "post-", "show-", "tag-", "tags-", "with-", "without-")
_parts = re.compile(r"[A-Z]?[a-z]+|[A-Z]+").findall


def side_part(names: str) -> Side:
    """Judge the class and id of an element by the words in them.

    What an article embeds, such as the post of somebody in a social network, is a part of it.

    >>> side_part("post-body relatedPosts"), side_part("hentry tag-cookies"), side_part("social-embed")
    (<Side.LIKELY: 1>, <Side.NONE: 0>, <Side.NONE: 0>)
    """
    found = words_of(names)
    if not COMMENT_WORDS.isdisjoint(found):
        return Side.COMMENTS
    if not NOTICE_WORDS.isdisjoint(found):
        return Side.NOTICE
    if EMBEDDED in found:
        found.discard("social")
    return Side.NONE if SIDE_WORDS.isdisjoint(found) else Side.LIKELY


def words_of(names: str) -> set[str]:
    """Return the words in the class and id of an element that may say what the text inside is.

    >>> sorted(words_of("main-body relatedPosts tag-cookies"))
    ['body', 'main', 'posts', 'related']
    """
    return {word.lower() for name in names.split() if not name.startswith(ABOUT) for word in _parts(name)}
