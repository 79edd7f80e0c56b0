"""Starts crawls in processes of their own and returns their results."""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupcrawl.crawl.responses import BATCH_SECONDS
from tests.crawl.driver import main
from tests.forking import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from multiprocessing.process import BaseProcess
    from pathlib import Path

ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
REACTORS: Mapping[str, Mapping[str, Any]] = {
    "asyncio": {"TWISTED_REACTOR": ASYNCIO},
    "epoll": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "none": {"TWISTED_REACTOR_ENABLED": False},
}
PATIENCE = 600.0  #: seconds that a crawl may take
#: Pages come one after the other, in the order of their links, however busy the machine is.
IN_TURN: Mapping[str, Any] = {"CONCURRENT_REQUESTS": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
#: The same, and so slowly that no two pages are judged together: a site teaches nothing to the pages of one batch.
ONE_BY_ONE: Mapping[str, Any] = {**IN_TURN, "DOWNLOAD_DELAY": 2 * BATCH_SECONDS, "DOWNLOAD_DELAY_JITTER": 0}


@dataclass(frozen=True)
class Crawled:
    """One crawl's items, stats and log."""

    items: list[dict[str, Any]]
    verdicts: list[Any]  #: on the page of each item, as JSON values; None: it is new, and that is all
    stats: dict[str, Any]
    reason: str
    log: list[dict[str, str]]
    deprecated: list[str]

    @property
    def dedup(self) -> dict[str, int]:
        """Our stats, without their prefix."""
        return {key[6:]: value for key, value in self.stats.items() if key.startswith("dedup/")}

    @property
    def verdict_on(self) -> dict[str, Any]:
        """The verdicts by the URL of their item."""
        return {item["url"]: verdict for item, verdict in zip(self.items, self.verdicts, strict=True)}

    def lines(self, needle: str, level: str = "") -> list[str]:
        """Return the log lines that contain a text."""
        return [line["text"] for line in self.log if needle in line["text"] and level in ("", line["level"])]


def check_summary(line: str) -> None:
    """Check that the parts of a summary are those of all pages."""
    pages, parts = re.findall(r"Pages: (\d+) = (.*?)(?: \((?:\w+/[^)]*)\))?$", line)[0]
    counts = [int(count) for count in re.findall(r"(?:^|\+ )(-?\d+) ", parts)]
    assert sum(counts) == int(pages), line
    assert min(counts) >= 0, line


@dataclass(frozen=True)
class Running:
    """A process with crawls in it."""

    process: BaseProcess
    report: Path

    @property
    def output(self) -> str:
        """Its standard output and standard error."""
        return self.report.with_suffix(".out").read_text()

    def wait(self) -> int | None:
        """Wait for the process; return its exit code."""
        self.process.join(PATIENCE)
        return self.process.exitcode


def start(
    folder: Path,
    *crawls: tuple[str, Mapping[str, Any]],
    settings: Mapping[str, Any] | None = None,
    own: Sequence[Mapping[str, Any]] = (),
    reactor: str = "asyncio",
) -> Running:
    """Start a process with crawls of (spider class, arguments), each with settings of its ``own``.

    A class is named by its path, or without one if it is in :mod:`tests.crawl.spiders`.
    """
    report = folder / f"report-{uuid.uuid4().hex}.json"
    spec = {
        "settings": {**REACTORS[reactor], **(settings or {})},
        "crawls": [
            {"spider": spider, "args": args, "settings": own[i] if own else {}}
            for i, (spider, args) in enumerate(crawls)
        ],
        "report": str(report),
    }
    path = report.with_suffix(".spec")
    path.write_text(json.dumps(spec, default=str))
    process = processes().Process(target=main, args=(str(path),))
    process.start()
    return Running(process, report)


def finish(running: Running, deprecated: str = "") -> list[Crawled]:
    """Wait for a process that must end with exit code 0; return the results of its crawls.

    A test that uses a package which Scrapy calls ``deprecated`` names it.
    """
    assert running.wait() == 0, running.output
    out = json.loads(running.report.read_text())
    assert [each for each in out["deprecated"] if not deprecated or deprecated not in each] == []
    for line in out["log"]:
        if line["logger"].startswith("dedupcrawl") and line["text"].startswith("Pages: "):
            check_summary(line["text"])
    return [
        Crawled(each["items"], each["verdicts"], each["stats"], each["reason"], out["log"], out["deprecated"])
        for each in out["reports"]
    ]


def on_every_reactor(
    folder: Path, *crawls: tuple[str, Mapping[str, Any]], reactors: Iterable[str] = REACTORS, **how: Any
) -> dict[str, list[Crawled]]:
    """Run the same crawls on several reactors, each in a folder of its own, all at once."""
    started = {}
    for reactor in reactors:
        own = folder / reactor
        own.mkdir(exist_ok=True)
        started[reactor] = start(own, *crawls, reactor=reactor, **how)
    return {reactor: finish(running) for reactor, running in started.items()}


def crawl(
    folder: Path,
    spider: str = "Reader",
    *,
    reactor: str = "asyncio",
    settings: Any = None,
    deprecated: str = "",
    **args: Any,
) -> Crawled:
    """Run one crawl to its end; ``deprecated`` is the argument of :func:`finish`."""
    return finish(start(folder, (spider, args), settings=settings, reactor=reactor), deprecated)[0]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true, and no longer than a crawl may take."""
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)


def wait_for_lines(folder: Path, needle: str, count: int = 1) -> None:
    """Wait until a running crawl of this folder has logged so many lines with a text."""
    wait_for(lambda: sum(path.read_text().count(needle) for path in folder.glob("*.out")) >= count)
