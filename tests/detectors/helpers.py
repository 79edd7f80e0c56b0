"""Features of plain texts, a small lexicon, and real pages, for tests of detectors."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from dedupcrawl.page import read_page
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.lexicon import LexiconHeader, write_counts
from dedupcrawl.tools.evaluation.dataset import read_labelled_pages
from tests.data import data

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.detectors.base import Detector, Fingerprint

#: Of 1,000 documents, so that idf = ln(1000 / n); the commonest has normalised idf 0, the rarest 1.
FREQUENCIES = {"the": 1000, "and": 900, "harbour": 100, "ice": 50, "ferry": 30, "sledge": 20, "pier": 10, "krill": 1}


def small_lexicon(path: Path) -> str:
    """Write a lexicon of ``FREQUENCIES``."""
    head = LexiconHeader("en", "", fold_chinese=False, documents=1000, words=len(FREQUENCIES))
    write_counts(path, head, FREQUENCIES)
    return str(path)


def features(text: str, description: str = "") -> Features:
    return Features(Page(url="", text=text, description=description))


def fingerprint(detector: Detector, text: str) -> Fingerprint:
    found = detector.fingerprint(features(text))
    assert found is not None
    return found


def share_a_key(new: Fingerprint, old: Fingerprint) -> bool:
    return not set(new.keys if new.probes is None else new.probes).isdisjoint(old.keys)


@cache
def real_pages() -> tuple[Features, ...]:
    """Articles in English, Chinese and other languages, with their copies and what is taken for copies."""
    rows = list(read_labelled_pages(data("reprints", "dev.jsonl.gz")))
    clusters = set(islice(dict.fromkeys(row.cluster for row in rows), 30))
    return tuple(Features(read_page(row.html or "", row.url)) for row in rows if row.cluster in clusters)
