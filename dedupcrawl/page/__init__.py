"""Page reading: HTML in, main text and metadata out.

What is common: bytes → text (``encoding``) → tree (``document``) → a reader by its name (``reader``,
``readers``). The default one, a module a step: tree → marked text (``flatten``) → blocks (``blocks``,
``links``) → why each is kept or cut (``noise``, ``sideparts``, ``container``) → page (``maintext``). Others
find another main text (``topic``, with ``segments`` and ``topicwords``; ``everything``; a user's ``own``) and
take the rest of the page from it (``framing``).
"""

from dedupcrawl.page.model import Block, Kind, Page, PageError, ReaderError
from dedupcrawl.page.options import ReadOptions, TopicOptions
from dedupcrawl.page.reader import read_page, read_response, read_tree

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
