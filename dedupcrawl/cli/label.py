"""``dedupcrawl label``: a person says which pairs of pages are the same."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from dedupcrawl.cli.console import Bars, complain, out
from dedupcrawl.cli.report import refuse_other, refuse_page
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.tools.label.label_session import LabelSession
from dedupcrawl.tools.label.labels import LabelFile
from dedupcrawl.tools.label.server import LabelPage, LabelServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.tools.label.labels import Label
    from dedupcrawl.tools.label.sources import LoadedPairs

_ACCEPTED = "ledgers of one crawl (DEDUP_REPORT writes them), or the folder of one batch (its --out)"


def label(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Ledgers of a crawl and its workers, or the --out of a batch."),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where the labels go, and stand.")
    ] = Path("labels.jsonl"),
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to ask about in this session.")] = 100,
    around: Annotated[
        float | None,
        typer.Option(help="Ask most about this similarity (default: the threshold of the run)."),
    ] = None,
    port: Annotated[int, typer.Option(help="Of the page on this machine; 0: any that is free.")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
) -> None:
    """Ask which pairs near the threshold are the same: a local page, labels as JSON Lines."""
    if around is not None and not 0 < around < 1:
        raise SettingError("--around", around, "a similarity above 0 and below 1")
    with LabelFile(output) as file:
        loaded = _loaded(runs, around, file.labels.values())
        sitting = LabelSession(loaded.sampler, file, pairs)
        _tell_of(loaded, sitting)
        if sitting.current is not None:
            _serve(LabelServer(sitting, LabelPage.of(loaded.name, str(output)), port), open_=open_)
        _tell_end(sitting, output)


def _loaded(runs: Sequence[str], around: float | None, labels: Iterable[Label]) -> LoadedPairs:
    """Read the pairs of the run.

    A run that was begun around a similarity goes on around it: its strata are those of the labels.
    """
    loaded = _read(runs, around)
    run = loaded.sampler.run
    begun = {each.stratum.around for each in labels if each.stratum and each.stratum.run == run}
    if not begun or loaded.sampler.around in begun:
        return loaded
    (first,) = sorted(begun)[:1]
    if around is not None:
        accepted = f"{first:g}, with which labels of this run were begun, or another file (-o)"
        raise SettingError("--around", around, accepted)
    return _read(runs, first)


def _read(runs: Sequence[str], around: float | None) -> LoadedPairs:
    if any("://" in run for run in runs):
        raise SettingError("RUN", runs[0], f"{_ACCEPTED}; a store has no texts to show")
    paths = [Path(run) for run in runs]
    if len(runs) > 1 and any(path.is_dir() for path in paths):
        raise SettingError("RUN", ", ".join(runs), _ACCEPTED)
    if paths[0].is_dir():
        return _of_batch(paths[0], around)
    from dedupcrawl.tools.label.sources import load_ledgers  # noqa: PLC0415

    for path in paths:
        refuse_page(path, _ACCEPTED)
    with Bars() as bars:
        return load_ledgers(paths, around, bars)


def _of_batch(folder: Path, around: float | None) -> LoadedPairs:
    refuse_other(folder)
    if find_spec("pyarrow") is None:
        raise DedupError("labels of a batch need pyarrow: pip install 'dedupcrawl[batch]'")
    from dedupcrawl.tools.label.sources import load_batch  # noqa: PLC0415

    with Bars() as bars:
        return load_batch(folder, around, bars)


def _tell_of(loaded: LoadedPairs, sitting: LabelSession) -> None:
    progress = sitting.progress
    asked = f"; {progress.labelled:,} are labelled" if progress.labelled else ""
    out().print(
        Text(f"{loaded.name}: {progress.left:,} pairs to ask about, around {loaded.sampler.around:g}{asked}")
    )
    if loaded.without_text:
        out().print(Text(f"{loaded.without_text:,} pairs cannot be shown: a text of theirs was not kept"))


def _serve(server: LabelServer, *, open_: bool) -> None:
    """Serve until the person is done, or interrupts it."""
    out().print(
        Text.assemble("Label at ", (server.url, "bold"), "   Ctrl-C ends; every answer is kept at once")
    )
    if open_ and not webbrowser.open(server.url):
        complain("no browser can be opened here; open the address yourself")
    try:
        server.serve_forever(0.1)
    except KeyboardInterrupt:
        out().print()
    finally:
        server.server_close()


def _tell_end(sitting: LabelSession, file: Path) -> None:
    progress = sitting.progress
    if not progress.done and not progress.left:
        out().print(
            "There is no pair to ask about: the run has no near-duplicate, excerpt or near miss "
            "without a label."
        )
        return
    following = f" Next: dedupcrawl eval pairs {file} --suggest" if progress.labelled else ""
    out().print(
        Text(
            f"{file}: {progress.same} same, {progress.different} different, {progress.skipped} skipped "
            f"in this session; {progress.labelled:,} labels in all.{following}"
        )
    )
