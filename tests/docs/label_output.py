"""Shown output about labels: a run with known truth, labelled by it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dedupcrawl.tools.label.labels import AnswerKind, LabelFile, LabelSession, read_labels
from dedupcrawl.tools.label.pairs import load_ledgers
from tests.docs.output_matching import shows
from tests.tools.label.test_end_to_end import crawl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docs.blocks import Block
    from tests.docs.page_runner import PageRunner
_MOST = 1_000  #: pairs; all of them are answered


def tuning(block: Block, runner: PageRunner) -> None:
    """Run the commands in a folder with labels, and compare their output."""
    folder = _labelled(runner)
    for typed in block.text.split("$ ")[1:]:
        command, _, expected = typed.partition("\n")
        _, printed = replace(runner, folder=folder, errors={}, running=[]).type(f"COLUMNS=100 {command}")
        assert shows(expected, printed), printed


def _labelled(runner: PageRunner) -> Path:
    folder = runner.folder.parent / "scene-of-tuning"
    if not (folder / "labels.jsonl").exists():
        folder.mkdir(exist_ok=True)
        crawl(folder / "report.ledger")
        _answer(folder / "report.ledger", folder / "labels.jsonl")
    return folder


def _answer(ledger: Path, labels: Path) -> None:
    with LabelFile(labels) as file:
        sitting = LabelSession(load_ledgers([ledger]).sampler, file, _MOST)
        while pair := sitting.current:
            is_copy = "//copy." in pair.new.url
            sitting.answer(pair.id, AnswerKind.SAME if is_copy else AnswerKind.DIFFERENT)


def pair_labels(block: Block, runner: PageRunner) -> None:
    """Read hand-written labels."""
    path = runner.folder / "by-hand.jsonl"
    path.write_text(block.text, "utf-8")
    assert len(read_labels(path)) == len(block.text.splitlines())
