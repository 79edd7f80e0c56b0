"""Which constants reach a wanted precision, and find the most: tried on paper, then really run.

A value is taken when the lower limit of its precision's interval (see :mod:`dedupcrawl.evaluation.intervals`)
reaches what is wanted, not when the estimate does: a few labels that happen to be right prove little.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from dedupcrawl.constants import value_of, with_constant
from dedupcrawl.errors import SettingError
from dedupcrawl.evaluation.intervals import estimate_of
from dedupcrawl.evaluation.labelledpairs import Scorer, judge_pairs, scores_of
from dedupcrawl.evaluation.tunable import landscape, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.evaluation.labelledpairs import JudgedPair, PairScores
    from dedupcrawl.evaluation.tunable import Landscape

TRIES = 8  #: suggestions that are really run before none is made
TOGETHER = 2  #: constants that are changed at a time
_FEW = 4  #: an option finds few pairs if another one finds so many times as many


@dataclass(frozen=True, slots=True)
class Option:
    """Values of constants, and how right they would be on the labelled pairs."""

    values: Mapping[str, float]  #: those that differ from what is in force
    scores: PairScores

    @property
    def precision(self) -> float:
        """The estimate, 0 where nothing is found."""
        return estimate_of(self.scores.of_found) or 0.0

    @property
    def recall(self) -> float:
        """The estimate, 0 where nothing is the same."""
        return estimate_of(self.scores.of_same) or 0.0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What came of a search."""

    wanted: float  #: precision
    in_force: PairScores
    best: Option | None  #: verified; None: nothing can be shown to reach what is wanted
    config: Config | None  #: that of ``best``
    nearest: Option | None  #: what more labels may show to reach it, else what shows most


def suggest(
    judged: Sequence[JudgedPair],
    config: Config,
    wanted: float,
    run: Callable[[Config], Sequence[JudgedPair]] | None = None,
) -> Suggestion:
    """Search the constants of the detectors in use.

    Args:
        judged: what ``config`` makes of the labelled pairs.
        config: the constants in force.
        wanted: precision.
        run: judges the pairs under another configuration.
    """
    pairs = [each.pair for each in judged]
    run = run or (lambda changed: judge_pairs(pairs, changed))
    scene = landscape([each.opinions for each in judged], config)
    options = list(options_of(scene, Scorer.of(judged), config))
    fine = sorted((each for each in options if _reaches(each, wanted)), key=_merit)
    best, verified = next(_verified(fine[:TRIES], config, wanted, run), (None, None))
    return Suggestion(wanted, scores_of(judged), best, verified, _nearest(options, wanted))


def _verified(
    options: Iterable[Option],
    config: Config,
    wanted: float,
    run: Callable[[Config], Sequence[JudgedPair]],
) -> Iterator[tuple[Option, Config]]:
    """Yield the options that keep their promise when they are run: pairs must meet by their keys, too."""
    for option in options:
        with suppress(SettingError):  # values may be fine each by itself, and not together
            changed = changed_config(config, option.values)
            really = Option(option.values, scores_of(run(changed)))
            if _reaches(really, wanted):
                yield really, changed


def changed_config(config: Config, values: Mapping[str, float]) -> Config:
    """Return a configuration with these values."""
    for name, value in values.items():
        config = with_constant(config, name, value)
    return config


def options_of(scene: Landscape, scorer: Scorer, config: Config) -> Iterator[Option]:
    """Yield all values of one constant, and of two together, at which anything is found."""
    grids = {name: values_of(scene, name, config) for name in scene.constants}
    names = [name for name, values in grids.items() if values][:TOGETHER]
    for chosen in product(*(grids[name] for name in names)):
        values = dict(zip(names, chosen, strict=True))
        found = scene.found(values)
        if found.any():
            changed = {name: value for name, value in values.items() if value != value_of(config, name)}
            yield Option(changed, scorer.scores(found))


def _reaches(option: Option, wanted: float) -> bool:
    is_right = option.recall > 0 and option.precision >= wanted
    return is_right and option.scores.precision.low >= wanted


def _nearest(options: Sequence[Option], wanted: float) -> Option | None:
    """Return the option that more labels may show to be precise enough; else the one that shows most.

    That the few pairs of a narrow option are all right is luck, and promises nothing.
    """
    most = max((each.scores.found for each in options), default=0)
    promising = [each for each in options if each.precision >= wanted and each.scores.found * _FEW >= most]
    return max(promising or options, key=lambda option: option.scores.precision.low, default=None)


def _merit(option: Option) -> tuple[float, int, float]:
    """Most recall first, to a hundredth; then the fewest changes; then the higher precision."""
    return -round(option.recall, 2), len(option.values), -option.scores.precision.low
