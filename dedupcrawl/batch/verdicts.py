"""What is said of each row of a part, as Arrow columns, for its output and for later batches.

Which page takes the place of which, where the latest one wins.

The list is what the reduce step of the patent's MapReduce mode gives: a new page, and all older ones that it
repeats.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from dedupcrawl.batch.corpus import read_batches, read_table
from dedupcrawl.batch.fingerprint_table import to_bytes
from dedupcrawl.batch.formats import ANNOTATION_COLUMNS
from dedupcrawl.batch.solver import NONE, RELATIONS
from dedupcrawl.batch.workdir import SUPERSEDED_FILE
from dedupcrawl.decision import DUPLICATE_RELATIONS, cluster_of
from dedupcrawl.detectors.base import Relation
from dedupcrawl.utils.resources import atomic_output
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solver import Solution
    from dedupcrawl.batch.workdir import Workdir

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Pairs = tuple[Numbers, Numbers]


#: A row for each row of the part; bad ones have no status, and are not kept.
VERDICT_SCHEMA = pa.schema(
    [
        pa.field("keep", pa.bool_(), nullable=False),
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("relation", pa.string()),
        pa.field("of", pa.binary()),  # URL, as in the fingerprints
        pa.field("similarity", pa.float64()),
        pa.field("detector", pa.string()),
        pa.field(
            "cluster", pa.binary()
        ),  # null where the page founded its own, and nobody asked for its name
        pa.field("joined", pa.bool_(), nullable=False),  # whether it is another page's cluster
        pa.field("of_row", pa.int64()),  # row of the corpus, the given ones first
        pa.field("founder", pa.int64()),  # row of the corpus that its cluster is named after
    ]
)
ROWS_PER_BATCH = 65_536  #: that are put together at a time


@dataclass(frozen=True, slots=True)
class PartCounts:
    """What the verdicts on a part amount to."""

    name: str
    pages: int = 0
    kept: int = 0
    bytes: int = 0  #: of the pages
    kept_bytes: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  #: by relation
    related: dict[str, int] = field(default_factory=dict)  #: kept pages, by relation
    unchecked: dict[str, int] = field(default_factory=dict)  #: by reason


class VerdictWriter:
    """Puts a solution into words.

    Args:
        corpus: what was judged.
        found: the verdicts.
        name_all: whether clusters of one page are named too.
    """

    def __init__(self, corpus: Corpus, found: Solution, *, name_all: bool) -> None:
        self._prints = corpus.prints
        self._found = found
        self._name_all = name_all
        self._reasons = dict(corpus.prints.reasons())
        self._numbers = corpus.prints.numbers("row")
        self._sizes = corpus.prints.numbers("size")
        self._relations = np.array([*map(str, RELATIONS), None], object)  # NOBODY is the last place
        self._detectors = np.array([*found.detectors, None], object)
        self._duplicates = np.array([each in DUPLICATE_RELATIONS for each in RELATIONS] + [False])

    def write(self, path: Path, start: int, stop: int, rows: int) -> None:
        """Write what is said of a part, whose rows in the corpus are those from ``start`` to ``stop``.

        ``rows`` is how many the part has; those that are not in the corpus are bad.
        """
        with (
            atomic_output(path) as unfinished,
            pa.OSFile(str(unfinished), "wb") as file,
            pa.ipc.new_file(file, VERDICT_SCHEMA) as writer,
        ):
            for first in range(0, rows, ROWS_PER_BATCH):
                end = min(first + ROWS_PER_BATCH, rows)
                left, right = start + np.searchsorted(self._numbers[start:stop], [first, end])
                writer.write_batch(self._batch(int(left), int(right), first, end - first))

    def count(self, name: str, start: int, stop: int) -> PartCounts:
        """Count what is said of a part."""
        keep = self._found.keep[start:stop]
        sizes = self._sizes[start:stop]
        relations = self._relations[self._found.relation[start:stop]]
        return PartCounts(
            name=name,
            pages=stop - start,
            kept=int(np.count_nonzero(keep)),
            bytes=int(sizes.sum()),
            kept_bytes=int(sizes[keep].sum()),
            dropped=_count_by_name(relations[~keep]),
            related=_count_by_name(each for each in relations[keep] if each is not None),
            unchecked=_count_by_name(
                self._reasons[row] for row in range(start, stop) if row in self._reasons
            ),
        )

    def _batch(self, left: int, right: int, first: int, rows: int) -> pa.RecordBatch:
        """Say what there is to say of the rows of the corpus from ``left`` to ``right``."""
        found, span = self._found, slice(left, right)
        places = self._numbers[span] - first
        relation = found.relation[span]
        similarity = found.similarity[span]
        joined = found.founder[span] != np.arange(left, right)
        told: dict[str, Iterable[Any]] = {
            "keep": found.keep[span],
            "status": self._statuses(left, right),
            "reason": [self._reasons.get(row) for row in range(left, right)],
            "relation": self._relations[relation],
            "of": [None if of == NONE else to_bytes(self._prints.url(of)) for of in found.of[span].tolist()],
            "similarity": [None if each != each else each for each in similarity.tolist()],  # noqa: PLR0124  # NaN
            "detector": self._detectors[found.detector[span]],
            "cluster": [
                self._cluster(row) if far or self._name_all else None
                for row, far in zip(range(left, right), joined.tolist(), strict=True)
            ],
            "joined": joined,
            "of_row": [None if of == NONE else of for of in found.of[span].tolist()],
            "founder": found.founder[span],
        }
        empty = {"keep": False, "joined": False}
        columns = [
            pa.array(_scatter(told[each.name], places, rows, empty.get(each.name)), each.type)
            for each in VERDICT_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(columns, schema=VERDICT_SCHEMA)

    def _statuses(self, left: int, right: int) -> list[str]:
        """Return the status of each row."""
        duplicate = self._duplicates[self._found.relation[left:right]].tolist()
        return [
            str(Status.UNCHECKED if row in self._reasons else Status.DUPLICATE if copy else Status.UNIQUE)
            for row, copy in zip(range(left, right), duplicate, strict=True)
        ]

    def _cluster(self, row: int) -> bytes | None:
        if row in self._reasons:
            return None
        return to_bytes(cluster_of(self._prints.judged(int(self._found.founder[row]))))


def read_keep(path: Path) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each row of a part whether it is kept."""
    return np.asarray(read_table(path).column("keep").to_numpy(), bool)


def read_annotations(path: Path) -> pa.Table:
    """Return what is said of each row of a part, as it is written beside its own columns."""
    told = read_table(path)
    of, cluster = (_as_strings(told.column(name)) for name in ("of", "cluster"))
    columns = [told.column("status"), told.column("relation"), of, told.column("similarity"), cluster]
    return pa.table([*columns, told.column("detector")], names=list(ANNOTATION_COLUMNS))


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return URLs as texts; half surrogate pairs, which Arrow has no place for, become "?"."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (
            None if each is None else each.decode("utf-8", "surrogatepass") for each in column.to_pylist()
        )
        plain = (text if text is None else text.encode("utf-8", "replace").decode() for text in texts)
        return pa.chunked_array([pa.array(plain, pa.string())])


def _scatter(values: Iterable[Any], places: Numbers, rows: int, empty: object) -> Any:
    """Put values at their places; the others are empty."""
    spread = np.full(rows, empty, object)
    given = np.empty(len(places), object)
    given[:] = list(values)
    spread[places] = given
    return spread


def _count_by_name(values: Iterable[Any]) -> dict[str, int]:
    return dict(sorted(Counter(map(str, values)).items()))


#: Relations by which an older page loses its place to a newer one.
_REPLACING_RELATIONS = tuple(
    RELATIONS.index(each) for each in sorted(DUPLICATE_RELATIONS | {Relation.UPDATED})
)


def write_superseded(job: Job, work: Workdir, corpus: Corpus, found: Solution) -> int:
    """List the pages of this corpus that take the place of older, or given, ones; return how many."""
    if not job.latest:
        for path in (work.superseded, work.out / SUPERSEDED_FILE):
            path.unlink(missing_ok=True)
        return 0
    new, old = _superseded_pairs(corpus, found)
    with atomic_output(work.superseded) as path:
        batch = pa.record_batch({"new": pa.array(new, pa.int64()), "old": pa.array(old, pa.int64())})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as out:
            out.write_batch(batch)
    with atomic_output(work.out / SUPERSEDED_FILE) as path, path.open("wb") as lines:
        for row, olds in groupby(zip(new.tolist(), old.tolist(), strict=True), key=lambda pair: pair[0]):
            urls = [corpus.prints.url(each) for _, each in olds]
            lines.write(_json_line({"url": corpus.prints.url(row), "old": urls}))
    return len(np.unique(new))


def read_superseded(work: Workdir) -> Iterator[tuple[int, int]]:
    """Give the rows of the corpus that took another's place, each with the row that lost it."""
    if work.superseded.exists():
        for batch in read_batches(work.superseded):
            yield from zip(batch.column("new").to_pylist(), batch.column("old").to_pylist(), strict=True)


def replaced_prior_pages(work: Workdir) -> set[tuple[str, str, int]]:
    """Return the source, part and row of the given pages that lost their place."""
    if not work.superseded.exists() or not work.given.exists():
        return set()
    given = read_table(work.given).select(["source", "part", "row"])
    lost = sorted({old for _, old in read_superseded(work) if old < len(given)})
    rows = given.take(lost).to_pylist()
    return {(row["source"], row["part"], row["row"]) for row in rows}


def _superseded_pairs(corpus: Corpus, found: Solution) -> Pairs:
    """Return the new and the old rows, by the new ones' place in the corpus."""
    lost = ~found.keep & np.isin(found.relation, _REPLACING_RELATIONS) & (found.of != NONE)
    old = np.flatnonzero(lost & (found.of >= corpus.given))
    new = found.of[old]
    order = np.lexsort((old, new))
    return new[order], old[order]


def _json_line(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair
        return json.dumps(value).encode() + b"\n"
