"""Which detectors there are, and how a user's choice becomes objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dedupcrawl.config import Config
from dedupcrawl.detectors.datasketch import Datasketch
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.feature_code import FeatureCode
from dedupcrawl.detectors.feature_codes import FeatureCodes
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.detectors.base import Detector

#: New ones go to the end: stores that are filled count on the order.
DETECTORS: Mapping[str, type[Detector]] = {
    detector.name: detector for detector in (Exact, MinHash, FeatureCode, FeatureCodes, Datasketch)
}
#: Constants that a detector takes from the configuration.
SHARED = ("threshold", "length_ratio", "seed", "segmenter", "lexicon")
_SHAPES_TEXT = ("reader", "fold_chinese")  #: constants that decide which text the detectors see


def build_detectors(config: Config) -> tuple[Detector, ...]:
    """Make the detectors that ``config.detectors`` names, in the order of ``DETECTORS``.

    A store files sketches by their place, so two users who name the same detectors must get the same order.
    Raises :class:`~dedupcrawl.errors.SettingError` for a name or constant that does not exist, a
    value that makes no sense, a name given twice, or none at all.
    """
    chosen = _chosen(config.detectors)
    return tuple(_build(name, chosen[name], config) for name in DETECTORS if name in chosen)


def schemes(detectors: Sequence[Detector], config: Config) -> dict[str, dict[str, object]]:
    """Describe what a store is filled with, in JSON values; stores with equal ones may be shared."""
    described = {detector.name: dict(detector.scheme()) for detector in detectors}
    default = Config()
    text = {name: getattr(config, name) for name in _SHAPES_TEXT}
    changed = {name: value for name, value in text.items() if value != getattr(default, name)}
    return {**described, "text": changed} if changed else described


def _chosen(chosen: object) -> Mapping[str, Mapping[str, Any]]:
    accepted = f"a list of names, or a dict from names to their constants; names are {', '.join(DETECTORS)}"
    if not isinstance(chosen, Mapping):
        if isinstance(chosen, str | bytes) or not hasattr(chosen, "__iter__"):
            raise SettingError("detectors", chosen, accepted)
        names = list(chosen)
        if len(set(map(repr, names))) != len(names):
            raise SettingError("detectors", chosen, f"each name once; {accepted}")
        chosen = {name: {} for name in map(_known, names)}
    if not chosen:
        raise SettingError("detectors", chosen, f"at least one; {accepted}")
    return {_known(name): constants or {} for name, constants in chosen.items()}


def _known(name: object) -> str:
    if not isinstance(name, str) or name not in DETECTORS:
        raise SettingError("detectors", name, f"one of {', '.join(DETECTORS)}")
    return name


def _build(name: str, constants: object, config: Config) -> Detector:
    detector = DETECTORS[name]
    accepted = [field.name for field in fields(detector) if field.init]  # type: ignore[arg-type]
    if not isinstance(constants, Mapping):
        raise SettingError(f"detectors[{name!r}]", constants, f"a dict with any of {', '.join(accepted)}")
    for constant, value in constants.items():
        if constant not in accepted:
            raise SettingError(f"detectors[{name!r}].{constant}", value, f"any of {', '.join(accepted)}")
    shared = {constant: getattr(config, constant) for constant in SHARED if constant in accepted}
    return detector(**{**shared, **constants})
