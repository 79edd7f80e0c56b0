"""Paths of the labelled page sets, which are not part of the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
#: The folder of the labelled pages and reprints.
LABELLED = Path(os.environ.get("DEDUPCRAWL_DATA", ROOT.parent / "shared" / "data"))


def data(*parts: str) -> Path:
    """Return a path below the data folder, or skip the test, saying what is missing."""
    path = LABELLED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"labelled pages are not here: {'/'.join(parts)} (set DEDUPCRAWL_DATA)")
    return path


PAGE_SETS = ("aeb", "cwced", "wcxb")


def page_sets(named: Sequence[Path]) -> list[Path]:
    """Return the named folders of page sets, or those of the data folder; say if there are none."""
    folders = [*named] or [folder for name in PAGE_SETS if (folder := LABELLED / "pages" / name).is_dir()]
    if not folders:
        print(f"skipped: no page set below {LABELLED} (set DEDUPCRAWL_DATA, or name folders)", file=sys.stderr)
    return folders
