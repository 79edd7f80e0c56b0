"""Reprints on unknown templates, and among sites of many pages: ``python -m benchmarks.sites [FOLDER …]``.

Pages are made from labelled ones (``benchmarks/reprints.py``): each article is set into templates of other sites,
unchanged, edited, and as a part of another text. Two corpora are judged in random order, each page as in a crawl:

* ``draws``: each page has a template drawn from all. ``--draws`` corpora with different seeds.
* ``sites``: few templates, each of which is a site of many pages. ``--sites`` corpora with different seeds.

The labelled hosts are divided into two parts, articles and templates alike. Rules are tuned on part ``tune``;
``held`` is for the report. A page is *right* if it is dropped as a copy of a page of its cluster, *wrong* if it is
dropped as a copy of another one, and *missed* if it is kept although a page of its cluster was there.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.reprints import Reprint, load_sources, make_reprints
from benchmarks.results import add_json_option, write_results
from dedupcrawl import Deduplicator
from dedupcrawl.config import Config
from dedupcrawl.tools.evaluation.metrics import Scores
from tests.data import page_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl import Verdict

DEFAULT = Config()
PARTS = ("tune", "held")
DRAWN_ARTICLES, DRAWN_HOSTS = 120, 400
SITE_ARTICLES, SITES, FIRST_SEED = 100, 25, 100
HEADING = f"{'corpus':14} {'pages':>6} {'sites':>5} {'right':>6} {'wrong':>6} {'missed':>6} {'F1':>7}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdicts on the pages of a corpus."""

    name: str
    pages: int
    sites: int
    scores: Scores
    mistakes: tuple[tuple[str, Reprint, Verdict], ...]

    def to_dict(self) -> dict[str, float | str]:
        """Return the counts by name."""
        right, wrong, missed = (self.scores.true_positives, self.scores.false_positives, self.scores.false_negatives)
        counts = {"pages": self.pages, "sites": self.sites, "right": right, "wrong": wrong, "missed": missed}
        return {"corpus": self.name, **counts, "f1": round(self.scores.f1, 4)}


def judge(name: str, pages: Sequence[Reprint], config: Config = DEFAULT) -> Outcome:
    """Judge the pages of a corpus in order."""
    clusters: dict[str, str] = {}
    counts = {"right": 0, "wrong": 0, "missed": 0}
    mistakes = []
    with Deduplicator(config=config) as dedup:
        for page in pages:
            verdict = dedup.add(html=page.html, url=page.url)
            what = _judged(page, verdict, clusters)
            clusters[page.url] = page.cluster
            if what:
                counts[what] += 1
            if what in ("wrong", "missed"):
                mistakes.append((what, page, verdict))
    scores = Scores(counts["right"], counts["wrong"], counts["missed"])
    sites = len({page.url.split("/")[2] for page in pages})
    return Outcome(name, len(pages), sites, scores, tuple(mistakes))


def _judged(page: Reprint, verdict: Verdict, clusters: dict[str, str]) -> str:
    if verdict.keep:
        return "missed" if page.cluster in clusters.values() else ""
    return "right" if clusters[verdict.of or ""] == page.cluster else "wrong"


def corpora(folders: Sequence[Path], part: int, draws: int, sites: int) -> Iterator[tuple[str, list[Reprint]]]:
    """Yield the corpora of a part of the hosts with their names."""
    sources = load_sources(folders, part)
    for seed in range(draws):
        yield f"{PARTS[part]} draw {seed}", make_reprints(sources, seed, DRAWN_ARTICLES, 0, DRAWN_HOSTS)
    for seed in range(sites):
        yield f"{PARTS[part]} sites {seed}", make_reprints(sources, FIRST_SEED + seed, SITE_ARTICLES, SITES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each corpus, and the mean F1 of the corpora of each kind and part."""
    options = _parser().parse_args(arguments)
    folders = page_sets(options.folders)
    if not folders:
        return 0
    print(HEADING)
    outcomes = [outcome for part in options.part or PARTS for outcome in _measure(folders, part, options)]
    write_results(options.json, "sites", figures={"rows": [outcome.to_dict() for outcome in outcomes]})
    return 0


def _measure(folders: Sequence[Path], part: str, options: argparse.Namespace) -> Iterator[Outcome]:
    kinds: dict[str, list[Outcome]] = {"draw": [], "sites": []}
    for name, pages in corpora(folders, PARTS.index(part), options.draws, options.sites):
        outcome = judge(name, pages)
        _print(outcome, verbose=options.verbose)
        kinds[name.split()[1]].append(outcome)
        yield outcome
    for kind, outcomes in kinds.items():
        if outcomes:
            _print_mean(f"{part} {kind}", outcomes)


def _print(outcome: Outcome, *, verbose: bool) -> None:
    row = outcome.to_dict()
    counts = f"{outcome.pages:6} {outcome.sites:5} {row['right']:6} {row['wrong']:6} {row['missed']:6}"
    print(f"{outcome.name:14} {counts} {row['f1']:7}", flush=True)
    for what, page, verdict in outcome.mistakes if verbose else ():
        print(f"    {what}: {page.url} {page.edit} {page.cluster} {verdict.relation or ''} {verdict.of or ''}")


def _print_mean(name: str, outcomes: Iterable[Outcome]) -> None:
    scores = [outcome.scores for outcome in outcomes]
    wrong, missed = (sum(each) for each in zip(*((s.false_positives, s.false_negatives) for s in scores), strict=True))
    print(f"{name}: mean F1 of {len(scores)} corpora {fmean(s.f1 for s in scores):.4f}, wrong {wrong}, missed {missed}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="page sets (html/<id>.html.gz + truth.jsonl)")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part (default: both)")
    parser.add_argument("--draws", type=int, default=8, help="number of corpora with drawn templates")
    parser.add_argument("--sites", type=int, default=4, help="number of corpora of sites of many pages")
    parser.add_argument("--verbose", action="store_true", help="print the verdicts that are wrong")
    add_json_option(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
