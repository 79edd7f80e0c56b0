"""What a page is to a reader: an article, an index of other pages, or nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dedupcrawl.page.model import Kind
from dedupcrawl.page.rules import LANDMARK, MAIN_TEXT

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Outline

ENOUGH = 600  #: bytes of main text that make an article, whatever stands around it
LONG = 200  #: bytes of a block that states something even if it ends without a full stop
INDEX_SHARE = 0.5  #: an index is a page with a larger share of guide links than this, and no statement

_ends_sentence = re.compile(r"""[.!?。！？…．][\s"'”’»)）」』\]]*\Z""").search
#: Who owns, hosts and licensed a site stands on every page of it.
_legal = re.compile(r"©|\(c\)|copyright|rights reserved|版权|版權|ICP|备案|備案", re.IGNORECASE).search


def kind_of(page: Outline, reasons: list[str], kept: int) -> Kind:
    """Tell an article from an index: nothing is left but guide links and a line or two of the owner.

    ``kept`` is the length of the main text in bytes.
    """
    if kept >= ENOUGH:
        return Kind.ARTICLE
    whole = guide = 0
    states = False
    for (text, length, link_length, *_), reason in zip(page.drafts, reasons, strict=True):
        whole += length
        guide += length if reason is LANDMARK else link_length
        states = states or (reason is MAIN_TEXT and is_statement(text, length))
    if guide > INDEX_SHARE * whole and not states:
        return Kind.INDEX
    return Kind.ARTICLE if kept else Kind.EMPTY


def is_statement(text: str, length: int) -> bool:
    """Whether a block says something: it is long or ends like a sentence, and is no copyright line.

    >>> [is_statement(text, len(text)) for text in ("Closed today.", "Sports", "© 2024 The Gazette.")]
    [True, False, False]
    """
    return (length >= LONG or bool(_ends_sentence(text))) and not _legal(text)
