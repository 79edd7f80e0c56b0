"""Scrapy settings of this repository as a project: ``scrapy crawl site -a url=https://example.com``."""

from __future__ import annotations

BOT_NAME = "dedupcrawl"
SPIDER_MODULES = ["dedupcrawl.spiders"]
NEWSPIDER_MODULE = "dedupcrawl.spiders"

ADDONS = {"dedupcrawl.Addon": 500}

# Polite defaults for other people's servers.
USER_AGENT = "dedupcrawl (Scrapy)"
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 2
DOWNLOAD_DELAY = 0.5
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0

FEED_EXPORT_ENCODING = "utf-8"
TELNETCONSOLE_ENABLED = False
