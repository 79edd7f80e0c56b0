"""Page reading: from HTML to main text and metadata.

Common steps: bytes → text → tree (``document``) → the reader that ``ReadOptions.reader`` names
(``readers``). The default reader ``"blocks"`` (``block_reader``): tree → text with marks → blocks and
containers (``blocks``) → reasons to keep or remove each block (``rules``, ``scoring``) → page. The
readers ``"topic"`` (``topic``), ``"text"`` and a user's function find another main text; they take the
metadata and the kind of the page from the default reader.
"""

from dedupcrawl.page.model import Block, Kind, Page, PageError, ReaderError
from dedupcrawl.page.options import ReadOptions, TopicOptions
from dedupcrawl.page.readers import read_page, read_response, read_tree

__all__ = [
    "Block",
    "Kind",
    "Page",
    "PageError",
    "ReadOptions",
    "ReaderError",
    "TopicOptions",
    "read_page",
    "read_response",
    "read_tree",
]
