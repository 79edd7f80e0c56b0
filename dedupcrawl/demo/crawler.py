"""Runs the real crawler as a user would, in the folder of the demo."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import dedupcrawl
from dedupcrawl.demo.folder import FEED
from dedupcrawl.demo.server import HOST
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from dedupcrawl.demo.folder import Folder

_PAUSE = 0.1  #: seconds between two looks at the journal
_PATIENCE = 30  #: seconds for the crawler to finish after an interrupt


def crawl(folder: Folder, start: str, pages: int, console: Console, settings: Sequence[str] = ()) -> None:
    """Run ``scrapy crawl site`` in the folder of the demo, and show how far it is.

    Args:
        folder: a prepared folder.
        start: URL of the first page.
        pages: how many there are.
        console: where to show.
        settings: each as ``NAME=VALUE``, as scrapy's option ``-s`` takes them.

    Raises:
        DedupError: the crawler failed.
    """
    command = ["scrapy", "crawl", "site", "-a", f"url={start}", "-O", FEED]
    command += [part for setting in settings for part in ("-s", setting)]
    shown = escape(shlex.join(command))
    console.print(f"In {folder.path}: [bold]{shown}[/]", highlight=False, soft_wrap=True)
    log = folder.path / "crawl.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  # our own command
            [sys.executable, "-m", *command],
            cwd=folder.path,
            env=_environment(),
            stdout=output,
            stderr=output,
        )
        try:
            _watch(process, folder, pages, console)
        except KeyboardInterrupt:
            # The crawler was interrupted too, and finishes what it has begun: store and items must agree.
            process.wait(_PATIENCE)
            raise
    if process.returncode:
        end = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        raise DedupError(f"scrapy ended with status {process.returncode}: {end} (see {log})")


def _environment() -> dict[str, str]:
    """Make the child find this very dedupcrawl, the folder's project, and the loopback without a proxy."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    package = str(Path(dedupcrawl.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, ours.get("PYTHONPATH"))))
    return ours | {"PYTHONPATH": path, "no_proxy": HOST, "NO_PROXY": HOST}


def _watch(process: subprocess.Popen[bytes], folder: Folder, pages: int, console: Console) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pages, {task.fields[dropped]} dropped"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Crawling", total=pages, dropped=0)
        while True:
            over = process.poll() is not None
            rows = folder.journal()
            progress.update(task, completed=len(rows), dropped=sum(not row["kept"] for row in rows))
            if over:
                return
            try:
                process.wait(_PAUSE)
            except subprocess.TimeoutExpired:
                continue
