"""The division of the tests among the workers of pytest-xdist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

#: Folders whose tests all run in one worker, so that only one Java runs.
TOGETHER = ("batch/spark",)
#: The slowest folders, which run first, so that no worker waits for them at the end.
FIRST = (*TOGETHER, "examples", "faults", "docs", "tools", "crawl", "sites", "stores", "batch")

_ROOT = Path(__file__).resolve().parents[1]
_BROWSER = (
    "files that open pages"  #: the group of these files: a start of the browser takes longer than most of their tests
)
_BLOCK = re.compile(r"\[(?P<page>[\w./-]+\.md):\d+\]$")  #: a code block of the documentation


class Shares(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Sends all tests of a file to one worker, in the order in which they were collected.

    Some folders are sent as a whole, and so are the files that open pages in the browser; the blocks of the
    documentation are sent page by page.
    """

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)


def share_of(nodeid: str) -> str:
    """Return the name of the group of a test; a group runs in one worker."""
    file = nodeid.partition("::")[0]
    block = _BLOCK.search(nodeid)
    if block is not None:
        return f"{file} {block['page']}"
    if opens_pages(file):
        return _BROWSER
    return next((folder for folder in TOGETHER if is_in(file, folder)), file)


def rank(nodeid: str) -> int:
    """Return the rank of a test; lower ranks run first."""
    file = nodeid.partition("::")[0]
    if opens_pages(file):
        return -1  # the largest group
    return next((place for place, folder in enumerate(FIRST) if is_in(file, folder)), len(FIRST))


@cache
def opens_pages(file: str) -> bool:
    """Whether a file of tests, named from the root of the repository, uses the browser."""
    path = _ROOT / file
    return path.is_file() and "\nfrom tests.browser import " in path.read_text("utf-8")


def is_in(file: str, folder: str) -> bool:
    """Whether a file of tests, named from the root of the repository, is in this folder."""
    return file.startswith(f"tests/{folder}/")
