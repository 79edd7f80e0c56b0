"""Foreseeing duplicates on made sites with known truth: ``python -m benchmarks.foresee [OPTIONS]``.

Each site is crawled by real Scrapy with the real add-on, in each of the ways that are compared: plain, the modes of
``DEDUP_FORESEE``, duplicate-url-discarder with its rules, and MaybeDont with its defaults. A crawl is a process.
Counted are the requests, and the articles that were never downloaded although the site has them. ``--interrupt kill``
kills each crawl half-way, and crawls again with the same store; ``--interrupt stop`` stops and resumes it.
``--change-at`` says when the site ``change`` changes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import product
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.foresee.crawls import INTERRUPTIONS, CrawlOutcome, crawl, crawl_all
from benchmarks.foresee.endless_sites import BY_NAME, FINITE
from benchmarks.foresee.one_crawl import CrawlPlan
from benchmarks.foresee.strategies import FORESEEING, STRATEGIES
from benchmarks.results import add_json_option, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

PEERS = ("duplicate-url-discarder", "duplicate-url-discarder-rules", "MaybeDont")


def options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", action="append", choices=[*BY_NAME], help="crawl this site; may be repeated")
    parser.add_argument("--strategy", action="append", choices=STRATEGIES, help="crawl in this way; may be repeated")
    parser.add_argument("--seeds", type=int, default=1, help="number of orders of links, and of choices of probes")
    parser.add_argument("--concurrency", type=int, default=16, choices=(1, 16))
    parser.add_argument("--order", default="breadth", choices=("breadth", "depth"))
    parser.add_argument("--interrupt", default="none", choices=INTERRUPTIONS, help="kill or stop each crawl half-way")
    parser.add_argument("--change-at", type=int, default=500, help="requests after which the site `change` changes")
    parser.add_argument("--memory", action="store_true", help="measure memory, which slows the crawls down")
    parser.add_argument("--timed", action="store_true", help="measure the processor time of foreseeing")
    add_json_option(parser)
    return parser.parse_args()


def main() -> None:
    """Crawl, print a table, and write the figures."""
    given = options()
    sites, strategies = given.site or [*BY_NAME], given.strategy or [*STRATEGIES]
    same = {
        "concurrency": given.concurrency,
        "order": given.order,
        "change_at": given.change_at,
        "memory": given.memory,
        "timed": given.timed,
    }
    plans = [
        CrawlPlan(site, strategy, "", seed, **same)
        for site, strategy, seed in product(sites, strategies, range(given.seeds))
    ]
    outcomes = crawl_all(plans, lambda plan: crawl(plan, given.interrupt, _half(plan.site)))
    Console().print(table(outcomes, strategies))
    found = totals(outcomes, strategies)
    ratios = {name: value for name, value in found.items() if "saved" in name}
    figures = {
        "totals": {name: value for name, value in found.items() if name not in ratios},
        "interrupt": given.interrupt,
        "crawls": [each.summary() for each in outcomes],
    }
    kind = "_depth" if given.order == "depth" else "" if {*sites} <= {site.name for site in FINITE} else "_endless"
    write_results(given.json, f"foresee{kind}", ratios=ratios, figures=figures, packages=PEERS)


def _half(site: str) -> int:
    """Return after how many requests a crawl of a site is interrupted: rules are in use by then."""
    return BY_NAME[site].count * 3 // 2


def table(outcomes: Sequence[CrawlOutcome], strategies: Sequence[str]) -> Table:
    """Return a table: requests, articles lost, and whether the crawl ended, by site and strategy."""
    shown = Table("site", *strategies, title="requests (median), articles lost (all seeds), … if it did not end")
    by_cell = defaultdict(list)
    for outcome in outcomes:
        by_cell[outcome.plan.site, outcome.plan.strategy].append(outcome)
    for site in dict.fromkeys(outcome.plan.site for outcome in outcomes):
        shown.add_row(site, *[_cell(by_cell[site, strategy]) for strategy in strategies])
    return shown


def _cell(outcomes: Sequence[CrawlOutcome]) -> str:
    lost = sum(len(each.lost) for each in outcomes)
    ended = "" if all(each.is_ended for each in outcomes) else " …"
    return f"{median(each.requests for each in outcomes):,.0f}{f' [red]−{lost}[/]' if lost else ''}{ended}"


def totals(outcomes: Sequence[CrawlOutcome], strategies: Sequence[str]) -> dict[str, float]:
    """Return the figures of each strategy over all sites and seeds.

    Requests are compared with those of the plain crawl, on the finite sites only: the others end when they are told to.
    """
    finite, found = {site.name for site in FINITE}, dict[str, float]()

    def of(strategy: str) -> list[CrawlOutcome]:
        return [each for each in outcomes if each.plan.strategy == strategy]

    def requests(strategy: str) -> int:
        return sum(each.requests for each in of(strategy) if each.plan.site in finite)

    for strategy in strategies:
        endless = [each for each in of(strategy) if not BY_NAME[each.plan.site].ends]
        found[f"{strategy}: lost articles"] = sum(len(each.lost) for each in of(strategy))
        found[f"{strategy}: wanted articles"] = sum(each.wanted for each in of(strategy))
        found[f"{strategy}: endless crawls"] = len(endless)
        found[f"{strategy}: endless crawls that ended"] = sum(each.is_ended for each in endless)
        found[f"{strategy}: errors"] = sum(each.errors for each in of(strategy))
        for name in ("foresee_us_per_request", "foresee_us_per_page"):
            if strategy in FORESEEING and any(each.cost for each in of(strategy)):
                found[f"{strategy}: {name}"] = median(each.cost[name] for each in of(strategy))
        if strategy != "plain" and requests("plain"):
            found[f"{strategy}: requests saved"] = 1 - requests(strategy) / requests("plain")
    return found


if __name__ == "__main__":
    main()
