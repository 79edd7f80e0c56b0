"""``dedupcrawl batch``: deduplicate files on disk."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dedupcrawl.cli.console import ConsoleProgress, facts_table, output_console, print_error, print_json, print_line
from dedupcrawl.cli.options import (
    AsJson,
    Assignments,
    DetectorNames,
    OneNamespace,
    UseProject,
    default_config,
    parse_assignments,
    project_config,
)
from dedupcrawl.cli.report import batch_report, print_notices, require_pyarrow, write_report
from dedupcrawl.config import Config
from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.sites.site_counts import SiteNotice
from dedupcrawl.tools.evaluation.runs import with_constants
from dedupcrawl.utils.messages import tr, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.runner import Engine


_MAX_ROWS = 10  #: unreadable rows that are printed, and rows without text
_INTERRUPTED = 130  #: exit code after Ctrl-C, as in shells (128 + SIGINT)
_FIELD_HELP = "Column or JSON field with the {} (default: common names)."


def batch(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="JSON Lines, WARC, WET or Parquet files, glob patterns or folders, in order of arrival.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder; files keep their names.")],
    annotate: Annotated[bool, typer.Option("--annotate", help="Write all pages, with dedup_* fields.")] = False,
    detector: DetectorNames = None,
    assignments: Assignments = None,
    project: UseProject = False,
    prefer: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="Copy to keep: arrival (the first), longest, newest, oldest, score:COLUMN (the highest number), or a "
            "list of preferred hosts, best first: reuters.com,apnews.com",
        ),
    ] = "arrival",
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="first|latest",
            help="latest: keep the newest page, and list the pages that it replaces in superseded.jsonl.",
        ),
    ] = None,
    drop_clusters: Annotated[
        bool, typer.Option("--drop-clusters", help="Drop all copies of an article, not all but one.")
    ] = False,
    revisits: Annotated[
        bool, typer.Option("--revisits", help="Write a revisit record in place of a copy in a WARC file.")
    ] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STORE|DIR",
            help="Drop duplicates of pages in this store or this --out of an earlier batch; repeatable.",
        ),
    ] = None,
    update: Annotated[str, typer.Option(metavar="STORE", help="Add the kept pages to this store.")] = "",
    namespace: OneNamespace = None,
    url_field: Annotated[str, typer.Option(metavar="NAME", help=_FIELD_HELP.format("URL"))] = "",
    html_field: Annotated[str, typer.Option(metavar="NAME", help=_FIELD_HELP.format("HTML"))] = "",
    text_field: Annotated[str, typer.Option(metavar="NAME", help=_FIELD_HELP.format("text"))] = "",
    time_field: Annotated[str, typer.Option(metavar="NAME", help=_FIELD_HELP.format("time"))] = "",
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip and list unreadable rows; list rows without text.")
    ] = False,
    workers: Annotated[int, typer.Option(min=0, help="Number of processes (default: one per core).")] = 0,
    master: Annotated[
        str, typer.Option(metavar="URL", help="Run on Spark: local[2], spark://HOST:7077, … (shared --out).")
    ] = "",
    page: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report of what was dropped, and why.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep one copy of every article in a corpus, as a crawl of these pages in this order would.

    An interrupted run continues when the same command is started again.
    """
    require_pyarrow()
    from dedupcrawl.batch.formats import Fields  # noqa: PLC0415  # these modules need the extra
    from dedupcrawl.batch.job import Job  # noqa: PLC0415
    from dedupcrawl.tools.report.html_bundle import require_report_or_nothing  # noqa: PLC0415

    if page is not None:
        require_report_or_nothing(page)
    config, of_project = _config(detector, assignments, keep, project=project)
    job = Job(
        inputs=tuple(inputs),
        out=out,
        config=config,
        fields=Fields(url_field, html_field, text_field, time_field),
        annotate=annotate,
        prefer=tuple(name.strip() for name in prefer.split(",")),
        drop_clusters=drop_clusters,
        revisits=revisits,
        against=tuple(against or ()),
        update=update,
        namespace=namespace or of_project,
        skip_bad=skip_bad,
        workers=workers,
    )
    summary = _run(job, master)
    if as_json:
        print_json(summary)
    else:
        _print_summary(summary, out, lists_textless=skip_bad)
    if page is not None:
        with ConsoleProgress() as bars:
            found = batch_report(out, bars)
        write_report(found, page, quiet=as_json)


def _config(
    detectors: list[str] | None, assignments: list[str] | None, keep: str | None, *, project: bool
) -> tuple[Config, str | None]:
    """Return the configuration, and the namespace of the project."""
    namespace = None
    config = default_config(detectors)
    if project:
        found, namespace = project_config()
        config = replace(found, detectors=tuple(detectors)) if detectors else found
        _check_judges_pages(config)
    return with_constants(config, parse_assignments(assignments, "keep", keep)), namespace


def _check_judges_pages(config: Config) -> None:
    detectors = build_detectors(replace(config, seed=0))  # the seed may be that of a store
    if any(isinstance(each, Combined) and each.fields for each in detectors):
        accepted = "a project whose DEDUP_ITEM_FIELDS is no dict, for pages have no fields; or add --detector NAME"
        raise SettingError("--project", True, accepted)


def _run(job: Job, master: str) -> dict[str, Any]:
    from dedupcrawl.batch.prior_sources import with_secret  # noqa: PLC0415
    from dedupcrawl.batch.runner import run  # noqa: PLC0415

    job = with_secret(job)
    try:
        with ConsoleProgress() as bars, _engine(job, master) as engine:
            return run(job, engine, bars)
    except KeyboardInterrupt:
        print_error(tr("interrupted; run the same command again to continue"))
        raise typer.Exit(_INTERRUPTED) from None


@contextmanager
def _engine(job: Job, master: str) -> Iterator[Engine | None]:
    """Yield the engine of a Spark master; without a master None, which means local processes."""
    if not master:
        yield None
        return
    from dedupcrawl.batch.spark import check_installed  # noqa: PLC0415

    check_installed()
    from dedupcrawl.batch.spark.engine import SparkEngine  # noqa: PLC0415
    from dedupcrawl.batch.spark.session import CommandSession  # noqa: PLC0415
    from dedupcrawl.batch.workdir import Workdir  # noqa: PLC0415

    with CommandSession(master) as session:
        yield SparkEngine(session, job, Workdir(job.out))


def _print_summary(summary: Mapping[str, Any], folder: Path, *, lists_textless: bool) -> None:
    """Print the figures of ``summary.json``, the first unreadable rows, and perhaps the first ones without text."""
    if summary["already"]:
        print_line(tr("nothing to do: {folder} holds all of this already", folder=folder))
    output_console().print(facts_table(_rows(summary)))
    print_notices([SiteNotice.from_dict(each) for each in summary.get("sites", ())])
    _print_rows([tr("left out: {row}", row=line) for part in summary["parts"] for line in _errors(part)], folder)
    if lists_textless:
        rows = (line for part in summary["parts"] for line in _textless(part))
        _print_rows([tr("kept unchecked: {row}", row=line) for line in rows], folder)


def _print_rows(lines: Sequence[str], folder: Path) -> None:
    for line in lines[:_MAX_ROWS]:
        print_line(line, "yellow")
    if len(lines) > _MAX_ROWS:
        more = {"n": f"{len(lines) - _MAX_ROWS:,}", "file": folder / "summary.json"}
        print_line(tr("… and {n} more, in {file}", **more), "yellow")


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield tr("pages"), f"{summary['pages']:,}"
    yield tr("kept"), f"{summary['kept']:,} ({_share(summary['kept'], summary['pages'])})"
    names = {"dropped": tr("dropped"), "related": tr("kept, related"), "unchecked": tr("unchecked")}
    for key, name in names.items():
        if summary[key]:
            yield name, tr(", ").join(f"{tr_sentence(each)} {count:,}" for each, count in summary[key].items())
    read, kept = summary["bytes"]["read"], summary["bytes"]["kept"]
    yield tr("bytes"), tr("{n} read, {m} kept ({share})", n=f"{read:,}", m=f"{kept:,}", share=_share(kept, read))
    bad = {"n": f"{summary['bad']['rows']:,}", "m": f"{summary['bad']['broken']:,}"}
    if summary["bad"]["rows"] or summary["bad"]["broken"]:
        yield tr("unreadable"), tr("{n} rows; the rest of {m} files", **bad)
    if summary["textless"]:
        yield tr("without text"), tr("{n} rows, kept unchecked", n=f"{summary['textless']:,}")
    if summary["given"]:
        yield tr("known before"), tr("{n} pages that share a key with these", n=f"{summary['given']:,}")
    if summary["superseded"]:
        replacing = f"{summary['superseded']:,}"
        yield tr("superseding"), tr("{n}; superseded.jsonl lists the pages that they replace", n=replacing)
    if handed := summary.get("handed"):
        yield tr("exported"), _handed_text(handed)
    if summary["crowded"]["buckets"]:
        yield tr("hot buckets"), _crowded_text(summary["crowded"])
    rate = summary["pages_per_second"]
    speed = tr(", {n} pages/s", n=f"{rate:,}") if rate else ""
    yield tr("time"), tr("{seconds} s", seconds=f"{summary['seconds']:,.1f}") + speed
    if summary["work_bytes_per_page"]:
        size = f"{summary['work_bytes_per_page']:,.0f}"
        yield tr("fingerprints"), tr("{n} bytes a page, in _dedupcrawl/", n=size)


def _handed_text(handed: Mapping[str, Any]) -> str:
    """Return how many pages were added to a store."""
    place = {"store": handed["store"], "namespace": handed["namespace"]}
    text = tr("{n} to {store} ({namespace}), {m} were there", n=f"{handed['new']:,}", m=f"{handed['known']:,}", **place)
    if handed["removed"]:
        text += tr(", {n} removed", n=f"{handed['removed']:,}")
    return text + tr(", {time} already", time=handed["when"]) if handed["already"] else text


def _crowded_text(crowded: Mapping[str, Any]) -> str:
    """Return how many buckets hold more pages than a page is compared with."""
    counts = {name: f"{crowded[key]:,}" for name, key in (("n", "buckets"), ("m", "pages"), ("most", "fullest"))}
    return tr("{n}; {m} pages were not compared with all pages in them (fullest: {most} kept pages)", **counts)


def _errors(part: Mapping[str, Any]) -> Iterator[str]:
    yield from _rows_of(part, "bad")
    if broken := part["broken"]:
        error = tr_sentence(broken["why"])
        yield tr("{path}, from row {n} on: {error}", path=part["path"], n=broken["row"], error=error)


def _textless(part: Mapping[str, Any]) -> Iterator[str]:
    yield from _rows_of(part, "textless")


def _rows_of(part: Mapping[str, Any], kind: str) -> Iterator[str]:
    """Yield a line for each listed row of a kind, and one for those that are counted only."""
    listed = part[f"{kind}_rows"]
    for each in listed:
        yield tr("{path}, row {n}: {error}", path=part["path"], n=each["row"], error=tr_sentence(each["why"]))
    if part[kind] > len(listed):
        yield tr("{path}: {n} more rows", path=part["path"], n=f"{part[kind] - len(listed):,}")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
