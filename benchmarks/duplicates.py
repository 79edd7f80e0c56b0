"""Every detector on the labelled reprints: ``python -m benchmarks.duplicates``.

The same as ``dedupcrawl eval duplicates FILE --detector all``, with the results in a file. The default detectors are
judged with other readers too: ``"topic"``, ``"text"``, and trafilatura as a reader of one's own. Nothing is measured
where the labelled pages are missing.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.claims import REPRINTS
from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache, read_labelled_pages
from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport, judge_pages
from dedupcrawl.tools.evaluation.runs import all_runs

READERS = ("topic", "text", "benchmarks.duplicates:read_by_trafilatura")


def read_by_trafilatura(html: str, url: str) -> str | None:
    """Return the main text of a page by trafilatura: a reader as a user writes it."""
    import trafilatura  # noqa: PLC0415  # the other readers do not pay for it

    found: str | None = trafilatura.extract(html, url=url)
    return found


def scores(report: DuplicatesReport) -> dict[str, Any]:
    """Return what the tables of the documentation have of an evaluation."""
    drops, costs = report.drops, report.costs
    return {
        "precision": drops.precision,
        "recall": drops.recall,
        "f1": drops.f1,
        "wrong": drops.false_positives,
        "missed": drops.false_negatives,
        "f1 of pairs": report.pairs.f1,
        "microseconds": costs.us_per_page,
        "keys": costs.keys_per_page,
        "bytes": costs.bytes_per_page,
        "candidates": costs.candidates_per_page,
        "by edit": {edit: dict(counts) for edit, counts in sorted(report.by_edit.items())},
    }


def main() -> int:
    """Judge the pages by every detector and reader, and print the drops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_json_option(parser)
    options = parser.parse_args()
    if not REPRINTS.exists():
        print(f"the labelled pages are not here: {REPRINTS} (set DEDUPCRAWL_DATA)")
        return 0
    cache = ParsedPageCache(read_labelled_pages(REPRINTS))
    runs = {each.label: each.config for each in all_runs(Config(), {})}
    runs |= {f"reader {name.partition(':')[2] or name}": Config(reader=name) for name in READERS}
    found = {}
    for name, config in runs.items():
        found[name] = scores(judge_pages(cache.read(config), config))
        print(f"{name}: " + ", ".join(f"{key} {found[name][key]:.4g}" for key in ("f1", "wrong", "missed")), flush=True)
    write_results(options.json, "duplicates", figures=found, packages=["jieba"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
