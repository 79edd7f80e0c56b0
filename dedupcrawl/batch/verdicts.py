"""Writes and reads the verdict files of a run: the verdict of each row, and which page replaces which.

``batch/solver.py`` makes the verdicts. The output, later batches and reports read these files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from dedupcrawl.batch.columns import (
    arrow_array,
    arrow_bytes,
    arrow_labels,
    arrow_strings,
    numpy_array,
    read_batches,
    read_table,
    to_bytes,
    to_text,
)
from dedupcrawl.batch.formats import ANNOTATION_COLUMNS
from dedupcrawl.batch.solver import FIRST_DOUBT, NONE, RELATIONS
from dedupcrawl.batch.workdir import SUPERSEDED_FILE
from dedupcrawl.decision import Status, cluster_of
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS, VERSIONS
from dedupcrawl.matching import DOUBTS
from dedupcrawl.page.signatures import compare_layouts
from dedupcrawl.text.positions import common_position
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.batch.columns import FingerprintTable, Flags, Numbers
    from dedupcrawl.batch.job import Corpus, Job
    from dedupcrawl.batch.solver import SolverResult
    from dedupcrawl.batch.workdir import Workdir


#: One row for each row of the part. A bad row has no status and is not kept.
VERDICT_SCHEMA = pa.schema(
    [
        pa.field("keep", pa.bool_(), nullable=False),
        pa.field("compared", pa.bool_(), nullable=False),  # whether later pages are compared with it, kept or not
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
        pa.field("position", pa.string()),  # where the common part of both texts is, if rows are annotated
        pa.field("layout", pa.string()),  # whether both have the same layout, if rows are annotated
    ]
)
ROWS_PER_BATCH = 65_536  #: rows of a record batch that is written, at most
_STATUSES = [str(Status.UNIQUE), str(Status.DUPLICATE), str(Status.UNCHECKED), None]
_UNIQUE, _DUPLICATE, _UNCHECKED = range(3)  #: places in ``_STATUSES``
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


def unchecked_reasons(table: FingerprintTable, solution: SolverResult) -> dict[int, str]:
    """Return the rows that stay unchecked, each with the reason."""
    unrelated = {row: why for row, why in table.unread() if solution.relation[row] == NONE}
    doubtful = np.flatnonzero(solution.relation >= FIRST_DOUBT).tolist()
    doubts = {row: DOUBTS[solution.relation[row] - FIRST_DOUBT] for row in doubtful}
    return dict(table.reasons()) | unrelated | doubts


class BatchVerdictWriter:
    """Writes a solution as verdict files.

    ``name_all``: name clusters of one page too.
    """

    def __init__(self, corpus: Corpus, solution: SolverResult, *, name_all: bool) -> None:
        self._table = corpus.table
        self._solution = solution
        self._name_all = name_all
        self._compared = solution.keep if solution.compared is None else solution.compared
        reasons = unchecked_reasons(corpus.table, solution)
        self._reasons = [*sorted({*reasons.values()}), None]  # NONE is the last place
        self._reason = np.full(len(corpus.table), NONE, np.int32)
        places = {reason: place for place, reason in enumerate(self._reasons)}
        self._reason[[*reasons]] = [places[reason] for reason in reasons.values()]
        self._numbers = corpus.table.numbers("row")
        self._sizes = corpus.table.numbers("size")
        # Behind the relations are the places of doubts, and NONE.
        others = len(DOUBTS) + 1
        self._relations = [*map(str, RELATIONS), *[None] * others]
        self._detectors = [*solution.detectors, None]
        self._duplicates = np.array([each in DUPLICATE_RELATIONS for each in RELATIONS] + [False] * others)

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
        relations = self._solution.relation[start:stop]
        return PartCounts(
            name=name,
            pages=stop - start,
            kept=int(np.count_nonzero(keep)),
            bytes=int(sizes.sum()),
            kept_bytes=int(sizes[keep].sum()),
            dropped=_count_by_label(self._relations, relations[~keep]),
            related=_count_by_label(self._relations, relations[keep]),
            unchecked=_count_by_label(self._reasons, self._reason[start:stop]),
        )

    def _batch(self, left: int, right: int, first: int, rows: int) -> pa.RecordBatch:
        """Return the verdicts of ``rows`` rows of a part; ``left`` to ``right`` are rows of the corpus."""
        solution, span = self._solution, slice(left, right)
        places = self._numbers[span] - first
        of = _scatter(solution.of[span], places, rows, NONE)
        founder = _scatter(solution.founder[span], places, rows, NONE)
        corpus_row = _scatter(np.arange(left, right), places, rows, NONE)
        similarity = _scatter(solution.similarity[span], places, rows, np.nan)
        reason = _scatter(self._reason[span], places, rows, NONE)
        relation = _scatter(solution.relation[span], places, rows, NONE)
        status = np.where(reason != NONE, _UNCHECKED, np.where(self._duplicates[relation], _DUPLICATE, _UNIQUE))
        joined = founder != corpus_row
        named = (reason == NONE) & (joined if not self._name_all else corpus_row != NONE)
        columns = [
            arrow_array(_scatter(solution.keep[span], places, rows, empty=False)),
            arrow_array(_scatter(self._compared[span], places, rows, empty=False)),
            arrow_labels(_STATUSES, np.where(corpus_row == NONE, NONE, status)),
            arrow_labels(self._reasons, reason),
            arrow_labels(self._relations, relation),
            _texts_where(of != NONE, of, self._table.encoded_url),
            arrow_array(similarity, np.isnan(similarity)),
            arrow_labels(self._detectors, _scatter(solution.detector[span], places, rows, NONE)),
            _texts_where(named, founder, self._cluster),
            arrow_array(joined),
            arrow_array(of, of == NONE),
            arrow_array(founder, founder == NONE),
            *self._comparisons(corpus_row, of),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=VERDICT_SCHEMA)

    def _comparisons(self, rows: Numbers, of: Numbers) -> Iterator[pa.StringArray]:
        """Yield for related rows where the common part is, and whether the layout is the same."""
        table, pairs = self._table, list(zip(rows.tolist(), of.tolist(), strict=True))
        for column, compare in (("outline", common_position), ("identity", compare_layouts)):
            found = [
                compare(table.value(new, column), table.value(old, column)) if self._name_all and old != NONE else ""
                for new, old in pairs
            ]
            yield arrow_strings([each or None for each in found])

    def _cluster(self, founder: int) -> bytes:
        return to_bytes(cluster_of(self._table.sketch_record(founder)))


def _scatter(values: Numbers | Flags, places: Numbers, rows: int, empty: float) -> Numbers:
    """Return an array with the values at these places and ``empty`` elsewhere."""
    scattered = np.full(rows, empty, values.dtype)
    scattered[places] = values
    return scattered


def _texts_where(wanted: Flags, rows: Numbers, text_of: Callable[[int], bytes]) -> pa.BinaryArray:
    """Return a column with the text of each of these rows, and null where none is wanted."""
    texts: list[bytes | None] = [None] * len(rows)
    places = np.flatnonzero(wanted)
    for place, row in zip(places.tolist(), rows[places].tolist(), strict=True):
        texts[place] = text_of(row)
    return arrow_bytes(texts)


def _count_by_label(labels: Sequence[str | None], places: Numbers) -> dict[str, int]:
    """Return how often each label occurs, given their places, without None."""
    counts = np.bincount(places[places != NONE], minlength=len(labels)).tolist()
    return {label: count for label, count in sorted(zip(filter(None, labels), counts, strict=False)) if count}


def read_keep(path: Path) -> Flags:
    """Return for each row of a part whether it is kept."""
    keep: Flags = numpy_array(read_table(path).column("keep"))
    return keep


def read_compared(path: Path) -> Flags:
    """Return for each row of a part whether later pages are compared with it."""
    compared: Flags = numpy_array(read_table(path).column("compared"))
    return compared


def read_annotations(path: Path) -> pa.Table:
    """Return the columns that ``--annotate`` adds to the rows of a part."""
    verdicts = read_table(path)
    of, cluster = (_as_strings(verdicts.column(name)) for name in ("of", "cluster"))
    status, relation, similarity, detector, position, layout = (
        verdicts.column(name) for name in ("status", "relation", "similarity", "detector", "position", "layout")
    )
    columns = [status, relation, of, similarity, cluster, detector, position, layout]
    return pa.table(columns, names=list(ANNOTATION_COLUMNS))


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return encoded texts as strings; lone surrogates, which Arrow does not accept, become "?"."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (None if each is None else to_text(each) for each in column.to_pylist())
        valid = (text if text is None else text.encode("utf-8", "replace").decode() for text in texts)
        return pa.chunked_array([arrow_strings([*valid])])


def write_superseded(job: Job, work: Workdir, corpus: Corpus, solution: SolverResult) -> int:
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
        batch = pa.record_batch({"new": arrow_array(new), "old": arrow_array(old)})
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


def _superseded_pairs(corpus: Corpus, solution: SolverResult) -> tuple[Numbers, Numbers]:
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
