"""What a page declares about an element: that it is the body of an article, or that it is not shown.

``itemprop="articleBody"`` of schema.org declares a body. A part with ``hidden``, or with ``display: none`` in its own
``style``, is not shown until a script changes that. It is a message, a dialog, a template or a hint for the owner of
the site, unless readers open it: a tab, an answer, or a part that the server sends later.
"""

from __future__ import annotations

from functools import lru_cache

from dedupcrawl.page.rules import name_words, word_set

BODY = "body="  #: the note in the stream of a page that an element is declared the body of the article
HIDDEN = "hidden="  #: the note that an element is not shown
BODY_PROPERTY = "articleBody"  #: of schema.org, in ``itemprop``
#: Classes of the body of an article in the microformats hAtom and h-entry. Pages of lists have them too.
ENTRY_CLASSES = word_set("entry-content e-content")
#: Attributes of AngularJS and Q.js: the element is shown if an expression is true, which a script evaluates.
SHOW_ATTRIBUTES = ("ng-show", "q-show")
OPENED_ROLES = ("tabpanel", "region")  #: of the parts that readers open, by ``role``
#: Words in class and id of parts that readers open: they are read whether they are open or not.
OPENED_WORDS = word_set("""
    accordion answer answers collapse collapsed collapsible content details drawer expandable expanded faq full more
    pane panel spoiler tab tabpanel tabs toggle
""")
#: Beginning of the id of a part that React sends after the page, and then moves to its place.
STREAMED = "S:"

#: XPath 1.0 for the context node: it is declared the body of the article.
IS_BODY = f"contains(@itemprop, '{BODY_PROPERTY}')"
_NO_DISPLAY = "contains(translate(@style, 'DISPLAYNOE &#9;&#10;&#13;', 'displaynoe'), 'display:none')"
_IS_SHOWN_LATER = " or ".join(f"@{name}" for name in SHOW_ATTRIBUTES)
_IS_OPENED = " or ".join(f"@role = '{role}'" for role in OPENED_ROLES)
#: …: it is not shown, and no tab or other part with a role that readers open.
IS_HIDDEN = (
    f"(({_NO_DISPLAY}) or @hidden[translate(., 'UNTILFOD', 'untilfod') != 'until-found'] or {_IS_SHOWN_LATER})"
    f" and not({_IS_OPENED})"
)


@lru_cache(maxsize=16384)
def is_entry(head: str) -> bool:
    """Return whether ``tag class id`` of an element has the class of the body of an article.

    >>> is_entry("div entry-content clear "), is_entry("div entry ")
    (True, False)
    """
    return not ENTRY_CLASSES.isdisjoint(head.split())


@lru_cache(maxsize=16384)
def is_opened(head: str) -> bool:
    """Return whether readers open the hidden element with this ``tag class id``, or a script moves it to its place.

    >>> [is_opened(head) for head in ("div faq-answer ", "div  S:0", "div login-hint ")]
    [True, True, False]
    """
    names = head.partition(" ")[2]
    if any(name.startswith(STREAMED) for name in names.split()):
        return True
    return not OPENED_WORDS.isdisjoint(name_words(names))
