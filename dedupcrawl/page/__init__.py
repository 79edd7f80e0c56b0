"""Page reading: HTML in, main text and metadata out.

The steps, a module each: bytes → text (``encoding``) → tree (``document``) → marked text (``flatten``) →
blocks (``blocks``, ``links``) → why each is kept or cut (``noise``, ``sideparts``, ``container``) → page
(``reader``).
"""

from dedupcrawl.page.errors import PageError
from dedupcrawl.page.model import Block, Kind, Page
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.reader import read_page, read_response, read_tree

__all__ = ["Block", "Kind", "Page", "PageError", "ReadOptions", "read_page", "read_response", "read_tree"]
