"""How the tests are divided among the workers of pytest-xdist."""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

#: Folders whose tests one worker runs one after the other: there is one Java, and not one a worker.
TOGETHER = ("batch/spark",)
#: What takes longest, and so begins first, lest all wait for it in the end.
FIRST = (*TOGETHER, "examples", "faults", "docs", "tools/demo", "crawl", "stores", "batch")

_BLOCK = re.compile(r"\[(?P<page>[\w./-]+\.md):\d+\]$")  #: a code block of the documentation


class Shares(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives a worker all tests of a file, in the order in which they were collected.

    They may also be all of a folder, or those blocks alone that stand on one page of the documentation.
    """

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)


def share_of(nodeid: str) -> str:
    """Return what a test shares with those of the same worker."""
    file = nodeid.partition("::")[0]
    block = _BLOCK.search(nodeid)
    if block is not None:
        return f"{file} {block['page']}"
    return next((folder for folder in TOGETHER if is_in(file, folder)), file)


def rank(nodeid: str) -> int:
    """Return which tests come before others."""
    file = nodeid.partition("::")[0]
    return next((place for place, folder in enumerate(FIRST) if is_in(file, folder)), len(FIRST))


def is_in(file: str, folder: str) -> bool:
    """Whether a file of tests, named from the root of the repository, lies in a folder of them."""
    return file.startswith(f"tests/{folder}/")
