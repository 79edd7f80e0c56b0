"""How the command speaks: text to standard output, remarks to standard error."""

from __future__ import annotations

import sys

import orjson
from rich.console import Console
from rich.text import Text


def out() -> Console:
    """Return the console for results; it does not wrap what goes into a file or a pipe."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def complain(sentence: str) -> None:
    """Say what went wrong."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        Text.assemble(("error: ", "bold red"), sentence)
    )


def print_json(value: object) -> None:
    """Write one JSON value, indented."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")
