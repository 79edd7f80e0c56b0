"""The tests that ``make test`` leaves out. ``make test-all`` runs them too: they have the mark ``slow``.

A test is slow because of a fixture that it uses, or because a row of :data:`PARTS` names it. Who names a file or a
folder (``pytest tests/stores``) runs all of its tests. ``make cost`` prints the processor time of each file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MARK = "slow"
COLLECTED = pytest.StashKey[list[str]]()  #: ids of the tests that were collected, slow ones included

#: Fixtures whose tests are slow.
FIXTURES: Mapping[str, str] = MappingProxyType(
    {
        "built": "the documentation is built in two languages",
        "nodes": "a cluster of six servers",
        "open_tab": "a browser",
        "page_runners": "the code blocks of the documentation",
        "session": "Spark, which starts a Java",
        "tab": "a browser",
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
    # Faults and clusters. Every day tests/crawl kills a worker, lets two share a store, and restarts a server.
    Part("faults/test_storm.py", "storms", "a_short_storm"),
    Part("faults/test_faults.py", "workers are killed until a crawl has ended"),
    Part("stores/test_*.py", "a cluster of six servers", r"\[cluster"),
    Part("stores/test_redis_cluster*.py", "clusters"),
    Part("crawl/test_cluster.py", "a cluster"),
    Part("crawl/test_closing.py", "crawls that wait for a server that has gone", "server_leaves_first"),
    Part("stores/test_cluster_protocol.py", "a model, visited exhaustively"),
    Part("stores/test_eviction.py", "a server evicts keys until a stored page is lost", "no_policy"),
    Part("stores/test_damage.py", "30 of 40 seeds", r"-[1-3]\d\]"),
    Part("examples/test_[cdw]*.py", "several workers of scrapy-redis; a wheel"),
    Part("plugins/test_*.py", "packages of others, which change with them and not with this one"),
    # What a person sees.
    Part("test_browser.py", "a browser"),
    Part("cli/test_report.py", "a browser", "in_a_browser"),
    Part("tools/inspect/test_render.py", "a browser", "^(?!test_without_scripts)"),
    Part("tools/label/test_end_to_end.py", "a browser"),
    Part("tools/report/test_html_bundle.py", "a browser", "is_whole|theme|arrive|is_text"),
    Part("tools/report/test_messages.py", "a browser", "browser|can_be_read"),
    # Many pages.
    Part("crawl/test_known_bodies.py", "twelve crawls each", r"_that_are_read\[(?!defaults)|a_server"),
    Part("crawl/test_feeds.py", "twice as many pages as a crawl may claim", "many_pages_wait"),
    Part("sites/test_kinds.py", "hundreds of tests of the sites that other tests use"),
    Part("sites/test_labelled.py", "1,627 labelled pages"),
    Part("sites/test_twins.py", "labelled pages", "real_pages"),
    Part("sites/test_batch.py", "all sites, in several batches", "those_of_a_crawl"),
    Part("page/test_compiled.py", "labelled pages", "labelled_pages"),
    Part("page/test_topic.py", "labelled pages", "scores_do_not_fall"),
    Part("tools/inspect/test_positions.py", "labelled pages", "real_pages"),
    Part("tools/evaluation/test_claims.py", "labelled pages"),
    Part("text/test_lexicon.py", "labelled pages; the whole lexicon", "chinese_pages|built_in_chinese_is_jiebas"),
    Part("text/test_words.py", "labelled pages", "real_pages"),
    Part("text/test_kernel.py", "texts of ten megabytes", "ten_megabytes|memory_is_returned"),
    Part("tools/demo/test_detectors.py", "a crawl of the demo with each detector"),
)


def mark(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow ones among the collected tests."""
    config.stash[COLLECTED] = [item.nodeid for item in items]
    for item in items:
        if is_slow(item.nodeid, getattr(item, "fixturenames", ())):
            item.add_marker(MARK)


def is_slow(nodeid: str, fixtures: Collection[str] = ()) -> bool:
    """Whether ``make test`` leaves out a test that uses these fixtures."""
    return not FIXTURES.keys().isdisjoint(fixtures) or any(part.has(nodeid) for part in PARTS)
