"""What decided, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedupcrawl.config import CONFIG_FIELDS, Config

if TYPE_CHECKING:
    from dedupcrawl.detectors.base import Detector

_USUAL = ("threshold", "length_ratio", "min_chars", "reader", "drop", "keep")
_THRESHOLDS = ("threshold", "share", "tau")  #: what detectors call the least similarity of a match


def settings_of(config: Config) -> dict[str, str]:
    """Return what decides, by the names of the settings: the usual ones, and those that were changed."""
    default = Config()
    told = {"DEDUP_DETECTORS": _shown(config.detectors)}
    for name in CONFIG_FIELDS:
        value = getattr(config, name)
        if name != "detectors" and (name in _USUAL or value != getattr(default, name)):
            told[f"DEDUP_{name.upper()}"] = _shown(value)
    return told


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(of)}".strip() for name, of in value.items())
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def threshold_of(detector: Detector) -> float | None:
    """Return the least similarity of a match, where one number of the detector says it."""
    found = [getattr(detector, name) for name in _THRESHOLDS if hasattr(detector, name)]
    return float(found[0]) if found else None


def counted(number: int, what: str) -> str:
    """Return a number and what it counts: "1 pair", "1,200 pairs"."""
    return f"{number:,} {what}{'s' * (number != 1)}"
