"""Addresses of servers: URLs, the settings of scrapy-redis, and that no password is shown."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis
from scrapy.settings import Settings
from scrapy_redis.connection import get_redis_from_settings

from dedupcrawl.crawl.settings import Options
from dedupcrawl.errors import SettingError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.redis.address import TIMEOUT, is_server, read_address, url_from_settings
from dedupcrawl.stores.redis.namespace import KeyNames, namespace_of
from dedupcrawl.utils.redaction import hide_password
from tests.stores.factories import file
from tests.stores.servers import Server

LOCAL = {"host": "h", "port": 6379, "db": 0}


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("redis://h", LOCAL),
        ("redis://h:7000/3", {"host": "h", "port": 7000, "db": 3}),
        ("redis://h?db=3", {**LOCAL, "db": 3}),
        ("redis://[::1]:7000", {"host": "::1", "port": 7000, "db": 0}),
        ("redis://:p%40ss@h", {**LOCAL, "password": "p@ss"}),
        ("redis://me:pw@h/", {**LOCAL, "username": "me", "password": "pw"}),
        ("redis://me@h", {**LOCAL, "username": "me"}),
        ("redis://h?socket_timeout=2.5", {**LOCAL, "socket_timeout": 2.5}),
        ("rediss://h?ssl_cert_reqs=none&ssl_check_hostname=false&ssl_ca_certs=/ca", {
            **LOCAL, "ssl_cert_reqs": "none", "ssl_check_hostname": False, "ssl_ca_certs": "/ca",
        }),
        ("unix:///run/redis.sock", {"path": "/run/redis.sock"}),
        ("unix://:pw@/run/redis.sock?db=2", {"path": "/run/redis.sock", "db": 2, "password": "pw"}),
    ],
)  # fmt: skip
def test_what_a_url_means(url: str, options: dict[str, Any]) -> None:
    timeouts = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    assert read_address(url).options == timeouts | options
    assert is_server(url)


def test_sentinels_and_layout() -> None:
    address = read_address("redis+sentinel://me:pw@a:1,b/db%201/4?layout=compact&sentinel_password=sp")
    assert address.sentinels == (("a", 1), ("b", 26379))
    assert (address.service, address.options["db"], address.options["password"]) == ("db 1", 4, "pw")
    assert (address.layout, address.tls, address.sentinel_options) == ("compact", False, {"password": "sp"})
    assert read_address("rediss+sentinel://a/s").tls
    assert read_address("redis://h").layout is None


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("redis://", "host"),
        ("redis://h:port", "host"),
        ("redis://h:99999", "host"),
        ("redis://h/news", "host"),
        ("redis://h/-1", "host"),
        ("redis://h/0#part", "host"),
        ("redis://[::1", "host"),
        ("unix://", "socket"),
        ("redis+sentinel://a:1,b:2", "service"),
        ("redis://h?layout=tree", 'layout is "hash" or "compact"'),
        ("redis://h?socket_timeout=soon", "socket_timeout is seconds"),
        ("redis://h?socket_timeout=nan", "socket_timeout is seconds"),
        ("redis://h?socket_timeout=0", "socket_timeout is seconds"),
        ("redis://h?db=-1", "db is a number"),
        ("redis://h?retry_on_timeout=yes", "the parameters layout, db"),
        ("rediss://h?ssl_check_hostname=maybe", "true or false"),
        ("redis://h?layout", "host"),
        ("reds://me:hunter2@h/0", "redis://"),
    ],
)
def test_what_is_not_accepted_is_reported(url: str, accepted: str) -> None:
    for ask in (
        lambda: open_store(url, namespace="news", scheme={}),
        lambda: open_existing(url, "news"),
        lambda: list_namespaces(url),
    ):
        with pytest.raises(SettingError) as caught:
            ask()
        assert accepted in str(caught.value)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://:hunter2@h", "redis://:***@h"),
        ("redis://me:hunter2@h/1?layout=hash", "redis://me:***@h/1?layout=hash"),
        ("redis://me@h", "redis://***@h"),
        ("redis://:hunt/er?2@h", "redis://***"),
        ("unix:///s?password=hunter2&db=1", "unix:///s?password=***&db=1"),
        ("redis+sentinel://a,b/s?sentinel_password=hunter2", "redis+sentinel://a,b/s?sentinel_password=***"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert hide_password(url) == shown


def test_the_password_is_in_no_description_of_an_address() -> None:
    url = "redis+sentinel://me:hunter2@a/s?sentinel_password=hunter2"
    assert "hunter2" not in repr(read_address(url))


@pytest.mark.parametrize("namespace", ["news", "a}b", "{}", "%", "%7D", "新闻", "a:b:meta", "\n"])
def test_a_namespace_is_read_back_from_its_key(namespace: str) -> None:
    assert namespace_of(KeyNames(namespace).key("meta").encode()) == namespace


@pytest.mark.parametrize("key", [b"news", b"dedupcrawl:{news}:records", b"x:dedupcrawl:{news}:meta"])
def test_other_keys_are_no_namespaces(key: bytes) -> None:
    assert namespace_of(key) is None


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
    address = read_address(url_from_settings(Settings(settings)))
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
        url_from_settings({"REDIS_PARAMS": {"lib_name": "x"}})


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
def test_what_makes_no_sense_is_reported_without_a_password(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{name} = .* is not accepted: ") as caught:
        url_from_settings({name: value})
    assert "hunter2" not in str(caught.value)


def test_a_store_is_opened_there(server: Server) -> None:
    url = url_from_settings({"REDIS_URL": server.url, "REDIS_PARAMS": {"socket_timeout": 5}})
    with open_store(url, namespace="news", scheme={}) as store:
        file(store, "http://a", "story")
        assert store.info().pages == 1


def test_a_crawl_takes_its_store_from_there() -> None:
    settings = Settings({"DEDUP_STORE": "scrapy-redis", "REDIS_URL": "redis://h:7000/3"})
    assert Options.from_settings(settings, "news").store == "redis://h:7000/3"
    settings.set("REDIS_PARAMS", {"lib_name": "x"})
    with pytest.raises(SettingError, match="REDIS_PARAMS"):
        Options.from_settings(settings, "news")
