"""A run of a batch: does the steps that are not done yet, then writes the summary.

A run that was interrupted continues where it stopped.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.batch.columns import LAYOUT_VERSION, to_text
from dedupcrawl.batch.fingerprinting import check_readable
from dedupcrawl.batch.formats import find_parts
from dedupcrawl.batch.job import digest, open_corpus
from dedupcrawl.batch.local_engine import LocalEngine
from dedupcrawl.batch.output import (
    check_export_target,
    check_not_exported,
    export_to_store,
    file_size,
    is_output_current,
    summarize,
)
from dedupcrawl.batch.prior_sources import given_site_tables, open_prior_sources, with_secret, write_prior_pages
from dedupcrawl.batch.repeated_text import join_tables
from dedupcrawl.batch.solver import RELATIONS, without_clusters
from dedupcrawl.batch.verdicts import BatchVerdictWriter, unchecked_reasons, write_superseded
from dedupcrawl.batch.workdir import (
    SUPERSEDED_FILE,
    WORK_FOLDER,
    PartState,
    Workdir,
    read_part_state,
    read_state,
    write_site_tables,
    write_state,
)
from dedupcrawl.errors import DedupError, package_version
from dedupcrawl.sites.site_counts import MAX_LISTED_SITES, SiteCounts
from dedupcrawl.stores.base import differences
from dedupcrawl.utils.iteration import NoProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Corpus, Job
    from dedupcrawl.batch.prior_sources import PriorSource
    from dedupcrawl.batch.solver import SolverResult
    from dedupcrawl.sites.site_counts import SiteNotice
    from dedupcrawl.utils.iteration import Progress


class Engine(Protocol):
    """Does the steps of a batch. It writes the files that :class:`Workdir` names.

    Progress is reported in bytes of input while fingerprinting, else in rows. All methods raise DedupError if
    a file cannot be read or written.
    """

    def fingerprint(self, parts: Sequence[Part], progress: Progress) -> None:
        """Write the fingerprints of parts as ``fingerprint_part`` does."""

    def count_sites(self, corpus: Corpus, progress: Progress) -> dict[str, bytes]:
        """Return what sites repeat, as packed tables, by a corpus of whole texts."""

    def leave_out(self, parts: Sequence[Part], digest: str, progress: Progress) -> None:
        """Write the fingerprints of parts without what sites repeat (``Workdir.site_tables``, with this digest)."""

    def solve(self, corpus: Corpus, progress: Progress) -> SolverResult:
        """Judge every row of a corpus as :func:`~dedupcrawl.batch.solver.solve` does."""

    def write(self, parts: Sequence[Part], progress: Progress) -> None:
        """Write the output of parts with :func:`~dedupcrawl.batch.output.write_output`."""


def run(job: Job, engine: Engine | None = None, progress: Progress | None = None) -> dict[str, Any]:
    """Run the steps of a job that are not done yet.

    Args:
        job: its inputs, configuration and output.
        engine: does the work; default: a :class:`LocalEngine`.
        progress: receives the progress of each step.

    Returns:
        The contents of ``summary.json``, and as ``already`` whether everything had been done before.

    Raises:
        DedupError: something cannot be read or written, or the output folder has another batch; then no
            ``summary.json`` is written.
    """
    job = with_secret(job)
    work = Workdir(job.out)
    _check_folder(work)
    parts = find_parts(job.inputs, out=job.out)
    _check_superseded_name(job, parts)
    if job.revisits and not any(part.format == "warc" for part in parts):
        raise DedupError("--revisits: none of the inputs is a WARC file; leave the option out")
    with work.locked():
        return _BatchRun(job, work, parts, engine, progress or NoProgress()).run()


class _BatchRun:
    """A run that has locked its folder."""

    def __init__(
        self, job: Job, work: Workdir, parts: Sequence[Part], engine: Engine | None, progress: Progress
    ) -> None:
        self._job = job
        self._work = work
        self._parts = parts
        self._given_engine = engine
        self._progress = progress
        self._began = time.monotonic()
        self._fingerprinted = 0  # pages, by this run

    def run(self) -> dict[str, Any]:
        about = self._about()
        self._check_same_job(about)
        sources = open_prior_sources(self._job)
        check_export_target(self._job)
        self._given_tables = given_site_tables(self._job, sources)
        self._engine = self._given_engine or LocalEngine(self._job, self._work)
        write_state(self._work.job, about)
        remaining = [part for part in self._parts if not self._is_fingerprinted(part)]
        if not remaining and (summary := self._finished_summary(sources)) is not None:
            return self._export(summary | {"already": True})
        check_not_exported(self._work, changed=bool(remaining) or not self._is_solved(sources))
        self._work.summary.unlink(missing_ok=True)
        self._fingerprint(remaining)
        if not self._is_solved(sources):
            self._leave_out_repeated()
            self._solve(sources)
        self._write()
        return self._export(self._summarize() | {"already": False})

    # -- what is done already -----------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        return {
            "layout": LAYOUT_VERSION,
            "version": package_version(),
            "request": self._job.request(),
            "parts": [{"name": part.name, "path": str(part.path.resolve())} for part in self._parts],
        }

    def _check_same_job(self, here: dict[str, Any]) -> None:
        """Raise DedupError if the folder has fingerprints of another job; the message names the differences."""
        there = read_state(self._work.job)
        if there is None or not any(self._work.part_state("").parent.rglob("*.json")):
            return
        names = {part["name"]: part["path"] for part in here["parts"]}
        gone = [part for part in there.get("parts", []) if names.get(part["name"]) != part["path"]]
        found = differences(there.get("request", {}), here["request"])
        if there.get("layout") != here["layout"]:
            found = [f"layout is {there.get('layout')} there, {here['layout']} here"]
        if gone:
            found.append(f"{gone[0]['path']} is among the inputs there, and is not here")
        if found:
            raise DedupError(f"{self._job.out}: holds another batch: {'; '.join(found)}. Give this one another --out")

    def _is_fingerprinted(self, part: Part) -> bool:
        """Return whether a part has current fingerprints; raises DedupError for bad rows."""
        state = read_part_state(self._work, part.name)
        try:
            now = PartState.of(part.path, self._job.fingerprint_digest)
        except OSError:
            return False
        if state is None or not state.has_same_input(now) or not self._work.texts(part.name).exists():
            return False
        if not self._job.skip_bad:
            check_readable(part, state)
        return True

    def _signature(self, sources: Sequence[PriorSource]) -> str:
        """Return a digest of everything the verdicts depend on, except the contents of stores."""
        states = [(part.name, asdict(self._state_of(part))) for part in self._parts]
        given = sorted((site, value.hex()) for site, value in self._given_tables.items())
        return digest((self._job.request(), states, [source.signature for source in sources], given))

    def _is_solved(self, sources: Sequence[PriorSource]) -> bool:
        if any(read_part_state(self._work, part.name) is None for part in self._parts):
            return False
        solution = read_state(self._work.solution)
        return solution is not None and solution.get("signature") == self._signature(sources)

    def _finished_summary(self, sources: Sequence[PriorSource]) -> dict[str, Any] | None:
        """Return the summary if verdicts and output are current."""
        is_finished = self._is_solved(sources) and all(is_output_current(self._work, part) for part in self._parts)
        return read_state(self._work.summary) if is_finished else None

    def _state_of(self, part: Part) -> PartState:
        state = read_part_state(self._work, part.name)
        if state is None:
            raise DedupError(f"{self._work.fingerprints(part.name)}: the fingerprints are not there")
        return state

    # -- what is left to do -------------------------------------------------------------------

    def _fingerprint(self, parts: Sequence[Part]) -> None:
        if not parts:
            return
        self._progress.begin("fingerprints", sum(max(file_size(part.path), 0) for part in parts))
        self._engine.fingerprint(parts, self._progress)
        states = [self._state_of(part) for part in parts]
        self._fingerprinted = sum(state.rows - state.bad for state in states)

    def _leave_out_repeated(self) -> None:
        """Count what sites repeat, and leave it out of the fingerprints."""
        if not self._job.config.site_memory:
            return
        corpus = open_corpus(self._work, self._parts, prior=False, whole=True)
        self._progress.begin("sites", len(corpus.table))
        counted = self._engine.count_sites(corpus, self._progress)
        del corpus
        tables = write_site_tables(self._work, join_tables(self._given_tables, counted))
        self._progress.begin("repeated text", len(self._parts))
        self._engine.leave_out(self._parts, tables, self._progress)

    def _solve(self, sources: Sequence[PriorSource]) -> None:
        write_prior_pages(self._job, self._work, self._parts, sources)
        corpus = open_corpus(self._work, self._parts)
        self._progress.begin("verdicts", len(corpus.table))
        solution = self._engine.solve(corpus, self._progress)
        if self._job.drop_clusters:
            solution = without_clusters(solution, corpus.prior)
        writer = BatchVerdictWriter(corpus, solution, name_all=self._job.annotate)
        for part, start, stop in corpus.spans:
            writer.write(self._work.verdicts(part.name), start, stop, self._state_of(part).rows)
        superseded = write_superseded(self._job, self._work, corpus, solution)
        state = {
            "signature": self._signature(sources),
            "given": corpus.prior,
            "against": [source.reference() for source in sources],
            "superseded": superseded,
            "hot_buckets": asdict(solution.hot_buckets),
            "sites": [asdict(notice) for notice in find_conspicuous_sites(corpus, solution)],
            "parts": [asdict(writer.count(part.name, start, stop)) for part, start, stop in corpus.spans],
        }
        write_state(self._work.solution, state)

    def _write(self) -> None:
        remaining = [part for part in self._parts if not is_output_current(self._work, part)]
        if remaining:
            self._progress.begin("output", sum(self._state_of(part).rows for part in remaining))
            self._engine.write(remaining, self._progress)

    def _summarize(self) -> dict[str, Any]:
        """Write the summary, which marks the run as finished."""
        for part in self._parts:
            if not is_output_current(self._work, part):
                raise DedupError(f"{self._work.output(part.name)}: the output is not there")
        summary = summarize(
            self._job,
            self._work,
            self._parts,
            [self._state_of(part) for part in self._parts],
            seconds=time.monotonic() - self._began,
            fingerprinted=self._fingerprinted,
        )
        write_state(self._work.summary, summary)
        return summary

    def _export(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Export the fingerprints to the store of ``--update``, and add that to the summary."""
        if not self._job.update:
            return summary
        corpus = open_corpus(self._work, self._parts)
        exported = export_to_store(self._job, self._work, corpus, self._progress)
        recorded = {name: value for name, value in summary.items() if name != "already"} | {"handed": exported}
        write_state(self._work.summary, recorded)
        return recorded | {"already": summary["already"] and exported["already"]}


def _check_folder(work: Workdir) -> None:
    """Raise DedupError if the output folder has files that no run wrote."""
    if work.out.exists() and not work.out.is_dir():
        raise DedupError(f"{work.out}: the output needs a folder, and this is a file")
    if work.out.is_dir() and not work.job.exists():
        others = sorted(each.name for each in work.out.iterdir() if each.name != WORK_FOLDER)
        if others:
            raise DedupError(
                f"{work.out}: has other files in it ({others[0]}{', …' if others[1:] else ''}); "
                "the output goes into a new or an empty folder, or that of the same batch"
            )


def _check_superseded_name(job: Job, parts: Sequence[Part]) -> None:
    """Raise DedupError if the output of an input would overwrite the list of superseded pages."""
    for part in parts:
        if job.latest and part.name == SUPERSEDED_FILE:
            raise DedupError(
                f"{part.path}: with --keep latest, {SUPERSEDED_FILE} lists the replaced pages; rename the input"
            )


MAX_NOTICES = 100  #: sites that the summary lists


def find_conspicuous_sites(corpus: Corpus, solution: SolverResult) -> list[SiteNotice]:
    """Return the conspicuous sites of all judged rows, at most :data:`MAX_NOTICES`."""
    table, counts, start = corpus.table, SiteCounts(MAX_LISTED_SITES), 0
    reasons = unchecked_reasons(table, solution)
    for batch in table.batches:
        urls = batch.column("url").to_pylist()
        rows = slice(start, start + len(urls))
        verdicts = zip(urls, solution.relation[rows].tolist(), solution.of[rows].tolist(), strict=True)
        for row, (url, relation, of) in enumerate(verdicts, start):
            if row < corpus.prior:
                continue
            if 0 <= relation < len(RELATIONS):
                counts.add(to_text(url), RELATIONS[relation], table.url(of))
            else:
                counts.add(to_text(url), reason=reasons.get(row))
        start += len(urls)
    return counts.notices()[:MAX_NOTICES]
