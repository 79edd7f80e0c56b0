"""Settings shared by all workers; those of a single worker are given on its command line."""

from __future__ import annotations

import os

BOT_NAME = "articles"
SPIDER_MODULES = ["articles.spiders"]

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")

# scrapy-redis: one queue of requests and one memory of URLs for all workers.
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
# Otherwise the first worker that ends deletes the requests of all others.
SCHEDULER_PERSIST = True
# A worker ends after this many seconds without requests.
MAX_IDLE_TIME_BEFORE_CLOSE = 30

# dedupcrawl: one memory of articles for all workers, on the same server.
ADDONS = {"dedupcrawl.Addon": 500}
DEDUP_STORE = "scrapy-redis"

ITEM_PIPELINES = {"articles.pipelines.JsonLines": 300}
WORKER = "1"  #: different for each worker: scrapy crawl news -s WORKER=2

ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 0.1
TELNETCONSOLE_ENABLED = False
LOG_LEVEL = "INFO"
