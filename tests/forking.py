"""The one process from which all others of a test run are forked.

Python has one fork server for everybody, and the first who starts it says what it has imported: left alone,
that would be whichever test came first.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext


def processes() -> ForkServerContext:
    """Where the processes come from, with all that :mod:`tests.preloaded` names."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


def begin() -> None:
    """Start it, if it does not run already."""
    processes()
    forkserver.ensure_running()
