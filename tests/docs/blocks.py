"""The code blocks of the documentation, found by reading it.

A block may have a comment of HTML above it, which readers do not see, and which says how it is tested:

* ``<!-- not run: REASON -->``: it cannot be run here. Such blocks are counted.
* ``<!-- in: CONTEXT -->``: what stands around it when it is run, a name of :mod:`tests.docs.contexts`.
* ``<!-- shown by: SCENE -->``: it shows what is printed; a name of :mod:`tests.docs.scenes` prints it anew.
* ``<!-- read by: READER -->``: it is a file that something reads; a name of :mod:`tests.docs.scenes` does.
* ``<!-- names: commands -->``: it lists commands with placeholders; they and their options must exist.
* ``<!-- left running -->``: the command goes on until the page is done with, like one in another terminal.

A block whose first line is a comment with nothing but a path in it is the file of that name.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+)(?P<kind>[\w-]*).*$")
_SAID = re.compile(r"<!--\s*(?P<key>not run|in|shown by|read by|names|left running)(?::\s*(?P<value>.*?))?\s*-->")
_FILE = re.compile(r"^(?:#|//) (?P<path>[\w./-]+\.(?:py|cfg|toml|jsonl?|html|txt))$")

#: Pages whose commands a test of their own types, several at a time.
ELSEWHERE = {"scrapy-redis.md": "tests/examples/test_documented.py"}


@dataclass(frozen=True)
class Block:
    """One code block."""

    page: Path
    line: int  #: of its fence, from 1
    kind: str  #: "python", "console", …; "" if it does not say
    text: str
    said: tuple[tuple[str, str], ...]  #: what the comments above it say

    @property
    def id(self) -> str:
        """Where it stands."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The path of the file that it is, "" if it is none."""
        found = _FILE.match(self.text.partition("\n")[0])
        return found["path"] if found else ""

    def says(self, key: str) -> str | None:
        """What the comment of a kind says, None if there is none."""
        return dict(self.said).get(key)


def pages() -> list[Path]:
    """Return all pages of the documentation that have been written."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page in their order."""
    return list(_read(page))


def _read(page: Path) -> Iterator[Block]:
    lines = page.read_text("utf-8").split("\n")
    said: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            comments = _SAID.findall(lines[at])
            said = [*said, *comments] if comments or not lines[at].strip() else []
            at += 1
            continue
        end = lines.index(fence["indent"] + fence["fence"], at + 1)
        text = textwrap.dedent("\n".join(lines[at + 1 : end])) + "\n"
        yield Block(page, at + 1, fence["kind"], text, tuple(said))
        said, at = [], end + 1


def is_followed(block: Block) -> bool:
    """Whether it is tested with the other blocks of its page."""
    typed_elsewhere = block.page.name in ELSEWHERE and block.kind == "shell"
    return block.says("not run") is None and not typed_elsewhere
