"""The claims of the sources about their methods, measured: ``python -m benchmarks.claims [LETTER…]``.

a to h, see ``CLAIMS``; each prints the figures of the source, ours, and whether the claim holds. The exit
code is always 0: a claim that our pages contradict is a finding, not an error.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from benchmarks.links import Shares, bundled, count_all_links, marked, shares
from benchmarks.page_blocks import count_blocks, count_files
from benchmarks.punctuation import judge_by_punctuation
from benchmarks.results import add_json_option, write_results
from dedupcrawl.config import Config
from dedupcrawl.detectors.base import MAX_LENGTH_SLACK
from dedupcrawl.detectors.boolean import Boolean
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.page.model import Kind, Page
from dedupcrawl.text.features import Features
from dedupcrawl.tools.evaluation.dataset import ParsedCorpus, ParsedPageCache, read_labelled_pages
from dedupcrawl.tools.evaluation.duplicates import judge_pages
from tests.data import LABELLED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.links import Sample
    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport
    from dedupcrawl.tools.evaluation.metrics import Scores

REPRINTS = LABELLED / "reprints" / "dev.jsonl.gz"
PAGE_SETS = ("aeb", "cwced")
FILE_SETS = ("aeb", "wcxb")  #: those with links to files in main texts
BUNDLED = "bundled"  #: pages of the demo
UNBOUND = 1e9  #: a length ratio above all others
RATIOS = (1.05, 1.08, 1.10, 1.12, 1.14, 1.16, 1.20)


@dataclass(frozen=True)
class Finding:
    """The result for a claim."""

    parts: tuple[bool, ...]  #: parts of the claim, and whether they hold
    ours: tuple[str, ...]  #: lines
    counts: Mapping[str, object] = field(default_factory=dict)  #: for tables of the documentation

    @property
    def verdict(self) -> str:
        """Return the result in capitals."""
        return "HELD" if all(self.parts) else "HELD IN PART" if any(self.parts) else "CONTRADICTED"


@dataclass(frozen=True)
class Claim:
    """A statement of a source."""

    statement: str
    theirs: str
    check: Callable[[ParsedPageCache], Finding]


def report(shelf: ParsedPageCache, detector: str, reader: str = "blocks", **constants: object) -> DuplicatesReport:
    """Evaluate one detector on the labelled reprints."""
    config = Config(detectors={detector: constants}, reader=reader)
    return judge_pages(shelf.read(config), config)


def length_ratio(shelf: ParsedPageCache) -> Finding:
    """a: the limit on the length ratio with feature codes.

    Copies are counted by pairs: a stream that drops too much has fewer copies left to miss.
    """
    slack = MAX_LENGTH_SLACK  # the source has no bound in characters
    without = report(shelf, "feature_code", length_ratio=UNBOUND, length_slack=slack)
    found = {ratio: report(shelf, "feature_code", length_ratio=ratio, length_slack=slack) for ratio in RATIOS}
    bound = found[1.10]
    halved = all(
        2 * bounded < unbounded
        for bounded, unbounded in (
            (bound.wrongly_dropped, without.wrongly_dropped),
            (bound.pairs.false_positives, without.pairs.false_positives),
        )
    )
    lossless = bound.pairs.true_positives == without.pairs.true_positives
    curve = (f"α = {ratio:.2f}: {_counts(each)}" for ratio, each in found.items())
    default = f"α = 1.10 and at most 500 characters: {_counts(report(shelf, 'feature_code'))}"
    return Finding((halved, lossless), (f"no bound: {_counts(without)}", *curve, default))


def _counts(each: DuplicatesReport) -> str:
    drops, pairs = each.drops, each.pairs
    return (
        f"drops {drops.false_positives} wrong, {drops.true_positives} right, {drops.false_negatives} missed; "
        f"pairs {pairs.false_positives} wrong, {pairs.true_positives} right, {pairs.false_negatives} missed"
    )


def link_rules(_: ParsedPageCache) -> Finding:
    """b: the link rules alone, and the whole default reader, which begins with them.

    The source counts pages: those of which all statement links are kept, and those without any guide link.
    """
    samples = {name: list(marked(LABELLED / "pages" / name)) for name in PAGE_SETS} | {BUNDLED: list(bundled())}
    found = {
        (name, whole, in_sentence): shares(count_all_links(pages, in_sentence=in_sentence, whole=whole))
        for name, pages in samples.items()
        for whole in (False, True)
        for in_sentence in (False, True)
    }
    ends = [found[name, False, True] for name in samples] + [found[BUNDLED, True, True]]
    parts = [each.pages_keeping_all >= 0.98 for each in ends] + [each.pages_rid_of_all >= 0.98 for each in ends]
    return Finding(tuple(parts), tuple(f"{_how(*key)}: {_links(each)}" for key, each in found.items()))


def _how(name: str, whole: bool, in_sentence: bool) -> str:
    by, statements = "reader" if whole else "rules", "in a sentence" if in_sentence else "by their text"
    return f"{name}, {by}, statements {statements}"


def _links(found: Shares) -> str:
    return (
        f"all statement links kept on {found.pages_keeping_all:.1%} of pages "
        f"({found.kept:.1%} of {found.statements:,} links), "
        f"all guide links removed on {found.pages_rid_of_all:.1%} of pages, nine in ten on "
        f"{found.pages_rid_of_most:.1%} ({found.removed:.1%} of {found.guides:,} links)"
    )


def randomized_lexicons(shelf: ParsedPageCache) -> Finding:
    """c: I-Match with one lexicon and with eleven."""
    plain, randomized = report(shelf, "imatch"), report(shelf, "imatch_randomized")
    gain = randomized.drops.recall / plain.drops.recall - 1 if plain.drops.recall else 0.0
    of_pairs = randomized.pairs.recall / plain.pairs.recall - 1 if plain.pairs.recall else 0.0
    return Finding(
        (gain >= 0.4,),
        (
            f"imatch: {_scores(plain)}",
            f"imatch_randomized: {_scores(randomized)}",
            f"recall of drops {gain:+.0%}, of pairs {of_pairs:+.0%}",
        ),
    )


def combined(shelf: ParsedPageCache) -> Finding:
    """d: only what both shingling and random projection find."""
    names = ("shingling", "random_projection", "combined")
    found = [report(shelf, name) for name in names]
    *parts, both = found
    better = all(both.drops.precision > part.drops.precision for part in parts)
    of_pairs = all(both.pairs.precision > part.pairs.precision for part in parts)
    lines = tuple(f"{name}: {_scores(each)}" for name, each in zip(names, found, strict=True))
    return Finding((better, of_pairs), lines)


def _scores(each: DuplicatesReport) -> str:
    return _shares(each.drops, each.pairs)


def _shares(drops: Scores, pairs: Scores) -> str:
    return (
        f"drops {drops.precision:.4f} / {drops.recall:.4f} / {drops.f1:.4f}, "
        f"pairs {pairs.precision:.4f} / {pairs.recall:.4f} / {pairs.f1:.4f} "
        f"({drops.false_positives} wrong drops, {drops.false_negatives} missed)"
    )


def noisy_pages(shelf: ParsedPageCache) -> Finding:
    """e: the whole page is compared, without removing the noise."""
    spots = report(shelf, "spotsigs", reader="text")
    plain = report(shelf, "shingling", reader="text")
    missed = [{each.row.id for each in one.mistakes if each.kind == "missed"} for one in (spots, plain)]
    only_spots, only_plain = len(missed[1] - missed[0]), len(missed[0] - missed[1])
    return Finding(
        (only_spots > 0, only_spots > only_plain),
        (
            f"spotsigs: {_scores(spots)}",
            f"shingling: {_scores(plain)}",
            f"shingling misses {only_spots} copies that spotsigs does not, the other way round {only_plain}",
        ),
    )


def boolean_filter(shelf: ParsedPageCache) -> Finding:
    """f: the pairs that are left to compare, and the results."""
    boolean, equality = report(shelf, "boolean"), report(shelf, "keywords", variant=3)
    strings = judge_by_punctuation(shelf.read(Config()))
    pages, near, alike = pairs_left(shelf.read(Config()))
    all_pairs = pages * (pages - 1) // 2
    gap = abs(boolean.drops.f1 - equality.drops.f1)
    return Finding(
        (alike < near, gap <= 0.02, strings.drops.f1 < min(boolean.drops.f1, equality.drops.f1)),
        (
            f"boolean: {_scores(boolean)}",
            f"keywords 3 (equal TF-IDF keywords): {_scores(equality)}",
            f"equal punctuation strings: {_shares(strings.drops, strings.pairs)}",
            f"F1 of drops differs by {gap:.3f}",
            f"of {all_pairs:,} pairs the lengths leave {near:,}, lengths and codes {alike:,}, strings all",
            f"candidates a page: {_candidates(boolean)} boolean, {_candidates(equality)} keywords",
        ),
    )


def _candidates(each: DuplicatesReport) -> str:
    return f"{each.costs.candidates_per_page:.2f}"


def pairs_left(readings: ParsedCorpus) -> tuple[int, int, int]:
    """Return the numbers of pages, of pairs of similar length, and of those with similar codes."""
    config = Config(detectors=("boolean",))
    (detector,) = build_detectors(config)
    assert isinstance(detector, Boolean)
    sketches = []
    for reading in readings.pages:
        page = reading.result
        if not isinstance(page, Page) or page.kind is not Kind.ARTICLE:
            continue
        features = Features(page)
        fingerprint = detector.fingerprint(features)
        if fingerprint is not None and features.length >= config.min_chars:
            sketches.append((features.length, fingerprint.sketch))
    near = alike = 0
    for (length, sketch), (other_length, other) in combinations(sketches, 2):
        longer = max(length, other_length)
        if abs(length - other_length) <= detector.length_difference * longer:
            near += 1
            alike += detector.compare(sketch, other) is not None
    return len(sketches), near, alike


def page_sets(*names: str) -> Iterator[tuple[str, list[Sample]]]:
    """Yield the pages of sets with marked main texts, and of the demo."""
    for name in names:
        yield name, list(bundled() if name == BUNDLED else marked(LABELLED / "pages" / name))


def block_division(_: ParsedPageCache) -> Finding:
    """g: pages without a block that mixes main text with other text."""
    found = {name: count_blocks(pages) for name, pages in page_sets(*PAGE_SETS, BUNDLED)}
    lines = (
        f"{name}: {each.right} of {each.pages} pages divided rightly; {each.mixed} of {each.blocks:,} blocks are mixed"
        for name, each in found.items()
    )
    parts = tuple(each.right == each.pages for each in found.values())
    return Finding(parts, tuple(lines), {name: asdict(each) for name, each in found.items()})


def file_links(_: ParsedPageCache) -> Finding:
    """h: links to files in main texts, by the rules alone and by the whole reader."""
    found = {
        f"{name}, {'reader' if whole else 'rules'}": count_files(pages, whole=whole)
        for name, pages in page_sets(*FILE_SETS)
        for whole in (False, True)
    }
    lines = (
        f"{name}: {each.kept} of {each.links} links kept; all on {each.right} of {each.pages} pages"
        for name, each in found.items()
    )
    parts = tuple(each.right == each.pages for each in found.values())
    return Finding(parts, tuple(lines), {name: asdict(each) for name, each in found.items()})


CLAIMS = {
    "a": Claim(
        "a bound α = 1.10 on lengths more than halves the wrong drops of the feature code, and loses no copy",
        "902 pages: 300 classes, 26 of them wrong; with α 300 / 9 (1.05: 20 wrong, 1.12: 10, 1.14: 9)",
        length_ratio,
    ),
    "b": Claim(
        "the link rules (R1 0.9, R2 0.3, S 3) keep all statement links and remove all guide links on 98 % of pages",
        "noise links removed on 98 of 100 pages; links in sentences kept on 100",
        link_rules,
    ),
    "c": Claim(
        "randomised lexicons raise the recall of I-Match by 40 % or more",
        "by as much as 40 to 60 % (Kołcz, Chowdhury, Alspector 2004)",
        randomized_lexicons,
    ),
    "d": Claim(
        "shingling and random projection together are more precise than either",
        "0.79 against 0.38 and 0.50 alone, on 1.6 billion pages (Henzinger 2006)",
        combined,
    ),
    "e": Claim(
        "SpotSigs finds copies inside noisy pages that shingling misses",
        "better than shingling on news pages in their sites' frames (Theobald, Siddharth, Paepcke 2008)",
        noisy_pages,
    ),
    "f": Claim(
        "the Boolean model leaves fewer pairs to compare than TF-IDF, at the same F1 (± 0.02); strings find less",
        "the lengths are the only filter of TF-IDF; codes filter once more, and F1 is about the same; punctuation "
        "strings find only pages that are equal word for word, and compare each page with all others",
        boolean_filter,
    ),
    "g": Claim(
        "all pages are divided rightly into blocks",
        "experiment 1: 100 % of some dozens of pages, looked at by people",
        block_division,
    ),
    "h": Claim("all links to files are kept", "experiment 4: 100 %", file_links),
}


def main() -> int:
    """Check the named claims, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("letters", nargs="*", metavar="LETTER", help=f"of {', '.join(CLAIMS)}")
    add_json_option(parser)
    options = parser.parse_args()
    letters = options.letters or list(CLAIMS)
    if not REPRINTS.exists():
        print(f"the labelled pages are not here: {REPRINTS} (set DEDUPCRAWL_DATA)")
        return 0
    shelf = ParsedPageCache(read_labelled_pages(REPRINTS))
    found = {}
    for letter in letters:
        claim = CLAIMS[letter]
        finding = claim.check(shelf)
        print(f"{letter}  {finding.verdict}: {claim.statement}")
        print(f"   theirs: {claim.theirs}")
        print(*(f"   ours:   {line}" for line in finding.ours), sep="\n", flush=True)
        found[letter] = {"verdict": finding.verdict, "ours": finding.ours, "counts": finding.counts}
    write_results(options.json, options.json.stem if options.json else "claims", figures=found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
