"""The contract of a detector: every method is keys plus a sketch.

*Where would a copy of this page be filed?* is answered by exact-match **keys**; *is that old page
really a copy?* by comparing two **sketches**. A bucket hit is never a verdict: ``compare`` decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.detectors.opinion import Opinion
    from dedupcrawl.text.features import Features
    from dedupcrawl.text.group import Group


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

    def fingerprint_many(self, group: Group, wanted: Sequence[bool]) -> list[Fingerprint | None]:
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
