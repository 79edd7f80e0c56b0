"""How the command speaks: text to standard output, remarks to standard error."""

from __future__ import annotations

import json
import sys
from io import TextIOWrapper

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
    """Write one JSON value, indented, in UTF-8 whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(_indented(value))
    sys.stdout.buffer.flush()


def _indented(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair
        return json.dumps(value, indent=2, default=dict).encode() + b"\n"


def show_any_text() -> None:
    """Let characters that the terminal's encoding lacks be written as escapes, not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
