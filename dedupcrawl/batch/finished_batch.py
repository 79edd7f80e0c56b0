"""The folder of a batch that is done, opened again to be looked at.

Single pages of a corpus, read from its files once more.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupcrawl.batch.corpus import open_corpus, read_table
from dedupcrawl.batch.fingerprint_table import LAYOUT_VERSION
from dedupcrawl.batch.formats import Part, PartError, Row, format_named
from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.formats.files import format_of
from dedupcrawl.batch.job import Job, is_store_url
from dedupcrawl.batch.solver import NONE, RELATIONS
from dedupcrawl.batch.workdir import PartState, Workdir, read_part_state, read_state
from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.page.model import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.formats import Chunk
    from dedupcrawl.utils.progress import Progress

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


_TEXT_SCHEME = "text"  #: stands beside the detectors in what a store is filled with


@dataclass(frozen=True)
class FinishedBatch:
    """A batch that has come to its end."""

    work: Workdir
    job: Job  #: as it was asked for, its inputs left out
    parts: tuple[Part, ...]
    summary: dict[str, Any]

    @cached_property
    def corpus(self) -> Corpus:
        """All fingerprints; the given ones first."""
        return open_corpus(self.work, self.parts)

    def made(self, part: Part) -> PartState:
        """Return what the fingerprints of a part were made of."""
        made = read_part_state(self.work, part.name)
        if made is None:
            raise DedupError(f"{self.work.prints(part.name)}: the fingerprints are not there any more")
        return made

    def has_input(self, part: Part) -> bool:
        """Whether the file that a part was made of is there, and as it was."""
        try:
            return PartState.of(part.path, self.job.making).fits(self.made(part))
        except OSError:
            return False


@dataclass(frozen=True)
class BatchVerdicts:
    """What is said of each row of the corpus; nothing is said of the given ones, which are kept."""

    keep: np.ndarray[tuple[int], np.dtype[np.bool_]]
    relation: Numbers  #: a place in ``RELATIONS``, ``NOBODY`` if there is none
    of: Numbers  #: row, ``NOBODY`` if there is none
    founder: Numbers  #: row
    similarity: Numbers  #: NaN where nothing was measured
    detector: Numbers  #: a place in ``detectors``, ``NOBODY`` if there is none
    reason: Numbers  #: why it is unchecked: a place in ``reasons``, ``NOBODY`` if it was judged
    detectors: tuple[str, ...]
    reasons: tuple[str, ...]


def open_finished_batch(folder: Path) -> FinishedBatch:
    """Open the ``--out`` of a batch.

    Raises :class:`~dedupcrawl.errors.DedupError` if there is no batch, one that has not come to its end, or
    one that another version of dedupcrawl has made.
    """
    work = Workdir(folder.resolve())
    told, summary = read_state(work.job), read_state(work.summary)
    if told is None:
        raise DedupError(f"{folder}: no folder of a batch")
    if summary is None:
        raise DedupError(f"{folder}: the batch there has not come to its end; run it again first")
    parts = tuple(
        Part(number, Path(each["path"]), each["name"], format_of(Path(each["path"])) or "")
        for number, each in enumerate(told["parts"])
    )
    try:
        job = _job_from_request(work.out, told["request"])
    except KeyError:
        raise DedupError(_other_version_error(folder)) from None
    if told["layout"] != LAYOUT_VERSION or job.request()["detectors"] != told["request"]["detectors"]:
        raise DedupError(_other_version_error(folder))
    return FinishedBatch(work, job, parts, summary)


def _job_from_request(out: Path, request: dict[str, Any]) -> Job:
    own = request["constants"]
    names = [name for name in request["detectors"] if name != _TEXT_SCHEME]
    config = Config(detectors={name: own.get(name, {}) for name in names}, **request["configuration"])
    return Job(
        inputs=(),
        out=out,
        config=config,
        fields=Fields(**request["fields"]),
        annotate=request["annotate"],
        prefer=tuple(request["prefer"]),
    )


def read_verdicts(finished: FinishedBatch) -> BatchVerdicts:
    """Return the verdicts of a batch by the rows of its corpus.

    Raises :class:`~dedupcrawl.errors.DedupError` for what another version of dedupcrawl has written.
    """
    corpus, relations = finished.corpus, [str(each) for each in RELATIONS]
    detectors = (*finished.job.rules().detectors,)
    reasons = tuple(sorted({why for _, why in corpus.prints.reasons()}))
    columns: dict[str, list[Numbers]] = {
        name: [part] for name, part in _columns_of_prior_pages(corpus.given).items()
    }
    numbers = corpus.prints.numbers("row").astype(np.int64)  # of no rows they are floats
    for part, start, stop in corpus.spans:
        table = read_table(finished.work.verdicts(part.name))
        if "founder" not in table.schema.names:
            raise DedupError(_other_version_error(finished.work.out))
        there = table.take(numbers[start:stop])
        columns["keep"].append(np.asarray(there.column("keep").to_numpy(), bool))
        columns["relation"].append(_indices_of(there, "relation", relations))
        columns["detector"].append(_indices_of(there, "detector", detectors))
        columns["reason"].append(_indices_of(there, "reason", reasons))
        columns["of"].append(there.column("of_row").fill_null(NONE).to_numpy())
        columns["founder"].append(there.column("founder").to_numpy())
        columns["similarity"].append(there.column("similarity").to_numpy())
    whole = {name: np.concatenate(of_parts) for name, of_parts in columns.items()}
    return BatchVerdicts(**whole, detectors=detectors, reasons=reasons)


def _columns_of_prior_pages(rows: int) -> dict[str, Numbers]:
    nobody = np.full(rows, NONE, np.int8)
    return {
        "keep": np.ones(rows, bool),
        "relation": nobody,
        "detector": nobody,
        "reason": nobody,
        "of": np.full(rows, NONE, np.int64),
        "founder": np.arange(rows),
        "similarity": np.full(rows, np.nan),
    }


def _indices_of(table: pa.Table, name: str, known: Sequence[str]) -> Numbers:
    """Return texts as their places among those that are known."""
    encoded = table.column(name).combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    places = np.array([known.index(each) for each in encoded.dictionary.to_pylist()] + [NONE], np.int8)
    return np.asarray(places[encoded.indices.fill_null(len(places) - 1).to_numpy()])


def _other_version_error(folder: Path) -> str:
    return f"{folder}: another version of dedupcrawl made this batch; do it again, into another folder"


class _RowsToRead(NamedTuple):
    """Rows of a part that are to be read."""

    batch: FinishedBatch
    part: Part
    rows: dict[int, int]  #: number in the part → row of the corpus


def read_pages_again(
    finished: FinishedBatch, rows: Iterable[int], most: int, teller: Progress
) -> dict[int, Page]:
    """Return the pages of these rows of the corpus, as far as their files are there as they were.

    What was given by an earlier batch is read from that one's files; stores have no texts. What cannot be
    read is left out. Texts are cut behind ``most`` characters.
    """
    wanted = [each for each in _rows_by_part(finished, sorted(set(rows))) if each.batch.has_input(each.part)]
    teller.begin("texts", sum(each.batch.made(each.part).size for each in wanted))
    pages: dict[int, Page] = {}
    reader = Deduplicator(config=finished.job.config)
    for each in wanted:
        try:
            for row in _read_rows(each, teller):
                page = reader.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
                if isinstance(page, Page):
                    pages[each.rows[row.number]] = replace(page, text=page.text[:most], rest="")
        except (DedupError, OSError):  # it has changed since it was looked at
            continue
    return pages


def _rows_by_part(finished: FinishedBatch, rows: list[int]) -> Iterator[_RowsToRead]:
    numbers = finished.corpus.prints.numbers("row")
    yield from _rows_of_prior_batches(finished, [row for row in rows if row < finished.corpus.given])
    for part, start, stop in finished.corpus.spans:
        there = {int(numbers[row]): row for row in rows if start <= row < stop}
        if there:
            yield _RowsToRead(finished, part, there)


def _rows_of_prior_batches(finished: FinishedBatch, given: list[int]) -> Iterator[_RowsToRead]:
    """Find the given rows in the folders that they are of."""
    if not given:
        return
    found: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    told = read_table(finished.work.given).select(["source", "part", "row"]).take(given).to_pylist()
    for row, each in zip(given, told, strict=True):
        found[each["source"], each["part"]][each["row"]] = row
    for (source, name), rows in found.items():
        batch = None if is_store_url(source) else _open_or_none(Path(source))
        for part in batch.parts if batch else ():
            if batch and part.name == name:
                yield _RowsToRead(batch, part, rows)


def _open_or_none(folder: Path) -> FinishedBatch | None:
    try:
        return open_finished_batch(folder)
    except DedupError:
        return None


def _read_rows(wanted: _RowsToRead, teller: Progress) -> Iterator[Row]:
    """Give the rows of a part; only chunks that hold one are parsed."""
    fields, part = wanted.batch.job.fields, wanted.part
    kind, read, last = format_named(part.format), 0, max(wanted.rows)
    for chunk in kind.chunks(part, fields):
        teller.advance(chunk.read - read)
        read = chunk.read
        if _contains_any(chunk, wanted.rows):
            try:
                for row in kind.rows(chunk, fields):
                    if isinstance(row, Row) and row.number in wanted.rows and row.reason is None:
                        yield row
            except PartError:  # what is behind it was no part of the batch either
                return
        if chunk.first + chunk.count > last:
            return


def _contains_any(chunk: Chunk, numbers: dict[int, int]) -> bool:
    return any(number in numbers for number in range(chunk.first, chunk.first + chunk.count))
