"""All fingerprints of a run, mapped from files: first the prior pages, then the parts in order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from dedupcrawl.batch.fingerprint_table import FingerprintTable
from dedupcrawl.batch.job import ranked_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dedupcrawl.batch.arrow_arrays import Numbers
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.workdir import Workdir


@dataclass(frozen=True)
class Corpus:
    """The fingerprints of a run and where they come from."""

    table: FingerprintTable
    prior: int  #: rows at the front that come from earlier batches and stores
    spans: tuple[tuple[Part, int, int], ...]  #: for each part: its first row and the row after its last

    def order(self, job: Job) -> Numbers:
        """Return the rows in the order in which they are judged."""
        return ranked_rows(self.table, job.prefer, prior=self.prior, latest=job.latest)

    def always_kept(self, job: Job) -> int:
        """Return how many rows at the front of :meth:`order` are kept without being judged."""
        return 0 if job.latest else self.prior


def open_corpus(work: Workdir, parts: Sequence[Part], *, prior: bool = True) -> Corpus:
    """Map the fingerprints of a run into memory.

    ``prior``: put the prior pages in front, if there are any.
    """
    first = read_batches(work.prior_pages) if prior and work.prior_pages.exists() else []
    batches = [read_batches(work.fingerprints(part.name)) for part in parts]
    counts = [sum(batch.num_rows for batch in of_one) for of_one in (first, *batches)]
    spans = pairwise(accumulate(counts))
    return Corpus(
        FingerprintTable([batch for of_one in (first, *batches) for batch in of_one]),
        counts[0],
        tuple((part, start, stop) for part, (start, stop) in zip(parts, spans, strict=True)),
    )


def read_table(path: Path) -> pa.Table:
    """Return the rows of an Arrow file, mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def read_batches(path: Path) -> list[pa.RecordBatch]:
    """Return the batches of an Arrow file, mapped into memory."""
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]
