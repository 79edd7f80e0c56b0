"""Who takes part in a bake-off: every detector, in each of its published variants.

What came of a labelled file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import Config
from dedupcrawl.constants import complaint, constants_of, with_constant
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.evaluation.metrics import Scores

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from dedupcrawl.tools.evaluation.dataset import LabelledPage
    from dedupcrawl.verdict import Verdict


ALL = "all"
Assignments = Mapping[str, Any]  #: values of constants, by their names

#: The constants of the variants of a method; a detector that is not named here has one.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "keywords": tuple({"variant": variant} for variant in range(1, 6)),
    "datasketch": ({"tokens": "words"}, {"tokens": "segmented"}),
}


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """A row of the table."""

    label: str
    config: Config


def evaluation_runs(config: Config, names: Sequence[str], assignments: Assignments) -> list[EvaluationRun]:
    """Return who is to be evaluated: ``all`` alone is everybody, other names are used together.

    Without names it is the detectors of ``config``.

    Raises :class:`~dedupcrawl.errors.SettingError` for names and values that make no sense.
    """
    if ALL not in names:
        chosen = with_constants(replace(config, detectors=tuple(names)) if names else config, assignments)
        return [EvaluationRun(run_label(chosen), chosen)]
    if len(names) > 1:
        raise SettingError("--detector", " ".join(names), f'"{ALL}" alone, or names of detectors')
    return all_runs(config, assignments)


def all_runs(config: Config, assignments: Assignments) -> list[EvaluationRun]:
    """Return every detector alone, and last the default ones where they are several.

    A constant goes to whoever has it.
    """
    general = {name: value for name, value in assignments.items() if "." not in name}
    own = {name: value for name, value in assignments.items() if name not in general}
    _check(own, general)
    base = replace(config, **general)
    found = [
        _variant(base, name, variant, own) for name in DETECTORS for variant in VARIANTS.get(name, ({},))
    ]
    if len(constants_of(config)) > 1:
        found.append(
            with_constants(base, {name: value for name, value in own.items() if _is_used(base, name)})
        )
    return [EvaluationRun(run_label(each), each) for each in _without_repeats(found)]


def with_constants(config: Config, assignments: Assignments) -> Config:
    """Return ``config`` with these constants."""
    for name, value in assignments.items():
        config = with_constant(config, name, value)
    build_detectors(config)
    return config


def run_label(config: Config) -> str:
    """Name the detectors in use, with the variant of those that come in several."""
    return " + ".join(_detector_label(name, given) for name, given in constants_of(config).items())


def _detector_label(name: str, given: Mapping[str, Any]) -> str:
    telling = {constant for variant in VARIANTS.get(name, ()) for constant in variant}
    return " ".join((name, *(str(value) for constant, value in given.items() if constant in telling)))


def _variant(config: Config, name: str, variant: Mapping[str, Any], own: Assignments) -> Config:
    mine = {each: value for each, value in own.items() if each.partition(".")[0] == name}
    return with_constants(replace(config, detectors={name: dict(variant)}), mine)


def _check(own: Assignments, general: Assignments) -> None:
    """Refuse a constant that nobody has: with many detectors in the run it would go unnoticed."""
    everybody_once = Config(detectors=tuple(DETECTORS))
    for name, value in {**general, **own}.items():
        if wrong := complaint(everybody_once, name):
            raise SettingError(name, value, wrong)


def _is_used(config: Config, name: str) -> bool:
    return name.partition(".")[0] in constants_of(config)


def _without_repeats(configs: Iterable[Config]) -> list[Config]:
    found: list[Config] = []
    for config in configs:
        if config not in found:
            found.append(config)
    return found


@dataclass(frozen=True, slots=True)
class Mistake:
    """A page that was wrongly dropped or missed."""

    row: LabelledPage
    verdict: Verdict
    kind: str  #: "wrongly dropped" or "missed"

    def to_dict(self) -> dict[str, object]:
        """Return the page, its label and its verdict as plain JSON values."""
        row = self.row
        named = {"id": row.id, "url": row.url, "cluster": row.cluster, "edit": row.edit}
        return {"mistake": self.kind, **named, "verdict": self.verdict.to_dict()}


@dataclass(frozen=True, slots=True)
class Costs:
    """What a page costs on average; ``docs/evaluation.md`` says what is counted."""

    reading_us_per_page: float  #: microseconds of the processor from HTML to page
    us_per_page: float  #: the same from page to verdict
    keys_per_page: float  #: of the pages that got any
    bytes_per_page: float  #: of the same pages: sketches, and the keys in record and index
    candidates_per_page: float  #: earlier records that the store handed out

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values, rounded to a tenth, or where they are small to a thousandth."""
        return {name: round(value, 1 if value >= 10 else 3) for name, value in asdict(self).items()}


NO_COSTS = Costs(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class DuplicatesReport:
    """How right one choice of detectors was, and what it cost."""

    detectors: tuple[str, ...]
    pages: int = 0
    unchecked: int = 0  #: pages that no detector could judge
    dropped: int = 0
    right: int = 0
    mistakes: list[Mistake] = field(default_factory=list)
    pairs: Scores = field(default_factory=lambda: Scores(0, 0, 0))
    by_edit: dict[str, Counter[str]] = field(default_factory=dict)
    costs: Costs = NO_COSTS

    @property
    def wrongly_dropped(self) -> int:
        """Pages lost: the worst that can happen."""
        return sum(mistake.kind == "wrongly dropped" for mistake in self.mistakes)

    @property
    def missed(self) -> int:
        """Copies stored again."""
        return sum(mistake.kind == "missed" for mistake in self.mistakes)

    @property
    def drops(self) -> Scores:
        """The scores of the stream."""
        return Scores(self.right, self.wrongly_dropped, self.missed)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        drops = {"wrongly_dropped": self.wrongly_dropped, "missed": self.missed}
        pairs = {"wrong": self.pairs.wrong, "missed": self.pairs.missing}
        return {
            "detectors": list(self.detectors),
            "pages": self.pages,
            "unchecked": self.unchecked,
            "drops": self.drops.to_dict() | drops,
            "pairs": self.pairs.to_dict() | pairs,
            "by_edit": {edit: dict(counter) for edit, counter in sorted(self.by_edit.items())},
            **self.costs.to_dict(),
        }
