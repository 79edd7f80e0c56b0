"""Functions of the library, scripts where the server has none or forbids them, and both ways to read replies."""

from __future__ import annotations

import signal
import socket
import struct
import sys
import time
from dataclasses import replace
from hashlib import sha1
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError, OutOfMemoryError, ResponseError

from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import FILE_ANYWAY
from dedupcrawl.stores.redis import client as client_module
from dedupcrawl.stores.redis import transports
from dedupcrawl.stores.redis.address import LAYOUTS, read_address
from dedupcrawl.stores.redis.connection import _client
from dedupcrawl.stores.redis.offers import MANY
from dedupcrawl.stores.redis.scripts import Script, library_text, script_of
from dedupcrawl.stores.redis.transports import PipelinedConnection, PreparedScript, was_refused
from tests.stores.factories import file, key, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.stores.base import Store
    from tests.stores.servers import Server

RIGHTS = ("~dedupcrawl:*", "+@hash", "+@connection", "+time", "+eval", "+evalsha")
LIBRARY = script_of("offer").function
USES_KERNEL = sys.platform == "linux" and transports.hiredis is not None and transports.exchange_in_c is not None


def opened(url: str, namespace: str = "news") -> Store:
    return open_store(url, namespace=namespace, scheme={"exact": {}})


def calls(server: Server, work: Callable[[], object]) -> dict[str, int]:
    """How often each command was called from outside while ``work`` ran."""
    with server.client() as client:
        client.config_resetstat()
        work()
        stats = client.info("commandstats")
    names = ("fcall", "evalsha", "eval", "function|load")
    return {name: stats[f"cmdstat_{name}"]["calls"] for name in names if f"cmdstat_{name}" in stats}


def crawl(store: Store, name: str) -> None:
    """File a page, find its copy, and add more pages at once."""
    id = file(store, f"http://a/{name}", name)
    assert [hit.id for hit in store.offer(record(f"http://b/{name}", name)).candidates] == [id]
    more = store.add_many([record(f"http://c/{name}/{n}", f"{name}{n}") for n in range(3)])
    assert [offer.id for offer in more] == [id + 1, id + 2, id + 3]


def forget_functions(server: Server) -> None:
    with server.client() as client:
        client.function_flush()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_crawl_calls_functions_and_no_scripts(server: Server, layout: str) -> None:
    with opened(f"{server.url}?layout={layout}") as store:
        crawl(store, "first")
        assert calls(server, lambda: crawl(store, "second")) == {"fcall": 4}


def test_functions_that_a_server_lost_are_loaded_again(server: Server) -> None:
    with opened(server.url) as store:
        crawl(store, "first")
        forget_functions(server)
        assert calls(server, lambda: file(store, "http://a", "a")) == {"fcall": 3, "function|load": 1}
        forget_functions(server)
        pages = [record(f"http://b/{n}", f"b{n}") for n in range(3 * MANY)]
        assert calls(server, lambda: store.add_many(pages)) == {"fcall": 6, "function|load": 1}
        assert store.info().pages == 5 + 3 * MANY


def test_a_user_who_may_not_load_functions_gets_scripts(server: Server) -> None:
    for rights in (RIGHTS, (*RIGHTS, "+fcall")):
        forget_functions(server)
        with server.client() as client:
            client.execute_command("ACL", "SETUSER", "crawler", "reset", "on", ">secret", *rights)
        place = f"redis://crawler:secret@127.0.0.1:{server.port}/0"
        with opened(place, f"of {len(rights)} rights") as store:
            crawl(store, "first")
            used = calls(server, lambda store=store: crawl(store, "second"))  # type: ignore[misc]
            assert used == {"evalsha": 4}


def test_a_user_with_the_rights_of_the_documentation_gets_functions(server: Server) -> None:
    with server.client() as client:
        rights = (*RIGHTS, "+fcall", "+function|load")
        client.execute_command("ACL", "SETUSER", "crawler", "reset", "on", ">secret", *rights)
    with opened(f"redis://crawler:secret@127.0.0.1:{server.port}/0") as store:
        crawl(store, "first")
        assert calls(server, lambda: crawl(store, "second")) == {"fcall": 4}


def test_a_server_without_functions_runs_scripts(own: Callable[..., Server]) -> None:
    server = own("--rename-command", "FCALL", "")
    with opened(server.url) as store:
        crawl(store, "first")
        assert calls(server, lambda: crawl(store, "second")) == {"evalsha": 4}


def test_a_full_server_still_finds_and_commits(own: Callable[..., Server]) -> None:
    server = own("--maxmemory-policy", "noeviction")
    with opened(server.url) as store, server.client() as client:
        id = file(store, "http://a", "story", commit=False)
        client.config_set("maxmemory", 1)
        assert [hit.id for hit in store.offer(record("http://b", "story")).candidates] == [id]
        assert store.commit([id]) == 1
        client.config_set("maxmemory", 0)
        assert calls(server, lambda: file(store, "http://c", "c")) == {"fcall": 2}  # functions are called again


def test_a_library_of_another_version_stays(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(server.url) as store:
        crawl(store, "first")
    newer = f"{LIBRARY}_newer"
    text = library_text().replace(LIBRARY, newer)

    def newer_script(operation: str) -> Script:
        script = script_of(operation)
        return replace(script, function=script.function and newer)

    with monkeypatch.context() as changed:
        changed.setattr(client_module, "script_of", newer_script)
        changed.setattr(transports, "library_text", lambda: text)
        with opened(server.url) as store:
            crawl(store, "second")
    with server.client() as client:
        found = {library[1].decode() for library in client.function_list()}
    assert {LIBRARY, newer} <= found


def test_a_library_is_named_by_its_text() -> None:
    """So versions with other texts have other names."""
    first, *lines, last = library_text().splitlines(keepends=True)
    assert first == f"#!lua name={LIBRARY}\n"
    assert last == f"redis.register_function('{LIBRARY}', run)\n"
    assert f"dedupcrawl_{sha1(''.join(lines).encode()).hexdigest()[:16]}" == LIBRARY


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), True),
        (OutOfMemoryError("command not allowed script: f, on @user_function:12."), False),
        (NoPermissionError("User w has no permissions to run the 'fcall' command"), True),
        (NoPermissionError("User w has no permissions to run 'hset' script: f, on @user_function:1."), False),
        (ResponseError("MISCONF Errors writing to the AOF file"), True),
        (ResponseError("unknown command 'FCALL', with args beginning with: "), True),
        (ResponseError("DEDUPCRAWL emptied script: f, on @user_function:9."), False),
        (ResponseError("WRONGTYPE PreparedScript against a key script: f, on @user_function:9."), False),
    ],
)
def test_only_functions_that_did_not_begin_are_repeated_as_scripts(error: ResponseError, refused: bool) -> None:
    assert was_refused(error) == refused


@pytest.fixture(params=["hiredis", "redis-py", "health checks"])
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The parameter of the URL that makes a store read replies in this way."""
    if request.param == "redis-py":
        monkeypatch.setattr(transports, "hiredis", None)
    elif transports.hiredis is None:
        pytest.skip("hiredis is not installed")
    return "?health_check_interval=1" if request.param == "health checks" else ""


def test_replies_are_the_same_however_they_are_read(server: Server, reading: str) -> None:
    with opened(server.url + reading) as store:
        crawl(store, "first")
        long = [record(f"http://a/{'x' * 9000}{n}", "hot") for n in range(30)]
        for each in long:
            store.add(each, FILE_ANYWAY)
        assert [hit.record for hit in store.find([key("hot")])] == long
        assert store.find([key("nothing")]) == ()
        assert len(list(store.records())) == 34


def test_a_server_that_goes_away_is_noticed_however_replies_are_read(own: Callable[..., Server], reading: str) -> None:
    server = own()
    with opened(server.url + reading) as store:
        crawl(store, "first")
        server.kill()
        with pytest.raises(StoreUnreachableError):
            store.find([key("first")])
        server.start()
        assert store.find([key("first")]) == ()
        crawl(store, "second")


def test_a_server_that_does_not_answer_is_given_up_however_replies_are_read(server: Server, reading: str) -> None:
    parameter = ("&" if reading else "?") + "socket_timeout=3"
    assert server.process is not None
    with opened(server.url + reading + parameter) as store:
        crawl(store, "first")
        server.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnreachableError):
                store.find([key("first")])
        finally:
            server.process.send_signal(signal.SIGCONT)
        crawl(store, "second")


def test_values_of_other_types_are_packed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    if transports.hiredis is None:
        pytest.skip("hiredis is not installed")
    parts: tuple[Any, ...] = ("GET", b"\0\r\n", 0, -1, 2**60, "é", b"", "")
    packed = transports.pack_command(parts)
    monkeypatch.setattr(transports, "hiredis", None)
    assert transports.pack_command(parts) == packed


@pytest.mark.parametrize(
    ("url", "direct"),
    [
        ("redis://a/0", True),
        ("rediss://a/0", False),
        ("unix:///tmp/s", True),
        ("redis://a/0?health_check_interval=5", False),
        ("redis+sentinel://a/service", False),
        ("rediss+sentinel://a/service", False),
    ],
)
def test_redis_py_reads_where_it_does_more_than_read(url: str, direct: bool) -> None:
    """Its connections of Sentinel notice a primary that became a replica."""
    if transports.hiredis is None or transports.exchange_in_c is None:
        pytest.skip("hiredis is not installed, or nothing is compiled")
    assert transports.can_exchange_directly(_client(read_address(url)).connection_pool) == direct


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's time limits are used on Linux only")
def test_a_kept_connection_waits_in_the_kernel_as_long_as_it_may(
    own: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``poll`` before each call would cost as much as the call, and a limit that is lost would stop a crawl."""
    server = own()
    assert server.process is not None
    limited, expected = sockets_left_to_the_kernel(monkeypatch), [None] * USES_KERNEL
    with opened(f"{server.url}?socket_timeout=0.5") as store:
        file(store, "http://a", "a")
        assert [each.gettimeout() for each in limited] == expected
        server.process.send_signal(signal.SIGSTOP)
        try:
            begun = time.monotonic()
            with pytest.raises(StoreUnreachableError, match=r"cannot be reached: .*timed out"):
                store.offer(record("http://b", "b"))
            assert 0.4 < time.monotonic() - begun < 20
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert file(store, "http://b", "b")
        assert [each.gettimeout() for each in limited[1:]] == expected  # of the connection that took its place


def sockets_left_to_the_kernel(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """The sockets of connections whose time limit is left to the kernel from now on."""
    limited: list[socket.socket] = []
    limit = transports.let_kernel_time_out

    def noted(each: socket.socket) -> None:
        limited.append(each)
        limit(each)

    monkeypatch.setattr(transports, "let_kernel_time_out", noted)
    return limited


@pytest.mark.skipif(not USES_KERNEL, reason="the kernel's time limits are used on Linux only, by compiled code")
def test_a_connection_is_given_back_as_redis_py_expects_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = sockets_left_to_the_kernel(monkeypatch)
    with Redis(port=server.port, protocol=2, socket_timeout=0.5) as client:
        transport = PipelinedConnection(client, keep_connections=True, functions=False)
        text = "return 7"
        operation = PreparedScript(Script(text, sha1(text.encode()).hexdigest(), function=""), 0, ())
        assert transport.call(operation, ()) == 7
        assert [each.gettimeout() for each in limited] == [None]
        transport.release()
        assert [each.gettimeout() for each in limited] == [0.5]


@pytest.mark.parametrize("seconds", [None, 0.25, 3.0])
def test_the_time_limit_of_the_kernel_is_that_of_the_socket(seconds: float | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(seconds)
        transports.let_kernel_time_out(ours)
        is_used = seconds is not None and sys.platform == "linux"
        assert ours.gettimeout() == (None if is_used else seconds)
        if is_used:
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                whole, micros = struct.unpack("@ll", ours.getsockopt(socket.SOL_SOCKET, option, 16))
                assert whole + micros / 1e6 == pytest.approx(seconds, abs=0.02)  # the kernel rounds it up to its ticks


def test_functions_find_the_keys_of_their_own_namespace(server: Server) -> None:
    """A server keeps the names between calls, and is told the first only."""
    with opened(server.url, "one") as one, opened(server.url, "one more") as other:
        for n in range(4):
            for store in (one, other):
                assert store.add(record(f"http://a/{n}", f"story {n}")).id == n + 1
        assert calls(server, lambda: other.add(record("http://b", "other"))) == {"fcall": 1}
        assert [store.info().pages for store in (one, other)] == [4, 5]
