"""How the command speaks: text to standard output, remarks to standard error."""

from __future__ import annotations

import json
import re
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, NamedTuple

import orjson
from rich.console import Console, RenderHook
from rich.segment import Segment
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult

#: What steers a terminal, or turns the direction of what stands around it.
_STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def out() -> Console:
    """Return the console for results; it does not wrap what goes into a file or a pipe."""
    console = Console(soft_wrap=not sys.stdout.isatty(), highlight=False)
    if console.is_terminal:
        console.push_render_hook(_Disarming())
    return console


def complain(sentence: str) -> None:
    """Say what went wrong."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.push_render_hook(_Disarming())
    console.print(Text.assemble(("error: ", "bold red"), sentence))


class _Disarming(RenderHook):
    """Leaves out of what is shown whatever could steer the terminal; what came from a page may hold it."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Disarmed(each) for each in renderables]


class _Disarmed(NamedTuple):
    """Something to be shown, without signs that steer a terminal."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.shown, options):
            yield Segment(text if control else _STEERS.sub("", text), style, control)


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
