"""Train the block model of the default reader, and score it on hosts that it was not trained on.

Usage (LightGBM is needed here only, not by a crawl)::

    pip install lightgbm
    python docs/making/reader_model.py --pages wcxb aeb cwced --reprints dev.jsonl.gz --write reader_model.npz

``--pages`` are page sets (``html/<id>.html.gz`` and ``truth.jsonl`` with id, url, text and, where it is known, type),
``--reprints`` labelled pages with ``source`` and ``template``, the ids of the pages that they were made of.

Hosts are divided into folds by a hash of their name. Every page is scored by a model that has seen no page of its
host; a reprint, by one that has seen no page of the host of its source. The margins that a switch from the rules to the
model needs are chosen on the pages of the other folds. The model that is written is trained on all pages, and the
margins chosen on all of them are printed: they are ``MIN_GAIN`` and ``MIN_PROMISED_GAIN`` in
``dedupcrawl.page.block_model``.

The table shows for each type of page the F1 of 4-grams by the rules and by rules and model, as ``dedupcrawl eval
pages`` defines it; the number of pages that were read to less than a fifth; and the shares of pages on which the model
was asked, and replaced the choice of the rules. A second seed of the trees changes F1 by up to 0.01 on the smaller
types: ``--seeds 3`` prints the mean of three.

Reading the pages takes a minute, each seed half a minute, in one thread and less than 1.5 GB. ``--cache`` keeps the
pages that were read; they are read again if the code in ``dedupcrawl.page`` has changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from zlib import crc32

import lightgbm
import numpy as np

from benchmarks.results import add_json_option, write_results
from dedupcrawl import page as page_package
from dedupcrawl.page import PageError, ReadOptions
from dedupcrawl.page.block_features import BlockFeatures, block_features
from dedupcrawl.page.block_model import (
    MIN_GAIN,
    MIN_PROMISED_GAIN,
    UNIT,
    best_choice,
    gate_features,
    needs_no_model,
    promised_gain,
    unread_bytes,
)
from dedupcrawl.page.block_reader import MIN_MAIN_TEXT, classify, read_blocks
from dedupcrawl.page.blocks import byte_length
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.edges import trim_choice
from dedupcrawl.page.embedded_data import embedded_text
from dedupcrawl.page.rules import MAIN_TEXT
from dedupcrawl.tools.evaluation.extraction import ShingleOverlap, load_pages, overlap, score, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element
    from numpy.typing import NDArray

    from dedupcrawl.page.blocks import BlockTree, RawBlock

    Floats = NDArray[np.float64]

NOTHING = ShingleOverlap(0, 0, 0)
FOLDS = 5
MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3)
#: F1 that a switch costs: the model cuts one article slightly differently on two sites, so that copies are missed.
SWITCH_COST = 0.02
SET_WEIGHTS = {"aeb": 3.0, "cwced": 5.0}  #: of small sets: articles and Chinese pages must not lose
REPRINT_WEIGHT = 0.3  #: one article is in several reprints
BLOCK_ROUNDS, GATE_ROUNDS = 60, 50
BLOCK_TREES = {
    "objective": "cross_entropy",
    "learning_rate": 0.15,
    "num_leaves": 15,
    "min_data_in_leaf": 60,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    "lambda_l2": 1.0,
    "seed": 1,
    "num_threads": 1,
    "verbosity": -1,
}
GATE_TREES = {
    "objective": "regression",
    "learning_rate": 0.08,
    "num_leaves": 8,
    "min_data_in_leaf": 25,
    "feature_fraction": 0.5,
    "lambda_l2": 5.0,
    "seed": 3,
    "num_threads": 1,
    "verbosity": -1,
}


@dataclass(slots=True)
class Sample:
    """A labelled page as the rules read it."""

    group: str  #: type of the page, or its set
    hosts: tuple[str, ...]  #: hosts without a page in the training set
    true: str
    weight: float
    blocks: list[RawBlock] = field(default_factory=list)
    data: str = ""  #: text of the page in its JSON
    needs_no_model: bool = True  #: the model is not asked
    features: BlockFeatures | None = None  #: None for a page without a block
    shares: Floats = field(default_factory=lambda: np.zeros(0))  #: of each block, the share in the true text
    tokens: Floats = field(default_factory=lambda: np.zeros(0))  #: of each block
    gate: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    by_rules: ShingleOverlap = NOTHING
    by_model: ShingleOverlap = NOTHING
    is_switched: bool = False  #: the choice of the model replaces that of the rules
    estimate: float = (
        -1.0
    )  #: gain of F1 that the gate expects, or on an unfamiliar page, that the probabilities promise

    def overlap(self, keep: Iterable[bool]) -> ShingleOverlap:
        """Compare the text of the page, if these blocks are kept, with the true one."""
        kept = [block for block, is_kept in zip(self.blocks, keep, strict=True) if is_kept]
        texts = [block[0] for block in kept]
        if sum(block[1] for block in kept) < MIN_MAIN_TEXT <= byte_length(self.data):
            texts.append(self.data)
        return overlap(self.true, "\n".join(texts))

    def choose(self, chances: Floats) -> None:
        """Make the choice of the model; score it, and describe it to the gate."""
        if not self.features or self.features.excluded.all():
            return
        chances = np.where(self.features.excluded, 0.0, chances)
        keep = best_choice(chances, self.features.lengths)
        chosen: list[bool] = keep.tolist()
        trim_choice(self.blocks, chosen)
        self.by_model = self.overlap(chosen)
        self.gate = gate_features(self.features, chances, keep)
        self.estimate = promised_gain(self.features, chances, keep)

    @property
    def gain(self) -> float:
        """What the choice of the model adds to the F1 of the page."""
        return page_f1(self.by_model) - page_f1(self.by_rules)


def page_f1(found: ShingleOverlap) -> float:
    """Return the F1 of one page."""
    return 2 * found.right / (2 * found.right + found.wrong + found.missed) if found.right else 0.0


def fold_of(host: str) -> int:
    """Return the fold of a host."""
    return crc32(host.encode()) % FOLDS


def read_sample(html: bytes, sample: Sample) -> Sample:
    """Read a page by the rules, and label its blocks."""
    options = ReadOptions(blocks=False)
    sample.by_rules = sample.by_model = overlap(sample.true, "")
    try:
        root = parse(to_text(html, encoding=None, content_type="", max_bytes=options.max_bytes))
        tree, reasons, kept = classify(root, options)
    except PageError:
        return sample
    return label_sample(sample, root, tree, reasons, kept)


def label_sample(sample: Sample, root: _Element, tree: BlockTree, reasons: Sequence[str], kept: int) -> Sample:
    """Add features and labels of the blocks."""
    page = read_blocks(root, "", ReadOptions(blocks=False))
    sample.blocks, sample.data = tree.blocks, embedded_text(root, page.heading, page.title).text
    sample.by_rules = sample.by_model = sample.overlap([reason == MAIN_TEXT for reason in reasons])
    if tree.blocks:
        sample.needs_no_model = needs_no_model(tree, reasons, kept, unread_bytes(tree.blocks, reasons))
        sample.features = block_features(tree, reasons, for_training=True)
        sample.shares, sample.tokens = label([block[0] for block in tree.blocks], sample.true)
    return sample


def label(texts: Sequence[str], true: str) -> tuple[Floats, Floats]:
    """Return for each block the share of its 3-grams in the true text, and its number of tokens.

    A shorter block is in the true text if it is a line of it, and probably if it is in a line.
    """
    words = [word.lower() for word in tokenize(true)]
    triples, pairs, single = set(zip(words, words[1:], words[2:], strict=False)), set(pairwise(words)), set(words)
    lines = {tuple(word.lower() for word in tokenize(line)) for line in true.split("\n")}
    shares, counts = np.zeros(len(texts)), np.zeros(len(texts))
    for place, text in enumerate(texts):
        own = [word.lower() for word in tokenize(text)]
        counts[place] = len(own)
        if len(own) > 3:
            runs = list(zip(own, own[1:], own[2:], strict=False))
            shares[place] = sum(run in triples for run in runs) / len(runs)
        elif tuple(own) in lines:
            shares[place] = 1.0
        elif len(own) == 1:
            shares[place] = 0.4 * (own[0] in single)
        elif own:
            shares[place] = 0.6 * all(pair in pairs for pair in pairwise(own))
    return shares, counts


def page_samples(folders: Sequence[Path]) -> tuple[list[Sample], dict[str, tuple[str, str]]]:
    """Read page sets; return their samples, and host and true text of each id."""
    samples, known = [], {}
    for folder in folders:
        rows = [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").split("\n") if line]
        groups = {row["id"]: row.get("type", folder.name) for row in rows}
        for page in load_pages(folder):
            host = urlsplit(page.url).netloc.removeprefix("www.") or page.id
            known[page.id] = host, page.text
            weight = SET_WEIGHTS.get(folder.name, 1.0)
            samples.append(read_sample(page.html, Sample(groups[page.id], (host,), page.text, weight)))
    return samples, known


def reprint_samples(path: Path, known: dict[str, tuple[str, str]]) -> Iterator[Sample]:
    """Read the reprints whose true text is that of their source."""
    with gzip.open(path) as lines:
        for row in map(json.loads, lines):
            source, template = known.get(row["source"]), known.get(row["template"])
            if source and template and "#" not in row["cluster"]:
                hosts = tuple(dict.fromkeys((source[0], template[0])))
                yield read_sample(row["html"].encode(), Sample("reprint", hosts, source[1], REPRINT_WEIGHT))


def fit_blocks(samples: Iterable[Sample], seed: int = 1) -> lightgbm.Booster:
    """Fit the block model: every page weighs the same, within a page a block by its tokens."""
    used = [sample for sample in samples if sample.features]
    weight = np.concatenate([sample.weight * (sample.tokens + 1) / (sample.tokens.sum() + 20) for sample in used])
    rows = np.vstack([sample.features.rows for sample in used if sample.features])
    data = lightgbm.Dataset(rows, np.concatenate([sample.shares for sample in used]), weight=weight / weight.mean())
    return lightgbm.train({**BLOCK_TREES, "seed": seed}, data, BLOCK_ROUNDS)


def fit_gate(samples: Iterable[Sample]) -> lightgbm.Booster:
    """Fit the gate on gains that were measured on hosts unknown to the block model."""
    used = [sample for sample in samples if len(sample.gate)]
    data = lightgbm.Dataset(
        np.array([sample.gate for sample in used]),
        np.array([sample.gain for sample in used]),
        weight=np.array([sample.weight**0.5 for sample in used]),
    )
    return lightgbm.train(GATE_TREES, data, GATE_ROUNDS)


def is_tested(sample: Sample, fold: int) -> bool:
    """Whether a page is scored by the model of this fold; a reprint is, by that of its first host."""
    return fold_of(sample.hosts[0]) == fold


def is_trained(sample: Sample, fold: int) -> bool:
    """Whether the model of this fold is trained on a page."""
    return all(fold_of(host) != fold for host in sample.hosts)


class Margins(NamedTuple):
    """Gains of F1 above which the choice of the model replaces that of the rules."""

    familiar: float
    other: float

    def apply(self, sample: Sample) -> bool:
        """Whether the choice of the model is taken."""
        is_familiar = sample.features is not None and sample.features.is_familiar
        return not sample.needs_no_model and sample.estimate > (self.familiar if is_familiar else self.other)


def best_margins(samples: Iterable[Sample]) -> Margins:
    """Return the margins with the highest gain of F1 on these pages, less the cost of each switch."""
    by_kind: tuple[list[Sample], list[Sample]] = ([], [])
    for sample in samples:
        if sample.features and not sample.needs_no_model:
            by_kind[sample.features.is_familiar].append(sample)
    return Margins(best_margin(by_kind[True]), best_margin(by_kind[False]))


def best_margin(samples: Sequence[Sample]) -> float:
    """Return the best margin for pages of one kind; of equally good ones the highest."""

    def worth(margin: float) -> float:
        return sum(sample.weight * (sample.gain - SWITCH_COST) for sample in samples if sample.estimate > margin)

    return max(reversed(MARGINS), key=worth)


def cross_validate(samples: Sequence[Sample], seed: int) -> Margins:
    """Score every page by a block model, a gate and margins that were chosen without its host.

    Returns the margins that are best on all pages.
    """
    for fold in range(FOLDS):
        model = fit_blocks((sample for sample in samples if is_trained(sample, fold)), seed)
        for sample in samples:
            if is_tested(sample, fold) and sample.features:
                sample.choose(1 / (1 + np.exp(-model.predict(sample.features.rows, raw_score=True))))
    for fold in range(FOLDS):
        gate = fit_gate(sample for sample in samples if is_trained(sample, fold))
        for sample in samples:
            if is_tested(sample, fold) and len(sample.gate) and sample.features and sample.features.is_familiar:
                sample.estimate = float(gate.predict(sample.gate[None])[0])
    for fold in range(FOLDS):
        margins = best_margins(sample for sample in samples if is_trained(sample, fold))
        for sample in samples:
            if is_tested(sample, fold):
                sample.is_switched = margins.apply(sample)
    return best_margins(samples)


class Row(NamedTuple):
    """The figures of one type of page."""

    pages: float
    rules: float  #: F1
    chosen: float
    lost_rules: float
    lost: float
    asked: float
    switched: float


def rows(samples: Iterable[Sample]) -> dict[str, Row]:
    """Return the figures of each type of page."""
    groups = defaultdict(list)
    for sample in samples:
        groups[sample.group].append(sample)
    return {name: row(pages) for name, pages in sorted(groups.items())}


def row(pages: Sequence[Sample]) -> Row:
    """Return the figures of some pages."""
    chosen = [page.by_model if page.is_switched else page.by_rules for page in pages]
    rules = [page.by_rules for page in pages]
    asked, switched = (
        fmean(shown) for shown in zip(*((not p.needs_no_model, p.is_switched) for p in pages), strict=True)
    )
    return Row(len(pages), score(rules)[0], score(chosen)[0], lost(rules), lost(chosen), asked, switched)


def table(runs: Sequence[dict[str, Row]]) -> Iterator[str]:
    """Yield a line for each type of page: the means of the runs."""
    yield f"{'type':14} pages  rules  with model  lost: rules  with model  asked  switched"
    for name in runs[0]:
        mean = mean_row(runs, name)
        yield (
            f"{name:14} {mean.pages:5.0f}  {mean.rules:.3f}  {mean.chosen:10.3f}  {mean.lost_rules:11.0f}"
            f"  {mean.lost:10.1f}  {mean.asked:5.2f}  {mean.switched:8.2f}"
        )


def mean_row(runs: Sequence[dict[str, Row]], name: str) -> Row:
    """Return the means of the runs for one type of page."""
    return Row(*(fmean(values) for values in zip(*(run[name] for run in runs), strict=True)))


def lost(found: Iterable[ShingleOverlap]) -> int:
    """Count the pages that were read to less than a fifth."""
    return sum(page.right < 0.2 * (page.right + page.missed) for page in found)


def stored(booster: lightgbm.Booster) -> dict[str, NDArray[Any]]:
    """Return the trees of a booster as the arrays that ``dedupcrawl.page.block_model`` reads."""
    trees = booster.dump_model()["tree_info"]
    leaves = max(tree["num_leaves"] for tree in trees)
    feature = np.zeros((len(trees), leaves - 1), np.uint8)
    limit = np.zeros((len(trees), leaves - 1), np.float32)
    path = np.zeros((len(trees), leaves, leaves - 1), np.int8)
    value = np.zeros((len(trees), leaves), np.int32)
    for at, tree in enumerate(trees):
        open_nodes: list[tuple[dict[str, Any], list[tuple[int, int]]]] = [(tree["tree_structure"], [])]
        nodes = found = 0
        while open_nodes:
            node, way = open_nodes.pop()
            if "split_feature" in node:
                feature[at, nodes], limit[at, nodes] = node["split_feature"], node["threshold"]
                open_nodes.append((node["left_child"], [*way, (nodes, 1)]))
                open_nodes.append((node["right_child"], [*way, (nodes, -1)]))
                nodes += 1
            else:
                value[at, found] = round(node["leaf_value"] * UNIT)
                for number, sign in way:
                    path[at, found, number] = sign
                found += 1
    return {"feature": feature, "limit": limit, "path": path, "value": value}


def write(path: Path, samples: Sequence[Sample], seed: int) -> None:
    """Train on all pages, and write the trees. The gate is trained on the gains of the cross-validation."""
    blocks, gate = stored(fit_blocks(samples, seed)), stored(fit_gate(samples))
    arrays: dict[str, Any] = {f"blocks_{name}": array for name, array in blocks.items()}
    arrays |= {f"gate_{name}": array for name, array in gate.items()}
    np.savez_compressed(path, **arrays)


def cached(path: Path | None, read: Callable[[], list[Sample]]) -> list[Sample]:
    """Return the pages from the cache file, or read them and write it. The file must be your own: it is unpickled."""
    code = b"".join(file.read_bytes() for file in sorted(Path(page_package.__path__[0]).glob("*.py")))
    version = crc32(code)
    if path and path.exists():
        found, samples = pickle.loads(path.read_bytes())  # noqa: S301
        if found == version:
            return list(samples)
    samples = read()
    if path:
        path.write_bytes(pickle.dumps((version, samples)))
    return list(samples)


def main() -> None:
    """Train, print the table, write the trees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="+", type=Path, required=True, help="page sets")
    parser.add_argument("--reprints", type=Path, help="labelled reprints of pages of these sets")
    parser.add_argument("--write", type=Path, help="the file to write the trees to; -2 and so on for further seeds")
    parser.add_argument("--cache", type=Path, help="file for the pages that were read; delete it if the sets change")
    parser.add_argument("--seeds", type=int, default=1, help="number of runs whose mean is printed")
    add_json_option(parser)
    given = parser.parse_args()

    def read() -> list[Sample]:
        samples, known = page_samples(given.pages)
        return samples + list(reprint_samples(given.reprints, known) if given.reprints else ())

    samples, runs = cached(given.cache, read), []
    for seed in range(1, given.seeds + 1):
        margins = cross_validate(samples, seed)
        runs.append(rows(samples))
        print(f"seed {seed}: margins {margins}, in use {Margins(MIN_GAIN, MIN_PROMISED_GAIN)}", flush=True)
        if given.write:
            write(given.write if seed == 1 else given.write.with_stem(f"{given.write.stem}-{seed}"), samples, seed)
    print("\n".join(table(runs)))
    means = {name: mean_row(runs, name)._asdict() for name in runs[0]}
    write_results(given.json, "reader_model", figures={"seeds": given.seeds, "by type": means})


if __name__ == "__main__":
    main()
