"""What is said of a page that met others: a walk along sorted rows, in a task."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dedupcrawl.batch.schema import to_text
from dedupcrawl.batch.solving import RELATIONS
from dedupcrawl.batch.spark.columns import SAID, sketch_names
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedupcrawl.batch.solving import Rules

    Row = tuple[int, int, list[int] | None, Record]
    Said = tuple[Any, ...]

_ROWS = 5000  #: in a batch of verdicts


@dataclass(frozen=True, slots=True)
class Judging:
    """Judges pages; it travels to the workers.

    Args:
        make_rules: makes what decides, once in each task.
    """

    make_rules: Callable[[], Rules]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judge each page by those it met.

        The rows are ``page``, ``other``, ``met`` and the URL and sketches of the other, sorted by the first
        two. The last of a page is itself, for all others stand before it in the order; it alone has ``met``,
        which is handed on. The rows of a page may go on in the next batch.
        """
        rules = self.make_rules()
        rows = (row for batch in batches for row in _rows(batch))
        said = (_judged(rules, page, list(run)) for page, run in groupby(rows, itemgetter(0)))
        yield from _packed(said)


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    sketches = [batch.column(name).to_pylist() for name in sketch_names(batch.schema.names)]
    columns = (batch.column(name).to_pylist() for name in ("page", "other", "met", "url"))
    for page, other, met, url, *own in zip(*columns, *sketches, strict=True):
        yield page, other, met, Record(to_text(url), (), tuple(own), seen=0.0)


def _judged(rules: Rules, page: int, run: list[Row]) -> Said:
    _, itself, met, record = run.pop()
    assert itself == page, f"page {page} is not the last of those it met"
    decision = rules.decide(record, ((other, old) for _, other, _, old in run))
    because, verdict = decision.because, decision.verdict
    if because is None:
        return page, True, None, None, None, None, False, met
    relation, detector = RELATIONS.index(because.relation), rules.detectors.index(because.detector)
    joins = bool(decision.cluster)
    return page, verdict.keep, because.candidate.id, relation, verdict.similarity, detector, joins, met


def _packed(said: Iterable[Said]) -> Iterator[pa.RecordBatch]:
    rows: list[Said] = []
    for row in said:
        rows.append(row)
        if len(rows) == _ROWS:
            yield _batch(rows)
            rows = []
    yield _batch(rows)


def _batch(rows: list[Said]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(SAID)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SAID, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SAID)
