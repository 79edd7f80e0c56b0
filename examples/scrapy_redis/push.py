"""Puts start addresses into Redis: ``python push.py http://…``."""

from __future__ import annotations

import json
import sys

from redis import Redis
from scrapy.utils.project import get_project_settings

with Redis.from_url(get_project_settings()["REDIS_URL"]) as redis:
    for url in sys.argv[1:]:
        redis.rpush("news:start_urls", json.dumps({"url": url}))
