"""Numbers, sizes, times and URLs as text for the user.

``tools/report/web/data.js`` formats the same values in the browser by the same rules.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_SPANS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def count(number: float) -> str:
    """Return a number without decimals, with thousands separators.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def counted(number: int, what: str) -> str:
    """Return a number and its noun, in the plural unless the number is 1.

    >>> counted(1, "pair"), counted(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def size(number: float) -> str:
    """Return a number of bytes in a decimal unit.

    >>> size(999), size(1500), size(2.34e9)
    ('999 bytes', '1.5 kB', '2.3 GB')
    """
    power = 0
    while number >= 999.5 and power < len(_UNITS) - 1:
        number, power = number / 1000, power + 1
    digits = 1 if power and number < 99.95 else 0
    return f"{number:,.{digits}f} {_UNITS[power]}"


def share(part: float, whole: float) -> str:
    """Return ``part`` of ``whole`` as a percentage; only an exact 0 or 1 becomes "0 %" or "100 %".

    >>> share(1, 3), share(1, 100000), share(99999, 100000), share(0, 0)
    ('33 %', '< 1 %', '> 99 %', '0 %')
    """
    if not whole or not part:
        return "0 %"
    percent = 100 * part / whole
    if percent < 0.5:
        return "< 1 %"
    return "> 99 %" if 99.5 <= percent < 100 else f"{percent:.0f} %"


def similarity_text(value: float) -> str:
    """Return a similarity from 0 to 1 with up to three decimals, rounded down, so that "1" means equal.

    >>> similarity_text(0.9999), similarity_text(1), similarity_text(0.8)
    ('0.999', '1', '0.8')
    """
    return f"{int(value * 1000 + 1e-9) / 1000:g}"


def instant(time: float) -> str:
    """Return the UTC date and time of a Unix time.

    >>> instant(0), instant(float("inf"))
    ('1970-01-01 00:00:00', '–')
    """
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return "–"


def duration(seconds: float) -> str:
    """Return a number of seconds in its two largest units.

    >>> duration(0.25), duration(61), duration(7260), duration(200000), duration(7200)
    ('0.2 s', '1 min 1 s', '2 h 1 min', '2 d 7 h', '2 h')
    """
    if not 0 <= seconds < math.inf:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    above, large, below, small = next(span for span in _SPANS if seconds >= span[0])
    whole, rest = divmod(seconds, above)
    return f"{whole:.0f} {large}" + (f" {rest // below:.0f} {small}" if rest >= below else "")
