"""The server of scrapy-redis, from its own settings: where its client would connect, the store does."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis
from scrapy.settings import Settings
from scrapy_redis.connection import get_redis_from_settings

from dedupcrawl.crawl.settings import Options
from dedupcrawl.errors import SettingError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.scrapy_settings import url_of
from tests.stores.making import file
from tests.stores.servers import Server

COMPARED = ("host", "port", "db", "username", "password", "path", "socket_timeout", "ssl_cert_reqs")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"REDIS_HOST": "h", "REDIS_PORT": 7000, "REDIS_DB": 2},
        {"REDIS_URL": "redis://me:p%40ss@h:7000/3"},
        {"REDIS_URL": "redis://h:7000/3", "REDIS_PARAMS": {"db": 5, "password": "p&s=s?"}},
        {"REDIS_URL": "redis://me:pw@h", "REDIS_PARAMS": {"db": 5, "password": "other"}},
        {"REDIS_URL": "redis://h?db=4&socket_timeout=9", "REDIS_PARAMS": {"db": 5, "socket_timeout": 3}},
        {"REDIS_URL": "unix:///run/s?db=1", "REDIS_PARAMS": {"password": "p w"}},
        {"REDIS_PARAMS": {"host": "h", "port": 1, "db": 7, "password": "x/y", "username": "ü"}},
        {"REDIS_PARAMS": {"host": "h"}, "REDIS_HOST": "other"},
        {"REDIS_PARAMS": {"host": "::1"}},
        {"REDIS_PARAMS": {"unix_socket_path": "/run/a b"}},
        {"REDIS_PARAMS": {"host": "h", "ssl": True, "ssl_cert_reqs": "none"}},
        {"REDIS_PARAMS": '{"host": "h", "password": "p"}'},
        {"REDIS_PARAMS": {"encoding": "latin-1", "decode_responses": True, "retry_on_timeout": False}},
    ],
)
def test_the_store_connects_where_scrapy_redis_does(settings: dict[str, Any]) -> None:
    client: Redis = get_redis_from_settings(Settings(settings))
    theirs = client.connection_pool.connection_kwargs
    address = read_address(url_of(Settings(settings)))
    for name in COMPARED:
        if name == "socket_timeout" and name not in str(settings):
            continue  # each has its own
        default = {"db": 0, "host": "localhost", "port": 6379}.get(name)
        there = None if "path" in theirs and name in {"host", "port"} else theirs.get(name, default)
        here = address.options.get(name, 0 if name == "db" else None)
        assert here == (int(there) if name == "db" and there is not None else there), name
    assert address.tls == bool(theirs.get("ssl") or "ssl_cert_reqs" in theirs)


def test_what_a_store_cannot_do_is_refused() -> None:
    with pytest.raises(SettingError, match=r"REDIS_PARAMS = .'lib_name'.* is not accepted: only url, host"):
        url_of({"REDIS_PARAMS": {"lib_name": "x"}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_PARAMS", "{'password': 'hunter2'"),
        ("REDIS_PARAMS", [("password", "hunter2")]),
        ("REDIS_URL", "http://me:hunter2@h"),
        ("REDIS_URL", "redis://me:hunter2@[::1"),
        ("REDIS_URL", 6379),
    ],
)
def test_what_makes_no_sense_is_said_without_a_password(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{name} = .* is not accepted: ") as caught:
        url_of({name: value})
    assert "hunter2" not in str(caught.value)


def test_a_store_is_opened_there(server: Server) -> None:
    url = url_of({"REDIS_URL": server.url, "REDIS_PARAMS": {"socket_timeout": 5}})
    with open_store(url, namespace="news", scheme={}) as store:
        file(store, "http://a", "story")
        assert store.info().pages == 1


def test_a_crawl_takes_its_store_from_there() -> None:
    settings = Settings({"DEDUP_STORE": "scrapy-redis", "REDIS_URL": "redis://h:7000/3"})
    assert Options.from_settings(settings, "news").store == "redis://h:7000/3"
    settings.set("REDIS_PARAMS", {"lib_name": "x"})
    with pytest.raises(SettingError, match="REDIS_PARAMS"):
        Options.from_settings(settings, "news")
