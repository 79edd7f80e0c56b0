"""The fork server from which all processes of a test run are forked.

Python has one fork server for each process, and its first user defines its imports. Without this module that
would be the first test.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext


def processes() -> ForkServerContext:
    """Return the context of the fork server, which preloads :mod:`tests.preloaded`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


def begin() -> None:
    """Start the fork server, unless it is running."""
    processes()
    forkserver.ensure_running()
