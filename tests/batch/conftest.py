"""The folder of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.batch.corpus import Batch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path)
