"""The interface of a detector: exact-match keys for the lookup, and a sketch for the comparison.

Pages with a common key are candidates. Two pages match only if :meth:`Detector.compare` matches their
sketches. This module also has :class:`Assessment`, the full result of a comparison, and the checks of constants
and sketches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dedupcrawl.errors import DamageError, SettingError
from dedupcrawl.text.lexicon import LANGUAGE_ACCEPTED, is_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dedupcrawl.text.features import Features, FeaturesBatch


MAX_LENGTH_SLACK = 10**9  #: characters: no page is that long
MAX_SHOWN = 40  #: highest number of elements of each kind in a piece of evidence
_DIFFERENCE_TO_DIGIT = b"1" + b"0" * 255  #: maps 0 to "1" (agrees) and all other bytes to "0"


class Relation(StrEnum):
    """How a page relates to an earlier page."""

    IDENTICAL = "identical"
    NEAR_DUPLICATE = "near-duplicate"
    EXCERPT = "excerpt"  #: the earlier page contains all of the page
    EXPANSION = "expansion"  #: the page contains all of the earlier page and more
    UNCHANGED = "unchanged"  #: same URL, same text
    UPDATED = "updated"  #: same URL, different text
    REFRESHED = "refreshed"  #: same URL, same names, near-equal text, the same prices, dates and measures
    SIBLING = "sibling"  #: near-equal text about something else, mostly on the same site


#: Relations of a page that repeats an earlier one.
DUPLICATE_RELATIONS = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED})
#: Relations that one earlier page can have to a page of its site, by the names and values of both.
COPIES = (Relation.NEAR_DUPLICATE, Relation.IDENTICAL)
#: Relations of two versions of a page.
VERSIONS = frozenset({Relation.UPDATED, Relation.REFRESHED})


class Fingerprint(NamedTuple):
    """The result of one detector for one page. It has bytes only, so that it is stored without pickle."""

    keys: tuple[bytes, ...]  #: the page is stored under these
    sketch: bytes  #: the input of :meth:`Detector.compare`
    probes: tuple[bytes, ...] | None = None  #: keys for the lookup, if they differ from ``keys``


@dataclass(frozen=True, slots=True)
class Match:
    """The relation of two pages, with its evidence."""

    similarity: float  #: 0…1, in the detector's own measure
    relation: Relation
    evidence: Mapping[str, object] = field(default_factory=dict)  #: plain JSON values


@dataclass(frozen=True, slots=True)
class Threshold:
    """One condition that a pair must meet to match."""

    #: name of the constant: "threshold", for a member of ``combined`` "simhash.distance"; "" for a fixed
    #: condition of the method
    constant: str
    value: float  #: value of the constant
    found: float  #: value of the pair, in the same unit
    at_least: bool  #: True: a lower bound of ``found``; False: an upper bound
    measure: str = ""  #: name of the measure: "similarity", "bits that differ"
    is_strict: bool = False  #: whether equal values do not meet it

    @property
    def is_met(self) -> bool:
        """Whether the pair meets the condition."""
        if self.found == self.value:
            return not self.is_strict
        return self.found > self.value if self.at_least else self.found < self.value


@dataclass(frozen=True, slots=True)
class Evidence:
    """The common parts and the differences of two sketches, for display.

    It has either positions that agree or differ, or elements with names.
    """

    unit: str  #: what the positions or elements are, in the plural: "slots", "bits", "feature codes"
    agreeing: str = ""  #: one character per position: "1" where the sketches agree, else "0"
    shared: tuple[str, ...] = ()  #: elements of both; at most ``MAX_SHOWN`` of each kind
    only_new: tuple[str, ...] = ()  #: elements of the new page only
    only_old: tuple[str, ...] = ()  #: elements of the earlier page only

    @classmethod
    def of_places(cls, unit: str, differing: bytes) -> Evidence:
        """Build it from one byte per position, which is 0 where the sketches agree."""
        return cls(unit, differing.translate(_DIFFERENCE_TO_DIGIT).decode())

    @classmethod
    def of_bits(cls, unit: str, differing: int, bits: int) -> Evidence:
        """Build it from a number of ``bits`` bits, which are 0 where the sketches agree; lowest bit first."""
        agreeing = ~differing & ((1 << bits) - 1)
        return cls(unit, f"{agreeing:0{bits}b}"[::-1])

    @classmethod
    def of_elements(cls, unit: str, new: Iterable[str], old: Iterable[str]) -> Evidence:
        """Build it from the names of elements in display order; repetitions are ignored."""
        in_new, in_old = dict.fromkeys(new), dict.fromkeys(old)
        shared = (name for name in in_new if name in in_old)
        only_new = (name for name in in_new if name not in in_old)
        only_old = (name for name in in_old if name not in in_new)
        return cls(unit, "", *(tuple(islice(names, MAX_SHOWN)) for names in (shared, only_new, only_old)))


@dataclass(frozen=True, slots=True)
class Assessment:
    """The full result of one detector for a new and an earlier page."""

    detector: str  #: name of the detector
    match: Match | None  #: the result of :meth:`Detector.compare`
    similarity: float | None = None  #: 0…1, also without a match; None: not measurable
    figures: Mapping[str, object] = field(default_factory=dict)  #: JSON values; includes a match's evidence
    thresholds: tuple[Threshold, ...] = ()  #: the conditions of a near-duplicate
    evidence: tuple[Evidence, ...] = ()  #: common parts and differences, for display
    silent: str = ""  #: reason why there is no result; "" if there is one
    part_thresholds: tuple[Threshold, ...] = ()  #: conditions of an excerpt or expansion, if the method has them


class Detector(ABC):
    """One published method.

    A subclass is a frozen dataclass. Its fields are the constants of the method, which users set in
    ``DEDUP_DETECTORS``.

    Raises:
        SettingError: A constant is not in its range.
    """

    name: ClassVar[str]  #: key of ``DEDUP_DETECTORS``

    @abstractmethod
    def fingerprint(self, features: Features) -> Fingerprint | None:
        """Compute the fingerprint of a page.

        Args:
            features: The page.

        Returns:
            Keys and sketch; ``None`` if the page has too little text for this method.
        """

    def fingerprint_many(self, batch: FeaturesBatch, wanted: Sequence[bool]) -> list[Fingerprint | None]:
        """Compute the fingerprints of several pages, with the same results as :meth:`fingerprint`.

        Args:
            batch: The pages.
            wanted: For each page whether its fingerprint is needed.

        Returns:
            One fingerprint per page; ``None`` also for pages that are not wanted.
        """
        pages = zip(batch, wanted, strict=True)
        return [self.fingerprint(features) if is_wanted else None for features, is_wanted in pages]

    @abstractmethod
    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Compare two sketches of this detector with the same :meth:`scheme`.

        Args:
            new: Sketch of the new page.
            old: Sketch of the earlier page.

        Returns:
            How the new page relates to the earlier one; ``None`` if it does not.

        Raises:
            DamageError: A sketch is damaged or was made with other constants.
        """

    def relations(self, new: bytes, olds: Sequence[bytes]) -> list[Relation | None]:
        """Return the relation that :meth:`compare` finds between a new page and each of many earlier ones.

        Args:
            new: Sketch of the new page.
            olds: Sketches of the earlier pages, b"" for a page that has none.

        Raises:
            DamageError: A sketch is damaged or was made with other constants.
        """
        matches = (self.compare(new, old) if old else None for old in olds)
        return [None if match is None else match.relation for match in matches]

    @abstractmethod
    def assess(self, new: bytes, old: bytes) -> Assessment:
        """Return the full result of a comparison, whether the pages match or not.

        It is for reports, not for verdicts, and may be slow. ``figures`` includes the evidence of a match.

        Args:
            new: Sketch of the new page.
            old: Sketch of the earlier page.

        Raises:
            DamageError: A sketch is damaged or was made with other constants.
        """

    def keys_from_sketch(self, sketch: bytes) -> tuple[bytes, ...] | None:  # noqa: ARG002
        """Return the keys of a page from its sketch alone.

        Args:
            sketch: A sketch of this detector. Constants that affect only keys may have had other values.

        Returns:
            The keys; ``None`` if this method cannot compute them from a sketch.
        """
        return None

    @abstractmethod
    def scheme(self) -> Mapping[str, object]:
        """Return all constants that affect keys or sketches, as JSON values.

        A store records the schemes of its detectors and refuses others. Constants that only :meth:`compare`
        uses are not included.
        """

    def constants(self, *names: str) -> dict[str, object]:
        """Return these constants by name."""
        return {name: getattr(self, name) for name in names}

    def check_integer(self, constant: str, least: int, most: int) -> None:
        """Require a constant to be an integer from ``least`` to ``most``."""
        value = getattr(self, constant)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.setting_error(constant, f"a whole number from {least} to {most}")

    def check_number(self, constant: str, accepted: str, is_accepted: Callable[[float], bool]) -> None:
        """Require a constant to be a number that ``is_accepted``; ``accepted`` describes these numbers."""
        value = getattr(self, constant)
        if not isinstance(value, int | float) or isinstance(value, bool) or not is_accepted(value):
            raise self.setting_error(constant, accepted)

    def check_share(self, constant: str) -> None:
        """Require a constant to be a number above 0 and at most 1."""
        self.check_number(constant, "a number above 0, at most 1", lambda value: 0 < value <= 1)

    def check_ratio(self, constant: str) -> None:
        """Require a constant to be a number of at least 1."""
        self.check_number(constant, "a number of at least 1", lambda value: value >= 1)

    def check_lengths(self) -> None:
        """Check the constants ``length_ratio`` and ``length_slack``."""
        self.check_ratio("length_ratio")
        self.check_integer("length_slack", 0, MAX_LENGTH_SLACK)

    def check_bounds(self, similarity: str) -> None:
        """Check the constants ``length_ratio``, ``length_slack``, ``containment`` and ``similarity``."""
        self.check_share(similarity)
        self.check_lengths()
        self.check_share("containment")

    def check_seed(self) -> None:
        """Require the seed to be a 64-bit integer."""
        self.check_integer("seed", 0, 2**64 - 1)

    def check_language(self) -> None:
        """Require the language to be a language code or an empty string."""
        constant = "language"
        if not is_language(getattr(self, constant)):
            raise self.setting_error(constant, LANGUAGE_ACCEPTED)

    def setting_error(self, constant: str, accepted: str) -> SettingError:
        """Return the error for a constant, under the name that the user wrote."""
        return SettingError(f"detectors[{self.name!r}].{constant}", getattr(self, constant), accepted)

    def sketch_error(self, sketch: bytes) -> DamageError:
        """Return the error for a sketch that is damaged or was made by another detector."""
        return DamageError(
            f"a stored sketch of {len(sketch)} bytes is not one of detector {self.name!r} with its present "
            "constants: the store is damaged or was filled by another version"
        )


class CountingDetector(Detector):
    """A method by which two pages match if enough parts of their sketches are equal."""

    needed_constant: ClassVar[str]  #: name of the constant with the lowest number of equal parts of a match
    part: ClassVar[str]  #: what the parts are called, in the plural

    @abstractmethod
    def measure(self, new: bytes, old: bytes) -> tuple[int, float, dict[str, object], bytes]:
        """Compare two sketches.

        Returns:
            The number of equal parts; the similarity, 0…1; the evidence; one byte for each part of the new page,
            which is 0 where the sketches agree.

        Raises:
            DamageError: A sketch is damaged or was made with other constants.
        """

    def compare(self, new: bytes, old: bytes) -> Match | None:
        equal, similarity, evidence, _ = self.measure(new, old)
        return Match(similarity, Relation.NEAR_DUPLICATE, evidence) if equal >= self._needed else None

    def assess(self, new: bytes, old: bytes) -> Assessment:
        equal, similarity, evidence, differing = self.measure(new, old)
        threshold = Threshold(self.needed_constant, self._needed, equal, at_least=True, measure=f"equal {self.part}")
        piece = Evidence.of_places(self.part, differing)
        return Assessment(self.name, self.compare(new, old), similarity, evidence, (threshold,), (piece,))

    @property
    def _needed(self) -> int:
        needed: int = getattr(self, self.needed_constant)
        return needed


def no_assessment(detector: str, new: bytes, old: bytes) -> Assessment:
    """Return the result for a pair with at least one empty sketch, because a page has no fingerprint."""
    if not (new or old):
        return Assessment(detector, None, silent="neither page has a fingerprint")
    return Assessment(detector, None, silent=f"the {'older' if new else 'new'} page has no fingerprint")
