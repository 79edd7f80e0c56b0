"""Scrapy settings of the demo's crawl: the project's, in a hurry, and with a journal."""

from __future__ import annotations

from dedupcrawl.settings import *  # noqa: F403  # a settings module is the names that it holds

# The sites are on this machine and were made to be crawled.
DOWNLOAD_DELAY = 0
AUTOTHROTTLE_ENABLED = False
CONCURRENT_REQUESTS_PER_DOMAIN = 8

# The crawl writes a feed: what it keeps is safe when that file is closed, and forgotten if it never is.
DEDUP_COMMIT = "feed_slot_closed"

DEDUP_REPORT = "report.html"
EXTENSIONS = {"dedupcrawl.tools.demo.project.Journal": 500}
JOURNAL_FILE = "journal.jsonl"
LOG_LEVEL = "INFO"
