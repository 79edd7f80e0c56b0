"""The folder of a batch that is done, opened again to be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.corpus import open_corpus, read_table
from dedupcrawl.batch.formats import Part
from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.formats.finding import format_of
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.schema import VERSION
from dedupcrawl.batch.solving import NOBODY, RELATIONS
from dedupcrawl.batch.work import Made, Work, read_made, read_state
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from dedupcrawl.batch.corpus import Corpus

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

_TEXT_SCHEME = "text"  #: stands beside the detectors in what a store is filled with


@dataclass(frozen=True)
class Finished:
    """A batch that has come to its end."""

    work: Work
    job: Job  #: as it was asked for, its inputs left out
    parts: tuple[Part, ...]
    summary: dict[str, Any]

    @cached_property
    def corpus(self) -> Corpus:
        """All fingerprints; the given ones first."""
        return open_corpus(self.work, self.parts)

    def made(self, part: Part) -> Made:
        """Return what the fingerprints of a part were made of."""
        made = read_made(self.work, part.name)
        if made is None:
            raise DedupError(f"{self.work.prints(part.name)}: the fingerprints are not there any more")
        return made

    def has_input(self, part: Part) -> bool:
        """Whether the file that a part was made of is there, and as it was."""
        try:
            return Made.of(part.path, self.job.making).fits(self.made(part))
        except OSError:
            return False


@dataclass(frozen=True)
class Told:
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


def reopen(folder: Path) -> Finished:
    """Open the ``--out`` of a batch.

    Raises :class:`~dedupcrawl.errors.DedupError` if there is no batch, one that has not come to its end, or
    one that another version of dedupcrawl has made.
    """
    work = Work(folder.resolve())
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
        job = _job(work.out, told["request"])
    except KeyError:
        raise DedupError(_made_by_another(folder)) from None
    if told["layout"] != VERSION or job.request()["detectors"] != told["request"]["detectors"]:
        raise DedupError(_made_by_another(folder))
    return Finished(work, job, parts, summary)


def _job(out: Path, request: dict[str, Any]) -> Job:
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


def read_told(finished: Finished) -> Told:
    """Return the verdicts of a batch by the rows of its corpus.

    Raises :class:`~dedupcrawl.errors.DedupError` for what another version of dedupcrawl has written.
    """
    corpus, relations = finished.corpus, [str(each) for each in RELATIONS]
    detectors = (*finished.job.rules().detectors,)
    reasons = tuple(sorted({why for _, why in corpus.prints.reasons()}))
    columns: dict[str, list[Numbers]] = {name: [part] for name, part in _of_given(corpus.given).items()}
    numbers = corpus.prints.numbers("row").astype(np.int64)  # of no rows they are floats
    for part, start, stop in corpus.spans:
        table = read_table(finished.work.verdicts(part.name))
        if "founder" not in table.schema.names:
            raise DedupError(_made_by_another(finished.work.out))
        there = table.take(numbers[start:stop])
        columns["keep"].append(np.asarray(there.column("keep").to_numpy(), bool))
        columns["relation"].append(_places(there, "relation", relations))
        columns["detector"].append(_places(there, "detector", detectors))
        columns["reason"].append(_places(there, "reason", reasons))
        columns["of"].append(there.column("of_row").fill_null(NOBODY).to_numpy())
        columns["founder"].append(there.column("founder").to_numpy())
        columns["similarity"].append(there.column("similarity").to_numpy())
    whole = {name: np.concatenate(of_parts) for name, of_parts in columns.items()}
    return Told(**whole, detectors=detectors, reasons=reasons)


def _of_given(rows: int) -> dict[str, Numbers]:
    nobody = np.full(rows, NOBODY, np.int8)
    return {
        "keep": np.ones(rows, bool),
        "relation": nobody,
        "detector": nobody,
        "reason": nobody,
        "of": np.full(rows, NOBODY, np.int64),
        "founder": np.arange(rows),
        "similarity": np.full(rows, np.nan),
    }


def _places(table: pa.Table, name: str, known: Sequence[str]) -> Numbers:
    """Return texts as their places among those that are known."""
    encoded = table.column(name).combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    places = np.array([known.index(each) for each in encoded.dictionary.to_pylist()] + [NOBODY], np.int8)
    return np.asarray(places[encoded.indices.fill_null(len(places) - 1).to_numpy()])


def _made_by_another(folder: Path) -> str:
    return f"{folder}: another version of dedupcrawl made this batch; do it again, into another folder"
