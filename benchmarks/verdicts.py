"""Wrong and missed drops: ``python -m benchmarks.verdicts [--seeds 32 33]``.

The labelled reprints of the data folder are judged as a crawl meets them, by the default settings. The generated sites
of ``tests/sites`` are crawled in the draws that the seeds name. Draws 32 and 33 are for validation: their pages were
never read while rules were made and a model was chosen. Returns 1 if a page that was no copy is dropped.

``--slots 128 64 32`` judges the reprints with sketches of other sizes instead, each with several seeds: which pages a
small sketch gets wrong is a matter of chance.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from benchmarks.claims import REPRINTS
from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache, read_labelled_pages
from dedupcrawl.tools.evaluation.duplicates import judge_pages
from tests.sites.harness import run
from tests.sites.kinds import KINDS, build

SEEDS = (32, 33)
SKETCH_SEEDS = range(12)


@dataclass
class SiteTotals:
    """The verdicts on all pages of a draw."""

    kinds: int = 0
    distinct: int = 0  #: pages with a content of their own
    lost: int = 0  #: of them, dropped
    copies: int = 0
    copies_kept: int = 0


def crawl_sites(seed: int) -> SiteTotals:
    """Crawl one draw of all kinds of site."""
    totals = SiteTotals()
    for kind in KINDS:
        outcome = run(build(kind, seed, ()))
        totals.kinds += 1
        totals.distinct += outcome.distinct
        totals.lost += len(outcome.lost)
        totals.copies += outcome.copies
        totals.copies_kept += len(outcome.copies_kept)
    return totals


def judge_sketches(sizes: list[int]) -> dict[int, dict[str, list[int]]]:
    """Return wrong and missed drops of the reprints by number of slots, one for each seed of the sketches."""
    cache = ParsedPageCache(read_labelled_pages(REPRINTS))
    found: dict[int, dict[str, list[int]]] = {}
    for slots in sizes:
        found[slots] = {"wrong": [], "missed": []}
        for seed in SKETCH_SEEDS:
            config = Config(detectors={"exact": {}, "minhash": {"slots": slots, "seed": seed}})
            drops = judge_pages(cache.read(config), config).drops
            found[slots]["wrong"].append(drops.false_positives)
            found[slots]["missed"].append(drops.false_negatives)
        wrong, missed = (sum(found[slots][name]) / len(SKETCH_SEEDS) for name in ("wrong", "missed"))
        print(f"{slots} slots: {wrong:.2f} wrong, {missed:.2f} missed ({len(SKETCH_SEEDS)} seeds)", flush=True)
    return found


def judge_reprints() -> dict[str, float]:
    """Judge the labelled reprints; nothing where they are missing."""
    if not REPRINTS.exists():
        print(f"the labelled pages are not here: {REPRINTS} (set DEDUPCRAWL_DATA)")
        return {}
    report = judge_pages(ParsedPageCache(read_labelled_pages(REPRINTS)).read(Config()), Config())
    drops = report.drops
    found = {"wrong": drops.false_positives, "missed": drops.false_negatives, "right": drops.true_positives}
    return {"pages": report.pages, **found, "precision": drops.precision, "recall": drops.recall, "f1": drops.f1}


def main() -> int:
    """Print the figures; return 1 if a page is lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="draws of the sites")
    parser.add_argument("--slots", type=int, nargs="+", help="sizes of sketches to judge the reprints with")
    add_json_option(parser)
    options = parser.parse_args()
    if options.slots:
        write_results(options.json, "verdicts", figures={"sketches": judge_sketches(options.slots)})
        return 0
    reprints = judge_reprints()
    print("reprints: " + ", ".join(f"{name} {value:.4g}" for name, value in reprints.items()))
    sites = {f"draw {seed}": crawl_sites(seed) for seed in options.seeds}
    for name, found in sites.items():
        copies = f"{found.copies_kept} of {found.copies} copies kept"
        print(f"{name}: {found.kinds} kinds, {found.lost} of {found.distinct} lost, {copies}")
    figures = {"reprints": reprints, "sites": {name: vars(found) for name, found in sites.items()}}
    write_results(options.json, "verdicts", figures=figures)
    return 1 if reprints.get("wrong") or any(found.lost for found in sites.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
