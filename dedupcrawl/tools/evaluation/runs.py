"""The runs of an evaluation: the chosen detectors, or each in its published variants; many values of one constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Literal

from dedupcrawl.config import Config, check_detectors, complaint, constants_of, value_of, with_constant
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport
    from dedupcrawl.tools.evaluation.metrics import Scores


ALL = "all"  #: the name for every detector
Assignments = Mapping[str, Any]  #: values of constants, by their names

#: The constants of the variants of a method; other detectors have one variant.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "keywords": tuple({"variant": variant} for variant in range(1, 6)),
    "datasketch": ({"tokens": "words"}, {"tokens": "segmented"}),
}


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """One configuration to evaluate: a row of the table."""

    label: str
    config: Config


def evaluation_runs(config: Config, names: Sequence[str], assignments: Assignments) -> list[EvaluationRun]:
    """Return the configurations to evaluate.

    Args:
        config: the configuration that is changed.
        names: detectors that are used together; ``["all"]``: each alone; empty: those of ``config``.
        assignments: values of constants.

    Raises:
        SettingError: a name or value is not accepted.
    """
    if ALL not in names:
        chosen = with_constants(replace(config, detectors=tuple(names)) if names else config, assignments)
        return [EvaluationRun(run_label(chosen), chosen)]
    if len(names) > 1:
        raise SettingError("--detector", " ".join(names), f'"{ALL}" alone, or names of detectors')
    return all_runs(config, assignments)


def all_runs(config: Config, assignments: Assignments) -> list[EvaluationRun]:
    """Return every detector alone, and last the detectors of ``config`` together if they are several.

    Each constant is set for the detectors that have it.
    """
    general = {name: value for name, value in assignments.items() if "." not in name}
    own = {name: value for name, value in assignments.items() if name not in general}
    every_detector = Config(detectors=tuple(DETECTORS))
    for name, value in {**general, **own}.items():  # a constant that no detector has would go unnoticed
        if wrong := complaint(every_detector, name):
            raise SettingError(name, value, wrong)
    base = replace(config, **general)
    found = [_variant(base, name, variant, own) for name in DETECTORS for variant in VARIANTS.get(name, ({},))]
    if len(constants_of(config)) > 1:
        used = constants_of(base)
        of_used = {name: value for name, value in own.items() if name.partition(".")[0] in used}
        found.append(with_constants(base, of_used))
    distinct = [each for place, each in enumerate(found) if each not in found[:place]]
    return [EvaluationRun(run_label(each), each) for each in distinct]


def with_constants(config: Config, assignments: Assignments) -> Config:
    """Return ``config`` with these constants. Raises SettingError for what is not accepted.

    The seed may be "secret": whoever opens the store replaces it.
    """
    for name, value in assignments.items():
        config = with_constant(config, name, value)
    check_detectors(config)
    return config


def run_label(config: Config) -> str:
    """Return the names of the detectors in use, with the variant where a method has several."""
    return " + ".join(
        " ".join((name, *(str(value) for constant, value in given.items() if constant in varied)))
        for name, given in constants_of(config).items()
        for varied in [{constant for variant in VARIANTS.get(name, ()) for constant in variant}]
    )


def _variant(config: Config, name: str, variant: Mapping[str, Any], own: Assignments) -> Config:
    of_detector = {each: value for each, value in own.items() if each.partition(".")[0] == name}
    return with_constants(replace(config, detectors={name: dict(variant)}), of_detector)


# -- sweeps -------------------------------------------------------------------------------------

MAX_STEPS = 200  #: values of one sweep
_ACCEPTED = "NAME=BEGIN:END:STEP with numbers, e.g. threshold=0.6:0.95:0.05"

Measure = Literal["drops", "pairs"]


@dataclass(frozen=True, slots=True)
class SweepConfig:
    """A value of the constant, and the configuration with it."""

    value: float
    config: Config


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """The constant and its values."""

    name: str
    steps: tuple[SweepConfig, ...]


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The result of one value."""

    value: float
    report: DuplicatesReport
    measure: Measure

    @property
    def scores(self) -> Scores:
        """The scores of the drops or of the pairs, by ``measure``."""
        return self.report.drops if self.measure == "drops" else self.report.pairs

    @property
    def rank(self) -> tuple[float, float, float]:
        """Sort key: recall, then precision, then few keys (each takes space in a store)."""
        return self.scores.recall, self.scores.precision, -self.report.costs.keys_per_page


@dataclass(frozen=True, slots=True)
class SweepReport:
    """The results of all values, in their order."""

    name: str
    points: tuple[SweepRow, ...]
    measure: Measure
    precision: float  #: wanted, 0…1

    @property
    def best(self) -> SweepRow | None:
        """The value with the highest recall at the wanted precision, or None if no value reaches it.

        Among values with equal recall, the one with the fewest keys is best, then the first. A value that finds
        nothing is never best.
        """
        fine = [point for point in self._with_finds if point.scores.precision >= self.precision]
        return max(fine, key=lambda point: point.rank, default=None)

    @property
    def most_precise(self) -> SweepRow:
        """The value with the highest precision, among those that find anything."""
        points = self._with_finds or list(self.points)
        return max(points, key=lambda point: (point.scores.precision, point.scores.recall))

    @property
    def _with_finds(self) -> list[SweepRow]:
        return [point for point in self.points if point.scores.true_positives]

    def to_dict(self) -> dict[str, object]:
        """Return the curve as plain JSON values."""
        return {
            "constant": self.name,
            "measure": self.measure,
            "precision": self.precision,
            "best": None if self.best is None else self.best.value,
            "points": [{"value": point.value, **point.report.to_dict()} for point in self.points],
        }


def parse_sweep(text: str, config: Config) -> SweepOptions:
    """Parse ``NAME=BEGIN:END:STEP``, both ends included.

    Raises:
        SettingError: the text has another form, there is no such constant, it is no number, or one of the
        values
            is not accepted. Nothing has been evaluated then.
    """
    name, equals, span = text.partition("=")
    parts = span.split(":")
    if not name or not equals or len(parts) != 3:
        raise SettingError("--sweep", text, _ACCEPTED)
    values = _range(text, *(_number(text, part) for part in parts))
    if wrong := complaint(config, name):
        raise SettingError("--sweep", text, wrong)
    now = value_of(config, name)
    if isinstance(now, bool) or not isinstance(now, int | float):
        raise SettingError("--sweep", text, f"a constant that is a number; {name} is {now!r}")
    whole = isinstance(now, int) and all(value == int(value) for value in values)
    numbers = [int(value) if whole else float(value) for value in values]
    return SweepOptions(name, tuple(SweepConfig(number, with_constant(config, name, number)) for number in numbers))


def _number(text: str, part: str) -> Decimal:
    try:
        number = Decimal(part.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise SettingError("--sweep", text, f"{_ACCEPTED}; {part!r} is no number")
    return number


def _range(text: str, begin: Decimal, end: Decimal, step: Decimal) -> list[Decimal]:
    """Return begin, begin + step, … up to end, exactly."""
    if step <= 0:
        raise SettingError("--sweep", text, "a STEP above 0")
    if end < begin:
        raise SettingError("--sweep", text, "an END that is not before its BEGIN")
    count = (end - begin) / step
    if count >= MAX_STEPS:
        raise SettingError("--sweep", text, f"at most {MAX_STEPS} settings; these are {int(count) + 1:,}")
    return [begin + number * step for number in range(int(count) + 1)]
