"""What the workers of a crawl say of themselves, for whoever watches; nothing is decided by it.

It comes from a server that others may write to: what is read is checked, and may be shown on any terminal.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 200  #: characters of a name
MOST_BYTES = 8192  #: of what one worker says
MOST_COUNTS = 64  #: relations, reasons
_VERSION = 1
_COUNTED = re.compile(r"[a-z][a-z-]{0,39}")


class UnreadableError(ValueError):
    """This is not what a worker of ours says."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One worker's crawl so far, and how it fared since it last said so."""

    host: str
    process: int
    spider: str
    uptime: float  #: seconds
    checked: int  #: as the stat ``dedup/checked``, and so on
    kept: int
    dropped: int
    duplicates: Mapping[str, int]  #: by relation
    related: Mapping[str, int]  #: by relation: pages that are no duplicates
    unchecked: Mapping[str, int]  #: by reason
    claims: int  #: that are not committed yet
    interval: float  #: seconds since it last said so
    recent: int  #: pages checked in these
    calls: int  #: of the store in these
    mean: float  #: milliseconds that the crawl waited for one
    worst: float  #: milliseconds

    @property
    def rate(self) -> float | None:
        """Pages checked a second of late; None: it has only just begun."""
        return self.recent / self.interval if self.interval >= 0.5 else None

    def packed(self) -> bytes:
        """Return it as it is told."""
        said = {**asdict(self), "host": printable(self.host), "spider": printable(self.spider), "v": _VERSION}
        return orjson.dumps(said)

    @classmethod
    def unpack(cls, said: bytes) -> Figures:
        """Read what a worker told.

        Raises :class:`UnreadableError` for anything else.
        """
        if len(said) > MOST_BYTES:
            raise UnreadableError
        try:
            found = orjson.loads(said)
        except orjson.JSONDecodeError:
            raise UnreadableError from None
        if not isinstance(found, dict) or found.pop("v", None) != _VERSION or found.keys() != _CHECKS.keys():
            raise UnreadableError
        return cls(**{name: _CHECKS[name](value) for name, value in found.items()})


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as the store knows it."""

    token: str  #: in hexadecimal; another one for each crawl
    state: str  #: "here", "gone" (its lease has ended) or "done" (it has left)
    age: float  #: seconds since it said anything
    figures: Figures | None  #: None: what it said is not readable


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a server."""

    used: int  #: bytes
    limit: int  #: bytes; 0: none


@dataclass(frozen=True, slots=True)
class Fleet:
    """All workers of a namespace, by host, process and spider."""

    workers: tuple[Worker, ...]
    memory: Memory | None  #: None: the user may not ask
    problem: str = ""  #: why the workers cannot be read


def printable(text: str, most: int = LONGEST) -> str:
    """Return a text without what could steer a terminal, and not too long."""
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:most])
    return shown or "?"


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise UnreadableError
    return printable(value)


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise UnreadableError
    return value


def _measure(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise UnreadableError
    return float(value)  # type: ignore[arg-type]


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or len(value) > MOST_COUNTS or not all(map(_COUNTED.fullmatch, value)):
        raise UnreadableError
    return {name: _count(number) for name, number in value.items()}


_READERS: dict[str, Any] = {"str": _name, "int": _count, "float": _measure, "Mapping[str, int]": _counts}
_CHECKS: Mapping[str, Any] = {field.name: _READERS[str(field.type)] for field in fields(Figures)}
