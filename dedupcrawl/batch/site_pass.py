"""The tasks of step 2 of a batch: count the pages of some sites, and rewrite the fingerprints of a part.

Both engines run them: the local one in worker processes, Spark in its tasks.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.columns import fill_probes, fingerprint_schema, numpy_array, read_batches
from dedupcrawl.batch.job import open_corpus
from dedupcrawl.batch.repeated_text import OwnTextFingerprinter, TextTable, count_rows, leave_out_rows, rows_by_site
from dedupcrawl.batch.workdir import Workdir, read_site_tables
from dedupcrawl.errors import DedupError
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.batch.columns import FingerprintTable, Numbers
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Corpus, Job

ROWS_PER_TASK = 2_000  #: pages whose sites are counted by one task, at least


def site_tasks(job: Job, work: Workdir, corpus: Corpus) -> Iterator[list[Numbers]]:
    """Yield the rows of some sites for each task, in the order in which they are judged.

    Args:
        job: the job.
        work: the folder of the run.
        corpus: the fingerprints of the whole texts, without prior pages.
    """
    columns = [batch.column("site") for part, _, _ in corpus.spans for batch in read_batches(work.texts(part.name))]
    sites = np.concatenate([np.zeros(0, np.int64), *map(numpy_array, columns)])
    task: list[Numbers] = []
    for rows in rows_by_site(sites, corpus.order(job)):
        task.append(rows)
        if sum(map(len, task)) >= ROWS_PER_TASK:
            yield task
            task = []
    if task:
        yield task


def count_sites(state: bytes, task: Sequence[Numbers]) -> dict[str, bytes]:
    """Return the packed tables of some sites.

    Args:
        state: made by :func:`count_state`.
        task: the rows of each site.
    """
    job, table, texts = _opened_corpus(state)
    rules = job.rules()
    found = (count_rows(table, texts, rows, rules) for rows in task)
    return {site: value for site, value in found if value}


def count_state(job: Job, work: Workdir, parts: Sequence[Part]) -> bytes:
    """Return what each task of :func:`count_sites` needs; it changes with the fingerprints."""
    times = [work.texts(part.name).stat().st_mtime_ns for part in parts]
    return pickle.dumps((job, work, tuple(parts), times))


@lru_cache(1)
def _opened_corpus(state: bytes) -> tuple[Job, FingerprintTable, TextTable]:
    job, work, parts, _ = pickle.loads(state)  # noqa: S301  # pickled by the parent process
    texts = [batch for part in parts for batch in read_batches(work.texts(part.name))]
    return job, open_corpus(work, parts, prior=False, whole=True).table, TextTable(texts)


def leave_out_state(job: Job, work: Workdir, digest: str) -> bytes:
    """Return what each task of :func:`leave_out_batch` needs; ``digest`` is that of the tables of sites."""
    return pickle.dumps((job, work, digest))


def leave_out_batch(state: bytes, name: str, number: int) -> bytes | None:
    """Return a batch of a part without what sites repeat, serialized; None if that changes nothing."""
    job, work, repeated = _opened_tables(state)
    batches, texts, starts = _opened_part(work, name)
    found = leave_out_rows(batches[number], texts, starts[number], repeated, job.sketches)
    return None if found is None else bytes(found.serialize().to_pybytes())


@lru_cache(1)
def _opened_tables(state: bytes) -> tuple[Job, Workdir, OwnTextFingerprinter]:
    job, work, digest = pickle.loads(state)  # noqa: S301  # pickled by the parent process
    if digest and not work.site_tables.exists():
        raise DedupError(f"{work.site_tables}: what sites repeat cannot be read")
    return job, work, OwnTextFingerprinter(job.config, read_site_tables(work))


def _opened_part(work: Workdir, name: str) -> tuple[list[pa.RecordBatch], TextTable, list[int]]:
    """Return the fingerprints of a part, its texts, and the first row of each batch of fingerprints."""
    batches = read_batches(work.fingerprints(name))
    return batches, TextTable(read_batches(work.texts(name))), [0, *accumulate(map(len, batches))]


def batch_count(work: Workdir, name: str) -> int:
    """Return the number of batches of a part."""
    return len(read_batches(work.fingerprints(name)))


def write_reduced(job: Job, work: Workdir, name: str, found: Iterable[bytes | None]) -> None:
    """Write the fingerprints of a part that are compared; no file if they are those of the whole texts.

    Args:
        job: the job.
        work: the folder of the run.
        name: of the part.
        found: for each batch of the part the result of :func:`leave_out_batch`.
    """
    target, schema = work.reduced(name), fingerprint_schema(job.sketches)
    changed = False
    with atomic_output(target) as path, pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for old, new in zip(read_batches(work.fingerprints(name)), found, strict=True):
            changed |= new is not None
            batch = old if new is None else pa.ipc.read_record_batch(pa.py_buffer(new), schema)
            writer.write_batch(fill_probes(batch))
    if not changed:
        target.unlink()


def leave_out_part(job: Job, work: Workdir, name: str, state: bytes) -> None:
    """Rewrite the fingerprints of a part in this process.

    Args:
        job: the job.
        work: the folder of the run.
        name: of the part.
        state: made by :func:`leave_out_state`.
    """
    found = (leave_out_batch(state, name, number) for number in range(batch_count(work, name)))
    write_reduced(job, work, name, found)
