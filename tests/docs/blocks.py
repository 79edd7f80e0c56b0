"""The code blocks of the documentation.

An HTML comment above a block, invisible to readers, defines how the block is tested:

* ``<!-- not run: REASON -->``: it cannot be run here. The number of such blocks is limited.
* ``<!-- in: CONTEXT -->``: the code around it when it is run, a name in :mod:`tests.docs.contexts`.
* ``<!-- shown by: NAME -->``: it shows output; the function of this name in
  :mod:`tests.docs.shown_output` produces it again.
* ``<!-- read by: READER -->``: it is an input file; a function in :mod:`tests.docs.shown_output` reads it.
* ``<!-- names: commands -->``: it lists commands with placeholders; they and their options must exist.
* ``<!-- left running -->``: the command runs until all blocks of the page have run, as in another terminal.

A block whose first line is a comment that contains only a path is a file with this path.
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
_DIRECTIVE = re.compile(r"<!--\s*(?P<key>not run|in|shown by|read by|names|left running)(?::\s*(?P<value>.*?))?\s*-->")
_FILE = re.compile(r"^(?:#|//) (?P<path>[\w./-]+\.(?:py|cfg|toml|jsonl?|html|txt))$")

#: Pages whose commands are run by a separate test, several at a time.
ELSEWHERE = {"scrapy-redis.md": "tests/examples/test_documented.py"}


@dataclass(frozen=True)
class Block:
    """One code block."""

    page: Path
    line: int  #: of its fence, from 1
    kind: str  #: "python", "console", …; "" if there is none
    text: str
    directives: tuple[tuple[str, str], ...]  #: keys and values of the comments above it

    @property
    def id(self) -> str:
        """Page and line."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The path of the file that the block is; "" if it is not a file."""
        found = _FILE.match(self.text.partition("\n")[0])
        return found["path"] if found else ""

    def directive(self, key: str) -> str | None:
        """Return the value of the comment with this key; None if there is none."""
        return dict(self.directives).get(key)


def pages() -> list[Path]:
    """Return all pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page in their order."""
    return list(_read(page))


def _read(page: Path) -> Iterator[Block]:
    lines = page.read_text("utf-8").split("\n")
    directives: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            comments = _DIRECTIVE.findall(lines[at])
            directives = [*directives, *comments] if comments or not lines[at].strip() else []
            at += 1
            continue
        end = lines.index(fence["indent"] + fence["fence"], at + 1)
        text = textwrap.dedent("\n".join(lines[at + 1 : end])) + "\n"
        yield Block(page, at + 1, fence["kind"], text, tuple(directives))
        directives, at = [], end + 1


def is_run(block: Block) -> bool:
    """Whether the block is tested with the other blocks of its page."""
    typed_elsewhere = block.page.name in ELSEWHERE and block.kind == "shell"
    return block.directive("not run") is None and not typed_elsewhere
