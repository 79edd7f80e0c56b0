"""``dedupcrawl label``: label pairs of pages as same or different on a local web page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from dedupcrawl.cli.console import ConsoleProgress, open_in_browser, output_console, print_line
from dedupcrawl.cli.options import Language, OpenInBrowser
from dedupcrawl.cli.report import check_batch_folder, check_ledger, require_pyarrow
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.label.labels import LabelFile, LabelSession
from dedupcrawl.tools.label.server import LabelPage, LabelServer
from dedupcrawl.tools.report.html_bundle import LanguageCode
from dedupcrawl.utils.messages import tr, tr_sentence
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.tools.label.labels import Label
    from dedupcrawl.tools.label.pairs import LoadedPairs

_ACCEPTED = "ledgers of one crawl (DEDUP_REPORT writes them), or the folder of one batch (its --out)"


def label(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ledgers of a crawl and its workers, or the --out of a batch.")
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="File of the labels; existing labels are kept.")
    ] = Path("labels.jsonl"),
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs to label in this session.")] = 100,
    around: Annotated[
        float | None, typer.Option(help="Similarity near which most pairs are sampled (default: threshold of the run).")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the local page; 0: any free port.")] = 0,
    open_: OpenInBrowser = False,
    lang: Language = LanguageCode.AUTO,
) -> None:
    """Label pairs near the threshold as same or different, on a local page; write JSON Lines."""
    if around is not None and not 0 < around < 1:
        raise SettingError("--around", around, "a similarity above 0 and below 1")
    with LabelFile(output) as file:
        loaded = _load(runs, around, file.labels.values())
        session = LabelSession(loaded.sampler, file, pairs)
        _print_start(loaded, session)
        if session.current is not None:
            _serve(LabelServer(session, LabelPage.of(loaded.name, str(output), lang), port), open_=open_)
        _print_end(session, output)


def _load(runs: Sequence[str], around: float | None, labels: Iterable[Label]) -> LoadedPairs:
    """Load the pairs of the run, in the strata of the labels that it already has."""
    loaded = _load_around(runs, around)
    begun = {each.stratum.around for each in labels if each.stratum and each.stratum.run == loaded.sampler.run}
    if not begun or loaded.sampler.around in begun:
        return loaded
    first = min(begun)
    if around is not None:
        accepted = f"{first:g}, with which labels of this run were begun, or another file (-o)"
        raise SettingError("--around", around, accepted)
    return _load_around(runs, first)


def _load_around(runs: Sequence[str], around: float | None) -> LoadedPairs:
    if any("://" in run for run in runs):
        raise SettingError("RUN", hide_password(runs[0]), f"{_ACCEPTED}; a store has no texts to show")
    paths = [Path(run) for run in runs]
    if len(runs) > 1 and any(path.is_dir() for path in paths):
        raise SettingError("RUN", ", ".join(map(hide_password, runs)), _ACCEPTED)
    from dedupcrawl.tools.label.pairs import load_batch, load_ledgers  # noqa: PLC0415

    if paths[0].is_dir():
        check_batch_folder(paths[0])
        require_pyarrow()
        with ConsoleProgress() as bars:
            return load_batch(paths[0], around, bars)
    for path in paths:
        check_ledger(path, _ACCEPTED)
    with ConsoleProgress() as bars:
        return load_ledgers(paths, around, bars)


def _print_start(loaded: LoadedPairs, session: LabelSession) -> None:
    progress = session.progress
    labelled = tr("; {n} are labelled", n=f"{progress.labelled:,}") if progress.labelled else ""
    counts = {"n": f"{progress.left:,}", "similarity": f"{loaded.sampler.around:g}"}
    print_line(
        tr("{run}: {n} pairs to ask about, around {similarity}", run=tr_sentence(loaded.name), **counts) + labelled
    )
    if loaded.without_text:
        print_line(tr("{n} pairs cannot be shown: their texts were not stored", n=f"{loaded.without_text:,}"))


def _serve(server: LabelServer, *, open_: bool) -> None:
    """Serve until the session ends or Ctrl-C is pressed."""
    output_console().print(
        Text.assemble(tr("Label at "), (server.url, "bold"), tr("   Ctrl-C ends; every answer is kept at once"))
    )
    if open_:
        open_in_browser(server.url, tr("open the address yourself"))
    try:
        server.serve_forever(0.1)
    except KeyboardInterrupt:
        print_line("")
    finally:
        server.server_close()


def _print_end(session: LabelSession, file: Path) -> None:
    progress = session.progress
    if not progress.done and not progress.left:
        print_line(
            tr("There is no pair to ask about: the run has no near-duplicate, excerpt or near miss without a label.")
        )
        return
    following = tr(" Next: dedupcrawl eval pairs {file} --suggest", file=file) if progress.labelled else ""
    told = tr(
        "{file}: {same} same, {different} different, {skipped} skipped in this session; {n} labels in all.",
        file=file,
        same=progress.same,
        different=progress.different,
        skipped=progress.skipped,
        n=f"{progress.labelled:,}",
    )
    print_line(told + following)
