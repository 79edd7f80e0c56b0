"""The constants that an explanation rests on, and where each of them was taken from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dedupcrawl.constants import constants_of
from dedupcrawl.explaining.naming import name_of, setting_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Opinion

_GENERAL = ("min_chars", "drop", "keep")


class Source(StrEnum):
    """Where a constant was taken from."""

    STORE = "the store"
    GIVEN = "the command line"
    PROJECT = "the project"
    RUN = "the run"
    DEFAULT = "the defaults"


@dataclass(frozen=True, slots=True)
class Premise:
    """A constant in force."""

    name: str
    value: object
    source: Source

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        value = sorted(map(str, self.value)) if isinstance(self.value, frozenset) else self.value
        return {
            "name": self.name,
            "setting": setting_of(self.name),
            "value": value,
            "source": self.source.name.lower(),
        }


@dataclass(frozen=True, slots=True)
class Premises:
    """A configuration, and how it came about."""

    config: Config
    given: frozenset[str]  #: names of constants that the user set
    source: Source = Source.DEFAULT  #: of what neither the user nor the store says
    recovered: bool = False  #: whether the detectors are those that the store names
    notes: tuple[str, ...] = ()  #: what was concluded from the store

    def listed(self, opinions: Iterable[Opinion]) -> tuple[Premise, ...]:
        """Return the constants that decide a verdict: those of the bars, and the general ones."""
        names = dict.fromkeys((*self._of_bars(opinions), *_GENERAL))
        return tuple(Premise(name, value_of(self.config, name), self._source(name)) for name in names)

    def _of_bars(self, opinions: Iterable[Opinion]) -> Iterator[str]:
        for opinion in opinions:
            for bar in (*opinion.bars, *opinion.part_bars):
                if bar.constant:
                    yield name_of(self.config, opinion.detector, bar.constant)

    def _source(self, name: str) -> Source:
        if name in self.given:
            return Source.GIVEN
        return Source.STORE if self.recovered and self._is_told(name) else self.source

    def _is_told(self, name: str) -> bool:
        """Whether it is a constant of a detector, and the store says it."""
        detector, *further = name.split(".")
        told: object = constants_of(self.config).get(detector) if further else None
        for part in further:
            if not isinstance(told, dict) or part not in told:
                return False
            told = told[part]
        return bool(further)
