"""Puts start addresses into Redis: ``python push.py http://…``."""

from __future__ import annotations

import json
import sys

from articles.settings import REDIS_URL
from redis import Redis

with Redis.from_url(REDIS_URL) as redis:
    for url in sys.argv[1:]:
        redis.rpush("news:start_urls", json.dumps({"url": url}))
