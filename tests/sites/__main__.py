"""Print what is lost and kept of every kind of site: ``python -m tests.sites --seed 1``."""

from __future__ import annotations

import argparse

from tests.sites.harness import Outcome, run
from tests.sites.kinds import KINDS, build
from tests.sites.model import Harder

_HEAD = ("kind", "pages", "distinct", "kept", "lost", "copies", "copies kept")
_LINE = "{:<12} {:>6} {:>9} {:>6} {:>6} {:>7} {:>12}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sites", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the sites; odd ones have other words and templates")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="only this kind (repeatable)")
    parser.add_argument("--harder", choices=[str(way) for way in Harder], action="append", default=[])
    parser.add_argument("--abroad", action="store_true", help="other sites reprint a third of the pages")
    parser.add_argument("--verbose", action="store_true", help="print the verdicts that are wrong")
    return parser.parse_args()


def _row(outcome: Outcome) -> tuple[str | int, ...]:
    return (
        outcome.kind,
        len(outcome.pages),
        outcome.distinct,
        outcome.kept,
        len(outcome.lost),
        outcome.copies,
        len(outcome.copies_kept),
    )


def _print_faults(outcome: Outcome) -> None:
    for what, verdicts in (("lost", outcome.lost), ("copy kept", outcome.copies_kept)):
        for verdict in verdicts:
            print(
                f"    {what}: {verdict.url} {verdict.relation or verdict.reason or verdict.status} {verdict.of or ''}"
            )


def main() -> None:
    options = _arguments()
    total = [0] * (len(_HEAD) - 1)
    print(_LINE.format(*_HEAD))
    for kind in options.kind or KINDS:
        outcome = run(build(kind, options.seed, map(Harder, options.harder), abroad=options.abroad))
        row = _row(outcome)
        total = [sum(pair) for pair in zip(total, map(int, row[1:]), strict=True)]
        print(_LINE.format(*row), flush=True)
        if options.verbose:
            _print_faults(outcome)
    print(_LINE.format("all", *total))


if __name__ == "__main__":
    main()
