"""What all tests share: the process that others are forked from, and how they are divided among workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forking

HERE = Path(__file__).parent
#: Tests that begin many processes.
FORKING = ("crawl", "faults", "test_preloaded.py")
#: Tests that one worker of pytest-xdist runs one after the other: there is one Java, and not one a worker.
TOGETHER = ("batch/spark",)
#: What takes longest, and so begins first, lest all wait for it in the end.
FIRST = (*TOGETHER, "examples", "faults", "demo", "crawl", "stores", "batch")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a file together, and order files, where several workers share them."""
    if not config.getoption("loadgroup", default=False):
        return
    for item in items:
        folder = next((name for name in TOGETHER if is_below(item, name)), None)
        item.add_marker(pytest.mark.xdist_group(folder or item.nodeid.partition("::")[0]))
    items.sort(key=rank)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their number: what is packed tells the time, and all workers must agree on names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 16 else None


def rank(item: pytest.Item) -> int:
    return next((place for place, name in enumerate(FIRST) if is_below(item, name)), len(FIRST))


def is_below(item: pytest.Item, name: str) -> bool:
    return item.path.is_relative_to(HERE / name)


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(is_below(item, name) for item in session.items for name in FORKING):
        forking.begin()
