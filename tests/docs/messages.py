"""The error messages of the package, extracted from its source; ``…`` stands for variable parts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "dedupcrawl"
#: Errors, and which of their arguments is the message.
ERRORS = {
    "DedupError": 0,
    "StoreError": 0,
    "StoreUnreachableError": 0,
    "StoreFullError": 0,
    "StoreMismatchError": 0,
    "StoreInUseError": 0,
    "LexiconError": 0,
}


def messages() -> dict[str, str]:
    """Return every message, and the place in the source."""
    return {
        message: f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for message, line in _in(path)
    }


def _in(path: Path) -> Iterator[tuple[str, int]]:
    tree = ast.parse(path.read_text("utf-8"))
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS and node.args:
            message = node.args[ERRORS[node.func.id]]  # type: ignore[attr-defined]
            if isinstance(message, ast.Name) and message.id in named:
                message = named[message.id]
            yield skeleton(message), node.lineno


def skeleton(node: ast.AST) -> str:
    """Return a format string with ``…`` in place of its variable parts."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return re.sub(r"…+", "…", "".join(map(skeleton, node.values)))
    return "…"
