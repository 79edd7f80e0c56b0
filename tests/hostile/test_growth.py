"""The work for a page grows as its size: twice the size is at most 2.5 times the work.

Work is counted, not timed: lines of Python that were executed. ``benchmarks/hostile.py`` measures what happens in C.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.page import PageError, ReadOptions, read_page
from tests.hostile.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction

PARTS = 300
FIXED = 3000  #: lines that a page of any size takes


def work(function: Callable[[], object]) -> int:
    """Return how many lines and calls of Python code a function takes, list comprehensions counted by element."""
    count = 0

    def trace(_frame: FrameType, _event: str, _argument: object) -> TraceFunction:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def read(html: str, reader: str) -> None:
    with suppress(PageError):
        read_page(html, options=ReadOptions(reader=reader))


@pytest.mark.parametrize("reader", ["blocks", "topic"])
@pytest.mark.parametrize("name", SHAPES)
def test_work_grows_as_the_page(name: str, reader: str) -> None:
    small, large = SHAPES[name](PARTS), SHAPES[name](2 * PARTS)
    read(small, reader)  # fills the caches
    read(large, reader)
    first, second = work(lambda: read(small, reader)), work(lambda: read(large, reader))
    assert second <= 2.5 * first + FIXED


def test_work_counts_what_grows_too_fast() -> None:
    def quadratic(size: int) -> int:
        total = 0
        for i in range(size):
            for j in range(size):
                total += i * j
        return total

    assert work(lambda: quadratic(120)) > 2.5 * work(lambda: quadratic(60)) + FIXED
