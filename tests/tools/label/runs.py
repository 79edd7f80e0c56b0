"""A run with real verdicts on stories, edited copies and similar stories, with known truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl import Page
from tests.batch.corpus import story
from tests.tools.report.judged_ledgers import changed, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORDS = 300
SAME = range(1, 8)  #: changed words in copies: similarities from 0.86 to 0.98
OTHER = range(9, 17)  #: changed words in different stories: similarities from 0.72 to 0.83


def web(copies: int, others: int) -> list[Page]:
    """Stories, each with an edited page; the URL of a copy has ``same``."""
    pages = []
    for number in range(copies + others):
        is_copy = number < copies
        kind, steps = ("same", SAME) if is_copy else ("other", OTHER)
        text = story(number, words=WORDS)
        edited = changed(text, steps[number % len(steps)])
        pages.append(Page(text=text, url=f"https://first.example/{number}", title=f"Story {number}"))
        pages.append(Page(text=edited, url=f"https://{kind}.example/{number}", title=f"After {number}"))
    return pages


def ledger(path: Path, pages: Sequence[Page]) -> Path:
    """Write the ledger of a crawl of these pages."""
    write(path, pages)
    return path
