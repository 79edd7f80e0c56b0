"""What pairs would be found under other constants, from what detectors measured of them: pure arithmetic.

A pair is found when the bars of one detector are all met. What the pair has at a bar does not change with the
constant that sets it; so one look at each pair tells what every value of a constant would make of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.constants import constants_of, value_of, with_constant
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import SHARED
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Bar, Opinion

    Flags = npt.NDArray[np.bool_]  # one for each pair
    Values = Mapping[str, float]  # of constants, by their names in the configuration

MAX_VALUES = 150  #: values of a constant that are tried
_COMBINED = "combined"  #: its bars are those of its members, which no name of the configuration reaches
_COPIES = (Relation.IDENTICAL, Relation.NEAR_DUPLICATE)
_EPSILON = 1e-9  #: of floating point


@dataclass(frozen=True, slots=True)
class LimitValues:
    """What all pairs have at one bar of a detector."""

    constant: str  #: that sets it, by its name in the configuration
    value: float  #: in force
    at_least: bool
    is_strict: bool
    found: npt.NDArray[np.float64]  #: of each pair; nan: the bar is none for it

    def met(self, value: float) -> Flags:
        """Say of each pair whether it meets the bar at this value."""
        missed = self.found < value if self.at_least else self.found > value
        if self.is_strict:
            missed |= self.found == value
        return ~missed


@dataclass(frozen=True, slots=True)
class DetectorMeasurements:
    """What one detector measured of all pairs."""

    speaks: Flags  #: whether it has something to say of a pair, and all that no constant sets is met
    columns: tuple[LimitValues, ...]

    def found(self, values: Values) -> Flags:
        """Say of each pair whether it is found with these values; other constants stay as they are."""
        flags = self.speaks.copy()
        for column in self.columns:
            flags &= column.met(values.get(column.constant, column.value))
        return flags


@dataclass(frozen=True, slots=True)
class PairMeasurements:
    """What all detectors in use measured of all pairs."""

    detectors: tuple[DetectorMeasurements, ...]
    pairs: int

    def found(self, values: Values) -> Flags:
        """Say of each pair whether any detector finds it with these values."""
        flags = np.zeros(self.pairs, dtype=bool)
        for each in self.detectors:
            flags |= each.found(values)
        return flags

    def columns(self, constant: str) -> list[LimitValues]:
        """Return the bars that a constant sets."""
        return [column for each in self.detectors for column in each.columns if column.constant == constant]

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of the constants that set bars."""
        columns = (column for each in self.detectors for column in each.columns)
        return tuple(dict.fromkeys(column.constant for column in columns))


def measurements_of(opinions: Sequence[Sequence[Opinion]], config: Config) -> PairMeasurements:
    """Lay out what the detectors of ``config`` said of each pair; () of one that cannot be judged."""
    by_name: dict[str, dict[int, Opinion]] = defaultdict(dict)
    for place, of_pair in enumerate(opinions):
        for opinion in of_pair:
            by_name[opinion.detector][place] = opinion
    whole = len(opinions)
    return PairMeasurements(
        tuple(_measurements(name, said, whole, config) for name, said in by_name.items()), whole
    )


def _measurements(
    detector: str, said: Mapping[int, Opinion], pairs: int, config: Config
) -> DetectorMeasurements:
    speaks = np.zeros(pairs, dtype=bool)
    bars: dict[str, dict[int, Bar]] = defaultdict(dict)
    for place, opinion in said.items():
        speaks[place] = _speaks(detector, opinion)
        for bar in opinion.bars if detector != _COMBINED else ():
            if bar.constant:
                bars[constant_name(detector, bar.constant, config)][place] = bar
    return DetectorMeasurements(
        speaks, tuple(_limit_values(name, found, pairs, config) for name, found in bars.items())
    )


def _speaks(detector: str, opinion: Opinion) -> bool:
    if detector == _COMBINED:
        return opinion.match is not None and opinion.match.relation in _COPIES
    return not opinion.silent and all(bar.is_met for bar in opinion.bars if not bar.constant)


def _limit_values(name: str, bars: Mapping[int, Bar], pairs: int, config: Config) -> LimitValues:
    found = np.full(pairs, np.nan)
    for place, bar in bars.items():
        found[place] = bar.found
    one = next(iter(bars.values()))
    return LimitValues(name, float(str(value_of(config, name))), one.at_least, one.is_strict, found)


def constant_name(detector: str, constant: str, config: Config) -> str:
    """Return the name of a detector's constant in the configuration: ``threshold``, ``simhash.distance``."""
    is_shared = constant in SHARED and constant not in constants_of(config)[detector]
    return constant if is_shared else f"{detector}.{constant}"


def candidate_values(scene: PairMeasurements, constant: str, config: Config) -> list[float]:
    """Return the values of a constant that are worth trying: round ones, as far as pairs were measured.

    Of those that make the same of every pair one is enough: that in force, else the one in their middle,
    which is farther from the pairs on either side than the others are.
    """
    now = value_of(config, constant)
    if isinstance(now, bool) or not isinstance(now, int | float):
        return []
    found = [column.found[~np.isnan(column.found)] for column in scene.columns(constant)]
    measured = np.concatenate(found) if found else np.empty(0)
    if not len(measured):
        return [now]
    step = 1.0 if isinstance(now, int) else 0.01
    low, high = floor(measured.min() / step + _EPSILON), ceil(measured.max() / step - _EPSILON)
    stride = max(1, ceil((high - low + 1) / MAX_VALUES))
    tried = {_rounded(place * step, now) for place in range(low, high + 1, stride)} | {now}
    fine = sorted(value for value in tried if _is_accepted(config, constant, value))
    alike: dict[bytes, list[float]] = defaultdict(list)
    for value in fine:
        alike[b"".join(column.met(value).tobytes() for column in scene.columns(constant))].append(value)
    return [now if now in several else several[len(several) // 2] for several in alike.values()]


def _rounded(value: float, like: float) -> float:
    return int(value) if isinstance(like, int) else round(value, 2)


def _is_accepted(config: Config, constant: str, value: float) -> bool:
    try:
        with_constant(config, constant, value)
    except SettingError:
        return False
    return True
