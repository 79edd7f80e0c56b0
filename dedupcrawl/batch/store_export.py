"""The kept pages as a crawl's store has them, so that the crawl goes on where the batch ended."""

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
from dedupcrawl.batch.prior_sources import target_namespace
from dedupcrawl.batch.verdicts import read_keep, read_superseded
from dedupcrawl.batch.workdir import read_state, write_state
from dedupcrawl.errors import DedupError, StoreError, StoreUnreachableError
from dedupcrawl.stores import open_existing, open_store
from dedupcrawl.stores.transfer import Upsert, file_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.workdir import Workdir
    from dedupcrawl.stores.base import Store
    from dedupcrawl.utils.progress import Progress

PROGRESS_STEP = 200  #: records after which progress is told


def export_to_store(job: Job, work: Workdir, corpus: Corpus, teller: Progress) -> dict[str, Any]:
    """File the kept pages in the store that is to be updated, in the order in which they were judged.

    A page that is there already is left alone, so it can be done twice; a store that got them all is not
    asked again. What a page takes the place of is removed there.

    Raises:
        SettingError: the namespace has to be named.
        StoreMismatchError: the store was filled under another configuration.
        StoreError: it cannot be opened or written.
    """
    namespace = target_namespace(job.update, job.namespace)
    name = f"{display_location(job.update)} {namespace}"
    handed = read_state(work.handed) or {}
    if handed.get(name, {}).get("done"):
        return {**handed[name], "already": True}
    with _open_target(job, namespace) as store:
        about = {"store": display_location(job.update), "namespace": namespace, "done": False}
        write_state(work.handed, handed | {name: about})
        rows = _kept_rows(job, work, corpus)
        teller.begin("store", len(rows))
        done = file_records(_with_progress(_filings(work, corpus, rows), teller), store)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"done": True, "when": when, "new": done.new, "known": done.known, "removed": done.removed}
    write_state(work.handed, handed | {name: about | told})
    return about | told | {"already": False}


def check_export_target(job: Job) -> None:
    """See before all the work that its store can be given what comes of it; it raises as that would."""
    if not job.update:
        return
    namespace = target_namespace(job.update, job.namespace)
    try:
        open_existing(job.update, namespace).close()
    except StoreUnreachableError:
        raise
    except StoreError:  # it is made when there is something to file
        return
    _open_target(job, namespace).close()


def _open_target(job: Job, namespace: str) -> Store:
    config = job.config
    return open_store(job.update, namespace=namespace, scheme=job.scheme, lease=config.lease, ttl=config.ttl)


def check_not_exported(work: Workdir, *, changed: bool) -> None:
    """Refuse to judge pages anew of which a store has been told."""
    handed = read_state(work.handed) or {}
    if changed and handed:
        store = next(iter(handed.values()))["store"]
        raise DedupError(
            f"{work.out}: its pages were handed to {store}, and since then the input has changed, or the "
            f"version of dedupcrawl; give new pages an --out of their own, --against {work.out}"
        )


def _kept_rows(job: Job, work: Workdir, corpus: Corpus) -> list[int]:
    """Return the kept rows in the order of filing: where the latest wins it has to be filed last."""
    keep = np.zeros(len(corpus.prints), bool)
    numbers = corpus.prints.numbers("row")
    for part, start, stop in corpus.spans:
        keep[start:stop] = read_keep(work.verdicts(part.name))[numbers[start:stop]]
    order = corpus.order(job)
    wanted = (keep & corpus.prints.fit())[order]
    rows: list[int] = order[wanted].tolist()
    return rows[::-1] if job.latest else rows


def _filings(work: Workdir, corpus: Corpus, rows: list[int]) -> Iterator[Upsert]:
    prints, clusters, now = corpus.prints, _clusters(work, corpus), time.time()
    times = prints.numbers("time")
    olds: defaultdict[int, list[int]] = defaultdict(list)
    for new, old in read_superseded(work):
        olds[new].append(old)
    for row in rows:
        moment = float(times[row])
        seen = now if isnan(moment) else min(moment, now)
        record = replace(prints.record(row), seen=seen, cluster=clusters.get(row, ""))
        yield Upsert(record, tuple(prints.record(old) for old in olds[row]))


def _clusters(work: Workdir, corpus: Corpus) -> dict[int, str]:
    """Return the cluster of each row that joined another page's."""
    found: dict[int, str] = {}
    numbers = corpus.prints.numbers("row")
    for part, start, stop in corpus.spans:
        said = read_table(work.verdicts(part.name)).select(["cluster", "joined"])
        joined = np.flatnonzero(said.column("joined").to_numpy())
        names = said.column("cluster").take(joined).to_pylist()
        rows = start + np.searchsorted(numbers[start:stop], joined)
        found |= {
            row: to_text(name) for row, name in zip(rows.tolist(), names, strict=True) if name is not None
        }
    return found


def _with_progress(filings: Iterator[Upsert], teller: Progress) -> Iterator[Upsert]:
    for count, filing in enumerate(filings, 1):
        yield filing
        if count % PROGRESS_STEP == 0:
            teller.advance(PROGRESS_STEP, PROGRESS_STEP)
