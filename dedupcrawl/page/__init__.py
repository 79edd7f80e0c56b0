"""Page reading: HTML in, main text and metadata out.

The steps are bytes → text (:mod:`~dedupcrawl.page.encoding`) → tree (:mod:`~dedupcrawl.page.document`) → marked
text (:mod:`~dedupcrawl.page.flatten`) → blocks (:mod:`~dedupcrawl.page.blocks`) → reasons
(:mod:`~dedupcrawl.page.noise`, :mod:`~dedupcrawl.page.container`) → :class:`Page`.
"""

from dedupcrawl.page.errors import PageError
from dedupcrawl.page.model import Block, Kind, Page
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.reader import read_page, read_response, read_tree

__all__ = ["Block", "Kind", "Page", "PageError", "ReadOptions", "read_page", "read_response", "read_tree"]
