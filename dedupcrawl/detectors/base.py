"""The contract of a detector: every method is keys plus a sketch.

*Where would a copy of this page be filed?* is answered by exact-match **keys**; *is that old page
really a copy?* by comparing two **sketches**. A bucket hit is never a verdict: ``compare`` decides.

Checks of detectors' constants and of stored sketches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from dedupcrawl.errors import SettingError, StoreError
from dedupcrawl.text.lexicon_file import LANGUAGE_ACCEPTED, is_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dedupcrawl.text.features import Features, FeaturesBatch


class Relation(StrEnum):
    """How a page relates to an earlier one."""

    IDENTICAL = "identical"
    NEAR_DUPLICATE = "near-duplicate"
    EXCERPT = "excerpt"  #: all of the page stands in the older one
    EXPANSION = "expansion"  #: the page contains the older one and more
    UNCHANGED = "unchanged"  #: same URL, same text
    UPDATED = "updated"  #: same URL, other text


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What one detector says of one page; bytes only, so that it is stored without pickle."""

    keys: tuple[bytes, ...]  #: the page is filed under these
    sketch: bytes  #: all that :meth:`Detector.compare` needs of an old page
    probes: tuple[bytes, ...] | None = None  #: where to look, when it differs from ``keys``


@dataclass(frozen=True, slots=True)
class Match:
    """Two pages are related, and this is why."""

    similarity: float  #: 0…1, in the detector's own measure
    relation: Relation
    evidence: Mapping[str, object] = field(default_factory=dict)  #: plain JSON values


@dataclass(frozen=True, slots=True)
class Bar:
    """One condition that a pair must meet for a detector to take it for copies."""

    #: the field of the detector that sets it, as a user names it: "threshold", of a member of several
    #: "simhash.distance"; "" where the method itself says so and nothing sets it
    constant: str
    value: float  #: the constant in force
    found: float  #: what the pair has, in the same unit
    at_least: bool  #: whether ``found`` must reach ``value``; False: must not exceed it
    measure: str = ""  #: what is measured, in words: "similarity", "bits that differ"
    is_strict: bool = False  #: whether it is not met where the two are equal

    @property
    def is_met(self) -> bool:
        """Whether the pair meets it."""
        if self.found == self.value:
            return not self.is_strict
        return self.found > self.value if self.at_least else self.found < self.value


_DIFFERENCE_TO_DIGIT = b"1" + b"0" * 255  #: from bytes in which two differ to characters


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What two sketches have in common, laid out for a person to see.

    Either places that agree or not, or elements by their names.
    """

    unit: str  #: what the places or elements are, in the plural: "slots", "bits", "feature codes", "keywords"
    agreeing: str = ""  #: a character a place: "1" where the sketches agree, "0" where they differ
    shared: tuple[str, ...] = ()  #: elements of both, by name; at most ``MOST_SHOWN`` of each kind
    only_new: tuple[str, ...] = ()
    only_old: tuple[str, ...] = ()

    @classmethod
    def of_places(cls, unit: str, differing: bytes) -> Exhibit:
        """Lay out places, a byte each: 0 where they agree."""
        return cls(unit, differing.translate(_DIFFERENCE_TO_DIGIT).decode())

    @classmethod
    def of_bits(cls, unit: str, differing: int, bits: int) -> Exhibit:
        """Lay out the bits of a number, the lowest first: 0 where they agree."""
        agreeing = ~differing & ((1 << bits) - 1)
        return cls(unit, f"{agreeing:0{bits}b}"[::-1])

    @classmethod
    def of_elements(cls, unit: str, new: Iterable[str], old: Iterable[str]) -> Exhibit:
        """Lay out what two sketches hold, each in its own order and once."""
        mine, others = dict.fromkeys(new), dict.fromkeys(old)
        shared = (each for each in mine if each in others)
        only_new = (each for each in mine if each not in others)
        only_old = (each for each in others if each not in mine)
        return cls(unit, "", *(tuple(islice(kind, MAX_SHOWN)) for kind in (shared, only_new, only_old)))


MAX_SHOWN = 40  #: elements of an exhibit


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one detector says of a new and an older page."""

    detector: str
    match: Match | None  #: exactly what :meth:`Detector.compare` says
    similarity: float | None = None  #: 0…1 in its own measure, matched or not; None: nothing to measure
    figures: Mapping[str, object] = field(default_factory=dict)  #: plain JSON; a match's evidence is among it
    bars: tuple[Bar, ...] = ()  #: what a near-duplicate must meet
    exhibits: tuple[Exhibit, ...] = ()
    silent: str = ""  #: why it says nothing ("the new page has no fingerprint"); "" where it does
    part_bars: tuple[Bar, ...] = ()  #: what an excerpt or expansion must meet, where the method knows them


class Detector(ABC):
    """One published method.

    A subclass is a frozen dataclass: its fields are the method's constants, so that a user names
    them in ``DEDUP_DETECTORS``. ``__post_init__`` raises
    :class:`~dedupcrawl.errors.SettingError` for a constant that makes no sense.
    """

    name: ClassVar[str]

    @abstractmethod
    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File a page. None: it has too little text for this method."""

    def fingerprint_many(self, group: FeaturesBatch, wanted: Sequence[bool]) -> list[Fingerprint | None]:
        """File several pages, each as :meth:`fingerprint` does; None for those that are not wanted."""
        return [
            self.fingerprint(features) if one else None for features, one in zip(group, wanted, strict=True)
        ]

    @abstractmethod
    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Compare the sketches of a new and an older page. None: not related."""

    @abstractmethod
    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Say all that :meth:`compare` finds on its way, whether the pages are related or not.

        For people, not for verdicts: it takes its time. Its figures are the evidence of a match.
        """

    def keys_of(self, sketch: bytes) -> tuple[bytes, ...] | None:  # noqa: ARG002
        """Return the keys of a page from its sketch alone; None: they cannot be had from it.

        A sketch that was made under other constants will do, as long as these shape nothing but keys.
        """
        return None

    @abstractmethod
    def scheme(self) -> Mapping[str, object]:
        """Every constant that shapes keys or sketches (not those that only ``compare`` uses).

        A store remembers the schemes it was filled with and refuses others.
        """


def no_opinion(detector: str, new: bytes, old: bytes) -> Opinion:
    """Say why a detector says nothing of two pages, given their sketches, b"" for what it has none of."""
    if not (new or old):
        return Opinion(detector, None, silent="neither page has a fingerprint")
    return Opinion(detector, None, silent=f"the {'older' if new else 'new'} page has no fingerprint")


def check_integer(detector: Detector, constant: str, least: int, most: int) -> None:
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
    """Check the constants that make the :class:`~dedupcrawl.detectors.relations.MatchBounds` of a detector.

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
    check_integer(detector, "seed", 0, 2**64 - 1)


def check_language(detector: Detector, constant: str) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` unless a constant names a language, or is empty."""
    if not is_language(getattr(detector, constant)):
        raise setting_error(detector, constant, LANGUAGE_ACCEPTED)


def setting_error(detector: Detector, constant: str, accepted: str) -> SettingError:
    """Name a constant as the user wrote it."""
    return SettingError(f"detectors[{detector.name!r}].{constant}", getattr(detector, constant), accepted)


def sketch_error(detector: Detector, sketch: bytes) -> StoreError:
    """Say that a sketch was not made by this detector, or was cut."""
    return StoreError(
        f"a stored sketch of {len(sketch)} bytes is not one of detector {detector.name!r} with its present "
        "constants: the store is damaged or was filled by another version"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
