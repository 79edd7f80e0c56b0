"""Walks over a tree in C: stylesheets put together from templates, and compiled once for each thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element

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


class Walk(threading.local):
    """A compiled stylesheet: lxml would copy one that crosses threads at every use."""

    def __init__(self, source: str) -> None:
        self._walk = etree.XSLT(etree.XML(source))

    def __call__(self, root: _Element) -> str:
        """Return what the walk writes into the element that it leaves; ``root`` is not changed."""
        # as a text, the stream would be written out before it is decoded
        return self._walk(root).getroot().text or ""
