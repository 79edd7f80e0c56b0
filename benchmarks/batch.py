"""Batch deduplication of files: ``python -m benchmarks.batch [PART]...`` (default: all parts).

The corpus of all parts but the first is made from Debian's documentation (:mod:`benchmarks.corpora`), in English and
Chinese. Exit code 1 if a bar is missed. The parts:

``documents``
    Documents of 2,600 characters (:mod:`benchmarks.generated`) per CPU second, compared with scripts for rensa,
    datasketch, and the cores of datatrove and text-dedup, with the same shingles (:mod:`benchmarks.peers`); time and
    peak memory, also with more documents (``--documents``) and with Spark (``--master``, such as ``local[2]``; the
    word ``cluster`` starts a standalone cluster of two workers). Needs no download.
``peers``
    Pages per CPU second of all processes, compared with scripts for datasketch and rensa, in turns.
``truth``
    The pairs with an exact J of at least 0.8 and similar lengths that were both kept, by each program, and
    the pages that were dropped although their best kept match has J < 0.5.
``growth``
    Time and memory per page as the corpus grows.
``skew``
    The cost of 10,000 almost equal pages, of a chain, and of a bucket that all pages share.
``verdicts``
    Whether a crawl, a batch and an incremental batch give the same verdicts, locally and on Spark.
``kill``
    Whether the output is the same if processes of a standalone cluster are killed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest

from benchmarks.corpora import CACHE, corpus
from benchmarks.generated import split, write
from benchmarks.peers import PEERS, version_of
from benchmarks.processes import Run, processor_seconds, run
from benchmarks.results import add_json_option, write_results
from benchmarks.truth import jaccard, length, shingle_set, similar_pairs
from dedupcrawl import Deduplicator
from dedupcrawl.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DOCUMENT_RATIO = 3.0  #: bar: documents per CPU second, relative to rensa
DOCUMENT_BYTES = 200  #: bar: peak memory of a document, beyond ``BASE_BYTES``
TIMES = {"datasketch": 2.0, "rensa": 1.0}  #: bars: ratio of pages per CPU second
MISSED, WRONG_BELOW = 0.005, 0.5  #: bars
GROWTH, PAGE_BYTES, BASE_BYTES = 1.5, 1000, 500e6  #: bars
SHARE = 1.5  #: bar: relative cost of a skewed corpus
ALONE = "ours, one worker"
CLUSTER = "cluster"  #: in place of a master of Spark: two workers on this machine
THRESHOLD, LENGTH_RATIO = 0.8, 1.10
COMMAND = "from dedupcrawl.cli import main; main()"
COLUMNS = ("status", "relation", "of", "similarity", "cluster", "detector")


def run_dedupcrawl(source: Path, out: Path, *options: str, watch: bool = False) -> Run:
    """Deduplicate a file with the command."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-c", COMMAND, "batch", str(source), "--out", str(out), *options]
    return run(command, watch=watch)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Read JSON Lines."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def number_of(url: str) -> int:
    """Return the number of the page with this URL."""
    return int(url.rpartition("/")[2].removesuffix(".html"))


def check_bar(fine: bool, text: str) -> bool:
    """Print and return whether a bar is met."""
    print(f"{'ok    ' if fine else 'MISSED'} {text}", flush=True)
    return fine


# -- documents ----------------------------------------------------------------------------------


def documents(given: argparse.Namespace, scratch: Path) -> bool:
    """Compare with peers on the first number of documents, then measure every number of them with every engine."""
    fine, figures = True, given.figures.setdefault("documents", {})
    for count in given.documents:
        source = scratch / f"documents-{count}.jsonl"
        write(count, source)
        if count == given.documents[0]:
            fine &= _against_peers(given, source, count, scratch)
        for engine in ("local", *given.master):
            figures[f"{count}, {engine}"] = found = _cost_of(source, engine, count, scratch)
            print(
                f"documents: {count:,}, {engine}, all cores: {found['microseconds']:.0f} µs of CPU a document, "
                f"{found['minutes']:.1f} minutes, {found['megabytes']:,.0f} MB of memory",
                flush=True,
            )
            most = (DOCUMENT_BYTES * count + BASE_BYTES) / 1e6
            if engine == "local":  # a Java machine takes what it may
                fine &= check_bar(
                    found["megabytes"] <= most, f"{found['megabytes']:,.0f} MB of memory (bar: {most:,.0f} MB)"
                )
        source.unlink()
    return fine


def _cost_of(source: Path, engine: str, count: int, scratch: Path) -> dict[str, float]:
    """Return the cost of a run. With Spark, which reads each file in one task, the documents are in several files."""
    before = processor_seconds()
    if engine == "local":
        cost = run_dedupcrawl(source, scratch / "all", watch=True)
    else:
        parts = scratch / "parts"
        split(source, parts)
        with _spark(engine, scratch) as master:
            cost = run_dedupcrawl(parts, scratch / "all", "--master", master, watch=True)
        shutil.rmtree(parts)
    used = processor_seconds() - before  # with the workers of a cluster, which have ended
    return {"microseconds": 1e6 * used / count, "minutes": cost.wall / 60, "megabytes": cost.peak / 1e6}


@contextmanager
def _spark(engine: str, scratch: Path) -> Iterator[str]:
    """Yield the URL of a master; start a standalone cluster of two workers on this machine for it if need be."""
    if engine != CLUSTER:
        yield engine
        return
    from tests.batch.spark.cluster import cluster  # noqa: PLC0415  # needs Spark

    folder = Path(tempfile.mkdtemp(dir=scratch))
    options = "--conf spark.executor.memory=1g --conf spark.executor.cores=1 --conf spark.driver.host=127.0.0.1"
    with pytest.MonkeyPatch.context() as patch, cluster(folder, memory="1500m") as running:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{options} pyspark-shell")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield running.master


def _against_peers(given: argparse.Namespace, source: Path, count: int, scratch: Path) -> bool:
    """Measure what a document takes of CPU time in each program, alone on a core, the least of some turns."""
    versions = _installed(given.python)
    names = ["ours", *versions]
    costs: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(given.turns):
        for name in names:
            out = scratch / name
            if name == "ours":
                cost = run_dedupcrawl(source, out, "--workers", "1")
            else:
                cost = run([given.python, "-m", "benchmarks.peers", name, str(source), str(out)])
            costs[name].append(1e6 * cost.cpu / count)
    kept = {name: len((scratch / name).read_text().split()) for name in names[1:]}
    kept["ours"] = json.loads((scratch / "ours" / "summary.json").read_bytes())["kept"]
    least = {name: min(found) for name, found in costs.items()}
    for name, each in least.items():
        print(
            f"documents: {count:,}, one worker: {name}: {each:.0f} µs of CPU a document ({1e6 / each:,.0f} a CPU "
            f"second), {kept[name]:,} kept"
        )
    ratios = {f"documents: {name}/ours": each / least["ours"] for name, each in least.items() if name != "ours"}
    given.ratios |= ratios
    given.figures["documents"] |= {"one worker, microseconds": least, "kept": kept, "versions": versions}
    ratio = ratios.get("documents: rensa/ours", 0.0)
    return check_bar(
        ratio >= DOCUMENT_RATIO, f"{ratio:.2f} x the documents of rensa in the same CPU time (bar: {DOCUMENT_RATIO} x)"
    )


def _installed(python: str) -> dict[str, str]:
    """Return the versions of the peers that are installed, and say which are not."""
    versions = {name: version_of(name, python) for name in PEERS}
    for name, version in versions.items():
        if version is None:
            print(f"documents: {name} is not installed for {python}: skipped (--python names another interpreter)")
    return {name: version for name, version in versions.items() if version}


# -- peers --------------------------------------------------------------------------------------


def peers(given: argparse.Namespace, scratch: Path) -> bool:
    """Measure all programs in turns on the same file."""
    source = corpus(given.pages, given.cache)
    runs: dict[str, list[Run]] = {name: [] for name in (ALONE, "ours", *TIMES)}
    for _ in range(given.turns):
        runs[ALONE].append(run_dedupcrawl(source, scratch / "ours", "--workers", "1"))
        runs["ours"].append(run_dedupcrawl(source, scratch / "ours"))
        for name in TIMES:
            command = [sys.executable, "-m", "benchmarks.peers", name, str(source), str(scratch / name)]
            runs[name].append(run(command))
    for name, each in runs.items():
        cpu, wall = median(run.cpu for run in each), median(run.wall for run in each)
        print(
            f"peers: {name}: {given.pages / cpu:,.0f} pages for a second of the processors ({cpu:.0f} s), "
            f"{given.pages / wall:,.0f} a second by the clock"
        )
    fine, ratios = True, dict[str, float]()
    for name, bar in TIMES.items():
        alone, over_all = (
            median(theirs.cpu / mine.cpu for mine, theirs in zip(runs[who], runs[name], strict=True))
            for who in (ALONE, "ours")
        )
        ratios |= {f"pages: {name}/ours": alone, f"pages: {name}/ours, all cores": over_all}
        fine &= check_bar(
            alone >= bar,
            f"{alone:.2f} x the pages of {name} in the same CPU time, with one worker as it has; "
            f"over all cores {over_all:.2f} x (bar: {bar} x)",
        )
    given.ratios |= ratios
    given.figures["peers"] = {
        "pages": given.pages,
        "seconds": {name: median(run.cpu for run in runs[name]) for name in runs},
    }
    return fine


# -- truth --------------------------------------------------------------------------------------


def truth(given: argparse.Namespace, scratch: Path) -> bool:
    """Compare the kept pages with all pairs above the threshold."""
    source = corpus(given.pages, given.cache)
    pages = lines_of(source)
    sets = [shingle_set(page["text"]) for page in pages]
    lengths = np.array([length(page["text"]) for page in pages])
    languages = np.array([page["language"] for page in pages])
    earlier, later, similar = similar_pairs(sets, THRESHOLD)
    longer = np.maximum(lengths[earlier], lengths[later])
    fits = longer <= LENGTH_RATIO * np.minimum(lengths[earlier], lengths[later])
    earlier, later, similar = earlier[fits], later[fits], similar[fits]
    print(f"truth: {len(earlier):,} pairs with J >= {THRESHOLD} and similar lengths among {len(pages):,} pages")
    print(f"truth: their J: {_histogram(similar)}")
    kept = {"ours": _kept_by_us(source, scratch)}
    for name in TIMES:
        target = scratch / name
        run([sys.executable, "-m", "benchmarks.peers", name, str(source), str(target)])
        kept[name] = np.isin(np.arange(len(pages)), np.array(target.read_text().split(), np.int64))
    fine = True
    for language in ("en", "zh"):
        of = languages[later] == language
        for name, stays in kept.items():
            both = stays[earlier] & stays[later] & of
            share = int(np.count_nonzero(both)) / max(1, int(np.count_nonzero(of)))
            line = (
                f"{name}, {language}: {share:.2%} of {np.count_nonzero(of):,} pairs are both kept "
                f"(J of these: {_histogram(similar[both])})"
            )
            if name == "ours":
                fine &= check_bar(share <= MISSED, f"{line} (bar: {MISSED:.1%})")
            else:
                print(f"       {line}")
    return fine & _wrongly_dropped(source, scratch, sets)


def _kept_by_us(source: Path, scratch: Path) -> Any:
    run_dedupcrawl(source, scratch / "marked", "--annotate")
    rows = lines_of(scratch / "marked" / source.name)
    return np.array([row["dedup_status"] != "duplicate" for row in rows])


def _wrongly_dropped(source: Path, scratch: Path, sets: Sequence[Any]) -> bool:
    rows = lines_of(scratch / "marked" / source.name)
    found = [
        (jaccard(sets[number], sets[number_of(row["dedup_of"])]), row["edit"], row["dedup_relation"])
        for number, row in enumerate(rows)
        if row["dedup_status"] == "duplicate"
    ]
    wrong = [each for each in found if each[0] < WRONG_BELOW]
    low = sum(each[0] < THRESHOLD for each in found)
    print(f"truth: {len(found):,} dropped, {low:,} of them for a page with J < {THRESHOLD}; lowest {min(found)}")
    edits = Counter(row["edit"] for row in rows if row["dedup_status"] == "duplicate")
    print(f"truth: dropped by kind: {dict(edits)}")
    return check_bar(not wrong, f"{len(wrong)} dropped for a page with J < {WRONG_BELOW} (bar: 0)")


def _histogram(similar: Any) -> str:
    counts, _ = np.histogram(similar, np.array([0.8, 0.85, 0.9, 0.95, 1.0, 1.1]))
    names = ("0.80-0.85", "0.85-0.90", "0.90-0.95", "0.95-1.00", "1")
    return ", ".join(f"{name}: {count:,}" for name, count in zip(names, counts, strict=True))


# -- growth -------------------------------------------------------------------------------------


def growth(given: argparse.Namespace, scratch: Path) -> bool:
    """Run corpora of growing size."""
    times: dict[int, float] = {}
    fine = True
    for count in given.growth:
        source = corpus(count, given.cache)
        cost = run_dedupcrawl(source, scratch / "grown", watch=True)
        times[count] = cost.cpu / count
        work = sum(file.stat().st_size for file in (scratch / "grown" / "_dedupcrawl").rglob("*"))
        print(
            f"growth: {count:,} pages: {1e6 * times[count]:.0f} µs of CPU a page, {cost.wall:.0f} s, "
            f"peak memory {cost.peak / 1e6:,.0f} MB, work folder {work / count:.0f} bytes a page"
        )
        most = PAGE_BYTES * count + BASE_BYTES
        fine &= check_bar(
            cost.peak <= most, f"{cost.peak / 1e6:,.0f} MB at {count:,} pages (bar: {most / 1e6:,.0f} MB)"
        )
    ratio = max(times.values()) / times[given.growth[0]]
    given.ratios["growth: dearest/first"] = ratio
    given.figures["growth"] = {"microseconds": {count: 1e6 * each for count, each in times.items()}}
    return fine & check_bar(ratio < GROWTH, f"{ratio:.2f} x the time a page (bar: {GROWTH} x)")


# -- skew ---------------------------------------------------------------------------------------


def skew(given: argparse.Namespace, scratch: Path) -> bool:
    """Add almost equal pages, and compare the cost with as many other pages."""
    source = corpus(given.pages, given.cache)
    pages = lines_of(source)
    extra = 10_000
    plain, skewed = scratch / "plain.jsonl", scratch / "skewed.jsonl"
    model = next(page["text"] for page in pages if page["language"] == "en" and len(page["text"]) > 1500)
    others = lines_of(corpus(given.pages + extra, given.cache))[given.pages :]
    near = [{"url": f"https://near.example/{n}.html", "text": f"{model}\nNumber {n}."} for n in range(extra)]
    for path, more in ((plain, others), (skewed, near)):
        path.write_bytes(b"".join(orjson.dumps(page) + b"\n" for page in [*pages, *more]))
    costs = [
        (run_dedupcrawl(plain, scratch / "a").cpu, run_dedupcrawl(skewed, scratch / "b").cpu)
        for _ in range(given.turns)
    ]
    ratio = median(b / a for a, b in costs)
    ended = check_bar(
        ratio < SHARE, f"{extra:,} almost equal pages cost {ratio:.2f} x what as many others cost (bar: {SHARE} x)"
    )
    return ended & _bounded()


def _bounded() -> bool:
    """Measure a chain in which only neighbours are similar, and pages that all share one key."""
    from dedupcrawl.batch.solver import build_index, solve  # noqa: PLC0415
    from tests.batch.shapes import chain, one_bucket  # noqa: PLC0415
    from tests.batch.verdict_rows import prints_of, rules_of  # noqa: PLC0415

    fine = True
    for name, records, kept in (("chain", chain(10_000), 5_000), ("one bucket", one_bucket(3_000), 3_000)):
        prints = prints_of(records, 1)
        begun = time.perf_counter()
        found = solve(prints, rules_of(Config(detectors=("simhash",))))
        seconds = time.perf_counter() - begun
        there = int(np.count_nonzero(found.keep))
        shared = len(build_index(prints).keys)
        fine &= check_bar(
            there == kept,
            f"{name} of {len(records):,}: {there:,} kept, {seconds:.1f} s, {shared:,} shared buckets, "
            f"{found.hot_buckets.pages:,} pages met a full one",
        )
    return fine


# -- verdicts -----------------------------------------------------------------------------------


def verdicts(given: argparse.Namespace, scratch: Path) -> bool:
    """Compare the verdicts of a crawl and of all engines on the same pages."""
    source = corpus(given.pages, given.cache)
    fine = True
    for detector in ("default", "simhash"):
        options = () if detector == "default" else ("--detector", detector)
        expected = _one_by_one(source, detector)
        for engine in ("local", *given.master):
            out = scratch / f"{detector} {engine}"
            with _spark(engine, scratch) as url:
                master = () if engine == "local" else ("--master", url)
                cost = run_dedupcrawl(source, out, "--annotate", *options, *master)
                fine &= _agree(f"{detector}, {engine}", expected, out, [source.name], cost)
                fine &= _in_two_steps(given, scratch, expected, (*options, *master), f"{detector}, {engine}")
    return fine


def _one_by_one(source: Path, detector: str) -> list[tuple[Any, ...]]:
    config = Config() if detector == "default" else Config(detectors=(detector,))
    with Deduplicator(config=config) as dedup:
        found = (dedup.add(text=page["text"], url=page["url"]) for page in lines_of(source))
        return [(each.status, each.relation, each.of, each.similarity, each.cluster, each.detector) for each in found]


def _in_two_steps(
    given: argparse.Namespace, scratch: Path, expected: list[tuple[Any, ...]], options: Sequence[str], name: str
) -> bool:
    """Deduplicate four fifths, then the rest against the kept pages."""
    source = corpus(given.pages, given.cache)
    lines = source.read_bytes().splitlines(keepends=True)
    cut = len(lines) * 4 // 5
    first, second = scratch / "first.jsonl", scratch / "second.jsonl"
    first.write_bytes(b"".join(lines[:cut]))
    second.write_bytes(b"".join(lines[cut:]))
    before, after = scratch / "before", scratch / "after"
    run_dedupcrawl(first, before, "--annotate", *options)
    cost = run_dedupcrawl(second, after, "--annotate", "--against", str(before), *options)
    fine = _agree(f"{name}, the first {cut:,}", expected[:cut], before, [first.name], cost)
    return fine & _agree(f"{name}, the others against them", expected[cut:], after, [second.name], cost)


def _agree(name: str, expected: list[tuple[Any, ...]], out: Path, files: Sequence[str], cost: Run) -> bool:
    rows = [row for file in files for row in lines_of(out / file)]
    actual = [tuple(row[f"dedup_{column}"] for column in COLUMNS) for row in rows]
    differ = [n for n, (one, two) in enumerate(zip(expected, actual, strict=True)) if not _same(one, two)]
    dropped = sum(each[0] == "duplicate" for each in actual)
    summary = json.loads((out / "summary.json").read_bytes())
    assert summary
    for n in differ[:3]:
        print(f"       page {n}: a crawl: {expected[n]}, {name}: {actual[n]}")
    return check_bar(
        not differ,
        f"{name}: {len(actual):,} pages, {dropped:,} dropped, {len(differ)} verdicts differ from a crawl's "
        f"({cost.wall:.0f} s)",
    )


def _same(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    return all(
        (None if a is None else str(a)) == (None if b is None else str(b)) for a, b in zip(one, two, strict=True)
    )


# -- kill ---------------------------------------------------------------------------------------


def kill(given: argparse.Namespace, scratch: Path) -> bool:
    """Kill an executor, and later a whole worker, of a standalone cluster with two workers."""
    from tests.batch.spark.test_cluster import on_cluster  # noqa: PLC0415  # needs Spark

    rows = [{"url": page["url"], "text": page["text"]} for page in lines_of(corpus(given.killed, given.cache))]
    killed = on_cluster(scratch, rows, 8, kill=True)
    return check_bar(
        len(killed) > 2, f"{len(killed)} processes of Spark killed with -9, {len(rows):,} pages: the same files"
    )


# -- running ------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[argparse.Namespace, Path], bool]] = {
    "documents": documents,
    "peers": peers,
    "truth": truth,
    "growth": growth,
    "skew": skew,
    "verdicts": verdicts,
    "kill": kill,
}


def main() -> int:
    """Run the requested parts; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help=", ".join(PARTS))
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000], help="of the part documents")
    parser.add_argument("--growth", type=int, nargs="+", default=[10_000, 50_000, 200_000])
    parser.add_argument("--killed", type=int, default=3_000, help="pages of the run in which Spark is killed")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument(
        "--master", action="append", default=[], help="of Spark, for documents and verdicts; repeatable"
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peers of documents")
    parser.add_argument("--cache", type=Path, default=CACHE)
    add_json_option(parser)
    given = parser.parse_args()
    given.ratios, given.figures = {}, {}  # figures by part
    unknown = set(given.parts) - PARTS.keys()
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    fine = True
    for name in given.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="dedupcrawl-") as scratch:
            fine &= PARTS[name](given, Path(scratch))
    write_results(given.json, "batch", ratios=given.ratios, figures=given.figures, packages=("pyarrow", "pyspark"))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
