"""The statistics that the workers of a crawl publish for ``store watch``. No decision depends on them.

They come from a server that others may be able to write to. So they are validated, and are safe to print on
any terminal.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAME_CHARS = 200
MAX_STATS_BYTES = 8192  #: of one worker
MAX_COUNTS = 64  #: entries of a mapping of counts
_VERSION = 1
_COUNT_NAME = re.compile(r"[a-z][a-z-]{0,39}")


class InvalidStatsError(ValueError):
    """A value that no worker of dedupcrawl publishes."""


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """The statistics of one worker: its whole crawl, and the interval since it last published."""

    host: str
    process: int  #: process id
    spider: str
    uptime: float  #: seconds
    checked: int  #: as the stat ``dedup/checked``; likewise the next ones
    kept: int
    dropped: int
    duplicates: Mapping[str, int]  #: by relation
    related: Mapping[str, int]  #: by relation: pages that are no duplicates
    unchecked: Mapping[str, int]  #: by reason
    claims: int  #: not committed yet
    interval: float  #: seconds since it last published
    recent: int  #: pages checked in the interval
    calls: int  #: calls of the store in the interval
    mean: float  #: mean milliseconds that the crawl waited for a call
    worst: float  #: most milliseconds that it waited for a call

    @property
    def rate(self) -> float | None:
        """Pages checked per second in the interval; None if it is too short."""
        return self.recent / self.interval if self.interval >= 0.5 else None

    def to_json(self) -> bytes:
        """Return the statistics as they are published."""
        printed = {"host": printable(self.host), "spider": printable(self.spider)}
        return orjson.dumps({**asdict(self), **printed, "v": _VERSION})

    @classmethod
    def from_json(cls, value: bytes) -> WorkerStats:
        """Read published statistics.

        Raises:
            InvalidStatsError: the value was not written by :meth:`to_json`.
        """
        if len(value) > MAX_STATS_BYTES:
            raise InvalidStatsError
        try:
            found = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise InvalidStatsError from None
        if not isinstance(found, dict) or found.pop("v", None) != _VERSION:
            raise InvalidStatsError
        if found.keys() != _FIELD_PARSERS.keys():
            raise InvalidStatsError
        return cls(**{name: _FIELD_PARSERS[name](value) for name, value in found.items()})


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker as the store knows it."""

    token: str  #: hexadecimal; each crawl has another one
    state: str  #: "here", "gone" (its lease has ended) or "done" (it has closed the store)
    age: float  #: seconds since it last published
    stats: WorkerStats | None  #: None: what it published is invalid


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """The memory of a server."""

    used: int  #: bytes
    limit: int  #: bytes; 0: none


@dataclass(frozen=True, slots=True)
class WorkersInfo:
    """All workers of a namespace."""

    workers: tuple[WorkerRecord, ...]  #: by host, process and spider
    memory: MemoryInfo | None  #: None: the user may not read it
    problem: str = ""  #: why some or all workers cannot be read


def printable(text: str, most: int = MAX_NAME_CHARS) -> str:
    """Return a text without control characters, cut to ``most`` characters; "?" for an empty one."""
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
