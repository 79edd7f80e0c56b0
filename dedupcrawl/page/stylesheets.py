"""XSLT 1.0: the sources of stylesheets that write the text of a tree, and their use by libxslt."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element

RECURSE = "<xsl:apply-templates/>"  #: the instruction to go on with the content of a node


class StylesheetCache(threading.local):
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
