"""The garbage collector in processes of the tests."""

from __future__ import annotations

import gc

#: Objects that are created before the collector runs. Python's 700 let models of many states, and whatever runs beside
#: the thousands of collected tests, spend half of their time in the collector.
OBJECTS = 50_000


def freeze() -> None:
    """Exclude all that is loaded from garbage collections, which would write to, and so copy, memory that forks share.

    From then on collections are rare.
    """
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
