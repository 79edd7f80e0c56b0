"""Killed workers and a restarting server: ``python -m benchmarks.faults [RUN …] [--pages N] [--kills N]``.

Four processes crawl the demo sites, scaled to 2,000 article pages, each of them all pages. They share a
Valkey server with persistence. After each number of stored articles, and at least two seconds, one process
with open claims is killed (SIGKILL) and started again from the beginning. In the middle the server is away
for three seconds, and comes back with the data that it had saved. Runs (default: all):

    pipeline   a pipeline stores the items; pages wait for the server, which is shut down (SIGTERM)
    unchecked  the same, but the server is killed, and pages are kept unchecked meanwhile
    feeds      feeds of five items per file store the items (DEDUP_COMMIT = "feed_slot_closed"); the server
               is killed, pages wait
    loose      the same, but the server is shut down (SIGTERM), and pages are kept unchecked meanwhile

``python -m benchmarks.storm`` sends more kinds of signals at random moments, and lets the store fail in more ways.

First the pages are checked: the detectors must distinguish all stories, in any order of the pages. Exit code
1 if a story is not stored, or is stored by two living workers, or a claim outlives its lease;
``tests/faults/verdict.py`` defines this exactly.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from tests.faults.trial import Plan, Trial
from tests.faults.web import serving, towns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.tools.demo.corpus import BundledCorpus

PAGES, KILLS = 2000, 20
SHOWN = 20  #: faults of a run that are printed
_WAITING = Plan(kills=KILLS, lease=15.0, wait=600.0, pause=2.0, outage=3.0, guard=3600.0)
_FEEDS = replace(_WAITING, feeds=5, wait=30.0)
RUNS = {
    "pipeline": _WAITING,
    "unchecked": replace(_WAITING, crash=True, on_store_error="keep"),
    "feeds": replace(_FEEDS, crash=True),
    "loose": replace(_FEEDS, on_store_error="keep"),
}


def is_sound(towns: Sequence[BundledCorpus]) -> bool:
    """Check the pages and print their properties."""
    from tests.faults.soundness import examine  # noqa: PLC0415  # workers need none of what it needs

    found = examine(towns)
    print(
        f"{found.pages} pages have {found.stories} stories in {len(towns)} towns; exact Jaccard similarity "
        f"of two stories at most {found.within:.2f} in a town and {found.across:.2f} across towns"
    )
    for fault in found.faults:
        print(f"  {fault}")
    return not found.faults


def run(name: str, plan: Plan, towns: Sequence[BundledCorpus]) -> int:
    """Make one run; return the number of its faults."""
    with serving(towns) as web, tempfile.TemporaryDirectory() as folder:
        result = Trial(plan, web, Path(folder)).run()
    print(f"\n{name}\n{result.summary}", flush=True)
    for fault in result.faults[:SHOWN]:
        print(f"  FAULT {fault}")
    if "Traceback" in result.log:
        print(f"  FAULT in a log: {result.log.partition('Traceback')[2][:2000]}")
    return len(result.faults) + ("Traceback" in result.log)


def main() -> None:
    """Make the requested runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--kills", type=int, default=KILLS)
    add_json_option(parser)
    args = parser.parse_args()
    towns = towns_of(args.pages)
    fine = is_sound(towns)
    faults = {name: run(name, replace(RUNS[name], kills=args.kills), towns) for name in args.runs or RUNS}
    write_results(args.json, "faults", figures={"kills": args.kills, "pages": args.pages, "faults": faults})
    sys.exit(not fine or any(faults.values()))


if __name__ == "__main__":
    main()
