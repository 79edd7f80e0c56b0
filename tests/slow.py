"""The tests that ``make test`` leaves out. ``make test-all`` runs them too: they have the mark ``slow``.

A test is slow because of a fixture that it uses, or because it has a row in :data:`PARTS`. Who names a file or a folder
(``pytest tests/stores``) runs all of its tests. ``make cost`` prints the processor time of each file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

MARK = "slow"

#: Fixtures whose tests are slow.
FIXTURES: Mapping[str, str] = MappingProxyType(
    {
        "session": "Spark: it starts a Java",
        "nodes": "a cluster of six servers",
        "whole_cluster": "the same",
        "page_runners": "the code blocks of the documentation",
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """Slow tests of some files."""

    files: str  #: pattern of :mod:`fnmatch`, from ``tests/`` on
    reason: str
    tests: str = ""  #: regular expression; it is searched in the names of the tests with their parameters

    def has(self, nodeid: str) -> bool:
        """Whether a test is among these."""
        file, _, test = nodeid.partition("::")
        return self.is_of(file) and re.search(self.tests, test) is not None

    def is_of(self, file: str) -> bool:
        """Whether it names this file, whose path begins with ``tests/``."""
        return fnmatchcase(file, f"tests/{self.files}")


PARTS = (
    # Servers and workers under faults. Every day: tests/crawl with one worker that is killed, two that share a store,
    # and a server that restarts.
    Part("faults/test_storm.py", "storms", "test_a_short_storm"),
    Part("faults/test_faults.py", "workers are killed for as long as a crawl takes"),
    Part("stores/test_*.py", "a cluster of six servers", r"\[cluster"),
    Part("stores/test_cluster_protocol.py", "the model of the protocol, visited exhaustively"),
    Part("stores/test_redis_cluster*.py", "clusters"),
    Part("crawl/test_cluster.py", "crawls on a cluster"),
    Part("stores/test_eviction.py", "a server evicts keys for as long as it takes to lose one", "test_no_policy"),
    Part("examples/test_[cdw]*.py", "several workers of scrapy-redis, and a wheel is built"),
    # Pages in a real browser.
    Part("test_browser.py", "a browser"),
    Part("docs/test_site.py", "the documentation is built in two languages, and read in a browser"),
    Part("cli/test_report.py", "a browser", "in_a_browser"),
    Part("tools/inspect/test_render.py", "a browser"),
    Part("tools/label/test_page.py", "a browser"),
    Part("tools/label/test_end_to_end.py", "a browser"),
    Part("tools/report/test_csv.py", "a browser"),
    Part("tools/report/test_html_report_attacks.py", "a browser"),
    Part("tools/report/test_html_report.py", "a browser",
         "^(?!test_(what_fits|less_room|near_misses_keep|the_page_names|pages_without|evidence_is))"),
    Part("tools/report/test_html_bundle.py", "a browser", "whole|theme|arrive|is_text"),
    Part("tools/report/test_messages.py", "a browser", "browser|can_be_read"),
    # Thousands of pages.
    Part("sites/test_kinds.py", "941 tests of the sites that other tests are made of"),
    Part("sites/test_labelled.py", "1,627 labelled pages"),
    Part("sites/test_twins.py", "labelled pages, each in a dozen copies", "real_pages"),
    Part("sites/test_batch.py", "all sites in batches", "those_of_a_crawl"),
    Part("page/test_compiled.py", "all labelled pages", "labelled_pages"),
    Part("page/test_topic.py", "labelled pages", "scores_do_not_fall"),
    Part("tools/inspect/test_positions.py", "labelled pages", "real_pages"),
    Part("text/test_lexicon.py", "all of the lexicon", "built_in_chinese_is_jiebas|real_chinese"),
    Part("text/test_words.py", "labelled pages", "real_pages"),
    Part("tools/evaluation/test_claims.py", "claims of papers, on labelled pages"),
    Part("text/test_kernel.py", "texts of ten megabytes", "ten_megabytes|memory_is_returned"),
    # The demo by every detector.
    Part("tools/demo/test_detectors.py", "a crawl of the demo with each detector"),
)  # fmt: skip


def mark(items: list[pytest.Item]) -> None:
    """Mark the slow ones of the collected tests."""
    for item in items:
        if is_slow(item.nodeid, getattr(item, "fixturenames", ())):
            item.add_marker(MARK)


def is_slow(nodeid: str, fixtures: list[str] | tuple[str, ...] = ()) -> bool:
    """Whether ``make test`` leaves out a test with these fixtures."""
    return not FIXTURES.keys().isdisjoint(fixtures) or any(part.has(nodeid) for part in PARTS)
