"""Export the kept pages to the store of a crawl, so that the crawl continues where the batch ended."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.corpus import read_table
from dedupcrawl.batch.fingerprint_table import to_text
from dedupcrawl.batch.job import display_location
from dedupcrawl.batch.prior_sources import connect, target_namespace
from dedupcrawl.batch.verdicts import read_keep, read_superseded
from dedupcrawl.batch.workdir import read_state, write_state
from dedupcrawl.errors import DedupError, StoreError, StoreUnreachableError
from dedupcrawl.stores import open_existing
from dedupcrawl.stores.transfer import Upsert, file_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.workdir import Workdir
    from dedupcrawl.utils.progress import Progress

PROGRESS_STEP = 200  #: records after which progress is reported


def export_to_store(job: Job, work: Workdir, corpus: Corpus, progress: Progress) -> dict[str, Any]:
    """File the kept pages in the store of ``--update``, in the order in which they were judged.

    Pages that the store has are left alone, so the export can be repeated; a complete one is not repeated.
    Pages that were replaced are removed from the store.

    Returns what ``summary.json`` records as ``handed``. Raises SettingError if the namespace has to be named,
    StoreMismatchError if the store has another configuration, StoreError if it cannot be opened or written.
    """
    namespace = target_namespace(job.update, job.namespace)
    name = f"{display_location(job.update)} {namespace}"
    exports = read_state(work.exports) or {}
    if exports.get(name, {}).get("done"):
        return {**exports[name], "already": True}
    with connect(job.update, namespace, job) as store:
        about = {"store": display_location(job.update), "namespace": namespace, "done": False}
        write_state(work.exports, exports | {name: about})
        rows = _kept_rows(job, work, corpus)
        progress.begin("store", len(rows))
        done = file_records(_with_progress(_upserts(work, corpus, rows), progress), store)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    about |= {"done": True, "when": when, "new": done.new, "known": done.known, "removed": done.removed}
    write_state(work.exports, exports | {name: about})
    return about | {"already": False}


def check_export_target(job: Job) -> None:
    """Raise the errors of :func:`export_to_store` that can be found before the run."""
    if not job.update:
        return
    namespace = target_namespace(job.update, job.namespace)
    try:
        open_existing(job.update, namespace).close()
    except StoreUnreachableError:
        raise
    except StoreError:  # the export creates it
        return
    connect(job.update, namespace, job).close()


def check_not_exported(work: Workdir, *, changed: bool) -> None:
    """Raise DedupError if the verdicts are to be ``changed`` and have been exported to a store."""
    exports = read_state(work.exports) or {}
    if changed and exports:
        store = next(iter(exports.values()))["store"]
        raise DedupError(
            f"{work.out}: its pages were handed to {store}, and since then the input has changed, or the "
            f"version of dedupcrawl; give new pages an --out of their own, --against {work.out}"
        )


def _kept_rows(job: Job, work: Workdir, corpus: Corpus) -> list[int]:
    """Return the kept rows in the order of filing; the latest page is filed last."""
    keep = np.zeros(len(corpus.table), bool)
    numbers = corpus.table.numbers("row")
    for part, start, stop in corpus.spans:
        keep[start:stop] = read_keep(work.verdicts(part.name))[numbers[start:stop]]
    order = corpus.order(job)
    rows: list[int] = order[(keep & corpus.table.judgeable())[order]].tolist()
    return rows[::-1] if job.latest else rows


def _upserts(work: Workdir, corpus: Corpus, rows: list[int]) -> Iterator[Upsert]:
    table, clusters, now = corpus.table, _joined_clusters(work, corpus), time.time()
    times = table.numbers("time")
    replaced: defaultdict[int, list[int]] = defaultdict(list)
    for new, old in read_superseded(work):
        replaced[new].append(old)
    for row in rows:
        seen = now if isnan(times[row]) else min(float(times[row]), now)
        record = replace(table.record(row), seen=seen, cluster=clusters.get(row, ""))
        yield Upsert(record, tuple(table.record(old) for old in replaced[row]))


def _joined_clusters(work: Workdir, corpus: Corpus) -> dict[int, str]:
    """Return the cluster of each row that joined the cluster of another page."""
    clusters: dict[int, str] = {}
    numbers = corpus.table.numbers("row")
    for part, start, stop in corpus.spans:
        verdicts = read_table(work.verdicts(part.name)).select(["cluster", "joined"])
        joined = np.flatnonzero(verdicts.column("joined").to_numpy())
        names = verdicts.column("cluster").take(joined).to_pylist()
        rows = (start + np.searchsorted(numbers[start:stop], joined)).tolist()
        clusters |= {row: to_text(name) for row, name in zip(rows, names, strict=True) if name is not None}
    return clusters


def _with_progress(upserts: Iterator[Upsert], progress: Progress) -> Iterator[Upsert]:
    for count, upsert in enumerate(upserts, 1):
        yield upsert
        if count % PROGRESS_STEP == 0:
            progress.advance(PROGRESS_STEP, PROGRESS_STEP)
