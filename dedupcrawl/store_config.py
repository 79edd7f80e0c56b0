"""Recover a configuration from the scheme of a store, as far as the scheme describes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.constants import constants_named
from dedupcrawl.detectors.datasketch import Datasketch
from dedupcrawl.detectors.lsh import choose_bands
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.errors import StoreError
from dedupcrawl.text.secret_seed import SECRET, SecretSeed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.config import Config

_TEXT = "text"  #: key of a scheme under which it describes how pages are read
_DIGESTS = frozenset({"lexicon", "stop_words"})  #: constants of which a scheme has only a hash
_COMBINED = "combined"
_RULES = ("all_of", "any_of")


@dataclass(frozen=True, slots=True)
class Recovered:
    """A configuration that is compatible with a store."""

    config: Config
    notes: tuple[str, ...] = ()  #: assumptions that were made, as sentences


def recovered(scheme: Mapping[str, Any], base: Config) -> Recovered:
    """Return ``base`` with all constants that the scheme of a store describes.

    A scheme does not contain constants that are used only in comparisons (thresholds, ratios): they stay
    those of ``base``. A secret seed is "secret" unless ``base`` has it. If the threshold does not give the
    bands of a sketch, another threshold that does is assumed.

    Raises:
        StoreError: the scheme names a detector that this version does not have.
    """
    described = {name: constants for name, constants in scheme.items() if name != _TEXT}
    for name in described:
        if name not in DETECTORS:
            raise StoreError(f"The store was filled with detector {name!r}, which this version does not have.")
    chosen = {name: _constants(name, constants) for name, constants in described.items()}
    banded = [(name, constants, chosen[name]) for name, constants in described.items()]
    banded += [
        (name, described[_COMBINED]["members"][name], constants)
        for members in chosen.get(_COMBINED, {}).values()
        for name, constants in members.items()
    ]
    notes = [note for each in banded if (note := _with_threshold(*each, base))]
    text = scheme.get(_TEXT, {})
    reader, fold_chinese = text.get("reader", "blocks"), "fold_chinese" in text
    config = replace(base, detectors=chosen, reader=reader, fold_chinese=fold_chinese)
    if _has_secret(described) and not isinstance(base.seed, SecretSeed):
        config = replace(config, seed=SECRET)
    return Recovered(config, tuple(notes))


def _has_secret(described: object) -> bool:
    """Whether the seed of any detector is a secret of the store."""
    if not isinstance(described, dict):
        return False
    return described.get("seed") == SECRET or any(map(_has_secret, described.values()))


def _constants(name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants in a detector's scheme that a user can set."""
    if name == _COMBINED:
        return {
            rule: {member: _constants(member, described["members"][member]) for member in described[rule]}
            for rule in _RULES
            if rule in described
        }
    known = set(constants_named(name)) - _DIGESTS
    found = {constant: value for constant, value in described.items() if constant in known}
    if found.get("seed") == SECRET:  # the configuration has it
        del found["seed"]
    if "groups" in described:  # boolean
        found["differing"] = described["groups"] - 1
    return found


def _with_threshold(name: str, described: Mapping[str, Any], constants: dict[str, Any], base: Config) -> str | None:
    """Add the threshold that gives the stored bands; return a note if it is not that of ``base``."""
    if not {"bands", "rows"} <= described.keys():
        return None
    slots, weight = _filed(name, constants)
    wanted = described["bands"], described["rows"]
    is_minhash = name == MinHash.name
    if choose_bands(min(base.threshold, MinHash.floor) if is_minhash else base.threshold, slots, weight) == wanted:
        return None
    found = _threshold(slots, weight, wanted)
    if found is None:
        return None  # opening the store will fail, with a message that names the bands
    if is_minhash:
        constants["floor"] = found
    if not is_minhash or base.threshold < found:
        constants["threshold"] = found
    bands, rows = wanted
    return f"{name} was filed in {bands} bands of {rows} slots, as with a threshold of some {found}, which is assumed."


def _threshold(slots: int, miss_weight: float, wanted: tuple[int, int]) -> float | None:
    """Return a threshold that gives these bands: of those with the fewest digits the middle one."""
    for parts in (20, 100):  # each takes up to 20 ms
        grid = (at / parts for at in range(1, parts + 1))
        fitting = [each for each in grid if choose_bands(each, slots, miss_weight) == wanted]
        if fitting:
            return fitting[len(fitting) // 2]
    return None


def _filed(name: str, constants: Mapping[str, Any]) -> tuple[int, float]:
    """Return how many slots are filed in bands, and the weight of a miss."""
    if name == MinHash.name:
        slots: int = min(MinHash.filed, constants["slots"])
        return slots, MinHash.miss_weight
    return constants["num_perm"], Datasketch.miss_weight
