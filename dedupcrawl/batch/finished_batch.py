"""A finished batch, reopened for reports: its verdicts, and texts read again from its inputs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupcrawl.batch.columns import LAYOUT_VERSION, numpy_array, read_table
from dedupcrawl.batch.formats import Part, PartError, Row, format_named, format_of
from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.job import Job, is_store_url, open_corpus
from dedupcrawl.batch.solver import NONE, RELATIONS
from dedupcrawl.batch.workdir import PartState, Workdir, read_finished, read_part_state
from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.matching import DOUBTS
from dedupcrawl.page.model import Page
from dedupcrawl.utils.redaction import SECRET, SecretSeed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.job import Corpus
    from dedupcrawl.utils.iteration import Progress


_TEXT_SCHEME = "text"  #: the entry of a scheme that is not a detector


@dataclass(frozen=True)
class FinishedBatch:
    """A batch with a ``summary.json``."""

    work: Workdir
    job: Job  #: as it was run, without its inputs
    parts: tuple[Part, ...]
    summary: dict[str, Any]

    @cached_property
    def corpus(self) -> Corpus:
        """All fingerprints; those of prior pages first."""
        return open_corpus(self.work, self.parts)

    def state_of(self, part: Part) -> PartState:
        """Return the state of the file that a part was made from."""
        state = read_part_state(self.work, part.name)
        if state is None:
            path = self.work.fingerprints(part.name)
            raise DedupError(f"{path}: the fingerprints are not there any more")
        return state

    def has_input(self, part: Part) -> bool:
        """Return whether the file that a part was made from exists and has not changed."""
        try:
            now = PartState.of(part.path, self.job.fingerprint_digest)
            return now.has_same_input(self.state_of(part))
        except OSError:
            return False


@dataclass(frozen=True)
class VerdictTable:
    """The verdicts of a batch: one value in each array for each row of the corpus. Prior pages are kept."""

    keep: np.ndarray[tuple[int], np.dtype[np.bool_]]
    relation: Numbers  #: a place in ``RELATIONS``, or ``NONE``
    of: Numbers  #: the row that it relates to, or ``NONE``
    founder: Numbers  #: the row after which its cluster is named
    similarity: Numbers  #: 0 to 1; NaN where nothing was measured
    detector: Numbers  #: a place in ``detectors``, or ``NONE``
    reason: Numbers  #: why it is unchecked: a place in ``reasons``; ``NONE`` if it was judged
    detectors: tuple[str, ...]
    reasons: tuple[str, ...]


def open_finished_batch(folder: Path) -> FinishedBatch:
    """Open the ``--out`` folder of a batch; raises DedupError unless it is finished and of this version."""
    work = Workdir(folder.resolve())
    about, _, summary = read_finished(work, folder)
    parts = tuple(
        Part(number, Path(each["path"]), each["name"], format_of(Path(each["path"])) or "")
        for number, each in enumerate(about["parts"])
    )
    try:
        job = _job_from_request(work.out, about["request"])
    except KeyError:
        raise _other_version_error(folder) from None
    if about["layout"] != LAYOUT_VERSION or job.request()["detectors"] != about["request"]["detectors"]:
        raise _other_version_error(folder)
    return FinishedBatch(work, job, parts, summary)


def _job_from_request(out: Path, request: dict[str, Any]) -> Job:
    constants = request["constants"]
    names = [name for name in request["detectors"] if name != _TEXT_SCHEME]
    config = Config(detectors={name: constants.get(name, {}) for name in names}, **request["configuration"])
    if config.seed == SECRET:  # the store keeps it, and sketches are compared without it
        config = replace(config, seed=SecretSeed())
    return Job(
        inputs=(),
        out=out,
        config=config,
        fields=Fields(**request["fields"]),
        annotate=request["annotate"],
        prefer=tuple(request["prefer"]),
        drop_clusters=request["drop_clusters"],
        revisits=request["revisits"],
    )


def _other_version_error(folder: Path) -> DedupError:
    return DedupError(f"{folder}: another version of dedupcrawl made this batch; do it again, into another folder")


def read_verdicts(finished: FinishedBatch) -> VerdictTable:
    """Return the verdicts of a batch; raises DedupError if another version of dedupcrawl wrote them."""
    corpus, relations = finished.corpus, [str(each) for each in RELATIONS]
    detectors = finished.job.rules().detectors
    known = {why for _, why in chain(corpus.table.reasons(), corpus.table.unread())}
    reasons = tuple(sorted(known | {*DOUBTS}))
    columns = {name: [values] for name, values in _columns_of_prior_pages(corpus.prior).items()}
    numbers = corpus.table.numbers("row").astype(np.int64)  # without rows they are floats
    for part, start, stop in corpus.spans:
        table = read_table(finished.work.verdicts(part.name))
        if "founder" not in table.schema.names:
            raise _other_version_error(finished.work.out)
        rows = table.take(numbers[start:stop])
        columns["keep"].append(numpy_array(rows.column("keep")))
        columns["relation"].append(_indices_of(rows, "relation", relations))
        columns["detector"].append(_indices_of(rows, "detector", detectors))
        columns["reason"].append(_indices_of(rows, "reason", reasons))
        columns["of"].append(numpy_array(rows.column("of_row"), NONE))
        columns["founder"].append(numpy_array(rows.column("founder")))
        columns["similarity"].append(numpy_array(rows.column("similarity")))
    arrays = {name: np.concatenate(of_parts) for name, of_parts in columns.items()}
    return VerdictTable(**arrays, detectors=detectors, reasons=reasons)


def _columns_of_prior_pages(rows: int) -> dict[str, Numbers]:
    none = np.full(rows, NONE, np.int8)
    return {
        "keep": np.ones(rows, bool),
        "relation": none,
        "detector": none,
        "reason": none,
        "of": np.full(rows, NONE, np.int64),
        "founder": np.arange(rows),
        "similarity": np.full(rows, np.nan),
    }


def _indices_of(table: pa.Table, name: str, known: Sequence[str]) -> Numbers:
    """Replace the texts of a column by their places in ``known``, nulls by ``NONE``."""
    encoded = table.column(name).combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    places = np.array([known.index(each) for each in encoded.dictionary.to_pylist()] + [NONE], np.int8)
    return np.asarray(places[numpy_array(encoded.indices, len(places) - 1)])


class _RowBatch(NamedTuple):
    """Rows of one part."""

    batch: FinishedBatch
    part: Part
    rows: dict[int, int]  #: number in the part → row of the corpus


def read_pages_again(
    finished: FinishedBatch, rows: Iterable[int], max_chars: int, progress: Progress
) -> dict[int, Page]:
    """Read pages again from the input files.

    Prior pages are read from the inputs of their batch. Pages of stores, and of files that were changed or
    cannot be read, are left out. Texts are cut to ``max_chars``. Progress is reported in bytes, as step
    ``texts``.
    """
    to_read = [each for each in _rows_by_part(finished, sorted(set(rows))) if each.batch.has_input(each.part)]
    progress.begin("texts", sum(each.batch.state_of(each.part).size for each in to_read))
    pages: dict[int, Page] = {}
    dedup = Deduplicator(config=finished.job.config)
    for each in to_read:
        try:
            for row in _read_rows(each, progress):
                page = dedup.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
                if isinstance(page, Page):
                    pages[each.rows[row.number]] = replace(page, text=page.text[:max_chars], rest="")
        except (DedupError, OSError):  # changed since has_input()
            continue
    return pages


def _rows_by_part(finished: FinishedBatch, rows: list[int]) -> Iterator[_RowBatch]:
    numbers = finished.corpus.table.numbers("row")
    yield from _rows_of_prior_batches(finished, [row for row in rows if row < finished.corpus.prior])
    for part, start, stop in finished.corpus.spans:
        if found := {int(numbers[row]): row for row in rows if start <= row < stop}:
            yield _RowBatch(finished, part, found)


def _rows_of_prior_batches(finished: FinishedBatch, rows: list[int]) -> Iterator[_RowBatch]:
    if not rows:
        return
    by_part: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    columns = read_table(finished.work.prior_pages).select(["source", "part", "row"])
    for row, each in zip(rows, columns.take(rows).to_pylist(), strict=True):
        by_part[each["source"], each["part"]][each["row"]] = row
    for (source, name), found in by_part.items():
        batch = None if is_store_url(source) else _open_or_none(Path(source))
        for part in batch.parts if batch else ():
            if batch and part.name == name:
                yield _RowBatch(batch, part, found)


def _open_or_none(folder: Path) -> FinishedBatch | None:
    try:
        return open_finished_batch(folder)
    except DedupError:
        return None


def _read_rows(wanted: _RowBatch, progress: Progress) -> Iterator[Row]:
    """Yield rows of a part; only chunks with such rows are parsed."""
    fields, part = wanted.batch.job.columns, wanted.part
    file_format, read, last = format_named(part.format), 0, max(wanted.rows)
    for chunk in file_format.chunks(part, fields):
        progress.advance(chunk.read - read)
        read = chunk.read
        if any(number in wanted.rows for number in range(chunk.first, chunk.first + chunk.count)):
            try:
                for row in file_format.rows(chunk, fields):
                    if isinstance(row, Row) and row.number in wanted.rows and row.reason is None:
                        yield row
            except PartError:  # the batch did not read any further either
                return
        if chunk.first + chunk.count > last:
            return
