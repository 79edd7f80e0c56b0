"""The available detectors, and how a configuration becomes detector objects."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, cast

from dedupcrawl.errors import SettingError
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.text.lexicon import open_lexicon
from dedupcrawl.text.normalize import folding_digest
from dedupcrawl.text.words import check_segmenter, require_segmenter
from dedupcrawl.utils.redaction import SECRET, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.detectors.base import Detector


@dataclass(frozen=True, eq=False)
class DetectorRegistry(Mapping[str, "type[Detector]"]):
    """Detector classes by name, in a fixed order. A class is imported on first access."""

    package: str  #: dotted name of the package
    classes: Mapping[str, str]  #: name → "module:Class" within the package

    def __getitem__(self, name: str) -> type[Detector]:
        return cast("type[Detector]", pkgutil.resolve_name(f"{self.package}.{self.classes[name]}"))

    def __contains__(self, name: object) -> bool:
        return name in self.classes

    def __iter__(self) -> Iterator[str]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)


#: Existing stores depend on the order, so new detectors are added at the end.
DETECTORS: Mapping[str, type[Detector]] = DetectorRegistry(
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
#: Constants whose default comes from the configuration.
SHARED = ("threshold", "length_ratio", "length_slack", "seed", "segmenter", "lexicon", "language")
_DETECTORS_SETTING = "detectors"  #: name of the setting, for error messages
_LEXICON = "lexicon"
_COMBINED = "combined"  #: its constants contain other detectors
_FIELDS = "fields"  #: the constant of it that has a detector for each field of an item


class DetectorConfig(Protocol):
    """The part of :class:`~dedupcrawl.config.Config` that detectors use, besides ``SHARED``."""

    @property
    def detectors(self) -> Sequence[str] | Mapping[str, Mapping[str, Any]]:
        """Names of detectors, or constants by name."""

    @property
    def seed(self) -> int | str:
        """The seed of all hashes."""

    @property
    def lexicon(self) -> str:
        """Path of a lexicon file."""

    @property
    def reader(self) -> str:
        """Name of the reader."""

    @property
    def fold_chinese(self) -> bool:
        """Whether traditional characters are read as simplified ones."""


def build_detectors(config: DetectorConfig) -> tuple[Detector, ...]:
    """Build the detectors of ``config.detectors``, in the order of ``DETECTORS``.

    A store numbers sketches by position, so the same detectors must always have the same order. The constants
    in ``SHARED`` have the values of ``config`` by default.

    Raises:
        SettingError: A name or constant does not exist, a value is not accepted, a name is given twice, there
            is no detector, or the seed is "secret" and no store has given it.
    """
    if config.seed == SECRET:
        raise SettingError("seed", SECRET, "a whole number here, such as 0: only a store keeps a secret seed")
    chosen = _chosen(config.detectors, _DETECTORS_SETTING)
    if not chosen:
        raise SettingError(_DETECTORS_SETTING, config.detectors, f"at least one; {_accepted()}")
    if config.lexicon:
        _open_lexicon(config, config)  # refused even if no detector uses it
    names = (name for name in DETECTORS if name in chosen)
    return tuple(_build(name, chosen[name], config, _DETECTORS_SETTING) for name in names)


def schemes(detectors: Sequence[Detector], config: DetectorConfig) -> dict[str, dict[str, object]]:
    """Describe the content of a store as JSON values; stores with equal descriptions are compatible.

    Returns:
        The scheme of each detector by name, and under "text" changed settings that affect the text. A secret
        seed is "secret".
    """
    described: dict[str, dict[str, object]] = {
        detector.name: {name: without_secrets(value) for name, value in detector.scheme().items()}
        for detector in detectors
    }
    text: dict[str, object] = {}
    if config.reader != ReadOptions().reader:
        text["reader"] = config.reader
    if config.fold_chinese:
        text["fold_chinese"] = folding_digest()
    return {**described, "text": text} if text else described


def _accepted() -> str:
    return f"a list of names, or a dict from names to their constants; names are {', '.join(DETECTORS)}"


def _chosen(chosen: object, path: str) -> Mapping[str, Mapping[str, Any]]:
    """Convert a setting to constants by detector name; ``path`` is its position in the settings."""
    if not isinstance(chosen, Mapping):
        if isinstance(chosen, str | bytes) or not hasattr(chosen, "__iter__"):
            raise SettingError(path, chosen, _accepted())
        names = list(chosen)
        if len(set(map(repr, names))) != len(names):
            raise SettingError(path, chosen, f"each name once; {_accepted()}")
        chosen = {_known(name, path): {} for name in names}
    return {_known(name, path): constants or {} for name, constants in chosen.items()}


def _known(name: object, path: str) -> str:
    if not isinstance(name, str) or name not in DETECTORS:
        raise SettingError(path, name, f"one of {', '.join(DETECTORS)}")
    return name


def _build(name: str, constants: object, config: DetectorConfig, path: str) -> Detector:
    detector, here = DETECTORS[name], f"{path}[{name!r}]"
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
        built = detector(**{**shared, **constants})
        if _LEXICON in constants:
            _open_lexicon(built, config)
        require_segmenter(built.scheme().get("segmenter"), f"The detector {name}")
    except SettingError as error:
        if error.name == _LEXICON in constants:
            error = SettingError(f"{_DETECTORS_SETTING}[{name!r}].{_LEXICON}", error.value, error.accepted)
        raise _with_setting_path(error, path) from None
    return built


def _open_lexicon(user: Any, config: DetectorConfig) -> None:
    """Refuse a lexicon that does not fit its user, which is a configuration or a detector."""
    path, segmenter, language = user.lexicon, user.segmenter, user.language
    open_lexicon(path, segmenter=segmenter, language=language, fold_chinese=config.fold_chinese)


def _with_members(
    detector: type[Detector], rules: Mapping[str, object], config: DetectorConfig, here: str
) -> Mapping[str, tuple[Detector, ...]]:
    """Build the members of a combined detector, in the order of the setting."""
    if not rules:
        default: Any = detector()
        rules = {"all_of": [member.name for member in default.all_of]}
    if rules.get(_FIELDS) is not None:
        others: Any = {rule: names for rule, names in rules.items() if rule != _FIELDS}
        return {**others, _FIELDS: _field_members(rules[_FIELDS], config, f"{here}.{_FIELDS}")}
    chosen = {rule: _chosen(names, f"{here}.{rule}") for rule, names in rules.items()}
    return {
        rule: tuple(_build(name, constants, config, f"{here}.{rule}") for name, constants in members.items())
        for rule, members in chosen.items()
    }


def _field_members(chosen: object, config: DetectorConfig, path: str) -> Any:
    """Build the detector of each field, in the order of the setting."""
    if not isinstance(chosen, Mapping) or not all(_is_field(name) for name in chosen):
        raise SettingError(path, chosen, "a dict from names of item fields, without dots, to a detector")
    found = []
    for name, each in chosen.items():
        here = f"{path}[{name!r}]"
        one = _chosen([each] if isinstance(each, str) else each, here)
        if len(one) != 1 or _COMBINED in one:
            raise SettingError(
                here, each, f"one detector but {_COMBINED!r}: its name, or a dict from it to its constants"
            )
        found += [(name, _build(detector, constants, config, here)) for detector, constants in one.items()]
    return tuple(found)


def _is_field(name: object) -> bool:
    return isinstance(name, str) and bool(name) and "." not in name


def _with_setting_path(error: SettingError, path: str) -> SettingError:
    """Replace the name in the error of a member by its path in the settings."""
    if not error.name.startswith(f"{_DETECTORS_SETTING}["):
        return error
    return SettingError(path + error.name.removeprefix(_DETECTORS_SETTING), error.value, error.accepted)
