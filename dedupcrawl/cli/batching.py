"""``dedupcrawl batch``: deduplicate a corpus that is on disk already."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dedupcrawl.cli.batchtable import report
from dedupcrawl.cli.options import Assignments, DetectorNames, OfProject, assignments_of, config_of
from dedupcrawl.cli.progress import Bars
from dedupcrawl.cli.project import project_here
from dedupcrawl.cli.reporting import of_batch, write
from dedupcrawl.cli.screen import complain, print_json
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.evaluation.contestants import assigned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.running import Engine

Field = Annotated[str, typer.Option(metavar="NAME", help="Column or key of it (default: the usual names).")]
INTERRUPTED = 130  #: as shells have it


def batch(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="JSON Lines, WARC, WET or Parquet files, patterns, or folders of them, in order of arrival.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the kept pages go, in files named alike.")],
    annotate: Annotated[
        bool,
        typer.Option("--annotate", help="Write all pages, with what is said of them in dedup_*."),
    ] = False,
    detector: DetectorNames = None,
    assignments: Assignments = None,
    project: OfProject = False,
    prefer: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="Which copy is kept: arrival (the first), longest, newest, oldest, or that of one "
            "of these hosts, the most wanted first: reuters.com,apnews.com",
        ),
    ] = "arrival",
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="first|latest",
            help="latest: the newest page wins, and superseded.jsonl lists the old ones that it repeats.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STORE|DIR",
            help="Drop what this store of a crawl has, or this --out of an earlier batch; repeatable.",
        ),
    ] = None,
    update: Annotated[
        str, typer.Option(metavar="STORE", help="Give the kept fingerprints to this store of a crawl.")
    ] = "",
    namespace: Annotated[
        str | None,
        typer.Option(
            help="Of these stores: the name of a spider, or DEDUP_NAMESPACE (default: the only one)."
        ),
    ] = None,
    url_field: Field = "",
    html_field: Field = "",
    text_field: Field = "",
    time_field: Field = "",
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave out what cannot be read, and list it; else the run ends."),
    ] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes (default: one for each core).")] = 0,
    master: Annotated[
        str,
        typer.Option(metavar="URL", help="Do it on Spark: local[2], spark://HOST:7077, … (--out is shared)."),
    ] = "",
    page: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write an HTML page that shows what was dropped and why."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write summary.json to standard output too.")
    ] = False,
) -> None:
    """Keep every article of a corpus once: what a crawl of its pages, in their order, would have kept.

    A run that was broken off goes on where it was when it is started again.
    """
    _check_installed()
    from dedupcrawl.batch.formats import Fields  # noqa: PLC0415  # what they need is an extra
    from dedupcrawl.batch.job import Job  # noqa: PLC0415
    from dedupcrawl.report.saving import refuse_foreign  # noqa: PLC0415

    if page is not None:
        refuse_foreign(page)
    config, crawled = _config(detector, assignments, keep, project=project)
    job = Job(
        inputs=tuple(inputs),
        out=out,
        config=config,
        fields=Fields(url_field, html_field, text_field, time_field),
        annotate=annotate,
        prefer=tuple(name.strip() for name in prefer.split(",")),
        against=tuple(against or ()),
        update=update,
        namespace=namespace or crawled,
        skip_bad=skip_bad,
        workers=workers,
    )
    summary = _run(job, master)
    if as_json:
        print_json(summary)
    else:
        report(summary, out)
    if page is not None:
        with Bars() as bars:
            found = of_batch(out, bars)
        write(found, page, quiet=as_json)


def _run(job: Job, master: str) -> dict[str, Any]:
    """Run a job; a user who interrupts it is told that nothing is lost."""
    from dedupcrawl.batch.running import run  # noqa: PLC0415

    try:
        with Bars() as bars, _engine(job, master) as engine:
            return run(job, engine, bars)
    except KeyboardInterrupt:
        complain("interrupted; the same command goes on where this one stopped")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _engine(job: Job, master: str) -> Iterator[Engine | None]:
    """Give the engine for a master of Spark; None, without one, is this machine."""
    if not master:
        yield None
        return
    from dedupcrawl.batch.spark.installed import check_installed  # noqa: PLC0415

    check_installed()
    from dedupcrawl.batch.spark.engine import OnSpark  # noqa: PLC0415
    from dedupcrawl.batch.spark.session import Session  # noqa: PLC0415
    from dedupcrawl.batch.work import Work  # noqa: PLC0415

    with Session(master) as session:
        yield OnSpark(session, job, Work(job.out))


def _check_installed() -> None:
    if find_spec("pyarrow") is None:
        raise DedupError("dedupcrawl batch needs pyarrow: pip install 'dedupcrawl[batch]'")


def _config(
    detectors: list[str] | None, assignments: list[str] | None, keep: str | None, *, project: bool
) -> tuple[Config, str | None]:
    """Return the configuration, and the namespace that a project names."""
    namespace = None
    config = config_of(detectors)
    if project:
        found, namespace = project_here()
        config = replace(found, detectors=tuple(detectors)) if detectors else found
    chosen = assignments_of(assignments)
    if keep is not None and chosen.setdefault("keep", keep) != keep:
        raise SettingError("--keep", keep, f"the same as --set keep={chosen['keep']}, or one of both")
    return assigned(config, chosen), namespace
