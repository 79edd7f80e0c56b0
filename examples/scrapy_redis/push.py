"""Puts start addresses into Redis: ``python push.py http://…``."""

from __future__ import annotations

import json
import sys

from redis import Redis

from articles.settings import REDIS_URL

with Redis.from_url(REDIS_URL) as redis:
    for url in sys.argv[1:]:
        redis.lpush("news:start_urls", json.dumps({"url": url}))
