"""The configurations of an evaluation: the chosen detectors, or each in its published variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import Config
from dedupcrawl.constants import check_detectors, complaint, constants_of, with_constant
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
