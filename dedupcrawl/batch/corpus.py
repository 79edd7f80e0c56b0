"""All fingerprints of a run, where they lie: first pages that were kept before, then the parts in order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dedupcrawl.batch.fingerprint_table import FingerprintTable
from dedupcrawl.batch.job import ranked_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.workdir import Workdir

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True)
class Corpus:
    """Fingerprints, and whose they are."""

    prints: FingerprintTable
    given: int  #: rows in front that are of earlier batches and stores
    spans: tuple[tuple[Part, int, int], ...]  #: of each part: its first row, and the one behind its last

    def order(self, job: Job) -> Numbers:
        """Return the rows in the order in which they are judged."""
        return ranked_rows(self.prints, job.prefer, given=self.given, latest=job.latest)

    def kept_before(self, job: Job) -> int:
        """How many rows at the front of the order are kept already, whatever comes."""
        return 0 if job.latest else self.given


def open_corpus(work: Workdir, parts: Sequence[Part], *, given: bool = True) -> Corpus:
    """Map the fingerprints of all parts, and those of what was given first, into memory."""
    first = read_batches(work.given) if given and work.given.exists() else []
    batches = [read_batches(work.prints(part.name)) for part in parts]
    counts = [sum(batch.num_rows for batch in of_one) for of_one in (first, *batches)]
    spans = pairwise(accumulate(counts))
    return Corpus(
        FingerprintTable([batch for of_one in (first, *batches) for batch in of_one]),
        counts[0],
        tuple((part, start, stop) for part, (start, stop) in zip(parts, spans, strict=True)),
    )


def read_table(path: Path) -> pa.Table:
    """Return the rows of an Arrow file, as :func:`read_batches` does."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def read_batches(path: Path) -> list[pa.RecordBatch]:
    """Return the batches of an Arrow file; the system keeps in memory what is looked at."""
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]
