"""Workers are killed, the server restarts: ``python -m benchmarks.faults [RUN …] [--pages N] [--kills N]``.

Four processes crawl the demo web, scaled to 2,000 pages that bear an article, each all of it, and share a
Valkey server with persistence. Whenever so many articles more have been stored, and at least two seconds have
passed, one of them is killed (SIGKILL) while it has claims open, and started again from the beginning; in the
middle the server goes away for three seconds, and comes back with what it had saved. Runs (default: all):

    pipeline   items are stored by a pipeline; pages wait for a server that is away, which was told to stop
    unchecked  the same, but the server is killed, and meanwhile pages are kept unchecked
    feeds      items are stored by feeds of five items a file (DEDUP_COMMIT = "feed_slot_closed"), the server
               is killed, pages wait
    loose      the same, but the server is told to stop, and meanwhile pages are kept unchecked

First the web itself is examined: whether the detectors tell all stories, in any order of pages. Exit code 1
if a story is not stored, or stored by two workers of which both live, or a claim outlives its lease;
``tests/faults/verdict.py`` says what that means exactly.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.trial import Plan, Trial
from tests.faults.web import serving, towns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.tools.demo.corpus import Content

PAGES, KILLS = 2000, 20
SHOWN = 20  #: faults of a run that are named
_WAITING = Plan(kills=KILLS, lease=15.0, wait=600.0, pause=2.0, outage=3.0, guard=3600.0)
_FEEDS = replace(_WAITING, feeds=5, wait=30.0)
RUNS = {
    "pipeline": _WAITING,
    "unchecked": replace(_WAITING, crash=True, on_store_error="keep"),
    "feeds": replace(_FEEDS, crash=True),
    "loose": replace(_FEEDS, on_store_error="keep"),
}


def is_sound(towns: Sequence[Content]) -> bool:
    """Examine the web, and say what it is like."""
    from tests.faults.soundness import examine  # noqa: PLC0415  # workers need none of what it needs

    found = examine(towns)
    print(
        f"{found.pages} pages tell {found.stories} stories in {len(towns)} towns; exact Jaccard similarity "
        f"of two stories at most {found.within:.2f} in a town and {found.across:.2f} across towns"
    )
    for fault in found.faults:
        print(f"  {fault}")
    return not found.faults


def run(name: str, plan: Plan, towns: Sequence[Content]) -> bool:
    """Make one run; return whether nothing was wrong."""
    with serving(towns) as web, tempfile.TemporaryDirectory() as folder:
        result = Trial(plan, web, Path(folder)).run()
    print(f"\n{name}\n{result.told}", flush=True)
    for fault in result.faults[:SHOWN]:
        print(f"  FAULT {fault}")
    if "Traceback" in result.log:
        print(f"  FAULT in a log: {result.log.partition('Traceback')[2][:2000]}")
    return not result.faults and "Traceback" not in result.log


def main() -> None:
    """Make the runs asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--kills", type=int, default=KILLS)
    args = parser.parse_args()
    towns = towns_of(args.pages)
    fine = is_sound(towns)
    for name in args.runs or RUNS:
        fine = run(name, replace(RUNS[name], kills=args.kills), towns) and fine
    sys.exit(not fine)


if __name__ == "__main__":
    main()
