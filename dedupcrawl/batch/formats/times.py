"""When a page was fetched or published, however a corpus writes it."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"-?\d+(\.\d*)?").fullmatch
_DIGITS = re.compile(r"\d{14}").fullmatch  # yyyymmddhhmmss, as web archives write it


def unix_time(value: object) -> float | None:
    """Return Unix seconds, or None for what is no time.

    Numbers are Unix seconds; strings are ISO 8601, or as in e-mail and HTTP (RFC 2822, RFC 7231), or 14
    digits. Without a time zone a time is UTC.

    >>> unix_time("2026-01-31T12:00:00+01:00") == unix_time("Sat, 31 Jan 2026 11:00:00 GMT") == 1769857200
    True
    >>> unix_time("yesterday") is None
    True
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _finite(value)
    if isinstance(value, datetime):
        return _seconds(value)
    if isinstance(value, date):
        return _seconds(datetime.combine(value, time()))
    return _written(value.strip()) if isinstance(value, str) else None


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _written(text: str) -> float | None:
    for read in (_archive_time, _number, datetime.fromisoformat, parsedate_to_datetime):
        try:
            return _seconds(read(text))
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _archive_time(text: str) -> datetime:
    if not _DIGITS(text):
        raise ValueError
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _number(text: str) -> float:
    if not _NUMBER(text) or _DIGITS(text):
        raise ValueError
    return float(text)


def _seconds(value: datetime | float) -> float:
    if not isinstance(value, datetime):
        return value
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
