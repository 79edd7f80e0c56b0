"""A run of real verdicts: stories, copies that were touched up, and others that look alike; all is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl import Page
from tests.batch.corpus import story
from tests.tools.report.judged_ledgers import changed, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORDS = 300
SAME = range(1, 8)  #: words that were changed in copies: similarities from 0.86 to 0.98
OTHER = range(9, 17)  #: and in stories of their own that were made after another: 0.72 to 0.83


def web(copies: int, others: int) -> list[Page]:
    """Stories, each with one page that was made after it; ``same`` in its URL says that it is a copy."""
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
    """Write a ledger as a crawl of these pages does."""
    write(path, pages)
    return path
