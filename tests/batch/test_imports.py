"""Which modules a worker process and the command import: imports cost as much as thousands of pages."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

import dedupcrawl

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = "scrapy twisted redis jieba opencc datasketch scipy pyspark pandas pyarrow.compute"


def loaded_by(statements: str, names: str) -> str:
    """Which of these modules a fresh process has loaded after some statements."""
    asked = f"import sys; print(*[name for name in {names.split()!r} if name in sys.modules])"
    program = [sys.executable, "-c", f"{statements}; {asked}"]
    return subprocess.run(program, check=True, capture_output=True, text=True, timeout=300).stdout.strip()


def test_a_worker_loads_what_it_needs_and_has_its_tables_from_the_start() -> None:
    made = "from dedupcrawl.text.normalize import _table; assert _table.cache_info().currsize == 1"
    assert loaded_by(f"import dedupcrawl.batch.preload; {made}", f"{HEAVY} typer rich numpy") == "numpy"


def test_the_command_loads_what_it_needs() -> None:
    statements = "import dedupcrawl.cli.commands, dedupcrawl.cli.batch, dedupcrawl.batch.runner"
    assert loaded_by(statements, f"{HEAVY} jinja2 typer") == "typer"
    assert loaded_by("from dedupcrawl.cli import main", "typer rich numpy") == ""


def test_a_whole_batch_does_not_load_pandas(tmp_path: Path) -> None:
    assert find_spec("pandas"), "pyarrow imports it only where it is installed: without it this test shows nothing"
    lines = [{"url": f"http://a/{n}", "text": "one story told at some length " * (n % 3 + 2)} for n in range(9)]
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    job = f"Job(inputs=({str(source)!r},), out=Path({str(tmp_path / 'out')!r}), workers=1)"
    statements = f"from pathlib import Path; from dedupcrawl.batch import runner, job; runner.run(job.{job})"
    assert loaded_by(statements, "pandas pyarrow.compute numpy numpy.ma") == "numpy"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["pages"] == 9
    assert summary["kept"] < 9


@pytest.mark.parametrize("name", dedupcrawl.__all__)
def test_the_public_names_are_there_when_they_are_asked_for(name: str) -> None:
    assert getattr(dedupcrawl, name).__name__ == name
    assert name in dir(dedupcrawl)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Deduper'"):
        dedupcrawl.Deduper  # noqa: B018
