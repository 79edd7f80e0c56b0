"""Scrapy settings of the demo: those of a project, without delays, and with a journal."""

from __future__ import annotations

from dedupcrawl.settings import *  # noqa: F403  # a settings module is its names

# The sites run on this machine.
DOWNLOAD_DELAY = 0
AUTOTHROTTLE_ENABLED = False
CONCURRENT_REQUESTS_PER_DOMAIN = 8

# The items of articles are completed on the pages of their authors, and judged by the page with their own URL.
DEDUP_URL_FIELDS = ["url"]

DEDUP_REPORT = "report.html"
DEDUP_RESPONSE_META = True  # the journal has the verdicts on kept pages
EXTENSIONS = {"dedupcrawl.tools.demo.crawl.JournalWriter": 500}
JOURNAL_FILE = "journal.jsonl"
LOG_LEVEL = "INFO"
