"""Classes by name, each loaded when it is first asked for.

Which detectors there are, and how a user's choice becomes objects.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, cast

from dedupcrawl.errors import SettingError
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.text.lexicon import open_lexicon
from dedupcrawl.text.normalize import folding_digest
from dedupcrawl.text.segmenters import check_segmenter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.detectors.base import Detector


@dataclass(frozen=True, eq=False)
class LazyDetectors(Mapping[str, "type[Detector]"]):
    """Detectors by name, in a fixed order; a crawl loads the modules of those that it uses, and no others."""

    package: str
    places: Mapping[str, str]  #: name → "module:Class" below the package

    def __getitem__(self, name: str) -> type[Detector]:
        return cast("type[Detector]", pkgutil.resolve_name(f"{self.package}.{self.places[name]}"))

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


#: New ones go to the end: stores that are filled count on the order.
DETECTORS: Mapping[str, type[Detector]] = LazyDetectors(
    "dedupcrawl.detectors",
    {
        "exact": "exact:Exact",
        "minhash": "minhash:MinHash",
        "feature_code": "feature_codes:FeatureCode",
        "feature_codes": "feature_codes:FeatureCodes",
        "datasketch": "datasketch:Datasketch",
        "shingling": "shingling:Shingling",
        "segments": "segments:Segments",
        "keywords": "keywords:Keywords",
        "imatch": "imatch:IMatch",
        "imatch_randomized": "imatch:IMatchRandomized",
        "boolean": "boolean:Boolean",
        "spotsigs": "spotsigs:SpotSigs",
        "simhash": "simhash:SimHash",
        "random_projection": "random_projection:RandomProjection",
        "combined": "combined:Combined",
    },
)
#: Constants that a detector takes from the configuration.
SHARED = ("threshold", "length_ratio", "seed", "segmenter", "lexicon", "language")
_DETECTORS_SETTING = "detectors"  #: where a choice of detectors stands in the configuration
_LEXICON = "lexicon"
_COMBINED = "combined"  #: has other detectors among its constants


class DetectorConfig(Protocol):
    """What detectors need of a :class:`~dedupcrawl.config.Config`."""

    @property
    def detectors(self) -> Sequence[str] | Mapping[str, Mapping[str, Any]]:
        """Names of detectors, which may have constants of their own."""

    @property
    def lexicon(self) -> str:
        """Path of document frequencies."""

    @property
    def reader(self) -> str:
        """Which reader finds the main text."""

    @property
    def fold_chinese(self) -> bool:
        """Whether traditional characters are read as simplified ones."""


def build_detectors(config: DetectorConfig) -> tuple[Detector, ...]:
    """Make the detectors that ``config.detectors`` names, in the order of ``DETECTORS``.

    A store files sketches by their place, so two users who name the same detectors must get the same order.
    Raises :class:`~dedupcrawl.errors.SettingError` for a name or constant that does not exist, a
    value that makes no sense, a name given twice, or none at all.
    """
    chosen = _chosen(config.detectors, _DETECTORS_SETTING)
    if not chosen:
        raise SettingError(_DETECTORS_SETTING, config.detectors, f"at least one; {_accepted()}")
    if config.lexicon:
        # It is refused whether or not a detector reads it.
        _open_lexicon(config, config)
    return tuple(
        _build(name, chosen[name], config, _DETECTORS_SETTING) for name in DETECTORS if name in chosen
    )


def schemes(detectors: Sequence[Detector], config: DetectorConfig) -> dict[str, dict[str, object]]:
    """Describe what a store is filled with, in JSON values; stores with equal ones may be shared."""
    described = {detector.name: dict(detector.scheme()) for detector in detectors}
    text: dict[str, object] = {}  # what decides which text the detectors see, where it is not the default
    if config.reader != ReadOptions().reader:
        text["reader"] = config.reader
    if config.fold_chinese:
        text["fold_chinese"] = folding_digest()
    return {**described, "text": text} if text else described


def _accepted() -> str:
    return f"a list of names, or a dict from names to their constants; names are {', '.join(DETECTORS)}"


def _chosen(chosen: object, place: str) -> Mapping[str, Mapping[str, Any]]:
    """Read a user's choice, which stands at ``place`` of the settings: names to constants, in its order."""
    if not isinstance(chosen, Mapping):
        if isinstance(chosen, str | bytes) or not hasattr(chosen, "__iter__"):
            raise SettingError(place, chosen, _accepted())
        names = list(chosen)
        if len(set(map(repr, names))) != len(names):
            raise SettingError(place, chosen, f"each name once; {_accepted()}")
        chosen = {_known(name, place): {} for name in names}
    return {_known(name, place): constants or {} for name, constants in chosen.items()}


def _known(name: object, place: str) -> str:
    if not isinstance(name, str) or name not in DETECTORS:
        raise SettingError(place, name, f"one of {', '.join(DETECTORS)}")
    return name


def _build(name: str, constants: object, config: DetectorConfig, place: str) -> Detector:
    detector, here = DETECTORS[name], f"{place}[{name!r}]"
    accepted = [field.name for field in fields(detector) if field.init]  # type: ignore[arg-type]
    if not isinstance(constants, Mapping):
        raise SettingError(here, constants, f"a dict with any of {', '.join(accepted)}")
    for constant, value in constants.items():
        if constant not in accepted:
            raise SettingError(f"{here}.{constant}", value, f"any of {', '.join(accepted)}")
    if "segmenter" in constants:
        check_segmenter(constants["segmenter"], f"{here}.segmenter")
    if name == _COMBINED:
        constants = _with_members(detector, constants, config, here)
    shared = {constant: getattr(config, constant) for constant in SHARED if constant in accepted}
    try:
        made = detector(**{**shared, **constants})
        if _LEXICON in constants:
            _open_lexicon(made, config)
    except SettingError as error:
        if error.name == _LEXICON in constants:
            error = SettingError(f"{_DETECTORS_SETTING}[{name!r}].{_LEXICON}", error.value, error.accepted)
        raise _with_setting_path(error, place) from None
    return made


def _open_lexicon(chooser: Any, config: DetectorConfig) -> None:
    """Refuse the lexicon of a configuration or a detector if it does not suit; it is read only once."""
    path, segmenter, language = chooser.lexicon, chooser.segmenter, chooser.language
    open_lexicon(path, segmenter=segmenter, language=language, fold_chinese=config.fold_chinese)


def _with_members(
    detector: type[Detector], rules: Mapping[str, object], config: DetectorConfig, here: str
) -> Mapping[str, tuple[Detector, ...]]:
    """Make the members of a combined detector, in the order in which the user names them.

    They get the constants of the configuration too; without any rule they are the detector's own.
    """
    if not rules:
        default: Any = detector()
        rules = {"all_of": [member.name for member in default.all_of]}
    chosen = {rule: _chosen(names, f"{here}.{rule}") for rule, names in rules.items()}
    return {
        rule: tuple(_build(name, of[name], config, f"{here}.{rule}") for name in of)
        for rule, of in chosen.items()
    }


def _with_setting_path(error: SettingError, place: str) -> SettingError:
    """Name a constant of a member by where it stands in the settings."""
    if not error.name.startswith(f"{_DETECTORS_SETTING}["):
        return error
    return SettingError(place + error.name.removeprefix(_DETECTORS_SETTING), error.value, error.accepted)
