"""Paths of the labelled page sets, which are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The folder of the labelled pages and reprints.
LABELLED = Path(os.environ.get("DEDUPCRAWL_DATA", ROOT.parent / "shared" / "data"))


def data(*parts: str) -> Path:
    """Return a path below the data folder, or skip the test, saying what is missing."""
    path = LABELLED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"labelled pages are not here: {'/'.join(parts)} (set DEDUPCRAWL_DATA)")
    return path
