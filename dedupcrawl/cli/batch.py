"""``dedupcrawl batch``: deduplicate a corpus that is on disk already.

What a batch came to, as a short table.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import Bars, complain, out, print_json
from dedupcrawl.cli.options import (
    Assignments,
    DetectorNames,
    OfProject,
    assignments_of,
    config_of,
    project_here,
)
from dedupcrawl.cli.report import of_batch, write
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.tools.evaluation.runs import with_constants

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.runner import Engine


SHOWN = 10  #: bad rows


def report(summary: Mapping[str, Any], folder: Path) -> None:
    """Show the figures of ``summary.json``, and what could not be read."""
    console = out()
    if summary["already"]:
        console.print(Text(f"nothing to do: {folder} holds all of this already"))
    table = Table(show_header=False)
    for name, value in _rows(summary):
        table.add_row(name, Text(value))
    console.print(table)
    unread = [line for part in summary["parts"] for line in _unread(part)]
    for line in unread[:SHOWN]:
        console.print(Text(f"left out: {line}", style="yellow"))
    if len(unread) > SHOWN:
        console.print(
            Text(f"… and {len(unread) - SHOWN:,} more, in {folder / 'summary.json'}", style="yellow")
        )


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "pages", f"{summary['pages']:,}"
    yield "kept", f"{summary['kept']:,} ({_share(summary['kept'], summary['pages'])})"
    for name, of in (("dropped", "dropped"), ("kept, related", "related"), ("unchecked", "unchecked")):
        if summary[of]:
            yield name, ", ".join(f"{each} {count:,}" for each, count in summary[of].items())
    read, kept = summary["bytes"]["read"], summary["bytes"]["kept"]
    yield "bytes", f"{read:,} read, {kept:,} kept ({_share(kept, read)})"
    if summary["bad"]["rows"] or summary["bad"]["broken"]:
        yield "unreadable", f"{summary['bad']['rows']:,} rows; the rest of {summary['bad']['broken']:,} files"
    if summary["given"]:
        yield "known before", f"{summary['given']:,} pages that share a key with these"
    if summary["superseded"]:
        yield (
            "superseding",
            f"{summary['superseded']:,}; superseded.jsonl says what they take the place of",
        )
    yield from _stores(summary)
    crowded = summary["crowded"]
    if crowded["buckets"]:
        beyond = f"{crowded['pages']:,} pages were not compared with all in them"
        yield (
            "crowded buckets",
            f"{crowded['buckets']:,}; {beyond} (fullest: {crowded['fullest']:,} kept pages)",
        )
    rate = f", {summary['pages_per_second']:,} pages/s" if summary["pages_per_second"] else ""
    yield "time", f"{summary['seconds']:,.1f} s{rate}"
    if summary["work_bytes_per_page"]:
        yield "fingerprints", f"{summary['work_bytes_per_page']:,.0f} bytes a page, in _dedupcrawl/"


def _stores(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if handed := summary.get("handed"):
        when = f", {handed['when']} already" if handed["already"] else ""
        gone = f", {handed['removed']:,} removed" if handed["removed"] else ""
        known = f"{handed['known']:,} were there{gone}{when}"
        yield "handed over", f"{handed['new']:,} to {handed['store']} ({handed['namespace']}), {known}"


def _unread(part: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{part['path']}, row {bad['row']}: {bad['why']}" for bad in part["bad_rows"])
    if part["bad"] > len(part["bad_rows"]):
        yield f"{part['path']}: {part['bad'] - len(part['bad_rows']):,} more rows"
    if part["broken"]:
        yield f"{part['path']}, from row {part['broken']['row']} on: {part['broken']['why']}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


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
    from dedupcrawl.tools.report.report_file import require_report_or_nothing  # noqa: PLC0415

    if page is not None:
        require_report_or_nothing(page)
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
    from dedupcrawl.batch.runner import run  # noqa: PLC0415

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
    from dedupcrawl.batch.spark.requirements import check_installed  # noqa: PLC0415

    check_installed()
    from dedupcrawl.batch.spark.engine import SparkEngine  # noqa: PLC0415
    from dedupcrawl.batch.spark.session import CommandSession  # noqa: PLC0415
    from dedupcrawl.batch.workdir import Workdir  # noqa: PLC0415

    with CommandSession(master) as session:
        yield SparkEngine(session, job, Workdir(job.out))


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
    return with_constants(config, chosen), namespace
