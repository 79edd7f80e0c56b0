"""The fork server from which all processes of a test run are forked.

Python has one fork server for each process, and its first user defines its imports. Without this module that
would be the first test. Workers of pytest-xdist are forks, and share one.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

_server: Any = forkserver._forkserver


def processes() -> ForkServerContext:
    """Return the context of the fork server, which preloads :mod:`tests.preloaded`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


def begin() -> None:
    """Start the fork server, unless it is running."""
    processes()
    _server.ensure_running()


def inherit() -> None:
    """Use the fork server of the process that this one was forked from, if it has started one.

    Python would wait for it as for a child of this process, which it is not.
    """
    if _server._forkserver_pid is not None:
        _server.ensure_running = lambda: None
