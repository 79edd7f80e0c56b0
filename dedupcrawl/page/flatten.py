"""The one walk over the tree: done by libxslt, it flattens a page into a string of marked text.

In Python every node visited costs a proxy object, which alone takes as long as parsing the page did. A stylesheet
walks the tree in C instead and leaves only what a reader needs: text, block boundaries, links and metadata.
The depth of a tree is bounded by the parser (2,048 levels), which is less than libxslt allows (3,000).

The stream is ``part*`` with ``part = BEGIN head TEXT text (END text)*``. A head is

* ``tag class id`` where a block element begins,
* ``/`` where a line breaks (``br``, ``hr``),
* ``@name=value`` for metadata.

``END`` ends the block element begun last. Inside a text a link is ``LINK target ANCHOR text UNLINK``. The marks are Unicode noncharacters, "never to be
interchanged"; a page that holds them all the same is split at odd places, which harms nobody but itself.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element

BEGIN = "\ufdd0"
TEXT = "\ufdd1"
END = "\ufdd5"
LINK = "\ufdd2"
ANCHOR = "\ufdd3"
UNLINK = "\ufdd4"

BREAKS = ("br", "hr")
#: Elements that begin and end a block. ``form`` is one and never skipped: ASP.NET wraps whole pages in it.
#: Those whose children are blocks anyway (``tr``, ``tbody``, ``dl``, ``body``…) need no boundary of their own.
BLOCKS = tuple(
    "address article blockquote caption center dd details div dt fieldset figcaption figure form frameset h1 h2 h3 "
    "h4 h5 h6 header hgroup legend li main noframes ol p pre section summary table td th ul".split()
)
#: Elements that HTML itself sets apart from the main text; each is one block, unless that leaves nothing.
LANDMARKS = ("aside", "dialog", "footer", "menu", "nav")
#: Elements whose inside is never read as text.
IGNORED = tuple(
    "applet area audio button canvas embed head iframe input map math noscript object optgroup option "
    "select style svg template textarea video".split()
)
#: Block elements whose class and id say what they are for.
NAMED = frozenset(
    "article aside dd div dl figcaption figure footer form header li main menu nav ol p section table td ul".split()
)


def _say(*signs: str) -> str:
    return f"<xsl:text>{''.join(signs)}</xsl:text>"


def _value(path: str) -> str:
    return f'<xsl:value-of select="{path}"/>'


def _template(match: str, *body: str) -> str:
    return f'<xsl:template match="{match}">{"".join(body)}</xsl:template>'


def _block(tag: str) -> str:
    names = _say(" ") + _value("@class") + _say(" ") + _value("@id") if tag in NAMED else ""
    begin = _say(BEGIN, tag) + names + _say(TEXT)
    return _template(tag, begin, _INSIDE, _say(END))


def _landmark(tag: str) -> str:
    return _template(tag, _say(BEGIN, tag, TEXT), _value("normalize-space(.)"), _say(END))


def _metadata(name: str, value: str) -> str:
    return _say(BEGIN, "@") + name + _say("=") + _value(value) + _say(TEXT)


_INSIDE = "<xsl:apply-templates/>"
_PUBLISHED = "substring(substring-after(., '&quot;datePublished&quot;'), 1, 64)"


def stylesheet(*, open_landmarks: bool) -> str:
    """Return the source of the walk, XSLT 1.0."""
    landmark = _block if open_landmarks else _landmark
    templates = (
        _template("|".join(IGNORED) + "|script|comment()|processing-instruction()"),
        *map(_block, BLOCKS),
        *map(landmark, LANDMARKS),
        *(_template(tag, _say(BEGIN, "/", TEXT)) for tag in BREAKS),
        _template("a", _say(LINK), _value("@href"), _say(ANCHOR), _INSIDE, _say(UNLINK)),
        _template("/", _metadata(_say("lang"), "/*/@lang"), _INSIDE),
        _template("head", '<xsl:apply-templates select="title|meta|link|script"/>'),
        _template("title", _metadata(_say("title"), ".")),
        _template("meta[@content]", _metadata(_value("@name|@property|@itemprop|@http-equiv"), "@content")),
        _template("link[@rel='canonical']", _metadata(_say("canonical"), "@href")),
        _template("script[@type='application/ld+json']", _metadata(_say("ld"), _PUBLISHED)),
    )
    return f'<xsl:stylesheet {_NAMESPACE}><xsl:output method="text"/>{"".join(templates)}</xsl:stylesheet>'


_NAMESPACE = 'version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"'


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
    return str(walkers.walk_all(root) if open_landmarks else walkers.walk(root))
