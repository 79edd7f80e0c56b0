"""The verdict files of a run: the verdict of each row, and which page replaces which.

They are read to write the output, by later batches, and by reports.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from dedupcrawl.batch.corpus import read_batches, read_table
from dedupcrawl.batch.fingerprint_table import to_bytes, to_text
from dedupcrawl.batch.formats import ANNOTATION_COLUMNS
from dedupcrawl.batch.solver import NONE, NOT_READ, RELATIONS
from dedupcrawl.batch.workdir import SUPERSEDED_FILE
from dedupcrawl.decision import DUPLICATE_RELATIONS, VERSIONS, cluster_of
from dedupcrawl.little_read import LITTLE_READ
from dedupcrawl.utils.resources import atomic_output
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.fingerprint_table import FingerprintTable
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solver import Solution
    from dedupcrawl.batch.workdir import Workdir
    from dedupcrawl.utils.arrays import Numbers


#: One row for each row of the part. A bad row has no status and is not kept.
VERDICT_SCHEMA = pa.schema(
    [
        pa.field("keep", pa.bool_(), nullable=False),
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("relation", pa.string()),
        pa.field("of", pa.binary()),  # URL, encoded as in the fingerprints
        pa.field("similarity", pa.float64()),
        pa.field("detector", pa.string()),
        pa.field("cluster", pa.binary()),  # null for a page that joined no cluster, unless all are named
        pa.field("joined", pa.bool_(), nullable=False),  # whether the cluster is that of another page
        pa.field("of_row", pa.int64()),  # row of the corpus; prior pages come first
        pa.field("founder", pa.int64()),  # row of the corpus after which the cluster is named
    ]
)
ROWS_PER_BATCH = 65_536  #: rows of a record batch that is written, at most
#: Relations by which a newer page replaces an older one.
_REPLACING = tuple(RELATIONS.index(each) for each in sorted(DUPLICATE_RELATIONS | VERSIONS))


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The verdicts of a part, counted."""

    name: str
    pages: int = 0
    kept: int = 0
    bytes: int = 0  #: of all pages
    kept_bytes: int = 0  #: of the kept pages
    dropped: dict[str, int] = field(default_factory=dict)  #: by relation
    related: dict[str, int] = field(default_factory=dict)  #: kept pages, by relation
    unchecked: dict[str, int] = field(default_factory=dict)  #: by reason


def unchecked_reasons(table: FingerprintTable, solution: Solution) -> dict[int, str]:
    """Return the rows that stay unchecked, each with the reason."""
    unrelated = {row: why for row, why in table.unread() if solution.relation[row] == NONE}
    little_read = dict.fromkeys(np.flatnonzero(solution.relation == NOT_READ).tolist(), LITTLE_READ)
    return dict(table.reasons()) | unrelated | little_read


class VerdictWriter:
    """Writes a solution as verdict files.

    ``name_all``: name clusters of one page too.
    """

    def __init__(self, corpus: Corpus, solution: Solution, *, name_all: bool) -> None:
        self._table = corpus.table
        self._solution = solution
        self._name_all = name_all
        self._reasons = unchecked_reasons(corpus.table, solution)
        self._numbers = corpus.table.numbers("row")
        self._sizes = corpus.table.numbers("size")
        # The last places are NOT_READ and NONE.
        self._relations = np.array([*map(str, RELATIONS), None, None], object)
        self._detectors = np.array([*solution.detectors, None], object)
        self._duplicates = np.array([each in DUPLICATE_RELATIONS for each in RELATIONS] + [False, False])

    def write(self, path: Path, start: int, stop: int, rows: int) -> None:
        """Write the verdicts of a part.

        Its rows in the corpus are ``start`` to ``stop``; of its ``rows`` the others are bad.
        """
        with (
            atomic_output(path) as temporary,
            pa.OSFile(str(temporary), "wb") as file,
            pa.ipc.new_file(file, VERDICT_SCHEMA) as writer,
        ):
            for first in range(0, rows, ROWS_PER_BATCH):
                end = min(first + ROWS_PER_BATCH, rows)
                left, right = start + np.searchsorted(self._numbers[start:stop], [first, end])
                writer.write_batch(self._batch(int(left), int(right), first, end - first))

    def count(self, name: str, start: int, stop: int) -> PartCounts:
        """Count the verdicts of a part, whose rows in the corpus are ``start`` to ``stop``."""
        keep = self._solution.keep[start:stop]
        sizes = self._sizes[start:stop]
        relations = self._relations[self._solution.relation[start:stop]]
        reasons = (self._reasons[row] for row in range(start, stop) if row in self._reasons)
        return PartCounts(
            name=name,
            pages=stop - start,
            kept=int(np.count_nonzero(keep)),
            bytes=int(sizes.sum()),
            kept_bytes=int(sizes[keep].sum()),
            dropped=_count_by_name(relations[~keep]),
            related=_count_by_name(each for each in relations[keep] if each is not None),
            unchecked=_count_by_name(reasons),
        )

    def _batch(self, left: int, right: int, first: int, rows: int) -> pa.RecordBatch:
        """Return the verdicts of ``rows`` rows of a part; ``left`` to ``right`` are rows of the corpus."""
        solution, span, table = self._solution, slice(left, right), self._table
        places = self._numbers[span] - first
        of, founder = solution.of[span].tolist(), solution.founder[span]
        joined = founder != np.arange(left, right)
        values: dict[str, Iterable[Any]] = {
            "keep": solution.keep[span],
            "status": self._statuses(left, right),
            "reason": [self._reasons.get(row) for row in range(left, right)],
            "relation": self._relations[solution.relation[span]],
            "of": [None if old == NONE else to_bytes(table.url(old)) for old in of],
            "similarity": [None if isnan(each) else each for each in solution.similarity[span].tolist()],
            "detector": self._detectors[solution.detector[span]],
            "cluster": [
                self._cluster(row) if is_other or self._name_all else None
                for row, is_other in zip(range(left, right), joined.tolist(), strict=True)
            ],
            "joined": joined,
            "of_row": [None if old == NONE else old for old in of],
            "founder": founder,
        }
        empty = {"keep": False, "joined": False}
        columns = [
            pa.array(_scatter(values[each.name], places, rows, empty.get(each.name)), each.type)
            for each in VERDICT_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(columns, schema=VERDICT_SCHEMA)

    def _statuses(self, left: int, right: int) -> list[str]:
        duplicate = self._duplicates[self._solution.relation[left:right]].tolist()
        return [
            str(Status.UNCHECKED if row in self._reasons else Status.DUPLICATE if copy else Status.UNIQUE)
            for row, copy in zip(range(left, right), duplicate, strict=True)
        ]

    def _cluster(self, row: int) -> bytes | None:
        if row in self._reasons:
            return None
        return to_bytes(cluster_of(self._table.sketch_record(int(self._solution.founder[row]))))


def _scatter(values: Iterable[Any], places: Numbers, rows: int, empty: object) -> Any:
    """Return an array with the values at these places and ``empty`` elsewhere."""
    scattered = np.full(rows, empty, object)
    objects = np.empty(len(places), object)
    objects[:] = list(values)
    scattered[places] = objects
    return scattered


def _count_by_name(values: Iterable[Any]) -> dict[str, int]:
    return dict(sorted(Counter(map(str, values)).items()))


def read_keep(path: Path) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each row of a part whether it is kept."""
    return np.asarray(read_table(path).column("keep").to_numpy(), bool)


def read_annotations(path: Path) -> pa.Table:
    """Return the columns that ``--annotate`` adds to the rows of a part."""
    verdicts = read_table(path)
    of, cluster = (_as_strings(verdicts.column(name)) for name in ("of", "cluster"))
    status, relation, similarity, detector = (
        verdicts.column(name) for name in ("status", "relation", "similarity", "detector")
    )
    return pa.table([status, relation, of, similarity, cluster, detector], names=list(ANNOTATION_COLUMNS))


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return encoded texts as strings; lone surrogates, which Arrow does not accept, become "?"."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (None if each is None else to_text(each) for each in column.to_pylist())
        valid = (text if text is None else text.encode("utf-8", "replace").decode() for text in texts)
        return pa.chunked_array([pa.array(valid, pa.string())])


def write_superseded(job: Job, work: Workdir, corpus: Corpus, solution: Solution) -> int:
    """Write which pages replace older or prior ones; return how many replace any.

    ``superseded.jsonl`` has the form of the output of the reduce step of the patent's MapReduce mode: a new
    page and all older pages that it repeats.
    """
    if not job.latest:
        for path in (work.superseded, work.out / SUPERSEDED_FILE):
            path.unlink(missing_ok=True)
        return 0
    new, old = _superseded_pairs(corpus, solution)
    with atomic_output(work.superseded) as path:
        batch = pa.record_batch({"new": pa.array(new, pa.int64()), "old": pa.array(old, pa.int64())})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
    url = corpus.table.url
    with atomic_output(work.out / SUPERSEDED_FILE) as path, path.open("wb") as lines:
        for row, pairs in groupby(zip(new.tolist(), old.tolist(), strict=True), key=lambda pair: pair[0]):
            lines.write(_json_line({"url": url(row), "old": [url(each) for _, each in pairs]}))
    return len(np.unique(new))


def read_superseded(work: Workdir) -> Iterator[tuple[int, int]]:
    """Yield rows of the corpus: a page, and an older page that it replaces."""
    if work.superseded.exists():
        for batch in read_batches(work.superseded):
            yield from zip(batch.column("new").to_pylist(), batch.column("old").to_pylist(), strict=True)


def replaced_prior_pages(work: Workdir) -> set[tuple[str, str, int]]:
    """Return source, part and row of the prior pages that were replaced."""
    if not work.superseded.exists() or not work.prior_pages.exists():
        return set()
    prior = read_table(work.prior_pages).select(["source", "part", "row"])
    rows = prior.take(sorted({old for _, old in read_superseded(work) if old < len(prior)})).to_pylist()
    return {(row["source"], row["part"], row["row"]) for row in rows}


def _superseded_pairs(corpus: Corpus, solution: Solution) -> tuple[Numbers, Numbers]:
    """Return new and old rows, sorted by new row."""
    is_old = ~solution.keep & np.isin(solution.relation, _REPLACING) & (solution.of != NONE)
    old = np.flatnonzero(is_old & (solution.of >= corpus.prior))
    new = solution.of[old]
    order = np.lexsort((old, new))
    return new[order], old[order]


def _json_line(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate
        return json.dumps(value).encode() + b"\n"
