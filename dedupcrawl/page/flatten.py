"""The one walk over the tree: done by libxslt, it flattens a page into a string of marked text.

In Python every node visited costs a proxy object, and making those alone takes half as long as parsing the
page did. A stylesheet walks the tree in C and leaves only what a reader needs: text, block boundaries, links
and metadata. A tree is never too deep for it: the parser stops at 2,048 levels, libxslt would at 3,000.

The stream is ``text (MARK head MARK text)*``. A head is

* ``tag class id`` where a block element begins,
* empty where the block element begun last ends,
* ``NOTE name=value`` for metadata, and ``NOTE`` alone at an ``<hr>``: an element that ends at once.

So the texts are every second part of ``stream.split(MARK)``. Inside a text, ``BREAK`` is a ``<br>`` and a
link is ``LINK target ANCHOR text UNLINK``. The marks are Unicode noncharacters, "never to be interchanged"; a
page that holds them all the same is cut at odd places, which harms nobody but itself.

How the constant word tables of page reading are written down.

Walks over a tree in C: stylesheets put together from templates, and compiled once for each thread.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element


def words(text: str) -> frozenset[str]:
    """Return the words of a table that is written as running text.

    >>> sorted(words("nav aside footer"))
    ['aside', 'footer', 'nav']
    """
    return frozenset(text.split())


INSIDE = "<xsl:apply-templates/>"


def say(*signs: str) -> str:
    """Return the source of an instruction that writes ``signs``."""
    return f"<xsl:text>{''.join(signs)}</xsl:text>"


def template(match: str, *body: str) -> str:
    """Return the source of what is done where ``match`` is met."""
    return f'<xsl:template match="{match}">{"".join(body)}</xsl:template>'


def stylesheet(*templates: str) -> str:
    """Return the source of a walk, XSLT 1.0; texts that meet become one, since each costs libxslt a call."""
    joined = "".join(templates).replace("</xsl:text><xsl:text>", "")
    space = "http://www.w3.org/1999/XSL/Transform"
    return f'<xsl:stylesheet version="1.0" xmlns:xsl="{space}">{joined}</xsl:stylesheet>'


class TreeWalk(threading.local):
    """A compiled stylesheet: lxml would copy one that crosses threads at every use."""

    def __init__(self, source: str) -> None:
        self._walk = etree.XSLT(etree.XML(source))

    def __call__(self, root: _Element) -> str:
        """Return what the walk writes into the element that it leaves; ``root`` is not changed."""
        # as a text, the stream would be written out before it is decoded
        return self._walk(root).getroot().text or ""


MARK = "\ufdd0"
LINK = "\ufdd2"
ANCHOR = "\ufdd3"
UNLINK = "\ufdd4"
BREAK = "\ufdd6"
NOTE = "\ufdd7"

#: Elements that begin and end a block. ``form`` is one and never skipped: ASP.NET wraps whole pages in it.
#: Those whose children are blocks anyway (``tr``, ``tbody``, ``dl``, ``body``…) need no boundary.
BLOCKS = words("""
    address article blockquote caption center dd details div dt fieldset figcaption figure form frameset
    h1 h2 h3 h4 h5 h6 header hgroup legend li main ol p pre section summary table td th ul
""")
#: Elements that HTML itself sets apart from the main text; each is one block, unless that leaves nothing.
LANDMARKS = frozenset({"aside", "dialog", "footer", "menu", "nav"})
#: Elements whose inside is never read as text.
IGNORED = words("""
    applet area audio button canvas embed iframe input map math noembed noframes noscript object
    optgroup option select style svg template textarea video
""")
#: Block elements whose class and id say what they are for.
NAMED = LANDMARKS | {"div", "figure", "form", "ol", "p", "section", "table", "ul"}

_NAMES = (
    '<xsl:text> </xsl:text><xsl:value-of select="@class"/><xsl:text> </xsl:text><xsl:value-of select="@id"/>'
)
#: What of a head belongs to the text. libxml2 does not know the elements of HTML 5, nor a site's own
#: (``my-app``): where a page leaves out ``<body>``, as it may, these stay in the head, text and all.
STRAY = "|".join(sorted(BLOCKS | LANDMARKS)) + "|*[contains(name(), '-')]"

_HEAD = f'<xsl:apply-templates select="title|meta|link|script|{STRAY}"/>'
_PUBLISHED = "substring(substring-after(., '&quot;datePublished&quot;'), 1, 64)"


def _source(*, open_landmarks: bool) -> str:
    landmark = _block if open_landmarks else _landmark
    return stylesheet(
        template("|".join(sorted(IGNORED)) + "|comment()|processing-instruction()"),
        *map(_block, sorted(BLOCKS)),
        *map(landmark, sorted(LANDMARKS)),
        template("br", say(BREAK)),
        template("hr", say(MARK, NOTE, MARK, MARK, MARK)),
        template("a", say(LINK), _value("@href"), say(ANCHOR), INSIDE, say(UNLINK)),
        template("/", "<stream>", _metadata(say("lang"), "/*/@lang"), INSIDE, "</stream>"),
        template("head", _HEAD),
        template("title", _metadata(say("title"), ".")),
        template("meta[@content]", _metadata(_value("@name|@property|@itemprop|@http-equiv"), "@content")),
        template("link[@rel='canonical']", _metadata(say("canonical"), "@href")),
        template("time[@datetime]", _metadata(say("time"), "@datetime"), INSIDE),
        template("script", _if("@type='application/ld+json'", _metadata(say("ld"), _PUBLISHED))),
    )


def _value(path: str) -> str:
    return f'<xsl:value-of select="{path}"/>'


def _if(test: str, *body: str) -> str:
    return f'<xsl:if test="{test}">{"".join(body)}</xsl:if>'


def _block(tag: str) -> str:
    names = _NAMES if tag in NAMED else ""
    return template(tag, say(MARK, tag), names, say(MARK), INSIDE, say(MARK, MARK))


def _landmark(tag: str) -> str:
    return template(tag, say(MARK, tag, MARK), _value("normalize-space(.)"), say(MARK, MARK))


def _metadata(name: str, value: str) -> str:
    return say(MARK, NOTE) + name + say("=") + _value(value) + say(MARK, MARK, MARK)


@cache
def _walk(open_landmarks: bool) -> TreeWalk:
    return TreeWalk(_source(open_landmarks=open_landmarks))


def flatten(root: _Element, *, open_landmarks: bool = False) -> str:
    """Return the stream of a parsed page, ``root`` being its ``<html>`` element (it is not changed).

    With ``open_landmarks`` the elements of :data:`LANDMARKS` are walked like any other block.
    """
    return _walk(open_landmarks)(root)
