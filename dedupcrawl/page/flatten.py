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
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

from dedupcrawl.page.tables import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

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

_INSIDE = "<xsl:apply-templates/>"
_NAMES = (
    '<xsl:text> </xsl:text><xsl:value-of select="@class"/><xsl:text> </xsl:text><xsl:value-of select="@id"/>'
)
_HEAD = '<xsl:apply-templates select="title|meta|link|script"/>'
_PUBLISHED = "substring(substring-after(., '&quot;datePublished&quot;'), 1, 64)"


def stylesheet(*, open_landmarks: bool) -> str:
    """Return the source of the walk, XSLT 1.0."""
    landmark = _block if open_landmarks else _landmark
    templates = (
        _template("|".join(sorted(IGNORED)) + "|comment()|processing-instruction()"),
        *map(_block, sorted(BLOCKS)),
        *map(landmark, sorted(LANDMARKS)),
        _template("br", _say(BREAK)),
        _template("hr", _say(MARK, NOTE, MARK, MARK, MARK)),
        _template("a", _say(LINK), _value("@href"), _say(ANCHOR), _INSIDE, _say(UNLINK)),
        _template("/", "<stream>", _metadata(_say("lang"), "/*/@lang"), _INSIDE, "</stream>"),
        _template("head", _HEAD),
        _template("title", _metadata(_say("title"), ".")),
        _template("meta[@content]", _metadata(_value("@name|@property|@itemprop|@http-equiv"), "@content")),
        _template("link[@rel='canonical']", _metadata(_say("canonical"), "@href")),
        _template("time[@datetime]", _metadata(_say("time"), "@datetime"), _INSIDE),
        _template("script", _if("@type='application/ld+json'", _metadata(_say("ld"), _PUBLISHED))),
    )
    return (
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
        f"{_joined(templates)}</xsl:stylesheet>"
    )


def _joined(parts: Iterable[str]) -> str:
    """Join parts of a stylesheet; texts that meet become one, since each costs libxslt a call."""
    return "".join(parts).replace("</xsl:text><xsl:text>", "")


def _say(*signs: str) -> str:
    return f"<xsl:text>{''.join(signs)}</xsl:text>"


def _value(path: str) -> str:
    return f'<xsl:value-of select="{path}"/>'


def _if(test: str, *body: str) -> str:
    return f'<xsl:if test="{test}">{"".join(body)}</xsl:if>'


def _template(match: str, *body: str) -> str:
    return f'<xsl:template match="{match}">{"".join(body)}</xsl:template>'


def _block(tag: str) -> str:
    names = _NAMES if tag in NAMED else ""
    return _template(tag, _say(MARK, tag), names, _say(MARK), _INSIDE, _say(MARK, MARK))


def _landmark(tag: str) -> str:
    return _template(tag, _say(MARK, tag, MARK), _value("normalize-space(.)"), _say(MARK, MARK))


def _metadata(name: str, value: str) -> str:
    return _say(MARK, NOTE) + name + _say("=") + _value(value) + _say(MARK, MARK, MARK)


class _Walkers(threading.local):
    """The compiled stylesheets of a thread: lxml would copy one that crosses threads at every use."""

    def __init__(self) -> None:
        self.walk = etree.XSLT(etree.XML(stylesheet(open_landmarks=False)))
        self.walk_all = etree.XSLT(etree.XML(stylesheet(open_landmarks=True)))


@cache
def _walkers() -> _Walkers:
    return _Walkers()


def flatten(root: _Element, *, open_landmarks: bool = False) -> str:
    """Return the stream of a parsed page, ``root`` being its ``<html>`` element (it is not changed).

    With ``open_landmarks`` the elements of :data:`LANDMARKS` are walked like any other block.
    """
    walkers = _walkers()
    walked = walkers.walk_all(root) if open_landmarks else walkers.walk(root)
    return walked.getroot().text or ""  # as a text, the stream would be written out before it is decoded
