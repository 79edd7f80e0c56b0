"""From what a store says of itself to the configuration that filled it, as far as that goes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.constants import constants_named
from dedupcrawl.detectors.datasketch import Datasketch
from dedupcrawl.detectors.lsh import choose_bands
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.config import Config

    _Told = tuple[str, Mapping[str, Any], dict[str, Any]]  # a detector, what is told of it, its constants

_TEXT = "text"  #: what a scheme says of the text itself stands there
_DIGESTS = frozenset({"lexicon", "stop_words"})  #: constants of which a scheme has but a hash
_COMBINED = "combined"
_RULES = ("all_of", "any_of")


@dataclass(frozen=True, slots=True)
class Recovered:
    """A configuration that suits a store."""

    config: Config
    notes: tuple[str, ...] = ()  #: what was concluded from it, in sentences


def recovered(scheme: Mapping[str, Any], base: Config) -> Recovered:
    """Return ``base`` with everything that the scheme of a store says.

    Constants that only comparing uses (thresholds, ratios) are in no scheme: they stay those of ``base``.
    Where the bands of a sketch do not follow from its threshold, one is found from which they do.

    Raises :class:`~dedupcrawl.errors.StoreError` for a detector that this version does not have.
    """
    described = {name: constants for name, constants in scheme.items() if name != _TEXT}
    for name in described:
        if name not in DETECTORS:
            raise StoreError(
                f"The store was filled with a detector {name!r}, which this version does not have."
            )
    chosen = {name: _constants(name, constants) for name, constants in described.items()}
    banded = [*_alone(described, chosen), *_members(described, chosen)]
    notes = [note for each in banded if (note := _with_threshold(*each, base))]
    text = scheme.get(_TEXT, {})
    config = replace(
        base,
        detectors=chosen,
        reader=text.get("reader", "blocks"),
        fold_chinese="fold_chinese" in text,
    )
    return Recovered(config, tuple(notes))


def _constants(name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a detector's scheme are constants that a user names."""
    if name == _COMBINED:
        return _of_members(described)
    known = set(constants_named(name)) - _DIGESTS
    found = {constant: value for constant, value in described.items() if constant in known}
    if "groups" in described:  # boolean
        found["differing"] = described["groups"] - 1
    return found


def _of_members(described: Mapping[str, Any]) -> dict[str, Any]:
    return {
        rule: {name: _constants(name, described["members"][name]) for name in described[rule]}
        for rule in _RULES
        if rule in described
    }


def _alone(described: Mapping[str, Any], chosen: Mapping[str, dict[str, Any]]) -> Iterator[_Told]:
    for name, constants in described.items():
        yield name, constants, chosen[name]


def _members(described: Mapping[str, Any], chosen: Mapping[str, dict[str, Any]]) -> Iterator[_Told]:
    for members in chosen.get(_COMBINED, {}).values():
        for name, constants in members.items():
            yield name, described[_COMBINED]["members"][name], constants


def _with_threshold(
    name: str, described: Mapping[str, Any], constants: dict[str, Any], base: Config
) -> str | None:
    """Put the threshold from which the bands follow among the constants; say so if it is another one."""
    if not {"bands", "rows"} <= described.keys():
        return None
    slots, weight = _filed(name, constants)
    wanted = described["bands"], described["rows"]
    if choose_bands(base.threshold, slots, weight) == wanted:
        return None
    found = _threshold(slots, weight, wanted)
    if found is None:
        return None  # the store will be refused, and its bands named
    constants["threshold"] = found
    bands, rows = wanted
    return (
        f"{name} was filed in {bands} bands of {rows} slots, as with a threshold of some {found}, "
        "which is assumed."
    )


def _threshold(slots: int, miss_weight: float, wanted: tuple[int, int]) -> float | None:
    """Return a threshold for which these bands are chosen, of those with few digits the middle one."""
    for parts in (20, 100):  # each takes up to 20 ms
        grid = (at / parts for at in range(1, parts + 1))
        fitting = [each for each in grid if choose_bands(each, slots, miss_weight) == wanted]
        if fitting:
            return fitting[len(fitting) // 2]
    return None


def _filed(name: str, constants: Mapping[str, Any]) -> tuple[int, float]:
    """Return how many slots are filed, and how a miss weighs, by the constants and the defaults."""
    if name == MinHash.name:
        slots: int = min(MinHash.filed, constants["slots"])
        return slots, MinHash.miss_weight
    return constants["num_perm"], Datasketch.miss_weight
