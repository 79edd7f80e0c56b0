"""Error messages of the command."""

from __future__ import annotations

import sys

import pytest

from dedupcrawl.cli import main


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Run the command, which must exit with status 2 and print one line; return the line."""
    monkeypatch.setattr(sys, "argv", ["dedupcrawl", *args])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    return said
