"""Functions that reproduce the output shown in a block, or read its content."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from dedupcrawl import Deduplicator
from dedupcrawl.cli.commands import app
from dedupcrawl.sites.site_counts import SiteCounts
from dedupcrawl.tools.evaluation.dataset import read_labelled_pages
from tests.docs.label_output import pair_labels, tuning
from tests.docs.newspapers import PAGES
from tests.docs.output_matching import shows_lines, shows_values
from tests.docs.page_folders import write_files
from tests.docs.store_output import outage, rights, superseded, watching
from tests.sites.harness import run
from tests.sites.kinds import build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.docs.blocks import Block
    from tests.docs.page_runner import PageRunner


def log(block: Block, runner: PageRunner) -> None:
    """Crawl the newspapers once; every line shown must be in the log."""
    missing = shows_lines(block.text, _crawled(runner))
    assert not missing, f"{missing} of\n{_crawled(runner)}"


def verdict(block: Block, runner: PageRunner) -> None:
    """Judge the newspapers; one of the verdicts must be the one shown."""
    with Deduplicator() as dedup:
        verdicts = [dedup.add(html=html, url=f"https://{at}").to_dict() for at, html in PAGES.items()]
    assert any(shows_values(block.text, json.dumps(each)) for each in verdicts), verdicts


def demo(block: Block, runner: PageRunner) -> None:
    """Crawl the demo's sites and the newspapers; every line shown must be in one of the logs."""
    folder = _once(runner, "demo", "dedupcrawl demo")
    printed = (folder / "demo-out" / "crawl.log").read_text("utf-8") + _crawled(runner)
    missing = shows_lines(block.text, printed)
    assert not missing, f"{missing} of\n{printed}"


def conspicuous(block: Block, _: PageRunner) -> None:
    """Judge the pages of a shop; one of the warnings must be the one shown."""
    counts = SiteCounts()
    verdicts = run(build("terms")).verdicts
    notices = (counts.add(each.url, each.relation, each.of, each.reason) for each in verdicts)
    printed = "".join(f"WARNING: {notice.message}\n" for notice in notices if notice)
    assert not shows_lines(block.text, printed), printed


def labels(block: Block, runner: PageRunner) -> None:
    """Read labelled pages."""
    path = runner.folder / "labels.jsonl"
    path.write_text(block.text, "utf-8")
    assert len(list(read_labelled_pages(path))) == len(block.text.splitlines())


def check_commands(text: str) -> None:
    """Check that every listed command exists, with its options."""
    root = get_command(app)
    for line in text.split("\n"):
        words = line.partition("  #")[0].split()
        if words[:1] != ["dedupcrawl"]:
            continue
        command, rest = _command(root, words[1:])
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        unknown = [word for word in rest if word.startswith("-") and word.partition("=")[0] not in known]
        assert not unknown, f"{line}: {unknown}"


def _command(command: Any, words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that the words begin with, and the remaining words."""
    context = typer.Context(command)
    while words and hasattr(command, "get_command"):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    return command, words


def _crawled(runner: PageRunner) -> str:
    """Return the log of a crawl of the newspapers."""
    return (_once(runner, "crawl", "scrapy crawl news") / "printed").read_text("utf-8")


def _once(runner: PageRunner, name: str, command: str) -> Path:
    """Return the folder in which a command was run; it is run once for all pages."""
    folder = runner.folder.parent / f"output-of-{name}"
    if not (folder / "printed").exists():
        write_files(folder, runner.here)
        status, printed = replace(runner, folder=folder, errors={}, running=[]).type(command)
        assert status == 0, printed
        (folder / "printed").write_text(printed, "utf-8")
    return folder


SHOWN_OUTPUT: Mapping[str, Callable[[Block, PageRunner], None]] = {
    "log": log,
    "demo": demo,
    "verdict": verdict,
    "conspicuous": conspicuous,
    "labels": labels,
    "pair labels": pair_labels,
    "tuning": tuning,
    "outage": outage,
    "rights": rights,
    "superseded": superseded,
    "watching": watching,
}
