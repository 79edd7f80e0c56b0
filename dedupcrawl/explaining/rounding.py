"""From what a pair has to a constant that a person would type, just on the other side of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupcrawl.detectors.base import Bar

_DIGITS = (2, 3, 4, 6)  #: behind the point, the fewest first
_BEYOND = 1e12  #: nobody types more


def turning(bar: Bar) -> float | None:
    """Return a value of the constant with which a met bar is not met, or one that is not met is.

    It has as few digits as do; a whole number where the constant is one. None: there is no such number.
    """
    if not abs(bar.found) < _BEYOND:
        return None
    if isinstance(bar.value, int):
        value = _stepped(bar, 0)
        return None if value is None else int(value)
    found = (_stepped(bar, digits) for digits in _DIGITS)
    return next((value for value in found if value is not None), None)


def _stepped(bar: Bar, digits: int) -> float | None:
    """Return the nearest number with so many digits that turns the bar, at most a step beyond ``found``."""
    wanted, unit = not bar.is_met, 10**digits
    low = math.floor(bar.found * unit)
    # An at-least bar is met by constants up to what was found, an at-most bar by those from there on.
    down = bar.at_least == wanted
    steps = (low + 1, low, low - 1) if down else (low, low + 1, low + 2)
    values = (round(step / unit, digits) for step in steps)
    return next((value for value in values if replace(bar, value=value).is_met is wanted), None)
