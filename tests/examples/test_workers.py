"""Workers of the example share queue, URLs and articles, with every supported part of scrapy-redis."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING

from redis import Redis

from dedupcrawl import Deduplicator
from tests.examples.gate import Gate
from tests.examples.project import ARTICLES, CONTENTS, HURRY, TRUTH, counted, eventually, faults

if TYPE_CHECKING:
    import pytest

    from tests.examples.project import Project

ONCE = dict.fromkeys(CONTENTS, 1)
AT_ONCE = 4  #: concurrent requests of a worker
FEW = (*HURRY, "-s", f"CONCURRENT_REQUESTS={AT_ONCE}")
STATS = ("-s", "STATS_CLASS=scrapy_redis.stats.RedisStatsCollector", "-s", "LOGSTATS_INTERVAL=0")


PIPELINES = {"articles.pipelines.JsonLines": 300, "scrapy_redis.pipelines.RedisPipeline": 400}
SUMMED = ("checked", "kept", "dropped", "duplicate")  #: stats of ours that the test adds up over both workers
ITEMS = ("-s", f"ITEM_PIPELINES={json.dumps(PIPELINES)}", "-s", "REDIS_START_URLS_AS_SET=True")
LIFO, FIFO = (("-s", f"SCHEDULER_QUEUE_CLASS=scrapy_redis.queue.{name}") for name in ("LifoQueue", "FifoQueue"))


def test_two_workers_share_all_that_scrapy_redis_shares(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """RedisCrawlSpider, LifoQueue, RedisPipeline, RedisStatsCollector; a set of start addresses, one bad."""
    names = ("one", "two")
    gate = Gate(monkeypatch, {*names}, lambda gate, *_: gate.asked.keys() == {*names})
    with Redis.from_url(project.redis, decode_responses=True) as redis:
        redis.sadd("sections:start_urls", "17", *(json.dumps({"url": url}) for url in project.starts))
        # RedisStatsCollector starts a counter in two commands: a worker can reset what the other has just counted.
        redis.hset("sections:stats", mapping={f"dedup/{name}": 0 for name in SUMMED})
        options = (*FEW, *STATS, *ITEMS, *LIFO)
        workers = [project.crawl(name, *options, "-s", f"USER_AGENT={name}", spider="sections") for name in names]
        logs = [worker.wait() for worker in workers]
        assert redis.exists("sections:requests", "sections:start_urls") == 0
        assert redis.scard("sections:dupefilter") == len(TRUTH)
        pushed = Counter(json.loads(item)["url"] for item in redis.lrange("sections:items", 0, -1))
        stats = redis.hgetall("sections:stats")

    assert project.contents(*names) == ONCE
    assert pushed == Counter(item["url"] for name in names for item in project.items(name))
    assert gate.asked.keys() == {*names}
    assert gate.asked.total() == ARTICLES, "each URL is fetched by one of them"
    assert [fault for log in logs for fault in faults(log)] == []
    assert sum("No start address could be taken" in log for log in logs) == 1
    for name, log in zip(names, logs, strict=True):
        stored = len(project.items(name))
        own = {"checked": gate.asked[name], "kept": stored, "dropped": gate.asked[name] - stored}
        assert counted(log) == own, "each sums up what it did itself, though the stats are of both"
    ours = {name: int(value) for name, value in stats.items() if name.startswith("dedup/")}
    assert ours["dedup/checked"] == ARTICLES
    assert ours["dedup/kept"] == len(CONTENTS)
    assert ours["dedup/dropped"] == ours["dedup/duplicate"] == ARTICLES - len(CONTENTS)
    with Deduplicator(project.redis, "sections") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (len(CONTENTS), 0, 0)


def test_the_dupefilter_must_be_named(project: Project) -> None:
    options = ("-s", "WORKER=1", *HURRY, "-s", "DUPEFILTER_CLASS=scrapy.dupefilters.RFPDupeFilter")
    # The error is logged while Python ends, which a fork of the command server leaves out.
    worker = project.begin([sys.executable, "-m", "scrapy", "crawl", "news", *options], "crawl")
    assert worker.process.wait(300) == 1
    assert "has no attribute 'from_settings'" in worker.log.read_text()


def test_what_a_killed_worker_loses_comes_with_the_next_crawl(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = threading.Event()
    gate = Gate(monkeypatch, {"doomed"}, lambda _, agent, number: number <= 6 or dead.is_set())
    project.push()
    doomed = project.crawl("doomed", *FEW, "-s", "USER_AGENT=doomed", "-s", "DEDUP_LEASE=5", *FIFO)
    eventually(lambda: gate.asked["doomed"] > 6 and project.items("doomed"), "it stores nothing")
    other = project.crawl("other", *FEW, "-s", "DEDUP_LEASE=5", *FIFO)
    eventually(lambda: project.items("other"), "the other stores nothing")
    doomed.process.kill()
    dead.set()
    log = other.wait()
    assert counted(log)["checked"] <= ARTICLES - gate.asked["doomed"], "what it had asked for is lost"
    assert faults(log) == []

    project.push()
    again = counted(project.crawl("again", *FEW, *FIFO, "-s", "SCHEDULER_FLUSH_ON_START=True").wait())
    assert again["checked"] == ARTICLES
    assert set(project.contents("doomed", "other", "again")) == CONTENTS
    assert set(project.contents("other", "again").values()) == {1}, "the living store nothing twice"
