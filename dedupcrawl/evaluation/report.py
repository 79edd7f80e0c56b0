"""What came of a labelled file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from dedupcrawl.evaluation.scores import Scores

if TYPE_CHECKING:
    from collections import Counter

    from dedupcrawl.evaluation.rows import Row
    from dedupcrawl.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Mistake:
    """A page that was wrongly dropped or missed."""

    row: Row
    verdict: Verdict
    kind: str  #: "wrongly dropped" or "missed"

    def to_dict(self) -> dict[str, object]:
        """Return the page, its label and its verdict as plain JSON values."""
        row = self.row
        named = {"id": row.id, "url": row.url, "cluster": row.cluster, "edit": row.edit}
        return {"mistake": self.kind, **named, "verdict": self.verdict.to_dict()}


@dataclass(frozen=True, slots=True)
class Costs:
    """What a page costs on average; ``docs/evaluation.md`` says what is counted."""

    reading_us_per_page: float  #: microseconds of the processor from HTML to page
    us_per_page: float  #: the same from page to verdict
    keys_per_page: float  #: of the pages that got any
    bytes_per_page: float  #: of the same pages: sketches, and the keys in record and index
    candidates_per_page: float  #: earlier records that the store handed out

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values, rounded to a tenth, or where they are small to a thousandth."""
        return {name: round(value, 1 if value >= 10 else 3) for name, value in asdict(self).items()}


FREE = Costs(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class DuplicatesReport:
    """How right one choice of detectors was, and what it cost."""

    detectors: tuple[str, ...]
    pages: int = 0
    unchecked: int = 0  #: pages that no detector could judge
    dropped: int = 0
    right: int = 0
    mistakes: list[Mistake] = field(default_factory=list)
    pairs: Scores = field(default_factory=lambda: Scores(0, 0, 0))
    by_edit: dict[str, Counter[str]] = field(default_factory=dict)
    costs: Costs = FREE

    @property
    def wrongly_dropped(self) -> int:
        """Pages lost: the worst that can happen."""
        return sum(mistake.kind == "wrongly dropped" for mistake in self.mistakes)

    @property
    def missed(self) -> int:
        """Copies stored again."""
        return sum(mistake.kind == "missed" for mistake in self.mistakes)

    @property
    def drops(self) -> Scores:
        """The scores of the stream."""
        return Scores(self.right, self.wrongly_dropped, self.missed)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        drops = {"wrongly_dropped": self.wrongly_dropped, "missed": self.missed}
        pairs = {"wrong": self.pairs.wrong, "missed": self.pairs.missing}
        return {
            "detectors": list(self.detectors),
            "pages": self.pages,
            "unchecked": self.unchecked,
            "drops": self.drops.to_dict() | drops,
            "pairs": self.pairs.to_dict() | pairs,
            "by_edit": {edit: dict(counter) for edit, counter in sorted(self.by_edit.items())},
            **self.costs.to_dict(),
        }
