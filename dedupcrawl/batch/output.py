"""Step 4 of a batch: the output files, the store of a crawl that continues it, and the summary of the whole run."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.columns import numpy_array, read_table, to_text
from dedupcrawl.batch.formats import Part, PartError, format_named
from dedupcrawl.batch.formats.warc import WarcFormat
from dedupcrawl.batch.formats.warc_revisits import RevisitRecord
from dedupcrawl.batch.job import display_location, open_corpus
from dedupcrawl.batch.prior_sources import connect, target_namespace
from dedupcrawl.batch.verdicts import read_annotations, read_compared, read_keep, read_superseded
from dedupcrawl.batch.workdir import PartState, read_part_state, read_site_tables, read_state, write_state
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS
from dedupcrawl.errors import DedupError, StoreError, StoreUnreachableError, package_version
from dedupcrawl.stores import open_existing
from dedupcrawl.stores.site_tables import unpack_site
from dedupcrawl.stores.transfer import UpsertRecord, file_records
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.batch.job import Corpus, Job
    from dedupcrawl.batch.workdir import Workdir
    from dedupcrawl.stores.base import Store
    from dedupcrawl.utils.iteration import Progress

COUNTERS = ("dropped", "related", "unchecked")
_ZERO: Counter[str] = Counter()


def write_output(job: Job, work: Workdir, part: Part) -> int:
    """Write the output of a part, then its state; return the number of rows in it.

    Raises DedupError if it cannot be written, or if the input has changed since it was fingerprinted.
    """
    state = read_part_state(work, part.name)
    assert state is not None
    target = work.output(part.name)
    _check_unchanged(job, part, state)
    if state.broken and not state.rows:  # nothing was readable, not even the columns
        target.unlink(missing_ok=True)
        rows = 0
    else:
        with atomic_output(target) as path:
            rows = _write_rows(job, work, part, path, state)
            _check_unchanged(job, part, state)
    written = {"by": _verdict_signature(work), "rows": rows, "size": file_size(target)}
    write_state(work.output_state(part.name), written)
    return rows


def is_output_current(work: Workdir, part: Part) -> bool:
    """Return whether the output of a part exists and was written from the current verdicts."""
    state, size = read_state(work.output_state(part.name)), file_size(work.output(part.name))
    return state is not None and (state.get("by"), state.get("size")) == (_verdict_signature(work), size)


def _write_rows(job: Job, work: Workdir, part: Part, path: Path, state: PartState) -> int:
    file_format, truncated, verdicts = (format_named(part.format), state.broken is not None, work.verdicts(part.name))
    try:
        if job.annotate:
            rows = file_format.annotate(part, path, read_annotations(verdicts), truncated=truncated)
            expected = state.rows - state.bad
        else:
            keep = read_keep(verdicts)
            if job.revisits and isinstance(file_format, WarcFormat):
                rows = file_format.copy_revisits(part, path, keep, _revisits(work, part), truncated=truncated)
            else:
                rows = file_format.copy(part, path, keep, truncated=truncated)
            expected = int(np.count_nonzero(keep))
    except PartError as error:
        raise DedupError(f"{part.path}: it was read before, but cannot be copied now: {error}") from error
    if rows != expected:
        raise DedupError(f"{path}: {rows} rows were written instead of {expected}")
    return rows


def _revisits(work: Workdir, part: Part) -> dict[int, RevisitRecord]:
    """Return the revisit record of each dropped copy of a part."""
    corpus, verdicts = open_corpus(work, _parts_of(work)), read_table(work.verdicts(part.name))
    start = next(start for each, start, _ in corpus.spans if each.name == part.name)
    numbers = corpus.table.numbers("row")[start:]
    columns = (verdicts.column(name).to_pylist() for name in ("keep", "relation", "of_row"))
    dropped = (
        (row, relation, of)
        for row, (keep, relation, of) in enumerate(zip(*columns, strict=True))
        if not keep and relation in DUPLICATE_RELATIONS
    )
    captures = ((row, start + int(np.searchsorted(numbers, row)), relation, of) for row, relation, of in dropped)
    value = corpus.table.value
    return {
        row: RevisitRecord(relation, corpus.table.url(of), mine, value(of, "capture"))
        for row, at, relation, of in captures
        if (mine := value(at, "capture"))
    }


def _parts_of(work: Workdir) -> list[Part]:
    """Return the inputs of a run, as far as its fingerprints need them."""
    about = read_state(work.job) or {"parts": []}
    return [Part(number, Path(each["path"]), each["name"], "") for number, each in enumerate(about["parts"])]


def _check_unchanged(job: Job, part: Part, state: PartState) -> None:
    with suppress(OSError):
        if PartState.of(part.path, job.fingerprint_digest).has_same_input(state):
            return
    raise DedupError(f"{part.path}: the file has changed since it was fingerprinted; run the same command again")


def _verdict_signature(work: Workdir) -> str:
    return str((read_state(work.solution) or {}).get("signature", ""))


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; -1 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def summarize(
    job: Job, work: Workdir, parts: Sequence[Part], states: Sequence[PartState], *, seconds: float, fingerprinted: int
) -> dict[str, Any]:
    """Return the contents of ``summary.json``.

    ``seconds`` and ``fingerprinted`` (pages) are those of this run alone.
    """
    solution = read_state(work.solution) or {}
    files = [
        counts | _read_errors(part, state) for counts, part, state in zip(solution["parts"], parts, states, strict=True)
    ]
    pages = sum(file["pages"] for file in files)
    workdir_bytes = sum(path.stat().st_size for path in work.folder.rglob("*") if path.is_file())
    return {
        "complete": True,
        "version": package_version(),
        "request": job.request(),
        "pages": pages,
        "kept": sum(file["kept"] for file in files),
        **{name: dict(sum((Counter(file[name]) for file in files), _ZERO).most_common()) for name in COUNTERS},
        "bytes": {name: sum(file[of] for file in files) for name, of in (("read", "bytes"), ("kept", "kept_bytes"))},
        "bad": {
            "rows": sum(file["bad"] for file in files),
            "broken": sum(file["broken"] is not None for file in files),
        },
        "textless": sum(file["textless"] for file in files),
        "given": solution["given"],
        "superseded": solution["superseded"],
        "crowded": solution["hot_buckets"],
        "sites": solution.get("sites", []),
        "seconds": round(seconds, 3),
        "fingerprinted": fingerprinted,
        "pages_per_second": round(fingerprinted / seconds, 1) if fingerprinted else None,
        "work_bytes_per_page": round(workdir_bytes / pages, 1) if pages else None,
        "parts": files,
    }


def _read_errors(part: Part, state: PartState) -> dict[str, Any]:
    broken = None if state.broken is None else {"row": state.broken[0], "why": state.broken[1]}
    return {
        "path": str(part.path),
        "bad": state.bad,
        "bad_rows": _listed(state.bad_rows),
        "textless": state.textless,
        "textless_rows": _listed(state.textless_rows),
        "broken": broken,
    }


def _listed(rows: list[list[Any]]) -> list[dict[str, Any]]:
    return [{"row": row, "why": why} for row, why in rows]


PROGRESS_STEP = 200  #: records after which progress is reported


def export_to_store(job: Job, work: Workdir, corpus: Corpus, progress: Progress) -> dict[str, Any]:
    """File the kept pages in the store of ``--update``, in the order in which they were judged.

    Pages that the store has are left alone, so the export can be repeated; a complete one is not repeated.
    Pages that were replaced are removed from the store. What sites repeat is added for the sites that the store does
    not know, since their pages are filed without it.

    Returns the value of ``handed`` in ``summary.json``. Raises SettingError if the namespace has to be named,
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
        _export_site_tables(work, store)
        done = file_records(_with_progress(_upserts(work, corpus, rows), progress), store)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    about |= {"done": True, "when": when, "new": done.new, "known": done.known, "removed": done.removed}
    write_state(work.exports, exports | {name: about})
    return about | {"already": False}


def _export_site_tables(work: Workdir, store: Store) -> None:
    tables, now = read_site_tables(work), time.time()
    known = store.load_sites([*tables])
    store.merge_sites({site: unpack_site(value).pack(now) for site, value in tables.items() if site not in known})


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
            f"{work.out}: its pages were added to {store}, and the input or the version of dedupcrawl has "
            f"changed since; use another --out for new pages, with --against {work.out}"
        )


def _kept_rows(job: Job, work: Workdir, corpus: Corpus) -> list[int]:
    """Return the rows that later pages are compared with, in the order of filing; the latest page is filed last."""
    keep = np.zeros(len(corpus.table), bool)
    numbers = corpus.table.numbers("row")
    for part, start, stop in corpus.spans:
        keep[start:stop] = read_compared(work.verdicts(part.name))[numbers[start:stop]]
    order = corpus.order(job)
    rows: list[int] = order[(keep & corpus.table.judgeable())[order]].tolist()
    return rows[::-1] if job.latest else rows


def _upserts(work: Workdir, corpus: Corpus, rows: list[int]) -> Iterator[UpsertRecord]:
    table, clusters, now = corpus.table, _joined_clusters(work, corpus), time.time()
    times = table.numbers("time")
    replaced: defaultdict[int, list[int]] = defaultdict(list)
    for new, old in read_superseded(work):
        replaced[new].append(old)
    for row in rows:
        seen = now if isnan(times[row]) else min(float(times[row]), now)
        record = replace(table.record(row), seen=seen, cluster=clusters.get(row, ""))
        yield UpsertRecord(record, tuple(table.record(old) for old in replaced[row]))


def _joined_clusters(work: Workdir, corpus: Corpus) -> dict[int, str]:
    """Return the cluster of each row that joined the cluster of another page."""
    clusters: dict[int, str] = {}
    numbers = corpus.table.numbers("row")
    for part, start, stop in corpus.spans:
        verdicts = read_table(work.verdicts(part.name)).select(["cluster", "joined"])
        joined = np.flatnonzero(numpy_array(verdicts.column("joined")))
        names = verdicts.column("cluster").take(joined).to_pylist()
        rows = (start + np.searchsorted(numbers[start:stop], joined)).tolist()
        clusters |= {row: to_text(name) for row, name in zip(rows, names, strict=True) if name is not None}
    return clusters


def _with_progress(upserts: Iterator[UpsertRecord], progress: Progress) -> Iterator[UpsertRecord]:
    for count, upsert in enumerate(upserts, 1):
        yield upsert
        if count % PROGRESS_STEP == 0:
            progress.advance(PROGRESS_STEP, PROGRESS_STEP)
