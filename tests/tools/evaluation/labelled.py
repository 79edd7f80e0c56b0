"""Labels made from texts whose relation is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.config import Config
from dedupcrawl.tools.evaluation.dataset import LabelledPage, ParsedPageCache
from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport, judge_pages
from dedupcrawl.tools.label.labels import AnswerKind, Label
from dedupcrawl.tools.label.pairs import OfferedPage, OfferedPair, StratumPairs
from tests.batch.corpus import story
from tests.tools.report.judged_ledgers import changed

if TYPE_CHECKING:
    from collections.abc import Iterable

WORDS = 300


def label(
    number: int, words: int, answer: AnswerKind = AnswerKind.SAME, stratum: StratumPairs | None = None, more: str = ""
) -> Label:
    """A story, and the same with so many words changed; each changed one costs some 0.02 of similarity."""
    text = story(number, words=WORDS)
    old, new = (OfferedPage.of(f"o{number}", "", text), OfferedPage.of(f"n{number}", "", changed(text, words) + more))
    return Label(OfferedPair(new, old, "", 0.0, "minhash", str(number)), answer, stratum)


def labels(words: Iterable[int], last_same: int) -> list[Label]:
    """Labels of pairs with so many changed words; up to ``last_same`` of them they are the same."""
    return [
        label(number, each, AnswerKind.SAME if each <= last_same else AnswerKind.DIFFERENT)
        for number, each in enumerate(words)
    ]


def evaluate_duplicates(rows: Iterable[LabelledPage], config: Config | None = None) -> DuplicatesReport:
    """Read labelled pages and judge them by ``config`` (default: ``Config()``)."""
    config = config or Config()
    return judge_pages(ParsedPageCache(rows).read(config), config)
