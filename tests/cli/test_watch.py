"""``dedupcrawl store watch``: figures of real crawls, real terminals, server outages."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import orjson
import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.cli.watch import COUNT_INTERVAL_FACTOR, NamespaceState, StoreMonitor, StoreState, dashboard
from dedupcrawl.stores.base import HotBucketInfo, StoreInfo
from dedupcrawl.stores.workers import MemoryInfo, WorkerRecord, WorkersInfo
from tests.cli import errors
from tests.crawl.running import finish, start
from tests.crawl.site import Site, fancy, plain, text
from tests.stores.factories import Clock, lmdb_url
from tests.stores.servers import Server, binaries, free_port, started
from tests.stores.test_workers import STATS
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIVE, NO_LONGER_LIVE, CURSOR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"  #: escape sequences
BOUND = 600  #: seconds until a test fails
ARTICLES = 30
COMMAND = (sys.executable, "-c", "from dedupcrawl.cli import main; main()", "store", "watch")


@pytest.fixture
def server() -> Iterator[Server]:
    with started() as server:
        yield server


class Watching:
    """The command in a subprocess that writes a line for each snapshot."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments, "--json", "--every", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line: dict[str, Any] = orjson.loads(self.process.stdout.readline())
        return line

    def until(self, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        deadline = time.monotonic() + BOUND
        while not wanted(tick := self.next()):
            assert time.monotonic() < deadline, tick
        return tick

    def interrupt(self) -> tuple[int, bytes]:
        """Press Ctrl-C; return the exit code and standard error."""
        self.process.send_signal(signal.SIGINT)
        _, complaint = self.process.communicate(timeout=BOUND)
        return self.process.returncode, complaint

    def close_pipe(self) -> tuple[int, bytes]:
        """Close the pipe, as ``head`` does; return the same values."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        complaint = self.process.stderr.read()
        return self.process.wait(BOUND), complaint

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def workers(tick: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {each["process"]: each for space in tick["namespaces"] for each in space["workers"]}


def settled(space: dict[str, Any]) -> bool:
    return (space["pages"], space["open"], space["scraped"]) == (ARTICLES, 0, 0)


# -- real crawls --------------------------------------------------------------------------------


def test_figures_equal_the_stats_of_two_workers(tmp_path: Path, server: Server) -> None:
    settings = {"DEDUP_STORE": server.url, "DEDUP_NAMESPACE": "news", "DEDUP_WAIT": 600, "DEDUP_LEASE": 30}
    with Site() as site, Watching(server.url) as watching:
        assert watching.next()["namespaces"] == []
        urls = [site.put(f"/a/{n}", plain(f"T{n}", text(n))) for n in range(ARTICLES)]
        urls += [site.put(f"/b/{n}", fancy(f"T{n}", text(n))) for n in range(0, ARTICLES, 2)]
        urls += [site.put("/json", "[" * 99 + "{}", kind="application/json"), urls[0] + "?skip"]
        site.put("/a/0?skip", plain("T0", text(0)))
        runs = [start(tmp_path, ("Reader", {"urls": each}), settings=settings) for each in (urls, urls[::-1])]
        both = watching.until(lambda tick: len(workers(tick)) == 2)
        done = watching.until(lambda tick: {each["state"] for each in workers(tick).values()} == {"done"})
        counted = watching.until(lambda tick: settled(tick["namespaces"][0]))
        crawls = {run.process.pid or 0: finish(run)[0] for run in runs}
        assert watching.interrupt() == (0, b"")

    assert workers(both).keys() == crawls.keys()
    for process, crawled in crawls.items():
        shown, stats = workers(done)[process], crawled.dedup
        assert (shown["spider"], shown["claims"]) == ("reader", 0)
        for name in ("checked", "kept", "dropped"):
            assert shown[name] == stats.get(name, 0)
        for ours, theirs in (("duplicates", "duplicate/"), ("related", "related/"), ("unchecked", "unchecked/")):
            told = {name.removeprefix(theirs): n for name, n in stats.items() if name.startswith(theirs)}
            assert shown[ours] == told
    (space,) = counted["namespaces"]
    totals = space["totals"]
    assert totals == done["namespaces"][0]["totals"]
    assert totals["states"] == {"done": 2}
    assert totals["checked"] == sum(crawled.dedup["checked"] for crawled in crawls.values())
    assert sum(totals["duplicates"].values()) == totals["dropped"] > 0
    assert space["namespace"] == "news"
    assert 100 < space["bytes"] / space["pages"] < 5000
    assert space["memory"]["used"] > space["bytes"]


def test_a_server_that_goes_away_is_shown_as_away_until_it_is_back(own_server: Server) -> None:
    with Deduplicator(own_server.url, "news") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
    with Watching(own_server.url) as watching:
        watching.until(lambda tick: tick["namespaces"][0]["pages"] == 1)
        own_server.stop()
        away = watching.until(lambda tick: tick["away"])
        assert "cannot be reached" in away["away"]
        assert away["namespaces"] == []
        own_server.start()
        back = watching.until(lambda tick: not tick["away"])
        assert [each["pages"] for each in back["namespaces"]] == [1]
        assert watching.close_pipe() == (0, b"")


@pytest.fixture
def own_server() -> Iterator[Server]:
    options = ("--appendonly", "yes", "--appendfsync", "always")
    server = Server(next(iter(binaries().values())), options).start()
    try:
        yield server
    finally:
        server.remove()


# -- a terminal ---------------------------------------------------------------------------------


@contextmanager
def terminal(*arguments: str, columns: int, rows: int = 24) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run the command in a terminal; yield the process and the other end."""
    ours, theirs = pty.openpty()
    size = {"COLUMNS": str(columns), "LINES": str(rows), "TERM": "xterm"}
    environment = {**os.environ, **size, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(BOUND)
        os.close(ours)


def read_until(end: int, *needles: bytes) -> bytes:
    """Read from a terminal until it has written all needles, or has ended."""
    written, deadline = b"", time.monotonic() + BOUND
    while not needles or not all(needle in written for needle in needles):
        assert time.monotonic() < deadline, written
        if select.select([end], [], [], 0.1)[0]:
            try:
                written += os.read(end, 65536)
            except OSError:  # the process has ended
                break
    return written


def test_the_terminal_is_restored(server: Server) -> None:
    with Deduplicator(server.url, "news") as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
    with ExitStack() as stack:
        open_one = partial(terminal, server.url, "--every", "0.2", columns=80)
        live = [stack.enter_context(open_one()) for _ in range(2)]
        once, end_of_once = stack.enter_context(terminal(server.url, "--once", columns=80))
        for (process, end), sent in zip(live, (signal.SIGINT, signal.SIGTERM), strict=True):
            seen = read_until(end, b"every 0.2 s", b"pages", b"bytes a page", b"a second")
            assert LIVE in seen
            process.send_signal(sent)
            after = read_until(end)
            assert process.wait(BOUND) == 0
            assert after.count(NO_LONGER_LIVE) == after.count(CURSOR) == 1
            assert b"news" in after.partition(NO_LONGER_LIVE)[2]  # the last snapshot stays visible
            assert b"Traceback" not in seen + after
        seen = read_until(end_of_once)
        assert once.wait(BOUND) == 0
        assert b"news" in seen
        assert LIVE not in seen


# -- without a terminal -------------------------------------------------------------------------


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["store", "watch", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_without_a_terminal_there_is_one_snapshot(tmp_path: Path) -> None:
    url = lmdb_url(tmp_path / "store")
    for name in ("news", "blogs"):
        with Deduplicator(url, name) as dedup:
            dedup.add(text=ENGLISH, url="https://a.example/1")
            dedup.add(text=CHINESE, url="https://a.example/2")
    shown = run(url)
    for told in ("news", "blogs", "0 open, 0 scraped", "bytes a page"):
        assert told in shown
    assert re.search(r"pages +2\b", shown)
    assert "workers" not in shown
    spaces = orjson.loads(run(url, "--json", "--once", "--namespace", "news"))["namespaces"]
    assert [(each["namespace"], each["pages"]) for each in spaces] == [("news", 2)]


def test_control_characters_of_names_are_removed(server: Server) -> None:
    name = "ne\x1b[2J\u009b31m\u202ews"
    with Deduplicator(server.url, name) as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        dedup.store.publish(STATS)
        dedup.renew()
        with server.client() as client:
            client.hset(f"dedupcrawl:{{{name}}}:workers", "foreign", "\x1b[2J")
        for output in (run(server.url), run(server.url, "--json", "--once")):
            assert output.replace("\n", "").isprintable()
            assert b"foreign".hex() in output


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    return errors.complaint(monkeypatch, capsys, "store", "watch", *arguments)


def test_an_error_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = lmdb_url(tmp_path / "store")
    Deduplicator(url, "news").close()
    for arguments, sentence in (
        ((url, "--every", "0"), "--every = 0.0 is not accepted: seconds from 0.1 to 86400"),
        ((url, "--every", "nan"), "--every = nan is not accepted"),
        ((url, "--namespace", "blogs"), "has no namespace 'blogs'"),
        (("memory://",), "store = 'memory://' is not accepted"),
        (("ftp://here",), "store = 'ftp://here' is not accepted"),
        ((f"redis://:hunter2@127.0.0.1:{free_port()}/0", "--json"), "redis://:***@127.0.0.1"),
    ):
        said = refused(monkeypatch, capsys, *arguments)
        assert sentence in said
        assert "hunter2" not in said


# -- snapshots ------------------------------------------------------------------------------------


def test_growth_is_the_difference_between_snapshots(tmp_path: Path) -> None:
    url, clock = lmdb_url(tmp_path / "store"), Clock()
    with Deduplicator(url, "news") as dedup:
        monitor = StoreMonitor(url, None, clock)
        assert monitor.snapshot().namespaces[0].growth is None
        dedup.add(text=ENGLISH, url="https://a.example/1")
        dedup.add(text=CHINESE, url="https://a.example/2")
        clock.now += 4
        assert monitor.snapshot().namespaces[0].growth == 0.5
        for _ in range(5):
            clock.now += 4
            seen = monitor.snapshot()
        assert seen.namespaces[0].growth == 0
        dedup.forget("https://a.example/1")
        clock.now += 2
        assert -0.2 <= (monitor.snapshot().namespaces[0].growth or 0) < 0
        monitor.close()


def test_a_slow_count_is_repeated_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, clock, counted = lmdb_url(tmp_path / "store"), Clock(), []
    with Deduplicator(url, "news") as dedup:
        info = type(dedup.store).info

        def slow(store: Any) -> StoreInfo:
            counted.append(clock.now)
            clock.now += 3
            return info(store)

        monkeypatch.setattr(type(dedup.store), "info", slow)
        monitor = StoreMonitor(url, "news", clock)
        for _ in range(10 * COUNT_INTERVAL_FACTOR):
            monitor.snapshot()
            clock.now += 3
        monitor.close()
    assert 8 <= len(counted) <= 12


def test_a_namespace_that_comes_later_is_found_and_one_that_is_damaged_hides_no_other(server: Server) -> None:
    clock = Clock()
    monitor = StoreMonitor(server.url, None, clock)
    assert monitor.snapshot().namespaces == ()
    for name in ("blogs", "news"):
        with Deduplicator(server.url, name) as dedup:
            dedup.add(text=ENGLISH, url="https://a.example/1")
        clock.now += 60
        monitor.snapshot()
    with server.client() as client:
        client.hset("dedupcrawl:{blogs}:hot", "1", "mine")
    clock.now += 60
    blogs, news = monitor.snapshot().namespaces
    assert "key 'dedupcrawl:{blogs}:hot' has a value that is not one of ours" in blogs.error
    assert news.info is not None
    with server.client() as client:
        client.hdel("dedupcrawl:{blogs}:hot", "1")
    clock.now += 60
    assert [each.error for each in monitor.snapshot().namespaces] == ["", ""]
    monitor.close()


# -- the layout ---------------------------------------------------------------------------------

INFO = StoreInfo(
    url="redis://127.0.0.1/0",
    namespace="news",
    pages=1_234_567,
    open=31,
    scraped=2,
    keys=9_876_543,
    bytes=864_197_000,
    oldest=None,
    newest=None,
    scheme="{}",
    layout="hash",
    hot=3,
    hottest=(HotBucketInfo("a1b2c3d4e5f6", 780),),
    ended=4,
)


def snapshot(count: int, **changed: Any) -> StoreState:
    made = [
        WorkerRecord(f"{n:016x}", "here", 3.0, replace(STATS, process=n, host=f"crawl-{n}.example", **changed))
        for n in range(count)
    ]
    dead = [replace(made[0], state="gone"), replace(made[0], state="done"), replace(made[0], stats=None)]
    fleet = WorkersInfo((*made, *dead), MemoryInfo(900_000_000, 2_000_000_000), "key 'k' has values")
    sight = NamespaceState("news", INFO, fleet, 41.25)
    return StoreState("redis://:***@127.0.0.1/0", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), (sight,))


def drawn(seen: StoreState, width: int, height: int | None = None) -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(dashboard(seen, width, height, 2.0))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("spider", ["reader", "新闻" * 60, "[bold]x[/nothing]", "a" * 150])
def test_it_fits_into_any_terminal(width: int, spider: str) -> None:
    lines = drawn(snapshot(5, spider=spider), width)
    assert all(cell_len(line) <= width for line in lines)
    assert sum("gone" in line for line in lines) == 2
    assert sum(":4" in line for line in lines) >= 1


def test_the_layout_at_80_columns() -> None:
    shown = "\n".join(drawn(snapshot(2), 80))
    for told in (
        "1,234,567, +41.2 a second",
        "31 open, 2 scraped, 4 of them past their lease",
        "3 here, 1 gone, 1 done",
        "identical 48, near-duplicate 12",
        "864 MB, 700 bytes a page; the server's: 900 MB of 2.0 GB",
        "3; fullest a1b2c3d4e5f6: 812 filed, 780 beyond the 32 read",
        "not readable: key 'k' has values",
        "5.0 a second",
    ):
        assert told in shown, told
    lines = shown.splitlines()
    (worker,) = [line for line in lines if "crawl-1.example:1" in line]
    assert worker.split() == ["crawl-1.example:1", "reader", "2.5", "100", "80", "15", "7", "1.2", "33"]


def test_the_age_of_an_old_count_is_shown() -> None:
    seen = snapshot(1)
    assert not any("counted" in line for line in drawn(seen, 80))
    seen = replace(seen, namespaces=(replace(seen.namespaces[0], age=42.0),))
    assert any("1,234,567, +41.2 a second, counted 42 s ago" in line for line in drawn(seen, 80))


def test_names_are_no_markup() -> None:
    assert any("[red]x" in line for line in drawn(snapshot(1, spider="[red]x"), 120))


def test_workers_beyond_the_terminals_height_are_counted() -> None:
    lines = drawn(snapshot(60), 80, 30)
    assert len(lines) <= 30
    (more,) = [line for line in lines if "more" in line]
    shown = sum("crawl-" in line for line in lines)
    assert f"… and {63 - shown} more" in more
    assert len(drawn(snapshot(60), 80)) > 70


def test_an_outage_is_shown_above_the_last_snapshot() -> None:
    away = replace(snapshot(1), error="The store redis:// cannot be reached: refused.", outage=75.0)
    lines = drawn(away, 80)
    assert lines[1] == "away for 1 min 15 s: The store redis:// cannot be reached: refused."
    assert "news, as it was last seen" in lines
    assert not any("a second" in line for line in lines)


def test_memory_just_below_a_unit_is_shown_in_the_next_one() -> None:
    seen = snapshot(1)
    (sight, *_) = seen.namespaces
    assert sight.info is not None
    lines = drawn(replace(seen, namespaces=(replace(sight, info=replace(sight.info, bytes=999_970_000)),)), 80)
    (memory,) = [line for line in lines if line.startswith("memory")]
    assert "1.0 GB," in memory
