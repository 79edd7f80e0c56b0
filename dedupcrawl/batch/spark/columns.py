"""The columns of the tables that go between tasks, as Spark and as Arrow call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from dedupcrawl.batch.schema import sketch_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPARK_NAMES = {
    pa.int64(): "long",
    pa.int8(): "byte",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.string(): "string",
    pa.list_(pa.int64()): "array<long>",
}

#: Whom a page met: those that were kept before it in its buckets, by their places in the order.
MEETINGS = pa.schema([("page", pa.int64()), ("met", pa.list_(pa.int64()))])

#: What is said of a page that met any; relation and detector are places in ``RELATIONS`` and the detectors.
VERDICTS = pa.schema(
    [
        ("page", pa.int64()),
        ("keep", pa.bool_()),
        ("of", pa.int64()),
        ("relation", pa.int8()),
        ("similarity", pa.float64()),
        ("detector", pa.int8()),
        ("joins", pa.bool_()),  # whether it joins the cluster of ``of``
    ]
)

#: The same, with those it met.
SAID = pa.schema([*VERDICTS, *MEETINGS.remove(0)])


def prints_schema(sketches: int) -> pa.Schema:
    """Return the columns of fingerprints: as in ``batch.schema``, but ``page`` is the place in the order."""
    return pa.schema(
        [
            ("page", pa.int64()),
            ("url", pa.binary()),
            ("keys", pa.list_(pa.int64())),
            ("probes", pa.list_(pa.int64())),
            *((sketch_name(place), pa.binary()) for place in range(sketches)),
        ]
    )


def ddl(schema: pa.Schema) -> str:
    """Write a schema as Spark reads it."""
    return ", ".join(f"{field.name} {_SPARK_NAMES[field.type]}" for field in schema)


def sketch_names(names: Sequence[str]) -> list[str]:
    """Return the columns of sketches among these, in order."""
    return [sketch_name(place) for place in range(sum(name.startswith("sketch_") for name in names))]
