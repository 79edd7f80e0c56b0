"""What the log says, and how often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy.statscollectors import MemoryStatsCollector

from dedupcrawl.crawl.tally import MOST_FAILURES, Tally
from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    import pytest


def test_a_store_full_of_damage_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    settings = SimpleNamespace(getbool=lambda name: False)
    crawler: Any = SimpleNamespace(settings=settings, spider=None)
    crawler.stats = MemoryStatsCollector(crawler)
    tally = Tally(crawler)
    for number in range(1000):
        tally.store_failed(StoreError(f"key 'records' has a value at {number // 2} that is not one of ours"))
        tally.store_failed(StoreError("away"), quiet=True)

    assert crawler.stats.get_value("dedup/store_errors") == 2000
    assert len(caplog.messages) == MOST_FAILURES + 1
    assert all(f"has a value at {number} " in caplog.text for number in range(MOST_FAILURES))
    assert "away" not in caplog.text
