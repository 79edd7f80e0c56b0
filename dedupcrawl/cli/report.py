"""``dedupcrawl report``: what a run did, as a page."""

from __future__ import annotations

import webbrowser
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from dedupcrawl.cli.console import Bars, complain, out, print_json
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.utils.formatting import counted, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.tools.report.report_model import Report

RUNS = "ledgers of crawls, or one folder of a batch (its --out), or one URL of a store"
_PAGES = (".html", ".htm")
_LEDGER = ".ledger"
_BATCH = "_dedupcrawl"  #: what the folder of a batch has in it
_STORE = "data.mdb"  #: the same of a store


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Ledgers of a crawl and its workers, the --out of a batch, or the URL of a store.",
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where the page goes.")
    ] = Path("report.html"),
    namespace: Annotated[
        str | None, typer.Option(help="Of a store (default: the only one that is there).")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write all that it shows as JSON, and no page.")
    ] = False,
) -> None:
    """Show what a crawl, a batch or a store kept and dropped, and why: one HTML page, without any network."""
    from dedupcrawl.tools.report.report_file import require_report_or_nothing  # noqa: PLC0415

    if not as_json:
        require_report_or_nothing(output)
    with Bars() as bars:
        found = _read(runs, namespace, bars)
    if as_json:
        print_json(asdict(found))
        return
    write(found, output)
    if open_ and not webbrowser.open(output.resolve().as_uri()):
        complain(f"no browser can be opened here; the page is {output}")


def write(found: Report, path: Path, *, quiet: bool = False) -> None:
    """Write the page, and unless it is to be ``quiet`` say where it is and how large."""
    from dedupcrawl.tools.report.report_file import save_report  # noqa: PLC0415

    written = save_report(found, path)
    pages, dropped = counted(found.figures.pages, "page"), f"{found.figures.dropped:,} dropped"
    if not quiet:
        out().print(Text(f"{path}: {size(written)}, {pages}, {dropped}"))


def _read(runs: Sequence[str], namespace: str | None, bars: Bars) -> Report:
    """Make the report of what the user names."""
    ledgers = [run for run in runs if not _is_store(run) and not Path(run).is_dir()]
    if len(runs) > 1 and len(ledgers) < len(runs):
        raise SettingError("RUN", ", ".join(runs), RUNS)
    if namespace is not None and not _is_store(runs[0]):
        raise SettingError(
            "--namespace", namespace, "nothing beside a ledger or a folder: stores have namespaces"
        )
    if _is_store(runs[0]):
        return _of_store(runs[0], namespace, bars)
    return _of_ledgers(runs, bars) if ledgers else of_batch(Path(runs[0]), bars)


def _is_store(run: str) -> bool:
    return "://" in run


def _of_store(url: str, namespace: str | None, bars: Bars) -> Report:
    from dedupcrawl.tools.report.from_store import report_from_store  # noqa: PLC0415

    return report_from_store(url, namespace, progress=bars)


def of_batch(folder: Path, bars: Bars) -> Report:
    """Make the report of a batch."""
    refuse_other(folder)
    if find_spec("pyarrow") is None:
        raise DedupError("a report of a batch needs pyarrow: pip install 'dedupcrawl[batch]'")
    from dedupcrawl.tools.report.from_batch import report_from_batch  # noqa: PLC0415

    return report_from_batch(folder, progress=bars)


def _of_ledgers(runs: Sequence[str], bars: Bars) -> Report:
    from dedupcrawl.tools.report.from_ledgers import report_from_ledgers  # noqa: PLC0415

    for run in runs:
        refuse_page(Path(run))
    return report_from_ledgers([Path(run) for run in runs], progress=bars)


def refuse_page(path: Path, accepted: str = RUNS) -> None:
    """Raise DedupError for a path that is none, or the page that was made of a ledger: say which is meant."""
    ledger = path.with_suffix(_LEDGER)
    if path.suffix.lower() in _PAGES and ledger.exists():
        raise DedupError(f"{path}: is the page; its ledger is {ledger}")
    if not path.exists():
        raise DedupError(f"{path}: no such file or folder; accepted are {accepted}")


def refuse_other(folder: Path) -> None:
    """Raise DedupError for a folder that is no batch's, saying what in it may be meant."""
    if (folder / _BATCH).is_dir():
        return
    ledgers = sorted(str(path) for path in folder.glob(f"*{_LEDGER}"))
    if ledgers:
        raise DedupError(f"{folder}: no folder of a batch; ledgers in it: {', '.join(ledgers)}")
    if (folder / _STORE).exists():
        raise DedupError(f"{folder}: no folder of a batch; as a store it is named lmdb://{folder}")
