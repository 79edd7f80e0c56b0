"""The example project in a folder of its own, its workers, and the items they stored."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redis import Redis
from redis.exceptions import RedisError

from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.crawl import all_pages
from tests.crawl.running import check_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "scrapy_redis"
TRUTH = all_pages(load_content())
CONTENTS = {truth.cluster for truth in TRUTH.values() if not truth.is_index}
ARTICLES = sum(not truth.is_index for truth in TRUTH.values())
WAIT = 300.0  #: timeout in seconds of every wait here
_HURRY = {
    "MAX_IDLE_TIME_BEFORE_CLOSE": "2",
    "DOWNLOAD_DELAY": "0",
    "EXTENSIONS": '{"tests.examples.hurry.Heartbeat": 0}',
}
#: Arguments of workers in tests, in addition to those on the page.
HURRY = tuple(part for name, value in _HURRY.items() for part in ("-s", f"{name}={value}"))


@dataclass
class Worker:
    """A process that runs ``scrapy crawl``."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> str:
        """Wait until it has ended with exit code 0; return its log."""
        status = self.process.wait(WAIT)
        assert status == 0, self.log.read_text()
        return self.log.read_text()


@dataclass
class Project:
    """A copy of the example, and the environment of its commands."""

    folder: Path
    redis: str
    origins: Mapping[str, str]  #: of each site of the demo web, by its key
    commands: Path  #: folder with the commands of a running command server
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        ignored = shutil.ignore_patterns("__pycache__", ".scrapy", "articles-*")
        shutil.copytree(EXAMPLE, self.folder, ignore=ignored)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("SCRAPY_")}
        return inherited | {
            "PATH": os.pathsep.join([str(self.commands), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            "REDIS_URL": self.redis,
            "no_proxy": "127.0.0.1",
        }

    @property
    def starts(self) -> list[str]:
        return [f"{origin}/" for origin in self.origins.values()]

    def begin(self, command: Sequence[str], log: str) -> Worker:
        """Start a command in the folder."""
        path = self.folder / f"{log}.log"
        with path.open("wb") as output:
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=output, stderr=output)
        self.started.append(process)
        return Worker(process, path)

    def crawl(self, worker: str, *options: str, spider: str = "news") -> Worker:
        """Start a worker: a fork of the command server."""
        command = [str(self.commands / "scrapy"), "crawl", spider, "-s", f"WORKER={worker}", *options]
        return self.begin(command, f"crawl-{worker}")

    def push(self) -> None:
        """Put the first page of every site into Redis."""
        with Redis.from_url(self.redis) as redis:
            redis.rpush("news:start_urls", *(json.dumps({"url": url}) for url in self.starts))

    def end(self) -> None:
        """End processes that a failed test has left running."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait(WAIT)

    # -- results -------------------------------------------------------------------------------

    def items(self, worker: str) -> list[dict[str, Any]]:
        """Return the items that a worker stored; an incomplete last line is ignored."""
        path = self.folder / f"articles-{worker}.jl"
        lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def contents(self, *workers: str) -> Counter[str]:
        """Count how often each content was stored by these workers."""
        return Counter(self.content_of(item["url"]) for each in workers for item in self.items(each))

    def content_of(self, url: str) -> str:
        parts = urlsplit(url)
        sites = {urlsplit(origin).netloc: key for key, origin in self.origins.items()}
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return TRUTH[sites[parts.netloc], path].cluster


def counted(log: str) -> dict[str, int]:
    """Parse the summary of dedupcrawl at the end of a log."""
    (line,) = re.findall(r"INFO: Pages: (.*)", log)
    check_summary(f"Pages: {line}")
    pages, kept, unchecked, dropped = map(int, re.findall(r"\d+", line)[:4])
    return {"checked": pages - unchecked, "kept": kept + unchecked, "dropped": dropped}


def faults(log: str) -> list[str]:
    """Return the warnings and errors of a log, without the deprecation warnings of scrapy-redis."""
    wrong = re.compile(r"ERROR|CRITICAL|Traceback|dedupcrawl.*Warning")
    return [line for line in log.splitlines() if wrong.search(line)]


def eventually(is_so: Callable[[], object], what: str) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + WAIT
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def answers(port: int) -> bool:
    """Whether a Redis server answers on a port of this machine."""
    try:
        with Redis(port=port) as client:
            return bool(client.ping())
    except RedisError:
        return False
