from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stores.making import Clock, Opener, lmdb_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupcrawl.stores.base import Store


@pytest.fixture(params=["memory", "lmdb"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens stores of either kind."""
    opener = Opener("memory://" if request.param == "memory" else lmdb_url(tmp_path / "store"))
    yield opener
    opener.close()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Opener]:
    """Opens store objects that share a folder."""
    opener = Opener(lmdb_url(tmp_path / "store"))
    yield opener
    opener.close()


@pytest.fixture
def store(opener: Opener) -> Store:
    return opener()


@pytest.fixture
def clock(opener: Opener) -> Clock:
    return opener.clock
