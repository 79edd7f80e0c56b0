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

MAX_NAME_CHARS = 200  #: characters of a name
MAX_STATS_BYTES = 8192  #: of what one worker says
MAX_COUNTS = 64  #: relations, reasons
_VERSION = 1
_COUNT_NAME = re.compile(r"[a-z][a-z-]{0,39}")


class InvalidStatsError(ValueError):
    """This is not what a worker of ours says."""


@dataclass(frozen=True, slots=True)
class WorkerStats:
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
    def unpack(cls, said: bytes) -> WorkerStats:
        """Read what a worker told.

        Raises :class:`UnreadableError` for anything else.
        """
        if len(said) > MAX_STATS_BYTES:
            raise InvalidStatsError
        try:
            found = orjson.loads(said)
        except orjson.JSONDecodeError:
            raise InvalidStatsError from None
        if (
            not isinstance(found, dict)
            or found.pop("v", None) != _VERSION
            or found.keys() != _FIELD_PARSERS.keys()
        ):
            raise InvalidStatsError
        return cls(**{name: _FIELD_PARSERS[name](value) for name, value in found.items()})


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as the store knows it."""

    token: str  #: in hexadecimal; another one for each crawl
    state: str  #: "here", "gone" (its lease has ended) or "done" (it has left)
    age: float  #: seconds since it said anything
    figures: WorkerStats | None  #: None: what it said is not readable


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """The memory of a server."""

    used: int  #: bytes
    limit: int  #: bytes; 0: none


@dataclass(frozen=True, slots=True)
class WorkersInfo:
    """All workers of a namespace, by host, process and spider."""

    workers: tuple[Worker, ...]
    memory: ServerMemory | None  #: None: the user may not ask
    problem: str = ""  #: why the workers cannot be read


def printable(text: str, most: int = MAX_NAME_CHARS) -> str:
    """Return a text without what could steer a terminal, and not too long."""
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:most])
    return shown or "?"


def _parse_name(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidStatsError
    return printable(value)


def _parse_count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise InvalidStatsError
    return value


def _parse_measure(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise InvalidStatsError
    return float(value)  # type: ignore[arg-type]


def _parse_counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or len(value) > MAX_COUNTS or not all(map(_COUNT_NAME.fullmatch, value)):
        raise InvalidStatsError
    return {name: _parse_count(number) for name, number in value.items()}


_PARSERS: dict[str, Any] = {
    "str": _parse_name,
    "int": _parse_count,
    "float": _parse_measure,
    "Mapping[str, int]": _parse_counts,
}
_FIELD_PARSERS: Mapping[str, Any] = {field.name: _PARSERS[str(field.type)] for field in fields(WorkerStats)}
