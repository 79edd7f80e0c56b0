"""Shared by all tests: the process that others are forked from, and the division among xdist workers."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests import command_server, forked_commands, forking, garbage, processor_time, slow, worker_server
from tests.worker_server import FOLDER_OF_COMMANDS, PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.remote import Producer

    from tests.stores.servers import Cluster
    from tests.xdist_scheduling import Shares

# The same examples in each run: whether a change passes must not depend on chance, nor on the time that an example
# takes on a busy machine. ``pytest --hypothesis-profile search`` draws others.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _UNTIMED, derandomize=True, database=None)
settings.register_profile("search", _UNTIMED, derandomize=False)
settings.load_profile("repeatable")

#: Tests that begin many processes.
FORKING = ("tests/crawl/", "tests/faults/", "tests/plugins/", "tests/sites/test_crawl.py", "tests/test_preloaded.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Shares | None:
    if config.getoption("dist") != "loadfile":
        return None
    from tests.xdist_scheduling import Shares

    config.option.loadscopereorder = False
    return Shares(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    processor_time.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Let the workers of pytest-xdist be forks of a process that has collected all tests."""
    processor_time.begin(config)
    os.environ["LC_ALL"] = "C.UTF-8"  # commands speak English, whatever the language of the developer
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: commands would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    workers = config.getoption("tx", None)
    if not workers or config.option.collectonly or hasattr(config, "workerinput"):
        return
    stack = ExitStack()
    config.add_cleanup(stack.close)
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="workers-")))
    arguments = map(str, config.invocation_params.args)
    stack.enter_context(forked_commands.commands(folder, (PYTHON,), worker_server.__name__, *arguments))
    config.option.tx = [f"popen//python={folder / PYTHON}" for _ in workers]


@pytest.hookimpl(tryfirst=True)  # before those with a mark are selected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow.mark(config, items)
    if hasattr(config, "workerinput"):
        from tests.xdist_scheduling import rank

        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(scope="session")
def commands() -> Iterator[Path]:
    """A folder for the PATH with commands that are forks of a preloaded process."""
    shared = os.environ.get(FOLDER_OF_COMMANDS)
    if shared:
        forked_commands.wait_for(Path(shared))
        yield Path(shared)
        return
    starting = (command_server.COMMANDS, command_server.__name__)
    with TemporaryDirectory(prefix="warm-") as folder, forked_commands.commands(Path(folder), *starting) as found:
        yield found


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their length: compressed data contains the time, and all workers need equal test ids."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 16 else None


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.nodeid.startswith(FORKING) for item in session.items):
        forking.begin()
    garbage.freeze()


def pytest_runtest_setup() -> None:
    os.environ.pop("SCRAPY_SETTINGS_MODULE", None)  # set by Scrapy when it finds a project


@pytest.hookimpl(trylast=True)  # after the fixtures of the file
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    browser = sys.modules.get("tests.browser")
    if browser is not None and (nextitem is None or nextitem.path != item.path):
        from tests.xdist_scheduling import opens_pages

        if nextitem is None or not opens_pages(nextitem.nodeid.partition("::")[0]):
            browser.close_browser()


@pytest.fixture(scope="session")
def whole_cluster() -> Iterator[Cluster]:
    """Three primaries with a replica each, which all tests share."""
    from tests.stores.servers import Cluster

    cluster = Cluster()
    try:
        yield cluster.start()
    finally:
        cluster.remove()


@pytest.fixture
def nodes(whole_cluster: Cluster) -> Cluster:
    """An empty cluster."""
    whole_cluster.empty()
    return whole_cluster
