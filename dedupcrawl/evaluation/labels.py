"""Where the labels of a picture go, so that they can be read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Directions in which a label may stand from its point, the best first, and how far away, in points.
_DIRECTIONS = ((1, 0.6), (1, -0.6), (-1, -0.6), (-1, 0.6), (0, 1), (0, -1), (1, 0), (-1, 0))
_DISTANCES = (11, 18, 27, 38, 52, 70)
_OUTSIDE = 2.0  #: how much worse it is to stand outside than on something else


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, upwards and to the right."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Box:
        """Return the box of this size whose centre is (x, y)."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def area(self) -> float:
        """Its area in pixels."""
        return (self.right - self.left) * (self.top - self.bottom)

    def overlap(self, other: Box) -> float:
        """Return the area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


def between(points: Sequence[tuple[float, float]], step: float) -> Iterator[tuple[float, float]]:
    """Yield places on the lines from point to point, about ``step`` apart."""
    for (x, y), (to_x, to_y) in pairwise(points):
        count = int(hypot(to_x - x, to_y - y) / step)
        for number in range(1, count):
            part = number / count
            yield x + part * (to_x - x), y + part * (to_y - y)


def place(
    point: tuple[float, float],
    size: tuple[float, float],
    taken: Sequence[Box],
    bounds: Box,
    unit: float,
) -> tuple[Box, tuple[float, float]]:
    """Choose a place for a label of ``size`` pixels: the nearest that is free, else the least covered.

    Returns its box, and the offset of its centre from the point in units of ``unit`` pixels.
    """
    places = [_beside(point, size, direction, far * unit) for far in _DISTANCES for direction in _DIRECTIONS]
    best = min(places, key=lambda box: round(_harm(box, taken, bounds), 3))
    x, y = (best.left + best.right) / 2 - point[0], (best.bottom + best.top) / 2 - point[1]
    return best, (x / unit, y / unit)


def _beside(
    point: tuple[float, float], size: tuple[float, float], direction: tuple[float, float], far: float
) -> Box:
    """Return the box whose nearest edge is ``far`` pixels away."""
    (x, y), (width, height) = point, size
    across = direction[0] * (far + width / 2) if direction[0] else 0.0
    return Box.around(x + across, y + direction[1] * (far + height / 2), width, height)


def _harm(box: Box, taken: Sequence[Box], bounds: Box) -> float:
    return sum(map(box.overlap, taken)) + _OUTSIDE * (box.area - box.overlap(bounds))
