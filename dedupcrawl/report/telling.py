"""What decided, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedupcrawl.batch.ordering import ARRIVAL
from dedupcrawl.config import CONFIG_FIELDS, Config

if TYPE_CHECKING:
    from dedupcrawl.batch.job import Job
    from dedupcrawl.detectors.base import Detector

_USUAL = ("threshold", "length_ratio", "min_chars", "reader", "drop", "keep")
_THRESHOLDS = ("threshold", "share", "tau")  #: what detectors call the least similarity of a match


def settings_of(job: Job) -> dict[str, str]:
    """Return what decided, by the names of the settings: the usual ones, and those that were changed."""
    config, default = job.config, Config()
    told = {"DEDUP_DETECTORS": _shown(config.detectors)}
    for name in CONFIG_FIELDS:
        value = getattr(config, name)
        if name != "detectors" and (name in _USUAL or value != getattr(default, name)):
            told[f"DEDUP_{name.upper()}"] = _shown(value)
    return told | ({"--prefer": ",".join(job.prefer)} if job.prefer != (ARRIVAL,) else {})


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(of)}".strip() for name, of in value.items())
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def threshold_of(detector: Detector) -> float | None:
    """Return the least similarity of a match, where one number of the detector says it."""
    found = [getattr(detector, name) for name in _THRESHOLDS if hasattr(detector, name)]
    return float(found[0]) if found else None
