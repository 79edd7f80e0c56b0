"""Which modules a worker process and the command import: imports cost as much as thousands of pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dedupcrawl

HEAVY = "scrapy twisted redis jieba opencc datasketch scipy pyspark pyarrow.compute"


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


@pytest.mark.parametrize("name", dedupcrawl.__all__)
def test_the_public_names_are_there_when_they_are_asked_for(name: str) -> None:
    assert getattr(dedupcrawl, name).__name__ == name
    assert name in dir(dedupcrawl)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Deduper'"):
        dedupcrawl.Deduper  # noqa: B018
