"""The figures in the log and the heartbeat, and their intervals."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from dedupcrawl.crawl import rule_summary
from dedupcrawl.crawl import stats as stats_module
from dedupcrawl.crawl.progress import CallStats, OutageState, PageCounts, ProgressMonitor
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CATALOGUE, MAX_FAILURES, MAX_SITE_WARNINGS, CrawlStats
from dedupcrawl.crawl.store_client import StoreAwayError
from dedupcrawl.decision import unchecked
from dedupcrawl.errors import SettingError, StoreError, StoreFullError
from dedupcrawl.utils.messages import read_chinese
from tests.crawl.distant import Network
from tests.crawl.running import IN_TURN, REACTORS, crawl
from tests.crawl.site import fancy, plain, text
from tests.crawl.test_distant import over

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.site import Site


def test_a_store_full_of_damage_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    settings = SimpleNamespace(getbool=lambda name: False)
    crawler: Any = SimpleNamespace(settings=settings, spider=None)
    crawler.stats = MemoryStatsCollector(crawler)
    stats = CrawlStats(crawler)
    for number in range(1000):
        stats.store_failed(StoreError(f"key 'records' has a value at {number // 2} that is not one of ours"))
        stats.store_failed(StoreError("away"), quiet=True)

    assert crawler.stats.get_value("dedup/store_errors") == 2000
    assert len(caplog.messages) == MAX_FAILURES + 1
    assert all(f"has a value at {number} " in caplog.text for number in range(MAX_FAILURES))
    assert "away" not in caplog.text


def test_a_broad_crawl_of_strange_sites_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    crawler: Any = SimpleNamespace(settings=SimpleNamespace(getbool=lambda name: False), spider=None)
    crawler.stats = MemoryStatsCollector(crawler)
    stats = CrawlStats(crawler)
    sites = MAX_SITE_WARNINGS + 50
    for site in range(sites):
        for page in range(60):
            stats.judged(unchecked(f"https://site{site}.example/{page}", "empty"))

    assert crawler.stats.get_value("dedup/conspicuous_sites") == sites
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert len(caplog.messages) == MAX_SITE_WARNINGS + 1
    assert caplog.messages[0].startswith("Of 40 pages of site0.example, 40 were not read: empty 40; for example https:")
    assert caplog.messages[-1] == "More than 100 sites are conspicuous; further ones are only counted"


def test_a_page_that_is_judged_again_is_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    crawler: Any = SimpleNamespace(settings=SimpleNamespace(getbool=lambda name: False), spider=None)
    crawler.stats = MemoryStatsCollector(crawler)
    stats = CrawlStats(crawler)
    for page in range(39):
        stats.judged(unchecked(f"https://site.example/{page}", "empty"))
        stats.judged(unchecked(f"https://site.example/{page}", "empty"), again=True)
    assert caplog.messages == []


def test_waits_are_counted_since_they_were_last_asked_for() -> None:
    times = CallStats()
    assert times.reset() == (0, 0.0, 0.0)
    for _ in range(3):
        with times.measuring(unless=StoreAwayError):
            pass
    calls, mean, worst = times.reset()
    assert calls == 3
    assert 0 < mean <= worst
    assert times.reset() == (0, 0.0, 0.0)


def test_a_call_that_fails_was_waited_for_and_one_that_is_not_made_was_not() -> None:
    times = CallStats()
    for error in (StoreError("full"), StoreAwayError("away")):
        with pytest.raises(type(error)), times.measuring(unless=StoreAwayError):
            raise error
    assert times.reset()[0] == 1


LINE = re.compile(
    r"Deduplicated (\d+) pages \(at \d+ pages/min\), kept (\d+) \(at \d+ pages/min\), "
    r"dropped (\d+) \(at \d+ pages/min\)"
)


class Told:
    """A crawl as far as its line is concerned."""

    def __init__(self, **options: Any) -> None:
        self.counts: Counter[str] = Counter()
        self.outage: OutageState | None = None
        self.times = CallStats()
        double: Any = self
        crawler: Any = SimpleNamespace(spider=None)
        chosen = Options("memory://", "news", config=Any, **options)  # type: ignore[arg-type]
        self.progress = ProgressMonitor(crawler, chosen, double, double)

    def lines(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        caplog.clear()
        with caplog.at_level("INFO"):
            self.progress.log()
        return [message for message in caplog.messages if message.startswith("Deduplicated")]


def without_rates(line: str) -> str:
    return re.sub(r" \(at \d+ pages/min\)", "", line)


def test_what_happened_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    assert told.lines(caplog) == []
    told.counts.update({"checked": 113, "kept": 90, "dropped": 23, "duplicate": 24})
    (line,) = told.lines(caplog)
    assert without_rates(line) == "Deduplicated 113 pages, kept 90, dropped 23"
    assert LINE.fullmatch(line)
    assert told.lines(caplog) == []
    told.counts["unchecked/index"] = 2
    told.counts["unchecked/store"] = 1
    assert [without_rates(line) for line in told.lines(caplog)] == [
        "Deduplicated 113 pages, kept 90, dropped 23, 3 unchecked"
    ]


def test_where_nothing_is_dropped_duplicates_are_found(caplog: pytest.LogCaptureFixture) -> None:
    told = Told(drops=False)
    told.counts.update({"checked": 5, "kept": 5, "duplicate": 2})
    (line,) = told.lines(caplog)
    assert without_rates(line) == "Deduplicated 5 pages, kept 5, found 2 duplicates"


@pytest.mark.parametrize(
    ("error", "how", "said"),
    [
        (StoreError("refused"), "keep", "away for 0 s, 7 pages were kept unchecked meanwhile"),
        (StoreFullError("no room"), "keep", "full for 0 s, 7 pages were kept unchecked meanwhile"),
        (StoreError("refused"), "wait", "away for 0 s, pages wait for it"),
    ],
)
def test_a_store_that_is_away_is_logged_every_time(
    caplog: pytest.LogCaptureFixture, error: StoreError, how: str, said: str
) -> None:
    told = Told(on_store_error=how)
    told.outage = OutageState(error)
    told.outage.began += 1e6  # so that it has lasted no second, however busy the machine is
    told.outage.pages = 7
    for _ in range(2):
        (line,) = told.lines(caplog)
        assert re.sub(r"for -?\d+ s", "for 0 s", line).endswith(f"; the store has been {said}")
    told.outage = None
    assert told.lines(caplog) == []


def test_pages_that_wait_no_longer_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    told = Told(on_store_error="wait")
    told.outage = OutageState(StoreError("refused"))
    told.outage.over.set()
    (line,) = told.lines(caplog)
    assert line.endswith("0 pages were kept unchecked meanwhile")


def test_a_slow_store_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    for seconds in (0.02, 0.03):
        told.times.add(seconds)
    assert told.lines(caplog) == []
    for seconds in (0.02, 1.804):
        told.times.add(seconds)
    (line,) = told.lines(caplog)
    assert line.endswith("; calls of the store took 912 ms, the longest 1804 ms")
    assert told.lines(caplog) == []


def test_who_asks_for_waits_does_not_take_them_from_others() -> None:
    times = CallStats()
    beside = times.split()
    with times.measuring(unless=StoreAwayError):
        pass
    assert times.reset()[0] == beside.reset()[0] == 1
    assert times.reset()[0] == beside.reset()[0] == 0


counts = st.integers(0, 10**9)


@given(st.tuples(counts, counts, counts), st.tuples(counts, counts, counts), st.floats(0.001, 1e6))
def test_rates_add_up(first: tuple[int, int, int], more: tuple[int, int, int], seconds: float) -> None:
    before = PageCounts(*first)
    now = PageCounts(*(a + b for a, b in zip(first, more, strict=True)))
    said = now.figures(before, seconds)
    for name, count in zip(("checked", "kept", "repeats"), more, strict=True):
        assert said[f"{name}_rate"] * seconds / 60 == pytest.approx(count)


@pytest.mark.parametrize(("value", "seconds"), [(60.0, 60.0), ("5", 5.0), (0, 0.0), ("0", 0.0), (None, 0.0), (-1, 0.0)])
def test_the_interval_is_that_of_scrapy(value: Any, seconds: float) -> None:
    options = Options.from_settings(Settings({"LOGSTATS_INTERVAL": value}), "news")
    assert options.log_interval == seconds


def test_an_interval_that_is_none_is_refused() -> None:
    with pytest.raises(SettingError, match="LOGSTATS_INTERVAL = 'often' is not accepted: seconds"):
        Options.from_settings(Settings({"LOGSTATS_INTERVAL": "often"}), "news")


@pytest.mark.parametrize("reactor", REACTORS)
def test_a_crawl_logs_how_far_it_is(site: Site, tmp_path: Path, reactor: str) -> None:
    """Items take a second to be stored, and lines come sooner, on the same clock."""
    urls = [site.put(f"/{n}", lay("Ice", text(1))) for n, lay in enumerate((plain, fancy))]
    settings = {"LOGSTATS_INTERVAL": 0.1, "ITEM_PIPELINES": {"tests.crawl.components.Slow": 300}, "SLOW": 1.0}
    crawled = crawl(tmp_path, reactor=reactor, settings=settings, urls=urls)
    said = [tuple(map(int, found)) for line in crawled.log for found in LINE.findall(line["text"])]
    assert said
    assert len(set(said)) == len(said) <= 4, "it is told when there is news, and not every time"
    assert said == sorted(said)
    assert said[-1] <= (2, 1, 1)
    assert all(line["level"] == "INFO" for line in crawled.log if LINE.search(line["text"]))


def test_a_crawl_without_lines_of_scrapy_has_none_of_ours(site: Site, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    settings = {"LOGSTATS_INTERVAL": 0, "ITEM_PIPELINES": {"tests.crawl.components.Slow": 300}}
    crawled = crawl(tmp_path, settings=settings, urls=[url])
    assert crawled.dedup["kept"] == 1
    assert crawled.lines("Deduplicated") == []


def test_a_crawl_logs_that_its_store_is_away(site: Site, tmp_path: Path) -> None:
    network = Network(tmp_path / "net")
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(3)]
    site.on_request = lambda count: network.cut() if count == 2 else None
    how: dict[str, Any] = {
        "LOGSTATS_INTERVAL": 0.1,
        "DEDUP_CLOSE_PATIENCE": 0,
        "ITEM_PIPELINES": {"tests.crawl.components.Slow": 300},
        "SLOW": 1.0,
    }
    crawled = crawl(tmp_path, settings=over(network, CONCURRENT_REQUESTS=1, **how), urls=urls)
    lines = crawled.lines("; the store has been away for ", "INFO")
    assert lines
    assert re.search(r" s, [1-3] pages were kept unchecked meanwhile$", lines[-1])


# -- the language of the summary ------------------------------------------------------------------


def test_a_crawl_sums_up_in_chinese(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", lay("Ice", text(1))) for n, lay in enumerate((plain, fancy))]
    crawled = crawl(tmp_path, settings={"DEDUP_LOG_LANGUAGE": "zh", **IN_TURN}, urls=urls)
    assert crawled.lines("网页：2 = 保留 1 + 未判定而保留 0 + 剔除 1 (duplicate/", "INFO")
    assert not crawled.lines("Pages: ")


def test_every_text_of_the_summary_has_its_chinese_with_the_same_values() -> None:
    used = set()
    for module in (stats_module, rule_summary):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {
                "mark",
                "text",
                "texts.text",
                "self.texts.text",
            }:
                used |= {each.value for each in node.args if isinstance(each, ast.Constant)}
    known = read_chinese(CATALOGUE).messages
    values = re.compile(r"%\(\w+\)\w|\{\w+\}").findall
    assert used - known.keys() == set()
    assert [each for each in known if sorted(values(each)) != sorted(values(known[each]))] == []
    source = inspect.getsource(stats_module)
    assert [each for each in known if each not in used and f'"{each}"' not in source] == []
