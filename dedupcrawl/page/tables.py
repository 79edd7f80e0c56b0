"""How the constant word tables of page reading are written down."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a table that is written as running text.

    >>> sorted(words("nav aside footer"))
    ['aside', 'footer', 'nav']
    """
    return frozenset(text.split())
