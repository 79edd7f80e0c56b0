"""Shared by all tests: the process that others are forked from, and the division among xdist workers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import forking

if TYPE_CHECKING:
    from xdist.remote import Producer

    from tests.xdist_scheduling import Shares

# The time of an example says nothing on a busy machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

#: Tests that begin many processes.
FORKING = ("tests/crawl/", "tests/faults/", "tests/sites/test_crawl.py", "tests/test_preloaded.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Shares | None:
    if config.getoption("dist") != "loadfile":
        return None
    from tests.xdist_scheduling import Shares

    config.option.loadscopereorder = False
    return Shares(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from tests.xdist_scheduling import rank

        items.sort(key=lambda item: rank(item.nodeid))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their length: compressed data contains the time, and all workers need equal test ids."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 16 else None


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.nodeid.startswith(FORKING) for item in session.items):
        forking.begin()


def pytest_runtest_setup() -> None:
    os.environ.pop("SCRAPY_SETTINGS_MODULE", None)  # set by Scrapy when it finds a project
