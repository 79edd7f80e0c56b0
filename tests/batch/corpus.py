"""Small corpora and the labelled reprints on disk, and the output of batches over them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl import Deduplicator
from dedupcrawl.batch.formats import ANNOTATION_COLUMNS
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.runner import run
from dedupcrawl.config import Config
from dedupcrawl.page.model import Page
from tests.data import data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.decision import Verdict

Rows = list[dict[str, Any]]
VerdictRow = tuple[Any, ...]

_WORDS = "harbour ferry ice pier night crew winter island signal lamp rope tide anchor engine captain".split()  # noqa: SIM905


def story(number: int, *, words: int = 60, more: str = "") -> str:
    """A different text for each number; ``more`` is added at its end."""
    random = Random(number)
    return " ".join(f"{random.choice(_WORDS)}{random.randrange(97)}" for _ in range(words)) + more


def page(story_number: int, place: object, **more: Any) -> dict[str, Any]:
    """A row: a story at an address."""
    return {"url": f"https://s{place}.example/{story_number}", "text": story(story_number), **more}


def listing(number: int) -> str:
    """A page with nothing but links, another one for each number."""
    links = "".join(f'<li><a href="/{n}">Saws of kind {number}, number {n} of the list</a></li>' for n in range(90))
    return f"<title>Saws {number}</title><h1>Saws {number}</h1><ul>{links}</ul>"


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)
    return path


def lines(path: Path) -> Rows:
    body = path.read_bytes()
    return [orjson.loads(line) for line in (gzip.decompress(body) if path.suffix == ".gz" else body).splitlines()]


@dataclass
class Batch:
    """A folder of inputs, and the runs over them."""

    folder: Path
    config: Config = field(default_factory=Config)

    def job(self, *inputs: Path | str, out: str = "out", **how: Any) -> Job:
        how = {"workers": 1, "config": self.config, **how}
        return Job(inputs=tuple(map(str, inputs)), out=self.folder / out, **how)

    def run(self, *inputs: Path | str, out: str = "out", **how: Any) -> dict[str, Any]:
        return run(self.job(*inputs, out=out, **how))

    def kept(self, out: str = "out") -> list[str]:
        """The URLs of all pages in the output, file by file."""
        return [
            row["url"]
            for path in sorted((self.folder / out).rglob("*.jsonl*"))
            if _is_output(path)
            for row in lines(path)
        ]


def _is_output(path: Path) -> bool:
    return path.name != "superseded.jsonl" and "_dedupcrawl" not in path.parts


def annotated_verdicts(rows: Rows) -> list[VerdictRow]:
    """The verdicts in an annotated output, without position and layout, which a crawl's verdict does not have so."""
    return [tuple(row.get(name) for name in ANNOTATION_COLUMNS[:6]) for row in rows]


def without_cluster(rows: list[VerdictRow]) -> list[VerdictRow]:
    """Clusters of one page have no name unless it is requested."""
    return [each[:4] + each[5:] for each in rows]


def verdict_tuples(verdicts: Iterable[Verdict]) -> list[VerdictRow]:
    """The verdicts of a crawl, in the same form."""
    return [
        (
            str(each.status),
            str(each.relation) if each.relation else None,
            each.of,
            each.similarity,
            each.cluster,
            each.detector,
        )
        for each in verdicts
    ]


def crawled(config: Config, rows: Rows) -> list[Verdict]:
    """The verdicts of a crawl without site memory on these rows in order."""
    with Deduplicator(config=config, site_memory=False) as dedup:
        return [dedup.add(**_given(row)) for row in rows]


def _given(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("url", "html", "text") if row.get(name) is not None}


@cache
def reprints() -> tuple[dict[str, Any], ...]:
    """The labelled pages: url and html."""
    with gzip.open(data("reprints", "dev.jsonl.gz")) as rows:
        return tuple({name: row[name] for name in ("url", "html")} for row in map(orjson.loads, rows))


@cache
def labelled_pages() -> tuple[Page, ...]:
    """The labelled pages, read."""
    dedup = Deduplicator()
    pages = (dedup.read(html=row["html"], url=row["url"]) for row in reprints())
    return tuple(each for each in pages if isinstance(each, Page))


def reprinted_texts(count: int | None = None) -> Rows:
    """The main texts of the labelled pages, or of so many of them: url and text."""
    return [{"url": each.url, "text": each.text} for each in labelled_pages()[:count]]


def split(rows: Sequence[dict[str, Any]], folder: Path, count: int = 3) -> Path:
    """Write rows in order into some files."""
    step = -(-len(rows) // count)
    for number in range(count):
        write_lines(folder / f"part-{number}.jsonl", rows[number * step : (number + 1) * step])
    return folder
