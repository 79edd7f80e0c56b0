"""Batch deduplication of corpora on disk, of Arrow tables and of Spark DataFrames, by the rules of a crawl."""

from __future__ import annotations

from typing import Any

from dedupcrawl.utils.optional import require_extra

__all__ = ["deduplicate"]


def deduplicate(data: Any, **options: Any) -> Any:
    """Remove near-duplicate pages from a table, or annotate all rows with their verdicts.

    Args:
        data: one page in each row. A DataFrame of Spark is deduplicated by its session: see
            :func:`dedupcrawl.batch.spark.dataframe.deduplicate`. Anything else is a pyarrow table, or exports one
            (polars, pandas, Hugging Face ``datasets``, duckdb): see
            :func:`dedupcrawl.batch.arrow_tables.deduplicate_table`.
        options: the arguments of that function.

    Returns:
        The kept rows, or with ``annotate=True`` all rows with the columns ``dedup_*``, as the type of ``data``.

    Raises:
        MissingPackageError: the extra ``spark`` or ``batch`` is not installed.
        SettingError: an argument is not accepted.
        DedupError: a page or a row cannot be read, or Spark fails.
        TypeError: ``data`` is no table.
    """
    if type(data).__module__.partition(".")[0] == "pyspark":
        from dedupcrawl.batch.spark import check_installed  # noqa: PLC0415

        check_installed()
        from dedupcrawl.batch.spark import dataframe  # noqa: PLC0415

        return dataframe.deduplicate(data, **options)
    require_extra("pyarrow", "A table", "batch")
    from dedupcrawl.batch.arrow_tables import deduplicate_table  # noqa: PLC0415

    return deduplicate_table(data, **options)
