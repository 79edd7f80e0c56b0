"""The pages that count as kept already: those of earlier batches, and of the stores of crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from dedupcrawl.atomic import whole
from dedupcrawl.batch.corpus import open_corpus
from dedupcrawl.batch.earlier import Earlier
from dedupcrawl.batch.job import is_store, shown
from dedupcrawl.batch.schema import PART, schema
from dedupcrawl.batch.stored import Stored, namespace_in
from dedupcrawl.errors import DedupError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.work import Work

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Place = tuple[str, str, int]  # where a page is: source, part, row

#: Behind the columns of the fingerprints, and the part that they are of: whose they are.
SOURCE = pa.field("source", pa.string())


class Source(Protocol):
    """Where earlier pages are."""

    @property
    def name(self) -> str:
        """How it is shown, without a password."""
        ...

    @property
    def state(self) -> str:
        """What the verdicts of a later batch depend on, as far as it can be told."""
        ...

    def told(self) -> dict[str, Any]:
        """What a later batch has to know to find it again."""
        ...

    def replaced(self) -> set[Place]:
        """Return the pages of other sources that have lost their place to a page of this one."""
        ...

    def batches(self, job: Job, sought: Numbers, without: set[Place]) -> Iterator[pa.RecordBatch]:
        """Give the kept pages with one of the keys ``sought``, oldest first, and of which part each is.

        ``sought`` rises; ``without`` are pages that are not kept any more.
        """
        ...


def sources_of(job: Job) -> tuple[Source, ...]:
    """Return what a job stands against, the oldest first: what a folder stood against comes before it.

    Raises:
        DedupError: something is not there, or not finished.
        SettingError: it is the job's own output, or there are several namespaces to choose from.
        StoreMismatchError: it was filled under another configuration.
    """
    named = {shown(where): where for where in job.against}
    if str(job.out.resolve()) in named:
        raise SettingError(
            "--against", named[str(job.out.resolve())], "the folder of another batch than --out"
        )
    found: dict[str, Source] = {}
    for where in job.against:
        for source in _chain(job, where, named):
            found.setdefault(source.name, source)
    return tuple(found.values())


def _chain(job: Job, where: str, named: dict[str, str]) -> Iterator[Source]:
    """Give a source, and before it those that it stood against itself."""
    if is_store(where):
        yield Stored.there(where, namespace_in(where, job.namespace), job)
        return
    folder = Earlier.there(where, job)
    for before in folder.against:
        yield _remembered(job, folder, before, named)
    yield folder


def _remembered(job: Job, folder: Earlier, before: dict[str, Any], named: dict[str, str]) -> Source:
    where = named.get(before["where"], before["where"])
    if before["hidden"] and where not in named.values():
        raise DedupError(
            f"{folder.name} stands against {where}, whose password is not kept: name it in --against too"
        )
    if is_store(where):
        return Stored.there(where, before["namespace"], job)
    return Earlier.there(where, job, said_by=folder.name)


def read_given(job: Job, work: Work, parts: Sequence[Part], sources: Sequence[Source]) -> None:
    """Write down those earlier pages that share a key with one of this corpus."""
    if not sources:
        work.given.unlink(missing_ok=True)
        return
    sought = _sought(work, parts)
    without = {place for source in sources for place in source.replaced()}
    columns = pa.schema([*schema(job.sketches), PART, SOURCE])
    seen: set[tuple[bytes, ...]] = set()
    with whole(work.given) as path, pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, columns) as out:
        for source in sources:
            for batch in source.batches(job, sought, without):
                fresh = _once(batch, seen) if len(sources) > 1 else batch
                out.write_batch(
                    fresh.append_column(SOURCE, pa.array([source.name] * len(fresh), SOURCE.type))
                )


def _sought(work: Work, parts: Sequence[Part]) -> Numbers:
    """Return the keys under which the pages of these parts look, rising."""
    prints = open_corpus(work, parts, given=False).prints
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *(lists.values for lists in prints.sought())]))


def _once(batch: pa.RecordBatch, seen: set[tuple[bytes, ...]]) -> pa.RecordBatch:
    """Leave out what another source has given: a store has the pages of a batch that was handed to it."""
    columns = [
        batch.column(name) for name in batch.schema.names if name == "url" or name.startswith("sketch_")
    ]
    keep = []
    for page in zip(*(column.to_pylist() for column in columns), strict=True):
        keep.append(page not in seen)
        seen.add(page)
    return batch.filter(pa.array(keep, pa.bool_()))
