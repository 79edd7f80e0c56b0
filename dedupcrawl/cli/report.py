"""``dedupcrawl report``: an HTML page about a crawl, a batch or a store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupcrawl.cli.console import ConsoleProgress, open_in_browser, print_json, print_line
from dedupcrawl.cli.options import Language, OneNamespace, OpenInBrowser, chosen_store
from dedupcrawl.cli.store import DamageReport
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.tools.report.html_bundle import LanguageCode
from dedupcrawl.utils.formatting import counted, size
from dedupcrawl.utils.messages import tr, tr_amount, tr_sentence
from dedupcrawl.utils.optional import require_extra
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.sites.site_counts import SiteNotice
    from dedupcrawl.tools.report.report_model import Report

ACCEPTED_RUNS = "ledgers of crawls, or one folder of a batch (its --out), or one URL of a store"
_PAGE_SUFFIXES = (".html", ".htm")
_MAX_NOTICES = 10  #: conspicuous sites that are printed
_LEDGER_SUFFIX = ".ledger"
_BATCH_FOLDER = "_dedupcrawl"  #: exists in the output folder of a batch
_LMDB_FILE = "data.mdb"  #: exists in the folder of an LMDB store


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Ledgers of a crawl, the --out of a batch, or a store's URL (in a Scrapy project by default its own).",
        ),
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File to write.")] = Path(
        "report.html"
    ),
    namespace: OneNamespace = None,
    open_: OpenInBrowser = False,
    lang: Language = LanguageCode.AUTO,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the data of the report as JSON instead of a page.")
    ] = False,
) -> None:
    """Write a self-contained HTML page: what a crawl, a batch or a store kept and dropped, and why.

    Damaged records of a store are left out: each is named on standard error, and the exit code is 3.
    """
    from dedupcrawl.tools.report.html_bundle import require_report_or_nothing  # noqa: PLC0415

    if not as_json:
        require_report_or_nothing(output)
    damage = DamageReport(strict=False)
    with ConsoleProgress() as bars:
        found = _read(runs or [chosen_store(None, "RUN")], namespace, bars, damage)
    if as_json:
        print_json(asdict(found))
    else:
        write_report(found, output, language=lang)
        if open_:
            open_in_browser(output.resolve().as_uri(), tr("the page is {file}", file=output))
    damage.finish()


def write_report(found: Report, path: Path, *, quiet: bool = False, language: LanguageCode = LanguageCode.AUTO) -> None:
    """Write the page; unless ``quiet``, print its path and size."""
    from dedupcrawl.tools.report.html_report import save_report  # noqa: PLC0415

    written = save_report(found, path, language)
    if not quiet:
        print_notices(found.sites)
        pages = tr_sentence(counted(found.figures.pages, "page"))
        counts = {"size": tr_amount(size(written)), "pages": pages, "dropped": f"{found.figures.dropped:,}"}
        print_line(tr("{file}: {size}, {pages}, {dropped} dropped", file=path, **counts))


def print_notices(notices: Sequence[SiteNotice]) -> None:
    """Print the conspicuous sites, a line each."""
    for notice in notices[:_MAX_NOTICES]:
        print_line(_notice_text(notice), "yellow")
    if len(notices) > _MAX_NOTICES:
        print_line(tr("… and {n} more sites", n=len(notices) - _MAX_NOTICES), "yellow")


def _notice_text(notice: SiteNotice) -> str:
    facts, examples = tr_sentence(f"{notice.text}.")[:-1], {"first": notice.examples[0], "second": notice.examples[1]}
    advice = tr_sentence(notice.advice)
    return tr("{facts}; for example {first} and {second}. {advice}", facts=facts, advice=advice, **examples)


def _read(runs: Sequence[str], namespace: str | None, bars: ConsoleProgress, damage: DamageReport) -> Report:
    is_store = "://" in runs[0]
    ledgers = [Path(run) for run in runs if "://" not in run and not Path(run).is_dir()]
    if len(runs) > 1 and len(ledgers) < len(runs):
        raise SettingError("RUN", ", ".join(map(hide_password, runs)), ACCEPTED_RUNS)
    if namespace is not None and not is_store:
        accepted = "nothing beside a ledger or a folder: stores have namespaces"
        raise SettingError("--namespace", namespace, accepted)
    if is_store:
        from dedupcrawl.tools.report.from_store import report_from_store  # noqa: PLC0415

        return report_from_store(runs[0], namespace, progress=bars, on_damage=damage)
    if not ledgers:
        return batch_report(Path(runs[0]), bars)
    from dedupcrawl.tools.report.from_ledgers import report_from_ledgers  # noqa: PLC0415

    for path in ledgers:
        check_ledger(path)
    return report_from_ledgers(ledgers, progress=bars)


def batch_report(folder: Path, bars: ConsoleProgress) -> Report:
    """Return the report of the batch whose output folder is ``folder``."""
    check_batch_folder(folder)
    require_pyarrow()
    from dedupcrawl.tools.report.from_batch import report_from_batch  # noqa: PLC0415

    return report_from_batch(folder, progress=bars)


def require_pyarrow() -> None:
    """Raise MissingPackageError if the extra ``batch`` is not installed."""
    require_extra("pyarrow", "A batch", "batch")


def check_ledger(path: Path, accepted: str = ACCEPTED_RUNS) -> None:
    """Raise DedupError if the path does not exist, or is a report page instead of its ledger."""
    ledger = path.with_suffix(_LEDGER_SUFFIX)
    if path.suffix.lower() in _PAGE_SUFFIXES and ledger.exists():
        raise DedupError(f"{path}: this is the HTML page; its ledger is {ledger}")
    if not path.exists():
        raise DedupError(f"{hide_password(str(path))}: no such file or folder; accepted are {accepted}")


def check_batch_folder(folder: Path) -> None:
    """Raise DedupError if the folder is no batch output; name the ledgers or the store in it."""
    if (folder / _BATCH_FOLDER).is_dir():
        return
    ledgers = sorted(str(path) for path in folder.glob(f"*{_LEDGER_SUFFIX}"))
    if ledgers:
        raise DedupError(f"{folder}: no folder of a batch; ledgers in it: {', '.join(ledgers)}")
    if (folder / _LMDB_FILE).exists():
        raise DedupError(f"{folder}: no folder of a batch; as a store it is named lmdb://{folder}")
