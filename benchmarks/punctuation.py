"""Punctuation strings, the third method that the source of the Boolean model compares (claim f).

Of each punctuation mark of the main text the character before it, the mark and the character after it are joined. Two
pages are copies if these strings are equal. The source describes the method in one sentence: it only locates the
marks, finds documents that are equal word for word, and compares each document with all others.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.page.model import Kind, Page
from dedupcrawl.text.features import Features
from dedupcrawl.tools.evaluation.metrics import Scores

if TYPE_CHECKING:
    from dedupcrawl.tools.evaluation.dataset import ParsedCorpus

_marks = re.compile(r"[^\w\s]").finditer


class StringScores(NamedTuple):
    """The scores of the method, counted as in :mod:`dedupcrawl.tools.evaluation.duplicates`."""

    drops: Scores
    pairs: Scores


def punctuation_string(text: str) -> str:
    """Return the punctuation string of a normalised text.

    >>> punctuation_string("rain fell, said ann. rivers rose!")
    'l, n. e!'
    """
    return "".join(text[max(0, mark.start() - 1) : mark.end() + 1] for mark in _marks(text))


def judge_by_punctuation(parsed: ParsedCorpus) -> StringScores:
    """Judge the stream of labelled pages by the equality of their punctuation strings, and count all equal pairs."""
    kept_strings, kept_clusters = set[str](), set[str]()
    clusters: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {}
    right = wrong = missed = 0
    for each in parsed.pages:
        cluster, page = each.row.cluster, each.result
        is_article = isinstance(page, Page) and page.kind is Kind.ARTICLE
        string = punctuation_string(Features(page).text) if isinstance(page, Page) and is_article else ""
        clusters[cluster] += 1
        if string:
            groups.setdefault(string, Counter())[cluster] += 1
        is_dropped, is_copy = bool(string) and string in kept_strings, cluster in kept_clusters
        right += is_dropped and is_copy
        wrong += is_dropped and not is_copy
        missed += is_copy and not is_dropped
        if not is_dropped:
            kept_strings.add(string)
            kept_clusters.add(cluster)
    found = sum(_pairs(group.total()) for group in groups.values())
    equal = sum(_pairs(count) for group in groups.values() for count in group.values())
    copies = sum(map(_pairs, clusters.values()))
    return StringScores(Scores(right, wrong, missed), Scores(equal, found - equal, copies - equal))


def _pairs(count: int) -> int:
    return count * (count - 1) // 2
