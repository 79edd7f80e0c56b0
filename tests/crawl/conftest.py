"""A site and a way to crawl it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.running import Crawled, crawl
from tests.crawl.site import Site
from tests.stores.servers import PERSISTENT, started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.stores.servers import Server


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def server() -> Iterator[Server]:
    with started(*PERSISTENT) as server:
        yield server


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Crawled]:
    """Crawl in a process of its own, with an LMDB store of this test's own."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    return partial(_run, folder)


def _run(folder: Path, spider: str = "Reader", *, settings: Any = None, **args: Any) -> Crawled:
    return crawl(folder, spider, settings=settings, **args)
