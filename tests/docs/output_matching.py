"""Compares shown output with real output: ``…`` matches anything within a line; alone on a line, any lines."""

from __future__ import annotations

import re

_HEAD = re.compile(r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d )?\[[\w.-]+\] (?=[A-Z]+: )", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text: str) -> str:
    """Remove what differs between runs: times, loggers, colours, trailing spaces."""
    lines = _HEAD.sub("", _COLOURS.sub("", text)).replace("\r", "").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def shows(expected: str, printed: str) -> bool:
    """Whether exactly this was printed."""
    pattern = "".join(map(_line, plain(expected).rstrip("\n").split("\n")))
    return re.fullmatch(pattern, plain(printed)) is not None


def shows_lines(expected: str, printed: str) -> list[str]:
    """Return the shown lines that were not printed."""
    lines = plain(printed).split("\n")
    return [
        line
        for line in plain(expected).rstrip("\n").split("\n")
        if not any(re.fullmatch(_within(line), each) for each in lines)
    ]


def shows_values(expected: str, printed: str) -> bool:
    """Whether this JSON was printed, with any white space."""
    pattern = _within(re.sub(r"\s+", "", expected))
    return re.fullmatch(pattern, re.sub(r"\s+", "", printed)) is not None


def _line(line: str) -> str:
    return r"(?:.*\n)*?" if line.strip() == "…" else _within(line) + r"\n"


def _within(line: str) -> str:
    return ".*?".join(map(re.escape, line.split("…")))
