"""What a run on Spark comes to on its way: tables in a folder that the driver and all workers see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Tables:
    """Parquet in one folder. A task that is lost is done again from there, whoever else was lost with it."""

    spark: SparkSession
    folder: str  #: a path or a URL that Spark can write to

    def save(self, table: DataFrame, name: str) -> DataFrame:
        """Write a table, and return it as it is read from there."""
        place = self._place(name)
        table.write.mode("overwrite").parquet(place)
        return self.spark.read.schema(table.schema).parquet(place)

    def remove(self, name: str = "") -> None:
        """Remove a table, or all of them."""
        context: Any = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(self._place(name))
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)

    def _place(self, name: str) -> str:
        return f"{self.folder}/{name}" if name else self.folder
