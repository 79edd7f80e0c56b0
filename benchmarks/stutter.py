"""A store that falters: ``python -m benchmarks.stutter [RUN …] [--pages N] [--seed N]``.

Crawls of 700 pages on loopback, by one worker or two that share a real Valkey server, or a cluster of three. No process
is killed, and no data is lost. But twelve times the server pauses for longer than a call may take, one to three seconds
(a cluster six times for four to seven), or connections are cut, and the network takes 50 ms in each direction. Runs
(default: all):

    pause       the server executes nothing for a while (CLIENT PAUSE)
    stop        its process is stopped (SIGSTOP)
    far         both, and the network is slow
    cut         connections are cut, and the network is slow
    all         all of this
    two         two workers, pauses and stops
    two-all     two workers, all of this
    wait        the same, and pages wait for the server (DEDUP_ON_STORE_ERROR = "wait")
    cluster     two workers and a namespace on all nodes of a cluster: pauses, stops, and connections that are cut
    waiting     the same, and pages wait

The seed defines the faults and their order; their moments depend on the progress of the crawls. With two workers, each
story has two pages, and each worker crawls all of them.

Prints for each run how many pages are stored, unchecked, and filed from the spools. Exit code 1 if a stored page is on
no record after its crawl has finished (neither its URL is, nor a page with the same story), if a spool is left, or if a
story is stored twice although both pages were checked. ``tests/faults/stutter.py`` defines this exactly.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.results import add_json_option, write_results
from tests.faults.stutter import Fault, Plan, run

PAGES = 700
SHOWN = 5  #: faults of a run that are printed
WAIT = {"DEDUP_ON_STORE_ERROR": "wait"}
#: Calls to a cluster wait a sixth of a lease for its nodes: with this one, most pauses are longer than that.
SHORT_LEASE = {"DEDUP_LEASE": 18}
_PAUSES, _ALL = (Fault.PAUSE, Fault.STOP), tuple(Fault)
_FAR = Plan(_ALL, delay=0.05, timeout=1.0)
_CLUSTER = Plan(_ALL, workers=2, pause=(4.0, 7.0), gap=(2.0, 4.0), times=6, is_sharded=True, settings=SHORT_LEASE)
RUNS = {
    "pause": Plan([Fault.PAUSE]),
    "stop": Plan([Fault.STOP]),
    "far": replace(_FAR, faults=_PAUSES),
    "cut": replace(_FAR, faults=[Fault.CUT]),
    "all": _FAR,
    "two": Plan(_PAUSES, workers=2),
    "two-all": replace(_FAR, workers=2),
    "wait": replace(_FAR, workers=2, settings=WAIT),
    "cluster": _CLUSTER,
    "waiting": replace(_CLUSTER, settings={**SHORT_LEASE, **WAIT}),
}
_COUNTS = ("outages", "unchecked/store", "spool/added", "spool/filed", "spool/repeats", "spool/left")


def attempt(name: str, plan: Plan) -> dict[str, int]:
    """Make one run, and print it; return its counts."""
    with tempfile.TemporaryDirectory() as folder:
        result = run(plan, Path(folder))
    counts = {
        "stored": len(result.stored),
        "left behind": len(result.left_behind),
        "stored twice": len(result.twice),
        "faults": len(result.faults),
        **{each: result.count(each) for each in _COUNTS},
    }
    shown = ", ".join(f"{each} {count}" for each, count in counts.items())
    print(f"{name}, seed {plan.seed}: {shown}; {result.seconds:.0f} s", flush=True)
    for fault in result.faults[:SHOWN]:
        print(f"  FAULT {fault}", flush=True)
    return counts


def main() -> None:
    """Make the requested runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(RUNS)}")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--seed", type=int, default=1)
    add_json_option(parser)
    args = parser.parse_args()
    plans = {name: replace(RUNS[name], pages=args.pages, seed=args.seed) for name in args.runs or RUNS}
    counts = {name: attempt(name, plan) for name, plan in plans.items()}
    faults = sum(each["faults"] for each in counts.values())
    print(f"{faults} faults in {len(counts)} runs")
    write_results(args.json, "stutter", figures={"pages": args.pages, "seed": args.seed, "runs": counts})
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
