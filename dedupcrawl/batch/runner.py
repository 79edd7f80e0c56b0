"""The course of a run: what is done already is found and left, the rest is done, and then it is told."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.batch.corpus import open_corpus
from dedupcrawl.batch.fingerprint_table import LAYOUT_VERSION
from dedupcrawl.batch.fingerprinting import check_readable
from dedupcrawl.batch.formats import find_parts
from dedupcrawl.batch.job import digest
from dedupcrawl.batch.local_engine import LocalEngine
from dedupcrawl.batch.output import is_output_current, summarize
from dedupcrawl.batch.prior_sources import open_prior_sources, write_prior_pages
from dedupcrawl.batch.store_export import check_export_target, check_not_exported, export_to_store
from dedupcrawl.batch.verdicts import VerdictWriter, write_superseded
from dedupcrawl.batch.workdir import (
    SUPERSEDED_FILE,
    WORK_FOLDER,
    PartState,
    Workdir,
    read_part_state,
    read_state,
    write_state,
)
from dedupcrawl.errors import DedupError, package_version
from dedupcrawl.stores.base import differences
from dedupcrawl.utils.progress import NoProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.prior_sources import PriorSource
    from dedupcrawl.batch.solver import Solution
    from dedupcrawl.utils.progress import Progress


class Engine(Protocol):
    """Who does the three steps. What it writes lies where ``Work`` says."""

    def fingerprint(self, parts: Sequence[Part], teller: Progress) -> None:
        """Fingerprint these parts: :func:`fingerprint_part` for each, or the same."""
        ...

    def solve(self, corpus: Corpus, teller: Progress) -> Solution:
        """Judge every row."""
        ...

    def write(self, parts: Sequence[Part], teller: Progress) -> None:
        """Write their output: :func:`~dedupcrawl.batch.output.write_output` for each."""
        ...


def run(job: Job, engine: Engine | None = None, teller: Progress | None = None) -> dict[str, Any]:
    """Do what is left to do of a job.

    Returns:
        What ``summary.json`` holds, and as ``already`` whether all was done before.

    Raises:
        DedupError: anything could not be read, written or agreed upon; then there is no ``summary.json``.
    """
    work = Workdir(job.out)
    _check_folder(work)
    parts = find_parts(job.inputs, out=job.out)
    _check_superseded_name(job, parts)
    with work.held():
        return _BatchRun(job, work, parts, engine or LocalEngine(job, work), teller or NoProgress()).run()


class _BatchRun:
    """One run, once it has the folder for itself."""

    def __init__(
        self, job: Job, work: Workdir, parts: Sequence[Part], engine: Engine, teller: Progress
    ) -> None:
        self._job = job
        self._work = work
        self._parts = parts
        self._engine = engine
        self._teller = teller
        self._began = time.monotonic()
        self._fingerprinted = 0  # pages, by this run

    def run(self) -> dict[str, Any]:
        self._refuse_other()
        sources = open_prior_sources(self._job)
        check_export_target(self._job)
        write_state(self._work.job, self._told())
        left = [part for part in self._parts if not self._is_made(part)]
        if not left and (done := self._done(sources)) is not None:
            return self._handed(done | {"already": True})
        check_not_exported(self._work, changed=bool(left) or not self._is_solved(sources))
        self._work.summary.unlink(missing_ok=True)
        self._fingerprint(left)
        if not self._is_solved(sources):
            self._solve(sources)
        self._write()
        return self._handed(self._finish() | {"already": False})

    # -- what has been done -------------------------------------------------------------------

    def _told(self) -> dict[str, Any]:
        """Return what this job is, in JSON values."""
        return {
            "layout": LAYOUT_VERSION,
            "version": package_version(),
            "request": self._job.request(),
            "parts": [{"name": part.name, "path": str(part.path.resolve())} for part in self._parts],
        }

    def _refuse_other(self) -> None:
        """Refuse the folder of another job, if that has come to anything."""
        there = read_state(self._work.job)
        if there is not None and self._work.has_prints():
            _check_same_job(self._job, there, self._told())

    def _is_made(self, part: Part) -> bool:
        """Whether the fingerprints of a part are there. Raises for what this run is not to skip."""
        made = read_part_state(self._work, part.name)
        try:
            fits = made is not None and made.fits(PartState.of(part.path, self._job.making))
        except OSError:
            return False
        if fits and made is not None and not self._job.skip_bad:
            check_readable(part, made)
        return fits

    def _signature(self, sources: Sequence[PriorSource]) -> str:
        """Name all that the verdicts depend on; what is in a store counts as it was when it was asked."""
        made = [(part.name, asdict(_state_of_part(self._work, part))) for part in self._parts]
        return digest((self._job.request(), made, [source.state for source in sources]))

    def _is_solved(self, sources: Sequence[PriorSource]) -> bool:
        if any(read_part_state(self._work, part.name) is None for part in self._parts):
            return False
        solved = read_state(self._work.solved)
        return solved is not None and solved.get("signature") == self._signature(sources)

    def _done(self, sources: Sequence[PriorSource]) -> dict[str, Any] | None:
        """Return the summary of a run that has nothing left to do."""
        whole = self._is_solved(sources) and all(is_output_current(self._work, part) for part in self._parts)
        return read_state(self._work.summary) if whole else None

    # -- what is left to do -------------------------------------------------------------------

    def _fingerprint(self, parts: Sequence[Part]) -> None:
        if not parts:
            return
        self._teller.begin("fingerprints", sum(_file_size(part) for part in parts))
        self._engine.fingerprint(parts, self._teller)
        made = [_state_of_part(self._work, part) for part in parts]
        self._fingerprinted = sum(each.rows - each.bad for each in made)

    def _solve(self, sources: Sequence[PriorSource]) -> None:
        write_prior_pages(self._job, self._work, self._parts, sources)
        corpus = open_corpus(self._work, self._parts)
        self._teller.begin("verdicts", len(corpus.prints))
        found = self._engine.solve(corpus, self._teller)
        telling = VerdictWriter(corpus, found, name_all=self._job.annotate)
        for part, start, stop in corpus.spans:
            telling.write(self._work.verdicts(part.name), start, stop, _state_of_part(self._work, part).rows)
        superseded = write_superseded(self._job, self._work, corpus, found)
        state = {
            "signature": self._signature(sources),
            "given": corpus.given,
            "against": [source.told() for source in sources],
            "superseded": superseded,
            "crowding": asdict(found.crowding),
            "parts": [asdict(telling.count(part.name, start, stop)) for part, start, stop in corpus.spans],
        }
        write_state(self._work.solved, state)

    def _write(self) -> None:
        left = [part for part in self._parts if not is_output_current(self._work, part)]
        if left:
            self._teller.begin("output", sum(_state_of_part(self._work, part).rows for part in left))
            self._engine.write(left, self._teller)

    def _finish(self) -> dict[str, Any]:
        """Write the summary; it is the sign that all is done."""
        for part in self._parts:
            if not is_output_current(self._work, part):
                raise DedupError(f"{self._work.output(part.name)}: the output is not there")
        seconds = time.monotonic() - self._began
        made = [_state_of_part(self._work, part) for part in self._parts]
        summary = summarize(
            self._job, self._work, self._parts, made, seconds=seconds, fingerprinted=self._fingerprinted
        )
        write_state(self._work.summary, summary)
        return summary

    def _handed(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Give the fingerprints to the store that is to have them."""
        if not self._job.update:
            return summary
        handed = export_to_store(self._job, self._work, open_corpus(self._work, self._parts), self._teller)
        plain = {name: value for name, value in summary.items() if name != "already"} | {"handed": handed}
        write_state(self._work.summary, plain)
        return plain | {"already": summary["already"] and handed["already"]}


def _state_of_part(work: Workdir, part: Part) -> PartState:
    made = read_part_state(work, part.name)
    if made is None:
        raise DedupError(f"{work.prints(part.name)}: the fingerprints are not there")
    return made


def _file_size(part: Part) -> int:
    try:
        return part.path.stat().st_size
    except OSError:  # it is told when the part is read
        return 0


def _check_folder(work: Workdir) -> None:
    """Refuse a folder with files that no run has put there."""
    if work.out.exists() and not work.out.is_dir():
        raise DedupError(f"{work.out}: the output goes into a folder, and this is none")
    if work.out.is_dir() and not work.job.exists():
        others = sorted(each.name for each in work.out.iterdir() if each.name != WORK_FOLDER)
        if others:
            raise DedupError(
                f"{work.out}: has other files in it ({others[0]}{', …' if others[1:] else ''}); "
                "the output goes into a new or an empty folder, or that of the same batch"
            )


def _check_superseded_name(job: Job, parts: Sequence[Part]) -> None:
    """Refuse an input whose output would lie where the list of what is superseded goes."""
    for part in parts:
        if job.latest and part.name == SUPERSEDED_FILE:
            raise DedupError(
                f"{part.path}: where the latest page is kept, {SUPERSEDED_FILE} lists the old ones; rename it"
            )


def _check_same_job(job: Job, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Refuse to write into the folder of another job, naming what differs."""
    names = {part["name"]: part["path"] for part in here["parts"]}
    gone = [part for part in there.get("parts", []) if names.get(part["name"]) != part["path"]]
    found = differences(there.get("request", {}), here["request"])
    if there.get("layout") != here["layout"]:
        found = [f"layout is {there.get('layout')} there, {here['layout']} here"]
    if gone:
        found.append(f"{gone[0]['path']} is among the inputs there, and is not here")
    if found:
        raise DedupError(f"{job.out}: holds another batch: {'; '.join(found)}. Give this one another --out")
