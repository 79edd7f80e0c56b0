"""What is said about a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.detectors.base import Relation


class Status(StrEnum):
    """The three things that can be said of a page."""

    UNIQUE = "unique"  #: it has content of its own (it may still be related to an earlier page)
    DUPLICATE = "duplicate"
    UNCHECKED = "unchecked"  #: it could not be judged, and is kept; ``reason`` says why


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said about a page, and why a person should believe it."""

    url: str
    status: Status
    keep: bool  #: False: by the settings in force the page is to be dropped
    relation: Relation | None = None
    of: str | None = None  #: URL of the page it relates to: the first of its kind
    cluster: str | None = None  #: the same for all pages with the same content
    similarity: float | None = None  #: 0…1, in the measure of ``detector``
    detector: str | None = None  #: "url" where only the URL is the same: the page was rewritten
    evidence: Mapping[str, object] = field(default_factory=dict)
    reason: str | None = None  #: why a page is unchecked
    supersedes: str | None = None  #: URL of the page that this one replaces (``keep="latest"``)

    @property
    def is_duplicate(self) -> bool:
        """Whether the page repeats an earlier one (kept or not)."""
        return self.status == "duplicate"

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values; fields that say nothing are left out."""
        plain: dict[str, object] = {"url": self.url, "status": str(self.status), "keep": self.keep}
        for name in ("relation", "of", "cluster", "similarity", "detector", "reason", "supersedes"):
            value = getattr(self, name)
            if value is not None:
                plain[name] = str(value) if name == "relation" else value
        if self.evidence:
            plain["evidence"] = dict(self.evidence)
        return plain
