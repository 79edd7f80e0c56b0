"""What the page is told: the pair that is asked about, and what came of the one before.

Nothing that the run made of a pair goes out before the person has said what they make of it: a figure that is
seen first decides the answer (anchoring: Tversky and Kahneman, Science 185, 1974).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dedupcrawl.report.differing import compare_texts

if TYPE_CHECKING:
    from dedupcrawl.labelling.labels import Answer
    from dedupcrawl.labelling.pairs import OfferedPair, Side
    from dedupcrawl.labelling.sitting import Sitting


def state_of(sitting: Sitting) -> dict[str, object]:
    """Return the state of a sitting as plain JSON values."""
    with sitting.still():
        current, last, progress = sitting.current, sitting.last, sitting.progress
    return {
        "question": None if current is None else _question(current),
        "last": None if last is None else _revealed(*last),
        "progress": asdict(progress),
    }


def _question(pair: OfferedPair) -> dict[str, object]:
    compared = compare_texts(pair.old.text, pair.new.text)
    return {
        "id": pair.id,
        "new": _named(pair.new),
        "old": _named(pair.old),
        "changes": [
            [change.old] if change.is_equal else [change.old, change.new] for change in compared.changes
        ],
        "is_cut": compared.is_cut or pair.new.is_cut or pair.old.is_cut,
    }


def _named(side: Side) -> dict[str, object]:
    return {"url": side.url, "title": side.title, "length": len(side.text)}


def _revealed(pair: OfferedPair, answer: Answer) -> dict[str, object]:
    return {
        "answer": str(answer),
        "relation": pair.relation,
        "similarity": pair.similarity,
        "detector": pair.detector,
        "is_dropped": pair.is_dropped,
    }
