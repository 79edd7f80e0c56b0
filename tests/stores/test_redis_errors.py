"""Servers that refuse, are full, are unsuitable or hold other data: each gives a one-sentence error."""

from __future__ import annotations

import logging
import socket
import subprocess
import time
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import (
    ClusterDownError,
    MasterDownError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from dedupcrawl.errors import StoreError, StoreFullError, StoreMismatchError, StoreUnreachableError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import Store, raise_damage
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.connection import check_version, store_error
from dedupcrawl.stores.redis.namespace import KeyNames
from tests.stores.factories import error_message, file, key, record
from tests.stores.servers import WAIT, Server, binaries, cluster_port, free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Starter = Callable[..., Server]


KEYS = KeyNames("news")


def open_at(url: str, scheme: dict[str, object] | None = None) -> Store:
    return open_store(url, namespace="news", scheme=scheme or {})


def refused(url: str, match: str, secret: str = "hunter2") -> StoreError:
    """Opening must fail with one sentence that names the store, and no password."""
    with pytest.raises(StoreError, match=match) as caught:
        open_at(url)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    assert secret not in said
    return caught.value


# -- who may come in ----------------------------------------------------------------------------


def test_a_wrong_password_is_reported_without_showing_it(own: Starter) -> None:
    server = own(password="right")
    place = f"127.0.0.1:{server.port}/0"
    refused(f"redis://:hunter2@{place}", r"redis://:\*\*\*@127.* refuses this user or password: ")
    refused(f"redis://nobody:hunter2@{place}", r"redis://nobody:\*\*\*@127.* refuses this user")
    refused(f"redis://{place}", "refuses this user or password: ")
    with pytest.raises(StoreError, match="refuses this user") as caught:
        list_namespaces(f"redis://:hunter2@{place}")
    assert "hunter2" not in str(caught.value)
    for url in (f"redis://:right@{place}", f"redis://{place}?password=right"):
        with open_at(url) as store:
            file(store, "http://a", "story")
            assert "right" not in store.info().url


def test_a_user_with_few_rights_sees_what_is_missing(server: Server) -> None:
    rights = ["~dedupcrawl:*", "+@hash", "+@connection", "+time", "+evalsha", "+eval"]
    with server.client() as client:
        client.acl_setuser("worker", enabled=True, reset=True, passwords=["+pw"])
        client.execute_command("ACL", "SETUSER", "worker", *rights)
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+@connection")
    with open_at(f"redis://worker:pw@127.0.0.1:{server.port}/0") as store:
        file(store, "http://a", "story")
        assert (store.info().pages, store.info().bytes) == (1, 0)  # it may not ask for the memory
    refused(f"redis://reader:pw@127.0.0.1:{server.port}/0", "does not allow this user to do what is needed: .*eval")


def test_no_server_is_reported(tmp_path: Path) -> None:
    port = free_port()
    error = refused(f"redis://:hunter2@127.0.0.1:{port}/0", "cannot be reached: .*[Rr]efused")
    assert isinstance(error, StoreUnreachableError)
    refused(f"unix://{tmp_path}/socket?password=hunter2", "cannot be reached: .*No such file")
    refused("redis://nowhere.invalid/0", "cannot be reached: ")


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        begun = time.monotonic()
        error = refused(f"redis://127.0.0.1:{mute.getsockname()[1]}/0?socket_timeout=0.2", "cannot be reached")
        assert isinstance(error, StoreUnreachableError)
        assert time.monotonic() - begun < 20


def test_something_else_that_answers_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as web:

        def serve() -> None:
            try:
                while True:
                    peer, _ = web.accept()
                    with peer:
                        peer.recv(4096)
                        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            except OSError:
                return

        Thread(target=serve, daemon=True).start()
        refused(f"redis://127.0.0.1:{web.getsockname()[1]}/0", "cannot be (reached|used)")
        web.shutdown(socket.SHUT_RDWR)


# -- servers that do not write ------------------------------------------------------------------


def test_a_read_only_replica_is_reported(own: Starter) -> None:
    primary = own()
    with open_at(primary.url) as store:
        file(store, "http://a", "story")
    replica = own("--replicaof", "127.0.0.1", str(primary.port))
    with replica.client() as client:
        until(lambda: client.info("replication")["master_link_status"] == "up")
    refused(replica.url, "is a read-only replica; name the primary")
    with open_existing(replica.url, "news") as store:
        assert store.lookup("http://a") is not None
        assert store.info().pages == 1
        with pytest.raises(StoreError, match="read-only replica"):
            store.forget("http://a")


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_full_server_is_reported_and_claims_can_still_be_settled(server: Server, layout: str) -> None:
    url = f"{server.url}?layout={layout}"
    with open_at(url) as store, server.client() as client:
        held, other, third = (file(store, f"http://a/{n}", n, "all", commit=False) for n in range(3))
        try:
            client.config_set("maxmemory", 1)
            with pytest.raises(StoreError, match=r"is full: its server has reached maxmemory; raise it, or"):
                store.offer(record("http://b", "new"))
            assert store.renew() == 3
            assert store.scraped(third)
            assert [hit.id for hit in store.find([key(0)])] == [held]
            assert (store.commit([held]), store.release([other])) == (1, 1)
            assert store.forget("http://a/0") == 1
            assert [hit.id for hit in store.find([key("all")])] == [third]
            assert store.prune(0.0) == 0
            assert store.commit([third]) == 1
            assert store.prune(time.time() + 60) == 1
            assert store.info().pages == 0
        finally:
            client.config_set("maxmemory", 0)
        assert store.offer(record("http://b", "new")).id is not None


def test_a_server_that_may_evict_is_warned_of(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with server.client() as client:
        try:
            client.config_set("maxmemory-policy", "allkeys-lru")
            open_at(server.url).close()
            assert not caplog.messages  # without a limit nothing is evicted
            client.config_set("maxmemory", 10**9)
            with caplog.at_level(logging.WARNING):
                open_at(server.url).close()
        finally:
            client.config_set("maxmemory", 0)
            client.config_set("maxmemory-policy", "noeviction")
    assert "may lose its records: its server has maxmemory-policy allkeys-lru" in caplog.messages[0]


def test_what_was_evicted_costs_no_page(server: Server) -> None:
    """Whole hashes vanish, as under allkeys policies; whatever is left, pages are kept."""
    for gone in ("records", "buckets", "claims", "owners"):
        with server.client() as client:
            client.flushall()
            with open_at(server.url) as store:
                ids = [file(store, f"http://a/{n}", n, commit=n == 0) for n in range(2)]
                client.delete(KEYS.key(gone))
                for n in range(2):
                    offer = store.offer(record(f"http://b/{n}", n))
                    hits = [hit.id for hit in offer.candidates]
                    assert offer.id is not None or hits == [ids[n]]
                store.renew()
                store.commit(ids)
                store.prune(0.0)
                store.info()


def test_a_script_that_runs_too_long_elsewhere_is_reported(server: Server) -> None:
    with open_at(server.url) as store, server.client() as client:
        client.config_set("lua-time-limit", 50)
        busy = Thread(target=lambda: _spin(server), daemon=True)
        busy.start()
        try:
            until(lambda: _is_busy(server))
            with pytest.raises(StoreUnreachableError, match="cannot be used now: BUSY"):
                store.find([key(1)])
        finally:
            client.script_kill()
            busy.join(WAIT)


def _spin(server: Server) -> None:
    with server.client() as client:
        try:
            client.eval("while true do end", 0)
        except ResponseError:
            return


def _is_busy(server: Server) -> bool:
    with server.client() as client:
        try:
            client.ping()
        except RedisError as error:
            return "BUSY" in str(error)
    return False


# -- versions and configurations ----------------------------------------------------------------


@pytest.mark.parametrize("version", ["2.8.0", "5.0.14", "6.0.20"])
def test_a_server_that_is_too_old_is_reported(version: str) -> None:
    with pytest.raises(StoreError, match=rf"is Redis {version}; it must be Redis 6.2 or newer"):
        check_version("redis://a", {"redis_version": version})


@pytest.mark.parametrize("version", ["6.2.0", "7.2.4", "10.0.0", "", "unstable"])
def test_a_server_that_is_new_enough_is_not(version: str) -> None:
    check_version("redis://a", {"redis_version": version} if version else {})


def test_a_namespace_filled_under_another_configuration_is_refused(server: Server) -> None:
    open_at(server.url, {"minhash": {"slots": 128, "seed": 1}}).close()
    with pytest.raises(StoreMismatchError, match=r"minhash\.seed is 1 there, 2 here"):
        open_at(server.url, {"minhash": {"slots": 128, "seed": 2}})
    with pytest.raises(StoreMismatchError, match="exact is nothing there"):
        open_at(server.url, {"minhash": {"slots": 128, "seed": 1}, "exact": {}})
    open_at(server.url, {"minhash": {"seed": 1, "slots": 128}}).close()


# -- values that are not ours -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "scheme", "match"),
    [
        ("1 hash ab", "{}", "has format 1, and this version reads format 7; use another namespace and crawl again"),
        ("6 hash ab", "{}", "has format 6, and this version reads format 7; use another namespace and crawl again"),
        ("7 tree ab", "{}", "key 'dedupcrawl:{news}:meta' has a value that is not one of ours"),
        ("whatever", "{}", "key 'dedupcrawl:{news}:meta' has a value"),
        ("7 hash ab", "__import__('os')", "key 'dedupcrawl:{news}:meta' has a value"),
        ("7 hash ab", b"\xff\xfe", "key 'dedupcrawl:{news}:meta' has a value"),
        ("7 hash ab", "[]", "key 'dedupcrawl:{news}:meta' has a value"),
        ("7 hash ab", None, "key 'dedupcrawl:{news}:meta' has a value"),
        (None, "{}", "key 'dedupcrawl:{news}:meta' has a value"),
    ],
)
def test_a_foreign_description_is_refused(server: Server, mark: Any, scheme: Any, match: str) -> None:
    with server.client() as client:
        for name, value in (("mark", mark), ("scheme", scheme)):
            if value is not None:
                client.hset(KEYS.key("meta"), name, value)
    refused(server.url, match)


DAMAGE: dict[str, tuple[str, bytes, list[bytes]]] = {
    "record": ("records", b"1", [b"", b"short", b"x" * 400, b"\0" * 30, b"\x80\x04pickle" * 20]),
    "bucket": ("buckets", key("story"), [b"1", b"x" * 7]),
    "claim": ("claims", b"1", [b"", b"x" * 20, b"x" * 22, b"x" * 21]),
}


@pytest.mark.parametrize("table", DAMAGE)
def test_a_damaged_value_names_its_key_and_changes_nothing(server: Server, table: str) -> None:
    name, field, values = DAMAGE[table]
    with open_at(server.url) as store, server.client() as client:
        file(store, "http://a", "story", commit=table != "claim")
        for value in values:
            client.hset(KEYS.key(name), field, value)
            before = {each: client.hgetall(each) for each in KEYS.all}
            complaints = [
                error_message(lambda: store.find([key("story")])),
                error_message(lambda: store.offer(record("http://b", "story"))),
                error_message(lambda: store.get(1)),
                error_message(lambda: list(store.records())),
                error_message(lambda: store.commit([7], [1])),
                error_message(lambda: store.prune(0.0, raise_damage)),
            ]
            assert {each: client.hgetall(each) for each in KEYS.all} == before
            said = [each for each in complaints if each]
            assert said
            assert all(KEYS.key(name) in each and "\n" not in each for each in said)


def test_a_key_of_another_program_is_named(server: Server) -> None:
    with open_at(server.url) as store, server.client() as client:
        client.set(KEYS.key("records"), "mine")
        for ask in (lambda: store.offer(record("http://a", "story")), lambda: store.get(1), store.info):
            with pytest.raises(StoreError, match=r"key 'dedupcrawl:\{news\}:records' is another program's"):
                ask()
        client.delete(KEYS.key("records"))
        client.set("dedupcrawl:{other}:meta", "mine")
    with pytest.raises(StoreError, match=r"key 'dedupcrawl:\{other\}:meta' is another program's"):
        open_store(server.url, namespace="other", scheme={})


# -- several servers -----------------------------------------------------------------------------


def test_a_cluster_is_found_out_and_used(own: Starter) -> None:
    server = own("--cluster-enabled", "yes", port=cluster_port())
    with server.client() as client:
        client.execute_command("CLUSTER ADDSLOTS", *range(16384))
        until(lambda: "ok" in str(client.execute_command("CLUSTER", "INFO")).partition("state:")[2][:2])
    for layout in ("hash", "compact"):
        with open_store(f"{server.url}?layout={layout}", namespace=layout, scheme={}) as store:
            ids = [file(store, f"http://a/{n}", n) for n in range(30)]
            assert [hit.id for hit in store.find([key(7)])] == [ids[7]]
            assert store.forget("http://a/7") == 1
            assert store.info().pages == 29
    assert list_namespaces(server.url) == ["compact", "hash"]


def test_the_primary_is_found_through_sentinels(own: Starter, tmp_path: Path) -> None:
    primary = own()
    config = tmp_path / "sentinel.conf"
    port = free_port()
    config.write_text(f"port {port}\ndir {tmp_path}\nsentinel monitor news-db 127.0.0.1 {primary.port} 1\n")
    process = subprocess.Popen(
        [primary.binary, str(config), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"redis+sentinel://127.0.0.1:{port}/news-db/0"
    try:
        until(lambda: _opens(url))
        with open_at(url) as store:
            file(store, "http://a", "story")
        with open_at(primary.url) as store:
            assert store.lookup("http://a") is not None
        refused(f"redis+sentinel://127.0.0.1:{port}/other/0", "cannot be reached: .*No master found")
    finally:
        process.terminate()
        process.wait(WAIT)


def _opens(url: str) -> bool:
    try:
        open_at(url).close()
    except StoreUnreachableError:
        return False
    return True


def test_a_socket_file_is_used(server: Server) -> None:
    with open_at(f"unix://{server.socket}?db=3") as store:
        file(store, "http://a", "story")
    assert list_namespaces(f"unix://{server.socket}?db=3") == ["news"]
    assert list_namespaces(server.url) == []


def test_there_is_a_server_to_test_on() -> None:
    assert "valkey" in binaries()


BEFORE = "Error running script (call to f_3270b3): @user_script:598: @user_script: 598: "
TOO_FEW = "Not enough good replicas to write."
BEHIND = " script: on @user_script:262."


@pytest.mark.parametrize(
    ("error", "kind", "match"),
    [
        (
            OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
            StoreFullError,
            "is full: its server has reached maxmemory",
        ),
        (
            ResponseError(f"{BEFORE}-OOM command not allowed when used memory > 'maxmemory'."),
            StoreFullError,
            "is full: its server has reached maxmemory",
        ),
        (
            ResponseError(f"{BEFORE}-READONLY You can't write against a read only replica."),
            StoreError,
            "its server is a read-only replica; name the primary",
        ),
        (
            ResponseError(f"{BEFORE}The user executing the script can't run this command or subcommand"),
            StoreError,
            "does not allow this user to do what is needed: can't run this command",
        ),
        (
            ResponseError(f"ACL failure in script: User w has no permissions to run the 'hset' command{BEHIND}"),
            StoreError,
            "does not allow this user to do what is needed: User w has no permissions to run the 'hset' command.$",
        ),
        (
            ResponseError(f"{BEFORE}-NOREPLICAS Not enough good replicas to write."),
            StoreUnreachableError,
            "accepts no writes, since its server lacks replicas: NOREPLICAS",
        ),
        (
            ResponseError(f"NOREPLICAS {TOO_FEW}{BEHIND}"),
            StoreUnreachableError,
            f"accepts no writes, since its server lacks replicas: NOREPLICAS {TOO_FEW}$",
        ),
        (
            ResponseError(f"{BEFORE}-MISCONF Redis is configured to save RDB snapshots"),
            StoreUnreachableError,
            "accepts no writes, since its server cannot save: MISCONF",
        ),
        (ClusterDownError("The cluster is down"), StoreUnreachableError, "cannot be used now: .*is down"),
        (MasterDownError("Link with MASTER is down"), StoreUnreachableError, "cannot be used now: .*is down"),
        (TryAgainError("Multiple keys request"), StoreUnreachableError, "cannot be used now: "),
        (ResponseError("DB index is out of range"), StoreError, "cannot be used: DB index is out of range"),
    ],
)
def test_a_refusal_is_reported_alike_by_every_version(error: Exception, kind: type[StoreError], match: str) -> None:
    said = store_error("redis://a", error)
    assert type(said) is kind
    with pytest.raises(StoreError, match=match):
        raise said


def test_a_user_who_may_run_scripts_but_not_their_commands_is_reported(server: Server) -> None:
    rights = ["~dedupcrawl:*", "+@hash", "-hset", "+@connection", "+time", "+eval", "+evalsha"]
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">pw", *rights)
    with pytest.raises(StoreError, match="does not allow this user to do what is needed: "):
        open_store(f"redis://few:pw@127.0.0.1:{server.port}/0", namespace="news", scheme={})


def test_a_server_without_the_replicas_that_it_wants_is_as_good_as_away(server: Server) -> None:
    with open_store(server.url, namespace="news", scheme={}) as store, server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        try:
            with pytest.raises(StoreUnreachableError, match="lacks replicas"):
                store.offer(record("http://a", "story"))
        finally:
            client.config_set("min-replicas-to-write", 0)
        assert store.offer(record("http://a", "story")).id is not None
