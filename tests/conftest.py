"""What all tests share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests import forking

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent
#: Tests that begin many processes, below this folder.
FORKING = ("crawl", "faults", "test_preloaded.py")


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.path.is_relative_to(HERE / name) for item in session.items for name in FORKING):
        forking.begin()
