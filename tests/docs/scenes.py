"""What prints, or reads, the blocks that only show something."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from dedupcrawl import Deduplicator
from dedupcrawl.cli.commands import app
from dedupcrawl.tools.evaluation.dataset import read_labelled_pages
from tests.docs.comparing import shows_lines, shows_values
from tests.docs.labelscenes import pair_labels, tuning
from tests.docs.newspapers import PAGES
from tests.docs.storescenes import outage, rights, superseded, watching
from tests.docs.worlds import furnish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.docs.blocks import Block
    from tests.docs.following import Follower


def log(block: Block, reader: Follower) -> None:
    """Crawl the newspapers once; every line that is shown must stand in the log."""
    missing = shows_lines(block.text, _crawled(reader))
    assert not missing, f"{missing} of\n{_crawled(reader)}"


def verdict(block: Block, reader: Follower) -> None:
    """Judge the newspapers; one of the verdicts must be the one that is shown."""
    with Deduplicator() as dedup:
        said = [dedup.add(html=html, url=f"https://{at}").to_dict() for at, html in PAGES.items()]
    assert any(shows_values(block.text, json.dumps(each)) for each in said), said


def demo(block: Block, reader: Follower) -> None:
    """Crawl the demo's sites and the newspapers; every line that is shown must stand in one of the logs."""
    folder = _once(reader, "demo", "dedupcrawl demo")
    printed = (folder / "demo-out" / "crawl.log").read_text("utf-8") + _crawled(reader)
    missing = shows_lines(block.text, printed)
    assert not missing, f"{missing} of\n{printed}"


def labels(block: Block, reader: Follower) -> None:
    """Read labelled pages."""
    path = reader.folder / "labels.jsonl"
    path.write_text(block.text, "utf-8")
    assert len(list(read_labelled_pages(path))) == len(block.text.splitlines())


def check_commands(text: str) -> None:
    """Every command that is listed exists, and so does every option."""
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
    """Find the command that words begin with; return it, and the other words."""
    context = typer.Context(command)
    while words and hasattr(command, "get_command"):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    return command, words


def _crawled(reader: Follower) -> str:
    """Return the log of a crawl of the newspapers."""
    return (_once(reader, "crawl", "scrapy crawl news") / "printed").read_text("utf-8")


def _once(reader: Follower, name: str, command: str) -> Path:
    """Return the folder in which a command was run, whichever page asks for it first."""
    folder = reader.folder.parent / f"scene-of-{name}"
    if not (folder / "printed").exists():
        furnish(folder, reader.here)
        status, printed = replace(reader, folder=folder, errors={}, running=[]).type(command)
        assert status == 0, printed
        (folder / "printed").write_text(printed, "utf-8")
    return folder


SCENES: Mapping[str, Callable[[Block, Follower], None]] = {
    "log": log,
    "demo": demo,
    "verdict": verdict,
    "labels": labels,
    "pair labels": pair_labels,
    "tuning": tuning,
    "outage": outage,
    "rights": rights,
    "superseded": superseded,
    "watching": watching,
}
