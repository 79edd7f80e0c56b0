"""Workers in a storm: ``python -m benchmarks.storm [--kills N] [--seed N] [--store lmdb | valkey]``.

Rounds of four processes that crawl the demo sites, each all of them, and share a store: LMDB and Valkey in turns.
A pipeline stores the items, or feeds of four items per file. In a round, processes are killed 25 times (SIGKILL) at
random moments; others are ended (SIGTERM, SIGINT, SIGINT twice), or stopped (SIGSTOP) for less or more than their
lease. They are started again from the beginning. Meanwhile the server is killed and comes back with its data,
without data or with old data, does not answer, has no memory, or accepts no writes; with LMDB the disk is full. At
the end one worker crawls everything undisturbed. The seed and the number of a round define its kind and the order of
its events; their moments depend on the machine.

Prints for each round which stories are lost (not stored), stored twice by living workers, and stored again with a
reason: after a kill, unchecked (``store`` or ``claimed``), after the server lost its data, or after a process was
stopped for longer than its lease. ``tests/faults/storm_verdict.py`` defines this exactly. Exit code 1 if a story is
lost or stored twice, or a process ended otherwise than it should.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.results import add_json_option, write_results
from tests.faults.storm import Storm
from tests.faults.storm_events import Event, forecast
from tests.faults.web import serving, towns_of

KILLS, ROUND = 1000, 25
PAGES = 116
SHOWN = 5  #: faults of a round that are printed


def main() -> None:
    """Make rounds until the kills are made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=KILLS, help="in all; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=["lmdb", "valkey"], action="append", help="default: both, in turns")
    parser.add_argument("--first", type=int, default=0, metavar="ROUND", help="number of the first round")
    parser.add_argument("--round", type=int, default=ROUND, help="kills of a round, default: %(default)s")
    parser.add_argument("--pages", type=int, default=PAGES)
    add_json_option(parser)
    args = parser.parse_args()
    totals, faults, number, began = Counter[str](), 0, args.first, time.monotonic()
    while totals[Event.KILL] < args.kills:
        weather = forecast(
            args.seed, number, min(args.round, args.kills - totals[Event.KILL]), args.store or ["lmdb", "valkey"]
        )
        with serving(towns_of(args.pages)) as web, tempfile.TemporaryDirectory() as folder:
            result = Storm(weather, web, Path(folder)).run()
        damage = result.damage
        totals.update({str(event): count for event, count in result.events.items()})
        totals.update({"stories": result.stories, "lost": len(damage.lost), "twice": len(damage.twice)})
        totals.update({f"again {reason}": count for reason, count in damage.again.items()})
        faults += len(damage.faults)
        again = ", ".join(f"{count} {reason}" for reason, count in sorted(damage.again.items()))
        print(
            f"{weather.name}: {result.events[Event.KILL]} kills, {result.stories} stories, {len(damage.lost)} lost, "
            f"{len(damage.twice)} twice; again: {again or 'none'}; {result.seconds:.0f} s",
            flush=True,
        )
        for fault in damage.faults[:SHOWN]:
            print(f"  FAULT {fault}", flush=True)
        number += 1
    print(f"\n{'rounds':32}{number - args.first}")
    for name, count in totals.items():
        print(f"{name:32}{count}")
    print(f"{'faults':32}{faults}\n{'seconds':32}{time.monotonic() - began:.0f}")
    write_results(args.json, "storm", figures={**totals, "rounds": number - args.first, "faults": faults})
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
