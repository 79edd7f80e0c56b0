"""Flatten a parsed page into one string of text with marks.

In Python every visited node costs a proxy object, and creating these takes half as long as parsing the page.
So compiled code (``_walk.pyx``) walks the tree, and writes only what a reader needs: text, block boundaries, links and
metadata. Where it was not built, a stylesheet does the same (libxslt), in seven times the time. The stylesheet is the
reference. No parsed tree is too deep for either: the parser stops at 2,048 levels, libxslt at 3,000.

The stream is ``text (MARK head MARK text)*``. A head is

* ``tag class id`` at the start of a block element,
* empty at its end,
* ``NOTE name=value`` for metadata, and ``NOTE`` alone at an ``<hr>``: an element that ends at once. ``discussion=`` is
  written where the page declares that it is a discussion, in JSON-LD or in microdata.

The texts are therefore every second part of ``stream.split(MARK)``. Inside a text, ``BREAK`` is a ``<br>``
and a link is ``LINK target ANCHOR text UNLINK``. The marks are Unicode noncharacters, which are not meant for
interchange. A page that contains them anyway is split at wrong places; no other page is affected.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

from dedupcrawl.page import compiled

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page._walk import Walker


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(word_set("nav aside footer"))
    ['aside', 'footer', 'nav']
    """
    return frozenset(text.split())


MARK = "\ufdd0"
LINK = "\ufdd2"
ANCHOR = "\ufdd3"
UNLINK = "\ufdd4"
BREAK = "\ufdd6"
NOTE = "\ufdd7"

#: Elements that begin and end a block. ``form`` is one and never skipped: ASP.NET puts whole pages into it.
#: Elements whose children are blocks anyway (``tr``, ``tbody``, ``dl``, ``body``…) need no boundary.
BLOCKS = word_set("""
    address article blockquote caption center dd details div dt fieldset figcaption figure form frameset
    h1 h2 h3 h4 h5 h6 header hgroup legend li main ol p pre section summary table td th ul
""")
#: Elements that HTML itself sets apart from the main text. Each is one block, unless that leaves no text.
LANDMARKS = frozenset({"aside", "dialog", "footer", "menu", "nav"})
#: Elements whose content is never read as text.
IGNORED = word_set("""
    applet area audio button canvas embed iframe input map math noembed noframes noscript object
    optgroup option select style svg template textarea video
""")
#: Those that hold the text of a page after all where a browser shows it there: an accordion of buttons, the
#: fallback of a page that scripts fill.
EMBEDDED = frozenset({"button", "noscript", "object"})
#: Block elements whose class and id show what they are for.
NAMED_BLOCKS = LANDMARKS | {"div", "figure", "form", "ol", "p", "section", "table", "ul"}
#: Elements in ``<head>`` that belong to the text. libxml2 does not know the elements of HTML 5, nor custom
#: ones (``my-app``): in a page without ``<body>``, which HTML allows, they stay in the head with their text.
STRAY_ELEMENTS = "|".join(sorted(BLOCKS | LANDMARKS)) + "|*[contains(name(), '-')]"

RECURSE = "<xsl:apply-templates/>"
_NAMES = '<xsl:text> </xsl:text><xsl:value-of select="@class"/><xsl:text> </xsl:text><xsl:value-of select="@id"/>'
_HEAD = f'<xsl:apply-templates select="title|meta|link|script|{STRAY_ELEMENTS}"/>'
#: Types of schema.org for the page of a discussion.
DISCUSSION_TYPES = ("DiscussionForumPosting", "QAPage")
_PUBLISHED = "substring(substring-after(., '&quot;datePublished&quot;'), 1, 64)"


def flatten(root: _Element, *, open_landmarks: bool = False, open_embedded: bool = False) -> str:
    """Return the stream of a parsed page.

    Args:
        root: the ``<html>`` element.
        open_landmarks: whether landmarks are read like any other block.
        open_embedded: whether the text in ``EMBEDDED`` is read.
    """
    stream = flatten_fast(root, open_landmarks=open_landmarks, open_embedded=open_embedded)
    return stream.decode() if isinstance(stream, bytes) else stream


def flatten_fast(root: _Element, *, open_landmarks: bool = False, open_embedded: bool = False) -> str | bytes:
    """Return the stream of a parsed page, in UTF-8 if the compiled walk has written it.

    Args:
        root: as in :func:`flatten`.
        open_landmarks: as in :func:`flatten`.
        open_embedded: as in :func:`flatten`.
    """
    if compiled.walk is not None:
        stream: bytes | None = _walker(open_landmarks, open_embedded).stream(root)
        if stream is not None:
            return stream
    return flatten_by_stylesheet(root, open_landmarks=open_landmarks, open_embedded=open_embedded)


def flatten_by_stylesheet(root: _Element, *, open_landmarks: bool = False, open_embedded: bool = False) -> str:
    """Return the stream of a parsed page, written by libxslt.

    Args:
        root: as in :func:`flatten`.
        open_landmarks: as in :func:`flatten`.
        open_embedded: as in :func:`flatten`.
    """
    return _tree_walk(open_landmarks, open_embedded)(root)


class TreeWalk(threading.local):
    """A compiled stylesheet, one a thread: lxml would copy one that another thread made at every use."""

    def __init__(self, source: str) -> None:
        self._walk = etree.XSLT(etree.XML(source))

    def __call__(self, root: _Element) -> str:
        """Return the text that the stylesheet writes; ``root`` is not changed."""
        # the text of an element: a result tree of text would be serialised and decoded
        return self._walk(root).getroot().text or ""


def emit(*signs: str) -> str:
    """Return the source of an instruction that writes ``signs``."""
    return f"<xsl:text>{''.join(signs)}</xsl:text>"


def template(match: str, *body: str) -> str:
    """Return the source of a template for the nodes that ``match`` selects."""
    return f'<xsl:template match="{match}">{"".join(body)}</xsl:template>'


def stylesheet(*templates: str) -> str:
    """Return the source of a stylesheet, XSLT 1.0. Adjacent texts are joined: each costs libxslt a call."""
    joined = "".join(templates).replace("</xsl:text><xsl:text>", "")
    space = "http://www.w3.org/1999/XSL/Transform"
    return f'<xsl:stylesheet version="1.0" xmlns:xsl="{space}">{joined}</xsl:stylesheet>'


@cache
def _walker(open_landmarks: bool, open_embedded: bool) -> Walker:
    assert compiled.walk is not None
    walker: Walker = compiled.walk.Walker(
        blocks=BLOCKS - NAMED_BLOCKS,
        named_blocks=NAMED_BLOCKS if open_landmarks else NAMED_BLOCKS - LANDMARKS,
        landmarks=frozenset() if open_landmarks else LANDMARKS,
        ignored=_ignored(open_embedded=open_embedded),
    )
    return walker


def _ignored(*, open_embedded: bool) -> frozenset[str]:
    return IGNORED - EMBEDDED if open_embedded else IGNORED


@cache
def _tree_walk(open_landmarks: bool, open_embedded: bool) -> TreeWalk:
    return TreeWalk(_source(open_landmarks=open_landmarks, open_embedded=open_embedded))


def _source(*, open_landmarks: bool, open_embedded: bool) -> str:
    landmark = _block if open_landmarks else _landmark
    return stylesheet(
        template("|".join(sorted(_ignored(open_embedded=open_embedded))) + "|comment()|processing-instruction()"),
        *map(_block, sorted(BLOCKS)),
        *map(landmark, sorted(LANDMARKS)),
        template("br", emit(BREAK)),
        template("hr", emit(MARK, NOTE, MARK, MARK, MARK)),
        template("a", emit(LINK), _value("@href"), emit(ANCHOR), RECURSE, emit(UNLINK)),
        template("/", "<stream>", _metadata(emit("lang"), "/*/@lang"), RECURSE, "</stream>"),
        template("head", _HEAD),
        template("title", _metadata(emit("title"), ".")),
        template("meta[@content]", _metadata(_value("@name|@property|@itemprop|@http-equiv"), "@content")),
        template("link[@rel='canonical']", _metadata(emit("canonical"), "@href")),
        template("time[@datetime]", _metadata(emit("time"), "@datetime"), RECURSE),
        template("script[@type='application/ld+json']", _metadata(emit("ld"), _PUBLISHED), _discussion(".")),
        template("script"),
    )


def _value(path: str) -> str:
    return f'<xsl:value-of select="{path}"/>'


def _block(tag: str) -> str:
    names = _NAMES if tag in NAMED_BLOCKS else ""
    return template(tag, emit(MARK, tag), names, emit(MARK), _discussion("@itemtype"), RECURSE, emit(MARK, MARK))


def _discussion(path: str) -> str:
    """Return the source of an instruction that notes a discussion, if the text has the name of such a type."""
    test = " or ".join(f"contains({path}, '{name}')" for name in DISCUSSION_TYPES)
    return f'<xsl:if test="{test}">{_metadata(emit("discussion"), "@none")}</xsl:if>'


def _landmark(tag: str) -> str:
    return template(tag, emit(MARK, tag, MARK), _value("normalize-space(.)"), emit(MARK, MARK))


def _metadata(name: str, value: str) -> str:
    return emit(MARK, NOTE) + name + emit("=") + _value(value) + emit(MARK, MARK, MARK)
