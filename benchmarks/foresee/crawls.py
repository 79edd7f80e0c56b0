"""Runs crawls of made sites, also interrupted ones, and compares what was served with the truth."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks.foresee.endless_sites import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.foresee.one_crawl import CrawlPlan

COMMAND = (sys.executable, "-m", "benchmarks.foresee.one_crawl")
POLL = 0.02  #: seconds between two looks at the log of a crawl that is to be interrupted
INTERRUPTIONS = ("none", "kill", "stop")


@dataclass(frozen=True, slots=True)
class CrawlOutcome:
    """What a crawl, with all its runs, has cost and found."""

    plan: CrawlPlan
    requests: int
    bytes: int
    wanted: int  #: articles that it must find
    lost: tuple[str, ...]  #: of them, those that it did not find
    is_ended: bool  #: whether it ended by itself
    cpu: float  #: seconds
    memory_bytes: int
    errors: int
    stats: dict[str, int]
    cost: dict[str, float]  #: microseconds of foreseeing, if the crawl was timed

    def summary(self) -> dict[str, Any]:
        """Return the figures."""
        names = ("site", "strategy", "seed", "concurrency", "order", "change_at")
        return {
            **{name: getattr(self.plan, name) for name in names},
            "requests": self.requests,
            "bytes": self.bytes,
            "wanted": self.wanted,
            "lost": len(self.lost),
            "lost_examples": self.lost[:3],
            "ended": self.is_ended,
            "cpu_us_per_request": round(1e6 * self.cpu / max(1, self.requests)),
            "memory_bytes": self.memory_bytes,
            "errors": self.errors,
            **self.stats,
            **self.cost,
        }


def crawl(plan: CrawlPlan, interruption: str = "none", at: int = 0) -> CrawlOutcome:
    """Crawl a site in processes of their own.

    Args:
        plan: its folder is replaced by a temporary one.
        interruption: ``"kill"``: SIGKILL after ``at`` requests, and a new crawl with the same store. ``"stop"``:
            SIGTERM, and the same crawl is resumed from its queue (``JOBDIR``), which does not survive SIGKILL.
        at: requests after which it is interrupted.
    """
    with tempfile.TemporaryDirectory() as folder:
        is_interrupted = interruption != "none"
        plan = replace(plan, folder=folder, keeps=is_interrupted, job=interruption == "stop")
        if is_interrupted:
            _interrupt(plan, signal.SIGKILL if interruption == "kill" else signal.SIGTERM, at)
        subprocess.run([*COMMAND, orjson.dumps(asdict(plan)).decode()], check=True)
        return _outcome(plan)


def _interrupt(plan: CrawlPlan, how: signal.Signals, at: int) -> None:
    process = subprocess.Popen([*COMMAND, orjson.dumps(asdict(plan)).decode()])
    while process.poll() is None and _lines(plan) < at:
        time.sleep(POLL)
    if process.poll() is None:
        process.send_signal(how)
    process.wait()


def _lines(plan: CrawlPlan) -> int:
    return plan.log.read_bytes().count(b"\n") if plan.log.exists() else 0


def _outcome(plan: CrawlPlan) -> CrawlOutcome:
    rows = [line.split("\t") for line in plan.log.read_text("utf-8").splitlines()]
    served = [(url, content) for url, content, *_ in rows]
    result = orjson.loads(plan.result.read_bytes())
    found = {content for _, content in served}
    wanted = BY_NAME[plan.site](plan.change_at).wanted(served)
    return CrawlOutcome(
        replace(plan, folder=""),
        requests=len(served),
        bytes=result["bytes"],
        wanted=len(wanted),
        lost=tuple(sorted(wanted - found)),
        is_ended=result["reason"] == "finished",
        cpu=result["cpu"],
        memory_bytes=result["memory_bytes"],
        errors=result["errors"],
        stats=result["stats"],
        cost=result["foresee_cost"],
    )


def crawl_all(plans: list[CrawlPlan], run: Callable[[CrawlPlan], CrawlOutcome]) -> list[CrawlOutcome]:
    """Run crawls one after the other, and print each."""
    outcomes = []
    for plan in plans:
        outcome = run(plan)
        lost = f"lost {len(outcome.lost)} of {outcome.wanted}"
        ended = "ended" if outcome.is_ended else "did not end"
        print(f"{plan.site} {plan.strategy} seed {plan.seed}: {outcome.requests} requests, {lost}, {ended}", flush=True)
        outcomes.append(outcome)
    return outcomes
