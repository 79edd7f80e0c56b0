"""Starts crawls in processes of their own and tells what became of them."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
REACTORS: Mapping[str, Mapping[str, Any]] = {
    "asyncio": {"TWISTED_REACTOR": ASYNCIO},
    "epoll": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "none": {"TWISTED_REACTOR_ENABLED": False},
}


@dataclass(frozen=True)
class Crawled:
    """One crawl's items, stats and log."""

    items: list[dict[str, Any]]
    stats: dict[str, Any]
    reason: str
    log: list[dict[str, str]]
    deprecated: list[str]

    @property
    def dedup(self) -> dict[str, int]:
        """Our stats, without their prefix."""
        return {key[6:]: value for key, value in self.stats.items() if key.startswith("dedup/")}

    def lines(self, needle: str, level: str = "") -> list[str]:
        """Return the log lines that contain a text."""
        return [line["text"] for line in self.log if needle in line["text"] and level in ("", line["level"])]


def start(
    folder: Path,
    *crawls: tuple[str, Mapping[str, Any]],
    settings: Mapping[str, Any] | None = None,
    own: Sequence[Mapping[str, Any]] = (),
    reactor: str = "asyncio",
) -> tuple[subprocess.Popen[str], Path]:
    """Start a process with crawls of (spider class, arguments); return it and where it will report."""
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
    command = [sys.executable, "-m", "tests.crawl.driver", str(path)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return process, report


def finish(process: subprocess.Popen[str], report: Path) -> list[Crawled]:
    """Wait for a process that is to end well; return what became of its crawls."""
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    out = json.loads(report.read_text())
    assert out["deprecated"] == []
    return [
        Crawled(each["items"], each["stats"], each["reason"], out["log"], out["deprecated"])
        for each in out["reports"]
    ]


def crawl(
    folder: Path, spider: str = "Reader", *, reactor: str = "asyncio", settings: Any = None, **args: Any
) -> Crawled:
    """Run one crawl to its end."""
    return finish(*start(folder, (spider, args), settings=settings, reactor=reactor))[0]
