"""Whether two versions of the package give the same results.

``python -m benchmarks.same_results dump FILE [--only SECTION …]`` writes a digest of every result to a
JSON file; with ``--only`` the other sections of that file stay as they are.
``python -m benchmarks.same_results compare OLD NEW`` prints what differs between two such files; its exit
code is 1 if anything does. The sections:

``reading``
    Every page of the labelled sets, read by each reader: each field of the page, blocks included.
``fingerprints``
    The record of every page by each detector: keys, sketches and probes; of some also in groups
    (``fingerprint_many``).
``verdicts``
    The reprints in their order, claimed in an LMDB store: by the default detectors, under other settings, and
    by each detector alone. Also the ``assessments`` of the detectors on each pair. By default also in
    memory, with ``add`` and ``add_many``.
``stores``
    The bytes of these stores: the file of ``dedupcrawl store export``, and every table.
``batch``
    ``dedupcrawl batch`` of the reprints: every row, ``summary.json``, ``superseded.jsonl``.
``demo``
    ``dedupcrawl demo``, one request at a time: verdicts, items, summary, and the stats ``dedup/…``.
``reports``
    ``dedupcrawl report --json`` of the demo, of two batches and of a store, and the data in their HTML pages.

Values that differ between runs are left out: times, durations, the version and paths. Only public names and the
command line are used; :data:`INTERNAL` lists the exceptions.

The labelled sets are found as in the tests: in ``../shared/data``, or in the folder ``DEDUPCRAWL_DATA``.
Every third page of the sets of main texts is used.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from io import StringIO
from itertools import count, islice
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import lmdb

import dedupcrawl
from dedupcrawl import Claim, Deduplicator, Page, Verdict
from tests.data import LABELLED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

PACKAGE = Path(dedupcrawl.__file__).resolve().parents[1]
EVERY = {"aeb": 3, "cwced": 3, "wcxb": 3}  #: of so many pages of a set one is taken
NOON = 1_700_000_000.0  #: Unix time at which the first page is seen
GROUPED = 4  #: of so many pages one is fingerprinted in a group too
SHOWN = 8  #: differences of a section that are printed
DEMO_PORTS = range(29401, 29406)  #: not the usual ones: another demo may run

#: Names that are not public: each is looked for in these places, in this order.
INTERNAL = {
    "detectors": ("dedupcrawl.detectors.registry:DETECTORS",),
    "readers": ("dedupcrawl.page.readers:READERS",),
    "main": ("dedupcrawl.cli:main",),
    "demo": ("dedupcrawl.tools.demo.crawl:run_demo", "dedupcrawl.demo.runner:run_demo"),
}

#: Names of values that no two runs share, in JSON.
UNSTABLE = frozenset(
    {"made", "began", "ended", "time", "first", "last", "start", "slices", "times"}
    | {"version", "seconds", "pages_per_second", "work_bytes_per_page"}
)

#: Settings other than the default ones under which the reprints are judged.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "latest": {"keep": "latest"},
    "loose": {"threshold": 0.5, "length_ratio": 2.0, "min_chars": 20, "drop": {"identical", "excerpt"}},
    "topic": {"reader": "topic"},
    "folded": {"fold_chinese": True, "seed": 7},
}

#: Options of the batches.
BATCHES: Mapping[str, tuple[str, ...]] = {
    "kept": (),
    "annotated": ("--annotate", "--workers", "2"),
    "latest": ("--annotate", "--keep", "latest"),
    "longest": ("--annotate", "--prefer", "longest", "--detector", "simhash", "--detector", "exact"),
}

#: Sections that use what others leave behind.
NEEDS = {"stores": ("verdicts",), "reports": ("batch", "demo")}

Section = dict[str, Any]  #: what is compared, by name


@dataclass(frozen=True, slots=True)
class Source:
    """A page of a labelled set."""

    name: str
    url: str
    html: bytes | str


# -- pages ----------------------------------------------------------------------------------------


def data() -> Path:
    """Return the folder of the labelled sets."""
    if not LABELLED.is_dir():
        sys.exit(f"no labelled pages in {LABELLED} (set DEDUPCRAWL_DATA)")
    return LABELLED


def reprints() -> list[Source]:
    """Return the pages of the set of reprints, in their order."""
    with gzip.open(data() / "reprints" / "dev.jsonl.gz", "rt", encoding="utf-8") as file:
        return [Source(f"reprints/{row['id']}", row["url"], row["html"]) for row in map(json.loads, file)]


def page_set(name: str) -> Iterator[Source]:
    """Yield every third page of a set of main texts."""
    folder = data() / "pages" / name
    for row in json_lines(folder / "truth.jsonl")[:: EVERY[name]]:
        html = gzip.decompress((folder / "html" / f"{row['id']}.html.gz").read_bytes())
        yield Source(f"{name}/{row['id']}", row["url"], html)


def sources() -> list[Source]:
    """Return the pages of all sets."""
    return [*(source for name in EVERY for source in page_set(name)), *reprints()]


def read(found: Iterable[Source], reader: str = "blocks") -> list[tuple[str, Page | Verdict]]:
    """Read pages by a reader; return each with its name."""
    dedup = Deduplicator(reader=reader)
    return [(source.name, dedup.read(html=source.html, url=source.url)) for source in found]


def readable(found: Iterable[Source]) -> list[tuple[str, Page]]:
    """Read pages; leave out those that cannot be read."""
    return [(name, page) for name, page in read(found) if isinstance(page, Page)]


# -- digests --------------------------------------------------------------------------------------


def internal(name: str) -> Any:
    """Return the object at the first of these dotted names that exists."""
    for place in INTERNAL[name]:
        try:
            return resolve_name(place)
        except (ImportError, AttributeError):
            continue
    sys.exit(f"{name}: none of {', '.join(INTERNAL[name])} exists; add its new place to INTERNAL")


def digest(value: object) -> str:
    """Return the digest of a value by its representation, or of its bytes."""
    raw = value if isinstance(value, bytes) else repr(value).encode("utf-8", "backslashreplace")
    return blake2b(raw, digest_size=8).hexdigest()


def digest_of_json(value: object) -> str:
    """Return the digest of a JSON value."""
    return digest(json.dumps(value, sort_keys=True, default=str))


def digests_of_page(page: Page | Verdict) -> dict[str, str]:
    """Return the digest of each field; of a page that cannot be read, the verdict."""
    if isinstance(page, Verdict):
        return {"verdict": digest_of_json(page.to_dict())}
    plain = {field.name: getattr(page, field.name) for field in fields(page)}
    plain["blocks"] = [tuple(block) for block in page.blocks]
    return {name: digest(str(value) if name == "kind" else value) for name, value in plain.items()}


def digest_of_record(record: Any) -> str:
    """Return the digest of the record of a page, or of the verdict if there is no record."""
    if isinstance(record, Verdict):
        return digest_of_json(record.to_dict())
    probes = record.keys if record.probes is None else record.probes
    return digest((record.url, record.keys, record.sketches, probes))


def stable(value: Any, folder: Path) -> Any:
    """Return a JSON value without the values that differ between runs; ``folder`` is replaced by FOLDER."""
    if isinstance(value, dict):
        return {name: stable(each, folder) for name, each in value.items() if name not in UNSTABLE}
    if isinstance(value, list):
        return [stable(each, folder) for each in value]
    return value.replace(str(folder), "FOLDER") if isinstance(value, str) else value


def flat(value: Any, place: str = "") -> Section:
    """Return the values of nested dicts by their path, lists as the digest of each element."""
    if isinstance(value, dict):
        parts = (flat(each, f"{place}.{name}" if place else str(name)) for name, each in value.items())
        return {name: each for part in parts for name, each in part.items()}
    if isinstance(value, list):
        return {place: [digest_of_json(each) for each in value]}
    return {place: value}


# -- sections -------------------------------------------------------------------------------------


def reading() -> Section:
    """Read every page by each reader."""
    found: Section = {}
    for reader in internal("readers"):
        found |= {f"{reader} {name}": digests_of_page(page) for name, page in read(sources(), reader)}
    return found


def fingerprints() -> Section:
    """Fingerprint every page by each detector, one by one and in groups."""
    pages = readable(sources())
    found: Section = {}
    for detector in internal("detectors"):
        dedup = Deduplicator(detectors=[detector])
        singly = [dedup.fingerprint(page) for _, page in pages]
        together = dedup.fingerprint_many([page for _, page in pages[::GROUPED]])
        found |= {f"{detector} {name}": digest_of_record(one) for (name, _), one in zip(pages, singly, strict=True)}
        for (name, _), one in zip(pages[::GROUPED], together, strict=True):
            found[f"{detector} in a group {name}"] = digest_of_record(one)
    return found


def variants() -> dict[str, dict[str, Any]]:
    """Return all settings under which the reprints are judged."""
    alone = {name: {"detectors": [name]} for name in internal("detectors")}
    return {**{name: dict(changes) for name, changes in VARIANTS.items()}, **alone}


def fill(store: Path, changes: dict[str, Any], subjects: list[tuple[str, Page | Verdict]]) -> Section:
    """File pages in a store; return their verdicts, and the assessments of the detectors on each pair."""
    moments = count()
    found: Section = {}
    with Deduplicator(f"lmdb://{store}", "reprints", clock=lambda: NOON + next(moments), **changes) as dedup:
        for name, page in subjects:
            record = dedup.fingerprint(page) if isinstance(page, Page) else page
            verdict = record if isinstance(record, Verdict) else claimed(dedup, record, page.url)
            found[name] = [verdict.status, verdict.of, digest_of_json(verdict.to_dict())]
            old = dedup.lookup(verdict.of) if verdict.of else None
            if old is not None and not isinstance(record, Verdict):
                found[name].append(digest_of_json([asdict(each) for each in dedup.assessments(record, old)]))
    return found


def claimed(dedup: Deduplicator, record: Any, url: str) -> Verdict:
    """Judge a page as a crawl does; kept pages are committed at once."""
    claim = dedup.claim_record(record, url, give_up=True)
    assert isinstance(claim, Claim)
    claim.commit()
    return claim.verdict


def added() -> Section:
    """Judge the reprints one by one and together, by the methods ``add`` and ``add_many``."""
    subjects = readable(reprints())
    one, other = Deduplicator(), Deduplicator()
    together = [
        verdict
        for place in range(0, len(subjects), 100)
        for verdict in other.add_many([page for _, page in subjects[place : place + 100]])
    ]
    return {
        f"add {name}": [digest_of_json(each.to_dict()) for each in (one.add(page), many)]
        for (name, page), many in zip(subjects, together, strict=True)
    }


def verdicts(folder: Path) -> Section:
    """Judge the reprints under all settings."""
    found = added()
    subjects: dict[str, list[tuple[str, Page | Verdict]]] = {}
    for name, changes in variants().items():
        reader = changes.get("reader", "blocks")
        if reader not in subjects:
            subjects[reader] = read(reprints(), reader)
        found |= {f"{name} {page}": row for page, row in fill(folder / name, changes, subjects[reader]).items()}
    return found


def stores(folder: Path) -> Section:
    """Export the stores that the section ``verdicts`` left in ``folder``, and read their tables."""
    found: Section = {}
    for name in variants():
        exported = folder / f"{name}.export"
        run("store", "export", f"lmdb://{folder / name}", str(exported))
        found[f"{name} export"] = digest(gzip.decompress(exported.read_bytes()))
        found |= {f"{name} {table}": each for table, each in tables(folder / name)}
    return found


def tables(store: Path) -> Iterator[tuple[str, str]]:
    """Yield the digest of each table of an LMDB store."""
    with lmdb.open(str(store), readonly=True, max_dbs=64, lock=False) as environment:
        with environment.begin() as transaction:
            names = [bytes(name) for name, _ in transaction.cursor()]
        for name in names:
            handle = environment.open_db(name, create=False)
            with environment.begin(db=handle) as transaction:
                rows = [(bytes(key), bytes(value)) for key, value in transaction.cursor()]
            yield name.decode(), f"{len(rows)} rows {digest(rows)}"


def batch(folder: Path) -> Section:
    """Run the batches; their outputs stay in ``folder`` for the reports."""
    corpus = folder / "reprints.jsonl"
    rows = (json.dumps({"url": each.url, "html": each.html}) for each in reprints())
    corpus.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    found: Section = {}
    for name, options in BATCHES.items():
        out = folder / name
        run("batch", str(corpus), "--out", str(out), *options)
        found |= {f"{name} {place}": each for place, each in flat(outputs(out, folder)).items()}
    return found


def outputs(out: Path, folder: Path) -> dict[str, Any]:
    """Return the files of a batch: JSON as its values, of JSON Lines each row."""
    found: dict[str, Any] = {}
    for path in sorted(out.iterdir()):
        if path.suffix in (".json", ".jsonl"):
            found[path.name] = stable(load(path) if path.suffix == ".json" else json_lines(path), folder)
    return found


def demo(folder: Path) -> Section:
    """Run the demo; its output stays in ``folder`` for the reports."""
    with redirect_stdout(StringIO()):
        internal("demo")(folder, settings=["CONCURRENT_REQUESTS=1"], fresh=True, first_port=DEMO_PORTS[0])
    journal = (folder / "journal.jsonl").read_text("utf-8")
    if not {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", journal)} <= set(DEMO_PORTS):
        sys.exit(f"the demo needs the ports {DEMO_PORTS[0]} to {DEMO_PORTS[-1]}, and one of them is taken")
    stats = dict(re.findall(r"'(dedup/[^']+)': (\d+)", (folder / "crawl.log").read_text("utf-8")))
    found: Section = {f"stats {name}": value for name, value in stats.items()}
    found |= {f"summary {name}": value for name, value in load(folder / "summary.json").items()}
    for name in ("journal.jsonl", "items.jsonl", "crawl.jsonl"):
        for number, row in enumerate(json_lines(folder / name)):
            found[f"{name} {number}"] = [row["url"], digest_of_json(stable(row, folder))]
    return found


def reports(folder: Path) -> Section:
    """Create reports on the output of the other sections in ``folder``."""
    subjects = {
        "demo": str(folder / "demo" / "report.ledger"),
        "kept": str(folder / "batch" / "kept"),
        "annotated": str(folder / "batch" / "annotated"),
        "store": f"lmdb://{folder / 'store'}",
    }
    fill(folder / "store", {}, read(reprints()))
    found: Section = {}
    for name, subject in subjects.items():
        report = stable(json.loads(run("report", subject, "--json")), folder)
        found |= {f"{name} {place}": each for place, each in flat(report).items()}
        page = folder / f"{name}.html"
        run("report", subject, "-o", str(page))
        found |= {f"{name} page {place}": each for place, each in payloads(page.read_text("utf-8"), folder)}
    return found


def payloads(html: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the data embedded in a page, by the id of its element and the name of each part."""
    for kind, element, text in re.findall(
        r'<script type="application/(json|x-deflated-json)" id="([^"]+)">(.*?)</script>', html, re.DOTALL
    ):
        plain = text if kind == "json" else zlib.decompress(base64.b64decode(text)).decode()
        for place, each in flat(stable(json.loads(plain), folder)).items():
            yield f"{element} {place}", each if isinstance(each, list) else digest_of_json(each)


# -- the command line -----------------------------------------------------------------------------


def run(*arguments: str) -> str:
    """Run a command of the package in a process of its own; return its output."""
    code = "import sys; from pkgutil import resolve_name as n; sys.exit(n(sys.argv.pop(1))())"
    path = os.pathsep.join(filter(None, (str(PACKAGE), os.environ.get("PYTHONPATH"))))
    internal("main")
    done = subprocess.run(
        [sys.executable, "-c", code, INTERNAL["main"][-1], *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"dedupcrawl {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def load(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON objects, one a line; ``str.splitlines`` would also split at other characters."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def dump(path: Path, only: list[str]) -> None:
    """Write the results of all sections; or only those of the named sections and the sections they need."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("stores", "batch", "demo"):
            (folder / each).mkdir()
        sections: dict[str, Callable[[], Section]] = {
            "reading": reading,
            "fingerprints": fingerprints,
            "verdicts": lambda: verdicts(folder / "stores"),
            "stores": lambda: stores(folder / "stores"),
            "batch": lambda: batch(folder / "batch"),
            "demo": lambda: demo(folder / "demo"),
            "reports": lambda: reports(folder),
        }
        asked = set(only or sections)
        asked |= {each for section in asked for each in NEEDS.get(section, ())}
        found: dict[str, Section] = load(path) if only and path.exists() else {}
        for section in (each for each in sections if each in asked):
            start = time.monotonic()
            found[section] = sections[section]()
            spent = time.monotonic() - start
            print(f"{section}: {len(found[section])} results, {spent:.0f} s", file=sys.stderr, flush=True)
            path.write_text(json.dumps(found, indent=0, sort_keys=True), "utf-8")


def compare(one: Path, other: Path) -> int:
    """Print the differences between two files; return the number of results that differ."""
    old, new = load(one), load(other)
    total = 0
    for section in dict.fromkeys((*old, *new)):
        different = list(differences(old.get(section, {}), new.get(section, {})))
        total += len(different)
        print(f"{section}: {len(different)} of {len(old.get(section, {}))} results differ")
        kinds = Counter(name.split(" ")[0] for name, _ in different)
        if kinds:
            print(f"  by kind: {', '.join(f'{kind} {number}' for kind, number in kinds.most_common())}")
        for name, what in islice(different, SHOWN):
            print(f"  {name}: {what}")
    return total


def differences(old: Section, new: Section) -> Iterator[tuple[str, str]]:
    """Yield each result that differs, with the differences."""
    for name in dict.fromkeys((*old, *new)):
        if name not in new or name not in old:
            yield name, "only in the old one" if name in old else "only in the new one"
        elif old[name] != new[name]:
            yield name, difference(old[name], new[name])


def difference(old: Any, new: Any) -> str:
    """Describe the differences between two results."""
    if isinstance(old, dict) and isinstance(new, dict):
        return ", ".join(name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        places = [place for place, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        return f"{len(places)} of {len(old)} elements, the first at {places[0]}"
    return f"{str(old)[:80]} -> {str(new)[:80]}"


def main() -> int:
    """Write a file, or compare two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    dumping = commands.add_parser("dump", help="write the digests of all results")
    dumping.add_argument("file", type=Path)
    dumping.add_argument("--only", nargs="+", default=[], metavar="SECTION", help="these sections alone")
    comparing = commands.add_parser("compare", help="print what differs; exit code 1 if anything does")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    asked = parser.parse_args()
    if asked.command == "dump":
        dump(asked.file, asked.only)
        return 0
    return 1 if compare(asked.old, asked.new) else 0


if __name__ == "__main__":
    sys.exit(main())
