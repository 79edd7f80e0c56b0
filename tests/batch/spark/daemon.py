"""The daemon from which Spark forks its Python workers, with the imports of all tasks.

They take longer than most tasks. The cluster has Spark's own daemon.
"""

from __future__ import annotations

from importlib import import_module

from tests import garbage

MODULES = (
    "pandas",
    "pyspark.sql.pandas.serializers",
    "pyspark.worker",
    "dedupcrawl.batch.preload",
    "dedupcrawl.batch.spark.dataframe",
    "dedupcrawl.batch.spark.engine",
)


def main() -> None:
    """Import the modules, then serve requests until Spark ends the process."""
    for name in MODULES:
        import_module(name)
    garbage.freeze()
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
