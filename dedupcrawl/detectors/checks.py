"""Checks of detectors' constants and of stored sketches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.errors import SettingError, StoreError
from dedupcrawl.text.lexicon_file import LANGUAGE_ACCEPTED, is_language

if TYPE_CHECKING:
    from dedupcrawl.detectors.base import Detector


def check_whole(detector: Detector, constant: str, least: int, most: int) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` unless a constant is a whole number in a range."""
    value = getattr(detector, constant)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise setting_error(detector, constant, f"a whole number from {least} to {most}")


def check_share(detector: Detector, constant: str) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` unless a constant is above 0 and at most 1."""
    value = getattr(detector, constant)
    if not _is_number(value) or not 0 < value <= 1:
        raise setting_error(detector, constant, "a number above 0, at most 1")


def check_ratio(detector: Detector, constant: str) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` unless a constant is at least 1."""
    value = getattr(detector, constant)
    if not _is_number(value) or not value >= 1:
        raise setting_error(detector, constant, "a number of at least 1")


def check_bounds(detector: Detector, similarity: str) -> None:
    """Check the constants that make the :class:`~dedupcrawl.detectors.relations.Bounds` of a detector.

    Args:
        detector: it has the constants ``length_ratio`` and ``containment``.
        similarity: name of its constant for the least similarity.

    Raises:
        SettingError: a constant is not accepted.
    """
    check_share(detector, similarity)
    check_ratio(detector, "length_ratio")
    check_share(detector, "containment")


def check_seed(detector: Detector) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` unless the seed is a whole number of 64 bits."""
    check_whole(detector, "seed", 0, 2**64 - 1)


def check_language(detector: Detector, constant: str) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` unless a constant names a language, or is empty."""
    if not is_language(getattr(detector, constant)):
        raise setting_error(detector, constant, LANGUAGE_ACCEPTED)


def setting_error(detector: Detector, constant: str, accepted: str) -> SettingError:
    """Name a constant as the user wrote it."""
    return SettingError(f"detectors[{detector.name!r}].{constant}", getattr(detector, constant), accepted)


def foreign_sketch(detector: Detector, sketch: bytes) -> StoreError:
    """Say that a sketch was not made by this detector, or was cut."""
    return StoreError(
        f"a stored sketch of {len(sketch)} bytes is not one of detector {detector.name!r} with its present "
        "constants: the store is damaged or was filled by another version"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
