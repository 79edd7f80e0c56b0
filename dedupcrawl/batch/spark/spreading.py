"""Parts over the tasks of a session, and how far they have come."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.spark.parts import Done, Task

_LOOK = 0.5  #: seconds from one look at the progress to the next


def spread(
    spark: SparkSession, task: Task, parts: Sequence[Part], tell: Callable[[int, int], object]
) -> list[Done]:
    """Do a task for each part; return what came of them, in order.

    ``tell`` is called now and then with the amount and the rows that were done since. When the wait ends with
    an error (the user has had enough), the tasks end too.
    """
    context = spark.sparkContext
    amount, rows = context.accumulator(0), context.accumulator(0)

    def do(part: Part) -> Done:
        done = task(part)
        amount.add(done.amount)
        rows.add(done.rows)
        return done

    def collect() -> list[Done]:
        context.setJobGroup(group, "dedupcrawl", interruptOnCancel=True)
        found: list[Done] = context.parallelize(parts, len(parts)).map(do).collect()
        return found

    group, told = uuid4().hex, (0, 0)
    with ThreadPoolExecutor(1, "dedupcrawl-spark") as executor:
        future = executor.submit(collect)
        try:
            while not future.done():
                wait([future], _LOOK)
                now = amount.value, rows.value
                tell(now[0] - told[0], now[1] - told[1])
                told = now
        except BaseException:
            context.cancelJobGroup(group)
            raise
        return future.result()
