"""Which pairs would be found with other constants, computed from the measurements of the detectors.

A detector finds a pair if all its bars are met. The measured value of a pair at a bar does not depend on the
constant that sets the bar. One comparison of each pair therefore shows the result of every value of a
constant.
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

    Flags = npt.NDArray[np.bool_]  # one a pair
    Values = Mapping[str, float]  # of constants, by their names in the configuration

MAX_VALUES = 150  #: values of a constant that are tried
_COMBINED = "combined"  #: the constants of its members have no names in the configuration
_COPIES = (Relation.IDENTICAL, Relation.NEAR_DUPLICATE)
_EPSILON = 1e-9  #: tolerance of floating point division


@dataclass(frozen=True, slots=True)
class BarValues:
    """The measured values of all pairs at one bar of a detector."""

    constant: str  #: that sets the bar, by its name in the configuration
    value: float  #: of the constant in force
    at_least: bool
    is_strict: bool
    found: npt.NDArray[np.float64]  #: for each pair; nan: the bar does not apply to it

    def met(self, value: float) -> Flags:
        """Return for each pair whether it meets the bar at this value of the constant."""
        missed = self.found < value if self.at_least else self.found > value
        if self.is_strict:
            missed |= self.found == value
        return ~missed


@dataclass(frozen=True, slots=True)
class DetectorMeasurements:
    """The measurements of one detector on all pairs."""

    applies: Flags  #: whether the detector can judge the pair, and all bars without a constant are met
    bars: tuple[BarValues, ...]

    def found(self, values: Values) -> Flags:
        """Return for each pair whether it is found with these values; other constants are unchanged."""
        flags = self.applies.copy()
        for bar in self.bars:
            flags &= bar.met(values.get(bar.constant, bar.value))
        return flags


@dataclass(frozen=True, slots=True)
class PairMeasurements:
    """The measurements of all detectors in use on all pairs."""

    detectors: tuple[DetectorMeasurements, ...]
    pairs: int

    def found(self, values: Values) -> Flags:
        """Return for each pair whether any detector finds it with these values."""
        flags = np.zeros(self.pairs, dtype=bool)
        for each in self.detectors:
            flags |= each.found(values)
        return flags

    def bars(self, constant: str) -> list[BarValues]:
        """Return the bars that a constant sets."""
        return [bar for each in self.detectors for bar in each.bars if bar.constant == constant]

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of the constants that set bars."""
        return tuple(dict.fromkeys(bar.constant for each in self.detectors for bar in each.bars))


def measurements_of(opinions: Sequence[Sequence[Opinion]], config: Config) -> PairMeasurements:
    """Return the measurements in the opinions on each pair, () for one that cannot be judged."""
    by_name: dict[str, dict[int, Opinion]] = defaultdict(dict)
    for place, of_pair in enumerate(opinions):
        for opinion in of_pair:
            by_name[opinion.detector][place] = opinion
    count = len(opinions)
    return PairMeasurements(tuple(_measurements(*each, count, config) for each in by_name.items()), count)


def _measurements(detector: str, opinions: Mapping[int, Opinion], pairs: int, config: Config) -> DetectorMeasurements:
    applies = np.zeros(pairs, dtype=bool)
    bars: dict[str, dict[int, Bar]] = defaultdict(dict)
    for place, opinion in opinions.items():
        applies[place] = _applies(detector, opinion)
        for bar in opinion.bars if detector != _COMBINED else ():
            if bar.constant:
                bars[constant_name(detector, bar.constant, config)][place] = bar
    return DetectorMeasurements(applies, tuple(_bar_values(*each, pairs, config) for each in bars.items()))


def _applies(detector: str, opinion: Opinion) -> bool:
    if detector == _COMBINED:
        return opinion.match is not None and opinion.match.relation in _COPIES
    return not opinion.silent and all(bar.is_met for bar in opinion.bars if not bar.constant)


def _bar_values(name: str, bars: Mapping[int, Bar], pairs: int, config: Config) -> BarValues:
    found = np.full(pairs, np.nan)
    for place, bar in bars.items():
        found[place] = bar.found
    one = next(iter(bars.values()))
    return BarValues(name, float(str(value_of(config, name))), one.at_least, one.is_strict, found)


def constant_name(detector: str, constant: str, config: Config) -> str:
    """Return the name of a detector's constant in the configuration: ``threshold``, ``simhash.distance``."""
    is_shared = constant in SHARED and constant not in constants_of(config)[detector]
    return constant if is_shared else f"{detector}.{constant}"


def candidate_values(measured: PairMeasurements, constant: str, config: Config) -> list[float]:
    """Return the round values of a constant that are worth trying, in the range of the measured values.

    Of several values with the same result one is enough: the value in force, else the middle one, which has
    the greatest distance from the pairs on both sides.
    """
    now = value_of(config, constant)
    if isinstance(now, bool) or not isinstance(now, int | float):
        return []
    bars = measured.bars(constant)
    found = np.concatenate([np.empty(0), *(bar.found[~np.isnan(bar.found)] for bar in bars)])
    if not len(found):
        return [now]
    step = 1.0 if isinstance(now, int) else 0.01
    low, high = floor(found.min() / step + _EPSILON), ceil(found.max() / step - _EPSILON)
    stride = max(1, ceil((high - low + 1) / MAX_VALUES))
    tried = {type(now)(round(place * step, 2)) for place in range(low, high + 1, stride)} | {now}
    alike: dict[bytes, list[float]] = defaultdict(list)
    for value in sorted(value for value in tried if _is_accepted(config, constant, value)):
        alike[b"".join(bar.met(value).tobytes() for bar in bars)].append(value)
    return [now if now in several else several[len(several) // 2] for several in alike.values()]


def _is_accepted(config: Config, constant: str, value: float) -> bool:
    try:
        with_constant(config, constant, value)
    except SettingError:
        return False
    return True
